"""The bars that concern checkpoint batching with real threads, measured: figures in the form of `bench`, a function each.

The service is another process on loopback (`loopback`) with a round trip of 30 ms; a caller's own cost is that of the bare client in the
same run. What the machine does beside it is part of the measurement: so fan-outs are measured idle and with both cores loaded.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from slotwise.fuzz.bench import Figure, NotAvailable, at_most, native, plain, seconds
from slotwise.spec import batching_vocabulary as v

TRIP = 0.03
BRANCHES = 200


def live() -> Any:
    """The modules that need the engine, and those that need the libraries of the `test` extra."""
    native()
    try:
        import httpx  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise NotAvailable(f"install slotwise[test]: {error}") from None
    from slotwise.fuzz import loopback

    return loopback


def profiles() -> dict[str, v.Profile]:
    """Those that are compared: the default, the choice that saves calls, and the published rule in the same threads."""
    from slotwise.impl.checkpoint import FEWEST_CALLS, UNCOUNTED

    return {"slotwise": v.PROFILES["slotwise"], "slotwise, V = 1, C = 50": FEWEST_CALLS, "slotwise, uncounted": UNCOUNTED, "rule of 3.0.0": v.PROFILES["aws-durable-3.0.0"]}


def sdk() -> Any:
    """The published package, if it is installed beside this."""
    try:
        from slotwise.fuzz.upstream import durable_live
    except ImportError:
        return None
    return durable_live


MISSING = Figure("the published SDK beside it", None, "", "", None, "", "not available: install aws-durable-execution-sdk-python 3.0.0")


@contextmanager
def service() -> Iterator[Any]:
    """A service with its journal, and no more of it afterwards."""
    loopback = live()
    with tempfile.TemporaryDirectory() as place, loopback.Service(Path(place) / "journal") as it:
        yield it


@contextmanager
def loaded(processes: int) -> Iterator[None]:
    """So many processes that compute without end."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


@contextmanager
def batcher(url: str, profile: v.Profile | str = "slotwise") -> Iterator[tuple[Any, Any]]:
    from slotwise.impl.checkpoint import CheckpointBatcher

    client = live().HttpClient(url)
    client.connect()
    try:
        with CheckpointBatcher(client, profile) as it:
            yield it, client
    finally:
        client.close()


# A decision --------------------------------------------------------------------------------------------------------------------------


