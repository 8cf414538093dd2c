"""The checkpoint batcher against a service in another process, over loopback HTTP, with a round trip of 30 ms and all that can befall one."""
from __future__ import annotations

import io
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from slotwise.impl import checkpoint_client as errors
from slotwise.impl.checkpoint import Answer, CheckpointBatcher, CheckpointError, Update
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector as spec
from slotwise.spec import trace

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

from slotwise.fuzz.loopback import Behaviour, HttpClient, Service, ServiceError

from .checkpoint_fake import wait_for

LONG = 120                                 # seconds: what takes longer hangs
PRODUCERS = 64


class Clock:
    """That of this machine, which can be stopped."""

    def __init__(self) -> None:
        self.stands_at: int | None = None

    def __call__(self) -> int:
        return time.monotonic_ns() if self.stands_at is None else self.stands_at

    @contextmanager
    def stopped(self) -> Iterator[None]:
        self.stands_at = time.monotonic_ns()
        yield
        self.stands_at = None


@contextmanager
def batcher(service: Service, patience: float = 0, clock: Callable[[], int] = time.monotonic_ns) -> Iterator[tuple[CheckpointBatcher, HttpClient]]:
    """Its every command is replayed on the specification in the end."""
    sink, client = io.BytesIO(), HttpClient(service.url, patience)
    it = CheckpointBatcher(client, record=sink, clock=clock)
    try:
        yield it, client
    finally:
        with suppress(CheckpointError):
            it.close(LONG)
        client.close()
    recorded = trace.decode(sink.getvalue())
    model = spec.collector(recorded.header.profile, recorded.header.setup)
    for step in recorded.steps:
        assert [tuple(seen) for seen in step.saw or ()] == spec.step(model, step.command), step.command
    assert len(it._kept) == 0


class Producers:
    """64 threads of steps, each a start (async) and its end (sync). `told` counts the ends by what became of them."""

    def __init__(self, it: CheckpointBatcher, steps: int) -> None:
        self.it, self.steps = it, steps
        self.durable: list[str] = []
        self.told: Counter[str] = Counter()
        self.errors: list[CheckpointError] = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.produce, args=(who,), daemon=True) for who in range(PRODUCERS)]
        for thread in self.threads:
            thread.start()

    def produce(self, who: int) -> None:
        with self.it.running():
            for i in range(self.steps):
                try:
                    self.it.submit(f"{who}.{i}", b"start", sync=False)
                    self.it.submit(f"{who}.{i}", b"end")
                except CheckpointError as error:
                    with self.lock:
                        self.told[type(error).__name__] += 1
                        self.errors.append(error)
                    return
                with self.lock:
                    self.told["ok"] += 1
                    self.durable.append(f"{who}.{i}")

    def join(self) -> None:
        for thread in self.threads:
            thread.join(LONG)
        assert not any(thread.is_alive() for thread in self.threads), "somebody was never told"


def orderly(requests: list[list[str]], steps: int) -> None:
    """Each producer's updates are durable once, in its order, from its first on."""
    names = [name for request in requests for name in request]
    for who in range(PRODUCERS):
        mine = [name for name in names if name.startswith(f"{who}.")]
        assert mine == [f"{who}.{i}" for i in range(steps) for _ in "ab"][: len(mine)]
    assert all(len(request) <= 250 for request in requests)


@pytest.mark.parametrize("behaviour", [Behaviour(), Behaviour(slow={3: 0.5, 5: 0.2})], ids=["as usual", "slow"])
def test_nothing_is_lost(tmp_path: Path, behaviour: Behaviour) -> None:
    with Service(tmp_path / "journal", behaviour) as service, batcher(service) as (it, client):
        checkpoint = client.checkpoint

        def together(token: str, updates: Sequence[Update]) -> Answer:
            if not client.calls:                                                # else each may come and go before the next one starts
                wait_for(lambda: len(it._kept._blocked) == PRODUCERS)
            return checkpoint(token, updates)

        client.checkpoint = together  # type: ignore[method-assign]
        Producers(it, steps := 10).join()
        it.close(LONG)
        requests = service.requests()
        orderly(requests, steps)
        assert sum(map(len, requests)) == PRODUCERS * steps * 2
        assert len(requests) == client.calls < PRODUCERS * steps


def test_killed_and_restarted(tmp_path: Path) -> None:
    """A client that tries again goes on where it was: an answer that was lost on its way comes again, and nothing is done twice."""
    with Service(tmp_path / "journal", Behaviour(out=0.005, back=0.01)) as service, batcher(service, patience=LONG) as (it, _):
        work = Producers(it, steps := 25)
        for kill in range(3):
            while len(service.requests()) < 6 * (kill + 1):
                time.sleep(0.001)
            service.kill()
            service.start()
        work.join()
        it.close(LONG)
        orderly(service.requests(), steps)
        assert work.told == {"ok": PRODUCERS * steps}
        assert Counter(name for request in service.requests() for name in request) == {f"{who}.{i}": 2 for who in range(PRODUCERS) for i in range(steps)}


