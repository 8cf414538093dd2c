"""A job: one call of an async function, from its submission until it is over, all its tries included."""
from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import anyio

from slotwise.impl.loops import Bell
from slotwise.impl.retries import Retry

if TYPE_CHECKING:
    from slotwise.impl.core import Core, Worker
    from slotwise.impl.meter import GroupRow, Shape
    from slotwise.impl.timers import Timer

T = TypeVar("T")

#: Where a job is, and then how it ended.
JobState = Literal["waiting", "running", "backing_off", "finished", "failed", "cancelled", "timed_out"]
ENDS = ("finished", "failed", "cancelled", "timed_out")


class Job(Generic[T]):
    """What `submit` gives: await it for the result. It raises what the function raised, JobCancelled, or Expired.

    Whoever is cancelled while awaiting a job cancels the job, unless somebody else awaits it too, and leaves when the job has given back
    its lease. `wait` only waits.
    """

    __slots__ = ("_arguments", "_asked", "_awaiting", "_bells", "_error", "_forget", "_function", "_lease", "_pause", "_result", "_retry", "_row", "_scheduler", "_shape", "_since",
                 "_state", "_timer", "_worker", "id", "tries")  # fmt: skip

    def __init__(
        self, scheduler: Core, id: str, row: GroupRow, shape: Shape, function: Callable[..., Awaitable[T]], arguments: tuple[object, ...], retry: Retry | None, forget: bool
    ) -> None:
        self.id, self.tries = id, 0
        self._scheduler, self._row, self._shape, self._function, self._arguments = scheduler, row, shape, function, arguments
        self._retry, self._forget = retry, forget
        self._state: JobState = "waiting"
        self._since = 0                                   # when it began to wait, to run, or to back off
        self._lease = 0
        self._worker: Worker | None = None
        self._asked: Literal["cancelled", "timed_out"] | None = None     # to end so, while it runs
        self._timer: Timer | None = None                  # its deadline
        self._pause: Timer | None = None                  # the end of its back-off
        self._awaiting = 0
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
        self._scheduler._lost.pop(self, None)
        raise self._error

    def exception(self) -> BaseException | None:
        """Of a job that is over (RuntimeError): what `result` would raise, or None."""
        if not self.over:
            raise RuntimeError(f"job {self.id} is not over, but {self._state}")
        self._scheduler._lost.pop(self, None)
        return self._error

    async def wait(self) -> None:
        """Until it is over, however it ends; its error still wants to be seen."""
        if not self.over:
            await self._bell().wait()

    def __await__(self) -> Generator[Any, Any, T]:
        if self._state not in ENDS:
            yield from self._ended().__await__()
        return self.result()

    async def _ended(self) -> None:
        self._awaiting += 1
        try:
            await self._bell().wait()
        except BaseException:
            if self._awaiting == 1 and not self.over:
                self.cancel()
                if not self.over:
                    with anyio.CancelScope(shield=True):
                        await self._bell().wait()
            raise
        finally:
            self._awaiting -= 1

    def _bell(self) -> Bell:
        bell = self._scheduler._new_bell()
        if self._bells is None:
            self._bells = [bell]
        else:
            self._bells.append(bell)
        return bell

    def __repr__(self) -> str:
        return f"<job {self.id} of {self.group}: {self._state}>"
