"""What tests of the live scheduler have in common."""
from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
import pytest
import trio
import trio.testing

from slotwise.impl.scheduler import Group, Scheduler

T = TypeVar("T")
Main = Callable[[], Coroutine[Any, Any, T]]


def run(backend: str, main: Main[T]) -> T:
    """On trio, time is virtual; on asyncio it is not, so that threads have theirs (see virtual.py)."""

    async def in_time() -> T:
        with anyio.fail_after(100_000 if backend == "trio" else 120):
            return await main()

    return trio.run(in_time, clock=trio.testing.MockClock(autojump_threshold=0)) if backend == "trio" else anyio.run(in_time, backend=backend)


both = pytest.mark.parametrize("backend", ["trio", "asyncio"])


async def give(value: T) -> T:
    return value


async def nap(seconds: float, value: T) -> T:
    await anyio.sleep(seconds)
    return value


async def fail(error: Exception) -> None:
    raise error


def scheduler(capacity: dict[str, int] | None = None, *groups: Group, **options: Any) -> Scheduler:
    return Scheduler(capacity or {"llm": 2}, groups, **{"check": True, **options})


def assert_drained(it: Scheduler) -> None:
    state = it.engine_state()
    assert (state["leases"], state["waiting"]) == ({}, {})
    seen = it.snapshot()
    assert (seen.leases, seen.state) == (0, seen.state if seen.state.startswith("crashed") else "ended")
    assert all((r.busy, r.waiting, r.eligible, r.lent) == (0, 0, 0, 0) for r in seen.resources)
    assert all((g.running, g.waiting, g.backing_off, g.oldest, g.needs) == (0, 0, 0, None, {}) for g in seen.groups)
    assert all(g.submitted == g.finished + g.failed + g.cancelled + g.timed_out for g in seen.groups)
    assert not (it._waiting)
    assert not (it._pausing)
    assert not (it._ready)
    assert not (it._workers)
    assert not (it._idle)
    assert not (it._coming)
    assert not (it._alive)
    assert not (len(it._timers))
