"""What must not disturb the screens: hostile names, many rows, sources that vanish, a program that ends; and what they write."""
from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from textual.pilot import Pilot

from slotwise.dashboard.observe import tables
from slotwise.dashboard.observe.panes import Field, Table
from slotwise.dashboard.observe.window import Window
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.details import Detail
from slotwise.dashboard.screens.export import screen_text, write
from slotwise.dashboard.screens.sampled import sampled
from slotwise.dashboard.screens.session import SECOND, Live
from slotwise.impl import snapshot as s

from ..samples import batcher, group, resource, snapshot, worker
from .driving import Clock, Listed, drive, live, pressed, replay, sample, settled, soon

HOUSE = Path(__file__).parents[3]
TRACE = HOUSE / "tests/golden/attacks/P5.slotwise.jsonl"
LONG = 120                                   # seconds: what takes longer hangs
BAD = "x\n\x1b[2J[red]ALARM[/]\u202e\u0000\t"


# hostile ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ascii", [False, True])
def test_names_cannot_write_escapes_or_markup(ascii: bool) -> None:
    shot = snapshot(
        60, program=BAD, state=f"crashed: {BAD}", resources=(resource(BAD, busy=2, eligible=3, idle_waiting=9),), groups=(group(BAD, waiting=1, oldest=0, needs={BAD: 1}, blocked_by=f"capacity {BAD}", causes={f"capacity {BAD}": 9}),),
        batchers=(batcher(BAD, requests=1, needless=9, open_time=9, seals={BAD: 1}),), workers=(worker(BAD, running=1, wasted=1),), checks=(s.Check(BAD, False, 1, 0, BAD),), divergences=(s.Divergence(BAD, 1, 1, BAD, BAD, 0, BAD),),
    )  # fmt: skip

    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        found = [screen_text(app)]
        for presses in (["enter"], ["escape", "slash", *"[red]", "enter"], ["escape", "c", "0", "enter"], ["escape", "tab", "z", "enter"], ["escape", "question_mark"], ["escape", "ctrl+p"]):
            await pilot.press(*presses)
            await settled(app, pilot)
            found.append(screen_text(app))
        return found

    found = drive(sampled([shot]), steps, ascii=ascii)
    for text in found:
        assert len(text.splitlines()) == 36
        assert all(c.isprintable() for line in text.splitlines() for c in line)
        if ascii and text is not found[-1]:      # the palette is not ours
            assert text.isascii()
    assert "/[red]" in found[2], "what is typed is no markup"
    assert "x\\x0a\\x1b[2J[red]ALARM" in drive(sampled([shot]), pressed(), ascii=ascii)


def test_wide_names_keep_the_columns() -> None:
    shot = snapshot(60, groups=(group("日本語のグループ", waiting=1, oldest=0), group("plain", waiting=2, oldest=0), group("é" * 80)))
    for size in ((120, 36), (40, 10)):
        from rich.cells import cell_len

        lines = drive(sampled([shot]), pressed(), size).splitlines()
        assert all(cell_len(line) <= size[0] for line in lines)
        if size[0] == 120:
            assert {cell_len(line) for line in lines if line.startswith("│")} == {120}


# many -------------------------------------------------------------------------------------------------------------------------------


