"""The few things that anyio leaves to its back-ends, or does slower than they: the clock, one task that waits for another, a call from a thread."""
from __future__ import annotations

import sys
import time
from asyncio import Future, current_task, get_running_loop
from collections.abc import Callable, Generator
from typing import Any, Protocol

import sniffio


def clock_here() -> Callable[[], int]:
    """Nanoseconds of the running loop's clock: time.monotonic_ns, unless a trio program runs under a MockClock."""
    testing = sys.modules.get("trio.testing")
    if sniffio.current_async_library() == "trio" and testing is not None:
        import trio

        clock = trio.lowlevel.current_clock()
        if isinstance(clock, testing.MockClock):
            current = clock.current_time
            return lambda: round(current() * 1e9)
    return time.monotonic_ns


class Bell(Protocol):
    """One task awaits it, once and from now on. Whoever waits can be cancelled."""

    def __await__(self) -> Generator[Any, Any, Any]: ...


def bells_here() -> tuple[Callable[[], Bell], Callable[[Any], None]]:
    """How a bell of the running loop is made, and how it is rung: that may be done more than once. (There are no layers between those two and the loop's own.)"""
    if sniffio.current_async_library() != "trio":
        return get_running_loop().create_future, _fulfil
    import trio

    current, parked, go_on = trio.lowlevel.current_task, trio.lowlevel.wait_task_rescheduled, trio.lowlevel.reschedule

    class TrioBell:
        __slots__ = ("task",)

        def __init__(self) -> None:
            self.task: Any = None

        def _abort(self, _: Any) -> trio.lowlevel.Abort:
            self.task = None
            return trio.lowlevel.Abort.SUCCEEDED

        def __await__(self) -> Generator[Any, Any, Any]:
            self.task = current()
            return parked(self._abort).__await__()

    def ring(bell: TrioBell) -> None:
        task = bell.task
        if task is not None:
            bell.task = None
            go_on(task)

    return TrioBell, ring


def _fulfil(bell: Future[None]) -> None:
    if not bell.done():
        bell.set_result(None)


def task_here() -> Callable[[], Any]:
    """Which task of the running loop runs at the moment. (That whose id anyio tells.)"""
    if sniffio.current_async_library() != "trio":
        return current_task
    import trio

    return trio.lowlevel.current_task


def soon_from_threads() -> Callable[[Callable[[], Any]], None]:
    """Call a function soon in the running loop, from any thread. Raises RuntimeError once the loop has ended."""
    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon
    return get_running_loop().call_soon_threadsafe    # type: ignore[return-value]
