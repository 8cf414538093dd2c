"""A job: one call of an async function, from its submission until it is over, all its tries included."""
from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import anyio

from slotwise.impl.errors import Expired, JobCancelled
from slotwise.impl.loops import Bell
from slotwise.impl.retries import Retry

if TYPE_CHECKING:
    from slotwise.impl.core import Core
    from slotwise.impl.crew import Worker
    from slotwise.impl.meter import GroupRow, Shape
    from slotwise.impl.timers import Timer

T = TypeVar("T")

#: Where a job is, and then how it ended.
JobState = Literal["waiting", "running", "backing_off", "finished", "failed", "cancelled", "timed_out"]
ENDS = frozenset(("finished", "failed", "cancelled", "timed_out"))


class Job(Generic[T]):
    """What `submit` gives: await it for the result. It raises what the function raised, JobCancelled, or Expired.

    Whoever is cancelled while awaiting a job cancels the job, unless somebody else awaits it too, and leaves when the job has given back
    its lease. `wait` only waits. A job that awaits itself gets a RuntimeError.
    """

    __slots__ = ("_arguments", "_asked", "_awaiting", "_bells", "_error", "_forget", "_function", "_lease", "_pause", "_result", "_retry", "_row", "_scheduler", "_shape", "_since",
                 "_state", "_timer", "_worker", "id", "tries")  # fmt: skip

    def __init__(
        self, scheduler: Core, id: str, row: GroupRow, shape: Shape, function: Callable[..., Awaitable[T]], arguments: tuple[object, ...], retry: Retry | None, forget: bool
    ) -> None:
        self.id = id
        self.tries = 0
        self._scheduler = scheduler
        self._row = row
        self._shape = shape
        self._function = function
        self._arguments = arguments
        self._retry = retry
        self._forget = forget
        self._state: JobState = "waiting"
        self._lease = self._since = self._awaiting = 0                   # `_since` the lease was given; so many await it
        self._worker: Worker | None = None
        self._asked: Literal["cancelled", "timed_out"] | None = None     # to end so, while it runs
        self._timer: Timer | None = None                  # its deadline
        self._pause: Timer | None = None                  # the end of its back-off
        self._bells: list[Bell] | None = None             # of those who wait for its end
        self._error: BaseException | None = None
        self._result: Any = None

    @property
    def state(self) -> JobState:
        return self._state

    @property
    def group(self) -> str:
        return self._row.name

    @property
    def over(self) -> bool:
        return self._state in ENDS

    def cancel(self) -> None:
        """If it is not over: it starts no more, or what runs is cancelled, and ends as soon as it lets itself be."""
        self._scheduler._stop(self, "cancelled")

    def result(self) -> T:
        """Of a job that is over (RuntimeError): what the function returned. Raises what `await` raises."""
        if self._state == "finished":
            result: T = self._result
            return result
        if self._error is None:
            raise RuntimeError(f"job {self.id} is not over, but {self._state}")
        self._scheduler._lost.drop(self)
        raise self._error

    def exception(self) -> BaseException | None:
        """Of a job that is over (RuntimeError): what `result` would raise, or None."""
        if not self.over:
            raise RuntimeError(f"job {self.id} is not over, but {self._state}")
        self._scheduler._lost.drop(self)
        return self._error

    async def wait(self) -> None:
        """Until it is over, however it ends; its error still wants to be seen."""
        if not self.over:
            self._by_another()
            bell = self._bell()
            try:
                await bell
            except BaseException:
                self._unhang(bell)
                raise

    def __await__(self) -> Generator[Any, Any, T]:
        if self._state not in ENDS:
            self._by_another()
            self._awaiting += 1
            bell = self._bell()
            try:
                yield from bell.__await__()
            except BaseException as error:
                self._unhang(bell)
                if self._awaiting == 1 and not self.over:        # who awaits it was cancelled, and is the last one: the job goes too
                    self.cancel()
                    if not (self.over or isinstance(error, GeneratorExit)):      # thrown away, it can wait for nothing
                        yield from self._shielded().__await__()
                raise
            finally:
                self._awaiting -= 1
        return self._result if self._state == "finished" else self.result()

    def _by_another(self) -> None:
        if self._worker is not None and self._worker.task == id(self._scheduler._task_here()):
            raise RuntimeError(f"job {self.id} of {self.group} cannot await itself: it would never end")

    async def _shielded(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._bell()

    def _bell(self) -> Bell:
        bell = self._scheduler._new_bell()
        if self._bells is None:
            self._bells = [bell]
        else:
            self._bells.append(bell)
        return bell

    def _unhang(self, bell: Bell) -> None:
        if self._bells is not None:
            self._bells.remove(bell)

    def __repr__(self) -> str:
        return f"<job {self.id} of {self.group}: {self._state}>"


async def nothing() -> None:
    raise AssertionError("a job that is over is not called")


def ended_so(job: Job[Any], cause: BaseException | None, end: Literal["cancelled", "timed_out"] | None = None) -> Exception:
    word = end or job._asked or "cancelled"
    error: Exception = Expired(f"job {job.id} of {job.group} was not over at its deadline") if word == "timed_out" else JobCancelled(f"job {job.id} of {job.group} was cancelled")
    error.__cause__ = cause
    return error


class Lost:
    """Jobs that have failed, and whose errors nobody has asked for: up to so many, and of the rest only the number."""

    def __init__(self, most: int = 1000) -> None:
        self._most, self._more = most, 0
        self._jobs: dict[Job[Any], None] = {}

    def add(self, job: Job[Any]) -> None:
        if len(self._jobs) < self._most:
            self._jobs[job] = None
        else:
            self._more += 1

    def drop(self, job: Job[Any]) -> None:
        """Somebody has asked."""
        self._jobs.pop(job, None)

    def take(self) -> tuple[list[Exception], int]:
        """Their errors, and how many there were in all."""
        errors = [job._error for job in self._jobs if isinstance(job._error, Exception)]
        self._jobs.clear()
        return errors, len(errors) + self._more