@pytest.mark.parametrize("how", ["killed", "fails", "ends"])
def test_everybody_is_told(tmp_path: Path, how: str) -> None:
    """A client that does not try again ends the collector; everybody has the first error, and what was told durable is."""
    behaviour = {"killed": Behaviour(slow={6: LONG}), "fails": Behaviour(fails=(6,)), "ends": Behaviour(ends=6)}[how]
    with Service(tmp_path / "journal", behaviour) as service, batcher(service) as (it, client):
        far = it.refresh("far", due=10**15)
        work = Producers(it, steps := 50)
        if how == "killed":
            while client.calls < 6:
                time.sleep(0.001)
            service.kill()
        work.join()
        expected: type[CheckpointError] = errors.Suspended if how == "ends" else errors.Failed
        for attempt in (partial(far.result, LONG), partial(it.submit, "late", b""), partial(it.close, LONG)):
            with pytest.raises(expected) as caught:
                attempt()
            work.errors.append(caught.value)
        assert work.told[expected.__name__] == PRODUCERS
        first = {id(error.__cause__) for error in work.errors}
        assert len(first) == 1
        if how == "fails":
            assert isinstance(work.errors[0].__cause__, ServiceError)
        requests = service.requests()
        orderly(requests, steps)
        assert len(requests) == (6 if how == "ends" else 5)
        durable = Counter(name for request in requests for name in request)
        assert all(durable[name] == 2 for name in work.durable)


def test_pages_and_waits(tmp_path: Path) -> None:
    """Forty waits that end together are one wave though the answer has fourteen pages; nobody goes on before the service's own stamp."""
    waves: list[tuple[list[str], int]] = []
    done, clock = threading.Event(), Clock()
    with Service(tmp_path / "journal", Behaviour(page=3)) as service, batcher(service, clock=clock) as (it, client):

        def told(ids: list[str], error: CheckpointError | None) -> None:
            assert error is None
            waves.append((ids, time.time_ns()))
            if sum(len(ids) for ids, _ in waves) == 40:
                done.set()

        for i in range(40):
            it.submit(f"w{i}", b'{"wait": 0.3}', sync=i == 39)
        key = max(client.ends.values())
        with clock.stopped():                                                   # none is due before all are there
            for i in reversed(range(40)):
                it.refresh(f"w{i}", key=key, owner="all", index=i, told=told)
        assert done.wait(LONG)
        assert [ids for ids, _ in waves] == [[f"w{i}" for i in range(40)]]
        assert waves[0][1] >= key


def test_a_wait_in_each_thread(tmp_path: Path) -> None:
    """Steps, waits that each thread waits for, and a cancelled one, mixed."""
    resumed: list[str] = []
    with Service(tmp_path / "journal") as service, batcher(service) as (it, client):

        def branch(who: int) -> None:
            with it.running():
                it.submit(f"{who}.a", b"")
                it.submit(f"{who}.w", b'{"wait": %.2f}' % (0.05 + who % 3 * 0.1 if who % 8 else 1000))
                wait = it.refresh(f"{who}.w", key=client.ends[f"{who}.w"], owner=str(who))
                if who % 8 == 0:
                    it.cancel(owner=str(who))
                    with pytest.raises(errors.Cancelled):
                        wait.result(LONG)
                    return
                wait.result(LONG)
                assert time.time_ns() >= client.ends[f"{who}.w"]
                it.submit(f"{who}.b", b"")
                resumed.append(f"{who}")

        threads = [threading.Thread(target=branch, args=(who,), daemon=True) for who in range(PRODUCERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert sorted(resumed) == sorted(str(who) for who in range(PRODUCERS) if who % 8)
        assert it._engine.state()["running"] == 0


def test_the_clock_of_the_caller_is_wrong(tmp_path: Path) -> None:
    """One stamped answer is enough to know the service's clock, as well as the round trip says."""
    with Service(tmp_path / "journal") as service:
        client, asked = HttpClient(service.url), list[int]()
        checkpoint = client.checkpoint

        def noted(token: str, updates: Sequence[Update]) -> Answer:
            asked.append(time.time_ns())
            return checkpoint(token, updates)

        client.checkpoint = noted  # type: ignore[method-assign]
        with CheckpointBatcher(client, hint=time.time_ns() + 500 * v.SECOND) as it:
            begun = time.time_ns()
            it.submit("w", b'{"wait": 0.5}')
            trip = time.time_ns() - begun
            it.refresh("w", key=client.ends["w"]).result(LONG)
        client.close()
        assert asked[1] > client.ends["w"] - trip - v.MILLISECOND
