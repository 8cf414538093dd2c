"""Requests that depend on each other, through the live scheduler to a server in another process: all answers, never above the cap, all drained."""
from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from slotwise.fuzz import demo
from slotwise.fuzz import requests_dag as dag
from slotwise.fuzz.inference import Endpoint, Inference, reply
from slotwise.fuzz.loopback import Behaviour, Service
from slotwise.fuzz.served import with_our_path
from slotwise.impl import snapshot as s
from slotwise.impl.scheduler import Scheduler
from slotwise.impl.spin_pool import SpinPool

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])
CAPACITY = 3
LONG = 180                                   # seconds: what takes longer hangs
TIMES = {"slow": 0.02, "fast": 0.002}
#: Long enough for as many as may to be there at once, on a slow machine too.
SLOWER = {"slow": 0.3, "fast": 0.002}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Inference(Endpoint(CAPACITY, every=5, times=SLOWER)) as it:
        yield it.url


@pytest.fixture(scope="module")
def quick() -> Iterator[str]:
    with Inference(Endpoint(CAPACITY, every=5, times=TIMES)) as it:
        yield it.url


def drained(shot: s.Snapshot) -> bool:
    return shot.leases == 0 and all(group.waiting == group.running == group.backing_off == 0 for group in shot.groups)


@both
def test_slow_to_fast(backend: str, url: str) -> None:
    async def main() -> None:
        async with dag.Client(url) as client:
            await client.stats(reset=True)
            async with Scheduler({dag.LLM: CAPACITY}, dag.slow_to_fast_groups(CAPACITY), check=True) as it:
                answers = await dag.slow_to_fast(it, client, 10)
                shot = it.snapshot()
            stats = await client.stats()
        assert answers == [dag.right_answer(i) for i in range(10)] == [reply("fast", reply("slow", f"record {i}")) for i in range(10)]
        assert drained(shot)
        assert stats["answered"] == {"slow": 10, "fast": 10}
        assert (stats["peak"], stats["over_capacity"], stats["active"], client.answered) == (CAPACITY, 0, 0, 20)
        retried = sum(group.retried for group in shot.groups)
        assert client.refused == stats["refused"] == retried > 0
        assert sum(stats["requests"].values()) == 20 + retried
        assert all(group.failed == 0 for group in shot.groups)

    anyio.run(main, backend=backend)


def test_a_wrong_answer_is_an_error(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag, "reply", lambda model, question: "another")

    async def main() -> None:
        async with dag.Client(url) as client, Scheduler({dag.LLM: CAPACITY}) as it:
            with pytest.raises(dag.EndpointError, match="fast said 'fast-"):
                await it.submit(client.ask, "fast", "why", retry=dag.BACK_OFF)
            with pytest.raises(dag.EndpointError, match=r"status 404: .*model_not_found"):
                await it.submit(client.ask, "none", "why", retry=dag.BACK_OFF)

    anyio.run(main)


@both
def test_the_demo(backend: str, quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "CAPACITY", CAPACITY)
    monkeypatch.setattr(demo, "HUMAN", 0.1)
    monkeypatch.setattr(demo, "IMPORTS", 0.1)
    shots: list[s.Snapshot] = []

    class Watched(Scheduler):
        async def shutdown(self, grace: float = 0.0) -> None:
            shots.append(self.snapshot())
            await super().shutdown(grace)

    monkeypatch.setattr(demo, "Scheduler", Watched)
    pools: list[SpinPool] = []

    def pool_of(*arguments: Any, **named: Any) -> SpinPool:
        pools.append(SpinPool(*arguments, **named))
        return pools[-1]

    monkeypatch.setattr(demo, "SpinPool", pool_of)

    async def main(durable: str) -> dict[str, Any]:
        async with dag.Client(quick) as client:
            await client.stats(reset=True)
        return await demo.work(quick, durable, records=12)

    with Service(tmp_path / "journal", Behaviour(out=0.002, back=0.002)) as durable:
        found = anyio.run(main, durable.url, backend=backend)
        names = [name for request in durable.requests() for name in request]
    assert (found["records"], found["durable"], found["leases"], found["left"]) == (12, 12, 0, 0)
    assert (found["peak"], found["over_capacity"]) == (CAPACITY, 0)
    assert sorted(names) == sorted(f"r{i}{what}" for i in range(12) for what in ("", ".draft", ".judges", ".score", *([".human"] if i % 4 == 0 else [])))
    (shot,) = shots
    groups = {group.name: group for group in shot.groups}
    assert {groups[f"judge-{judge}"].finished for judge in dag.Reviewed.JUDGES} == {groups["draft"].finished} == {groups["summary"].finished} == {12}
    assert all(groups[name].started for name in ("chat", "nightly", "import"))
    assert groups["nightly"].running <= 2
    (batcher,) = shot.batchers
    assert (batcher.updates, batcher.refreshes) == (12 * 4 + 3, 3)
    assert (shot.checks[0].holds, shot.divergences) == (True, ())
    assert [worker.name for worker in shot.workers] == [f"score/w{i}" for i in range(demo.THREADS - 1)]
    (pool,) = pools
    assert pool.counters()["dispatches"] == 12 * demo.LAYERS
    with pytest.raises(RuntimeError, match="this pool is shut down"):
        pool.map(int, 1)


def test_a_score_is_of_the_answer() -> None:
    with SpinPool(2) as pool:
        found = [demo.score(pool, answer) for answer in ("yes", "yes", "no", "\ud800")]
        assert found[0] == found[1] > 0
        assert len(set(found)) == 3


def test_it_ends_after_so_many_seconds(quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "CAPACITY", CAPACITY)
    with Service(tmp_path / "journal") as durable:
        found = anyio.run(lambda: demo.work(quick, durable.url, seconds=0.5))
    assert (found["leases"], found["left"]) == (0, 0)


# the program -------------------------------------------------------------------------------------------------------------------------

PARENT = """
import os, signal, subprocess, sys, time
it = subprocess.Popen([sys.executable, "-m", "slotwise.fuzz.demo"], env={**os.environ, "SLOTWISE_TAP": sys.argv[1]})
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
os.kill(os.getpid() if sys.argv[2] == "parent" else it.pid, signal.SIGKILL if sys.argv[2] == "parent" else signal.SIGTERM)
print(it.wait())
"""


@pytest.mark.parametrize("who", ["parent", "demo"])
def test_nothing_of_the_demo_is_left(who: str, tmp_path: Path) -> None:
    """Everybody has the pipe, so it is only at its end when all are gone."""
    with tempfile.TemporaryDirectory(prefix="sw") as place:
        ended = subprocess.run([sys.executable, "-c", PARENT, f"{place}/tap.sock", who], env={**with_our_path(), "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True, timeout=LONG)
        assert list(Path(place).iterdir()) == list(tmp_path.iterdir()) == []
    assert ended.stdout.splitlines()[0].startswith("the end: ")
    assert ended.stdout.splitlines()[1:] == ([] if who == "parent" else ["0"])
    assert ended.returncode == (-signal.SIGKILL if who == "parent" else 0)


def test_the_demo_ends_by_itself() -> None:
    ended = subprocess.run([sys.executable, "-m", "slotwise.fuzz.demo", "--seconds", "1"], env=with_our_path(), capture_output=True, text=True, timeout=LONG)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.fullmatch(r"the end: \d+ records; the endpoint had at most [0-8] requests at once, of 8\n", ended.stdout)
