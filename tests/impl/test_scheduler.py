"""The live scheduler, on trio and on asyncio: everything ends, everything is given back, and every decision is the specification's."""
from __future__ import annotations

import asyncio
import contextlib
import io
import re
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slotwise.impl import scheduler as live
from slotwise.impl import snapshot
from slotwise.impl.admission_record import Recorded
from slotwise.impl.scheduler import Closed, Divergence, Expired, Group, Job, JobCancelled, Refused, Retry, Scheduler
from slotwise.impl.tape import Tape
from slotwise.spec import admission, trace
from slotwise.spec.vocabulary import PROFILES, Task

from .live_programs import assert_drained, both, fail, give, nap, scheduler
from .virtual import run

# What a user does ----------------------------------------------------------------------------------------------------


@both
def test_the_ten_lines_of_the_docstring(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert live.__doc__
    found = re.search(r"\n\n(    import anyio\n.*?)\n\n[A-Z]", live.__doc__, re.S)
    assert found
    exec(textwrap.dedent(found[1]).replace("anyio.run(main)", f"anyio.run(main, backend={backend!r})"), {"__name__": "example"})
    assert capsys.readouterr().out.split() == ["42", str(sum(6 * i for i in range(100)))]


@both
def test_results_and_errors_come_to_whoever_awaits(backend: str) -> None:
    async def main() -> None:
        async with scheduler() as it:
            good, bad = it.submit(give, 7), it.submit(fail, KeyError("x"))
            assert await good == good.result() == await good == 7
            with pytest.raises(KeyError, match="x"):
                await bad
            assert isinstance(bad.exception(), KeyError)
            assert (good.state, bad.state, good.over) == ("finished", "failed", True)
        assert_drained(it)

    run(backend, main)


@both
def test_errors_that_nobody_asked_for_are_raised_at_the_end(backend: str) -> None:
    async def main() -> None:
        async def two_lost() -> None:
            async with scheduler() as it:
                it.submit(fail, KeyError("lost"))
                it.submit(fail, KeyError("forgotten"), forget=True)
                waited = it.submit(fail, OSError("only waited for"))
                asked = it.submit(fail, OSError("asked"))
                await waited.wait()
                await asked.wait()
                assert asked.exception()

        async def beside_an_error() -> None:
            async with it:
                await it.submit(fail, KeyError("lost")).wait()
                raise ZeroDivisionError

        with pytest.raises(ExceptionGroup, match="2 jobs of scheduler failed") as caught:
            await two_lost()
        assert [type(error) for error in caught.value.exceptions] == [KeyError, OSError]
        async with scheduler(lost="ignore") as it:
            it.submit(fail, KeyError("lost"))
        it = scheduler()
        with pytest.raises(ZeroDivisionError) as body:
            await beside_an_error()
        assert "1 jobs" in body.value.__notes__[0]
        assert_drained(it)

    run(backend, main)


@both
def test_the_block_ends_when_all_is_over(backend: str) -> None:
    async def main() -> None:
        done: list[int] = []

        async def parent(it: Scheduler) -> None:
            await anyio.sleep(0.005)
            it.submit(child)

        async def child() -> None:
            await anyio.sleep(0.005)
            done.append(1)

        async with scheduler() as it:
            it.submit(parent, it)
        assert done == [1]
        assert_drained(it)
        with pytest.raises(Closed, match="ended"):
            it.submit(give, 1)
        with pytest.raises(RuntimeError, match="lives once"):
            await it.__aenter__()

    run(backend, main)


def test_what_makes_no_sense_is_refused_by_name() -> None:
    async def main() -> None:
        async with scheduler({"llm": 2, "cpu": 1}, Group("off", weight=0.0)) as it:
            with pytest.raises(Refused, match="never_fits"):
                it.submit(give, 1, needs={"llm": 3})
            with pytest.raises(Refused, match="never_fits"):
                it.submit(give, 1, needs="gpu")
            with pytest.raises(Refused, match="no_weight"):
                it.submit(give, 1, needs="llm", group="off")
            with pytest.raises(ValueError, match="which of llm, cpu"):
                it.submit(give, 1)
            job = it.submit(nap, 1.0, 1, needs="cpu")
            with pytest.raises(RuntimeError, match="not over, but waiting"):
                job.result()
            with pytest.raises(RuntimeError, match="not over"):
                job.exception()
            it.specify(Group("off", weight=1.0))
            assert await it.submit(give, 3, needs="llm", group="off") == 3
        assert_drained(it)
        assert it.snapshot().groups[0].submitted == 1

    run("trio", main)
    wrongs: list[tuple[dict[str, Any], str]] = [({"profile": "none"}, "no profile"), ({"groups": [Group("a"), Group("a")]}, "twice"), ({"capacity": {}}, "no resource"), ({"capacity": {"llm": 0}}, "llm"),
                                               ({"groups": [Group("a", weight=0.3)]}, "group a: .*multiple")]  # fmt: skip
    for wrong, message in wrongs:
        with pytest.raises(ValueError, match=message):
            Scheduler(**{"capacity": {"llm": 1}, **wrong})
    retries: list[dict[str, Any]] = [{"on": ()}, {"on": (KeyboardInterrupt,)}, {"on": (OSError,), "tries": 0}, {"on": (OSError,), "jitter": 2.0}]
    for retry in retries:
        with pytest.raises(ValueError, match=r"must name|expected"):
            Retry(**retry)


# Limits, weights and order -------------------------------------------------------------------------------------------


@both
def test_capacity_and_limits_hold(backend: str) -> None:
    async def main() -> None:
        now, most = dict.fromkeys(("llm", "cpu", "one"), 0), dict.fromkeys(("llm", "cpu", "one"), 0)

        async def busy(**held: int) -> None:
            for name, n in held.items():
                now[name] += n
                most[name] = max(most[name], now[name])
            await anyio.sleep(0.002)
            for name, n in held.items():
                now[name] -= n

        async with scheduler({"llm": 5, "cpu": 3}, Group("one", running_limit=1)) as it:
            for _ in range(6):
                it.submit(lambda: busy(llm=2), needs={"llm": 2})
                it.submit(lambda: busy(llm=1, cpu=1), needs={"llm": 1, "cpu": 1}, group="b")
                it.submit(lambda: busy(one=1), needs={"cpu": 1}, group="one")
        assert most == {"llm": 5, "cpu": most["cpu"], "one": 1}
        assert most["cpu"] <= 3
        assert_drained(it)

    run(backend, main)


def test_service_follows_weights_and_a_slow_group_delays_no_other() -> None:
    async def main() -> tuple[float, float]:
        async with scheduler({"llm": 4}, Group("heavy", weight=3.0), Group("light")) as it:
            for group in ("light", "heavy"):
                for _ in range(200):
                    it.submit(nap, 1.0, None, group=group)
            await anyio.sleep(20.5)
            light, heavy = (g.service for g in sorted(it.snapshot().groups, key=lambda g: g.weight))
            await it.shutdown()
        assert_drained(it)
        return heavy / light, it.snapshot().groups[0].cancelled

    ratio, cancelled = run("trio", main)
    assert ratio == pytest.approx(3.0, rel=0.1)
    assert cancelled > 100


# Retries -------------------------------------------------------------------------------------------------------------


def test_only_what_is_named_is_tried_again_and_pauses_delay_nobody() -> None:
    async def main() -> list[tuple[str, float]]:
        told: list[tuple[str, float]] = []

        async def flaky(name: str, errors: list[Exception]) -> str:
            told.append((name, anyio.current_time()))
            if errors:
                raise errors.pop(0)
            return name

        retry = Retry(on=(OSError,), tries=4, first=10.0, factor=2.0, most=25.0, jitter=0.0)
        async with scheduler({"llm": 1}, retry=retry) as it:
            flaked = it.submit(flaky, "flaky", [OSError(), TimeoutError(), ConnectionError()])
            other = it.submit(flaky, "other", [])
            unnamed = it.submit(flaky, "unnamed", [KeyError()])
            hopeless = it.submit(flaky, "hopeless", [OSError(str(i)) for i in range(9)], retry=Retry(on=(OSError,), tries=2, first=1.0, jitter=0.0))
            await anyio.sleep(0.5)
            seen = it.snapshot().groups[0]
            assert (seen.backing_off, seen.causes["back_off"]) == (2, 10**9)
            assert (await other, await flaked, flaked.tries) == ("other", "flaky", 4)
            with pytest.raises(KeyError):
                await unnamed
            with pytest.raises(OSError, match="1"):
                await hopeless
        assert_drained(it)
        seen = it.snapshot().groups[0]
        assert (seen.retried, seen.started, seen.finished, seen.failed) == (4, 8, 2, 2)
        assert seen.causes["back_off"] == round((10 + 20 + 25 + 1) * 1e9)
        return told

    told = run("trio", main)
    assert [at for name, at in told if name == "flaky"] == [0.0, 10.0, 30.0, 55.0]
    assert [at for name, at in told if name == "other"] == [0.0]


@given(st.integers(1, 2000), st.floats(0, 1), st.integers(0, 9))
def test_pauses_are_seeded_and_bounded(failures: int, jitter: float, seed: int) -> None:
    retry = Retry(on=(OSError,), first=0.5, factor=3.0, most=60.0, jitter=jitter)
    pause = retry.pause(failures, Random(seed))
    assert pause == retry.pause(failures, Random(seed))
    whole = min(60.0, 0.5 * 3.0 ** min(failures - 1, 20)) * 1e9
    assert whole * (1 - jitter) - 1 <= pause <= whole + 1


# Cancellation and deadlines ------------------------------------------------------------------------------------------


@both
def test_a_job_is_cancelled_wherever_it_is(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}) as it:
            running = it.submit(anyio.sleep_forever)
            waiting = it.submit(give, 1)
            started = it.submit(give, 2)
            await anyio.sleep(0.002)
            assert (running.state, waiting.state) == ("running", "waiting")
            for job in (waiting, waiting, running):
                job.cancel()
            assert not running.over
            assert await started == 2
            for cancelled in (running, waiting):
                with pytest.raises(JobCancelled, match=r"job #\d of default was cancelled"):
                    await cancelled
            pausing = it.submit(fail, OSError(), retry=Retry(on=(OSError,), first=1000.0))
            await anyio.sleep(0.002)
            assert pausing.state == "backing_off"
            pausing.cancel()
            with pytest.raises(JobCancelled):
                await pausing
            untaken = it.submit(give, 3)
            it._pump(it._now())
            assert untaken.state == "running"
            untaken.cancel()
            assert isinstance(untaken.exception(), JobCancelled)
            itself: list[Job[int]] = []

            async def suicide() -> int:
                itself[0].cancel()
                await anyio.sleep(0)
                raise AssertionError("it was cancelled")

            itself.append(it.submit(suicide))
            with pytest.raises(JobCancelled):
                await itself[0]
        assert_drained(it)

    run(backend, main)


