"""Snapshots of a scheduler in this program: a callable that gives them, asked every 100 ms."""
from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anyio

from slotwise.impl.snapshot import Snapshot


class InProcess:
    live, coarse = True, False

    def __init__(self, snapshot: Callable[[], Snapshot], interval: float = 0.1, name: str = "this program") -> None:
        self.name, self._snapshot, self._interval = name, snapshot, interval

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """Ends after a snapshot whose state is neither running nor draining."""
        while True:
            snapshot = self._snapshot()
            yield snapshot
            if snapshot.state not in ("running", "draining"):
                return
            await anyio.sleep(self._interval)
