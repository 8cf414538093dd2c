"""Checkpoint batching with real threads: producers submit from any thread, one thread collects, and the native engine decides.

The collector's thread does what the engine's pump says: sleeps, until then or until a producer comes; sends, through the client; ends. One
lock is held around the engine and the few maps beside it, never while the client works, and never while somebody is told: the state is
published first. Nothing is kept of what is settled. Times are integer nanoseconds of `now()`.
"""
from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import msgspec

from slotwise.impl._native import Batcher
from slotwise.impl.checkpoint_client import Answer, CheckpointError, Client, Misuse, Page, Update, error_of
from slotwise.impl.checkpoint_record import Recorded, Sink
from slotwise.impl.checkpoint_waits import Item, Outstanding, Telling, Told, Wait, tell
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation

__all__ = ["FEWEST_CALLS", "Answer", "CheckpointBatcher", "CheckpointError", "Client", "Misuse", "Page", "Told", "Update", "Wait"]

log = logging.getLogger(__name__)

# The default sends as soon as waiting is more likely to cost time than to save a request. Where a service's stamps are cut to something
# coarser than the nanosecond, a profile should say so (`resolution`): otherwise refreshes may be asked for a little too soon.
#: `slotwise` with the constants that save calls where producers are slow to come (a loaded machine), at the price of latency: while two
#: or more are counted as running a request waits for a whole round trip of silence, and for up to fifty in all.
FEWEST_CALLS = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(will_come=1, hold=50))
#: `slotwise` where nobody says who is running.
UNCOUNTED = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(counted=False))