@both
def test_whoever_is_cancelled_while_awaiting_cancels_the_job_unless_another_waits(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}) as it:
            alone = it.submit(anyio.sleep_forever)
            with anyio.move_on_after(0.005):
                await alone
            assert alone.state == "cancelled"
            shared = it.submit(nap, 0.02, 5)
            async with anyio.create_task_group() as tasks:

                async def leave_early() -> None:
                    with anyio.move_on_after(0.005):
                        await shared

                tasks.start_soon(leave_early)
                assert await shared == 5
            watched = it.submit(nap, 0.02, 6)
            with anyio.move_on_after(0.005):
                await watched.wait()
            assert watched.state == "running"
            assert await watched == 6
            running, waiting = it.submit(nap, 1000.0, 7), it.submit(give, 8)
            for job in (waiting, running):
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await job
                assert job.state == "cancelled"
        assert_drained(it)

    run(backend, main)


@both
def test_a_deadline_counts_waiting_running_and_pauses(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}) as it:
            jobs: list[Job[Any]] = [it.submit(anyio.sleep_forever, deadline=0.01), it.submit(anyio.sleep_forever, deadline=0.01)]
            await anyio.sleep(0.03)
            jobs.append(it.submit(fail, OSError(), retry=Retry(on=(OSError,), first=1000.0), deadline=0.01))
            in_time = it.submit(give, 1, deadline=1000.0)
            for job in jobs:
                with pytest.raises(Expired, match="deadline"):
                    await job
            assert await in_time == 1
        assert it.snapshot().groups[0].timed_out == 3
        assert_drained(it)

    run(backend, main)


