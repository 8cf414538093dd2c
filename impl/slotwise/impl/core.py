"""What becomes of jobs: the engine is asked, what it has started is ready for a worker (slotwise.impl.crew), and whatever ends is given back.

One task at a time runs here, so there are no locks; between two awaits everything is consistent.
"""
from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import anyio

from slotwise.impl._native import Admission
from slotwise.impl.admission_record import Recorded
from slotwise.impl.arguments import noted
from slotwise.impl.errors import Refused
from slotwise.impl.jobs import Job, Lost, ended_so, nothing
from slotwise.impl.loops import Bell
from slotwise.impl.meter import GroupRow, Meter
from slotwise.impl.meter_log import MeterLog
from slotwise.impl.tape import Tape
from slotwise.impl.timers import Timers
from slotwise.spec import vocabulary as v


class Core:
    """The scheduler without its face: `scheduler.Scheduler` opens and closes it, and gives it jobs."""

    _clock: Callable[[], int]
    _begun: int
    _new_bell: Callable[[], Bell]
    _ring: Callable[[Bell], None]
    _task_here: Callable[[], Any]
    _timers: Timers

    def __init__(self, profile: v.Profile, capacity: dict[str, int], seed: int, keep_lost: bool, tape: Tape | None) -> None:
        self._engine: Admission | Recorded = Admission(profile, capacity)
        self._log, self._tape = MeterLog(Meter(capacity)), tape
        self._groups = self._meter.groups
        self._random, self._keep_lost = random.Random(seed), keep_lost
        self._state: Literal["new", "running", "draining", "ended"] = "new"
        self._crash: BaseException | None = None         # why everything was cancelled, if not by whoever uses it
        self._numbers = self._alive = 0
        self._waiting: dict[str, Job[Any]] = {}          # in the engine's queue
        self._pausing: dict[Job[Any], None] = {}         # between two tries
        self._ready: deque[Job[Any]] = deque()           # started, and not yet taken by a worker
        self._due = False                                # something may be startable, and a worker is to ask the engine
        self._coming = 0                                 # workers that will look for work soon
        self._lost = Lost()
        self._empty: anyio.Event | None = None

    def _now(self) -> int:
        return self._clock() - self._begun

    @property
    def _meter(self) -> Meter:
        """With all that has happened until now."""
        return self._log.folded()

    # into the queue, and out of it -----------------------------------------------------------------------------------
    def _enqueue(self, job: Job[Any], at: int) -> None:
        row = job._row
        needs = job._shape.needs
        task = v.Task(job.id, row.name, needs)
        word = self._engine.enqueue((task,), at=at)[0] if row.sent else self._engine.enqueue((task,), (row.spec,), at=at)[0]
        if word[0] != "accepted":
            raise Refused(f"job {job.id} of {row.name}: {word[-1]}")
        row.sent = True
        self._waiting[job.id] = job
        job._state = "waiting"
        self._log.waits(job, at, due=True)
        if self._tape is not None:
            self._tape.add(at, "again" if job.tries else "waits", job.id, row.name, 0, needs)
        self._look(at)

    def _group(self, spec: v.Group, at: int) -> GroupRow:
        row = self._groups.get(spec.name)
        if row is None:
            row = self._log.group(spec)
            if self._tape is not None:
                self._tape.add(at, "group", "", spec.name, 0, spec)
        return row

    def _look(self, at: int) -> None:
        """Something may be startable now: a worker is to ask the engine. (The log has it.)"""
        if not self._due:
            self._is_due(at)
        if not self._coming:
            self._call()

    def _is_due(self, at: int) -> None:
        self._due = True
        if self._tape is not None:
            self._tape.add(at, "due", "", "")

    def _call(self) -> None:
        """A worker, to look for work."""
        raise NotImplementedError                        # as the next: `crew.Crew` does it

    def _running(self) -> list[Job[Any]]:
        """Those that hold a lease."""
        raise NotImplementedError

    def _pump(self, at: int) -> None:
        """Whatever may start is ready then. (Where `_due`.)"""
        waiting, tape = self._waiting, self._tape
        due: bool | None = False                         # when the first of them has started, or there is none
        if waiting:
            words: Any = self._engine.pump(at=at)
            for word in words:
                if word[0] == "started":
                    job = waiting.pop(word[2])
                    job._lease = word[1]
                    job._since = at
                    job.tries += 1
                    job._state = "running"
                    self._ready.append(job)
                    self._log.starts(job, at, due)
                    due = None
                    if tape is not None:
                        tape.add(at, "starts", job.id, job._row.name, job._lease)
        if due is not None:
            self._log.turns(at, due)
        self._due = False
        if tape is not None:
            tape.add(at, "pumped", "", "")

    # how a try ends --------------------------------------------------------------------------------------------------
    def _release(self, job: Job[Any], at: int) -> None:
        worker = job._worker
        if worker is not None:
            worker.job = job._worker = None
        lease, job._lease = job._lease, 0
        self._engine.release(lease, at=at)
        due = True if self._waiting else None            # the caller is a worker that goes on to look, or sees to it
        self._log.ends(job, at, due)
        if self._tape is not None:
            self._tape.add(at, "released", job.id, job._row.name, lease)
        if due and not self._due:
            self._is_due(at)

    def _failed(self, job: Job[Any], error: Exception) -> int:
        noted(error, job._function, job.id)
        at = self._now()
        self._release(job, at)
        if job._asked is not None:
            self._over(job, at, job._asked, ended_so(job, error))
        elif job._retry is not None and self._state != "ended" and job._retry.wants(error, job.tries):
            job._state = "backing_off"
            job._row.retried += 1
            self._log.backs_off(job._row, at, 1)
            self._pausing[job] = None
            job._pause = self._timers.add(at + job._retry.pause(job.tries, self._random), lambda: self._again(job))
            if self._tape is not None:
                self._tape.add(at, "backs_off", job.id, job._row.name)
        else:
            self._over(job, at, "failed", error)
        return at

    def _again(self, job: Job[Any]) -> None:
        at = self._now()
        self._end_pause(job, at)
        job._shape = self._log.shape(job._shape.needs)
        try:
            self._enqueue(job, at)
        except Refused as error:             # its group was given no weight, or no room, in the meantime
            self._over(job, at, "failed", error)

    def _end_pause(self, job: Job[Any], at: int) -> None:
        del self._pausing[job]
        assert job._pause is not None
        self._timers.drop(job._pause)
        self._log.backs_off(job._row, at, -1)
        if self._tape is not None:
            self._tape.add(at, "goes_on", job.id, job._row.name)

    def _give_back(self, job: Job[Any], at: int, end: Literal["cancelled", "timed_out"]) -> None:
        """A job that was started, and that no worker has taken. (One is coming for it, and will find the units free.)"""
        self._ready.remove(job)
        self._release(job, at)
        self._over(job, at, end, ended_so(job, None, end))

    def _withdraw(self, job: Job[Any], at: int, end: Literal["cancelled", "timed_out"]) -> None:
        """A job that the engine has discarded."""
        del self._waiting[job.id]
        self._over(job, at, end, ended_so(job, None, end))
        self._log.leaves(job, at)
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
                    self._log.turns(at, due=True)
                    self._look(at)
            case "backing_off":
                self._end_pause(job, at)
                self._over(job, at, end, ended_so(job, None, end))
            case "running" if job._worker is None:
                self._give_back(job, at, end)
            case "running" if job._asked is None:
                job._asked = end
                self._log.told(job, at)
                if self._tape is not None:
                    self._tape.add(at, "told", job.id, job._row.name, job._lease)
                assert job._worker is not None
                job._worker.dismiss()

    def _over(self, job: Job[Any], at: int, end: Literal["finished", "failed", "cancelled", "timed_out"], error: BaseException | None, forget: bool = False) -> None:
        job._state, job._error = end, error
        job._row.outcomes[end] += 1
        if job._timer is not None:
            self._timers.drop(job._timer)
            job._timer = None
        job._function, job._arguments = nothing, ()     # whoever keeps the job keeps no more than its result
        if job._bells is not None:
            for bell in job._bells:
                self._ring(bell)
            job._bells = None
        if end != "finished" and not (job._forget or job._awaiting or forget or not self._keep_lost) and (end != "cancelled" or (error and error.__cause__)):
            self._lost.add(job)
        if self._tape is not None:
            self._tape.add(at, end, job.id, job._row.name)
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
        for job in self._running():
            self._stop(job, "cancelled")

    async def _until_empty(self) -> None:
        while self._alive:
            if self._empty is None:
                self._empty = anyio.Event()
            await self._empty.wait()
