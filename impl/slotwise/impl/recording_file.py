"""Reading a recording, as a stream or closed: what a scheduler's snapshot was, at any instant.

A seek finds the last keyframe before it, and plays what follows into the same meter that a live scheduler has. Where events are missing, the
next keyframe counts: the snapshot's `now` is that keyframe's then, and `dropped` has grown.
"""
from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from slotwise.impl.meter_fold import Fold, FoldError
from slotwise.impl.meter_state import StateError
from slotwise.impl.recording_chunks import Chunks
from slotwise.impl.recording_close import ParquetOut, sound
from slotwise.impl.recording_format import Besides, Keyframe, RecordingError, schema
from slotwise.impl.snapshot import VERSION, Snapshot

STEP = 10**8                             # ns between two snapshots, if nothing else is asked for
SLICE = 10_000                           # rows that are made Python's at once


class _Beside(msgspec.Struct):
    besides: Besides
    dropped: int


_keyframe = msgspec.msgpack.Decoder(Keyframe).decode
_beside = msgspec.msgpack.Decoder(_Beside).decode
_besides = msgspec.msgpack.Decoder(Besides).decode
_snapshot = msgspec.msgpack.Decoder(Snapshot).decode
_count = msgspec.msgpack.Decoder(int).decode
_encode = msgspec.msgpack.Encoder().encode
WRONG = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, StateError, FoldError)


class Recording:
    """Times are ns of the program's monotonic clock. Raises RecordingError, as everything here does for what cannot be read."""

    def __init__(self, path: Path) -> None:
        self.path, self._chunks = path, Chunks(path)
        self.header, self.pieces = self._chunks.header, self._chunks.pieces
        while self.pieces and self.pieces[0].key is None:        # nothing can be said of it
            del self.pieces[0]
        self.first_ns = self.pieces[0].key or 0 if self.pieces else 0
        self.last_ns = self.pieces[-1].last if self.pieces else 0
        self._firsts = [piece.first for piece in self.pieces]
        self._read: tuple[int, Any] = -1, None   # the piece that was read last

    @property
    def broken(self) -> str:
        """Why it is not whole, as far as that has been seen; empty if it is."""
        return self._chunks.broken

    def close(self) -> None:
        self._chunks.close()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()

    def snapshot_at(self, t_ns: int) -> Snapshot:
        """Everything that had happened then; of a time outside of it, its first or its last."""
        return self.player(t_ns).to(t_ns)

    def snapshots(self, step: int = STEP) -> Iterator[Snapshot]:
        """From its beginning to its end, at each step of so many ns; of a recording of snapshots, all. What is damaged is left out, and `broken` says so."""
        if not self.pieces:
            return
        player, at = self.player(self.first_ns), self.first_ns
        if self.header.of == "snapshots":
            yield from player.each()
            return
        while True:
            try:
                found = player.to(at)
            except RecordingError as error:      # no keyframe comes any more
                self.damaged(error.why)
                return
            yield found
            if at >= self.last_ns:
                return
            at = min(max(at, found.now) + step, self.last_ns)

    def player(self, t_ns: int) -> Player:
        """From the last keyframe at that time or before it."""
        if not self.pieces:
            raise RecordingError(self.path, self.broken or "it has no keyframe")
        at = min(max(t_ns, self.first_ns), self.last_ns)
        place = bisect_right(self._firsts, at) - 1
        while place:
            key = self.pieces[place].key
            if key is not None and key <= at:
                break
            place -= 1
        return Player(self, place, at)

    def batch(self, place: int) -> Any:
        """A piece; the last one is kept."""
        if self._read[0] != place:
            self._read = place, self.pieces[place].read()
        return self._read[1]

    def rows(self, place: int, at: int | None = None) -> Iterator[tuple[Any, ...]]:
        """Of a piece, from its last keyframe at that time or before on."""
        batch = self.batch(place)
        begun = 0 if at is None else self._chunks.key_before(batch, at) or 0
        for first in range(begun, batch.num_rows, SLICE):
            yield from zip(*(column.to_pylist() for column in batch.slice(first, SLICE).columns), strict=True)

    def damaged(self, why: str) -> None:
        self._chunks.broken = self._chunks.broken or why


