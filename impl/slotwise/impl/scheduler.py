'''A scheduler for async functions, on trio or asyncio, whose every decision is the native engine's.

    import anyio
    from slotwise.impl.scheduler import Group, Retry, Scheduler

    async def ask(question: int) -> int:
        await anyio.sleep(0.01)                     # call a model, say
        return 6 * question

    async def main() -> None:
        groups = [Group("chat", weight=3.0), Group("batch", running_limit=6)]
        async with Scheduler({"llm": 8}, groups, retry=Retry(on=(ConnectionError,))) as scheduler:
            jobs = [scheduler.submit(ask, i, group="batch") for i in range(100)]
            print(await scheduler.submit(ask, 7, group="chat", deadline=5.0))
            print(sum([await job for job in jobs]))

    anyio.run(main)

A job waits in its group until the engine starts it, holds units of the resources it needs while it runs, and gives them back when it ends,
however it ends. The block ends when all jobs are over; if it is left by an exception, or cancelled, all jobs are cancelled. What a job raises
is raised where the job is awaited; if nobody ever asks, it is raised when the block ends, with all others, in an ExceptionGroup.

A scheduler belongs to its loop's thread. A job that awaits another holds its units meanwhile: if all do, none goes on.
'''
from __future__ import annotations

import os
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, TypeVar

import anyio

from slotwise.impl import arguments as checks
from slotwise.impl import snapshot as s
from slotwise.impl.admission_record import Recorded
from slotwise.impl.checkpoint_record import Sink
from slotwise.impl.core import Core
from slotwise.impl.errors import Closed, Divergence, Expired, JobCancelled, Refused
from slotwise.impl.jobs import Job
from slotwise.impl.loops import bells_here, clock_here, soon_from_threads
from slotwise.impl.meter import Shape
from slotwise.impl.retries import Retry
from slotwise.impl.tap import Tap, wanted_tap
from slotwise.impl.tape import Tape
from slotwise.impl.timers import Timers
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Group

if TYPE_CHECKING:
    from slotwise.impl.recording import Recorder
    from slotwise.impl.recording_format import Besides

__all__ = ["Closed", "Divergence", "Expired", "Group", "Job", "JobCancelled", "Refused", "Retry", "Rows", "Scheduler"]

T = TypeVar("T")


class Rows(Protocol):
    """Something else that a snapshot shows: a checkpoint batcher, a pool of threads."""

    def rows(self) -> Sequence[s.Batcher | s.Worker]: ...


