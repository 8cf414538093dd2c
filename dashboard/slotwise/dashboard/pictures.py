"""Makes the pictures of the README from `sample`: python -m slotwise.dashboard.pictures docs"""
from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from slotwise.dashboard.sample import snapshots
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.sampled import sampled

#: By file: columns, rows, keys that are pressed first.
PICTURES = {"watch.svg": (120, 36, ()), "watch-narrow.svg": (80, 24, ()), "watch-why.svg": (120, 36, ("enter",))}


async def picture(width: int, height: int, keys: tuple[str, ...]) -> str:
    app = Screens(sampled(snapshots()), fps=0)
    async with app.run_test(size=(width, height)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        app.tick()
        await pilot.pause()
        return app.export_screenshot(title="slotwise watch")


def main(folder: Path) -> None:
    for name, (width, height, keys) in PICTURES.items():
        (folder / name).write_text(asyncio.run(picture(width, height, keys)) + "\n")
        print(folder / name)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
