"""What becomes of jobs: the engine is asked, workers run what it has started, and whatever ends is given back.

One task at a time runs here, so there are no locks; between two awaits everything is consistent. Workers are tasks that stay: one that has
ended a job takes the next, and pauses for other tasks now and then. A worker has one cancel scope for all its jobs; one that had to be
cancelled leaves, and is replaced if there is work.
"""
from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import anyio
import anyio.abc
import anyio.lowlevel

from slotwise.impl._native import Admission
from slotwise.impl.admission_record import Recorded
from slotwise.impl.arguments import noted
from slotwise.impl.errors import Expired, JobCancelled, Refused
from slotwise.impl.jobs import Job
from slotwise.impl.loops import Bell
from slotwise.impl.meter import GroupRow, Meter
from slotwise.impl.tape import Tape
from slotwise.impl.timers import Timers
from slotwise.spec import vocabulary as v

#: A worker lets other tasks go first after so many jobs, or so many ns, whichever comes first.
JOBS_IN_A_ROW = 64
TIME_IN_A_ROW = 1_000_000
#: Workers that are kept while there is nothing to do.
IDLE_WORKERS = 256
#: Errors that nobody has asked for are kept up to so many; of the rest only the number.
MOST_LOST = 1000


class Worker:
    __slots__ = ("bell", "coming", "job", "scope")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.bell: Bell | None = None                # while it is idle
        self.coming = True                           # it will look for work soon
        self.job: Job[Any] | None = None


