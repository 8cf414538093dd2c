"""Checkpoints from jobs, and what a batcher's row says of them."""
from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.impl._native import Batcher
from slotwise.impl.checkpoint import UNCOUNTED, Answer, CheckpointBatcher, CheckpointError, Page, Update
from slotwise.impl.checkpoint_counts import Counts
from slotwise.impl.checkpoint_meter import Watch
from slotwise.impl.checkpoints import Checkpoints
from slotwise.impl.scheduler import Scheduler
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector, rules

from .checkpoint_fake import LONG, wait_for

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])


class Service:
    """Durable after `delay` seconds, once `when` holds; its `fails`-th request fails."""

    def __init__(self, delay: float = 0.005, fails: int = 0, when: Callable[[], object] = lambda: True) -> None:
        self.delay, self.fails, self.when = delay, fails, when
        self.durable: list[str] = []
        self.calls = 0
        self.gate = threading.Event()
        self.gate.set()

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
        self.calls += 1
        assert self.gate.wait(LONG)
        wait_for(self.when)
        time.sleep(self.delay)
        if self.calls == self.fails:
            raise ConnectionError("lost")
        self.durable += [update.id for update in updates]
        return Answer(f"t{self.calls}", time.time_ns())

    def fetch(self, marker: str, token: str) -> Page:
        raise AssertionError("no pages here")


@both
def test_jobs_wait_until_their_checkpoints_are_durable(backend: str) -> None:
    def all_that_may_run_wait() -> bool:
        """Else a job might wait, and be told, before the next one has its thread."""
        return len(checkpoints._batcher._kept._blocked) == min(20, 60 - len(service.durable))

    service = Service(when=all_that_may_run_wait)
    checkpoints = Checkpoints(service)

    async def main() -> None:
        async with checkpoints, Scheduler({"llm": 20}, check=True) as it:
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
    service = Service()
    service.gate.clear()

    async def main() -> None:
        async with Checkpoints(service) as checkpoints, Scheduler({"llm": 4}, check=True) as it:
            job = it.submit(checkpoints.submit, "op", b"body")
            with anyio.fail_after(LONG):
                while not service.calls:
                    await anyio.sleep(0.001)
            job.cancel()
            await anyio.sleep(0.01)
            assert (job.state, service.durable) == ("running", [])
            service.gate.set()
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
    assert row.batches[0].most == UNCOUNTED.discipline.updates
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


def test_all_but_one_of_those_whom_one_request_serves_have_shared_it() -> None:
    watch = watched(UNCOUNTED)

    def wave(updates: int, refreshes: int, at: int) -> None:
        for i in range(updates):
            watch.submit(f"u{at}-{i}", 10, True, at=at)
        for i in range(refreshes):
            watch.refresh(f"r{at}-{i}", None, at, f"owner {i}", 0, at=at)
        now = at
        while (word := watch.pump(at=now)[-1])[0] == "sleep":
            now = word[1]
        assert (len(word[1]), len(word[2])) == (updates, refreshes)
        watch.respond(f"t{at}", now, tuple(f"r{at}-{i}" for i in range(refreshes)), None, at=now)

    wave(0, 3, 10**9)
    wave(1, 2, 10**10)
    wave(0, 1, 10**11)
    (row,) = watch.rows()
    assert [(one.refreshes, one.joined) for one in row.waves] == [(3, 2), (2, 2), (1, 0)]
    assert (row.refreshes, row.joined) == (6, 4)


@pytest.mark.parametrize(("due", "late"), [(9, 1), (10, 0), (11, 0)])
def test_late_is_more_than_a_round_trip_after_it_was_due(due: int, late: int) -> None:
    counts = Counts(UNCOUNTED.discipline, 5)
    counts.refreshed("r", None, due, [["accepted", "r"]], 3)
    counts.pumped([["send", [], ["r"], "t0"]], 10)
    counts.answered([["resumed", "owner", None, ["r"]]], 40, "ok")
    assert [(wave.late, wave.latest) for wave in counts.row("x").waves] == [(late, 40 - due)]


class Waiting(Service):
    """A request for the state says that `op` is done, once its gate is open."""

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
        answer = super().checkpoint(token, updates)
        return Answer(answer.token, answer.stamp, ["op"] if not updates else [])


@both
def test_a_job_waits_for_a_state(backend: str) -> None:
    service = Waiting()

    async def main() -> None:
        async with Checkpoints(service) as checkpoints:
            with anyio.fail_after(LONG):
                await checkpoints.refresh("op", due=0)
            service.fails = service.calls + 1
            with pytest.raises(CheckpointError), anyio.fail_after(LONG):
                await checkpoints.refresh("other", due=0)
            assert checkpoints._limiter.borrowed_tokens == 0

    with pytest.raises(CheckpointError):             # the batcher has failed, and says so at its end
        anyio.run(main, backend=backend)


