"""What is looked at, without any screen: live and recorded; filters; how tables are laid out."""
from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.panes import Cell, Column, Row
from slotwise.dashboard.screens.filters import FilterError, parse
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.look import Look, resampled, width_of
from slotwise.dashboard.screens.session import MOST, SECOND, Live, Playback, clock_of, parse_time

from ..samples import group, resource, snapshot
from .driving import Clock, Listed, replay, sample

NAN = float("nan")


def loaded(session: Playback) -> Playback:
    asyncio.run(session.follow())
    session.look()
    return session


def test_a_live_window_is_that_of_its_snapshots() -> None:
    clock = Clock()
    session = Live(Listed([], True), clock=clock)
    for shot in sample():
        clock.now = shot.now
        session.take(shot)
        assert session.look()
        assert not session.look(), "nothing new"
    for window, length in ((SECOND, 1.0), (10 * SECOND, 10.0), (60 * SECOND, 60.0), (0, sample()[-1].now / SECOND)):
        session.window = window
        session._dirty = True
        session.look()
        assert session.frame is not None
        assert length <= session.frame.head.window_s <= 1.25 * length


def test_any_place_of_a_recording_is_what_was_live_then() -> None:
    """The same frame, and the same alarms."""
    session = loaded(replay(sample()))
    clock = Clock()
    watching = Live(Listed([], True), clock=clock)
    watching.window = 0
    for place, shot in enumerate(sample()):
        clock.now = shot.now
        watching.take(shot)
        watching.look()
        if place % 20 == 0:
            session.seek(shot.now)
            session.look()
            assert session.place == place
            assert session.frame is not None
            assert watching.frame is not None
            assert session.frame.verdicts == watching.frame.verdicts
            assert session.frame.pane("groups") == watching.frame.pane("groups")
            told = [(alarm.code, alarm.entity) for alarm in session.alarms]
            assert set(told) ^ {(alarm.code, alarm.entity) for alarm in watching.alarms} <= {("FAIR02", "tenant-c")}, "but for the window's beginning, which live is up to a quarter earlier"


def test_it_plays_when_it_is_read_whole() -> None:
    session = replay()
    clock = session.clock
    assert isinstance(clock, Clock)
    session.take(sample()[0])
    clock.now += SECOND
    session.look()
    assert (session.place, session.at) == (0, sample()[0].now)
    session = loaded(replay())
    clock = session.clock
    assert isinstance(clock, Clock)
    assert session.speed == 0
    session.look()
    clock.now += 5 * SECOND
    session.look()
    assert session.position == 5 * SECOND
    session.faster(1)
    clock.now += SECOND
    session.look()
    assert session.position == 7 * SECOND
    clock.now += 600 * SECOND
    session.look()
    assert (session.playing, session.place) == (False, 119)
    session.play()
    assert (session.playing, session.position) == (True, 0), "anew"


def test_what_is_short_is_played_slowly() -> None:
    session = loaded(replay([snapshot(i / 1000, number=i) for i in range(51)]))
    assert session.speed_words == "x1/256"
    assert loaded(replay([snapshot(1)])).speed_words == "x1"


def test_times_count_from_the_start_of_the_program() -> None:
    """If the recording begins with it, however few snapshots there are; else from the first."""
    assert loaded(replay([snapshot(7)])).ends() == ("0.000s", "7.000s")
    session = loaded(replay([snapshot(1), snapshot(4)]))
    session.step(1)
    assert (session.position, session.here()) == (4 * SECOND, 1.0)
    session.step(-1)
    assert (session.position, session.here()) == (SECOND, 0.25)
    assert loaded(replay([snapshot(10), snapshot(14)])).ends() == ("0.000s", "4.000s")


@pytest.mark.parametrize(("ns", "ends"), [(900, ("0ns", "900ns")), (1_500_000, ("0.0us", "1,500.0us")), (90 * SECOND, ("00:00:00.00", "00:01:30.00"))])
def test_both_ends_of_the_history_are_told_alike(ns: int, ends: tuple[str, str]) -> None:
    assert loaded(replay([snapshot(0), msgspec.structs.replace(snapshot(0), now=ns)])).ends() == ends


