"""A recording of a live scheduler, as it grows (`*.arrows`) or closed (`*.parquet`): its snapshots, from the first to the last."""
from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.words import escape
from slotwise.impl.recording_file import STEP, Recording, open_recording
from slotwise.impl.recording_format import RecordingError
from slotwise.impl.recording_moments import Moments
from slotwise.impl.snapshot import Snapshot

A = TypeVar("A")
B = TypeVar("B")
LEAST, MOST = 600, 6_000                 # snapshots of a whole recording: a short one is looked at more often than each 100 ms, a long one less often
AT_ONCE = 20                             # that a thread makes before they are shown


class RecordingFile:
    live, coarse = False, False

    def __init__(self, name: str) -> None:
        self.name = name

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """What can be read comes first; then a SourceError says what could not."""
        recording = await self._done(open_recording, self.name)
        try:
            if not recording.pieces:
                raise SourceError(self.name, recording.broken or "nothing was recorded")
            left = recording.snapshots(step_of(recording))
            while found := await self._done(_some, left):
                for snapshot in found:
                    yield snapshot
            if recording.broken:
                raise SourceError(self.name, escape(recording.broken))
        finally:
            recording.close()

    async def _done(self, function: Callable[[A], B], argument: A) -> B:
        with _told(self.name):
            return await anyio.to_thread.run_sync(function, argument)

    def moments(self) -> RecordedMoments | None:
        """None: it has snapshots only. Raises SourceError."""
        with _told(self.name):
            try:
                return RecordedMoments(self.name, Moments(Path(self.name)))
            except ValueError:
                return None


class RecordedMoments:
    def __init__(self, name: str, moments: Moments) -> None:
        self.name, self._moments = name, moments

    def at(self, t_ns: int) -> Snapshot:
        with _told(self.name):
            return self._moments.at(t_ns)

    def hop(self, t_ns: int, by: int) -> int:
        with _told(self.name):
            return self._moments.hop(t_ns, by)


@contextmanager
def _told(name: str) -> Iterator[None]:
    """What a recording's errors are here."""
    try:
        yield
    except RecordingError as error:
        raise SourceError(name, escape(error.why)) from None
    except ModuleNotFoundError as error:
        raise SourceError(name, str(error)) from None


def step_of(recording: Recording) -> int:
    length = recording.last_ns - recording.first_ns
    return max(length // MOST, min(STEP, length // LEAST), 1)


def _some(left: Iterator[Snapshot]) -> list[Snapshot]:
    return list(islice(left, AT_ONCE))
