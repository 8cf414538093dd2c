"""Programs in virtual time, on trio and on asyncio: the clock jumps when nobody can go on, so no machine is too slow for them."""
from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import pytest
import trio
import trio.testing

from slotwise.impl import scheduler

T = TypeVar("T")
Main = Callable[[], Coroutine[Any, Any, T]]
LONG = 100_000                               # virtual seconds: what takes longer hangs


class Jumping(selectors.DefaultSelector):
    """Waits for nothing: `now` is then. (Without a limit it waits: for a thread.)"""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(None if timeout is None else 0)
        if not found and timeout is not None:
            self.now += max(timeout, 0)
        return found


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.jumping = Jumping()
        super().__init__(self.jumping)

    def time(self) -> float:
        return self.jumping.now


def now() -> int:
    """Nanoseconds, of the loop that runs."""
    return round(asyncio.get_running_loop().time() * 1e9)


def run(backend: str, main: Main[T]) -> T:
    async def in_time() -> T:
        with anyio.fail_after(LONG):
            return await main()

    if backend == "trio":
        return trio.run(in_time, clock=trio.testing.MockClock(autojump_threshold=0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scheduler, "clock_here", lambda: now)
        return anyio.run(in_time, backend=backend, backend_options={"loop_factory": Loop})