@both
def test_whoever_is_cancelled_asks_no_more(backend: str) -> None:
    async def main() -> None:
        async with Checkpoints(Service()) as checkpoints:
            with anyio.move_on_after(0.05) as scope:
                await checkpoints.refresh("op", due=time.monotonic_ns() + 10**12)
            assert scope.cancelled_caught
            assert len(checkpoints._batcher._kept) == 0
            with anyio.fail_after(LONG):
                while checkpoints._limiter.borrowed_tokens:      # the thread goes
                    await anyio.sleep(0.01)

    anyio.run(main, backend=backend)


# why a request was sealed ------------------------------------------------------------------------------------------------------------

WAITS = {"BAT-14", "BAT-15", "BAT-16", "BAT-17", "BAT-18"}       # rules that put a request off


def watched(profile: v.Profile) -> Watch:
    """A batcher's engine, driven by hand."""
    batcher: Any = SimpleNamespace(_engine=Batcher(profile, token="t0", hint=0), _lock=threading.Lock(), _begun=0, profile=profile)
    return Watch(batcher, offset=0)


def episode(seed: int, profile: v.Profile) -> list[tuple[str, str]]:
    """A random one: of each request the reason that was inferred, and the one that the specification's rules give."""
    dice, watch = Random(seed), watched(profile)
    model, found, at, until, waits = collector.collector(profile, v.Setup("t0", 0)), list[tuple[str, str]](), 0, 0, False

    def both(command: v.Command) -> list[Any]:
        """One command, to the specification and to what is watched."""
        expected = collector.step(model, command)
        what = type(command).__name__.lower()
        arguments = [getattr(command, name) for name in command.__struct_fields__ if name != "at"]
        assert [list(word) for word in getattr(watch, what)(*arguments, at=command.at)] == [list(word) for word in expected]
        return expected

    for number in range(dice.randrange(80)):
        at += dice.choice([0, 0, 1, 10, 100, 1000])
        match dice.randrange(12):
            case 0 | 1 | 2 | 3:
                both(v.Submit(id=f"u{number}", size=dice.choice([0, 10, 40, 200]), sync=dice.random() < 0.6, empty=dice.random() < 0.1, at=at))
            case 4:
                both(v.Refresh(id=f"r{number}", due=at + dice.choice([0, 50, 900]), owner="o", at=at))
            case 5:
                both(v.Credit(running=dice.choice([1, 2, -1]), outside=dice.choice([0, 1, -1]), at=at))
            case 6 if dice.random() < 0.2:
                both(v.Stop(at=at))
            case 7 | 8 if model.flight:
                both(v.Fail(at=at) if dice.random() < 0.05 else v.Respond(token=f"t{number}", stamp=at, at=at))
            case 9 if not model.flight and until > at and dice.random() < 0.8:       # the driver comes back when it was told to
                at = until
            case _:
                pass
        if dice.random() < 0.8:
            sealed = dict(watch.counts.seals)
            word = both(v.Pump(at=at))[-1]
            decided = set(rules.decided)
            if word[0] == "send":
                (inferred,) = (Counter(watch.counts.seals) - Counter(sealed)).elements()
                why = "stop" if "BAT-13" in decided else "full" if "BAT-10" in decided else "refresh" if not word[1] else "timer" if waits and until <= at else "at once"
                found.append((inferred, why))
            waits = word[0] == "sleep" and word[1] is not None and bool(decided & WAITS)
            until = word[1] if waits else 0
    return found


SMALL = {"bytes": 100, "updates": 3, "collection": 2000, "quiet": 300, "may_come": 20, "round_trip": 400}


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 1 << 32), st.booleans())
def test_the_reason_that_is_inferred_is_that_of_the_rules(seed: int, counted: bool) -> None:
    profile = msgspec.structs.replace(UNCOUNTED, discipline=v.LookAhead(**SMALL, counted=counted))
    for inferred, why in episode(seed, profile):
        assert inferred == why


def test_every_reason_is_reached() -> None:
    profile = msgspec.structs.replace(UNCOUNTED, discipline=v.LookAhead(**SMALL))      # type: ignore[arg-type]
    reached = Counter(why for seed in range(60) for _, why in episode(seed, profile))
    assert set(reached) == {"stop", "full", "refresh", "timer", "at once"}
    assert min(reached.values()) >= 10, reached


def test_what_was_queued_before_it_is_watched_disturbs_nobody() -> None:
    watch = watched(UNCOUNTED)
    watch._engine.submit("before", 10, True, at=0)
    watch.submit("after", 20, True, at=0)
    assert watch.pump(at=10**9)[-1][1] == ["before", "after"]
    (row,) = watch.rows()
    assert (row.requests, row.updates, row.batches[0].size) == (1, 2, 20)
