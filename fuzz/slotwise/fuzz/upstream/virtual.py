"""What published code is given instead of time and threads: exact seconds, and threads that run only while somebody waits for them."""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty
from threading import Lock, Thread
from typing import Any

from slotwise.spec.batching_vocabulary import SECOND


def nanoseconds(seconds: Any) -> int:
    return seconds.count if isinstance(seconds, Seconds) else round(seconds * SECOND)


class Seconds:
    """A time that adds and compares exactly, also with numbers; it can do nothing else. A double's sums would differ by what no clock shows."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count                # of nanoseconds

    def __add__(self, other: Any) -> Seconds:
        return Seconds(self.count + nanoseconds(other))

    def __sub__(self, other: Any) -> Seconds:
        return Seconds(self.count - nanoseconds(other))

    def __eq__(self, other: object) -> bool:
        return self.count == nanoseconds(other)

    def __hash__(self) -> int:
        return hash(self.count)

    def __lt__(self, other: Any) -> bool:
        return self.count < nanoseconds(other)

    def __le__(self, other: Any) -> bool:
        return self.count <= nanoseconds(other)

    def __gt__(self, other: Any) -> bool:
        return self.count > nanoseconds(other)

    def __ge__(self, other: Any) -> bool:
        return self.count >= nanoseconds(other)

    def timestamp(self) -> Seconds:
        """It may stand for a date, too."""
        return self


@contextmanager
def instead(*places: tuple[Any, Mapping[str, Any]]) -> Iterator[None]:
    """For a while these modules have other things by these names."""
    before = [(module, name, getattr(module, name)) for module, names in places for name in names]
    for module, names in places:
        vars(module).update(names)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


class _Leave(BaseException):
    """Nobody waits any more."""


class Queue:
    """What the package uses of a queue. `block` waits until something is true, or for so long, and says whether it is."""

    def __init__(self, block: Callable[[Callable[[], bool], Any], bool]) -> None:
        self._block = block
        self.items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self.items.append(item)

    def get(self, timeout: Any = None) -> Any:
        self._block(lambda: bool(self.items), timeout)
        return self.get_nowait()

    def get_nowait(self) -> Any:
        if not self.items:
            raise Empty
        return self.items.popleft()

    def empty(self) -> bool:
        return not self.items

    def task_done(self) -> None:
        pass


class Aside:
    """Code that would block, on a thread of its own: a coroutine of code that knows nothing of such. `go_on` and `pause` hand over to each other; there is never more than one of the two sides that runs."""

    def __init__(self, code: Callable[[], object]) -> None:
        self._code = code
        self._here, self._there = Lock(), Lock()
        self._here.acquire()
        self._there.acquire()
        self._thread: Thread | None = None
        self._said: Any = None
        self._answer: Any = None
        self._error: BaseException | None = None
        self._leaving = self.ended = False

    def go_on(self, answer: Any = None) -> Any:
        """Until it pauses: what it says then; or ends: None. `answer` is what its pause gives it. Raises what it ends with."""
        if self.ended:
            return None
        self._answer = answer
        if self._thread is None:
            self._thread = Thread(target=self._run, daemon=True)
            self._thread.start()
        else:
            self._there.release()
        self._here.acquire()
        error, self._error = self._error, None
        if error is not None:
            raise error
        said, self._said = self._said, None
        return said

    def pause(self, said: Any = None) -> Any:
        """Called by the code itself."""
        self._said = said
        self._here.release()
        self._there.acquire()
        if self._leaving:
            raise _Leave
        return self._answer

    def close(self) -> None:
        """Its thread ends, however often it wants to pause."""
        self._leaving = True
        while self._thread is not None and not self.ended:
            self.go_on()

    def _run(self) -> None:
        try:
            self._code()
        except _Leave:
            pass
        except BaseException as error:
            self._error = error
        self.ended = True
        self._here.release()
