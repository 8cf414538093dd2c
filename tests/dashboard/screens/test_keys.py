"""Every key does what it says, and can be another."""
from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

import msgspec
import pytest
from textual.events import Click, Key
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from slotwise.dashboard.screens import keys
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.cards import Verdicts
from slotwise.dashboard.screens.details import Detail
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.help import Exporting, Help
from slotwise.dashboard.screens.overview import Overview
from slotwise.dashboard.screens.pane import TablePane
from slotwise.dashboard.screens.sampled import sampled
from slotwise.dashboard.screens.session import SECOND, Live, Playback

from .driving import Clock, Listed, drive, in_turn, pressed, replay, sample, settled, soon

Case = Callable[[Screens, Pilot[str]], Awaitable[None]]
CASES: dict[str, Case] = {}
REPLAYED: dict[str, Case] = {}


def case(*ids: str, replayed: bool = False) -> Callable[[Case], Case]:
    def keep(check: Case) -> Case:
        (REPLAYED if replayed else CASES).update(dict.fromkeys(ids, check))
        return check

    return keep


def pane(app: Screens, name: str = "groups") -> TablePane:
    return app.overview.panes[name]


def first(app: Screens, name: str = "groups") -> list[str]:
    """The rows' keys, as they are shown."""
    return [row.key for row in pane(app, name)._shown]


def played(app: Screens) -> Playback:
    assert isinstance(app.session, Playback)
    return app.session


@case("quit")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("q")
    assert app.return_code == 0


@case("help")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    for key in ("question_mark", "f1"):
        await pilot.press(key)
        assert isinstance(app.screen, Help)
        seen = screen_text(app)
        for _ in range(3):
            await pilot.press("pagedown")
            seen += screen_text(app)
        assert "integral of its slots" in seen, "the columns of the pane"
        assert set(keys.IDS) <= set(seen.split()), "every key, by its id"
        await pilot.press("escape")
        assert app.screen_stack[-1] == app.overview


@case("pause")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    """The view stands still, the first line goes on."""
    await pilot.press("space")
    later = msgspec.structs.replace(sample()[-1], now=sample()[-1].now + 60 * SECOND, dropped=17, groups=())
    app.session.take(later)
    app.tick()
    await pilot.pause()
    assert app.frame is not app.now
    assert first(app)[0] == "tenant-c"
    text = screen_text(app)
    assert text.startswith(" PAUSED 60s "), "so old is what is seen"
    assert "drop 17" in text
    assert " space Go on " in text
    await pilot.press("space")
    assert app.frame is app.now
    assert first(app) == []
    assert screen_text(app).startswith(" LIVE ")


@case("drill")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("enter")
    assert isinstance(app.screen, Detail)
    assert (app.screen.table, app.screen.key) == ("groups", "tenant-c")
    assert "io 38% db 23%" in screen_text(app)
    await pilot.press("tab")
    assert app.screen.key == "tenant-f", "the next row"
    await pilot.press("escape", "0", "home", "enter")
    assert isinstance(app.screen, Detail)
    assert (app.screen.table, app.screen.key) == ("groups", "tenant-c"), "an alarm leads to what it speaks of"
    await pilot.press("escape", "5", "down", "enter")
    assert isinstance(app.screen, Detail)
    assert (app.screen.table, app.screen.key) == ("resources", "gpu")
    assert "min(free, eligible), now" in screen_text(app)


@case("filter", "back")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("slash", *"tenant")
    assert len(first(app)) == 6, "while it is typed"
    await pilot.press("space", *"!tenant-c", "enter")
    assert first(app) == ["tenant-f", "tenant-a", "tenant-b", "tenant-d", "tenant-e"]
    assert isinstance(app.focused, TablePane)
    assert "/tenant !tenant-c" in screen_text(app)
    await pilot.press("escape")
    assert len(first(app)) == 8
    await pilot.press("slash", *"oldest>1s", "enter")
    assert first(app) == ["tenant-c", "tenant-f", "batch"]
    await pilot.press("slash", "escape")
    assert len(first(app)) == 8
    await pilot.press("slash", *"colour>1", "enter")
    assert len(first(app)) == 8, "a wrong one hides nothing"
    assert "no column colour" in screen_text(app)
    await pilot.press("escape", "slash", *"zzz", "enter")
    assert "none of 8 is like that; esc shows all" in screen_text(app)


