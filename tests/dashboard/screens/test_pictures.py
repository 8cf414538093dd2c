"""The screens as text, in all sizes, against what was kept; and as pictures."""
from __future__ import annotations

import asyncio
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest
from rich.style import Style
from textual.pilot import Pilot

from slotwise.dashboard import pictures
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.export import screen_text

from .driving import drive, live, pressed, replay, same, settled

SIZES = {"120x36": (120, 36), "80x24": (80, 24), "40x10": (40, 10), "200x60": (200, 60)}


@pytest.mark.parametrize("size", SIZES)
def test_each_size(size: str) -> None:
    text = drive(live(), pressed(), SIZES[size])
    lines = text.splitlines()
    assert len(lines) == SIZES[size][1]
    assert max(map(len, lines)) <= SIZES[size][0]
    same(size, text)


@pytest.mark.parametrize("size", SIZES)
def test_ascii_is_ascii(size: str) -> None:
    text = drive(live(), pressed(), SIZES[size], ascii=True)
    assert text.isascii()
    same(f"{size}-ascii", text)


def test_why_a_group_waits() -> None:
    same("why", drive(live(), pressed("enter")))
    same("why-80x24", drive(live(), pressed("enter"), (80, 24)))


def test_a_row_and_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    same("row", drive(live(), pressed("9", "end", "enter")))
    same("help-80x24", drive(live(), pressed("question_mark"), (80, 24)))


def test_a_recording() -> None:
    same("replay", drive(replay(), pressed("space", "right_square_bracket", "right_square_bracket")))


@pytest.mark.parametrize("size", SIZES)
def test_without_colours(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is the same; nothing has a colour, and alarms are the loudest."""

    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[str, list[tuple[str, Style | None]]]:
        strips = app.screen._compositor.render_strips()
        return screen_text(app), [(segment.text, segment.style) for strip in strips for segment in strip]

    monkeypatch.setenv("NO_COLOR", "1")
    text, segments = drive(live(), steps, SIZES[size])
    same(size, text)
    assert all(style is not None for _, style in segments)
    loud = [style for words, style in segments if words.strip() == "✖tenant-f"]
    assert loud
    assert all(style is not None and style.reverse and style.bold for style in loud)


def test_alarms_have_their_colour() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[tuple[str, str]]:
        strips = app.screen._compositor.render_strips()
        found = [(segment.text.strip(), segment.style) for strip in strips for segment in strip]
        return [(words, style.color.name) for words, style in found if style is not None and style.color is not None]

    found = drive(live(), steps)
    for words, colour in (("STARVE", "#d55e00"), ("✖tenant-f", "#d55e00"), ("tenant-c 18.4s", "#d55e00"), ("ALARM", "#d55e00"), ("▲gpu", "#e69f00"), ("1.15 cores  hit 17%", "#e69f00"), ("WARN", "#e69f00")):
        assert {one for said, one in found if said.endswith(words)} == {colour}, words


def test_resizing() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        found = []
        for size in ((80, 24), (40, 10), (120, 36)):
            await pilot.resize_terminal(*size)
            await settled(app, pilot)
            found.append(screen_text(app))
        return found

    narrow, tiny, wide = drive(live(), steps)
    same("80x24", narrow)
    same("40x10", tiny)
    same("120x36", wide)


@pytest.mark.parametrize("size", [(1, 1), (300, 100)])
def test_no_size_is_refused(size: tuple[int, int]) -> None:
    """Not at the start, and not later."""

    async def steps(app: Screens, pilot: Pilot[str]) -> bool:
        await pilot.press("tab", "enter", "escape", "z", "question_mark", "escape", "m", "d", "escape", "o", "escape", "p")
        for other in ((20, 4), (10, 2), (120, 8), size):
            await pilot.resize_terminal(*other)
            await pilot.press("d", "escape", "p")
        await pilot.press("q")
        return app.return_code == 0

    assert drive(live(), steps, size)


def test_the_pictures_of_the_readme(tmp_path: Path) -> None:
    """They are whole XML, and say what the text says."""
    pictures.main(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(pictures.PICTURES)
    for path in tmp_path.iterdir():
        words = "".join(xml.parse(path).getroot().itertext()).replace("\xa0", " ")
        assert "tenant-c" in words
        assert "demo-sched" in words
    assert asyncio.run(pictures.picture(*pictures.PICTURES[path.name])) + "\n" == path.read_text(), "the same again"