def decision(operations: int = 20_000) -> list[Figure]:
    """What the engine costs a Python caller: an operation's submit, and its part of the pump and of the answer."""
    engine = native().Batcher

    def drive(size: int, sync: bool) -> None:
        it, at = engine("slotwise"), 0
        for batch in range(operations // size):
            for i in range(size):
                it.submit(f"op{i}", 100, sync, at=at)
            while it.pump(at=at)[-1][0] != "send":
                at += 200 * v.MILLISECOND
            at += 30 * v.MILLISECOND
            it.respond(f"t{batch}", at, at=at)

    def names(size: int) -> None:
        for batch in range(operations // size):
            for i in range(size):
                f"op{i}"
            f"t{batch}"

    figures = []
    for size, sync in ((1, True), (16, True), (250, True), (250, False)):
        spent = median(seconds(partial(drive, size, sync)) - seconds(partial(names, size)) for _ in range(5)) / operations * 1e6
        figures.append(at_most(f"collector decision per operation, {size} {'sync' if sync else 'async'} a request", spent, "µs", 2, "submit, pump and respond from Python"))
    return figures


def caller_cost(operations: int = 20_000) -> list[Figure]:
    """What the batcher costs beside that: CPU time of the whole process, with a client that answers at once."""
    native()
    from slotwise.impl.checkpoint import Answer, CheckpointBatcher, Update

    class Null:
        calls = 0

        def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
            self.calls += 1
            return Answer("t")

        def fetch(self, marker: str, token: str) -> Any:
            raise NotImplementedError

    def drive(sync: bool) -> None:
        with CheckpointBatcher(Null()) as it, it.running():
            for _ in range(operations):
                it.submit("op", b"x", sync=sync)

    return [plain(f"the batcher's whole cost per {name} operation", seconds(partial(drive, sync)) / operations * 1e6, "µs", "one producer, a client that answers at once; CPU time")
            for name, sync in (("sync", True), ("async", False))]  # fmt: skip


# Fan-out -----------------------------------------------------------------------------------------------------------------------------


class Pool:
    """Threads that exist already, each waiting for a branch; or else a new thread for each branch."""

    def __init__(self, size: int, spawned: bool) -> None:
        self.spawned = spawned
        self.gates = [threading.Semaphore(0) for _ in range(size)]
        self.work: Callable[[int], None] | None = None
        self.threads = [] if spawned else [threading.Thread(target=self.serve, args=(i,), daemon=True) for i in range(size)]
        for thread in self.threads:
            thread.start()

    def serve(self, i: int) -> None:
        while True:
            self.gates[i].acquire()
            if self.work is None:
                return
            self.work(i)

    def start(self, i: int) -> None:
        if self.spawned:
            threading.Thread(target=self.work, args=(i,), daemon=True).start()
        else:
            self.gates[i].release()

    def close(self) -> None:
        self.work = None
        for gate in self.gates:
            gate.release()


def fan_out(it: Any, pool: Pool, branches: int = BRANCHES) -> float:
    """A coordinator and its branches, each a context with one step. Seconds. The coordinator credits all before it starts the first, and
    takes over the credit of the last."""
    finished, last, lock = threading.Event(), [branches], threading.Lock()

    def branch(i: int) -> None:
        with it.running(credited=True):
            it.submit(f"b{i}", b"start of a branch", sync=False, parent="p")
            it.submit(f"s{i}", b"start of a step", sync=False, parent=f"b{i}")
            it.submit(f"s{i}", b"end of a step", parent=f"b{i}")
            it.submit(f"b{i}", b"end of a branch", parent="p", ends=True)
            with lock:
                last[0] -= 1
                if last[0]:
                    return
            it.credit(1)
        finished.set()

    pool.work = branch
    begun = time.monotonic()
    with it.running():
        it.submit("p", b"start", sync=False)
        it.credit(branches)
        for i in range(branches):
            pool.start(i)
        it.credit(-1)
        finished.wait()
        it.submit("p", b"end", ends=True)
    return time.monotonic() - begun


def fan_outs(rounds: int = 4, branches: int = BRANCHES) -> list[Figure]:
    """Calls and latency, for each profile; idle and loaded; with threads that exist and threads that are spawned."""
    live()
    figures, theirs = [], sdk()
    for load in (0, os.cpu_count() or 1):
        for spawned in (False, True):
            found: dict[str, list[tuple[int, float]]] = {}
            with loaded(load):
                for _ in range(rounds):
                    for name, profile in profiles().items():
                        pool = Pool(branches, spawned)
                        with service() as it, batcher(it.url, profile) as (batching, client):
                            took = fan_out(batching, pool, branches)
                            found.setdefault(name, []).append((client.calls, took))
                        pool.close()
                    if theirs and spawned:
                        with service() as it:
                            client = live().HttpClient(it.url)
                            client.connect()
                            took = theirs.fan_out(client, branches)
                            found.setdefault(f"SDK {theirs.VERSION}", []).append((client.calls, took))
                            client.close()
            where = f"{'loaded' if load else 'idle'}, {'spawned' if spawned else 'waiting'} threads"
            for name, runs in found.items():
                calls, times = sorted(c for c, _ in runs), [t * 1000 for _, t in runs]
                figures += [plain(f"fan-out of {branches}, {where}, {name}: calls", median(calls), "calls", f"{' '.join(map(str, calls))}; the least is 5"),
                            plain(f"fan-out of {branches}, {where}, {name}: latency", median(times), "ms", f"{min(times):.0f} to {max(times):.0f}")]  # fmt: skip
    return figures if theirs else [*figures, MISSING]


# Many operations ---------------------------------------------------------------------------------------------------------------------


def resident() -> float:
    """MB of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def many(operations: int = 100_000, producers: int = 64) -> list[Figure]:
    """Producers with steps, each a start (async) and its end (sync): all told once, all durable in order, and memory that does not grow."""
    rounds, marks, lock, told = operations // (2 * producers) + 1, [0.0, 0.0], threading.Lock(), [0]

    def produce(it: Any, who: int) -> None:
        with it.running():
            for i in range(rounds):
                it.submit(f"{who}.{i}", b"start", sync=False)
                it.submit(f"{who}.{i}", b"end")
                with lock:
                    told[0] += 1
                    if told[0] in (rounds * producers // 10, rounds * producers * 9 // 10):
                        marks[told[0] > rounds * producers // 2] = resident()

    with service() as it, batcher(it.url) as (batching, client):
        threads = [threading.Thread(target=produce, args=(batching, who), daemon=True) for who in range(producers)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.monotonic() - begun
        names = [name for request in it.requests() for name in request]
        mine: dict[str, list[int]] = {}
        for name in names:
            who, i = name.split(".")
            mine.setdefault(who, []).append(int(i))
        right = told[0] == rounds * producers and len(mine) == producers and all(found == [i for i in range(rounds) for _ in "ab"] for found in mine.values())
    note = f"{producers} producers, {client.calls:,} requests"
    return [Figure(f"{len(names):,} operations: each told once, durable once, in order", float(right), "right", "= 1", right, "", note),
            at_most(f"{len(names):,} operations: growth of memory from a tenth to nine tenths", marks[1] - marks[0], "MB", 5, f"{marks[0]:.1f} MB at a tenth"),
            plain(f"{len(names):,} operations", len(names) / took, "operations/s", f"{took:.1f} s")]  # fmt: skip


BENCHES: dict[str, Callable[[], list[Figure]]] = {
    "collector-decision": decision, "batcher-cost": caller_cost, "fan-out-live": fan_outs, "checkpoint-many": many,
}  # fmt: skip
