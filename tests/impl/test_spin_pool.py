"""The pool of threads from Python: every task once, errors raised when all is done, no thread lost, and a clear word after a fork."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from array import array
from collections.abc import Iterator
from types import FrameType

import anyio
import pytest

from slotwise.impl import SpinPool, snapshot
from slotwise.impl.scheduler import Scheduler
from slotwise.impl.spin_pool import Costs, axpy, calibrated, spin_ns, sum_of_squares
from slotwise.spec.spin_vocabulary import PROFILES, Average, BreakEven, Fixed, Guarded, Ratchet

LONG = 120                               # seconds: what takes longer hangs
SLEEPY = Fixed(window=0)                 # parks after one stride


@pytest.fixture
def interrupted() -> Iterator[threading.Event]:
    """An interrupt is raised once, however often it comes: a second one would end the tests. In the background it may be ignored, but not here."""
    seen = threading.Event()

    def handler(number: int, frame: FrameType | None) -> None:
        if not seen.is_set():
            seen.set()
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, handler)
    yield seen
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def pool() -> Iterator[SpinPool]:
    with SpinPool(3, SLEEPY) as pool:
        yield pool


def all_meet(pool: SpinPool) -> None:
    """Every thread of the pool is in a task at once."""
    meet = threading.Barrier(pool.workers + 1)
    assert len(set(pool.map(lambda _: (meet.wait(LONG), threading.get_ident())[1], pool.workers + 1))) == pool.workers + 1


def run(code: str) -> subprocess.CompletedProcess[str]:
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=paths, capture_output=True, text=True, timeout=LONG, check=False)


@pytest.mark.parametrize("policy", [*PROFILES, PROFILES["slotwise"], SLEEPY, Ratchet(), BreakEven(), Average(), Guarded(latency=512)])
def test_results_come_in_the_order_of_the_items(policy: object) -> None:
    with SpinPool(3, policy) as pool:                                                      # type: ignore[arg-type]
        assert pool.map(lambda item: item * 2, range(50)) == list(range(0, 100, 2))
        assert pool.map(str, 4) == ["0", "1", "2", "3"]
        assert pool.map(str.upper, iter("ab")) == ["A", "B"]
        assert pool.map(str, []) == [] == pool.map(str, 0)
        all_meet(pool)
        counters = pool.counters()
    assert counters["tasks"] == 50 + 4 + 2 + 3
    assert counters["dispatches"] == 4
    assert counters["tasks_by_dispatcher"] <= counters["tasks"]


def test_the_first_error_is_raised_and_costs_no_worker(pool: SpinPool) -> None:
    began: list[int] = []

    def task(item: int) -> None:
        began.append(item)
        if item % 2:
            raise LookupError(item)

    for _ in range(20):
        began.clear()
        with pytest.raises(LookupError) as error:
            pool.map(task, 100)
        assert error.value.args[0] in began
        assert len(began) == len(set(began))
        all_meet(pool)


def test_what_has_not_begun_does_not_begin_after_an_error(pool: SpinPool) -> None:
    began: list[int] = []
    failed = threading.Event()

    def task(item: int) -> None:
        began.append(item)
        if len(began) == 1:
            failed.set()
            raise LookupError
        assert failed.wait(LONG)
        time.sleep(0.02)                             # all others would take seconds: whoever failed is heard before that

    with pytest.raises(LookupError):
        pool.map(task, 1000)
    assert len(began) < 1000


@pytest.mark.parametrize("busy", [False, True], ids=["while it waits", "while it runs a task"])
def test_keyboard_interrupt(pool: SpinPool, interrupted: threading.Event, busy: bool) -> None:
    meet, main, never = threading.Barrier(3), threading.get_ident(), threading.Event()

    def task(_: int) -> None:                        # each thread has one
        meet.wait(LONG)
        if threading.get_ident() == main:
            while busy:
                never.wait(0.01)
        else:
            signal.pthread_kill(main, signal.SIGINT)
            assert interrupted.wait(LONG)            # the caller sees it while it waits for this task

    with pytest.raises(KeyboardInterrupt):
        pool.map(task, 3)
    all_meet(pool)


def test_keyboard_interrupt_stops_what_has_not_begun(pool: SpinPool, interrupted: threading.Event) -> None:
    main, meet, ran = threading.get_ident(), threading.Barrier(3), []

    def task(item: int) -> None:
        ran.append(item)
        if len(ran) <= 3:
            meet.wait(LONG)
        if threading.get_ident() != main:
            if not interrupted.is_set():
                signal.pthread_kill(main, signal.SIGINT)
            assert interrupted.wait(LONG)            # the caller looks for signals, whatever it does
        time.sleep(0.001)                            # all of them would take half a minute

    with pytest.raises(KeyboardInterrupt):
        pool.map(task, 100_000)
    assert len(ran) < 100_000


def test_a_map_within_a_task_runs_there(pool: SpinPool) -> None:
    def task(item: int) -> list[tuple[int, bool]]:
        here = threading.get_ident()
        return pool.map(lambda inner: (item * inner, threading.get_ident() == here), 3)

    assert pool.map(task, 4) == [[(item * inner, True) for inner in range(3)] for item in range(4)]


def test_many_callers_at_once(pool: SpinPool) -> None:
    wrong: list[object] = []

    def call(number: int) -> None:
        for _ in range(20):
            result = pool.map(lambda item: item + number, 5)
            if result != [item + number for item in range(5)]:
                wrong.append(result)

    callers = [threading.Thread(target=call, args=(number,)) for number in range(12)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(LONG)
    assert not any(caller.is_alive() for caller in callers)
    assert not wrong


def test_native_kernels(pool: SpinPool) -> None:
    x, y = array("d", range(1000)), array("d", [1.0]) * 1000
    assert pool.map(sum_of_squares(x), 7) == sum(i * i for i in range(1000))
    assert pool.map(sum_of_squares(memoryview(x).toreadonly()), 1) == sum(i * i for i in range(1000))
    assert pool.map(sum_of_squares(array("d")), 3) == 0
    assert pool.map(sum_of_squares(array("d", [3.0])), 5) == 9       # more tasks than doubles
    assert pool.map(axpy(2.0, x, y), 7) is None
    assert list(y) == [1 + 2 * i for i in range(1000)]
    assert pool.map(axpy(1.0, y, y), 3) is None
    assert list(y) == [2 + 4 * i for i in range(1000)]
    before = pool.counters()["tasks"]
    assert pool.map(spin_ns(100), 40) is None
    assert pool.counters()["tasks"] == before + 40


def test_a_buffer_stays_while_a_kernel_has_it() -> None:
    y = array("d", [1.0])
    kernel = axpy(1.0, y, y)
    with pytest.raises(BufferError):
        y.append(2.0)
    del kernel
    y.append(2.0)


def test_bad_buffers_are_refused() -> None:
    x = array("d", range(4))
    with pytest.raises(ValueError, match="x has 4 doubles, y 3"):
        axpy(1.0, x, array("d", range(3)))
    with pytest.raises(BufferError, match="y must be writable"):
        axpy(1.0, x, memoryview(array("d", range(4))).toreadonly())
    with pytest.raises(BufferError):
        sum_of_squares(array("q", range(4)))
    with pytest.raises(BufferError):
        sum_of_squares(b"12345678")
    with pytest.raises(ValueError, match="in one piece"):
        sum_of_squares(memoryview(x)[::2])
    with pytest.raises(BufferError, match="aligned"):
        sum_of_squares(memoryview(bytearray(33))[1:].cast("d"))
    with pytest.raises(ValueError, match="ns must be"):
        spin_ns(-1)


def test_bad_parameters_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="width must be 1 to 64, found 0"):
        SpinPool(0)
    with pytest.raises(ValueError, match="width must be 1 to 64, found 65"):
        SpinPool(65)
    with pytest.raises(ValueError, match="floor 30"):
        SpinPool(2, Ratchet(floor=30, cap=20))
    with pytest.raises(ValueError, match="window must be"):
        SpinPool(2, Fixed(window=-1))
    with pytest.raises(ValueError, match='no profile is called "slow"'):
        SpinPool(2, "slow")
    for name in ("park", "wake", "catch"):
        with pytest.raises(ValueError, match=f"{name} must be"):
            SpinPool(2, costs=Costs()._replace(**{name: -1}))
    with pytest.raises(ValueError, match="costs must be"):
        SpinPool(2, costs="guess")                                                         # type: ignore[arg-type]
    with SpinPool(2) as pool:
        with pytest.raises(ValueError, match="items must be 0 or more, found -1"):
            pool.map(str, -1)
        with pytest.raises(ValueError, match="tasks must be"):
            pool.map(spin_ns(1), -1)
        with pytest.raises(TypeError, match="in a number of tasks"):
            pool.map(spin_ns(1), [1, 2])                                                   # type: ignore[call-overload]


def test_the_costs_choose_the_window() -> None:
    with SpinPool(3, BreakEven(), costs=Costs(park=12_345)) as pool:
        assert pool.windows() == [12_345, 12_345]
    with SpinPool(3, BreakEven(), costs="calibrate") as pool:
        assert pool.windows() == [pool.costs.park] * 2
        assert pool.costs.park > 8
        assert pool.costs.wake > 0
        assert pool.costs.catch >= 0
    assert calibrated(1) != Costs()


def test_a_snapshot_shows_its_workers_before_and_after_a_fan_out() -> None:
    """Every nanosecond of a worker is one state's: between two looks all workers have spent the same time."""
    def time_of(worker: snapshot.Worker) -> int:
        return worker.running + worker.spinning + worker.yielding + worker.parked

    async def main() -> None:
        with SpinPool(3, Fixed(window=200_000), name="pool") as pool, SpinPool(1, name="empty") as empty:
            async with Scheduler({"llm": 1}) as it:
                it.attach(pool)
                it.attach(empty)
                before, counted = it.snapshot().workers, pool.counters()
                assert [worker.name for worker in before] == ["pool/w0", "pool/w1"]
                pool.map(spin_ns(300_000), 12)
                by_workers = 12 + counted["tasks_by_dispatcher"] - pool.counters()["tasks_by_dispatcher"]
                assert sum(worker.running for worker in pool.rows()) - sum(worker.running for worker in before) >= 300_000 * by_workers
                all_meet(pool)
                after = it.snapshot().workers
                assert len({time_of(new) - time_of(old) for old, new in zip(before, after, strict=True)}) == 1
                for old, new in zip(before, after, strict=True):
                    assert all(getattr(new, name) >= getattr(old, name) for name in ("running", "spinning", "yielding", "parked", "hits", "misses", "wasted"))
                    assert new.running > old.running     # each had a task
                    assert new.wasted <= new.spinning
                    assert (new.window, new.state in ("run", "spin", "yield", "park")) == (200_000, True)
            pool.shutdown()
            ended = pool.rows()
            assert [worker.state for worker in ended] == ["left", "left"]
            assert pool.rows() == ended                  # nothing goes on
            assert sum(worker.hits for worker in ended) == pool.counters()["spin_hits"]
            assert sum(sum(worker.wake.counts.values()) for worker in ended) <= pool.counters()["parks"]

    anyio.run(main)