def many(count: int) -> s.Snapshot:
    return snapshot(60, groups=tuple(group(f"g{i:05}", waiting=1, oldest=(i + 1) * SECOND // 1000) for i in range(count)))


def test_ten_thousand_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the rows that are shown are worked out, wherever they are."""
    worked: list[object] = []
    row = Table.row

    def counted(self: Table[object], thing: object) -> object:
        worked.append(thing)
        return row(self, thing)

    monkeypatch.setattr(Table, "row", counted)

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        groups = app.overview.panes["groups"]
        for key, top, selected in (("end", "g09999", "g09999"), ("pageup", None, None), ("home", "g00000", "g00000"), ("pagedown", None, None)):
            worked.clear()
            await pilot.press(key)
            if selected is not None:
                assert groups.selected == selected
                assert top in [one.key for one in groups._shown]
            assert 0 < len(worked) < 200, key
        await pilot.press("end")
        text = screen_text(app)
        assert "9,992-10,000 of 10,000" in text or "of 10,000" in text
        await pilot.press("slash", *"g0777", "enter")
        assert groups.total == 10

    drive(sampled([many(10_000)]), steps)


# what ends --------------------------------------------------------------------------------------------------------------------------


def running(**changes: object) -> s.Snapshot:
    return msgspec.structs.replace(sample()[-1], **changes)


def banner(app: Screens) -> str:
    lines = screen_text(app).splitlines()
    return lines[1].strip()


@pytest.mark.parametrize(("source", "state", "told"), [
    (Listed([running()], True), "LOST", "LOST  list: vanished without a last word; this is the last that was seen"),
    (Listed([running()], True, "the socket has vanished, within a frame"), "LOST", "LOST  list: the socket has vanished, within a frame; this is the last that was seen"),
    (Listed([running(state="ended")], True), "ENDED", "ENDED  the program is gone; this is its last state"),
    (Listed([running(state="crashed: ValueError")], True), "CRASHED", "CRASHED: ValueError  the program is gone; this is its last state"),
    (Listed([running(state="crashed: ValueError")], True, "reset"), "CRASHED", "CRASHED: ValueError  the program is gone; this is its last state"),
])  # fmt: skip
def test_the_viewer_stays(source: Listed, state: str, told: str) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        assert screen_text(app).startswith(f" {state} ")
        assert banner(app) == told
        assert "tenant-c" in screen_text(app)
        await pilot.press("enter")
        assert isinstance(app.screen, Detail)
        await settled(app, pilot)
        assert banner(app) == told
        assert app.is_running

    drive(Live(source, clock=Clock(running().now)), steps)


def test_stalled_and_alive_again() -> None:
    session = soon()
    clock = Clock(running().now)
    session.clock = clock

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        clock.now += SECOND
        await settled(app, pilot)
        assert screen_text(app).startswith(" STALLED ")
        assert banner(app) == "STALLED  no snapshot for 1.0 s: something blocks the scheduler's loop"
        await pilot.press("0")
        await settled(app, pilot)
        assert "LOOP01: STALLED" in screen_text(app)
        session.take(running(now=clock.now, number=10**6))
        await settled(app, pilot)
        assert screen_text(app).startswith(" LIVE ")
        assert "STALLED" not in screen_text(app)

    drive(session, steps)


def test_draining() -> None:
    assert drive(sampled([running(state="draining")]), pressed()).startswith(" DRAINING ")


def test_a_source_that_never_gave_anything_ends_the_screen() -> None:
    async def go() -> str | None:
        app = Screens(Live(Listed([], True, "cannot attach: Connection refused"), clock=Clock()), fps=0)
        async with app.run_test() as pilot:
            for _ in range(5):
                await pilot.pause()
        return app.return_value

    assert asyncio.run(go()) == "list: cannot attach: Connection refused"


def test_before_the_first_snapshot() -> None:
    class Mute(Listed):
        async def snapshots(self):  # type: ignore[no-untyped-def]
            await asyncio.Event().wait()
            yield

    text = drive(Live(Mute([], True), clock=Clock()), pressed("enter", "s", "slash", "a", "enter", "end", "e", "j", "c", "space"))
    assert "ATTACHING  to list" in text


def test_a_source_with_a_defect() -> None:
    class Broken(Listed):
        async def snapshots(self):  # type: ignore[no-untyped-def]
            yield running()
            raise ZeroDivisionError("[oops]")

    assert "list: ZeroDivisionError: [oops]" in drive(Live(Broken([], True), clock=Clock(running().now)), pressed())


def test_a_recording_that_breaks_off() -> None:
    session = replay()
    session.source = Listed(sample()[-9:], wrong="line 12: no trace")
    text = drive(session, pressed("space"))
    assert "BROKEN OFF  list: line 12: no trace" in text
    assert len(session.shots) == 9


# tables that are not known here -------------------------------------------------------------------------------------------------------


def test_a_new_table_finds_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns, filter, sort, drill and export come with it; nothing on the screens knows it."""
    row_groups: Table[tuple[str, int]] = Table("row_groups", "Row groups", lambda r: r[0], [
        Field("row_group", "row group", "", "its name", lambda r: r[0]), Field("rows", "rows", "rows", "how many", lambda r: r[1]),
    ], sort="-rows", status=lambda r: "warn" if r[1] > 8 else "ok")  # fmt: skip
    known = tables.panes

    def panes(window: Window, limits: object) -> object:
        return {**known(window, limits), "row_groups": (row_groups, [("rg1", 7), ("rg2", 9)])}  # type: ignore[arg-type]

    monkeypatch.setattr(tables, "panes", panes)

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        assert "Row groups" not in screen_text(app), "at 120 columns three others come first, but"
        app.overview.show("row_groups")
        await settled(app, pilot)
        text = screen_text(app)
        assert "Row groups" in text
        assert "▲rg2" in text
        await pilot.press("exclamation_mark", "enter")
        await settled(app, pilot)
        assert "how many" in screen_text(app)

    drive(soon(), steps)
    text = drive(soon(), pressed(), (200, 60))
    assert "Row groups" in text


# what is written ----------------------------------------------------------------------------------------------------------------------


def test_exports(tmp_path: Path) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        for key in ("s", "t", "c", "j", "t"):
            await pilot.press("e", key)
            await settled(app, pilot)
        await pilot.press("slash", *"tenant", "enter", "e", "c")
        await settled(app, pilot)

    drive(soon(), steps, folder=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"slotwise-demo-sched-{name}" for name in ("1.csv", "1.json", "1.svg", "1.txt", "2.csv", "2.txt")]
    rows = list(csv.reader(io.StringIO((tmp_path / names[0]).read_text())))
    assert rows[0][:3] == ["group", "running [tasks]", "got [%]"]
    assert rows[1][0] == "tenant-c"
    assert len(rows) == 9
    assert len((tmp_path / names[4]).read_text().splitlines()) == 7, "the filter holds"
    frame = json.loads((tmp_path / names[1]).read_text())
    assert frame["status"] == "alarm"
    assert len(frame["panes"]["groups"]["rows"]) == 8
    picture = (tmp_path / names[2]).read_text()
    assert "tenant-c" in picture
    assert not re.search(r"@font-face|url\(https?:|src:|href=", picture), "it loads nothing from elsewhere"
    text = (tmp_path / names[3]).read_text()
    assert text.startswith(" LIVE ")
    assert "Export into" not in text


def test_export_of_hostile_names(tmp_path: Path) -> None:
    assert write(tmp_path, "../../etc/[x]\n", "txt", "").name == "slotwise-etc-x-1.txt"
    assert write(tmp_path, "...", "txt", "").name == "slotwise-scheduler-1.txt"
    shot = snapshot(60, groups=(group("=cmd()"), group('a,"b"')))

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.press("e", "c")
        await settled(app, pilot)

    drive(sampled([shot]), steps, folder=tmp_path)
    rows = list(csv.reader(io.StringIO((tmp_path / "slotwise-sample-1.csv").read_text())))
    assert [row[0] for row in rows] == ["group", "'=cmd()", 'a,"b"']


def test_a_folder_that_takes_nothing(tmp_path: Path) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        await pilot.press("e", "t")
        await settled(app, pilot)
        return [one.message for one in app._notifications]

    (told,) = drive(soon(), steps, folder=tmp_path / "none")
    assert told.startswith("not written: ")


# cost, and a real terminal ------------------------------------------------------------------------------------------------------------


def test_what_did_not_change_is_not_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> int:
        painted: list[object] = []
        for widget in app.overview.query("Lines"):
            monkeypatch.setattr(widget, "refresh", lambda *regions, **_: painted.append(regions))
        for _ in range(5):
            app.tick()
        return len(painted)

    assert drive(live(), steps) == 0


def test_the_viewer_looks_less_often_when_it_costs_much(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [5.0]
    monkeypatch.setattr("slotwise.dashboard.screens.app.time", SimpleNamespace(process_time=lambda: spent[0], monotonic=time.monotonic))
    app = Screens(soon(), fps=0)
    for passed, cpu, every in ((1.0, 0.9, 2), (1.0, 0.9, 4), (1.0, 0.3, 4), (1.0, 0.1, 2), (1.0, 0.1, 1), (1.0, 0.1, 1)):
        spent[0] += cpu
        app.meter(passed)
        assert app._every == every
    assert app.meter_words.endswith("%cpu")


def test_in_a_terminal() -> None:
    """The command itself, on a pseudo-terminal: it shows the trace, and q leaves with 0."""
    leader, follower = pty.openpty()
    os.set_blocking(leader, False)
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
    process = subprocess.Popen([sys.executable, "-m", "slotwise.cli.main", "watch", str(TRACE)], stdin=follower, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    seen, until = b"", time.monotonic() + LONG
    try:
        while process.poll() is None and time.monotonic() < until:
            try:
                seen += os.read(leader, 1 << 16)
            except BlockingIOError:
                time.sleep(0.02)
            except OSError:
                break
            if b"P5.slotwise.jsonl" in seen and b"starving" in seen:
                os.write(leader, b"q")
        assert process.wait(LONG) == 0
    finally:
        process.kill()
        os.close(leader)
    assert b"\x1b[?1049h" in seen


def test_without_a_terminal() -> None:
    ended = subprocess.run([sys.executable, "-m", "slotwise.cli.main", "watch", str(TRACE)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (ended.returncode, ended.stdout, ended.stderr) == (64, "", "slotwise: watch: the screen needs a terminal; --once shows one look\n")