@case("problems")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("exclamation_mark")
    assert first(app) == ["tenant-c", "tenant-f"]
    await pilot.press("5", "exclamation_mark")
    assert first(app, "resources") == ["cpu", "gpu"], "by what the lints say"
    await pilot.press("exclamation_mark")
    assert len(first(app, "resources")) == 7


@case("sort", "reverse")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("s")
    assert pane(app).sort == "-p50", "after oldest comes p50"
    await pilot.press("S")
    assert pane(app).sort == "p50"
    assert first(app)[0] == "system"
    await pilot.press("s", "s", "s")
    assert pane(app).sort == "group"
    assert first(app)[0] == "batch"
    await pilot.press("S")
    assert first(app)[0] == "tenant-f"


@case("zoom")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("z")
    await settled(app, pilot)
    assert "Resources" not in screen_text(app)
    assert "limit" in screen_text(app), "there is room for all columns"
    await pilot.press("escape")
    await settled(app, pilot)
    assert "5 Resources" in screen_text(app)


@case("window")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    for words in ("60s", "run", "1s", "10s"):
        await pilot.press("w")
        assert f"win {words}" in screen_text(app)
    await pilot.press("space", "w")
    assert app.frame is app.now, "also while it is paused"


@case("export")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("e")
    assert isinstance(app.screen, Exporting)
    await pilot.press("escape")
    assert app.screen_stack[-1] == app.overview


@case("follow")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    many = [msgspec.structs.replace(sample()[-1].groups[0], name=f"g{i:03}", oldest=sample()[-1].now - i * SECOND) for i in range(100)]
    app.session.take(msgspec.structs.replace(sample()[-1], groups=tuple(many), number=10**6))
    app.tick()
    assert first(app)[0] == "g099"
    await pilot.press("f")
    assert pane(app).selected == "g099"
    swapped = msgspec.structs.replace(many[99], oldest=None, waiting=0)
    app.session.take(msgspec.structs.replace(sample()[-1], groups=(*many[:99], swapped), number=10**6 + 1))
    app.tick()
    assert first(app)[-1] == "g099", "it is where the row has gone"
    await pilot.press("f", "home")
    assert first(app)[0] == "g098"


@case("copy")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("c")
    assert app.clipboard.startswith("tenant-c  2  4.1%")
    app.overview.show("divergences")
    await pilot.press("c")
    assert app.clipboard == "slotwise replay .slotwise/DIV-41.slotwise.jsonl", "the command that shows it again"


@case("next_pane", "previous_pane")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    seen = [app.overview.current]
    for _ in range(9):
        await pilot.press("tab")
        await pilot.pause()
        seen.append(app.overview.current)
        assert app.focused is pane(app, seen[-1])
        assert pane(app, seen[-1]).display, "it is seen, even where there is no place for all"
    assert seen == ["groups", "batchers", "batches", "waves", "workers", "checks", "divergences", "alarms", "resources", "groups"]
    await pilot.press("shift+tab")
    assert app.overview.current == "resources"


@case("down", "up", "first", "last", "page_down", "page_up")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    for key, place in (("down", 1), ("j", 2), ("up", 1), ("k", 0), ("k", 0), ("end", 7), ("down", 7), ("home", 0), ("pagedown", 7), ("pageup", 0)):
        await pilot.press(key)
        assert pane(app).place == place, key
    assert pane(app).selected == "tenant-c"


@case("verdict_1", "verdict_2", "verdict_3", "verdict_4")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    for key, evidence in (("1", "resources"), ("2", "groups"), ("3", "batchers"), ("4", "workers")):
        await pilot.press(key)
        assert isinstance(app.focused, Verdicts)
        await pilot.press("enter")
        assert app.overview.current == evidence
        assert pane(app, evidence).display
    await pilot.press("1", "down", "enter")
    assert app.overview.current == "groups"


@case(*(f"pane_{digit}" for digit in "567890"))
async def _(app: Screens, pilot: Pilot[str]) -> None:
    for key, name in (("5", "resources"), ("6", "groups"), ("7", "batches"), ("8", "waves"), ("9", "workers"), ("0", "alarms")):
        await pilot.press(key)
        assert app.focused is pane(app, name)
    await pilot.press("0")
    assert app.overview.zoomed


@case("live")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("space", "L")
    assert not app.paused


# how numbers and rows are told -------------------------------------------------------------------------------------------------------


