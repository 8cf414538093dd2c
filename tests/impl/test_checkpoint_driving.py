"""A caller of the checkpoint batcher who waits makes the request itself: what it leaves to others, and what harms nobody else."""
from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

import pytest

from slotwise.impl import checkpoint_client as errors
from slotwise.impl.checkpoint import Answer, CheckpointBatcher, CheckpointError, Misuse, Update
from slotwise.spec import batching_vocabulary as v

from .checkpoint_fake import LATER, LONG, PATIENT, QUICK, Fake, Once, batcher, stepwise, threads, wait_for


class Seen(Fake):
    """Which threads made the requests."""

    def __init__(self) -> None:
        super().__init__(self.note)
        self.threads: list[threading.Thread] = []

    def note(self, number: int, updates: list[Update]) -> None:
        self.threads.append(threading.current_thread())


@pytest.mark.parametrize("callers_drive", [True, False])
def test_who_makes_the_request(callers_drive: bool) -> None:
    """A caller that waits, but not the main thread."""
    client, callers = Seen(), []
    with CheckpointBatcher(client, PATIENT, callers_drive=callers_drive) as it:       # else what nobody waits for would go alone, if the caller is slow

        def caller() -> None:
            callers.append(threading.current_thread())
            it.submit("a", b"")
            it.submit("a", b"", sync=False)
            it.submit("b", b"")

        with threads(caller):
            pass
        it.submit("c", b"")
        assert client.threads == [callers[0] if callers_drive else it._thread] * 2 + [it._thread]


def queued(it: CheckpointBatcher) -> None:
    it.submit("queued", b"", sync=False)


def asked(it: CheckpointBatcher) -> None:
    it.submit("asked", sync=False)


def refreshed(it: CheckpointBatcher) -> None:
    it.refresh("refreshed", due=it.now() + 20 * v.MILLISECOND)


@pytest.mark.parametrize("leave", [queued, asked, refreshed])
def test_what_is_left_is_done(leave: Callable[[CheckpointBatcher], None]) -> None:
    """The one who drives goes on as soon as it is told; what came meanwhile, and nobody waits for, is the collector's own thread's."""
    client, come, go = stepwise()
    with batcher(client, QUICK) as it:
        with threads(lambda: it.submit("first", b"")):
            assert come[0].wait(LONG)
            assert it._driver not in (None, it._thread)
            leave(it)
            wait_for(lambda: it._asleep)                                            # it has seen that somebody drives
            go[0].set()
        assert come[1].wait(LONG)
        assert it._driver is it._thread
        go[1].set()
        go[2].set()
        wait_for(lambda: len(client.durable) + (leave is not queued) == 2 and it._asleep)
        assert not it._look
        it.close(LONG)


def test_one_drives_at_a_time() -> None:
    """Who comes meanwhile waits to be told, like anybody."""
    client, come, go = stepwise()
    with batcher(client) as it, threads(lambda: it.submit("first", b"")):
        assert come[0].wait(LONG)
        first = it._driver
        with threads(lambda: it.submit("second", b"")):
            wait_for(lambda: len(it._kept) == 3)                                    # with its body
            wait_for(lambda: it._asleep)
            assert it._driver is first
            for event in go:
                event.set()
    assert client.names == ["first", "second"]


def test_close_waits_until_everybody_is_told() -> None:
    """Whoever drives may still be telling when the collector has nothing more to do."""
    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["op"]))
    telling, go = threading.Event(), threading.Event()
    with batcher(client) as it:

        def told(ids: list[str], error: CheckpointError | None) -> None:
            telling.set()
            assert go.wait(LONG)

        it.refresh("op", key=time.time_ns() + LATER, told=told)
        with threads(lambda: it.submit("first", b"")):
            assert telling.wait(LONG)
            first = it._driver
            with threads(lambda: it.submit("second", b"")):
                wait_for(lambda: len(it._kept) == 2)                                # with its body
                assert it._driver is first
                with pytest.raises(TimeoutError):
                    it.close(0.05)
                assert (it.over, client.names) == (None, ["first"])
                go.set()
            it.close(LONG)
    assert client.names == ["first", "second"]


