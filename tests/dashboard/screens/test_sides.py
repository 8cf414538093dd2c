"""The screen of a trace side by side: each key, each size, ten thousand steps."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from rich.style import Style
from textual.pilot import Pilot
from textual.widgets import Input

from slotwise.cli import sides as played
from slotwise.dashboard.observe.sides import Sides
from slotwise.dashboard.screens import keys
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.sides import KEYS, Comparison, SidesApp, SidesHelp, Whole
from slotwise.dashboard.screens.sides_parts import Steps
from slotwise.fuzz import targets
from slotwise.fuzz.recording import record
from slotwise.spec.vocabulary import PROFILES, Enqueue, Group, Pump, Release, Task

from .driving import same

T = TypeVar("T")
ONE = {"r": 1}
SIZES = {"120x36": (120, 36), "80x24": (80, 24), "40x10": (40, 10)}
FAULT = "native:faults/running_limit_off_by_one"
pytest.importorskip("slotwise.impl._native", reason="the engine is not built")


@cache
def faulty(target: str = FAULT) -> Sides:
    groups = (Group("a", running_limit=1),)
    begin = [command for i in range(12) for command in (Enqueue(tasks=(Task(f"b{i}", "b", ONE),), at=i), Pump(at_most=9, at=i), Release(lease=i + 1, at=i + 1))]
    later = [Enqueue(tasks=(Task("a1", "a", ONE), Task("a2", "a", ONE)), groups=groups, at=20), Pump(at_most=9, at=20), Pump(at_most=9, at=21), Release(lease=13, at=25), Pump(at_most=9, at=26), Pump(at_most=9, at=27)]
    return played.compare(record(PROFILES["slotwise"], {"r": 3}, [*begin, *later]), targets.load(target), "a trace.slotwise.jsonl")


def long() -> Sides:
    steps = [played.Played([("drained",)], [("drained",)], ()) for _ in range(10_000)]
    for at in (5000, 7000, 9999):
        steps[at] = played.Played([("drained",)], [("blocked",)], ("ADM-11",))
    return Sides("t", "admission", "strict", "", "x", True, "divergence", "ADM-11", "s", "m", 5000, (5000, 7000, 9999), (), "again", 1, played.Rows([Pump(at_most=n) for n in range(10_000)], steps))


def drive(sides: Sides, steps: Callable[[SidesApp, Pilot[None]], Awaitable[T]], size: tuple[int, int] = (120, 36), **options: Any) -> T:
    async def go() -> T:
        app = SidesApp(sides, **options)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.pause()
            return await steps(app, pilot)

    return asyncio.run(go())


def pressed(*keys: str) -> Callable[[SidesApp, Pilot[None]], Awaitable[str]]:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> str:
        await pilot.press(*keys)
        await pilot.pause()
        return screen_text(app)

    return steps


def at(*sequences: tuple[str, ...], sides: Sides | None = None) -> list[int | None]:
    """The step under the cursor after each of these sequences of keys, from 1; each begins at the first difference."""
    async def steps(app: SidesApp, pilot: Pilot[None]) -> list[int | None]:
        found, pane = [], app.screen.query_one(Steps)
        start = pane.at
        for one in sequences:
            pane.go(start)
            await pilot.press(*one)
            found.append(None if pane.place is None else pane.place + 1)
        return found

    return drive(sides or faulty(), steps)


@pytest.mark.parametrize("size", SIZES)
def test_each_size(size: str) -> None:
    text = drive(faulty(), pressed(), SIZES[size])
    assert max(map(len, text.splitlines())) <= SIZES[size][0]
    same(f"sides-{size}", text)
    ascii = drive(faulty(), pressed(), SIZES[size], ascii=True)
    assert ascii.isascii()
    same(f"sides-{size}-ascii", ascii)


@pytest.mark.parametrize("size", [(20, 4), (10, 2), (1, 1), (300, 100)])
def test_no_size_is_refused(size: tuple[int, int]) -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> bool:
        await pilot.press("j", "n", "enter", "escape", "question_mark", "escape", "slash", "escape", "q")
        return app.return_code == 0

    assert drive(faulty(), steps, size)


def test_the_cursor_starts_at_the_first_difference() -> None:
    assert at(()) == [38]
    assert at((), sides=faulty("native")) == [1]
    text = drive(faulty(), pressed())
    assert ">✖38 DIFFERS" in text
    assert "state" in text


def test_without_colours_the_first_difference_is_loud(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    async def steps(app: SidesApp, pilot: Pilot[None]) -> list[Style | None]:
        return [segment.style for strip in app.screen._compositor.render_strips() for segment in strip if segment.text.strip() == "DIFFERS"]

    first, *others = drive(faulty(), steps)
    assert others
    assert all(style is not None and style.reverse and style.bold for style in (first, *others))
    monkeypatch.delenv("NO_COLOR")
    first, *others = drive(faulty(), steps)
    assert first is not None
    assert first.reverse, "it is the loudest with colours too"
    assert not any(style is None or style.reverse for style in others)


CASES: dict[str, Callable[[], None]] = {}


def case(*keys: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def keep(check: Callable[[], None]) -> Callable[[], None]:
        CASES.update(dict.fromkeys(keys, check))
        return check

    return keep


@case("down", "j", "up", "k")
def _() -> None:
    assert at(("down",), ("j",), ("up",), ("k",), ("j", "j", "k")) == [39, 39, 37, 37, 39]


@case("pagedown", "pageup", "home", "end")
def _() -> None:
    assert at(("home",), ("end",), ("home", "up"), ("end", "down"), ("home", "pagedown"), ("end", "pageup")) == [1, 42, 1, 42, 21, 22]


@case("n", "N")
def _() -> None:
    assert faulty().different == (37, 38, 40)
    assert at(("n",), ("home", "n"), ("end", "N"), ("N",), ("end", "n")) == [39, 38, 41, 38, 42]


@case("enter", "escape")
def _() -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> str:
        await pilot.press("enter")
        assert isinstance(app.screen, Whole)
        text = screen_text(app)
        await pilot.press("escape")
        assert isinstance(app.screen, Comparison)
        return text

    same("sides-whole", drive(faulty(), steps))


@case("c")
def _() -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> str:
        await pilot.press("c")
        return app.clipboard

    assert drive(faulty(), steps) == f"slotwise replay 'a trace.slotwise.jsonl' --target {FAULT}"


def test_export(tmp_path: Path) -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> None:
        await pilot.press("e", "e")

    drive(faulty(), steps, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["slotwise-a-trace.slotwise.jsonl-1.txt", "slotwise-a-trace.slotwise.jsonl-2.txt"]
    text = (tmp_path / "slotwise-a-trace.slotwise.jsonl-1.txt").read_text("utf-8")
    assert text.count("\n") > 42
    assert "DIFFERS" in text
    drive(faulty(), steps, folder=tmp_path / "nowhere")          # says so, and goes on


@case("slash")
def _() -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> list[int]:
        await pilot.press("slash", *"b7")
        await pilot.pause()
        some = list(app.screen.query_one(Steps).places)
        await pilot.press("enter", "n")
        assert app.screen.query_one(Steps).places == some, "kept"
        await pilot.press("escape")
        assert len(app.screen.query_one(Steps).places) == 42
        assert not app.screen.query_one(Input).display
        await pilot.press("slash", *"nothing is so")
        await pilot.pause()
        assert "none is like that" in screen_text(app)
        await pilot.press("enter", "j", "enter", "n", "c", "escape")
        return some

    assert drive(faulty(), steps) == [21, 22]
    assert at(("slash", *"release b7", "enter", "home"), ("escape", "slash", *"release", "enter", "home", "n")) == [None, 3]


@case("question_mark", "f1")
def _() -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> str:
        for key in ("f1", "question_mark"):
            await pilot.press(key)
            assert isinstance(app.screen, SidesHelp)
            text = screen_text(app)
            await pilot.press("escape")
        return text

    text = drive(faulty(), steps)
    assert all(words in text for *_, words, _ in KEYS)


@case("q")
def _() -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> int | None:
        await pilot.press("q")
        return app.return_code

    assert drive(faulty(), steps) == 0


@pytest.mark.parametrize("check", dict.fromkeys(CASES.values()))
def test_each_key(check: Callable[[], None]) -> None:
    check()


def test_no_key_is_forgotten() -> None:
    assert CASES.keys() | {"e"} == {key for _, given, *_ in KEYS for key in given.split(",")}          # e: test_export


def test_keys_can_be_others() -> None:
    """By the ids of keys.toml."""
    assert {id for id, *_ in KEYS if id} <= set(keys.IDS)

    async def steps(app: SidesApp, pilot: Pilot[None]) -> tuple[str, int | None]:
        text = screen_text(app)
        await pilot.press("q", "x")
        return text, app.return_code

    text, code = drive(faulty(), steps, mapped={"quit": "x"})
    assert " x Quit" in text
    assert code == 0


def test_the_mouse() -> None:
    async def steps(app: SidesApp, pilot: Pilot[None]) -> tuple[int, int]:
        await pilot.press("home")
        await pilot.click(Steps, offset=(30, 4))
        clicked = app.screen.query_one(Steps).at
        app.screen.query_one(Steps).on_mouse_scroll_down()
        return clicked, app.screen.query_one(Steps).at

    assert drive(faulty(), steps) == (3, 6)


def test_ten_thousand_steps_of_which_only_those_seen_are_worded() -> None:
    sides = long()
    assert isinstance(sides.rows, played.Rows)
    assert at((), ("n",), ("n", "n"), ("n", "n", "N"), ("end",), ("home",), sides=sides) == [5001, 7001, 10_000, 7001, 10_000, 1]
    assert sides.rows._side.cache_info().currsize < 400


def test_no_steps_at_all() -> None:
    empty = Sides("t", "admission", "strict", "", "x", True, "", "", "", "", None, (), None, "again", 0, [])
    text = drive(empty, pressed("j", "n", "N", "enter", "end", "slash", "x", "escape"))
    assert "the trace has no steps" in text


def test_a_short_trace_has_its_header_too() -> None:
    """It costs none of the steps."""
    short = Sides("t" * 90, "admission", "strict", "capacity 2 submission", "x", True, "", "", "", "", None, (), None, "again", 0, faulty().rows[:2])
    for size in ((120, 36), (80, 24), (40, 10)):
        text = drive(short, pressed(), size)
        assert any(line.startswith("   ") and line.split()[0] == "command" for line in text.splitlines() if line.strip())
        assert all(f" {side.number} " in text for side in short.rows)
    assert "…  admission, strict, capacity 2 submission" in drive(short, pressed(), (80, 24)).splitlines()[0]


def test_the_help_says_what_the_columns_are() -> None:
    text = drive(faulty(), pressed("question_mark"), (120, 36))
    assert all(f"  {name} " in text for name in ("command", "reference", "(target)", "decided", "state"))