def test_a_recording_says_when_it_is_at_its_end() -> None:
    session = loaded(replay([snapshot(0), snapshot(1), snapshot(2)]))
    seen = []
    acts: tuple[Callable[[], object], ...] = (lambda: None, session.to_end, lambda: session.step(-1), lambda: session.step(1), session.play, lambda: session.seek(2 * SECOND))
    for act in acts:
        act()
        session.look()
        seen.append(session.state)
    assert seen == ["REPLAY", "END", "STILL", "END", "REPLAY", "END"]
    session.play()
    session.look()
    session.clock.now += 1000 * SECOND  # type: ignore[attr-defined]
    session.look()
    assert session.state == "END", "played to it"


def test_a_long_recording_is_thinned() -> None:
    session = loaded(replay(snapshot(i, number=i) for i in range(2 * MOST + 10)))
    assert MOST // 2 <= len(session.shots) <= MOST
    assert len(session.shots) == len(session.times) == len(session.told) == len(session.numbers["busy"])
    assert session.times == sorted(set(session.times))


def test_a_verdict_that_gets_worse_is_no_alarm() -> None:
    """It lost more than it should, for too short a time to be one."""
    shots = [snapshot(0), snapshot(0.1, resources=(resource(),)), snapshot(0.15, resources=(resource(eligible=1, idle_waiting=SECOND // 2),)), snapshot(0.2, resources=(resource(idle_waiting=SECOND // 2),))]
    session = loaded(replay(shots))
    assert max(session.numbers["status"]) > session.numbers["status"][1]
    assert not any(session.told)
    assert session.marks == []


def test_marks_are_where_an_alarm_begins() -> None:
    quiet = [snapshot(i, groups=(group("a"),)) for i in range(3)]
    loud = [snapshot(i, groups=(group("a", waiting=1, oldest=-10 * SECOND),)) for i in range(3, 6)]
    session = loaded(replay([*quiet, *loud]))
    assert session.marks == [3 * SECOND]
    assert [bool(told) for told in session.told] == [False] * 3 + [True] * 3
    assert session.mark(True)
    assert not session.mark(True)
    assert session.place == 3


def test_an_empty_recording() -> None:
    session = loaded(replay([]))
    for act in (session.play, session.to_end, lambda: session.step(1), lambda: session.seek(5), lambda: session.mark(True), lambda: session.faster(1)):
        act()
        session.look()
    assert (session.state, session.frame, session.series("busy"), session.here()) == ("LOADING", None, [], 1.0)


def test_limits_hold_in_a_session() -> None:
    session = Live(Listed([], True), Limits(allowed=["FAIR01"]), clock=Clock(sample()[-1].now))
    session.take(sample()[-1])
    session.look()
    assert {alarm.code for alarm in session.alarms} & {"FAIR01", "DIV"} == {"DIV"}


TIMES = {"12.5": 12.5, "1:30": 90, "00:12:47.2": 767.2, "90s": 90, "250ms": 0.25, " 7 ": 7}


@pytest.mark.parametrize("typed", TIMES)
def test_times(typed: str) -> None:
    assert parse_time(typed) == round(TIMES[typed] * SECOND)


@pytest.mark.parametrize("typed", ["", "soon", "1:2:3:4", "-5", "1:-2", "s"])
def test_no_times(typed: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it says nothing, the screen does
        parse_time(typed)


def test_clocks() -> None:
    assert [clock_of(ns) for ns in (0, 1_234_000_000, 767_420_000_000, 3_723_000_000_000)] == ["0.000s", "1.234s", "00:12:47.42", "01:02:03.00"]


# filters ----------------------------------------------------------------------------------------------------------------------------

COLUMNS = (Column("group", "group", "", ""), Column("oldest", "oldest", "s", ""), Column("got", "got%", "%", ""), Column("flag", "flag", "", ""))


def row(name: str, oldest: float | None, got: float, flag: str = "") -> Row:
    return Row(name, (Cell(name), Cell(oldest), Cell(got), Cell(flag)))


ROWS = (row("Tenant-c", 18.4, 4.1, "STARVE"), row("batch", 0.05, 38.7), row("idle", None, 0.0, "idle"))
FILTERS = {
    "": "Tenant-c batch idle", "tenant": "Tenant-c", "!tenant": "batch idle", "starve": "Tenant-c", "oldest>5s": "Tenant-c", "oldest<=50ms": "batch", "!oldest>5s": "batch idle",
    "got%>=4.1": "Tenant-c batch", "got>4 !star": "batch", "got=0": "idle", "oldest>0.0001m": "Tenant-c batch", "18.4": "Tenant-c", "zzz": "", "!": "",
}  # fmt: skip


@pytest.mark.parametrize("typed", FILTERS)
def test_filters(typed: str) -> None:
    keep = parse(typed, COLUMNS)
    assert " ".join(one.key for one in ROWS if keep(one)) == FILTERS[typed]


@pytest.mark.parametrize(("typed", "why"), [("age>5", "no column age; there are group oldest got flag"), ("oldest>5h", "no unit h; there are s ms"), ("oldest>1.2.3", "1.2.3 is no number")])
def test_wrong_filters(typed: str, why: str) -> None:
    with pytest.raises(FilterError, match=why):
        parse(typed, COLUMNS)


# look and grid ----------------------------------------------------------------------------------------------------------------------


def test_sparks() -> None:
    look = Look()
    assert look.spark([0, 1, 2, 4, 8], 5) == " ▁▂▄█"
    assert look.spark([NAN, 8, 0.001], 3) == " █▁", "what is there at all is seen"
    assert look.spark([1, 1], 2, top=8) == "▁▁"
    assert look.spark([], 3) == "   "
    assert Look(ascii=True).spark([0, 4, 8], 3) == " =@"
    assert str(resampled([1, 5, NAN, NAN, 2, 3], 3)) == "[5, nan, 3]"
    assert resampled([1, 2], 4) == [1, 1, 2, 2]


def test_a_logarithmic_scale() -> None:
    """Its lowest height is a thousandth of the full one; nothing at all stays nothing."""
    look = Look()
    look.log = True
    assert look.spark([0, 0.0001, 0.001, 0.01, 0.1, 1], 6) == " ▁▁▃▆█"
    assert look.spark([0.1, NAN, 0.1], 3, top=1) == "▆ ▆"
    look.log = False
    assert look.spark([0, 0.0001, 0.001, 0.01, 0.1, 1], 6) == " ▁▁▁▁█"


def test_the_ground_changes_colours_but_not_their_absence() -> None:
    look, plain = Look(), Look(colour=False)
    dark, none = dict(look.styles), dict(plain.styles)
    look.lighten(True)
    plain.lighten(True)
    assert plain.styles == none
    assert look.styles["alarm"].bold
    assert {name for name in dark if look.styles[name] != dark[name]} >= {"ok", "warn", "alarm", "spark", "own", "lent", "run", "spin", "yield"}
    look.lighten(False)
    assert look.styles == dark


def test_bars_are_as_wide_as_asked() -> None:
    look = Look()
    for parts in ([(4, "a", ""), (3, "b", "")], [(0.001, "a", ""), (100, "b", "")], [(0, "a", "")], [(9, "a", ""), (9, "b", "")]):
        for width in (0, 1, 6, 30):
            assert width_of(look.bar(parts, 8, width)) == width
    assert "".join(words for words, _ in look.bar([(4, "#", ""), (2, "+", "")], 8, 8)) == "####++··"


@pytest.mark.parametrize("width", [3, 10, 20, 36, 46, 70, 118, 198])
@pytest.mark.parametrize("name", ["resources", "groups", "batchers", "batches", "waves", "workers", "checks", "divergences"])
def test_rows_fit_and_columns_stand_below_each_other(name: str, width: int) -> None:
    pane = derive(None, sample()[-1]).pane(name)
    grid = Grid(Look(), name, pane.columns, pane.rows, width, sort=pane.sort)
    widths = {width_of(grid.line(place)) for place in range(len(pane.rows))} | {width_of(grid.header())}
    assert len(widths) == 1
    assert max(widths) <= max(width, 5)
    if width >= 20:
        assert pane.columns[0].id in [pane.columns[i].id for i in grid.order] or name in ("batches", "waves"), "whose row it is"


def test_a_click_finds_its_column() -> None:
    pane = derive(None, sample()[-1]).pane("resources")
    grid = Grid(Look(), "resources", pane.columns, pane.rows, 60)
    header = "".join(words for words, _ in grid.header())
    for column in ("busy", "cap", "wait"):
        assert grid.column_at(header.index(column)) == {"busy": "busy", "cap": "capacity", "wait": "waiting"}[column]
    assert grid.column_at(header.index("slots")) is None


def test_a_snapshot_of_another_run_begins_anew() -> None:
    session = Live(Listed([], True), clock=Clock())
    for shot in (snapshot(50, pid=1, events=9), msgspec.structs.replace(snapshot(3), pid=2, events=1)):
        session.take(shot)
        session.look()
    assert session.frame is not None
    assert session.frame.head.window_s == 3.0