@pytest.mark.parametrize("how", ["stop", "fail", "revoke"])
def test_the_end_while_a_caller_drives(how: str) -> None:
    """The collector's own thread ends then, though nothing is left."""
    answers: dict[str, Callable[[], Answer | None]] = {"stop": lambda: None, "fail": lambda: 1 / 0, "revoke": lambda: Answer(None)}  # type: ignore[dict-item, return-value]
    arrived, go = threading.Event(), threading.Event()
    told: list[str] = []

    def script(number: int, updates: list[Update]) -> Answer | None:
        arrived.set()
        assert go.wait(LONG)
        return answers[how]()

    def first() -> None:
        try:
            it.submit("first", b"")
            told.append("ok")
        except CheckpointError as error:
            told.append(type(error).__name__)

    with batcher(Fake(script)) as it:
        with threads(first):
            assert arrived.wait(LONG)
            if how == "stop":
                it.stop()
                with pytest.raises(TimeoutError):
                    it.close(0)
            wait_for(lambda: it._asleep)
            go.set()
        it._thread.join(LONG)
        assert it.over == {"stop": "stopped", "fail": "failed", "revoke": "revoked"}[how]
        assert told == [{"stop": "ok", "fail": "Failed", "revoke": "Suspended"}[how]]


@pytest.mark.parametrize("raised", [OSError, KeyboardInterrupt, SystemExit, RecursionError])
def test_whatever_the_client_raises_everybody_is_told(raised: type[BaseException]) -> None:
    """Also the one who called it: nobody is stranded, and the threads of the callers live on."""
    def script(number: int, updates: list[Update]) -> None:
        if number == 3:
            raise raised

    once = Once()
    causes: list[BaseException | None] = []

    def produce(who: int) -> None:
        with it.running():
            i = 0
            try:
                while True:
                    it.submit(f"{who}.{i}", b"")
                    i += 1
            except errors.Failed as error:
                causes.append(error.__cause__)
                once.note(str(who), error)

    with batcher(Fake(script, delay=0.002)) as it, threads(*(partial(produce, who) for who in range(16))):
        pass
    assert once.told == {str(who): "Failed" for who in range(16)}
    assert {type(cause) for cause in causes} == {raised}
    assert len(causes) == 16


def test_a_defect_is_told_by_whoever_meets_it(caplog: pytest.LogCaptureFixture) -> None:
    it, found = CheckpointBatcher(Fake()), []
    it._kept.take = {}.__getitem__    # type: ignore[method-assign, assignment]

    def caller() -> None:
        with pytest.raises(errors.Failed) as caught:
            it.submit("a", b"")
        found.append(type(caught.value.__cause__))

    with threads(caller):
        pass
    assert found == [KeyError]
    with pytest.raises(errors.Failed):
        it.close(LONG)
    assert "the collector's thread failed" in caplog.text


def test_a_callback_while_a_caller_drives() -> None:
    """It may close and submit, and wait for nothing; the caller is who it was afterwards."""
    found: list[object] = []
    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["op"]))
    with batcher(client, QUICK) as it:

        def callback(ids: list[str], error: CheckpointError | None) -> None:
            found.append(threading.current_thread())
            for wait in (partial(it.submit, "a", b""), other.result):
                with pytest.raises(Misuse, match="would wait for itself"):
                    wait()
            it.submit("b", b"", sync=False)
            it.close()

        other = it.refresh("other", due=10**15)
        it.refresh("op", key=time.time_ns() + LATER, told=callback)         # shown before

        def caller() -> None:
            it.submit("first", b"")
            found.append(threading.current_thread())

        with threads(caller):
            pass
        it._thread.join(LONG)
        assert found[0] is found[1]
    assert client.names == ["first", "b"]


