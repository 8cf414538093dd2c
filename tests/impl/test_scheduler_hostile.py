"""What programs do to a scheduler that they should not: it is said in one line, and nothing is left behind; and what they may do, though few will."""
from __future__ import annotations

import gc
import logging
import types
import weakref
from collections.abc import Generator
from typing import Any

import anyio
import anyio.to_thread
import pytest

from slotwise.impl import meter as m
from slotwise.impl import meter_log, meter_state
from slotwise.impl.scheduler import Closed, Expired, Group, Job, JobCancelled, Retry, Scheduler

from .live_programs import assert_drained, both, fail, give, nap, run, scheduler

WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = {
    "a deadline that is no number": ((give, 1), {"deadline": float("nan")}, ValueError, "deadline must be a finite number of seconds, found nan"),
    "a deadline beyond all numbers": ((give, 1), {"deadline": 1e300}, ValueError, r"deadline must be a finite number of seconds, found 1e\+300"),
    "a deadline in words": ((give, 1), {"deadline": "5"}, TypeError, "deadline must be a number of seconds, found '5'"),
    "units in words": ((give, 1), {"needs": {"llm": "1"}}, ValueError, "needs: expected whole units by resource, found {'llm': '1'}"),
    "half a unit": ((give, 1), {"needs": {"llm": 1.5}}, ValueError, "needs: expected whole units"),
    "units that nobody can count": ((give, 1), {"needs": {"llm": 1 << 70}}, ValueError, "needs: llm must be an integer up to 2147483647"),
    "no units": ((give, 1), {"needs": {"llm": 0}}, ValueError, "must need 1 to 2147483647 of llm, found 0"),
    "nothing": ((give, 1), {"needs": {}}, ValueError, "at least one resource"),
    "a resource that is a number": ((give, 1), {"needs": {1: 1}}, ValueError, "needs: expected whole units"),
    "needs that are a number": ((give, 1), {"needs": 5}, TypeError, "needs must be a resource, or units by resource"),
    "no function": ((None,), {}, TypeError, "function must be an async function, found None"),
}


@both
def test_what_cannot_be_submitted_leaves_nothing(backend: str) -> None:
    async def main() -> None:
        async with scheduler() as it:
            for arguments, options, kind, why in WRONG.values():
                with pytest.raises(kind, match=why):
                    it.submit(*arguments, **options)
                assert (it._alive, it._waiting, len(it._timers)) == (0, {}, 0)
            coroutine = give(1)
            with pytest.raises(TypeError, match="found a coroutine of give; its arguments go after it"):
                it.submit(coroutine)             # type: ignore[arg-type]
            coroutine.close()
            assert await it.submit(give, 1, deadline=float("inf")) == 1
            for deadline in (0, -1.0):
                with pytest.raises(Expired):
                    await it.submit(nap, 1.0, 1, deadline=deadline)
        assert_drained(it)

    run(backend, main)


def test_pauses_and_starvation_are_finite() -> None:
    for wrong in ({"first": float("nan")}, {"first": float("inf")}, {"factor": float("inf")}, {"jitter": float("nan")}, {"most": float("nan")}):
        with pytest.raises(ValueError, match="expected tries"):
            Retry(on=(OSError,), **wrong)        # type: ignore[arg-type]
    for slo in (float("nan"), float("inf"), 0.0):
        with pytest.raises(ValueError, match="slo must be a finite number of seconds"):
            Scheduler({"x": 1}, slo=slo)


@both
def test_a_pause_of_ages_is_one_that_can_be_cut_short(backend: str) -> None:
    async def main() -> None:
        async with scheduler(retry=Retry(on=(OSError,), first=1e300, factor=1e300, most=float("inf"), tries=9, jitter=0.0)) as it:
            with pytest.raises(Expired):
                await it.submit(fail, OSError(), deadline=0.01)
        assert_drained(it)

    run(backend, main)