def app_told(app: Screens) -> str:
    return list(app._notifications)[-1].message


@case("group")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    titles, rows = [], []
    for _ in range(4):
        await pilot.press("g")
        titles.append(screen_text(app).splitlines()[7].partition("6 ")[2].split(" ─")[0])
        rows.append(first(app))
    assert titles == ["Groups by what they wait for", "Waits by resource", "Waits", "Groups"]
    assert rows[0][0] == "capacity io"
    assert set(rows[1]) == {"", "io", "db", "cpu", "gpu"}
    assert "tenant-c lent gpu" in rows[2]
    assert rows[3][0] == "tenant-c"
    await pilot.press("g", "enter")
    assert "groups that waited for it" in screen_text(app), "also such a row can be looked at"
    await pilot.press("escape", "5", "g")
    assert "5 Resources by state" in screen_text(app)
    assert {"full, wanted", "idle, wanted"} <= set(first(app, "resources"))
    app.overview.show("batchers")
    await pilot.press("g")
    assert "the rows of batchers have nothing in common" in [one.message for one in app._notifications]
    app.overview.show("checks")
    for words in ("by outcome", "by family", "each row by itself"):
        await pilot.press("g")
        assert app_told(app) == words
    await pilot.press("0", "g")
    assert first(app, "alarms") == ["FAIR01", "SCH001", "DIV", "FAIR02"] or "FAIR01" in first(app, "alarms")
    assert "alarms" in screen_text(app)


@case("unit")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    """Titles say it, the numbers are those of the window."""
    app.overview.show("batchers")
    await settled(app, pilot)
    await pilot.press("z")
    frame, seen = app.frame, []
    assert frame is not None
    requests = frame.window.batchers[0].count("requests")
    for _ in range(4):
        await pilot.press("u")
        await settled(app, pilot)
        listing = pane(app, "batchers").listing()
        assert listing is not None
        place = next(i for i, column in enumerate(listing.columns) if column.id == "requests")
        value = listing.rows()[0].cells[place].value
        assert isinstance(value, int | float)
        seen.append((listing.columns[place].title, round(value, 9)))
        assert seen[-1][0] in screen_text(app)
    assert seen == [("req/s", round(requests / frame.head.window_s, 9)), ("req sum", requests), ("req/all", 100.0), ("req", requests)]


@case("scale")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    before = screen_text(app)
    await pilot.press("y")
    lines = screen_text(app).splitlines()
    assert lines[-3].startswith(" log scale ")
    assert "its lowest is 1/1000" in lines[-2]
    assert lines[4] != before.splitlines()[4], "the sparklines too"
    await pilot.press("y")
    assert screen_text(app).splitlines()[:-3] == before.splitlines()[:-3] or app.look.log is False


@case("preset", "previous_preset")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    seen = []
    for key in ("p", "p", "p", "p", "p", "P", "p"):
        await pilot.press(key)
        await settled(app, pilot)
        board = app.overview
        seen.append((board.preset, board.current))
        shown = [name for name, one in board.panes.items() if one.display]
        if board.preset == "ckpt":
            assert set(shown) == {"batchers", "batches", "waves", "alarms"}
            assert len({pane(app, name).size.width for name in shown}) == 1, "below each other"
        if board.preset == "fairness":
            assert set(shown) == {"groups", "waits", "alarms"}
            assert pane(app, "waits").size.height > 5
        if board.preset != "overview":
            assert f"view {board.preset}" in screen_text(app).splitlines()[0]
    assert seen == [("fairness", "groups"), ("ckpt", "batchers"), ("spin", "workers"), ("fuzz", "divergences"), ("overview", "groups"), ("fuzz", "divergences"), ("overview", "groups")]


@case("theme")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    before, styles = app.theme, app.look.styles
    seen = [before]
    while len(seen) == 1 or seen[-1] != before:
        await pilot.press("T")
        seen.append(app.theme)
        assert (app.look.styles == styles) is app.current_theme.dark, "on a light ground the colours are darker"
    assert len(seen) == len(set(seen)) + 1 > 10
    assert app.look.styles == styles


@case("output")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("o")
    assert "no program was started from here" in screen_text(app)
    await pilot.press("up", "down", "escape")
    assert app.screen is app.overview


# alarms ------------------------------------------------------------------------------------------------------------------------------


