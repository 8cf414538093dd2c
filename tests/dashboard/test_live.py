"""What a live scheduler tells, what is read out of its record and its metrics, and what the lints say of it: one and the same."""
from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

import anyio
import anyio.abc
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.lints import Watch
from slotwise.dashboard.observe.sources import trace_admission as traces
from slotwise.dashboard.observe.sources.fold import Fold
from slotwise.impl import snapshot as s
from slotwise.impl.scheduler import Group, Job, Scheduler
from slotwise.impl.tape import Tape
from slotwise.spec import trace

from .samples import SECOND

SHARED = (Group("a", weight=2.0, share_limit=8), Group("b", share_limit=8), Group("c", weight=0.5, share_limit=8))


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    """In virtual time."""
    async def in_time() -> None:
        with anyio.fail_after(100):
            await main()

    return trio.run(in_time, clock=trio.testing.MockClock(autojump_threshold=0))


# a record of a run adds up to what the run itself has counted ------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 1 << 32), st.sampled_from(["slotwise", "strict", "data-designer-0.9"]))
def test_the_meter_and_the_fold_of_its_record_agree(seed: int, profile: str) -> None:
    """Field by field, wherever both know it: what a record does not tell is how a task ended, and what pauses."""
    dice, capacity, record = Random(seed), {"x": 3, "y": 2}, io.BytesIO()
    limits = {"running_limit": 2} if profile == "slotwise" else {"share_limit": 3}
    groups = [Group("a", weight=2.0, **limits), Group("b"), Group("c", weight=0.5, **limits)]
    needs: list[dict[str, int]] = [{"x": 1}, {"x": 2}, {"y": 1}, {"x": 1, "y": 1}, {"y": 2, "x": 3}, {"x": 3}]
    told: list[s.Snapshot] = []

    async def main() -> None:
        async with Scheduler(capacity, groups, profile=profile, record=record) as it:
            jobs: list[Job[None]] = []

            async def look() -> None:                    # never when something happens
                await anyio.sleep(0.001)
                while True:
                    await anyio.sleep(0.004)
                    told.append(it.snapshot())

            async with anyio.create_task_group() as looking:
                looking.start_soon(look)
                for _ in range(dice.randrange(1, 40)):
                    jobs.append(it.submit(anyio.sleep, 0.01 * dice.randrange(1, 6), group=dice.choice("abc"), needs=dice.choice(needs)))
                    if dice.random() < 0.5:
                        await anyio.sleep(0.01 * dice.randrange(4))
                    if dice.random() < 0.15:
                        dice.choice(jobs).cancel()
                with anyio.move_on_after(2):
                    for job in jobs:
                        await job.wait()
                for job in jobs:
                    job.cancel()                         # what asks for more than its share may wait for ever
                looking.cancel_scope.cancel()

    run(main)
    read = trace.decode(record.getvalue())
    steps = list(read.steps)
    fold = Fold("same", capacity, steps[0].command.at)
    for one in told:
        at = one.now - one.started
        while steps and steps[0].command.at <= at:
            traces.play(fold, steps.pop(0))
        other = fold.snapshot(at)
        assert other.leases == one.leases
        for r, same in zip(one.resources, other.resources, strict=True):
            assert known(r, one.started) == known(same, 0)
            assert list(r.lent_to.items()) == list(same.lent_to.items()), "the greatest first, and of equals by name"
            assert sum(r.lent_to.values()) == r.lent
        for g in one.groups:
            same_group = next((row for row in other.groups if row.name == g.name), None)
            assert same_group is not None or not g.submitted
            if same_group is not None:
                assert known(g, one.started) == known(same_group, 0)
                assert g.finished + g.cancelled == same_group.finished + same_group.cancelled


UNTOLD = ("finished", "failed", "cancelled", "timed_out", "retried", "backing_off", "overdue", "overdue_since", "debt")


def known(row: s.Resource | s.Group, began: int) -> dict[str, Any]:
    """What both know, with instants since the start."""
    found = {name: getattr(row, name) for name in row.__struct_fields__ if name not in UNTOLD}
    return {name: value - began if name in ("oldest", "idle_since") and value is not None else value for name, value in found.items()}