class CheckpointBatcher:
    """Batches the updates of one execution to one service.

    `profile` is a profile or its name. The default counts who is running: enter `running()` in every thread that submits, and `outside()`
    around user code in it; if nobody does that, say so with `UNCOUNTED`. `hint` is the service's clock minus `now()` as far as it
    is known, by default this machine's wall clock at the start; keys and stamps must be within 36 years of it. `record` is where the commands are written down as a trace.
    """

    def __init__(
        self, client: Client, profile: v.Profile | str = "slotwise", *, token: str = "token-0", hint: int | None = None,
        record: Sink | None = None, clock: Callable[[], int] = time.monotonic_ns, name: str = "checkpoint-batcher",
    ) -> None:  # fmt: skip
        if isinstance(profile, str):
            if profile not in v.PROFILES:
                raise ValueError(f"no profile is called {profile!r}; there are {', '.join(v.PROFILES)}")
            profile = v.PROFILES[profile]
        self._client, self._clock, self._begun = client, clock, clock()
        self._hint = time.time_ns() if hint is None else hint       # the engine's stamps are counted from there: nanoseconds since 1970 are beyond its range
        self._engine: Batcher | Recorded = Batcher(profile, token=token) if record is None else Recorded(profile, token, record)
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._asleep = False                                # nobody has woken the collector's thread yet
        self._until: int | None = None                      # while it is asleep
        self._kept = Outstanding()
        self._first: BaseException | None = None            # what ended the collector, if an error did
        self._over: str | None = None                       # why it has ended
        self._thread = threading.Thread(target=self._collect, name=name, daemon=True)
        self._thread.start()

    # producers -------------------------------------------------------------------------------------------------------
    def now(self) -> int:
        """The collector's clock."""
        return self._clock() - self._begun

    def submit(
        self, id: str, body: bytes | None = None, *, sync: bool = True, size: int | None = None, parent: str | None = None, ends: bool = False, final: bool = False
    ) -> None:
        """An update of the operation `id`, or an empty one (no body), which only asks for the state. Sync: returns when it is durable, or
        raises a `CheckpointError`. Async: returns at once, and raises only if it was refused; `close` raises if it was lost. `size`:
        what the service counts, if not the body's length. The rest is as in `slotwise.spec.batching_vocabulary.Submit`."""
        if sync:
            self._may_wait()
        if body is not None and not isinstance(body, bytes):
            raise TypeError(f"body must be bytes or None, found {type(body)}")
        weight = size if size is not None else len(body) if body is not None else 0
        item = Item(id, body, sync)
        with self._lock:
            if body is None and self._kept.is_refreshed(id):
                raise Misuse(f"{id}: an empty update and a refresh of one name cannot be told apart")
            (answer,) = self._engine.submit(id, weight, sync, body is None, parent, ends, final, at=self.now())
            why = self._refused(answer)
            if why is None:
                self._kept.add(item)
                self._come()
        outcome = why or (item.wait() if sync else "ok")
        if outcome != "ok":
            raise error_of(outcome, id, self._first)

    def refresh(self, id: str, *, key: int | None = None, due: int | None = None, owner: str = "", index: int = 0, told: Told | None = None) -> Wait:
        """Ask for the state of one operation once it is due: by `key`, the service's own stamp of its end, or by `due`, a time of `now()`.
        Wait for it by the handle's `result`, or be told: `told(ids, error)` is called once for all that go on together, in the
        collector's thread or in the one that settles them; with an error they do not go on."""
        wait = Wait(self, id, owner, told)
        with self._lock:
            if self._kept.is_empty(id):
                raise Misuse(f"{id}: an empty update and a refresh of one name cannot be told apart")
            (answer,) = self._engine.refresh(id, None if key is None else key - self._hint, due, owner, index, at=self.now())
            why = self._refused(answer)
            if answer[0] == "accepted" and why is None:
                self._kept.add_wait(wait)
                self._come()
        if why is not None:
            raise error_of(why, id, self._first)
        if answer[0] == "resumed":
            tell([([wait], "ok")], None)
        return wait

    def cancel(self, id: str | None = None, *, owner: str = "") -> int:
        """Nobody waits any more for the refresh `id`, or else for any of `owner`: they are told so, now. How many they were."""
        with self._lock:
            told = self._kept.told_by(self._engine.cancel(id, owner, at=self.now()))
            self._come()
        tell(told, self._first)
        return len(told)

    # who is running --------------------------------------------------------------------------------------------------
    def credit(self, running: int = 0, outside: int = 0) -> None:
        """So many producers more, or fewer, are running, or outside in user code."""
        with self._lock:
            self._engine.credit(running, outside, at=self.now())
            if (running < 0 or outside < 0) and self._until is not None:    # it may have been waiting for them
                self._come()

    @contextmanager
    def running(self, *, credited: bool = False) -> Iterator[None]:
        """Whoever is in here can submit at any time. `credited`: somebody has credited it before, as a coordinator does with all branches
        that it is about to start, and as the end of a wait does."""
        if not credited:
            self.credit(1)
        try:
            yield
        finally:
            self.credit(-1)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Around what a running producer does that the batcher knows nothing of: user code, sleep, another wait."""
        self.credit(-1, 1)
        try:
            yield
        finally:
            self.credit(1, -1)

    # the end ---------------------------------------------------------------------------------------------------------
    def stop(self) -> None:
        """Accept nothing more; send what there is. Does not wait."""
        with self._lock:
            told = self._kept.told_by(self._engine.stop(at=self.now()))
            self._come()
        tell(told, self._first)

    def close(self, timeout: float | None = None) -> None:
        """Stop, and wait until everything is sent and everybody told. Raises what ended the collector, if it was neither this nor the
        execution's end: then async updates may be lost. TimeoutError: a request is still out after so many seconds. May be called again."""
        self.stop()
        if threading.current_thread() is self._thread:
            return
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError("a request is still out")
        if self._over not in ("stopped", "completed"):
            raise error_of(self._over or "failed", "the batcher", self._first)

    @property
    def over(self) -> str | None:
        """Why the collector has ended, in the words of the vocabulary; None while it has not."""
        return self._over

    def __enter__(self) -> CheckpointBatcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        try:
            self.close()
        except CheckpointError:
            if error is None:                                # the block's own error is the one to see
                raise

    # the collector's thread ------------------------------------------------------------------------------------------
    def _collect(self) -> None:
        try:
            while (request := self._next()) is not None:
                self._exchange(*request)
        except BaseException as error:
            log.exception("the collector's thread failed")
            self._leave("failed", error)

    def _next(self) -> tuple[str, list[Update]] | None:
        """Sleep until something is to be sent. None: there will never be anything more."""
        while True:
            with self._lock:
                saw: Sequence[tuple[Any, ...]] = self._engine.pump(at=self.now())
                told, (word, *what) = self._kept.told_by(saw[:-1]), saw[-1]
                updates = [self._kept.take(id) for id in what[0]] if word == "send" else []
                over = self._engine.state()["over"] if word == "exit" else None
                if word == "sleep" and not told:
                    self._sleep(what[0])
            tell(told, self._first)
            if word == "send":
                return what[2], updates
            if word == "exit":
                self._leave(str(over), self._first)
                return None

    def _sleep(self, until: int | None) -> None:
        self._asleep, self._until = True, until
        self._wake.wait(None if until is None else min(max(0, until - self.now()) / 1e9, threading.TIMEOUT_MAX))
        self._asleep, self._until = False, None

    def _come(self) -> None:
        """Wake the collector's thread, once."""
        if self._asleep:
            self._asleep = False
            self._wake.notify()

    def _exchange(self, token: str, updates: list[Update]) -> None:
        """One request with all the pages of its answer. Everybody is told, and told once."""
        try:
            next_token, stamp, done, marker = self._client.checkpoint(token, updates)
            stamp = None if stamp is None else stamp - self._hint
            told, wanted = self._answered(self._engine.respond, next_token, stamp, done, marker, ends=next_token is None)
            while wanted:
                told, wanted = self._answered(self._engine.page, *self._client.fetch(*wanted))
        except BaseException as error:                       # the client's, or the engine's about what the client says
            self._first = error
            told, _ = self._answered(self._engine.fail, ends=True)
        tell(told, self._first)

    def _answered(self, command: Callable[..., list[Observation]], *arguments: object, ends: bool = False) -> tuple[list[Telling], tuple[str, str] | None]:
        """Who is to be told, or else the marker and token of the next page."""
        with self._lock:
            saw: Sequence[tuple[Any, ...]] = command(*arguments, at=self.now())
            if saw and saw[0][0] == "fetch":
                return [], (saw[0][1], saw[0][2])
            return self._kept.told_by(saw, answer=True, ends=ends), None

    def _leave(self, why: str, error: BaseException | None) -> None:
        """The thread ends: whoever is left is told, by a profile that leaves some."""
        with self._lock:
            self._over, self._first = why, error
            left = self._kept.left("failed" if why == "failed" else "stopped")
        tell(left, error)

    # with the lock held ----------------------------------------------------------------------------------------------
    def _refused(self, answer: Observation) -> str | None:
        """Why it was; also where a profile accepts what it will never settle."""
        return str(answer[2]) if answer[0] == "rejected" else self._over

    def _take_credit(self, wait: Wait) -> bool:
        """Whether the engine has credited whoever waited, and nobody has taken that yet."""
        with self._lock:
            credited, wait._credited = wait._credited, False
            return credited

    def _may_wait(self) -> None:
        if threading.current_thread() is self._thread:
            raise Misuse("the collector's thread would wait for itself: a callback may submit async updates, and wait for nothing")