@both
def test_what_a_cancelled_job_raises_instead_is_not_lost(backend: str) -> None:
    async def clean_up_badly() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            raise OSError("clean-up")

    async def main() -> None:
        async with scheduler({"llm": 2}) as it:
            job = it.submit(clean_up_badly)
            await anyio.sleep(0.002)
            job.cancel()
            with pytest.raises(JobCancelled) as caught:
                await job
            assert isinstance(caught.value.__cause__, OSError)

        async def lost() -> None:
            async with it:
                it.submit(clean_up_badly, deadline=0.002)
                cancelled = it.submit(clean_up_badly)
                it.submit(anyio.sleep_forever, deadline=1000.0).cancel()     # that it was is no news
                await anyio.sleep(0.005)
                cancelled.cancel()

        it = scheduler({"llm": 2})
        with pytest.raises(ExceptionGroup, match="2 jobs"):
            await lost()
        assert_drained(it)

    run(backend, main)


@both
def test_a_job_that_ends_well_although_cancelled_has_its_result(backend: str) -> None:
    async def stubborn() -> int:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.01)
        return 1

    async def main() -> None:
        async with scheduler({"llm": 1}) as it:
            job = it.submit(stubborn)
            after = it.submit(nap, 0.001, 2)
            await anyio.sleep(0.002)
            job.cancel()
            assert (await job, await after) == (1, 2)
            itself: list[Job[int]] = []

            async def at_once() -> int:
                itself[0].cancel()
                return 3

            itself.append(it.submit(at_once))
            after = it.submit(nap, 0.001, 4)
            assert (await itself[0], await after) == (3, 4)
        assert_drained(it)

    run(backend, main)


