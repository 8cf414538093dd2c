"""What a person reads: no number is cut or without a name, none moves about, each is in the help, and what is special says how old it is."""
from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from slotwise.dashboard.observe import regroup
from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.history import Past
from slotwise.dashboard.observe.limits import DEFAULTS, Limits
from slotwise.dashboard.observe.sources.source import find
from slotwise.dashboard.observe.tables import CAUSE_WORDS
from slotwise.dashboard.screens import glossary, hints
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.cards import FOUR, TITLES, brief
from slotwise.dashboard.screens.export import KINDS, SLICE, screen_text
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.head import lag
from slotwise.dashboard.screens.help import Help
from slotwise.dashboard.screens.look import Look, width_of
from slotwise.dashboard.screens.page import Page
from slotwise.dashboard.screens.sampled import sampled
from slotwise.dashboard.screens.session import SECOND, Live, Playback, clock_of
from slotwise.impl import snapshot as s

from ..samples import batcher, group, resource, snapshot, worker
from .driving import Clock, Listed, drive, live, pressed, replay, sample, settled, soon

HOUSE = Path(__file__).parents[3]
NAMES = ("resources", "groups", "batchers", "batches", "waves", "workers", "checks", "divergences")

# the help ---------------------------------------------------------------------------------------------------------------------------


def test_every_number_of_a_verdict_is_in_the_help() -> None:
    for verdict in derive(None, sample()[-1]).verdicts:
        if verdict.name in FOUR:
            assert verdict.numbers
            assert {glossary.TOLD[number] for number in verdict.numbers} <= {name for name, _, _ in glossary.CARDS[verdict.name]}, verdict.name


def test_every_number_of_the_first_line_is_in_the_help() -> None:
    first = drive(live(), pressed(), (200, 60)).splitlines()[0].split("  ")
    told = {name.split()[0] for name, _, _ in glossary.HEAD}
    assert {"up", "ev/s", "drop", "lag", "win", "inv", "div"} <= told
    for piece in first[2:]:
        assert not piece.strip() or told.intersection(piece.split()), piece


def test_the_help_says_why_a_window_is_longer_than_it_was_asked_to_be() -> None:
    """By the words that stand above what is shared out by cause."""
    shots = [snapshot(second, number=second, groups=(group("a", waiting=1),)) for second in (0, 9, 19, 30)]

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        await pilot.press("enter")
        await settled(app, pilot)
        return screen_text(app)

    text = drive(sampled(shots), steps)
    assert "win 10s" in text
    over, = set(re.findall(r"over (\S+ s)\b", text))
    assert over == "11 s"
    entry, = (words for name, _, words in glossary.HEAD if re.sub(r"[\d.]+", "N", name) == re.sub(r"[\d.]+", "N", f"over {over}"))
    assert "at most a quarter earlier" in entry
    for window in (SECOND, 10 * SECOND, 60 * SECOND):        # which is true
        past = Past()
        for now in range(0, 200 * SECOND, SECOND // 10):
            past.put(snapshot(now / SECOND))
            before = past.before(now, window)
            assert now < window or (before is not None and window <= now - before.now <= 1.25 * window), (window, now)


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("table", NAMES)
def test_the_help_cuts_nothing(table: str, width: int) -> None:
    columns = derive(None, sample()[-1]).pane(table).columns
    content = Help(Look(), table, table, columns, {}, Limits()).content(width)
    assert all(width_of(line) <= width for line in content if line)
    text = " ".join(" ".join("".join(words for words, _ in line).split()) for line in content)
    wanted = [words for entries in (*glossary.CARDS.values(), glossary.HEAD, glossary.HISTORY) for _, _, words in entries] + [column.help for column in columns] + [limit.says for limit in DEFAULTS.values()]
    for words in wanted:
        assert " ".join(words.split()) in text, words
    for column in columns:
        assert column.title in text, "it is found by what the screen calls it"


def test_every_cause_of_waiting_is_in_the_help() -> None:
    assert glossary.CAUSES.keys() == CAUSE_WORDS.keys() == set(s.CAUSES)
    text = " ".join(drive(soon(), pressed("question_mark"), (120, 200)).split())
    assert all(f"{CAUSE_WORDS[cause]} {words}" in text for cause, words in glossary.CAUSES.items())


def test_help_is_there_where_the_causes_are() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[str, str, str]:
        await pilot.press("enter")
        why = screen_text(app)
        await pilot.press("question_mark")
        told = screen_text(app)
        await pilot.press("escape")
        return why, told, screen_text(app)

    why, told, again = drive(soon(), steps, (120, 100))
    assert "Why it waits" in why
    assert " ? Help " in why.splitlines()[-1]
    assert "has not come to it" in told
    assert again == why


def test_the_help_says_the_limits_in_force() -> None:
    found = {code: value for code, value, _ in glossary.lints(Limits({"FAIR01": 30.0}, ("SPIN01",)))}
    assert (found["FAIR01"], found["SPIN01"], found["SPIN02"], found["DIV"]) == ("30 s", "allowed", "0.001 s", "")


def test_tab_goes_from_part_to_part_of_the_help() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        found = []
        await pilot.press("question_mark")
        for key in ("tab", "tab", "shift+tab", "shift+tab", "shift+tab", "tab"):
            await pilot.press(key)
            await settled(app, pilot)
            found.append(screen_text(app).splitlines()[0].strip())
        assert app.screen.query_one(Page).top == 0
        return found

    found = drive(soon(), steps, (80, 24))
    assert found[:2] == ["Groups", "Idle while waiting"]
    assert found[2] == "Groups"
    assert [line.split()[0] for line in (found[3], found[5])] == ["Keys", "Keys"]


# nothing is cut that would be another number ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "width", "shown"), [
    ("timer 100%", 9, "timer …  "), ("timer 100%", 8, "timer … "), ("timer 100%", 10, "timer 100%"), ("w3=44% w4=31%", 12, "w3=44% w4=… "), ("tenant-12345", 10, "tenant-12…"), ("waited 2 hours", 9, "waited 2…"), ("12345", 3, "12…"), ("x", 0, ""),
])  # fmt: skip
def test_no_number_is_cut(words: str, width: int, shown: str) -> None:
    assert Look().fit(words, width) == shown