@both
def test_it_says_why_it_takes_no_job(backend: str) -> None:
    async def main() -> None:
        it = scheduler()
        with pytest.raises(Closed, match="scheduler is new: `async with` opens it"):
            it.submit(give, 1)
        async with it:
            await it.drain()
            with pytest.raises(Closed, match="scheduler is draining"):
                it.submit(give, 1)
        with pytest.raises(Closed, match="scheduler is ended"):
            it.submit(give, 1)
        with pytest.raises(RuntimeError, match="lives once: make another"):
            await it.__aenter__()

    run(backend, main)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_another_thread_is_told_how(backend: str) -> None:
    async def main() -> None:
        async with scheduler() as it:

            def wrong() -> None:
                with pytest.raises(RuntimeError, match="belongs to another thread"):
                    it.submit(give, 1)

            def right() -> Job[int]:
                return anyio.from_thread.run_sync(it.submit, give, 7)

            await anyio.to_thread.run_sync(wrong)
            assert it._alive == 0
            assert await (await anyio.to_thread.run_sync(right)) == 7
        assert_drained(it)

    anyio.run(main, backend=backend)


@both
def test_a_job_does_not_drain_its_own_scheduler(backend: str) -> None:
    async def main() -> None:
        async with scheduler() as it:
            with pytest.raises(RuntimeError, match="it is one of them"):
                await it.submit(it.drain)
            assert await it.submit(give, 1) == 1             # it was not closed
            with pytest.raises(JobCancelled):
                await it.submit(it.shutdown)
        assert_drained(it)

    run(backend, main)


@both
@pytest.mark.parametrize("how", ["await", "wait"])
def test_a_job_that_awaits_itself_is_told_so(backend: str, how: str) -> None:
    """It would wait without end; whoever else awaits it does not disturb it, nor does it others."""
    jobs: list[Job[Any]] = []

    async def of_itself() -> Any:
        await anyio.sleep(0)                                 # until it is known who it is
        await (jobs[0] if how == "await" else jobs[0].wait())

    async def of_the_next() -> Any:
        return await jobs[2]

    async def main() -> None:
        async with scheduler() as it:
            jobs.extend((it.submit(of_itself, deadline=60), it.submit(of_the_next), it.submit(give, 7)))
            with pytest.raises(RuntimeError, match=r"^job #1 of default cannot await itself: it would never end$"):
                await jobs[0]
            assert await jobs[1] == 7
        assert_drained(it)

    run(backend, main)


@both
def test_nobody_drains_a_scheduler_that_is_new(backend: str) -> None:
    async def main() -> None:
        await scheduler().drain()

    run(backend, main)


@both
def test_a_record_that_cannot_be_written_ends_and_nothing_else(backend: str, caplog: pytest.LogCaptureFixture) -> None:
    """Wherever it fails, in a submission or in a worker: all jobs come through, and it is said once."""

    class Full:
        def __init__(self, most: int) -> None:
            self.left = most

        def write(self, data: Any) -> int:
            self.left -= 1
            if self.left < 0:
                raise OSError(28, "No space left on device")
            return len(data)

    async def main() -> None:
        for most in range(1, 9):             # of its first line, four submissions and four releases, and more
            caplog.clear()
            async with scheduler({"llm": 1}, record=Full(most), check=False) as it:
                assert [await job for job in [it.submit(nap, 0.001, i) for i in range(4)]] == [0, 1, 2, 3]
            assert_drained(it)
            said = [record.message for record in caplog.records if record.levelno == logging.ERROR]
            assert said == [f"nothing is recorded any more after step {most - 1}: OSError: [Errno 28] No space left on device"]

    run(backend, main)


@both
def test_an_engine_that_fails_ends_everything(backend: str) -> None:
    """There is no such engine; but if there were, its error would come out, and no task would stay."""

    class Broken:
        def __init__(self, engine: Any) -> None:
            self.engine = engine

        def __getattr__(self, name: str) -> Any:
            if name == self.fails:
                raise ZeroDivisionError(name)
            return getattr(self.engine, name)

        fails = ""

    async def body(it: Scheduler, broken: Broken, fails: str) -> None:
        async with it:
            it._engine = broken                  # type: ignore[assignment]
            for _ in range(4):
                it.submit(nap, 0.001, 1)
            broken.fails = fails
            if fails == "discard_where":         # which is asked for when all is given up
                raise ZeroDivisionError
            await anyio.sleep(60)

    async def main() -> None:
        for fails in ("pump", "release", "discard_where"):
            it = scheduler(check=False)
            with pytest.raises((ExceptionGroup, ZeroDivisionError)) as caught:
                await body(it, Broken(it._engine), fails)
            assert not isinstance(caught.value, ExceptionGroup) or caught.value.split(ZeroDivisionError)[1] is None
            assert not it._workers

    run(backend, main)


