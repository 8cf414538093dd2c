"""Recording a running scheduler: its tape and keyframes, as an Arrow IPC stream that is closed into Parquet. And recording snapshots, of whoever shows some.

The loop's task takes what has come onto the tape, ten times a second; a thread makes columns of it and writes them. If that fails, the program
goes on: it is said once in the log, and from then on all events count as dropped, which snapshots show. What was written stays readable.
"""
from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import msgspec

from slotwise.impl.jobs import Job
from slotwise.impl.meter import Meter
from slotwise.impl.meter_state import MeterState, frozen
from slotwise.impl.recording_format import KEYFRAMES, Besides, Header, Keyframe, RecordingError, arrow, places
from slotwise.impl.recording_stream import Row, Stream
from slotwise.impl.snapshot import Snapshot
from slotwise.impl.tape import Taken, Tape

log = logging.getLogger(__name__)

INTERVAL = 0.1                           # seconds between two batches
EVENTS = 20_000                          # between two keyframes, at most, besides KEYFRAMES (or four times the jobs that there are)
MOST = 200_000                           # events that wait to be taken
_encode = msgspec.msgpack.Encoder().encode


class Recorder:
    """Of one scheduler. Raises ValueError or ModuleNotFoundError; `open` raises OSError."""

    def __init__(self, path: str | os.PathLike[str], most: int = MOST) -> None:
        self.stream_path, self.path = places(Path(path))
        arrow()
        self.tape = Tape(most)
        self.failed = ""                 # why nothing is recorded any more
        self._stream: Stream | None = None
        self._last: Besides | None = None
        self._key_at, self._key_events, self._key_jobs = -KEYFRAMES, 0, 0
        self._threads: Any = None

    def open(self, header: Header, meter: Callable[[], Meter], now: Callable[[], int], running: Callable[[], list[Job[Any]]], besides: Callable[[], Besides]) -> None:
        """`now` in ns since the scheduler began; all are called between two of its steps. The first keyframe says all that has happened until now."""
        self._header, self._meter, self._now, self._running, self._besides = msgspec.structs.replace(header, slotwise=installed()), meter, now, running, besides
        self._stream = Stream(self.stream_path)
        self._threads = anyio.CapacityLimiter(1)
        self.tape.taken()
        try:
            self._stream.begin(self._header)
            self._write(self._take(now()))
        except BaseException:
            self._stream.end(whole=False)
            self.stream_path.unlink()
            raise

    async def run(self) -> None:
        """Without end."""
        while True:
            await anyio.sleep(INTERVAL)
            await self.turn()

    async def turn(self, at: int | None = None) -> None:
        """Write what is on the tape. Never raises because of the file. With `at`, the last one, at the end."""
        if self._stream is None or self.failed:
            return
        events = 0
        with anyio.CancelScope(shield=True):
            try:
                batch = self._take(self._now() if at is None else at, last=at is not None)
                events = len(batch.taken)
                self.failed = await anyio.to_thread.run_sync(self._written, batch, limiter=self._threads)
            except Exception as error:       # a meter or a source that cannot be told: who is recorded is not to suffer
                self.failed = f"{type(error).__name__}: {error}"
        if self.failed:
            self.tape.stop(events)
            log.error("%s: nothing is recorded any more: %s", self.stream_path, self.failed)

    async def close(self, at: int) -> None:
        """The last batch, with a keyframe; then Parquet is made of it all. What goes wrong is logged, and the stream stays."""
        if self._stream is not None:
            await self.turn(at)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._close, limiter=self._threads)

    # in the loop -------------------------------------------------------------------------------------------------------
    def _take(self, at: int, last: bool = False) -> Batch:
        meter, besides = self._meter(), self._besides()
        if at != meter.at:
            meter.advance(at)
        taken = self.tape.taken()
        number = self.tape.events
        state = None
        if last or taken.lost or at - self._key_at >= KEYFRAMES or number - self._key_events >= max(EVENTS, 4 * self._key_jobs):
            running = self._running()
            state = frozen(meter, running)
            self._key_at, self._key_events = at, number
            self._key_jobs = len(running) + sum(row.waiting for row in meter.groups.values())
        changed = besides if state is not None or besides != self._last else None
        self._last = besides
        return Batch(at, taken, number, state, changed, self.tape.dropped)

    # in the thread -----------------------------------------------------------------------------------------------------
    def _written(self, batch: Batch) -> str:
        try:
            self._write(batch)
        except OSError as error:
            return error.strerror or str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    def _write(self, batch: Batch) -> None:
        assert self._stream is not None
        begun, taken, rows = self._header.started, batch.taken, list[Row]()
        if taken.lost:
            rows.append((0, begun + taken.lost_from, "dropped", "", "", 0, _encode(taken.lost)))
        if batch.state is not None:
            assert batch.besides is not None
            rows.append((batch.number, begun + batch.at, "keyframe", "", "", 0, _encode(Keyframe(batch.state, batch.besides, batch.dropped))))
        elif batch.besides is not None:
            rows.append((0, begun + batch.at, "rows", "", "", 0, _encode(batch.besides)))
        self._stream.write(rows, self._columns(taken) if len(taken) else ())

    def _columns(self, taken: Taken) -> Sequence[Sequence[Any]]:
        at, kind, job, group, lease, data = taken.columns()
        begun, first = self._header.started, taken.before + 1
        coded = {key: None if one is None else _encode(one) for key, one in {id(one): one for one in data}.items()}      # what is the same, once
        return range(first, first + len(at)), [begun + one for one in at], kind, job, group, lease, [coded[id(one)] for one in data]

    def _close(self) -> None:
        assert self._stream is not None
        stream, self._stream = self._stream, None
        closed(stream, self.path, not self.failed)