def test_a_cancelled_error_of_somebody_else_ends_only_the_job() -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}) as it:

            async def awaits_the_cancelled() -> None:
                future = asyncio.get_running_loop().create_future()
                future.cancel()
                await future

            job = it.submit(awaits_the_cancelled)
            after = it.submit(give, 2)
            with pytest.raises(JobCancelled):
                await job
            assert await after == 2
        assert_drained(it)

    run("asyncio", main)


@both
def test_drain_takes_no_more_and_waits(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}) as it:
            jobs = [it.submit(nap, 0.002, i) for i in range(4)]
            await it.drain()
            assert [job.result() for job in jobs] == [0, 1, 2, 3]
            assert it.snapshot().state == "draining"
            with pytest.raises(Closed, match="draining"):
                it.submit(give, 1)
        assert_drained(it)

    run(backend, main)


@both
def test_shutdown_cancels_what_is_left_after_its_grace(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 1}) as it:
            quick, slow, waiting = it.submit(nap, 0.002, 1), it.submit(anyio.sleep_forever), it.submit(give, 1)
            pausing = it.submit(fail, OSError(), retry=Retry(on=(OSError,), first=1000.0), name="p")
            await it.shutdown(grace=0.05)
            assert [job.state for job in (quick, slow, waiting, pausing)] == ["finished", "cancelled", "cancelled", "cancelled"]
        assert_drained(it)

    run(backend, main)


@both
@pytest.mark.parametrize("way", ["error", "cancel", "deadline in exit"])
def test_however_the_block_is_left_everything_is_given_back(backend: str, way: str) -> None:
    async def main() -> None:
        with anyio.move_on_after(0.02) as scope:
            try:
                async with scheduler({"llm": 2}) as it:
                    jobs = [it.submit(anyio.sleep_forever) for _ in range(5)]
                    await anyio.sleep(0.002)
                    if way == "error":
                        raise ZeroDivisionError
                    if way == "cancel":
                        scope.cancel()
                        await anyio.sleep(0)
            except ZeroDivisionError:
                assert way == "error"
        assert scope.cancelled_caught == (way != "error")
        assert {job.state for job in jobs} == {"cancelled"}
        assert_drained(it)

    run(backend, main)


@both
def test_nothing_starts_once_the_block_is_cancelled(backend: str) -> None:
    async def main() -> None:
        started: list[int] = []

        async def mark() -> None:
            started.append(1)

        with anyio.CancelScope() as scope:
            async with scheduler({"llm": 3}) as it:
                for _ in range(3):
                    it.submit(anyio.sleep_forever)
                await anyio.sleep(0.001)
                for _ in range(5):
                    it.submit(mark)
                scope.cancel()
        assert started == []
        assert_drained(it)

    for _ in range(10):                      # trio wakes tasks in a random order
        run(backend, main)


@both
def test_who_stands_behind_a_cancelled_head_starts(backend: str) -> None:
    async def main() -> None:
        async with scheduler({"llm": 3}) as it:
            holder = it.submit(anyio.sleep_forever)
            wide, narrow = it.submit(give, 1, needs={"llm": 3}), it.submit(give, 2)
            await anyio.sleep(0.002)
            assert (wide.state, narrow.state) == ("waiting", "waiting")
            wide.cancel()
            with anyio.fail_after(5):
                await narrow.wait()
            holder.cancel()
        assert_drained(it)

    run(backend, main)


