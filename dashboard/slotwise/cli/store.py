"""What the last commands left behind, in a folder `.slotwise` of the working directory that git ignores."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(".slotwise")


def folder() -> Path:
    FOLDER.mkdir(exist_ok=True)
    ignore = FOLDER / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", "utf-8")
    return FOLDER


def keep(name: str, value: object) -> None:
    (folder() / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", "utf-8")


def kept(name: str) -> dict[str, Any]:
    """What was kept under that name; empty where nothing was, or nothing that can be read."""
    try:
        found = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
