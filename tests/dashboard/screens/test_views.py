"""What goes beyond one key: recording, the program's output, a socket that vanishes and comes back, tables of others in presets."""
from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from slotwise import impl
from slotwise.dashboard.observe import tables
from slotwise.dashboard.observe.panes import Field, Table
from slotwise.dashboard.observe.program import said
from slotwise.dashboard.observe.sources.socket import HELLO, Socket
from slotwise.dashboard.observe.window import Window
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.details import Detail
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.output import Output, rows
from slotwise.dashboard.screens.recorder import Recorder
from slotwise.dashboard.screens.session import SECOND, Live
from slotwise.impl.snapshot import VERSION, Snapshot

from ..samples import group, snapshot
from .driving import Clock, Listed, drive, replay, sample, settled, soon

# a recording --------------------------------------------------------------------------------------------------------------------------


class Writer:
    def __init__(self, path: Path, wrong_at: int = -1) -> None:
        self.path, self.taken, self.closed, self.wrong_at = path, [], False, wrong_at  # type: tuple[Path, list[int], bool, int]

    def put(self, shot: Snapshot) -> None:
        if len(self.taken) == self.wrong_at:
            raise OSError("[Errno 28] No space left on device")
        self.taken.append(shot.number)

    def close(self) -> str:
        self.closed = True
        return ""


def later(number: int) -> Snapshot:
    return msgspec.structs.replace(sample()[-1], now=sample()[-1].now + number * SECOND // 10, number=number)


def told(app: Screens) -> list[str]:
    return [one.message for one in app._notifications]


def test_recording_what_is_seen(tmp_path: Path) -> None:
    made: list[Writer] = []

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        app.recorder.opens = lambda path: made.append(Writer(path)) or made[-1]  # type: ignore[func-returns-value]
        app.session.take(later(1))
        await pilot.press("R")
        app.session.take(later(2))
        await settled(app, pilot)
        assert " REC " in screen_text(app).splitlines()[0]
        await pilot.press("space", "enter")
        app.session.take(later(3))
        await settled(app, pilot)
        assert " REC " in screen_text(app).splitlines()[0], "on every screen, also while it is paused"
        await pilot.press("R")
        assert not app.recorder.running
        assert made[0].closed
        assert told(app)[-1] == f"recorded: {tmp_path}/slotwise-demo-sched-1.parquet, 2 snapshots"
        (tmp_path / "slotwise-demo-sched-1.arrows").touch()
        await pilot.press("R")
        app.session.take(later(4))
        assert not made[1].closed
        await pilot.press("q")

    drive(soon(), steps, folder=tmp_path)
    assert [one.path.name for one in made] == ["slotwise-demo-sched-1.parquet", "slotwise-demo-sched-2.parquet"], "none is overwritten"
    assert [one.taken for one in made] == [[2, 3], [4]], "each snapshot once"
    assert made[1].closed, "also when the viewer is left"


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5)])
def test_the_first_and_the_last_line_with_everything_on(size: tuple[int, int], tmp_path: Path) -> None:
    """What matters is there, and nothing runs over."""

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        app.recorder.opens = Writer
        await pilot.press("R", "p", "m", "apostrophe")
        await settled(app, pilot)
        if size[1] >= 10:
            assert screen_text(app).startswith(" MARK  REC "), "no toast is in its place"
        assert (len(app._notifications) == 1) == (size[1] < 14)
        app.clear_notifications()
        for _ in range(3):
            await settled(app, pilot)
        lines = screen_text(app).splitlines()
        assert lines[0].startswith(" MARK  REC ")
        assert max(map(len, lines)) <= size[0]
        if size[0] >= 40:
            assert lines[0].rstrip().endswith("div ✖1")
            assert lines[-1].startswith(" q Quit ? Help ")
            assert lines[-1].endswith(" ^p palette")
        assert ("view fairness" in lines[0]) == (size[0] >= 80)

    drive(soon(), steps, size, folder=tmp_path)


def test_a_long_name_pushes_nothing_out() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        app.session.take(msgspec.structs.replace(sample()[-1], program="a program with a very long name " * 3))
        await settled(app, pilot)
        return screen_text(app).splitlines()[0]

    for width in (80, 40):
        line = drive(soon(), steps, (width, 24))
        assert line.startswith(" LIVE  a program with")
        assert line.endswith("…  div ✖1")
        assert len(line) == width


