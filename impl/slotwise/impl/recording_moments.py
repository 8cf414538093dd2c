"""Any instant of a recording of events, and from each instant at which something happened to the next: for those who go to and fro in it."""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slotwise.impl.recording_file import Player, Recording
from slotwise.impl.recording_format import KEYFRAMES, RecordingError
from slotwise.impl.snapshot import Snapshot

SILENT = ("keyframe", "rows", "dropped")     # rows that are no event


class Moments:
    """Of a recording of snapshots there are none: ValueError. Times are ns of the program's clock. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        self._recording = Recording(path)
        if self._recording.header.of != "events":
            self._recording.close()
            raise ValueError(f"{path}: a recording of snapshots, with nothing between them")
        self._player: Player | None = None
        self._until = 0                          # the player has been there
        self._known: tuple[int, Sequence[int]] = -1, ()          # a piece, and the instants of its events

    def close(self) -> None:
        self._recording.close()

    def at(self, t_ns: int) -> Snapshot:
        """As `Recording.snapshot_at`; what follows shortly after the last one that was asked for is found by playing on. Raises RecordingError."""
        player = self._player
        if player is None or not self._until <= t_ns <= self._until + KEYFRAMES:
            player = self._player = self._recording.player(t_ns)
        try:
            found = player.to(t_ns)
        except BaseException:
            self._player = None
            raise
        self._until = found.now
        return found

    def hop(self, t_ns: int, by: int) -> int:
        """The instant of the event so many instants with events later, or earlier if that is less than 0; of fewer, the last there is; without any, `t_ns`."""
        pieces = self._recording.pieces
        place = min(max(bisect_right(pieces, t_ns, key=lambda piece: piece.first) - 1, 0), len(pieces) - 1)
        step = 1 if by > 0 else -1
        while by and 0 <= place < len(pieces):
            times = self._times(place)
            first = bisect_right(times, t_ns) if by > 0 else bisect_left(times, t_ns) - 1
            there = len(times) - first if by > 0 else first + 1
            if there:
                last = min(there, abs(by)) - 1
                t_ns = times[first + step * last]
                by -= step * (last + 1)
            place += step
        return t_ns

    def _times(self, place: int) -> Sequence[int]:
        """Ascending, each once."""
        if self._known[0] != place:
            self._known = place, self._of(place)
        return self._known[1]

    def _of(self, place: int) -> Sequence[int]:
        import pyarrow
        import pyarrow.compute as pc

        try:
            batch = self._recording.batch(place)
        except RecordingError as error:
            self._recording.damaged(error.why)
            return ()
        silent = pc.is_in(batch.column(2), value_set=pyarrow.array(SILENT))
        found: Any = pc.unique(batch.column(1).filter(pc.invert(silent)))
        return memoryview(found.buffers()[1]).cast("q")[: len(found)] if len(found) else ()