def test_parts_are_whole_or_not_there() -> None:
    look = Look()
    assert [look.whole(["longest 4.1s", "gpu=1.2", "cpu=0.6"], width) for width in (28, 27, 20, 12, 8)] == ["longest 4.1s gpu=1.2 cpu=0.6", "longest 4.1s gpu=1.2", "longest 4.1s gpu=1.2", "longest 4.1s", "longest…"]


@pytest.mark.parametrize("room", [10, 14, 26, 60])
def test_cards_keep_their_numbers_whatever_the_names(room: int) -> None:
    shot = snapshot(60, groups=(group("a-team-with-a-name-as-long-as-a-sentence", waiting=3, oldest=41_600_000_000, needs={"gpu": 1}),), resources=(resource("gpu-of-the-large-kind", eligible=3, idle_waiting=9 * SECOND, busy=7),))
    verdicts = {verdict.name: verdict for verdict in derive(None, shot).verdicts}
    first, *others = brief(verdicts["starving"], Look(), room)
    assert re.fullmatch(r"\S+ 18\.4s", first)
    assert len(first) <= room
    for words in [*others, *brief(verdicts["idle-while-waiting"], Look(), room)]:
        assert not re.search(r"\d…", words)


def test_a_warning_for_groups_that_are_behind_says_so_first() -> None:
    verdict = next(one for one in derive(None, sample()[-1]).verdicts if one.name == "starving")
    behind = msgspec.structs.replace(verdict, numbers=verdict.numbers | {"over_slo_groups": 0, "behind_groups": 2})
    assert brief(behind, Look(), 60)[-1] == "2 behind  0 over SLO 5s  Jain 0.87"
    assert brief(verdict, Look(), 60)[-1].startswith("2 over SLO 5s")


@pytest.mark.parametrize(("size", "name"), [((120, 36), "import-of-everything"), ((80, 24), "import-of-everything"), ((40, 10), "import-of-it")])
def test_who_starves_is_said_in_a_word(size: tuple[int, int], name: str) -> None:
    shot = snapshot(60, groups=(group(name, waiting=1, oldest=0), *(group(f"g{i}", running=100 + i, waiting=2000, started=10_000, wait=sample()[-1].groups[0].wait) for i in range(3))))
    row = next(line for line in drive(sampled([shot]), pressed(), size).splitlines() if ">✖" in line)
    assert name in row
    assert "STARVE" in row
    assert " 60s" in row


