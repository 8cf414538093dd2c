"""The few things that anyio leaves to its back-ends, or does slower than they: the clock, one task that waits for another, a call from a thread."""
from __future__ import annotations

import sys
import time
from asyncio import AbstractEventLoop, Future, get_running_loop
from collections.abc import Callable
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
    """One task waits for it, once and from now on; it may be rung more than once. Whoever waits can be cancelled."""

    async def wait(self) -> None: ...
    def ring(self) -> None: ...


class AsyncioBell:
    __slots__ = ("_future",)

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._future: Future[None] = loop.create_future()

    async def wait(self) -> None:
        await self._future

    def ring(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


def bells_here() -> Callable[[], Bell]:
    """How a bell of the running loop is made."""
    if sniffio.current_async_library() != "trio":
        loop = get_running_loop()
        return lambda: AsyncioBell(loop)
    import trio

    current, parked, go_on = trio.lowlevel.current_task, trio.lowlevel.wait_task_rescheduled, trio.lowlevel.reschedule

    class TrioBell:
        __slots__ = ("_task",)

        def __init__(self) -> None:
            self._task: Any = None

        def _abort(self, _: Any) -> trio.lowlevel.Abort:
            self._task = None
            return trio.lowlevel.Abort.SUCCEEDED

        async def wait(self) -> None:
            self._task = current()
            await parked(self._abort)

        def ring(self) -> None:
            if self._task is not None:
                go_on(self._task)
                self._task = None

    return TrioBell


def soon_from_threads() -> Callable[[Callable[[], Any]], None]:
    """Call a function soon in the running loop, from any thread. Raises RuntimeError once the loop has ended."""
    if sniffio.current_async_library() == "trio":
        import trio

        return trio.lowlevel.current_trio_token().run_sync_soon
    return get_running_loop().call_soon_threadsafe    # type: ignore[return-value]