@both
def test_whoever_looks_in_now_and_then_leaves_nothing_behind(backend: str) -> None:
    async def main() -> None:
        async with scheduler() as it:
            job = it.submit(nap, 0.2, 7)
            for _ in range(50):
                with anyio.move_on_after(0.0001):
                    await job.wait()
            assert len(job._bells or ()) == 0
            assert await job == 7
        assert_drained(it)

    run(backend, main)


@both
def test_a_waiter_that_is_thrown_away_takes_its_job_along(backend: str) -> None:
    async def main() -> None:
        async with scheduler() as it:
            job = it.submit(nap, 1000.0, 1)

            async def waiter() -> None:
                await job

            while job.state != "running":
                await anyio.sleep(0)
            thrown = waiter()
            thrown.send(None)
            thrown.close()
            await job.wait()
            assert isinstance(job.exception(), JobCancelled)
        assert_drained(it)

    run(backend, main)


@both
def test_whatever_can_be_awaited_is_a_job(backend: str) -> None:
    async def main() -> None:
        @types.coroutine
        def old() -> Generator[Any, Any, str]:
            yield from nap(0.001, 0).__await__()
            return "old"

        class Waits:
            def __await__(self) -> Generator[Any, Any, str]:
                yield from nap(0.001, 0).__await__()
                return "waits"

        async def yields() -> Any:
            yield 1

        async with scheduler() as it:
            assert await it.submit(old) == "old"
            assert await it.submit(Waits) == "waits"
            nothings: list[Any] = [yields, lambda: 5]
            for nothing in nothings:
                with pytest.raises(TypeError, match="await"):
                    await it.submit(nothing)
        assert_drained(it)

    run(backend, main)


@both
def test_a_scheduler_in_a_job_of_another(backend: str) -> None:
    async def inner(seconds: float) -> int:
        async with scheduler({"y": 1}, name="inner") as it:
            inners.append(it)
            return sum([await job for job in [it.submit(nap, seconds, i) for i in range(4)]])

    inners: list[Scheduler] = []

    async def main() -> None:
        async with scheduler() as it:
            assert [await job for job in [it.submit(inner, 0.001) for _ in range(3)]] == [6, 6, 6]
            job = it.submit(inner, 1000.0)
            while len(inners) < 4 or not inners[3]._running():
                await anyio.sleep(0.001)
            job.cancel()
            await job.wait()
            assert job.state == "cancelled"
        for one in (it, *inners):
            assert_drained(one)

    run(backend, main)


@both
def test_a_job_that_cancels_itself_and_one_that_swallows_it(backend: str) -> None:
    async def main() -> None:
        async def myself() -> None:
            jobs[0].cancel()
            await anyio.sleep(1000)

        async def stubborn() -> str:
            for _ in range(3):
                try:
                    await anyio.sleep(1000)
                except anyio.get_cancelled_exc_class():
                    pass
            return "done"

        async with scheduler({"llm": 1}) as it:
            jobs: list[Job[Any]] = [it.submit(myself)]
            with pytest.raises(JobCancelled):
                await jobs[0]
            job, behind = it.submit(stubborn), it.submit(give, 2)
            while job.state != "running":
                await anyio.sleep(0)
            job.cancel()
            assert await behind == 2
            assert job.result() == "done"
        assert_drained(it)

    run(backend, main)


