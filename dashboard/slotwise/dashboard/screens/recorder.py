"""Writes what is seen into a recording, for as long as that is asked for."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slotwise.dashboard.observe.recording_out import Writer, open_writer
from slotwise.dashboard.observe.words import harmless
from slotwise.dashboard.screens.export import free
from slotwise.dashboard.screens.session import Session
from slotwise.impl.snapshot import Snapshot

MISSING = "recording needs {}: pip install 'slotwise[record]'"


class Recorder:
    """`tell` is told, once, why a recording broke off."""

    def __init__(self, session: Session, folder: Path, tell: Callable[[str], None], opens: Callable[[Path], Writer] = open_writer) -> None:
        self.session, self.folder, self.tell, self.opens = session, folder, tell, opens
        self.path: Path | None = None
        self.count = 0                   # snapshots
        self._writer: Writer | None = None

    @property
    def running(self) -> bool:
        return self._writer is not None

    def start(self, program: str) -> str:
        """Into a new file. Says what came of it."""
        try:
            self.path = free(self.folder, program, "parquet", also="arrows")
            self._writer, self.count = self.opens(self.path), 0
        except ModuleNotFoundError as error:
            return MISSING.format(error.name)
        except Exception as error:       # whatever the library finds wrong with the file
            return f"not recorded: {harmless(str(error))}"
        self.session.put = self.put
        return f"records into {harmless(str(self.path))}"

    def put(self, snapshot: Snapshot) -> None:
        if self._writer is None:
            return
        try:
            self._writer.put(snapshot)
            self.count += 1
        except Exception as error:
            self.tell(f"the recording broke off: {harmless(str(error))}")
            self.stop()

    def stop(self) -> str:
        """Says into which file, or what is wrong."""
        writer, self._writer, self.session.put = self._writer, None, None
        if writer is None:
            return ""
        try:
            why = writer.close()
        except Exception as error:
            why = str(error)
        if why:
            return f"the recording was not closed: {harmless(why)}; slotwise record mends it"
        return f"recorded: {harmless(str(self.path))}, {self.count:,} snapshots"