@case("acknowledge", "acknowledged")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    head = screen_text(app).splitlines()[0]
    await pilot.press("0", "a")
    assert "FAIR01 tenant-c" not in first(app, "alarms")
    assert "8 open  1 acked" in screen_text(app)
    await pilot.press("6", "home", "a")
    assert "FAIR02 tenant-c" not in first(app, "alarms"), "all that speak of the row"
    await pilot.press("down", "a")
    assert "FAIR01 tenant-f" not in first(app, "alarms")
    await pilot.press("5", "end", "a")
    assert "no open alarm speaks of it" in [one.message for one in app._notifications]
    await pilot.press("0", "A", "end")
    await settled(app, pilot)
    assert "6 open  3 acked, shown" in screen_text(app)
    assert "(acked) FAIR01 tenant-" in screen_text(app)
    await pilot.press("a", "A", "home")
    assert "7 open  2 acked" in screen_text(app), "again: not acknowledged"
    await pilot.press("6", "home", "enter")
    await settled(app, pilot)
    assert "(acknowledged)" in screen_text(app)
    await pilot.press("a", "escape")
    assert screen_text(app).splitlines()[0] == head


# the mark ----------------------------------------------------------------------------------------------------------------------------


@case("mark", "to_mark", "difference")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("d", "apostrophe")
    assert [one.message for one in app._notifications] == ["there is no mark; m sets one"] * 2
    marked = app.frame
    await pilot.press("m", "w")
    assert app.frame is not marked
    await pilot.press("apostrophe")
    assert app.frame is marked
    lines = screen_text(app).splitlines()
    assert lines[0].startswith(" MARK ")
    assert lines[1] == " MARK  this is 0s ago; ' or L goes back to now"
    await pilot.press("apostrophe")
    assert screen_text(app).startswith(" LIVE ")
    for key in ("L", "space"):
        await pilot.press("apostrophe", key)
        assert app.frame is app.now
        assert not app.paused
    await pilot.press("d")
    await settled(app, pilot)
    text = screen_text(app)
    assert "before: the mark, 0s ago;  after: now" in text
    words = " ".join(text.split())
    assert "window then " in words
    assert "window now " in words
    assert "nothing has changed" in text
    await pilot.press("escape")
    assert app.screen is app.overview


@case("record")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    app.recorder.opens = _missing
    await pilot.press("R")
    assert [(one.message, one.severity) for one in app._notifications] == [("recording needs pyarrow: pip install 'slotwise[record]'", "error")]
    assert " REC " not in screen_text(app)


def _missing(path: Path) -> NoReturn:
    raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")


# in a recording ----------------------------------------------------------------------------------------------------------------------