@both
def test_nothing_of_a_job_that_is_over_is_kept(backend: str) -> None:
    """Neither its result nor its arguments, whatever the meter has not folded yet."""

    class Large:
        pass

    async def take(_: Large) -> Large:
        return Large()

    async def main() -> None:
        async with scheduler(check=False) as it:
            large = Large()
            given = weakref.ref(large)
            job = it.submit(take, large)
            del large
            answer = weakref.ref(await job)
            while len(it._idle) < len(it._workers):
                await anyio.sleep(0)
            gc.collect()
            assert given() is None
            assert answer() is not None              # the job is here yet
            del job
            gc.collect()
            assert answer() is None
        assert_drained(it)

    run(backend, main)


@both
def test_needs_that_nobody_has_any_more_are_forgotten(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that somebody has, none is, wherever the job is: a keyframe finds them all."""
    monkeypatch.setattr(m, "SHAPES", 10)

    async def main() -> None:
        async with scheduler({"tokens": 1000}, lost="ignore", retry=Retry(on=(OSError,), first=0.02, tries=2, jitter=0.0)) as it:
            it._meter._many = 10
            kept: list[Job[Any]] = [it.submit(fail, OSError(), needs={"tokens": 999}), it.submit(nap, 0.05, 1, needs={"tokens": 998}), it.submit(nap, 0.0, 2, needs={"tokens": 997})]
            while kept[0].state in ("waiting", "running"):
                await anyio.sleep(0)
            for i in range(100):
                await it.submit(give, i, needs={"tokens": 1}, group="small")
                other, usual = it.submit(nap, 0.0, i, needs={"tokens": 500 + i}, group="other"), it.submit(give, i)
                meter_state.frozen(it._meter, it._running())
                if i % 2:
                    other.cancel()
                await usual
            for job in kept:
                await job.wait()
            assert [job.state for job in kept] == ["failed", "finished", "finished"]
            while it._alive:
                await anyio.sleep(0.001)
            for i in range(300):
                await it.submit(give, i, needs={"tokens": 200 + i})
                assert len(it._meter.shapes) <= 250
            assert len(it._meter.shapes) <= 11
            usual = it.submit(give, 1)
            assert sum(len(group.line) for group in meter_state.frozen(it._meter, it._running()).groups) == 1
            await usual
        assert all(shape.alive == (shape is it._default) for shape in it._meter.shapes.values())
        assert_drained(it)

    run(backend, main)


@both
def test_a_group_may_be_respecified_while_it_waits(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}, Group("a")) as it:
            jobs = [it.submit(nap, 0.001, i, group="a") for i in range(4)]
            for wrong in (Group("a", weight=-1.0), Group("a", weight=float("nan")), Group("a", running_limit=1 << 70), Group(5)):    # type: ignore[arg-type]
                with pytest.raises(ValueError, match="group"):
                    it.specify(wrong)
            it.specify(Group("a", weight=2.0, running_limit=1))
            assert [await job for job in jobs] == [0, 1, 2, 3]
        assert_drained(it)

    run(backend, main)


@both
def test_what_is_noted_is_folded_before_it_is_much(backend: str) -> None:
    """Where nobody looks, and jobs only come, only go, or are only withdrawn."""

    async def main() -> None:
        async with scheduler({"llm": 4}, check=False) as it:
            noted: list[int] = []

            async def look() -> None:
                noted.append(len(it._log._notes))

            jobs: list[Job[Any]] = []
            for _ in range(3000):
                jobs.append(it.submit(look))
                await look()
            await jobs[-1]
            jobs = [it.submit(nap, 1000.0, 1) for _ in range(3000)]
            for job in jobs:
                job.cancel()
                await look()
        assert max(noted) <= meter_log.MOST + 10 * meter_log.WIDTH
        assert_drained(it)

    run(backend, main)


@both
def test_very_many_jobs_and_very_many_at_once(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 2000}, check=False) as it:
            jobs = [it.submit(nap, 0.001, i) for i in range(2000)]
            assert sum([await job for job in jobs]) == sum(range(2000))
            for start in range(0, 20_000, 5000):
                assert [await job for job in [it.submit(give, i) for i in range(start, start + 5000)]] == list(range(start, start + 5000))
            assert len(it._idle) <= 256
            assert it.snapshot().groups[0].finished == 22_000
        assert_drained(it)

    run(backend, main)
