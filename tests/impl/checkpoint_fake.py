"""A client of the checkpoint batcher that does as it is told, and those who use it."""
from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from slotwise.impl.checkpoint import Answer, CheckpointBatcher, CheckpointError, Page, Update
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector as spec
from slotwise.spec import trace

LONG = 120                                # seconds: what takes longer hangs
LATER = 1000 * v.SECOND                   # ns: never, in a test
QUICK = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(quiet=v.MILLISECOND))
PATIENT = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(quiet=LATER, collection=LATER))    # nothing is sent because time has passed
Script = Callable[[int, list[Update]], Answer | None]


class Fake:
    """A service of this process. `script(number, updates)` may answer in its stead, raise, or take its time."""

    def __init__(self, script: Script | None = None, delay: float = 0) -> None:
        self.script, self.delay = script, delay
        self.durable: list[Update] = []
        self.calls: list[int] = []                           # how many updates each carried
        self.fetched: list[tuple[str, str]] = []
        self.pages: dict[str, Page] = {}
        self.token = "token-0"
        self.busy = threading.Lock()

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
        assert self.busy.acquire(blocking=False), "two requests at once"
        try:
            assert token == self.token
            self.calls.append(len(updates))
            if self.delay:
                time.sleep(self.delay)
            answer = self.script(len(self.calls), list(updates)) if self.script else None
            self.durable += updates
            self.token = f"token-{len(self.calls)}"
            return answer or Answer(self.token, time.time_ns() if updates else None)
        finally:
            self.busy.release()

    def fetch(self, marker: str, token: str) -> Page:
        self.fetched.append((marker, token))
        return self.pages[marker]

    @property
    def names(self) -> list[str]:
        return [update.id for update in self.durable]


class Once:
    """What became of each call, which must be told once."""

    def __init__(self) -> None:
        self.told: dict[str, str] = {}
        self.lock = threading.Lock()

    def note(self, id: str, error: BaseException | None) -> None:
        with self.lock:
            assert id not in self.told, f"{id} was told twice"
            self.told[id] = "ok" if error is None else type(error).__name__

    def submit(self, batcher: CheckpointBatcher, id: str) -> bool:
        try:
            batcher.submit(id, b"x")
        except CheckpointError as error:
            self.note(id, error)
            return False
        self.note(id, None)
        return True


@contextmanager
def threads(*works: Callable[[], object]) -> Iterator[None]:
    """All of them at once; they end well, and none hangs."""
    broken: list[BaseException] = []

    def run(work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:
            broken.append(error)

    running = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in running:
        thread.start()
    yield
    for thread in running:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in running), "somebody was never told"
    if broken:
        raise broken[0]


@contextmanager
def batcher(client: Fake, profile: v.Profile | str = "slotwise") -> Iterator[CheckpointBatcher]:
    """One whose every command is replayed on the specification in the end, which must see the same; and which has kept nothing."""
    sink = io.BytesIO()
    it = CheckpointBatcher(client, profile, record=sink)
    try:
        yield it
    finally:
        with suppress(CheckpointError):
            it.close(LONG)
        replays_equal(sink.getvalue())
        assert len(it._kept) == 0


def replays_equal(data: bytes) -> None:
    recorded = trace.decode(data)
    model = spec.collector(recorded.header.profile, recorded.header.setup)
    for step in recorded.steps:
        assert [list(seen) for seen in step.saw or ()] == [list(seen) for seen in msgspec.to_builtins(spec.step(model, step.command))], step.command
    assert recorded.steps


def wait_for(what: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not what():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.001)


def stepwise() -> tuple[Fake, list[threading.Event], list[threading.Event]]:
    """A client whose first three requests come (the first events) and are answered (the second events) as the test says."""
    come, go = [threading.Event() for _ in range(3)], [threading.Event() for _ in range(3)]

    def script(number: int, updates: list[Update]) -> None:
        if number <= len(come):
            come[number - 1].set()
            assert go[number - 1].wait(LONG)

    return Fake(script), come, go