@pytest.mark.parametrize("preset", ["ckpt", "fairness", "spin"])
@pytest.mark.parametrize("height", [32, 36, 60])
def test_columns_have_their_names_in_every_view(preset: str, height: int) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        app.overview.choose_preset(preset)
        await settled(app, pilot)
        for name, pane in app.overview.panes.items():
            if pane.display and name != "alarms":
                assert pane.headed(pane.size.height), name
                assert pane.size.height >= 2, name

    shot = sample()[-1]
    most = shot.batchers[0]
    many = msgspec.structs.replace(most, batches=tuple(msgspec.structs.replace(most.batches[0], number=n) for n in range(90)), waves=tuple(msgspec.structs.replace(most.waves[0], number=n) for n in range(90)))
    drive(sampled([msgspec.structs.replace(shot, batchers=(many,))]), steps, (120, height))


# nothing moves about ------------------------------------------------------------------------------------------------------------------


def test_columns_do_not_get_narrower() -> None:
    pane = derive(None, sample()[-1]).pane("groups")
    known: dict[str, int] = {}
    lines = []
    for shown in (pane.rows[4:], pane.rows[:3], pane.rows[4:]):
        grid = Grid(Look(), "groups", pane.columns, shown, 70, sort=pane.sort, known=known)
        lines.append("".join(words for words, _ in grid.header()))
    assert lines[0] != lines[1] == lines[2]


def test_columns_have_their_own_widths_again_after_another_size() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        groups = app.overview.panes["groups"]
        known = groups._wide[1]
        assert known["group"] == len("tenant-c")
        known["group"] = 20
        app.tick()
        await pilot.pause()
        groups.update()
        assert groups._wide[1] is known
        await pilot.resize_terminal(130, 36)
        await settled(app, pilot)
        assert groups._wide[1]["group"] == len("tenant-c")

    drive(soon(), steps)


def test_what_follows_the_lag_stays_where_it_is() -> None:
    assert [lag(ns) for ns in (0, 38_400_000, 999_999_999, SECOND, 59 * SECOND, 999 * SECOND, 5000 * SECOND)] == ["0ms", "38ms", "999ms", "1.0s", "59.0s", "999s", "1h23m"]
    first = [drive(sampled(sample()[-1:], lag=ns), pressed()).splitlines()[0] for ns in (8_000_000, 38_000_000, 250_000_000)]
    assert len({line.index("win ") for line in first}) == 1


def test_the_age_of_alarms_is_in_whole_seconds() -> None:
    lines = [line for line in drive(live(), pressed("0", "z"), (200, 60)).splitlines() if "FAIR0" in line or "SPIN0" in line]
    assert len(lines) == 5
    assert all(re.match(r"[ >][✖▲] ?\d+s ", line) for line in lines), lines


# what is special ----------------------------------------------------------------------------------------------------------------------


def test_of_what_is_gone_the_first_line_says_since_when() -> None:
    clock = Clock(sample()[-1].now + 75 * SECOND)
    text = drive(Live(Listed([sample()[-1]], True), clock=clock), pressed()).splitlines()[0]
    assert text.startswith(" LOST ")
    assert "seen 75s ago" in text
    clock.now += 3600 * SECOND
    assert "seen 1h01m ago" in drive(Live(Listed([sample()[-1]], True), clock=clock), pressed()).splitlines()[0]
    assert "seen" not in drive(soon(), pressed()).splitlines()[0]


def test_no_invariants_is_no_0_of_0() -> None:
    assert "  inv none  " in drive(sampled([snapshot(60, groups=(group(),))]), pressed()).splitlines()[0]


def test_a_minute_in_trouble_does_not_begin_at_the_edge() -> None:
    """Only what began in the minute that is seen has a mark; of a recording all is seen."""
    late = snapshot(0, groups=(group(waiting=1, oldest=-9 * SECOND),))
    well, bad = [(first, [msgspec.structs.replace(late, now=round(i * SECOND / 4), groups=(group(waiting=1, oldest=-9 * SECOND),) if i > first else (), number=i) for i in range(400)]) for first in (300, -1)]
    for (first, shots), marks in ((well, 1), (bad, 0)):
        line = drive(sampled(shots), pressed()).splitlines()[-3]
        assert line.startswith(" busy 60s" if "busy" in line else " events 60s"), first
        assert line.count("✖") == marks
    assert drive(replay(bad[1]), pressed("L")).splitlines()[-3].count("✖") == 1


def test_a_recording_shows_its_keys() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        found = [screen_text(app).splitlines()[-1]]
        await pilot.press("space")
        await settled(app, pilot)
        return [*found, screen_text(app).splitlines()[-1]]

    plays, still = drive(replay(), steps)
    assert " space Pause enter Why left right Step [ ] Alarm , . Speed t Time " in plays
    assert " space Play " in still
    assert " , . Speed" not in drive(soon(), pressed()).splitlines()[-1]