@case("mark", "to_mark", "difference", "record", "acknowledge", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    session = played(app)
    await pilot.press("shift+right", "m", "shift+right", "shift+right", "apostrophe")
    assert session.place == 10
    assert not session.playing
    await pilot.press("L")
    await settled(app, pilot)
    assert screen_text(app).splitlines()[-3].count("M") == 1, "where it is"
    await pilot.press("d")
    await settled(app, pilot)
    text = screen_text(app)
    assert "before: the mark, at 2.500s;  after: at 29.750s" in text
    assert "passed 27.2s" in text
    assert "tenant-c" in text
    await pilot.press("escape", "R", "0", "home", "a")
    assert "this is a recording already; e cuts the window out of one" in [one.message for one in app._notifications]
    assert app.alarms[0] not in app.heard
    await pilot.press("left", "right")
    assert app.alarms[0] not in app.heard, "by code and entity, wherever one is"


@case("pause", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    session = played(app)
    assert session.state == "REPLAY"
    await pilot.press("space")
    assert (session.state, screen_text(app)[:7]) == ("STILL", " STILL ")
    await pilot.press("space")
    assert session.playing
    session.clock.now += SECOND  # type: ignore[attr-defined]
    app.tick()
    assert session.position == SECOND * 2**session.speed // (SECOND // 4) * (SECOND // 4)


@case("step", "step_back", "leap", "leap_back", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    session = played(app)
    for key, place in (("right", 1), ("right", 2), ("shift+right", 12), ("left", 11), ("shift+left", 1), ("shift+left", 0)):
        await pilot.press(key)
        assert session.place == place
        assert app.frame is not None
        assert app.frame.window.after is session.shots[place]
    assert not session.playing


@case("next_event", "previous_event", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    """The sample has looks only; test_exact has more."""
    await pilot.press("n", "N")
    assert [one.message for one in app._notifications] == ["it says nothing of what was between two looks; left and right go from look to look"] * 2


@case("next_alarm", "previous_alarm", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    session, seen = played(app), []
    for _ in range(len(session.marks) + 1):
        await pilot.press("right_square_bracket")
        seen.append(session.times[session.place])
    assert seen[:-1] == session.marks[1:] + session.marks[-1:]
    await pilot.press("left_square_bracket")
    assert session.times[session.place] == session.marks[-2]


@case("slower", "faster", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("full_stop", "full_stop")
    assert screen_text(app).startswith(" REPLAY x4 ")
    await pilot.press("comma", "comma", "comma")
    assert screen_text(app).startswith(" REPLAY x1/2 ")
    await pilot.press(*["full_stop"] * 20)
    assert played(app).speed_words == "x64"


@case("time", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    for typed, position in (("12.5", 12.5), ("0:20", 20), ("250ms", 0.25), ("9:00:00", 29.75)):
        await pilot.press("t", *[{":": "colon", ".": "full_stop"}.get(c, c) for c in typed], "enter")
        assert played(app).position == position * SECOND, typed
    await pilot.press("t", *"soon", "enter")
    assert played(app).position == 29.75 * SECOND
    assert isinstance(app.focused, TablePane)
    await pilot.press("t", "escape")
    assert not app.overview.query_one(Input).display


@case("live", replayed=True)
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("L")
    assert played(app).place == 119


@pytest.mark.parametrize(("burst", "position", "filtered"), [("t1:07.5\n", 29.75, ""), ("t12.5\n", 12.5, ""), ("t12x\b.5\n", 12.5, ""), ("/12 e\n", 0, "12 e"), ("tq\x1b", 0, "")])
def test_keys_that_come_all_at_once_are_typed(burst: str, position: float, filtered: str) -> None:
    """As from a terminal that is pasted into, or slow: all are there before the prompt is."""

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.press("space")
        for character in burst:
            app.post_message(Key({"\n": "enter", "\b": "backspace", "\x1b": "escape", ".": "full_stop", ":": "colon", "/": "slash", " ": "space"}.get(character, character), character if character >= " " else None))
        await settled(app, pilot)
        assert app.is_running
        assert (played(app).position, pane(app).typed) == (position * SECOND, filtered)
        assert not app.overview.query_one(Input).display
        assert isinstance(app.focused, TablePane)
        assert app.overview.current == "groups", "no key of these was one of the overview's"

    drive(replay(), steps)


ONLY_REPLAYED = {"step", "step_back", "leap", "leap_back", "next_event", "previous_event", "next_alarm", "previous_alarm", "slower", "faster", "time"}


def test_no_key_is_forgotten() -> None:
    assert set(CASES) == set(keys.IDS) - ONLY_REPLAYED
    assert set(REPLAYED) >= ONLY_REPLAYED
    given = [key for _, names, *_ in keys.KEYS for key in names.split(",")]
    assert len(given) == len(set(given)), "no key has two meanings"
    assert set(keys.PALETTE) <= set(keys.IDS)


ALONE = ("quit", "pause", "follow")          # they leave the app, or take what is not in the sample
TOGETHER = list(dict.fromkeys(check for id, check in CASES.items() if id not in ALONE))


@pytest.mark.parametrize("id", ALONE)
def test_key(id: str) -> None:
    drive(soon(), CASES[id])


@pytest.mark.parametrize("part", range(3))
def test_keys_in_turn(part: int) -> None:
    drive(soon(), in_turn(*TOGETHER[part::3]))


def test_keys_in_a_recording() -> None:
    drive(replay(), in_turn(*dict.fromkeys(REPLAYED.values())))


def test_a_running_scheduler_is_not_scrubbed() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        await pilot.press(*(names.split(",")[0] for id, names, *_ in keys.KEYS if id in ONLY_REPLAYED))
        return [one.message for one in app._notifications]

    assert drive(soon(), steps) == ["only a recording goes back in time: R makes one; m marks this moment"] * len(ONLY_REPLAYED)


# other keys --------------------------------------------------------------------------------------------------------------------------


def test_a_key_can_be_another(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text('pause = "p"\ndown = "n,down"\n')
    mapped = keys.load(tmp_path / "keys.toml")

    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.press("space")
        assert not app.paused
        await pilot.press("p", "n")
        assert app.paused
        assert pane(app).place == 1
        assert " p Go on" in screen_text(app)
        await pilot.press("question_mark")
        assert " p           Pause" in screen_text(app)

    drive(soon(), steps, mapped=mapped)


@pytest.mark.parametrize(("content", "why"), [("pawse = 'p'", "no key is called 'pawse'; there are quit"), ("pause = 3", "pause: expected names of keys"), ("pause", "keys.toml"), ("pause = ''", "expected names")])
def test_a_wrong_file_of_keys(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "keys.toml").write_text(content)
    with pytest.raises(keys.KeysError) as found:
        keys.load(tmp_path / "keys.toml")
    assert why in str(found.value)
    assert "\n" not in str(found.value)


def test_no_key_is_silent_before_anything_is_known() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        await pilot.press("g")
        return [one.message for one in app._notifications]

    assert drive(Live(Listed([], True), clock=Clock()), steps) == ["nothing is known yet"]


def test_no_file_of_keys(tmp_path: Path) -> None:
    assert keys.load(tmp_path / "keys.toml") == {}


def test_the_palette_leads_to_every_pane() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        commands = list(app.get_system_commands(app.screen))
        next(one for one in commands if one.title == "Table: Invariants").callback()
        await settled(app, pilot)
        cases: dict[str, Callable[[], bool]] = {"Log scale": lambda: app.look.log, "View: ckpt": lambda: app.overview.preset == "ckpt"}
        for typed, done in cases.items():
            await pilot.press("ctrl+p", *[{" ": "space", ":": "colon"}.get(c, c) for c in typed])
            assert not isinstance(app.screen, Overview)
            for _ in range(5000):
                await pilot.pause(0.02)
                if app.screen.query_one(OptionList).option_count:
                    break
            await pilot.press("enter")
            await settled(app, pilot)
            assert done(), typed
        return [one.title for one in commands]

    titles = drive(soon(), steps)
    assert [title for title in titles if title.startswith("Table: ")] == [
        f"Table: {name}" for name in ("Resources", "Groups", "Checkpoint batchers", "Checkpoint batches", "Refresh waves", "Workers", "Invariants", "Divergences", "Waits", "Alarms and lints")
    ]
    assert {"View: ckpt", "View: overview", "Changes since the mark", "Record, or stop", "Next theme", "Acknowledge alarms"} <= set(titles)


def test_keys_of_one_pane_at_a_time() -> None:
    """At 80x24, tab and digits change what is shown; the four verdicts stay."""
    for presses, shown in ((("9",), "wake p99"), (("tab",), "needless%"), (("0",), "FAIR01 tenant-c:"), (("1", "enter"), "own")):
        text = drive(soon(), pressed(*presses), (80, 24))
        assert shown in text.splitlines()[6] + text.splitlines()[7], presses
        assert "ALARM starving" in text


def test_the_mouse() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        groups = pane(app)
        await pilot.click(groups, offset=(5, 4))
        assert groups.selected == "batch"
        await pilot.press("down")
        await pilot.click(groups, offset=(5, 5))
        assert app.screen is app.overview, "a click on the selected row is no double click"
        assert groups.selected == "tenant-a"
        await pilot.click(pane(app, "resources"), offset=(5, 3))
        await pilot.click(pane(app, "resources"), offset=(5, 9), times=2)
        assert app.screen is app.overview, "there is no row"
        await pilot.click(groups, offset=(5, 4))
        groups.on_click(Click(groups, 5, 5, 0, 0, 1, False, False, False, groups.region.x + 5, groups.region.y + 5, chain=2))
        await settled(app, pilot)
        assert isinstance(app.screen, Detail)
        assert app.screen.key == "batch", "the row of the first click, though rows have moved"
        await pilot.press("escape")
        await pilot.click(groups, offset=(5, 1))
        assert groups.sort == "group"
        await pilot.click(groups, offset=(5, 1))
        assert groups.sort == "-group"
        await pilot.click("#card-spin-burn")
        assert app.overview.current == "workers"

    drive(soon(), steps)


def test_clicks_on_the_timeline_and_the_tabs() -> None:
    async def on_timeline(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.click("#history", offset=(65, 0))
        assert 55 <= played(app).place <= 65

    drive(replay(), on_timeline)

    async def on_tabs(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.click("#tabs", offset=(3, 0))
        assert app.overview.current == "resources"

    drive(sampled([sample()[-1]]), on_tabs, (80, 24))
