"""What the viewer does not do: it counts calls, and times nothing."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from slotwise.dashboard.observe import frames, tables
from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.lints import Watch
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.pane import TablePane
from slotwise.dashboard.screens.session import SECOND, Live
from slotwise.impl.snapshot import Snapshot

from ..samples import group, resource, snapshot
from .driving import Clock, Listed, drive, sample, settled, soon


def counted(work: Callable[..., Any], name: str, calls: list[str]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        calls.append(name)
        return work(*arguments)

    return call


def test_of_a_frame_only_what_is_asked_for_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    for module, name in ((frames, "head"), (frames, "verdicts"), (tables, "panes")):
        monkeypatch.setattr(module, name, counted(getattr(module, name), name, asked))
    frame = derive(None, snapshot(60, resources=(resource(),), groups=(group(waiting=1, oldest=0),)), age=SECOND)
    assert len(Watch().look(frame)) == 2                 # FAIR01, LOOP01: whoever plays a recording asks for no more
    assert asked == []
    assert (frame.head.age_s, frame.head.waiting, len(frame.verdicts), frame.count("groups")) == (1.0, 1, 6, 1)
    assert frame.status == "alarm"
    assert asked == ["head", "verdicts", "panes"]


def test_what_a_widget_stands_in_is_looked_up_once_for_all_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[int, int]:
        asked, drawn = [0], [0]
        style, line = Lines.rich_style.fget, Lines.render_line       # type: ignore[attr-defined]

        def rich_style(self: Lines) -> object:
            asked[0] += isinstance(self, TablePane)
            return style(self)

        def render_line(self: Lines, y: int) -> object:
            drawn[0] += isinstance(self, TablePane)
            return line(self, y)

        monkeypatch.setattr(Lines, "rich_style", property(rich_style))
        monkeypatch.setattr(Lines, "render_line", render_line)
        app.overview.panes["groups"].refresh()
        for _ in range(5000):
            await pilot.pause(0.02)
            if drawn[0]:
                break
        return asked[0], drawn[0]

    asked, drawn = drive(soon(), steps)
    assert drawn >= 5
    assert 1 <= asked < drawn / 2


def test_the_first_snapshot_may_come_late() -> None:
    """The keys are in the groups then too, as if it had been there at once."""
    class Late(Listed):
        async def snapshots(self) -> AsyncIterator[Snapshot]:
            await there.wait()
            yield sample()[-1]
            await asyncio.Event().wait()

    there = asyncio.Event()

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        assert not isinstance(app.screen.focused, TablePane)
        there.set()
        for _ in range(3):
            await settled(app, pilot)
        assert isinstance(app.screen.focused, TablePane)
        return app.screen.focused.table

    assert drive(Live(Late([], True), clock=Clock(sample()[-1].now)), steps) == "groups"


@pytest.mark.parametrize(("every", "age", "stalled"), [(0.1, 0.29, False), (0.1, 0.31, True), (0.5, 1.4, False), (0.5, 1.6, True)])
def test_a_scheduler_that_shows_itself_less_often_is_not_stalled(every: float, age: float, stalled: bool) -> None:
    clock = Clock()
    session = Live(Listed([], True), clock=clock)
    session.take(msgspec.structs.replace(snapshot(5), every=round(every * SECOND)))
    clock.now = 5 * SECOND
    session.look()
    clock.now += round(age * SECOND)
    assert session.stalled == stalled
    clock.now += SECOND
    session.look()
    frame = derive(None, msgspec.structs.replace(snapshot(5), every=round(every * SECOND)), age=round(age * SECOND))
    assert [alarm.code for alarm in Watch().look(frame)] == (["LOOP01"] if stalled else [])