# metrics read back -------------------------------------------------------------------------------------------------------------------


def test_what_prometheus_is_told_is_read_back() -> None:
    """All that is not a percentile, as it was."""
    prometheus = pytest.importorskip("slotwise.impl.prometheus")
    client = pytest.importorskip("prometheus_client")
    from slotwise.dashboard.observe.sources.prometheus import Endpoint, snapshot

    hold = s.Histogram({100: 3, 120: 1}, 5 * SECOND)
    before = s.Snapshot(
        s.VERSION, "page", 0, 0, 100 * SECOND, 3, 40, 2, 5,
        resources=(s.Resource("llm", 8, 5, 1, 4, 2, 3 * SECOND, SECOND, 90 * SECOND, hold, 96 * SECOND), s.Resource("gpu", 8, 0, 0, 0, 0, 0, 0, 0, s.Histogram())),
        groups=(s.Group('g "1"\n', 2.0, None, 5, 4, 1, 90 * SECOND, 80 * SECOND, hold, {"capacity llm": 7 * SECOND, "lent gpu": SECOND, "limit": 2 * SECOND}, 20, 15, 6, 1, 2, 3, 1,
                        overdue=2, overdue_since=97 * SECOND, debt={"llm": 3, "gpu": 1}), s.Group("h", 1.0, None, 0, 0, 0, None, 0, s.Histogram(), {}, 0, 0, 0, 0, 0, 0, 0)),
        batchers=(s.Batcher("b", 4, 9, 3, 1, {"full": 3, "timer": 1}, 2, SECOND, 2 * SECOND, hold, 2, 1), s.Batcher("c", 1, 1, 0, 0, {"stop": 1}, 0, 0, 0, s.Histogram(), 0, 0)),
        workers=(s.Worker("w", "run", SECOND, 2 * SECOND, SECOND, 3 * SECOND, 5, 6, SECOND, 0, hold),), checks=(s.Check("conformance", False, 40, 100 * SECOND),),
    )  # fmt: skip
    registry = client.CollectorRegistry()
    prometheus.Collector(lambda: before).register(registry)
    after = snapshot(Endpoint("page").read(client.generate_latest(registry)), "page", 0, before.now, 3)
    for old, new in ((before, after), *zip((*before.resources, *before.groups, *before.batchers, *before.workers), (*after.resources, *after.groups, *after.batchers, *after.workers), strict=True)):
        for name in old.__struct_fields__:
            told, read = getattr(old, name), getattr(new, name)
            if isinstance(told, s.Histogram):
                assert (sum(told.counts.values()), told.total) == (sum(read.counts.values()), read.total)
            elif name not in ("resources", "groups", "batchers", "workers", "needs", "blocked_by"):
                assert read == told, name


# lints on a live scheduler -----------------------------------------------------------------------------------------------------------


class Looking:
    """The lints, on a frame every 50 ms."""

    def __init__(self, it: Scheduler) -> None:
        self.it, self.watch, self.before = it, Watch(), it.snapshot()
        self.said: list[tuple[float, str, str]] = []

    async def run(self) -> None:
        while True:
            after = self.it.snapshot()
            for alarm in self.watch.look(derive(self.before, after)):
                self.said.append((anyio.current_time(), alarm.code, alarm.sentence))
            await anyio.sleep(0.05)

    def of(self, code: str) -> list[str]:
        return [sentence for _, found, sentence in self.said if found == code]


async def shielded(seconds: float) -> None:
    with anyio.CancelScope(shield=True):
        await anyio.sleep(seconds)


async def closing(seconds: float) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(seconds)