def test_asyncio_cancels_the_task_of_the_block() -> None:
    async def main() -> None:
        its: list[Scheduler] = []

        async def block() -> None:
            async with scheduler({"llm": 2}) as it:
                its.append(it)
                for _ in range(5):
                    it.submit(anyio.sleep_forever)

        task = asyncio.create_task(block())
        await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert_drained(its[0])

    run("asyncio", main)


@both
def test_a_keyboard_interrupt_in_a_job_ends_everything(backend: str) -> None:
    async def interrupted() -> None:
        await anyio.sleep(0.002)
        raise KeyboardInterrupt

    its: list[Scheduler] = []

    async def main() -> None:
        async with scheduler({"llm": 2}) as it:
            its.append(it)
            it.submit(interrupted)
            it.submit(anyio.sleep_forever)
            it.submit(give, 1)

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - a group of it on trio
        run(backend, main)
    assert "KeyboardInterrupt" in repr(caught.value)
    state = its[0].engine_state()
    assert (state["leases"], state["waiting"]) == ({}, {})


def test_a_worker_pauses_for_others() -> None:
    """A thousand jobs that never pause, and one task that only wants a turn now and then."""

    async def main() -> int:
        turns = 0
        async with scheduler({"llm": 2}, check=False) as it:
            jobs = [it.submit(give, i) for i in range(1000)]
            while not jobs[-1].over:
                turns += 1
                await anyio.sleep(0)
        return turns

    for backend in ("trio", "asyncio"):
        assert run(backend, main) > 1000 / 64 / 3


# Random programs -----------------------------------------------------------------------------------------------------

ACTS = st.one_of(
    st.tuples(st.just("submit"), st.sampled_from(["a", "b", "c"]), st.sampled_from([{"x": 1}, {"x": 2}, {"y": 1}, {"x": 1, "y": 1}, {"x": 3, "y": 2}]),
              st.sampled_from(["now", "soon", "later", "never", "fail", "flaky", "shield", "nested", "dirty", "child"]), st.sampled_from([None, None, 0.0, 0.002, 0.02])),
    st.tuples(st.just("cancel"), st.integers(0, 30)),
    st.tuples(st.just("sleep"), st.sampled_from([0.0, 0.001, 0.003])),
    st.tuples(st.just("await"), st.integers(0, 30), st.sampled_from([0.0, 0.001, 0.05])),
    st.tuples(st.just("specify"), st.sampled_from([Group("a", weight=2.0, running_limit=1), Group("b", weight=0.5), Group("a")])),
)  # fmt: skip
ENDS = st.sampled_from(["leave", "raise", "cancel", "drain", "shutdown"])