class Scheduler(Core):
    """`capacity` is in units per resource; `groups` are specified by the vocabulary's `Group` (weights are multiples of 1/1024), others get
    weight 1 and no limit. `profile` is one of admission's, or its name.

    `retry` is for jobs that do not bring their own. `seed` decides the jitter. `lost` says what becomes of errors that nobody asked for.
    `record` is a file's path, or whatever has `write`: all commands, and what was seen, as a trace. `check` steps the specification beside
    the engine: "raise" ends the scheduler at the first difference with a Divergence, "note" shows it in snapshots. (Slow where
    thousands of jobs wait.) `tap` is the socket's path, True for the default, or False; left out, it is what the environment's SLOTWISE_TAP names
    (`slotwise watch --run` does that), or none. `tape` gets all events. `recording` is a file's path,
    run.parquet: while the scheduler runs, run.arrows grows, and becomes run.parquet at the end (needs pyarrow).
    Raises ValueError or TypeError for what makes no sense, in a line that names the argument.
    """

    def __init__(
        self, capacity: Mapping[str, int], groups: Iterable[Group] = (), *, profile: v.Profile | str = "slotwise", retry: Retry | None = None, seed: int = 0, name: str = "scheduler",
        lost: Literal["raise", "ignore"] = "raise", record: str | os.PathLike[str] | Sink | None = None, check: Literal["raise", "note"] | bool = False,
        tap: str | os.PathLike[str] | bool | None = None, tape: Tape | None = None, recording: str | os.PathLike[str] | None = None, slo: float = 5.0, clock: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(profile, str):
            if profile not in v.PROFILES:
                raise ValueError(f"no profile is called {profile!r}; there are {', '.join(v.PROFILES)}")
            profile = v.PROFILES[profile]
        elif not isinstance(profile, v.Profile):
            raise checks.wrong("profile", "a Profile or its name", profile)
        checks.scheduler(seed=seed, name=name, lost=lost, check=check, record=record, tap=tap, tape=tape, recording=recording, clock=clock, retry=retry)
        self.name, self._profile, self._capacity = name, profile, checks.capacity(capacity)
        self._recorder: Recorder | None = None
        if recording is not None:
            from slotwise.impl.recording import Recorder

            self._recorder = Recorder(recording)
            if tape is not None:
                raise ValueError("tape or recording, not both: what is recorded is taken from the tape")
            tape = self._recorder.tape
        super().__init__(profile, self._capacity, seed, lost == "raise", tape)
        self._retry, self._seed, self._slo = retry, seed, checks.seconds("slo", slo, least=0)
        self._record, self._check, self._tap_at, self._given_clock = record, "raise" if check is True else check, tap, clock
        self._file: BinaryIO | None = None
        self._default: Shape | None = self._meter.shape(dict.fromkeys(self._capacity, 1)) if len(self._capacity) == 1 else None
        for group in checks.specifications(groups):
            if group.name in self._meter.groups:
                raise ValueError(f"group {group.name} is specified twice")
            self._group(group, 0)
        self._sources: list[Rows] = []
        self._divergences: list[s.Divergence] = []
        self._tap: Tap | None = None
        self._snapshots = 0
        self._last: s.Snapshot | None = None

    # its life --------------------------------------------------------------------------------------------------------
    async def __aenter__(self) -> Scheduler:
        if self._state != "new":
            raise RuntimeError("a scheduler lives once")
        self._clock = self._given_clock or clock_here()
        self._begun = self._clock()
        self._cancelled, self._new_bell = anyio.get_cancelled_exc_class(), bells_here()
        self._timers = Timers(self._now)
        self._soon, self._thread = soon_from_threads(), threading.get_ident()
        self._open_record()
        try:
            self._open_recording()
            if self._tap_at is None:
                self._tap = wanted_tap(self.snapshot)
            elif self._tap_at is not False:
                self._tap = Tap(self.snapshot, None if self._tap_at is True else Path(self._tap_at))
            self._tasks = anyio.create_task_group()
            await self._tasks.__aenter__()
        except BaseException:
            self._close_files()
            if self._recorder is not None:
                await self._recorder.close(self._now())
            raise
        self._state = "running"
        self._tasks.start_soon(self._timers.run)
        if self._tap is not None:
            self._tasks.start_soon(self._tap.run)
        if self._recorder is not None:
            self._tasks.start_soon(self._recorder.run)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        try:
            crashed = self._tasks.cancel_scope.cancel_called
            if error is None:
                try:
                    await self._until_empty()
                except BaseException:
                    self._abort()
                    await self._leave(None, None, None)
                    raise
            else:
                self._abort()
            await self._leave(*(kind, error, where) if crashed else (None, None, None))
        finally:
            self._state = "ended"
            if error is not None and not isinstance(error, self._cancelled):
                self._crash = self._crash or error
            self._last = self.snapshot()
            self._close_files()
            if self._recorder is not None:
                await self._recorder.close(self._last.now - self._begun)
        if self._crash is not None and self._crash is not error:
            raise self._crash from None
        lost = self._take_lost()
        if error is None:
            if lost:
                raise ExceptionGroup(f"{len(lost) + self._lost_more} jobs of {self.name} failed, and nobody asked for their results", lost)
        elif lost:
            error.add_note(f"besides, {len(lost) + self._lost_more} jobs of {self.name} failed, and nobody asked for their results; the first: {lost[0]!r}")

    async def _leave(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._tasks.cancel_scope.cancel()
        await self._tasks.__aexit__(kind, error, where)

    async def drain(self) -> None:
        """Take no more jobs (Closed), and wait until all are over, retries included."""
        self._close()
        await self._until_empty()

    async def shutdown(self, grace: float = 0.0) -> None:
        """Take no more jobs, wait at most so many seconds, and cancel what is left. Everything is over when it returns."""
        if not isinstance(grace, int | float):
            raise checks.wrong("grace", "a number of seconds", grace)
        self._close()
        with anyio.move_on_after(grace):
            await self._until_empty()
        self._abort()
        await self._until_empty()

    # jobs ------------------------------------------------------------------------------------------------------------
    def submit(
        self, function: Callable[..., Awaitable[T]], *arguments: object, group: str = "default", needs: Mapping[str, int] | str | None = None, name: str = "",
        retry: Retry | None = None, deadline: float | None = None, forget: bool = False,
    ) -> Job[T]:  # fmt: skip
        """A job that calls the function with these arguments (others: functools.partial) when the engine starts it.

        `needs` names the resource, or units of several; it may be left out if there is one resource only. `deadline` is in seconds from
        now, waiting and pauses included. `forget`: nobody will ask for its result, and its error is nobody's business.
        Raises Refused or Closed."""
        if self._state != "running":
            raise self._crash if isinstance(self._crash, Divergence) else Closed(f"{self.name} is {self._state}" + (": `async with` opens it" if self._state == "new" else ""))
        if not callable(function):
            raise checks.function_of(function)
        if retry is not None:
            checks.retrying(retry)
        at = self._now()
        if needs is None:
            shape = self._default
            if shape is None:
                raise ValueError(f"needs must say which of {', '.join(self._capacity)}")
        else:
            try:
                units = {needs: 1} if isinstance(needs, str) else dict(needs)
            except (TypeError, ValueError):
                raise checks.needs_of(needs) from None
            shape = self._meter.shape(units)
        due = None if deadline is None else at + checks.seconds("deadline", deadline)
        row = self._meter.groups.get(group) or self._group(checks.sound(Group(group)), at)
        self._numbers += 1
        job: Job[T] = Job(self, f"{name}#{self._numbers}", row, shape, function, arguments, retry or self._retry, forget)
        self._enqueue(job, at)
        row.submitted += 1
        self._alive += 1
        if due is not None:
            job._timer = self._timers.add(due, lambda: self._stop(job, "timed_out"))
        return job

    def specify(self, group: Group) -> None:
        """A group's specification from now on; the engine learns of it with the group's next job. Raises ValueError."""
        if self._state == "new":
            raise Closed(f"{self.name} is new: specify its groups where it is made, or in its `async with` block")
        at = self._now()
        row = self._group(checks.sound(group), at)
        self._meter.respecify(row, group, at)
        if self._tape is not None:
            self._tape.add(at, "specified", "", group.name, 0, group)
        row.sent = False

    def _take_lost(self) -> list[Exception]:
        lost = [job._error for job in self._lost if isinstance(job._error, Exception)]
        self._lost.clear()
        return lost

    # the record ------------------------------------------------------------------------------------------------------
    def _open_record(self) -> None:
        sink: Sink | None = None
        if isinstance(self._record, (str, os.PathLike)):
            self._file = open(self._record, "wb")    # noqa: SIM115 - closed in __aexit__
            sink = self._file
        elif self._record is not None:
            sink = self._record
        if sink is not None or self._check:
            self._engine = Recorded(self._profile, self._capacity, sink, self._diverged if self._check else None, self._engine, self._seed)

    def _open_recording(self) -> None:
        if self._recorder is not None:
            from slotwise.impl.recording_format import Header

            self._recorder.open(Header(self.name, os.getpid(), self._begun, self._slo), self._meter, self._now, self._running, self._besides)

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

    # what it tells ---------------------------------------------------------------------------------------------------
    @property
    def socket(self) -> Path | None:
        """Where viewers connect."""
        return self._tap.path if self._tap is not None else None

    def engine_state(self) -> v.State:
        """Of the engine, as the specification's `state`."""
        return self._engine.state()

    def attach(self, source: Rows) -> None:
        """Show its rows in snapshots."""
        if not callable(getattr(source, "rows", None)):
            raise checks.wrong("source", "what has `rows`: a checkpoint batcher's rows, or a SpinPool", source)
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
        if self._last is not None or threading.get_ident() == self._thread:
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