def test_recording_on_a_full_disk(tmp_path: Path) -> None:
    session, heard = soon(), []  # type: tuple[Live, list[str]]
    recorder = Recorder(session, tmp_path, heard.append, lambda path: Writer(path, wrong_at=1))
    assert recorder.start("../x").startswith("records into ")
    for number in range(3):
        session.take(later(number))
    assert heard == ["the recording broke off: [Errno 28] No space left on device"]
    assert (recorder.running, session.put) == (False, None)
    assert recorder.stop() == ""

    def refuses(path: Path) -> Writer:
        raise PermissionError(13, "Permission denied", str(path))

    assert Recorder(session, tmp_path, heard.append, refuses).start("x").startswith("not recorded: ")


# the program's output -------------------------------------------------------------------------------------------------------------------


class Program:
    log, dropped, unlogged = Path("run.log"), 0, ""

    def __init__(self, written: list[str]) -> None:
        self.written = written
        self.code: int | None = None

    @property
    def ending(self) -> str:
        return "" if self.code is None else said(self.code)

    def lines(self, count: int) -> list[str]:
        return self.written[-count:] if count else []


def test_the_output_of_the_program() -> None:
    program = Program([f"line {i}" for i in range(200)])

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.press("o")
        await settled(app, pilot)
        assert isinstance(app.screen_stack[-1], Output)
        assert screen_text(app).splitlines()[-2] == "line 199"
        program.written.append("line 200")
        await settled(app, pilot)
        assert screen_text(app).splitlines()[-2] == "line 200", "it follows"
        await pilot.press("pageup")
        seen = screen_text(app).splitlines()
        assert seen[-3:-1] == ["line 189", " … 10 more below; end goes on with the newest"]
        program.written.append("line 201")
        await settled(app, pilot)
        assert screen_text(app).splitlines()[2:-1] == seen[2:-1], "it stands still while one reads"
        await pilot.press("home")
        assert screen_text(app).splitlines()[2] == "line 0"
        await pilot.press("end")
        await settled(app, pilot)
        assert screen_text(app).splitlines()[-2] == "line 201"
        program.written += ["\x1b[31mred\x1b[0m [b]x[/b] \x1b[2J\x07\tend", "é" * 300]
        program.code, program.dropped = 3, 1234
        await settled(app, pilot)
        text = screen_text(app)
        assert "exit code 3  1,234 older lines are only in the log  run.log" in text
        assert "red [b]x[/b] \\x1b[2J\\x07" in text
        assert all(c.isprintable() for line in text.splitlines() for c in line)
        assert text.count("é") == 300, "long lines go on below"
        await pilot.press("escape", "enter")
        assert isinstance(app.screen, Detail), "the keys are the overview's again"

    drive(soon(), steps, program=program)


def test_rows_of_output() -> None:
    assert rows("", 10) == [""]
    assert rows("a\tb", 10) == ["a       b"]
    assert rows("日本語日本語", 7) == ["日本語", "日本語"]
    assert rows("\u202eabc\r", 80) == ["\\u202eabc\\x0d"]


# a socket that vanishes -----------------------------------------------------------------------------------------------------------------


class Again(Listed):
    """A source of which there are several, one after the other."""

    def __init__(self, *gives: tuple[list[Snapshot], str], waits: bool = False) -> None:
        super().__init__(gives[0][0], True, gives[0][1])
        self.gives, self.waits = gives, waits

    def again(self) -> Again:
        return Again(*self.gives[1:], waits=self.waits) if len(self.gives) > 1 else Again(([], "cannot attach: Connection refused"))


def shot(number: int, waiting: int = 0, **changes: Any) -> Snapshot:
    return snapshot(number, number=number, events=number, groups=(group("a", waiting=waiting),), **changes)


async def until(session: Live, true: Callable[[], bool]) -> None:
    task = asyncio.create_task(session.follow())
    for _ in range(500):
        await asyncio.sleep(0)
        session.look()
        if true():
            break
    else:
        raise AssertionError(session.trouble)
    task.cancel()


