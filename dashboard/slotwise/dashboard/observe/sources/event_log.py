"""The event log of the data-designer scheduler, as its own JSONL sink writes it, played into snapshots."""
from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import msgspec

from slotwise.dashboard.observe.sources.event_log_fold import Told
from slotwise.dashboard.observe.sources.event_log_lines import SECOND, Event, Lines, is_one
from slotwise.dashboard.observe.sources.source import SourceError, hopped
from slotwise.impl.snapshot import Snapshot

__all__ = ["EventLog", "is_one"]

INTERVAL = SECOND // 10
MOST = 100                                   # snapshots that are held at once


class EventLog:
    live, coarse = False, False

    def __init__(self, name: str) -> None:
        self.name = name

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """One each 100 ms of the log's time, and one at its end."""
        import anyio.to_thread

        play = self._play()
        while (some := await anyio.to_thread.run_sync(next, play, None)) is not None:
            for snapshot in some:
                yield snapshot

    def played(self) -> Iterator[Snapshot]:
        """The same without an event loop."""
        for some in self._play():
            yield from some

    def moments(self) -> LogMoments:
        return LogMoments(self.name)

    def _play(self) -> Iterator[list[Snapshot]]:
        """Those of some lines at a time."""
        lines, told, due = Lines(self.name), None, 0
        for events in lines:
            found = list[Snapshot]()
            for at, event in events:
                if told is None:
                    told, due = Told(event, at), at + INTERVAL
                while due < at:
                    found.append(taken(told, lines, due))
                    if len(found) == MOST:
                        yield found
                        found = []
                    due = max(due + INTERVAL, at - 600 * INTERVAL)       # of an hour without events, the last minute is enough
                told.happens(event, at)
            yield found
        if told is None:
            raise SourceError(self.name, "no whole event in it")
        yield [taken(told, lines, told.fold.now)]


class LogMoments:
    """Of the events that it had when it was opened, up to what cannot be read. Goes on from where it was; back, from the log's beginning."""

    def __init__(self, name: str) -> None:
        self.name, self._times, self._until = name, array("q"), -1
        for at, _ in self._events(Lines(name)):
            if not self._times or at > self._times[-1]:
                self._times.append(at)
        self._begin()

    def _events(self, lines: Lines) -> Iterator[tuple[int, Event]]:
        with suppress(SourceError):          # whoever reads it says why
            for some in lines:
                yield from some

    def _begin(self) -> None:
        self._lines = Lines(self.name)
        self._left = self._events(self._lines)
        self._next = next(self._left, None)
        self._told = Told(self._next[1], self._next[0]) if self._next is not None else None

    def at(self, t_ns: int) -> Snapshot:
        if not self._times:
            raise SourceError(self.name, "no whole event in it")
        t_ns = min(max(t_ns, self._times[0]), self._times[-1])
        if t_ns < self._until:
            self._begin()
        self._until = t_ns
        while self._told is not None and self._next is not None and self._next[0] <= t_ns:
            self._told.happens(self._next[1], self._next[0])
            self._next = next(self._left, None)
        if self._told is None:
            raise SourceError(self.name, "it is not there any more")
        return taken(self._told, self._lines, t_ns)

    def hop(self, t_ns: int, by: int) -> int:
        return hopped(self._times, t_ns, by)


def taken(told: Told, lines: Lines, at: int) -> Snapshot:
    return msgspec.structs.replace(told.fold.snapshot(at), dropped=lines.skipped)
