"""A few screens as they are painted, colours and all, to the letter: those of the README, and others. Here, since CI pins who paints them.

SLOTWISE_KEEP=1 keeps what is seen now; `python -m slotwise.dashboard.pictures docs` makes those of the README.
"""
from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.dashboard.screens.driving import drive, live, replay, settled
from textual.pilot import Pilot

from slotwise.dashboard.pictures import PICTURES, picture
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.session import Live, Session

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).parent / "__snapshots__"


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_the_readme_are_what_is_seen(name: str) -> None:
    width, height, keys = PICTURES[name]
    assert asyncio.run(picture(width, height, keys)) + "\n" == (ROOT / "docs" / name).read_text("utf-8")


def lost() -> Live:
    session = live()
    session.wrong, session.over = "unix:tap.sock: broken off within a frame", True
    return session


SCREENS: dict[str, tuple[Callable[[], Session], tuple[str, ...]]] = {
    "alarms": (live, ("0",)), "paused": (live, ("space",)), "replay": (replay, ("space", "right_square_bracket", "right_square_bracket")), "lost": (lost, ()), "no-colour": (live, ("0",)),
}  # fmt: skip


@pytest.mark.parametrize("name", SCREENS)
def test_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "no-colour":
        monkeypatch.setenv("NO_COLOR", "1")
    session, keys = SCREENS[name]

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        await pilot.press(*keys)
        await settled(app, pilot)
        return app.export_screenshot(title="slotwise watch") + "\n"

    seen, path = drive(session(), steps, (80, 24)), KEPT / f"{name}.svg"
    if os.environ.get("SLOTWISE_KEEP"):
        path.write_text(seen, "utf-8")
    assert seen == path.read_text("utf-8")
