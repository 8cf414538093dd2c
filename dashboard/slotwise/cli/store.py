"""What the last commands left behind, in a folder `.slotwise` of the working directory that git ignores."""
from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from slotwise.cli.output import say

FOLDER = Path(".slotwise")


def folder() -> Path:
    """`.slotwise` of the working directory; where that cannot be written, a new one among the temporary files, and it is said why."""
    try:
        FOLDER.mkdir(exist_ok=True)
        if not os.access(FOLDER, os.W_OK):
            return elsewhere("Permission denied")
        ignore = FOLDER / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError as error:
        return elsewhere(error.strerror or str(error))
    return FOLDER


@cache
def elsewhere(why: str) -> Path:
    found = Path(tempfile.mkdtemp(prefix="slotwise-"))
    say(f"slotwise: {FOLDER}: {why}: what is found is kept in {found}")
    return found


def keep(name: str, value: object) -> None:
    (folder() / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", "utf-8")


def kept(name: str) -> dict[str, Any]:
    """What was kept under that name; empty where nothing was, or nothing that can be read."""
    try:
        found = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