@pytest.mark.parametrize("how", ["deadline", "cancel", "shutdown"])
def test_whoever_does_not_let_itself_be_cancelled_is_found(how: str) -> None:
    async def main() -> None:
        tape = Tape()
        async with Scheduler({"llm": 4}, [Group("stubborn")], lost="ignore", tape=tape) as it:
            looking = Looking(it)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(looking.run)
                jobs = [it.submit(shielded, 2.0 + i, group="stubborn", deadline=0.1 if how == "deadline" else None) for i in range(2)]
                await anyio.sleep(0.1)
                if how == "cancel":
                    for job in jobs:
                        job.cancel()
                        job.cancel()                     # told once
                if how == "shutdown":
                    tasks.start_soon(it.shutdown)
                await anyio.sleep(0.25)
                (group,) = it.snapshot().groups
                assert (group.running, group.overdue, group.overdue_since) == (2, 2, it.snapshot().started + 100_000_000)
                await anyio.sleep(2.0)                   # the first has ended
                (group,) = it.snapshot().groups
                assert (group.overdue, it.snapshot().resources[0].busy) == (1, 1)
                await anyio.sleep(1.0)
                (group,) = it.snapshot().groups
                assert (group.overdue, group.overdue_since) == (0, None)
                tasks.cancel_scope.cancel()
        assert [(event.kind, event.at, event.job) for event in tape.take() if event.kind == "told"] == [("told", 100_000_000, job.id) for job in jobs]
        said = [(at, sentence) for at, code, sentence in looking.said if code == "LEASE01"]
        assert 0.3 <= said[0][0] <= 0.36
        assert said[0][1].startswith("LEASE01 stubborn: 2 tasks were told to end (a deadline, or a cancellation) and still hold their units, the first for ")
        assert said[-1][1].startswith("LEASE01 stubborn: 1 task was told to end (a deadline, or a cancellation) and still holds its units, the first for ")
        assert 2.9 <= said[-1][0] <= 3.0

    run(main)


def test_a_normal_cancellation_is_no_news() -> None:
    """Also one that closes something, which takes a while, again and again."""
    async def main() -> None:
        async with Scheduler({"llm": 8}, lost="ignore") as it:
            looking, most = Looking(it), 0
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(looking.run)
                for i in range(40):
                    it.submit(closing, 0.15, deadline=0.02)
                    it.submit(anyio.sleep_forever, deadline=0.03)
                    it.submit(shielded, 0.01, deadline=5.0)
                    await anyio.sleep(0.03 + i % 3 / 100)
                    most = max(most, it.snapshot().groups[0].overdue)
                await it.drain()
                tasks.cancel_scope.cancel()
        assert most > 1
        assert looking.of("LEASE01") == []
        assert it.snapshot().groups[0].overdue == 0

    run(main)


@pytest.mark.parametrize("check", [False, True])
def test_debts_are_the_engines(check: bool) -> None:
    """Alone a group borrows; what it does not give back while another waits is found."""
    async def main() -> None:
        async with Scheduler({"llm": 8, "db": 4}, SHARED, profile="data-designer-0.9", check=check) as it:
            looking = Looking(it)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(looking.run)
                slow = [it.submit(anyio.sleep, 30.0, group="a", needs="llm") for _ in range(8)]
                await anyio.sleep(5.0)
                assert {g.name: g.debt for g in it.snapshot().groups} == {"a": {"llm": 4}, "b": {}, "c": {}}
                assert it.engine_state()["debt"] == {"a": {"llm": 4}}
                assert looking.of("DEBT01") == []        # nobody waits
                it.submit(anyio.sleep, 1.0, group="b", needs="llm")
                await anyio.sleep(20.2)
                said = [(at, sentence) for at, code, sentence in looking.said if code == "DEBT01"]
                assert 25 <= said[0][0] <= 25.2
                assert said[0][1].startswith("DEBT01 a: owes 4 of 8 units of llm while b waits for it (1 waiting); ")
                for job in slow:
                    await job
                assert {g.name: g.debt for g in it.snapshot().groups} == {"a": {}, "b": {}, "c": {}}
                said_by_now = len(looking.of("DEBT01"))
                await it.drain()
                tasks.cancel_scope.cancel()
            assert len(looking.of("DEBT01")) == said_by_now

    run(main)


def test_a_profile_without_debts_has_none() -> None:
    async def main() -> None:
        async with Scheduler({"llm": 2}, SHARED) as it:
            job = it.submit(anyio.sleep, 1.0, group="a")
            await anyio.sleep(0.5)
            assert [g.debt for g in it.snapshot().groups] == [{}, {}, {}]
            await job

    run(main)