@pytest.mark.parametrize(("ns", "whole", "shown"), [(45, 90, "45ns"), (0, 90, "0ns"), (12_345, 2_000_000, "12.3us"), (0, 3 * SECOND, "0.000s"), (45, None, "45ns"), (SECOND, 90 * SECOND, "00:00:01.00")])
def test_times_of_a_trace_that_only_counts(ns: int, whole: int | None, shown: str) -> None:
    assert clock_of(ns, whole) == shown


def test_what_is_typed_is_said_to_be_a_filter_of_that_table() -> None:
    assert drive(soon(), pressed("5", "slash", "g")).splitlines()[-1].startswith(" / Filter of 5 Resources enter Keep it esc All rows")


def test_files_and_errors_stay_longer(tmp_path: Path) -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[float]:
        app.clear_notifications()
        board = app.overview
        board.tell("copied")
        board.tell("so many words that they take more than a moment, even for somebody who reads quickly")
        board.tell("written: x", lasting=True)
        board.tell("not written: full", severity="error")
        await pilot.pause()
        return [one.timeout for one in app._notifications]

    short, long, *lasting = drive(soon(), steps, folder=tmp_path)
    assert short < long < 8
    assert lasting == [8, 8]


def test_from_a_verdict_it_is_two_enters_to_why() -> None:
    """Whatever the rows are sorted by, and however many there are."""
    shot = snapshot(60, groups=(*(group(f"g{i:03}", waiting=1, oldest=59 * SECOND, running=9) for i in range(300)), group("meek", waiting=1, oldest=0)))

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        groups = app.overview.panes["groups"]
        groups.sort_by("group")
        await pilot.press("2", "enter")
        assert groups.selected == "meek"
        assert "meek" in [row.key for row in groups._shown]
        await pilot.press("enter")
        await settled(app, pilot)
        return screen_text(app)

    text = drive(sampled([shot]), steps)
    assert "Why it waits" in text
    assert text.splitlines()[1].startswith(" meek ")


# rows that are more than a line ---------------------------------------------------------------------------------------------------------


def test_the_selected_alarm_is_there_as_a_whole_if_there_is_room() -> None:
    sentences = [alarm.sentence for alarm in live().alarms]
    cut, short = next(one for one in sentences if len(one) > 100), next(one for one in sentences if len(one) < 100)

    def whole(sentence: str, size: tuple[int, int], *keys: str) -> bool:
        return sentence in " ".join(drive(live(), pressed("0", *keys), size).split())

    down = ["down"] * sentences.index(cut)
    assert whole(cut, (80, 24), *down)
    assert not whole(cut, (80, 24)), "another is selected"
    assert not whole(cut, (80, 14), *down), "there is no room"
    assert drive(live(), pressed("0", "z"), (200, 60)).count(short) == 1, "it is seen already"


@pytest.mark.parametrize("width", [40, 50, 80, 120])
def test_the_first_line_of_a_group_has_no_half_numbers(width: int) -> None:
    line = drive(soon(), pressed("enter"), (width, 24)).splitlines()[1].strip()
    parts = ["tenant-c", "STARVE", "oldest 18.4s", "got 4.1% of 12.5% due", "waiting 14", "busy 2", "weight 1"]
    assert re.split(r" {2,}", line) == parts[: len(re.split(r" {2,}", line))]
    assert "oldest 18.4s" in line


def test_a_long_name_leaves_room_for_how_long_it_waits() -> None:
    shot = snapshot(60, groups=(group("a" * 90, waiting=1, oldest=0),))
    line = drive(sampled([shot]), pressed("enter"), (80, 24)).splitlines()[1]
    assert "aaa…   STARVE  oldest 60s" in line


@pytest.mark.parametrize("width", [40, 80, 120])
def test_what_a_column_means_is_there_whole_in_a_row(width: int) -> None:
    text = drive(soon(), pressed("9", "enter"), (width, 60))
    for column in derive(None, sample()[-1]).pane("workers").columns:
        assert column.help in " ".join(text.split()), column.id


# what is there ------------------------------------------------------------------------------------------------------------------------


def of_a_trace(path: str) -> Playback:
    source = find(str(HOUSE / path))
    return Playback(source, clock=Clock())


def test_a_trace_of_batching_begins_with_its_batchers() -> None:
    text = drive(of_a_trace("tests/golden/hazards/collector-H5-idle-tail.slotwise.jsonl"), pressed())
    assert "Checkpoint batchers" in text
    assert "5 Resources" not in text
    assert "6 Groups" not in text
    asked = drive(of_a_trace("tests/golden/hazards/collector-H5-idle-tail.slotwise.jsonl"), pressed("6"))
    assert "6 Groups" in asked, "one that is asked for is shown, though it is empty"


