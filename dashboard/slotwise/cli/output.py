"""How the command line speaks: data on stdout, talk on stderr, one line for whatever is wrong."""
from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from slotwise.fuzz import exits

if TYPE_CHECKING:
    from rich.progress import Progress

#: Of several runs the gravest counts: our own failure, then wrong behaviour, then not having looked enough.
GRAVEST_FIRST = (exits.INTERNAL, exits.USAGE, exits.NONDETERMINISM, exits.DIVERGENCE, exits.INVARIANT, exits.TRACE_REJECTED, exits.MUTATION_FLOOR, exits.FLOOR, exits.CLEAN)


class Stop(Exception):
    """The command ends here, with one line on stderr and an exit code."""

    def __init__(self, message: str, code: int = exits.USAGE) -> None:
        super().__init__(message)
        self.code = code


def worst(codes: Iterable[int]) -> int:
    return min(codes, key=GRAVEST_FIRST.index, default=exits.CLEAN)


#: What moves the cursor, changes colours or the direction of writing: a name may have it, a terminal must not get it.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """Lines with control characters by their number."""
    return _UNSHOWN.sub(lambda found: f"\\x{ord(found[0]):02x}" if ord(found[0]) < 0x100 else f"\\u{ord(found[0]):04x}", text)


def say(*lines: str) -> None:
    """Talk, on stderr."""
    for line in lines:
        print(shown(line), file=sys.stderr)


def data(text: str) -> None:
    """Data for a person, on stdout."""
    raw(f"{shown(text)}\n")


def as_json(value: object) -> None:
    raw(f"{json.dumps(value, ensure_ascii=False)}\n")


def raw(text: str) -> None:
    """Data to the letter, on stdout. If whoever reads it has gone, the command goes on, and ends as it would have. Raises Stop for a full disk."""
    _onto_stdout(lambda: sys.stdout.write(text))


def flush() -> None:
    """As `raw`."""
    _onto_stdout(sys.stdout.flush)


def _onto_stdout(does: Callable[[], object]) -> None:
    try:
        does()
    except BrokenPipeError:
        hang_up()
    except OSError as error:
        hang_up()
        raise Stop(f"stdout: {error.strerror}") from None


def hang_up() -> None:
    """Nothing reaches stdout any more, also not what is still in its buffer."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def writable(option: str, path: Path) -> None:
    """Raises Stop now, rather than when all is done, if the file that an option names cannot be written. Makes its folder, but not the file."""
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise Stop(f"{option} {path}: {error.strerror}") from None


def runs_as_json(runs: Sequence[object]) -> None:
    """One run as itself, several as {"runs": [...]}."""
    as_json(runs[0] if len(runs) == 1 else {"runs": list(runs)})


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: str = "") -> str:
    """Columns two spaces apart; those whose head is a word of `right` are set to the right."""
    lines = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    numbers = [name in right.split(",") for name in head]
    padded = [[cell.rjust(width) if number else cell.ljust(width) for cell, width, number in zip(line, widths, numbers, strict=True)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def count(number: float) -> str:
    """12,345"""
    return f"{number:,.0f}"


def plural(number: int, noun: str) -> str:
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


@contextmanager
def progress() -> Iterator[Progress | None]:
    """A Rich progress display on stderr, or None where that is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[note]}"), TimeElapsedColumn(), console=Console(stderr=True), transient=True) as shown:
        yield shown
