"""Recordings that are made of what is observed. Whatever writes them is loaded only then."""
from __future__ import annotations

from pathlib import Path
from typing import Protocol

from slotwise.impl.snapshot import Snapshot


class Writer(Protocol):
    """Of snapshots as they are seen."""

    def put(self, snapshot: Snapshot) -> None: ...

    def close(self) -> str:
        """Empty, or why it is not as it should be."""
        ...


def open_writer(path: Path) -> Writer:
    """Raises ModuleNotFoundError without the library, OSError or ValueError where it cannot be written."""
    from slotwise.impl.recording import SnapshotWriter

    writer: Writer = SnapshotWriter(path)
    return writer


def cut(path: Path, first: int, last: int, out: Path) -> None:
    """What a recording has between two times (ns of the program's clock), as one of its own."""
    from slotwise.impl import recording_file

    recording_file.cut(path, first, last, out)
