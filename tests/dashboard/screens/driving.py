"""Screens without a terminal, whose clock stands still; and their text, to be compared with what was kept."""
from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from textual.notifications import Notification
from textual.pilot import Pilot

from slotwise.dashboard.observe.alarms import Acknowledged
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.sample import snapshots
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.sampled import sampled
from slotwise.dashboard.screens.session import Live, Playback, Session
from slotwise.dashboard.screens.session_base import LINTS_SEE
from slotwise.impl.snapshot import Snapshot

T = TypeVar("T")
KEPT = Path(__file__).parent / "__snapshots__"
Steps = Callable[[Screens, Pilot[str]], Awaitable[T]]


class Clock:
    def __init__(self, now: int = 0) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Listed:
    """Gives these and ends; or breaks off."""

    coarse = False

    def __init__(self, shots: Iterable[Snapshot], live: bool = False, wrong: str = "") -> None:
        self.name, self.live, self.shots, self.wrong = "list", live, shots, wrong

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        for one in self.shots:
            yield one
        if self.wrong:
            raise SourceError(self.name, self.wrong)


@cache
def sample() -> tuple[Snapshot, ...]:
    return tuple(snapshots())


@cache
def _live() -> Live:
    return sampled(sample())


def live() -> Live:
    """With all of its history, which is worked out once: what is changed in one test is not seen in another, as long as nothing more is taken."""
    session = copy(_live())
    session.acknowledged, session.news = Acknowledged(), []
    return session


def soon() -> Live:
    """The same, but for its history: quicker."""
    return sampled([*sample()[-50::10], sample()[-1]])


def replay(shots: Iterable[Snapshot] | None = None) -> Playback:
    return Playback(Listed(sample()[-120:] if shots is None else shots), clock=Clock())


async def settled(app: Screens, pilot: Pilot[str]) -> None:
    for _ in range(3):
        await pilot.pause()
    if app.is_running:
        app.tick()
    await pilot.pause()


def drive(session: Session, steps: Steps[T], size: tuple[int, int] = (120, 36), **options: Any) -> T:
    async def go() -> T:
        app = Screens(session, fps=0, **options)
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            return await steps(app, pilot)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Notification, "time_left", property(lambda _: 3600.0))     # what was told stays until it is looked at
        return asyncio.run(go())


async def afresh(app: Screens, pilot: Pilot[str]) -> None:
    """As after the start, so that one app does for several keys."""
    while app.screen is not app.overview:
        app.pop_screen()
        await pilot.pause()
    app.clear_notifications()
    app.marked = app.held = None
    app.paused, app.hides, app.unit, app.look.log = False, True, "own", False
    board, session = app.overview, app.session
    board.close_typed()
    board.preset, board.zoomed = "overview", False
    for pane in board.panes.values():
        pane.typed, pane.problems, pane.follow, pane.selected, pane.sort, pane.view, pane.place, pane.top = "", False, False, None, None, -1, 0, 0
    session.acknowledged = Acknowledged(session.replay)
    session.window, session._dirty = (LINTS_SEE if not session.replay or session.source.live else 0), True
    if isinstance(session, Playback):
        session.at, session.speed, session.playing, session._ticked = session.times[0], 0, True, None
    board.show("groups")
    await settled(app, pilot)


def in_turn(*cases: Callable[[Screens, Pilot[str]], Awaitable[None]]) -> Steps[None]:
    """All of them in one app, each afresh."""

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        for case in cases:
            await case(app, pilot)
            await afresh(app, pilot)

    return steps


def pressed(*keys: str) -> Steps[str]:
    """The screen's text after these keys."""

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        await pilot.press(*keys)
        await settled(app, pilot)
        return screen_text(app)

    return steps


def same(name: str, text: str) -> None:
    """As it was kept. SLOTWISE_KEEP=1 keeps what is seen now, to be looked at in the diff."""
    path = KEPT / f"{name}.txt"
    if os.environ.get("SLOTWISE_KEEP"):
        path.write_text(text + "\n", "utf-8")
    assert text.splitlines() == path.read_text("utf-8").splitlines()
