"""What is on the screen, into a file: the picture, the text, the table, or the whole frame."""
from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from textual.app import App

from slotwise.dashboard.observe import report
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.panes import Column, Row
from slotwise.dashboard.observe.sources.source import RECORDINGS

KINDS = {"svg": "a picture of the screen", "txt": "the screen as text", "csv": "this table, all rows", "json": "all tables and alarms"}
SLICE = {"parquet": "the window's recording"}
FONTS = '"Fira Code", ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace'


def screen_text(app: App[Any]) -> str:
    """The screen's lines, without spaces at their ends."""
    strips = app.screen._compositor.render_strips()         # the one place that knows how the screen is kept
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def without_web_fonts(svg: str) -> str:
    """Where pages may load nothing from elsewhere (GitHub), and in a browser that would otherwise ask a stranger for a font: the fonts that are there."""
    return re.sub(r"\s*@font-face \{[^}]*\}", "", svg).replace("font-family: Fira Code, monospace", f"font-family: {FONTS}").replace("font-family: arial", "font-family: Arial, Helvetica, sans-serif")


def as_csv(columns: tuple[Column, ...], rows: tuple[Row, ...]) -> str:
    """A line for each row, units in the first line. Words that a spreadsheet would take for a formula begin with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([f"{column.id} [{column.unit}]" if column.unit not in ("", "sentence") else column.id for column in columns])
    for row in rows:
        writer.writerow([f"'{value}" if isinstance(value := cell.value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value for cell in row.cells])
    return out.getvalue()


def as_json(frame: Frame, alarms: tuple[Alarm, ...]) -> str:
    return msgspec.json.format(msgspec.json.encode(report.as_object(frame, alarms)), indent=2).decode() + "\n"


def kinds(source: str) -> dict[str, str]:
    """Those that make sense of this source."""
    return KINDS | (SLICE if source.endswith(RECORDINGS) else {})


def free(folder: Path, program: str, kind: str, also: str = "") -> Path:
    """A file that is not there yet, nor its like with the other ending. Raises OSError."""
    for path in _names(folder, program, kind):
        if not path.exists() and not (also and path.with_suffix(f".{also}").exists()):
            return path
    raise OSError(f"{folder} has 9,999 exports of {program}")


def _names(folder: Path, program: str, kind: str) -> Iterator[Path]:
    name = re.sub(r"[^\w.-]+", "-", program).strip("-.")[:40] or "scheduler"
    return (folder / f"slotwise-{name}-{number}.{kind}" for number in range(1, 10_000))


def write(folder: Path, program: str, kind: str, content: str) -> Path:
    """Into a new file; none is overwritten. Raises OSError."""
    for path in _names(folder, program, kind):
        try:
            with path.open("x", encoding="utf-8", newline="") as file:
                file.write(content)
        except FileExistsError:
            continue
        return path
    raise OSError(f"{folder} has 9,999 exports of {program}")