class Program:
    """Acts one after another. Units are counted by the jobs themselves."""

    def __init__(self, acts: list[Any], end: str, profile: str) -> None:
        self.acts, self.end = acts, end
        self.jobs: list[Job[Any]] = []
        self.free = {"x": 3, "y": 2}
        self.it = Scheduler(self.free, [Group("c", running_limit=2)], profile=profile, check=True, lost="ignore", retry=Retry(on=(ConnectionError,), tries=3, first=0.001), tape=Tape())

    async def main(self) -> None:
        with anyio.CancelScope() as scope:
            try:
                async with self.it:
                    for act in self.acts:
                        await getattr(self, act[0])(*act[1:])
                        self.assert_the_meter_agrees_with_the_engine()
                    if self.end == "raise":
                        raise ZeroDivisionError
                    if self.end == "cancel":
                        scope.cancel()
                    elif self.end in ("drain", "shutdown"):
                        with anyio.move_on_after(0.02):
                            await getattr(self.it, self.end)()
                    if self.end != "leave":
                        with anyio.CancelScope(shield=True):
                            await anyio.sleep(0.001)
            except ZeroDivisionError:
                pass
        assert_drained(self.it)
        assert self.free == {"x": 3, "y": 2}
        assert all(job.over for job in self.jobs)
        for job in self.jobs:
            if job.state == "finished":
                assert job.result() == "done"
            else:
                kinds: dict[str, tuple[type[Exception], ...]] = {"failed": (ConnectionError, KeyError), "cancelled": (JobCancelled,), "timed_out": (Expired,)}
                assert isinstance(job.exception(), kinds[job.state])

    def assert_the_meter_agrees_with_the_engine(self) -> None:
        state: dict[str, Any] = self.it.engine_state()
        seen = self.it.snapshot()
        assert seen.leases == len(state["leases"])
        assert {g.name: g.waiting for g in seen.groups if g.waiting} == state["waiting"]
        assert {r.name: r.busy for r in seen.resources} == {name: sum(lease[2].get(name, 0) for lease in state["leases"].values()) for name in ("x", "y")}
        for g in seen.groups:
            assert g.running == sum(lease[1] == g.name for lease in state["leases"].values())
            assert self.it._profile.discarded_task_lingers or g.needs == (state["fifo"][g.name][0][1] if g.waiting else {})

    async def submit(self, group: str, needs: dict[str, int], kind: str, deadline: float | None) -> None:
        self.jobs.append(self.it.submit(self.holding, getattr(self, kind), needs, group=group, needs=needs, deadline=deadline))

    async def holding(self, work: Callable[[], Awaitable[None]], needs: dict[str, int]) -> str:
        for name, units in needs.items():
            self.free[name] -= units
        assert min(self.free.values()) >= 0
        try:
            await work()
        finally:
            for name, units in needs.items():
                self.free[name] += units
        return "done"

    async def cancel(self, i: int) -> None:
        if i < len(self.jobs):
            self.jobs[i].cancel()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def specify(self, group: Group) -> None:
        self.it.specify(group)

    async def wait(self, i: int, seconds: float) -> None:
        if i < len(self.jobs):
            with anyio.move_on_after(seconds):
                with contextlib.suppress(ConnectionError, KeyError, JobCancelled, Expired):
                    await self.jobs[i]

    # what jobs do
    async def now(self) -> None:
        pass

    async def soon(self) -> None:
        await anyio.sleep(0)

    async def later(self) -> None:
        await anyio.sleep(0.002)

    async def never(self) -> None:
        await anyio.sleep(0.05)

    async def fail(self) -> None:
        raise KeyError("always")

    async def flaky(self) -> None:
        if len(self.jobs) % 2:
            raise ConnectionError
        await anyio.sleep(0.001)
        raise ConnectionError

    async def shield(self) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(0.002)

    async def nested(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 0.001)
            tasks.start_soon(anyio.sleep, 0.003)

    async def dirty(self) -> None:
        try:
            await anyio.sleep(0.03)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.001)

    async def child(self) -> None:
        try:
            await self.it.submit(give, "done", needs="y", group="child", deadline=0.01)       # its parents may hold all that it needs
        except (Closed, JobCancelled, Expired):
            raise KeyError("closed") from None


setattr(Program, "await", Program.wait)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTS, max_size=25), ENDS, st.sampled_from(list(PROFILES)))
def test_random_programs_on_trio(acts: list[Any], end: str, profile: str) -> None:
    run("trio", Program(acts, end, profile).main)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ACTS, max_size=15), ENDS, st.sampled_from(list(PROFILES)))
def test_random_programs_on_asyncio(acts: list[Any], end: str, profile: str) -> None:
    run("asyncio", Program(acts, end, profile).main)


# The record and the check --------------------------------------------------------------------------------------------


@both
def test_what_is_recorded_replays_equal_on_the_specification(backend: str, tmp_path: Path) -> None:
    async def main(record: Any) -> None:
        async with Scheduler({"llm": 2}, [Group("a", weight=2.0, running_limit=1)], record=record, retry=Retry(on=(OSError,), first=0.001), seed=5) as it:
            for i in range(10):
                it.submit(nap, 0.001, i, group="ab"[i % 2])
            it.submit(fail, OSError(), forget=True)
            it.submit(anyio.sleep_forever, deadline=0.001, forget=True)

    sink = io.BytesIO()
    run(backend, lambda: main(sink))
    run(backend, lambda: main(tmp_path / "run.slotwise.jsonl"))
    for read in (trace.decode(sink.getvalue()), trace.read(tmp_path / "run.slotwise.jsonl")):
        assert read.header.seed == 5
        assert {type(command).__name__ for command in read.commands} >= {"Enqueue", "Pump", "Release"}
        model = admission.admission(read.header.profile, read.header.setup.capacity)
        for step in read.steps:
            assert [list(word) for word in admission.step(model, step.command)] == [list(word) for word in step.saw or []]
        assert admission.state(model)["leases"] == {}