class Player:
    """Goes forward."""

    def __init__(self, recording: Recording, place: int, at: int) -> None:
        self.recording, self.header = recording, recording.header
        self.fold: Fold | None = None            # None: events are missing, until the next keyframe
        self.besides, self.dropped, self.now = Besides(), 0, 0
        self.last: bytes | None = None           # snapshot, in a recording of those
        self._taken = 0
        self._rows = self._all(place, at)
        self._next = next(self._rows, None)

    def _all(self, place: int, at: int | None) -> Iterator[tuple[Any, ...]]:
        for i in range(place, len(self.recording.pieces)):
            try:
                yield from self.recording.rows(i, at)
            except RecordingError as error:
                self.recording.damaged(error.why)
                yield (0, self.recording.pieces[i].last + 1, "dropped", "", "", 0, _encode(0))
            at = None

    def _missing(self, why: str) -> None:
        self.fold = None
        self.recording.damaged(why)

    def to(self, t_ns: int) -> Snapshot:
        """At that time, or at the next keyframe if events are missing there."""
        header, t_ns = self.header, min(max(t_ns, self.recording.first_ns), self.recording.last_ns)
        while self._next is not None and (self._next[1] <= t_ns or (self.fold is None and self.last is None)):
            row, self._next = self._next, next(self._rows, None)
            try:
                self._play(row)
            except WRONG as error:
                self._missing(f"row {row[2]} of event {row[0]} ({row[3] or row[4]}): {error}")
        if self.last is not None:
            return self._decoded(self.last)
        if self.fold is None:
            raise RecordingError(self.recording.path, self.recording.broken or "it has no keyframe")
        meter, at = self.fold.meter, max(t_ns, self.now) - header.started
        self._taken += 1
        try:
            resources, groups = meter.frozen_resources(at, header.started), meter.frozen_groups(at, header.started, self.besides.debts)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise RecordingError(self.recording.path, f"what it says makes no sense: {type(error).__name__}: {error}") from None
        seen = self.besides
        return Snapshot(
            VERSION, header.program, header.pid, header.started, header.started + at, self._taken, meter.events, self.dropped, meter.leases,
            resources, groups, seen.batchers, seen.workers, seen.checks, seen.divergences, header.slo, seen.state, seen.campaigns,
        )  # fmt: skip

    def each(self) -> Iterator[Snapshot]:
        while self._next is not None:
            row, self._next = self._next, next(self._rows, None)
            if row[2] == "snapshot":
                try:
                    yield self._decoded(row[6])
                except RecordingError as error:
                    self.recording.damaged(error.why)

    def _decoded(self, data: bytes) -> Snapshot:
        try:
            return _snapshot(data)
        except WRONG as error:
            raise RecordingError(self.recording.path, f"a snapshot cannot be read: {error}") from None

    def _play(self, row: tuple[Any, ...]) -> None:
        _, t_ns, kind, job, group, lease, data = row
        if kind == "keyframe":
            if self.fold is None:
                whole = _keyframe(data or b"")
                self.fold, self.besides, self.dropped = Fold(whole.meter), whole.besides, whole.dropped
            else:
                seen = _beside(data or b"")
                self.besides, self.dropped = seen.besides, seen.dropped
        elif kind == "rows":
            self.besides = _besides(data or b"")
        elif kind == "dropped":
            self.dropped += _count(data or b"")
            self.fold = None
        elif kind == "snapshot":
            self.last = data
        elif self.fold is not None:
            self.fold.play(t_ns - self.header.started, kind, job, group, lease, data)
        self.now = t_ns

    def keyframe(self) -> bytes:
        """Of where it is now."""
        if self.last is not None or self.fold is None:
            return self.last or b""
        return _encode(Keyframe(self.fold.frozen(), self.besides, self.dropped))


def open_recording(path: str | Path) -> Recording:
    return Recording(Path(path))


def cut(path: str | Path, first_ns: int, last_ns: int, out: str | Path) -> None:
    """The part of a recording between two of its times as a recording (Parquet) of its own. Raises RecordingError, ValueError, OSError."""
    if last_ns < first_ns:
        raise ValueError(f"a slice cannot end ({last_ns}) before it begins ({first_ns})")
    with open_recording(path) as recording:
        import pyarrow.compute as pc
        from pyarrow import record_batch

        own = schema(recording.header)
        kind = "keyframe" if recording.header.of == "events" else "snapshot"

        def whole(at: int) -> tuple[int, Any]:
            """Everything at that time, as one row."""
            player = recording.player(at)
            found = player.to(at).now
            row = (0, found, kind, "", "", 0, player.keyframe())
            return found, record_batch([[value] for value in row], schema=own)

        begun, first = whole(max(first_ns, recording.first_ns))
        ended, last = whole(max(begun, min(last_ns, recording.last_ns)))
        with ParquetOut(Path(out), recording.header) as target:
            target.add(first)
            for batch in sound(recording._chunks, (piece for piece in recording.pieces if piece.last > begun and piece.first <= ended)):
                times = batch.column(1)
                target.add(batch.filter(pc.and_(pc.greater(times, begun), pc.less_equal(times, ended))))
            if kind == "keyframe" and ended > begun:
                target.add(last)