def test_width_one_has_no_workers() -> None:
    with SpinPool(1) as pool:
        assert (pool.width, pool.workers, pool.windows()) == (1, 0, [])
        assert pool.map(lambda _: threading.get_ident(), 3) == [threading.get_ident()] * 3
        assert pool.counters()["dispatches"] == 0


def test_after_its_end() -> None:
    with SpinPool(3) as pool:
        pool.map(str, 3)
    pool.shutdown()
    for call in (lambda: pool.map(str, 3), lambda: pool.map(spin_ns(1), 3), lambda: pool.native.back_to_back(1, 1, 0)):
        with pytest.raises(RuntimeError, match="this pool is shut down"):
            call()
    assert pool.counters()["tasks"] == 3


def test_it_can_be_ended_from_within() -> None:
    with SpinPool(3, SLEEPY) as closing:
        def task(item: int) -> int:
            closing.shutdown()
            return item

        assert closing.map(task, 10) == list(range(10))


def test_after_a_fork() -> None:
    done = run("""
        import os, signal
        from slotwise.impl import SpinPool
        pool = SpinPool(3)
        pool.map(str, 3)
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                pool.map(str, 3)
            except RuntimeError as error:
                assert f"made in process {os.getppid()}" in str(error) and f"this is process {os.getpid()}" in str(error), error
                pool.shutdown()
                del pool
                with SpinPool(3) as pool:
                    assert pool.map(str, 3) == ["0", "1", "2"]
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert pool.map(str, 3) == ["0", "1", "2"]
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pool_that_nobody_ends_does_not_keep_the_process() -> None:
    done = run("""
        from slotwise.impl import SpinPool
        kept = SpinPool(3)
        print(kept.map(str, 3))
        SpinPool(3).map(str, 3)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['0', '1', '2']\n", "")


def test_it_can_be_measured(pool: SpinPool) -> None:
    took = pool.native.back_to_back(50, 3, 100)
    assert len(took) == 50
    assert min(took) >= 100
    share = pool.native.idle_share(0.01)
    assert share is None or share >= 0
    times = pool.native.worker_time()
    assert times is None or (len(times) == 2 and min(times) > 0)