class Core:
    """The scheduler without its face: `scheduler.Scheduler` opens and closes it, and gives it jobs."""

    _clock: Callable[[], int]
    _begun: int
    _cancelled: type[BaseException]
    _new_bell: Callable[[], Bell]
    _timers: Timers
    _tasks: anyio.abc.TaskGroup

    def __init__(self, profile: v.Profile, capacity: dict[str, int], seed: int, keep_lost: bool, tape: Tape | None) -> None:
        self._engine: Admission | Recorded = Admission(profile, capacity)
        self._meter, self._tape = Meter(capacity), tape
        self._random, self._keep_lost = random.Random(seed), keep_lost
        self._state: Literal["new", "running", "draining", "ended"] = "new"
        self._crash: BaseException | None = None         # why everything was cancelled, if not by whoever uses it
        self._numbers = self._alive = 0
        self._waiting: dict[str, Job[Any]] = {}          # in the engine's queue
        self._pausing: dict[Job[Any], None] = {}         # between two tries
        self._ready: deque[Job[Any]] = deque()           # started, and not yet taken by a worker
        self._workers: dict[Worker, None] = {}
        self._idle: list[Worker] = []
        self._coming = 0                                 # workers that will look for work soon
        self._lost: dict[Job[Any], None] = {}            # failed, and nobody has asked
        self._lost_more = 0
        self._empty: anyio.Event | None = None

    def _now(self) -> int:
        return self._clock() - self._begun

    # from the queue to a worker --------------------------------------------------------------------------------------
    def _enqueue(self, job: Job[Any], at: int) -> None:
        row = job._row
        task = v.Task(job.id, row.name, job._shape.needs)
        word = self._engine.enqueue((task,), at=at)[0] if row.sent else self._engine.enqueue((task,), (row.spec,), at=at)[0]
        if word[0] != "accepted":
            raise Refused(f"job {job.id} of {row.name}: {word[-1]}")
        row.sent = True
        self._waiting[job.id] = job
        job._state = "waiting"
        self._meter.waits(job, at)
        if self._tape is not None:
            self._tape.add(at, "again" if job.tries else "waits", job.id, row.name, 0, job._shape.needs)
        self._look()

    def _group(self, spec: v.Group, at: int) -> GroupRow:
        row = self._meter.groups.get(spec.name)
        if row is None:
            row = self._meter.group(spec)
            if self._tape is not None:
                self._tape.add(at, "group", "", spec.name, 0, spec)
        return row

    def _running(self) -> list[Job[Any]]:
        """Those that hold a lease."""
        return [*self._ready, *(worker.job for worker in self._workers if worker.job is not None)]

    def _look(self) -> None:
        """Something may be startable now: a worker is to ask the engine."""
        if not self._meter.due:
            self._is_due()
        if not self._coming:
            self._call()

    def _is_due(self) -> None:
        if self._tape is not None:
            self._tape.add(self._meter.at, "due", "", "")
        self._meter.due = True

    def _call(self) -> None:
        """A worker, to look for work."""
        self._coming += 1
        if self._idle:
            worker = self._idle.pop()
            worker.coming = True
            assert worker.bell is not None
            worker.bell.ring()
            return
        worker = Worker()
        self._workers[worker] = None
        self._tasks.start_soon(self._work, worker)

    def _pump(self, at: int) -> None:
        meter = self._meter
        waiting = self._waiting
        if waiting:
            words: Any = self._engine.pump(at=at)
            for word in words:
                if word[0] == "started":
                    job = waiting.pop(word[2])
                    job._lease = word[1]
                    job.tries += 1
                    meter.starts(job, at)
                    job._state = "running"
                    self._ready.append(job)
                    if self._tape is not None:
                        self._tape.add(at, "starts", job.id, job._row.name, job._lease)
        if at != meter.at:
            meter._advance(at)
        if self._tape is not None and meter.due:
            self._tape.add(at, "pumped", "", "")
        meter.due = False

    async def _work(self, worker: Worker) -> None:
        """Job after job. One `finally` for all ways to leave; whoever is left without a worker gets another."""
        ready, now, meter = self._ready, self._now, self._meter
        worker.coming = False
        self._coming -= 1
        try:
            with worker.scope:
                begun = at = now()
                left = JOBS_IN_A_ROW
                while not worker.scope.cancel_called:
                    if meter.due:
                        self._pump(at)
                    if not ready:
                        if len(self._idle) >= IDLE_WORKERS:
                            return
                        job = result = None              # whoever rests keeps nothing alive
                        await self._rest(worker)
                        begun = at = now()
                        left = JOBS_IN_A_ROW
                        continue
                    job = ready.popleft()
                    if len(ready) > self._coming:
                        self._call()
                    job._worker, worker.job = worker, job
                    try:
                        result = await job._function(*job._arguments)
                    except Exception as error:
                        at = self._failed(job, error)
                    except BaseException as error:
                        at = now()
                        if (left_to_raise := self._broken(job, error, at)) is not None:
                            raise left_to_raise from None
                    else:
                        at = now()
                        self._release(job, at)
                        job._result = result
                        self._over(job, "finished", None)
                    left -= 1
                    if left <= 0 or at - begun > TIME_IN_A_ROW:
                        if meter.due:
                            self._pump(at)
                        await self._pass(worker)
                        begun = at = now()
                        left = JOBS_IN_A_ROW
        finally:
            del self._workers[worker]
            if worker.coming:
                self._coming -= 1
            if (ready or (meter.due and self._waiting)) and not self._coming:
                self._call()

    async def _rest(self, worker: Worker) -> None:
        worker.bell = self._new_bell()
        self._idle.append(worker)
        try:
            await worker.bell.wait()
        except BaseException:
            if not worker.coming:
                self._idle.remove(worker)
            raise
        worker.coming = False
        self._coming -= 1

    async def _pass(self, worker: Worker) -> None:
        """Let others go first."""
        worker.coming = True
        self._coming += 1
        await anyio.lowlevel.checkpoint()
        worker.coming = False
        self._coming -= 1

    # how a try ends --------------------------------------------------------------------------------------------------
    def _release(self, job: Job[Any], at: int) -> None:
        worker = job._worker
        if worker is not None:
            worker.job = job._worker = None
        lease, job._lease = job._lease, 0
        self._engine.release(lease, at=at)
        self._meter.ends(job, at)
        if self._tape is not None:
            self._tape.add(at, "released", job.id, job._row.name, lease)
            if self._waiting and not self._meter.due:
                self._is_due()
        elif self._waiting:
            self._meter.due = True           # the caller is a worker that goes on to look, or sees to it

    def _failed(self, job: Job[Any], error: Exception) -> int:
        noted(error, job._function, job.id)
        at = self._now()
        self._release(job, at)
        if job._asked is not None:
            self._over(job, job._asked, _ended_so(job, error))
        elif job._retry is not None and self._state != "ended" and job._retry.wants(error, job.tries):
            job._state = "backing_off"
            job._row.retried += 1
            self._meter.backs_off(job._row, at, 1)
            self._pausing[job] = None
            job._pause = self._timers.add(at + job._retry.pause(job.tries, self._random), lambda: self._again(job))
            if self._tape is not None:
                self._tape.add(at, "backs_off", job.id, job._row.name)
        else:
            self._over(job, "failed", error)
        return at

    def _again(self, job: Job[Any]) -> None:
        at = self._now()
        self._end_pause(job, at)
        try:
            self._enqueue(job, at)
        except Refused as error:             # its group was given no weight, or no room, in the meantime
            self._over(job, "failed", error)

    def _end_pause(self, job: Job[Any], at: int) -> None:
        del self._pausing[job]
        assert job._pause is not None
        self._timers.drop(job._pause)
        self._meter.backs_off(job._row, at, -1)
        if self._tape is not None:
            self._tape.add(at, "goes_on", job.id, job._row.name)

    def _broken(self, job: Job[Any], error: BaseException, at: int) -> BaseException | None:
        """The job ended by cancellation, or by something that is no Exception. What the worker is to raise."""
        self._release(job, at)
        cancelled, rest = _split(error, self._cancelled)
        here = anyio.current_effective_deadline() == float("-inf")       # by the worker's scope, or from outside
        if cancelled is None or not (rest is None or isinstance(rest, Exception)):      # KeyboardInterrupt, SystemExit: it ends the scheduler
            self._over(job, "failed", error, forget=True)
            self._abort()
            return error
        if rest is not None and job._asked is None:
            self._over(job, "failed", rest)
        else:
            self._over(job, job._asked or "cancelled", _ended_so(job, rest))
        if here and job._asked is None:
            self._abort()
        # On asyncio a function can raise CancelledError though nobody has cancelled it here: it awaited something that was cancelled.
        return cancelled if here else None

    def _give_back(self, job: Job[Any], at: int, end: Literal["cancelled", "timed_out"]) -> None:
        """A job that was started, and that no worker has taken. (One is coming for it, and will find the units free.)"""
        self._ready.remove(job)
        self._release(job, at)
        self._over(job, end, _ended_so(job, None, end))

    def _withdraw(self, job: Job[Any], at: int, end: Literal["cancelled", "timed_out"]) -> None:
        """A job that the engine has discarded."""
        del self._waiting[job.id]
        if at != self._meter.at:
            self._meter._advance(at)         # it is over now, for the tape too
        self._over(job, end, _ended_so(job, None, end))
        self._meter.leaves(job, at)
        if self._tape is not None:
            self._tape.add(at, "discarded", job.id, job._row.name)

    def _stop(self, job: Job[Any], end: Literal["cancelled", "timed_out"]) -> None:
        """End a job before its time, wherever it is."""
        at = self._now()
        match job._state:
            case "waiting":
                self._engine.discard(job.id, at=at)
                self._withdraw(job, at, end)
                if self._waiting and self._state != "ended":     # another may be at the head now
                    self._look()
            case "backing_off":
                self._end_pause(job, at)
                self._over(job, end, _ended_so(job, None, end))
            case "running" if job._worker is None:
                self._give_back(job, at, end)
            case "running" if job._asked is None:
                job._asked = end
                self._meter.told(job, at)
                if self._tape is not None:
                    self._tape.add(at, "told", job.id, job._row.name, job._lease)
                assert job._worker is not None
                job._worker.scope.cancel()

    def _over(self, job: Job[Any], end: Literal["finished", "failed", "cancelled", "timed_out"], error: BaseException | None, forget: bool = False) -> None:
        job._state, job._error = end, error
        job._row.outcomes[end] += 1
        if job._timer is not None:
            self._timers.drop(job._timer)
            job._timer = None
        job._function, job._arguments = _nothing, ()             # whoever keeps the job keeps no more than its result
        if job._bells is not None:
            for bell in job._bells:
                bell.ring()
            job._bells = None
        if end != "finished" and not (job._forget or job._awaiting or forget or not self._keep_lost) and (end != "cancelled" or (error and error.__cause__)):
            if len(self._lost) < MOST_LOST:
                self._lost[job] = None
            else:
                self._lost_more += 1
        if self._tape is not None:
            self._tape.add(self._meter.at, end, job.id, job._row.name)
        self._alive -= 1
        if not self._alive and self._empty is not None:
            self._empty.set()
            self._empty = None

    # how all ends ----------------------------------------------------------------------------------------------------
    def _close(self) -> None:
        if self._state == "running":
            self._state = "draining"

    def _abort(self) -> None:
        """Cancel every job. Nothing starts any more."""
        self._close()
        if self._state == "ended":
            return
        at = self._now()
        if self._waiting:
            self._engine.discard_where(at=at)
            for job in list(self._waiting.values()):
                self._withdraw(job, at, "cancelled")
        for job in list(self._pausing):
            self._stop(job, "cancelled")
        at = self._now()                         # those before have moved it on
        while self._ready:
            self._give_back(self._ready[0], at, "cancelled")
        for worker in list(self._workers):
            if worker.job is not None:
                self._stop(worker.job, "cancelled")

    async def _until_empty(self) -> None:
        while self._alive:
            if self._empty is None:
                self._empty = anyio.Event()
            await self._empty.wait()


async def _nothing() -> None:
    raise AssertionError("a job that is over is not called")


def _ended_so(job: Job[Any], cause: BaseException | None, end: Literal["cancelled", "timed_out"] | None = None) -> Exception:
    word = end or job._asked or "cancelled"
    error: Exception = Expired(f"job {job.id} of {job.group} was not over at its deadline") if word == "timed_out" else JobCancelled(f"job {job.id} of {job.group} was cancelled")
    error.__cause__ = cause
    return error


def _split(error: BaseException, cancelled: type[BaseException]) -> tuple[BaseException | None, BaseException | None]:
    """What of it is cancellation, and the rest."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(cancelled)
    return (error, None) if isinstance(error, cancelled) else (None, error)