def test_attached_again() -> None:
    """What was seen last stays, the next snapshot makes it live; the first reason is told, not that of the attempts."""
    refused: tuple[list[Snapshot], str] = ([], "cannot attach: Connection refused")
    session = Live(Again(([shot(1), shot(2)], "the socket has vanished"), refused, refused, refused, ([shot(9)], "x")), clock=Clock())
    session.pauses = (0.0,)
    asyncio.run(until(session, lambda: session.attempts == 2))
    assert session.state == "LOST"
    assert session.trouble == "LOST  tries to attach again (2 so far); list: the socket has vanished; this is the last that was seen"
    assert session.frame is not None
    assert session.frame.window.after.number == 2
    session.clock.now = 5 * SECOND  # type: ignore[attr-defined]
    asyncio.run(until(session, lambda: session.latest is not None and session.latest.number == 9))
    assert session.news == ["attached again after 5s"]
    assert session.history.last("waiting", SECOND, 8)[1:7] == pytest.approx([float("nan")] * 6, nan_ok=True), "the history keeps a gap"


def test_the_time_between_attempts() -> None:
    session = Live(Again(([shot(1)], "x"), *[([], "refused")] * 9), clock=Clock())
    waited: list[float | None] = []

    async def pause() -> None:
        session.retrying = True
        waited.append(session.pauses[min(session.attempts, len(session.pauses) - 1)])
        await asyncio.sleep(0)

    session._pause = pause  # type: ignore[method-assign]
    asyncio.run(until(session, lambda: len(waited) == 9))
    assert waited == [1, 1, 1, 2, 3, 4, 5, 5, 5]


def test_another_run_is_noticed() -> None:
    session = Live(Again(([shot(5)], "x"), ([shot(2, pid=9, waiting=4)], "y")), clock=Clock())
    session.pauses = (0.0,)
    asyncio.run(until(session, lambda: session.latest is not None and session.latest.pid == 9))
    assert session.news[0] == "another run: sample pid 9, after pid 7"
    assert session.news[1].startswith("attached again after ")
    assert session.frame is not None
    assert session.frame.head.window_s == 2.0, "nothing is counted across two runs"
    assert session.history.last("waiting", SECOND, 1) == [4.0], "nor does the old clock hide what is new"


def test_one_that_has_ended_is_not_asked_for_ever() -> None:
    """Only when L asks."""
    session = Live(Again(([shot(1, state="ended")], ""), ([], "cannot attach"), ([shot(3, pid=9)], "")), clock=Clock())
    session.pauses = (0.0,)

    async def go() -> None:
        task = asyncio.create_task(session.follow())
        for _ in range(50):
            await asyncio.sleep(0)
        session.look()
        assert (session.attempts, session.state) == (0, "ENDED")
        assert session.trouble == "ENDED  the program is gone; this is its last state; L attaches to the next"
        for news in (["list: cannot attach"], ["another run: sample pid 9, after pid 7"]):
            assert session.attach_again()
            session.news.clear()
            for _ in range(50):
                await asyncio.sleep(0)
            assert session.news[:1] == news
        task.cancel()

    asyncio.run(go())


def test_what_cannot_be_attached_to_again_just_ends() -> None:
    session = Live(Listed([shot(1)], True), clock=Clock())
    asyncio.run(session.follow())
    assert (session.over, session.attach_again(), session.state) == (True, False, "LOST")