class Liar:
    """An engine that starts one task less than it could, once."""

    def __init__(self, engine: Any, at: int) -> None:
        self._engine, self._left = engine, at

    def step(self, command: Any) -> Any:
        self._left -= 1
        if self._left == 0:
            command = type(command)(**{**{name: getattr(command, name) for name in command.__struct_fields__}, "at_most": 1}) if hasattr(command, "at_most") else command
        return self._engine.step(command)

    def state(self) -> Any:
        return self._engine.state()

    def debts(self) -> Any:
        return self._engine.debts()


@both
def test_the_check_names_the_first_divergence(backend: str) -> None:
    async def main(check: Any) -> Scheduler:
        it = Scheduler({"llm": 2}, check=check)
        it._engine = Liar(it._engine, 3)    # type: ignore[assignment]
        async with it:
            jobs = [it.submit(nap, 1000.0 if check == "raise" else 0.001, i) for i in range(2)]
            await jobs[0]
            await jobs[1]
        return it

    with pytest.raises(Divergence, match=r"step 3: ADM-11: Pump: observation 2: expected .*started.*found .*full"):
        run(backend, lambda: main("raise"))
    it = run(backend, lambda: main("note"))
    (found,) = it.snapshot().divergences
    assert (found.step, found.rule) == (3, "ADM-11")
    (check,) = it.snapshot().checks
    assert (check.id, check.holds) == ("conformance", False)


def test_equal_numbers_of_observations_and_states_are_compared_too() -> None:
    class Fake:
        words: Any = (("accepted", "a"),)
        now = 0

        def step(self, command: Any) -> Any:
            self.now = command.at
            return list(self.words)

        def state(self) -> Any:
            return {**admission.state(admission.admission(PROFILES["slotwise"], {"r": 1})), "now": self.now + 1}

    found: list[Divergence] = []
    it = Recorded(PROFILES["slotwise"], {"r": 1}, None, found.append, Fake())
    it.enqueue([Task("a", "g", {"r": 2})], at=0)
    assert [(each.step, each.rule) for each in found] == [(1, "ADM-9")]
    assert "expected [('refused', 'a', 'never_fits')], found [('accepted', 'a')]" in str(found[0])
    it.enqueue([Task("a", "g", {"r": 2})], at=0)
    assert len(found) == 1                   # the first only
    it = Recorded(PROFILES["slotwise"], {"r": 1}, None, found.append, Fake())
    Fake.words = (("drained",),)
    for at in range(64):
        it.pump(at=at)
    assert (found[1].step, found[1].detail) == (64, "state `now`: expected 63, found 64")


def test_a_snapshot_says_what_is_going_on() -> None:
    async def main() -> snapshot.Snapshot:
        tape = Tape(8)
        async with scheduler({"llm": 2, "cpu": 4}, Group("a", running_limit=1), tape=tape) as it:
            for _ in range(3):
                it.submit(nap, 1.0, 1, group="a", needs="llm")
                it.submit(nap, 1.0, 1, group="b", needs={"llm": 1, "cpu": 2})
            await anyio.sleep(0.25)
            found = it.snapshot()
            assert it.snapshot().number == 2
            assert [(event.kind, event.group) for event in tape.take()] == [
                ("group", "a"), ("waits", "a"), ("due", ""), ("group", "b"), ("waits", "b"), ("waits", "a"), ("waits", "b"), ("waits", "a"),
            ]  # fmt: skip
            assert (tape.dropped, found.dropped) == (4, 4)          # one waits more, two start, and the scheduler has come to it
            await it.drain()
        assert_drained(it)
        return found

    found = run("trio", main)
    quarter = 250_000_000
    assert (found.state, found.leases, found.events) == ("running", 2, 8)
    llm, cpu = found.resources
    assert (llm.busy, llm.waiting, llm.eligible, llm.busy_time, llm.idle_waiting) == (2, 4, 2, 2 * quarter, 0)
    assert (cpu.busy, cpu.waiting, cpu.eligible, cpu.busy_time) == (2, 2, 0, 2 * quarter)
    a, b = found.groups
    assert (a.running, a.waiting, a.blocked_by, a.causes, a.needs) == (1, 2, "limit", {"limit": 2 * quarter}, {"llm": 1})
    assert (b.running, b.waiting, b.blocked_by, b.causes, b.needs) == (1, 2, "capacity llm", {"capacity llm": 2 * quarter}, {"llm": 1, "cpu": 2})
    assert (a.service, b.service) == (2 * quarter, 2 * quarter)
