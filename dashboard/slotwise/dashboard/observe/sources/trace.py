"""A slotwise trace, played into snapshots: what its commands asked and what was seen."""
from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Protocol

from slotwise.dashboard.observe.sources.source import SourceError, hopped
from slotwise.impl.snapshot import Snapshot
from slotwise.spec import trace

PER_RUN = 600                                # snapshots of a whole trace, about


class Play(Protocol):
    """A mechanism's state, as far as snapshots show it."""

    def step(self, line: trace.Step, at: int) -> None:
        """One command, and what was seen. `at` never falls."""
        ...

    def snapshot(self, at: int, state: str) -> Snapshot:
        """At an instant not before the last command's."""
        ...


def is_one(first: bytes) -> bool:
    return first.startswith(b'{"slotwise":')


class TraceFile:
    live, coarse = False, False

    def __init__(self, name: str) -> None:
        self.name = name

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        import anyio.lowlevel
        import anyio.to_thread

        for snapshot in self._play(await anyio.to_thread.run_sync(self._read)):
            yield snapshot
            await anyio.lowlevel.checkpoint()

    def played(self) -> Iterator[Snapshot]:
        """The same without an event loop."""
        return self._play(self._read())

    def moments(self) -> TraceMoments:
        """Raises SourceError."""
        read = self._read()
        self._seen(read)
        return TraceMoments(lambda: play_of(read, Path(self.name).name), read)

    def _read(self) -> trace.Trace:
        try:
            return trace.read(Path(self.name))
        except trace.TraceError as error:
            raise SourceError(self.name, str(error).removeprefix(f"{self.name}: ")) from None

    def _play(self, read: trace.Trace) -> Iterator[Snapshot]:
        self._seen(read)
        yield from looks(play_of(read, Path(self.name).name), read, step_of(read))

    def _seen(self, read: trace.Trace) -> None:
        unseen = next((number for number, step in enumerate(read.steps, 2) if step.saw is None), None)
        if unseen is not None:
            raise SourceError(self.name, f"line {unseen} does not say what was seen; slotwise replay plays such a trace")


class TraceMoments:
    """Goes on from where it was; back, from the trace's beginning."""

    def __init__(self, begin: Callable[[], Play], read: trace.Trace) -> None:
        self._begin, self._steps, self._at = begin, read.steps, instants(read)
        self._times = sorted(set(self._at))
        self._play, self._next, self._until = begin(), 0, -1

    def at(self, t_ns: int) -> Snapshot:
        t_ns = min(max(t_ns, self._times[0]), self._times[-1]) if self._times else t_ns
        if t_ns < self._until:
            self._play, self._next = self._begin(), 0
        self._until = t_ns
        while self._next < len(self._steps) and self._at[self._next] <= t_ns:
            self._play.step(self._steps[self._next], self._at[self._next])
            self._next += 1
        return self._play.snapshot(t_ns, "running" if self._next < len(self._steps) else "ended")

    def hop(self, t_ns: int, by: int) -> int:
        return hopped(self._times, t_ns, by)


def instants(read: trace.Trace) -> list[int]:
    """Of its commands; one that is before an earlier one's counts as that."""
    found: list[int] = []
    for step in read.steps:
        found.append(max(step.command.at, found[-1]) if found else step.command.at)
    return found


def step_of(read: trace.Trace) -> int:
    """The time between two looks."""
    times = instants(read)
    return max(1, (times[-1] - times[0]) // PER_RUN) if times else 1


def play_of(read: trace.Trace, name: str) -> Play:
    if read.header.mechanism == "admission":
        from slotwise.dashboard.observe.sources.trace_admission import Admitting

        return Admitting(read, name)
    if read.header.mechanism == "batching":
        from slotwise.dashboard.observe.sources.trace_batching import Collecting

        return Collecting(read, name)
    from slotwise.dashboard.observe.sources.trace_spin import Spinning

    return Spinning(read, name)


def looks(play: Play, read: trace.Trace, step: int) -> Iterator[Snapshot]:
    """One every `step` ns, of all that had happened then; and one at the end."""
    times = instants(read)
    now = times[0] if times else 0
    for line, at in zip(read.steps, times, strict=True):
        while now + step < at:
            now += step
            yield play.snapshot(now, "running")
        play.step(line, at)
    yield play.snapshot(times[-1] if times else 0, "ended")
