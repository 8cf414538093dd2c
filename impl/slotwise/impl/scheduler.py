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
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import inf
from pathlib import Path
from threading import get_ident
from types import TracebackType
from typing import Literal, TypeVar

import anyio

from slotwise.impl import arguments as checks
from slotwise.impl.checkpoint_record import Sink
from slotwise.impl.errors import Closed, Divergence, Expired, JobCancelled, Refused
from slotwise.impl.jobs import Job
from slotwise.impl.loops import bells_here, clock_here, soon_from_threads, task_here
from slotwise.impl.meter import Shape
from slotwise.impl.retries import Retry
from slotwise.impl.tap import Tap, wanted_tap
from slotwise.impl.tape import Tape
from slotwise.impl.telling import Rows, Telling
from slotwise.impl.timers import Timers
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Group

__all__ = ["Closed", "Divergence", "Expired", "Group", "Job", "JobCancelled", "Refused", "Retry", "Rows", "Scheduler"]

T = TypeVar("T")

#: Why it takes no jobs.
STATES = {"new": "new: `async with` opens it", "draining": "draining", "ended": "ended"}


class Scheduler(Telling):
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
        recorder = None
        if recording is not None:
            from slotwise.impl.recording import Recorder

            recorder = Recorder(recording)
            if tape is not None:
                raise ValueError("tape or recording, not both: what is recorded is taken from the tape")
            tape = recorder.tape
        super().__init__(profile, checks.capacity(capacity), seed, lost == "raise", tape, record, check, checks.seconds("slo", slo, positive=True), recorder)
        self.name, self._retry, self._tap_at, self._given_clock = name, retry, tap, clock
        self._default: Shape | None = self._log.shape(dict.fromkeys(self._capacity, 1)) if len(self._capacity) == 1 else None
        if self._default is not None:
            self._default.alive += 1                     # it is never forgotten
        for group in checks.specifications(groups):
            if group.name in self._groups:
                raise ValueError(f"group {group.name} is specified twice")
            self._group(group, 0)

    # its life --------------------------------------------------------------------------------------------------------
    async def __aenter__(self) -> Scheduler:
        if self._state != "new":
            raise RuntimeError("a scheduler lives once: make another")
        self._clock = self._given_clock or clock_here()
        self._begun = self._clock()
        self._cancelled = anyio.get_cancelled_exc_class()
        self._new_bell, self._ring = bells_here()
        self._task_here = task_here()
        self._timers = Timers(self._now)
        self._soon, self._thread = soon_from_threads(), get_ident()
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
            try:
                if error is None:
                    await self._until_empty()
            except BaseException:
                await self._leave(None, None, None, abort=True)
                raise
            await self._leave(*(kind, error, where) if crashed else (None, None, None), abort=error is not None)
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
        lost, number = self._lost.take()
        if error is None:
            if lost:
                raise ExceptionGroup(f"{number} jobs of {self.name} failed, and nobody asked for their results", lost)
        elif lost:
            error.add_note(f"besides, {number} jobs of {self.name} failed, and nobody asked for their results; the first: {lost[0]!r}")

    async def _leave(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None, abort: bool) -> None:
        """Whatever happens, no task stays."""
        try:
            if abort:
                self._abort()
        finally:
            self._tasks.cancel_scope.cancel()
            await self._tasks.__aexit__(kind, error, where)

    async def drain(self) -> None:
        """Take no more jobs (Closed), and wait until all are over, retries included. Not for a job of it (RuntimeError): it would wait for itself."""
        if self._in_a_job():
            raise RuntimeError(f"a job of {self.name} cannot wait until all jobs are over: it is one of them")
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
        now, waiting and pauses included, and infinity is none. `forget`: nobody will ask for its result, and its error is nobody's business.
        Raises Refused or Closed."""
        if self._state != "running":
            raise self._crash if isinstance(self._crash, Divergence) else Closed(f"{self.name} is {STATES[self._state]}")
        if get_ident() != self._thread:
            raise RuntimeError(f"{self.name} belongs to another thread: use anyio.from_thread.run_sync there")
        if not callable(function):
            raise checks.function_of(function)
        if retry is not None:
            checks.retrying(retry)
        at = self._now()
        end = None if deadline is None or deadline == inf else at + checks.seconds("deadline", deadline)
        if needs is None:
            shape = self._default
            if shape is None:
                raise ValueError(f"needs must say which of {', '.join(self._capacity)}")
        else:
            if not isinstance(needs, (str, Mapping)):
                raise checks.needs_of(needs)
            shape = self._log.shape({needs: 1} if isinstance(needs, str) else dict(needs))
        row = self._groups.get(group) or self._group(checks.sound(Group(group)), at)
        self._numbers += 1
        job: Job[T] = Job(self, f"{name}#{self._numbers}", row, shape, function, arguments, retry or self._retry, forget)
        self._enqueue(job, at)
        row.submitted += 1
        self._alive += 1
        if end is not None:
            job._timer = self._timers.add(end, lambda: self._stop(job, "timed_out"))
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