def test_groups_that_come_later_are_looked_at_then() -> None:
    session = sampled([snapshot(1, resources=(resource(),))])

    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        found = [app.overview.current]
        for now, groups in ((2, (group("a"),)), (3, ())):
            session.take(snapshot(now, resources=(resource(),), groups=groups, number=now))
            await settled(app, pilot)
            found.append(app.overview.current)
        return found

    assert drive(session, steps) == ["resources", "groups", "groups"]


def test_what_somebody_has_chosen_stays() -> None:
    session = sampled([snapshot(1, resources=(resource(),))])

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        await pilot.press("0")
        session.take(snapshot(2, resources=(resource(),), groups=(group("a"),), number=2))
        await settled(app, pilot)
        return app.overview.current

    assert drive(session, steps) == "alarms"


def test_where_there_is_room_tables_stand_in_two_rows() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> dict[str, tuple[int, int]]:
        return {name: (pane.region.y, pane.region.width) for name, pane in app.overview.panes.items() if pane.display and name not in ("resources", "groups", "alarms")}

    large = drive(soon(), steps, (200, 60))
    assert len({y for y, _ in large.values()}) == 2
    assert min(width for _, width in large.values()) > 60
    assert len({y for y, _ in drive(soon(), steps, (200, 40)).values()}) == 1
    few = sampled([snapshot(60, groups=(group(),), batchers=(batcher(requests=1),), workers=(worker(running=1),))])
    assert len({y for y, _ in drive(few, steps, (200, 60)).values()}) == 1


def test_few_alarms_leave_their_room_to_tables() -> None:
    shot = snapshot(60, groups=(group("meek", waiting=1, oldest=0), *(group(f"g{i:02}") for i in range(40))))

    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[int, int]:
        return app.overview.panes["alarms"].outer_size.height, app.overview.panes["groups"].total

    assert drive(sampled([shot]), steps, (120, 60)) == (8, 41)
    many = snapshot(60, groups=tuple(group(f"g{i:02}", waiting=1, oldest=0) for i in range(40)))
    assert drive(sampled([many]), steps, (120, 60))[0] > 12


@pytest.mark.parametrize("ascii", [False, True])
def test_the_choice_of_an_export_fits_the_smallest_screen(ascii: bool) -> None:
    text = drive(replay(), pressed("e"), (40, 10), ascii=ascii)
    assert all(words in text for words in KINDS.values())
    assert max(map(len, (KINDS | SLICE).values())) <= max(map(len, KINDS.values()))


def test_the_palette_names_tables_as_their_borders_do() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[dict[str, str], str]:
        return app.overview.named(), screen_text(app)

    named, text = drive(live(), steps, (200, 60))
    assert set(named) == {*NAMES, *regroup.ASKED, "alarms"}
    assert all(f" {hints.DIGITS.get(name, '')} {title} ".replace("  ", " ") in text for name, title in named.items() if name not in regroup.ASKED)
    assert TITLES["starving"][0] in text


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_what_is_owed_is_told_where_there_is_little_room(size: tuple[int, int]) -> None:
    """From when some group owes something; until then it takes no room from anything else."""

    async def steps(app: Screens, pilot: Pilot[str]) -> list[dict[str, str]]:
        seen = []
        for number, debt in enumerate(({}, {"llm": 3, "gpu": 2}, {}), 61):
            app.session.take(msgspec.structs.replace(sample()[-1], now=number * SECOND, number=number, groups=tuple(msgspec.structs.replace(one, debt=debt if one.name == "batch" else {}) for one in sample()[-1].groups)))
            await settled(app, pilot)
            lines = screen_text(app).splitlines()
            place = next(i for i, line in enumerate(lines) if "got%" in line)
            row = next(line for line in lines[place:] if " batch  " in line)
            left = lines[place].index("group ")
            seen.append(dict(zip(lines[place][left:].split(), [*row[left:].split(), ""], strict=False)))          # its flag is empty
        return seen

    nobody, owes, paid = drive(sampled([sample()[-1]]), steps, size)
    assert "debt" not in nobody
    assert {"lag", "p50", "p99", "flag"} <= nobody.keys()
    assert (owes["debt"], paid["debt"]) == ("5", "-")
    assert {"lag", "p99", "flag", "oldest▼", "got%", "due%", "wait", "busy"} <= owes.keys() == paid.keys()
