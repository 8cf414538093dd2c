"""A bounded tape of what happened, for whoever records it. The counters do not depend on it: what it drops, it counts."""
from __future__ import annotations

from collections import deque
from typing import NamedTuple


class Event(NamedTuple):
    number: int          # of all events since the start; what is missing was dropped
    at: int              # ns since the scheduler began
    kind: str            # waits, starts, told (to end, while it runs), released, discarded, backs_off, or how a job ended
    job: str
    group: str
    lease: int           # 0: none


class Tape:
    """Holds at most so many events; while it is full, new ones are dropped."""

    def __init__(self, most: int = 100_000) -> None:
        if most < 1:
            raise ValueError(f"most must be at least 1, found {most}")
        self._most, self._events = most, deque[Event]()
        self.events = self.dropped = 0

    def __len__(self) -> int:
        return len(self._events)

    def add(self, at: int, kind: str, job: str, group: str, lease: int = 0) -> None:
        self.events += 1
        if len(self._events) >= self._most:
            self.dropped += 1
            return
        self._events.append(Event(self.events, at, kind, job, group, lease))

    def take(self, most: int | None = None) -> list[Event]:
        """The oldest, and no more than so many; they are on the tape no longer."""
        n = len(self._events) if most is None else min(most, len(self._events))
        return [self._events.popleft() for _ in range(n)]
