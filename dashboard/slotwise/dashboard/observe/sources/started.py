"""The scheduler in a program that the viewer has started: its socket is waited for, and its end says how the program ended."""
from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from slotwise.dashboard.observe.program import Program
from slotwise.dashboard.observe.sources.socket import Socket
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.words import escape
from slotwise.impl.snapshot import Snapshot

LOOKS = 0.02                             # seconds between two looks at what there is
TRIES, SETTLES = 10, 0.1                 # so often a socket may fail, so many seconds apart
ENDS = ("ended", "crashed")


class Started:
    """`program` runs, and was told to open `path`. `patience`: seconds until a socket must be there; None: for as long as it runs."""

    live, coarse = True, False

    def __init__(self, program: Program, path: Path, patience: float | None = None) -> None:
        self.name = " ".join(program.command)
        self.program, self.path, self.patience = program, path, patience

    async def ready(self) -> None:
        """Until the socket is there. Raises SourceError if it will not be."""
        with anyio.move_on_after(self.patience):
            while not self.path.exists():
                if self.program.code is not None:
                    raise SourceError(self.name, f"ended with {self.program.ending}, and opened no scheduler{await self._last_line()}")
                await anyio.sleep(LOOKS)
            return
        raise SourceError(self.name, f"opened no scheduler within {self.patience:g} s{await self._last_line()}")

    async def _last_line(self) -> str:
        if self.program.code is not None:
            await anyio.to_thread.run_sync(self.program.wait_for_output)
        last = next((line for line in reversed(self.program.lines()) if line.strip()), "")
        return f"; it last said: {escape(last.strip())}" if last else "; it said nothing"

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """Of one scheduler after another, as the program opens them; at last the last one again, with the exit code as its state."""
        await self.ready()
        last: Snapshot | None = None
        failed = 0
        while self.program.code is None:
            try:
                if self.path.exists():
                    async for snapshot in Socket(str(self.path)).snapshots():
                        last, failed = snapshot, 0
                        yield snapshot
            except SourceError:                  # the socket may be that of a program that is about to be gone, or have just come
                failed += 1
                if failed > TRIES:
                    raise
                await anyio.sleep(SETTLES)
            await anyio.sleep(LOOKS)
        if last is None:
            raise SourceError(self.name, f"ended with {self.program.ending}, and showed nothing{await self._last_line()}")
        word, _, why = last.state.partition(":")
        yield msgspec.structs.replace(last, state=f"{word if word in ENDS else 'ended'}: {', '.join(part for part in (why.strip(), self.program.ending) if part)}")
