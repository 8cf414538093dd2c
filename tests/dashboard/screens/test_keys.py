"""Every key does what it says, and can be another."""
from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from slotwise.dashboard.screens import keys
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.details import Detail, Exporting, Help
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.overview import Overview
from slotwise.dashboard.screens.pane import TablePane
from slotwise.dashboard.screens.parts import Verdicts
from slotwise.dashboard.screens.sampled import sampled
from slotwise.dashboard.screens.session import SECOND, Playback

from .driving import drive, pressed, replay, sample, settled, soon

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
        text = screen_text(app)
        assert "integral of its slots" in text, "the columns of the pane"
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
    assert text.startswith(" PAUSED ")
    assert "drop 17" in text
    await pilot.press("space")
    assert app.frame is app.now
    assert first(app) == []
    assert screen_text(app).startswith(" LIVE ")


@case("drill")
async def _(app: Screens, pilot: Pilot[str]) -> None:
    await pilot.press("enter")
    assert isinstance(app.screen, Detail)
    assert (app.screen.table, app.screen.key) == ("groups", "tenant-c")
    assert "no free slot: io" in screen_text(app)
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


ONLY_REPLAYED = {"step", "step_back", "leap", "leap_back", "next_alarm", "previous_alarm", "slower", "faster", "time"}


def test_no_key_is_forgotten() -> None:
    assert set(CASES) == set(keys.IDS) - ONLY_REPLAYED
    assert set(REPLAYED) >= ONLY_REPLAYED
    given = [key for _, names, *_ in keys.KEYS for key in names.split(",")]
    assert len(given) == len(set(given)), "no key has two meanings"


@pytest.mark.parametrize("id", CASES)
def test_key(id: str) -> None:
    drive(soon(), CASES[id])


@pytest.mark.parametrize("id", REPLAYED)
def test_key_in_a_recording(id: str) -> None:
    drive(replay(), REPLAYED[id])


def test_a_running_scheduler_is_not_scrubbed() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        await pilot.press(*(names.split(",")[0] for id, names, *_ in keys.KEYS if id in ONLY_REPLAYED))
        return [one.message for one in app._notifications]

    assert drive(soon(), steps) == ["a running scheduler is only seen now; space pauses"] * len(ONLY_REPLAYED)


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
        assert " p Pause" in screen_text(app)
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


def test_no_file_of_keys(tmp_path: Path) -> None:
    assert keys.load(tmp_path / "keys.toml") == {}


def test_the_palette_leads_to_every_pane() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        commands = list(app.get_system_commands(app.screen))
        next(one for one in commands if one.title == "Pane: Inv").callback()
        await settled(app, pilot)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert not isinstance(app.screen, Overview)
        return [one.title for one in commands]

    titles = drive(soon(), steps)
    assert [title for title in titles if title.startswith("Pane: ")] == [f"Pane: {name}" for name in ("Slots", "Groups", "Ckpt", "Batches", "Waves", "Workers", "Inv", "Div", "Alarms")]


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
        await pilot.click(groups, offset=(5, 4))
        assert isinstance(app.screen, Detail)
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