@pytest.mark.parametrize("others", [["c"], []], ids=["with others", "alone"])
@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit])
def test_a_callback_that_exits_strands_nobody(raised: type[BaseException], others: list[str]) -> None:
    """All that the answer tells are told; then it ends the collector, and everybody else is told of that."""
    client = Fake(lambda number, updates: Answer(f"token-{number}", None, ["a", "b"]))
    once = Once()

    def exits(ids: list[str], error: CheckpointError | None) -> None:
        once.note(ids[0], error)
        raise raised

    with batcher(client) as it:
        key = time.time_ns() + LATER
        it.refresh("a", key=key, owner="a", told=exits)
        it.refresh("b", key=key, owner="b", told=lambda ids, error: once.note("b", error))
        for other in others:
            it.refresh(other, key=key, owner=other, told=lambda ids, error: once.note(ids[0], error))
        with threads(lambda: once.submit(it, "first")):
            pass
        it._thread.join(LONG)
        assert not it._thread.is_alive()
        assert once.told == {"a": "ok", "b": "ok", "first": "ok", **dict.fromkeys(others, "Failed")}
        assert it.cancel(owner="c") == 0
        with pytest.raises(errors.Failed) as caught:
            it.close(LONG)
        assert isinstance(caught.value.__cause__, raised)


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_an_interrupt_of_the_main_thread_harms_nobody_else() -> None:
    """It does not make requests, and so it can be interrupted while it waits for one."""
    client, come, go = stepwise()
    once, main = Once(), threading.main_thread().ident
    assert main == threading.get_ident()
    interrupted: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        if not interrupted:
            interrupted.append(number)
            raise KeyboardInterrupt

    with handled_by(handler), batcher(client) as it:

        def interrupt() -> None:
            assert come[0].wait(LONG)
            while not interrupted:                                                  # one may come just before it waits, and is not seen then
                signal.pthread_kill(main, signal.SIGUSR1)
                time.sleep(0.001)

        def other() -> None:
            assert come[1].wait(LONG)
            go[1].set()
            assert once.submit(it, "other")

        go[2].set()
        with threads(interrupt):
            with pytest.raises(KeyboardInterrupt):
                it.submit("mine", b"")
            it.submit("later", b"", sync=False)
            go[0].set()
        with threads(other):
            pass
        it.close(LONG)
        assert it.over == "stopped"
    assert client.names == ["mine", "later", "other"]
    assert once.told == {"other": "ok"}


@pytest.mark.parametrize("callers_drive", [True, False])
def test_memory_is_bounded(callers_drive: bool) -> None:
    """Of 64 producers nothing is kept but what each has submitted last: its start and its end. So it is at every request, however many come."""
    producers, rounds, most, seen = 64, 120, Counter[str](), Counter[str]()

    class Client:
        calls = 0

        def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
            self.calls += 1
            assert token == f"token-{self.calls - 1}"
            if self.calls == 1:                                                         # the first answer comes when all are blocked: else each may come and go before the next one starts
                wait_for(lambda: len(it._kept._blocked) == producers)
            seen.update(update.id for update in updates)
            with it._lock:
                state: dict[str, Any] = it._engine.state()
                sizes = {name: len(value) for name, value in state.items() if isinstance(value, (list, dict))}
                sizes |= {"bodies": len(it._kept._queue), "blocked": len(it._kept._blocked), "waits": len(it._kept._waits)}
            for name, size in sizes.items():
                most[name] = max(most[name], size)
            return Answer(f"token-{self.calls}", time.time_ns())

        def fetch(self, marker: str, token: str) -> Any:
            raise NotImplementedError

    told: list[Counter[str]] = [Counter() for _ in range(producers)]

    def produce(who: int) -> None:
        with it.running():
            for i in range(rounds):
                it.submit(f"{who}.{i}", b"start", sync=False)
                it.submit(f"{who}.{i}", b"end")
                assert seen[f"{who}.{i}"] == 2                                      # durable before its producer goes on
                told[who][f"{who}.{i}"] += 1

    with CheckpointBatcher(Client(), callers_drive=callers_drive) as it, threads(*(partial(produce, who) for who in range(producers))):
        pass
    every = [f"{who}.{i}" for who in range(producers) for i in range(rounds)]
    assert seen == dict.fromkeys(every, 2)
    assert sum(told, Counter()) == dict.fromkeys(every, 1)
    bounds = Counter({"queue": 2 * producers, "bodies": 2 * producers, "blocked": producers, "flight": 2 * producers, "ring": v.LookAhead().remembered})
    assert {name: size for name, size in most.items() if size > bounds[name]} == {}
    assert most["blocked"] == producers
    assert it._engine.state()["queue"] == []