def test_a_real_socket_that_comes_back(tmp_path: Path) -> None:
    """The screen, a socket whose program is killed, and the next program at the same path."""
    path = tmp_path / "tap.sock"
    body = [msgspec.msgpack.encode(sample()[-1]), msgspec.msgpack.encode(msgspec.structs.replace(sample()[-1], pid=99, number=5))]
    greeting = HELLO + VERSION.to_bytes(2, "big")

    async def go() -> None:
        async def serve(data: bytes) -> asyncio.Server:
            async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(greeting + len(data).to_bytes(4, "big") + data)
                await writer.drain()
                with suppress(asyncio.CancelledError):
                    await gone.wait()
                writer.transport.abort()

            return await asyncio.start_unix_server(client, str(path))

        gone = asyncio.Event()
        server = await serve(body[0])
        session = Live(Socket(str(path)))
        session.pauses = (0.01,)
        app = Screens(session, fps=0)
        async with app.run_test(size=(120, 36)) as pilot:
            async def seen(words: str) -> None:
                for _ in range(5000):
                    await settled(app, pilot)
                    if words in screen_text(app) or any(words in one for one in told(app)):
                        return
                    await asyncio.sleep(0.01)
                raise AssertionError(screen_text(app))

            await seen("tenant-c")
            server.close()
            path.unlink(missing_ok=True)
            gone.set()
            await seen(" LOST ")
            await seen("tries to attach again (")
            assert "tenant-c" in screen_text(app)
            gone = asyncio.Event()
            server = await serve(body[1])
            await seen("another run: demo-sched pid 99")
            assert " LOST " not in screen_text(app).splitlines()[0]
            gone.set()
        server.close()

    asyncio.run(go())


# tables of others ---------------------------------------------------------------------------------------------------------------------


def test_presets_take_the_tables_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a campaign's; one with an odd name finds its place too."""

    def table(name: str) -> Table[int]:
        return Table(name, name.capitalize(), lambda n: f"{name} {n}", [Field("what", "what", "", "", lambda n: f"{name} {n}"), Field("steps", "steps", "steps", "", lambda n: n)])

    known = tables.panes

    def panes(window: Window, limits: Any) -> Any:
        return {**known(window, limits), **{name: (table(name), [1, 2]) for name in ("campaigns", "rules", "an odd: name")}}

    monkeypatch.setattr(tables, "panes", panes)
    monkeypatch.setitem(hints.PRESETS, "odd", ("no such table", "an odd: name"))

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        for preset, shown in (("fuzz", {"campaigns", "rules", "divergences", "alarms"}), ("odd", {"an odd: name", "alarms"})):
            app.overview.choose_preset(preset)
            await settled(app, pilot)
            assert {name for name, pane in app.overview.panes.items() if pane.display} == shown
            assert f"view {preset}" in screen_text(app)
        assert "an odd: name 2" in screen_text(app)
        await pilot.press("6")
        await settled(app, pilot)
        assert app.overview.panes["groups"].display, "any other is there when it is asked for"

    drive(soon(), steps)

    async def narrow(app: Screens, pilot: Pilot[str]) -> None:
        app.overview.choose_preset("fuzz")
        await settled(app, pilot)
        text = screen_text(app)
        assert text.splitlines()[5].startswith(" Fuzz  Rules  Div ")
        await pilot.press("u", "g", "tab")
        assert app.overview.current == "rules"

    drive(soon(), narrow, (80, 24))


def test_a_filter_is_seen_where_panes_have_no_border() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        await pilot.press("slash", *"tenant", "enter")
        await settled(app, pilot)
        return screen_text(app).splitlines()[5]

    assert drive(soon(), steps, (80, 24)).endswith("/tenant")


# a slice of a recording ---------------------------------------------------------------------------------------------------------------


def test_the_window_out_of_a_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Path, int, int, Path]] = []
    module = ModuleType("slotwise.impl.recording_file")
    module.cut = lambda *given: asked.append(given)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "slotwise.impl.recording_file", module)
    monkeypatch.setattr(impl, "recording_file", module, raising=False)

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.press("e")
        assert "parquet" not in screen_text(app), "only of a recording"
        await pilot.press("p")
        assert "nothing" in screen_text(app), "the choice is still there"
        await pilot.press("escape")
        app.session.source.name = "run.arrows"
        await pilot.press("w", "shift+right", "shift+right", "shift+right", "e")
        assert "p  parquet the window's recording" in screen_text(app)
        await pilot.press("p")
        await settled(app, pilot)
        await app.workers.wait_for_complete([one for one in app.workers if one.node is app.overview])
        assert app.frame is not None
        window = app.frame.window
        assert asked == [(Path("run.arrows"), window.began, window.now, tmp_path / "slotwise-demo-sched-1.parquet")]
        assert told(app)[-1] == f"written: {tmp_path}/slotwise-demo-sched-1.parquet"

    drive(replay(), steps, folder=tmp_path)
