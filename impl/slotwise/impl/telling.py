"""What a scheduler shows of itself: snapshots, a trace of its commands, a recording, the check against the specification."""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol

from slotwise.impl import snapshot as s
from slotwise.impl.admission_record import Recorded
from slotwise.impl.arguments import wrong
from slotwise.impl.checkpoint_record import Sink
from slotwise.impl.crew import Crew
from slotwise.impl.errors import Closed, Divergence
from slotwise.impl.tap import Tap
from slotwise.impl.tape import Tape
from slotwise.spec import vocabulary as v

if TYPE_CHECKING:
    from slotwise.impl.recording import Recorder
    from slotwise.impl.recording_format import Besides


class Rows(Protocol):
    """Something else that a snapshot shows: a checkpoint batcher, a pool of threads."""

    def rows(self) -> Sequence[s.Batcher | s.Worker]: ...


class Telling(Crew):
    """`record` and `check` as of `scheduler.Scheduler`; `slo` in ns."""

    name: str
    _soon: Callable[[Callable[[], Any]], None]
    _thread: int

    def __init__(
        self, profile: v.Profile, capacity: dict[str, int], seed: int, keep_lost: bool, tape: Tape | None, record: str | os.PathLike[str] | Sink | None,
        check: Literal["raise", "note"] | bool, slo: int, recorder: Recorder | None,
    ) -> None:  # fmt: skip
        super().__init__(profile, capacity, seed, keep_lost, tape)
        self._profile, self._capacity, self._seed, self._slo = profile, capacity, seed, slo
        self._record, self._check, self._recorder = record, "raise" if check is True else check, recorder
        self._file: BinaryIO | None = None
        self._sources: list[Rows] = []
        self._divergences: list[s.Divergence] = []
        self._tap: Tap | None = None
        self._snapshots = 0
        self._last: s.Snapshot | None = None

    # what it tells ---------------------------------------------------------------------------------------------------
    @property
    def socket(self) -> Path | None:
        """Where viewers connect."""
        return self._tap.path if self._tap is not None else None

    def engine_state(self) -> v.State:
        """Of the engine, as the specification's `state`."""
        return self._engine.state()

    def attach(self, source: Rows) -> None:
        """Show its rows in snapshots. Raises TypeError."""
        if not callable(getattr(source, "rows", None)):
            raise wrong("source", "what has `rows`: a checkpoint batcher's rows, or a SpinPool", source)
        self._sources.append(source)

    def snapshot(self) -> s.Snapshot:
        """Everything, now; in the scheduler's own thread. After the end it is the last one."""
        if self._last is not None:
            return self._last
        if self._state == "new" and not hasattr(self, "_clock"):
            raise Closed(f"{self.name} is new: there is nothing to see before its `async with` block")
        at = self._now()
        meter = self._meter
        resources, groups = meter.frozen_resources(at, self._begun), meter.frozen_groups(at, self._begun, self._engine.debts())
        state, batchers, workers, checks = self._others(at)
        self._snapshots += 1
        return s.Snapshot(
            s.VERSION, self.name, os.getpid(), self._begun, self._begun + at, self._snapshots, meter.events, self._tape.dropped if self._tape is not None else 0, meter.leases,
            resources, groups, batchers, workers, checks, tuple(self._divergences), self._slo, state,
        )  # fmt: skip

    def _others(self, at: int) -> tuple[str, tuple[s.Batcher, ...], tuple[s.Worker, ...], tuple[s.Check, ...]]:
        """What a snapshot shows that the meter does not count."""
        rows = [row for source in self._sources for row in source.rows()]
        state = self._state if self._crash is None else f"crashed: {type(self._crash).__name__}"
        checks = (s.Check("conformance", not self._divergences, self._engine.steps, self._begun + at),) if self._check and isinstance(self._engine, Recorded) else ()
        return state, tuple(row for row in rows if isinstance(row, s.Batcher)), tuple(row for row in rows if isinstance(row, s.Worker)), checks

    def _besides(self) -> Besides:
        from slotwise.impl.recording_format import Besides

        state, batchers, workers, checks = self._others(self._now())
        return Besides("running" if state == "new" else state, batchers, workers, checks, tuple(self._divergences), debts=self._engine.debts())

    def snapshot_from_thread(self, timeout: float = 1.0) -> s.Snapshot:
        """From any thread. Raises TimeoutError if the loop does not come to it."""
        if self._last is not None or get_ident() == self._thread:
            return self.snapshot()
        answer: Future[s.Snapshot] = Future()

        def take() -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(self.snapshot())
                except BaseException as error:
                    answer.set_exception(error)

        try:
            self._soon(take)
        except RuntimeError:                         # the loop has ended
            return self.snapshot()
        try:
            return answer.result(timeout)
        finally:
            answer.cancel()

    # the record ------------------------------------------------------------------------------------------------------
    def _open_record(self) -> None:
        sink: Sink | None = None
        if isinstance(self._record, (str, os.PathLike)):
            self._file = open(self._record, "wb")    # noqa: SIM115 - closed in _close_files
            sink = self._file
        elif self._record is not None:
            sink = self._record
        if sink is not None or self._check:
            self._engine = Recorded(self._profile, self._capacity, sink, self._diverged if self._check else None, self._engine, self._seed)

    def _open_recording(self) -> None:
        if self._recorder is not None:
            from slotwise.impl.recording_format import Header

            self._recorder.open(Header(self.name, os.getpid(), self._begun, self._slo), lambda: self._meter, self._now, self._running, self._besides)

    def _close_files(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._tap is not None:
            if self._last is not None:
                self._tap.show()             # the last word, to those that take it
            self._tap.close()

    def _diverged(self, divergence: Divergence) -> None:
        at = self._clock()
        self._divergences.append(s.Divergence("DIV-1", self._seed, divergence.step, divergence.rule, divergence.detail, at))
        if self._check == "raise" and self._crash is None:
            self._crash = divergence
            self._soon(self._abort)                  # between two steps