class Batch(NamedTuple):
    at: int
    taken: Taken
    number: int                  # of the last event before it ends
    state: MeterState | None     # a keyframe, at its end
    besides: Besides | None      # if it has changed, or there is a keyframe
    dropped: int                 # since the start


def closed(stream: Stream, path: Path, whole: bool = True) -> str:
    """End the stream, make Parquet of it, and remove it. What goes wrong is logged, and said."""
    from slotwise.impl.recording_close import to_parquet

    why = ""
    try:
        stream.end(whole)
        to_parquet(stream.path, path)
        stream.path.unlink()
    except RecordingError as error:
        why = error.why
    except OSError as error:
        why = error.strerror or str(error)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    if why:
        log.error("%s: could not be made (%s); what was recorded is in %s, and `slotwise record -o %s %s` tries again", path, why, stream.path, path, stream.path)
    return why


class SnapshotWriter:
    """A recording of snapshots only: each as it was put, none between them. Raises ValueError, ModuleNotFoundError, and OSError where it cannot be written.

    With each second a batch is written; `close` makes Parquet of them."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        stream, self.path = places(Path(path))
        self._stream: Stream | None = Stream(stream)
        self._rows: list[Row] = []
        self._until = 0
        self.written = 0                     # snapshots

    def put(self, snapshot: Snapshot) -> None:
        """One whose time is before the last one's is left out."""
        if self._stream is None:
            raise ValueError("this recording is closed")
        if snapshot.now < self._until:
            return
        if not self._stream.begun:
            self._stream.begin(Header(snapshot.program, snapshot.pid, snapshot.started, snapshot.slo, "snapshots", slotwise=installed()))
        self._until = snapshot.now
        self._rows.append((0, snapshot.now, "snapshot", "", "", 0, _encode(snapshot)))
        self.written += 1
        if snapshot.now - self._rows[0][1] >= KEYFRAMES or self.written == 1:
            self._write()

    def _write(self) -> None:
        assert self._stream is not None
        rows, self._rows = self._rows, []
        self._stream.write(rows)

    def close(self) -> str:
        """Empty, or why no Parquet could be made; then the stream is still there. Without any snapshot nothing is left."""
        if self._stream is None:
            return ""
        stream = self._stream
        why = ""
        try:
            self._write()
        except OSError as error:
            why = error.strerror or str(error)
        self._stream = None
        if not self.written:
            stream.end()
            with suppress(OSError):
                stream.path.unlink()
            return "there was no snapshot"
        return closed(stream, self.path, not why) or why


def installed() -> str:
    try:
        return version("slotwise")
    except PackageNotFoundError:
        return ""
