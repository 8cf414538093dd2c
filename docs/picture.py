"""Draw the terminal output of a command as an SVG: python docs/picture.py docs/fuzz.svg slotwise fuzz --steps 20000 --seed 1"""
from __future__ import annotations

import io
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from slotwise.dashboard.screens.export import without_web_fonts


def main(target: str, *command: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True)
    console = Console(record=True, width=118, file=io.StringIO())
    console.print(Text(f"$ {shlex.join(command)}", style="bold"))
    console.print(Text(run.stdout.rstrip("\n") + "\n"))        # the last line is cut off else
    Path(target).write_text(without_web_fonts(console.export_svg(title="slotwise", unique_id="fuzz")))


if __name__ == "__main__":
    main(*sys.argv[1:])
