"""Checkpoints from jobs, and what a batcher's row says of them."""
from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import anyio
import pytest

from slotwise.impl.checkpoint import UNCOUNTED, Answer, CheckpointBatcher, CheckpointError, Page, Update
from slotwise.impl.checkpoint_meter import Watch
from slotwise.impl.checkpoints import Checkpoints
from slotwise.impl.scheduler import Scheduler

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])


class Service:
    """Durable after `delay` seconds; its `fails`-th request fails."""

    def __init__(self, delay: float = 0.005, fails: int = 0) -> None:
        self.delay, self.fails = delay, fails
        self.durable: list[str] = []
        self.calls = 0
        self.gate = threading.Event()
        self.gate.set()

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
        self.calls += 1
        self.gate.wait(10)
        time.sleep(self.delay)
        if self.calls == self.fails:
            raise ConnectionError("lost")
        self.durable += [update.id for update in updates]
        return Answer(f"t{self.calls}", time.time_ns())

    def fetch(self, marker: str, token: str) -> Page:
        raise AssertionError("no pages here")


@both
def test_jobs_wait_until_their_checkpoints_are_durable(backend: str) -> None:
    service = Service()

    async def main() -> None:
        async with Checkpoints(service) as checkpoints, Scheduler({"llm": 20}, check=True) as it:
            it.attach(checkpoints)

            async def job(i: int) -> None:
                await checkpoints.submit(f"op{i}", b"body")
                assert f"op{i}" in service.durable

            for i in range(60):
                it.submit(job, i)
            await it.drain()
            checkpoints.submit_soon("last", b"one")
            (row,) = it.snapshot().batchers
        assert service.durable[-1] == "last"
        assert row.requests <= service.calls < 40
        (row,) = checkpoints.rows()
        assert (row.requests, row.updates, row.waiting, row.failures, sum(row.seals.values())) == (service.calls, 61, 0, 0, service.calls)
        assert sum(batch.updates for batch in row.batches) == 61
        assert all(batch.opened <= batch.last <= batch.sealed <= (batch.done or 0) for batch in row.batches)
        assert row.commit.total >= service.calls * 5_000_000
        assert sum(row.commit.counts.values()) == service.calls

    anyio.run(main, backend=backend)


@both
def test_a_lost_checkpoint_is_the_jobs_error(backend: str) -> None:
    service = Service(fails=1)

    async def main() -> None:
        async with Checkpoints(service) as checkpoints:
            async with Scheduler({"llm": 4}) as it:
                job = it.submit(checkpoints.submit, "op", b"body")
                with pytest.raises(CheckpointError):
                    await job
            (row,) = checkpoints.rows()
            assert (row.failures, row.waiting, row.batches[0].outcome) == (1, 0, "failed")

    with pytest.raises(CheckpointError):     # the batcher's end says so too
        anyio.run(main, backend=backend)


@both
def test_a_cancelled_job_leaves_when_its_checkpoint_is_durable(backend: str) -> None:
    service = Service(delay=0.03)

    async def main() -> None:
        async with Checkpoints(service) as checkpoints, Scheduler({"llm": 4}, check=True) as it:
            job = it.submit(checkpoints.submit, "op", b"body", deadline=0.005)
            await job                        # too late to be cancelled: it ends well
            assert service.durable == ["op"]

    anyio.run(main, backend=backend)


def test_needless_waits_and_waves_are_measured() -> None:
    millisecond = 1_000_000
    clock = [0]
    service = Service()
    batcher = CheckpointBatcher(service, UNCOUNTED, hint=0, clock=lambda: clock[0])
    batcher.close()                          # its thread; the engine is driven by hand
    batcher._engine = type(batcher._engine)(UNCOUNTED, token="t0")      # type: ignore[call-arg]
    watch = Watch(batcher, offset=1000)
    assert watch.submit("a", 10, True, False, None, False, False, at=0)[0][0] == "accepted"
    at = 0
    while (word := watch.pump(at=at)[-1])[0] == "sleep":
        at = word[1]
    assert word[0] == "send"
    assert watch.refresh("r", None, at + millisecond, "owner", 0, at=at)[0][0] == "accepted"
    assert watch.submit("b", 10, True, False, None, False, False, at=at + 2)[0][0] == "accepted"
    watch.respond("t1", at + 40 * millisecond, (), None, at=at + 30 * millisecond)
    (row,) = watch.rows()
    assert (row.requests, row.updates, row.waiting, row.open_time, row.needless) == (1, 1, 1, at, at)
    assert (row.batches[0].opened, row.batches[0].sealed, row.batches[0].done) == (1000, at + 1000, at + 1000 + 30 * millisecond)
    later = at + 30 * millisecond
    while (word := watch.pump(at=later)[-1])[0] == "sleep":
        later = word[1]
    assert (word[1], word[2]) == (["b"], ["r"]) or word[1] == ["b"]
    (row,) = watch.rows()
    assert (row.open_time, row.needless) == (at + later - (at + 2), at + later - (at + 30 * millisecond))      # in flight it was not needless
    watch.respond("t2", later, ("r",), None, at=later + 30 * millisecond)
    (row,) = watch.rows()
    (wave,) = row.waves
    assert (wave.refreshes, wave.due, wave.at, wave.late) == (1, 1000 + at + millisecond, 1000 + later + 30 * millisecond, 1)
    assert wave.latest == later + 29 * millisecond - at
    assert (row.refreshes, row.late, row.waiting) == (1, 1, 0)
    later += 30 * millisecond
    watch.submit("c", 10, True, False, None, False, False, at=later)
    while (word := watch.pump(at=later)[-1])[0] == "sleep":
        later = word[1]
    watch.submit("d", 10, True, False, None, False, False, at=later)
    watch.fail(at=later + 1)
    (row,) = watch.rows()
    assert (row.failures, row.waiting, row.batches[-1].outcome) == (1, 0, "failed")
