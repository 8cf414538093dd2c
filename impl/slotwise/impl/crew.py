"""Those who run jobs: workers are tasks that stay. One that has ended a job takes the next, and pauses for other tasks now and then.

A worker has one cancel scope for all its jobs; one that had to be cancelled leaves, and is replaced if there is work.
"""
from __future__ import annotations

from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel

from slotwise.impl.core import Core
from slotwise.impl.jobs import Job, ended_so
from slotwise.impl.loops import Bell
from slotwise.impl.tape import Tape
from slotwise.spec import vocabulary as v

#: A worker lets other tasks go first after so many jobs, or so many ns, whichever comes first.
JOBS_IN_A_ROW = 64
TIME_IN_A_ROW = 1_000_000
#: Workers that are kept while there is nothing to do.
IDLE_WORKERS = 256


class Worker:
    __slots__ = ("bell", "coming", "dismissed", "job", "scope", "task")

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.bell: Bell | None = None                # while it is idle
        self.coming = True                           # it will look for work soon
        self.dismissed = False                       # and takes no other job
        self.job: Job[Any] | None = None
        self.task = 0                                # the id of the loop's task

    def dismiss(self) -> None:
        """Cancel what it runs."""
        self.dismissed = True
        self.scope.cancel()


class Crew(Core):
    _cancelled: type[BaseException]
    _tasks: anyio.abc.TaskGroup

    def __init__(self, profile: v.Profile, capacity: dict[str, int], seed: int, keep_lost: bool, tape: Tape | None) -> None:
        super().__init__(profile, capacity, seed, keep_lost, tape)
        self._workers: dict[Worker, None] = {}
        self._idle: list[Worker] = []

    def _running(self) -> list[Job[Any]]:
        return [*self._ready, *(worker.job for worker in self._workers if worker.job is not None)]

    def _in_a_job(self) -> bool:
        here = id(self._task_here()) if self._workers else 0
        return any(worker.job is not None and worker.task == here for worker in self._workers)

    def _call(self) -> None:
        self._coming += 1
        if self._idle:
            worker = self._idle.pop()
            worker.coming = True
            assert worker.bell is not None
            self._ring(worker.bell)
            return
        worker = Worker()
        self._workers[worker] = None
        self._tasks.start_soon(self._work, worker)

    async def _work(self, worker: Worker) -> None:
        """Job after job. One `finally` for all ways to leave; whoever is left without a worker gets another."""
        ready, clock, zero = self._ready, self._clock, self._begun
        worker.coming = False
        self._coming -= 1
        worker.task = id(self._task_here())
        try:
            with worker.scope:
                begun = at = clock() - zero
                left = JOBS_IN_A_ROW
                while not worker.dismissed:
                    if self._due:
                        self._pump(at)
                    if ready:
                        job = ready.popleft()
                        if len(ready) > self._coming:
                            self._call()
                        job._worker = worker
                        worker.job = job
                        try:
                            result = await job._function(*job._arguments)
                        except Exception as error:
                            at = self._failed(job, error)
                        except BaseException as error:
                            at = clock() - zero
                            if (left_to_raise := self._broken(job, error, at)) is not None:
                                raise left_to_raise from None
                        else:
                            at = clock() - zero
                            self._release(job, at)
                            job._result = result
                            self._over(job, at, "finished", None)
                        left -= 1
                        if left > 0 and at - begun <= TIME_IN_A_ROW:
                            continue
                        if self._due:
                            self._pump(at)
                        worker.coming = True
                        self._coming += 1
                        await anyio.lowlevel.checkpoint()        # others go first
                    elif len(self._idle) < IDLE_WORKERS:
                        job = result = None                      # type: ignore[assignment]  # whoever rests keeps nothing alive
                        bell = worker.bell = self._new_bell()
                        self._idle.append(worker)
                        await bell                               # until it is called
                        worker.bell = None
                    else:
                        return
                    worker.coming = False
                    self._coming -= 1
                    begun = at = clock() - zero
                    left = JOBS_IN_A_ROW
        finally:
            del self._workers[worker]
            if worker.coming:
                self._coming -= 1
            elif worker.bell is not None:
                self._idle.remove(worker)
            if (ready or (self._due and self._waiting)) and not self._coming:
                self._call()

    def _broken(self, job: Job[Any], error: BaseException, at: int) -> BaseException | None:
        """The job ended by cancellation, or by something that is no Exception. What the worker is to raise."""
        self._release(job, at)
        cancelled, rest = _split(error, self._cancelled)
        here = anyio.current_effective_deadline() == float("-inf")       # by the worker's scope, or from outside
        if cancelled is None or not (rest is None or isinstance(rest, Exception)):      # KeyboardInterrupt, SystemExit: it ends the scheduler
            self._over(job, at, "failed", error, forget=True)
            self._abort()
            return error
        if rest is not None and job._asked is None:
            self._over(job, at, "failed", rest)
        else:
            self._over(job, at, job._asked or "cancelled", ended_so(job, rest))
        if here and job._asked is None:
            self._abort()
        # On asyncio a function can raise CancelledError though nobody has cancelled it here: it awaited something that was cancelled.
        return cancelled if here else None


def _split(error: BaseException, cancelled: type[BaseException]) -> tuple[BaseException | None, BaseException | None]:
    """What of it is cancellation, and the rest."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(cancelled)
    return (error, None) if isinstance(error, cancelled) else (None, error)
