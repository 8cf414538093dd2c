"""Checkpoint batching with real threads: producers submit from any thread, and the native engine decides.

Here is what producers see; who makes the requests is told in `checkpoint_drive`. Nothing is kept of what is settled. Times are integer
nanoseconds of `now()`.
"""
from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

import msgspec

from slotwise.impl._native import Batcher
from slotwise.impl.arguments import wrong
from slotwise.impl.checkpoint_client import Answer, CheckpointError, Client, Misuse, Page, Update, error_of
from slotwise.impl.checkpoint_drive import Driving
from slotwise.impl.checkpoint_record import Recorded, Sink
from slotwise.impl.checkpoint_waits import Item, Told, Wait, tell
from slotwise.spec import batching_vocabulary as v

__all__ = ["FEWEST_CALLS", "Answer", "CheckpointBatcher", "CheckpointError", "Client", "Misuse", "Page", "Told", "Update", "Wait"]

# The default sends as soon as waiting is more likely to cost time than to save a request. Where a service's stamps are cut to something
# coarser than the nanosecond, a profile should say so (`resolution`): otherwise refreshes may be asked for a little too soon.
#: `slotwise` with the constants that save calls where producers are slow to come (a loaded machine), at the price of latency: while two
#: or more are counted as running a request waits for a whole round trip of silence, and for up to fifty in all.
FEWEST_CALLS = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(will_come=1, hold=50))
#: `slotwise` where nobody says who is running.
UNCOUNTED = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(counted=False))


class CheckpointBatcher(Driving):
    """Batches the updates of one execution to one service.

    `profile` is a profile or its name. The default counts who is running: enter `running()` in every thread that submits, and `outside()`
    around user code in it; if nobody does that, say so with `UNCOUNTED`. `hint` is the service's clock minus `now()` as far as it
    is known, by default this machine's wall clock at the start. `record` is where the commands are written down as a trace.
    `callers_drive` False: the client is called, and callbacks of answers are, by the collector's own thread only.
    """

    def __init__(
        self, client: Client, profile: v.Profile | str = "slotwise", *, token: str = "token-0", hint: int | None = None,
        record: Sink | None = None, clock: Callable[[], int] = time.monotonic_ns, name: str = "checkpoint-batcher", callers_drive: bool = True,
    ) -> None:  # fmt: skip
        if isinstance(profile, str):
            if profile not in v.PROFILES:
                raise ValueError(f"no profile is called {profile!r}; there are {', '.join(v.PROFILES)}")
            profile = v.PROFILES[profile]
        for argument, given, fits, expected in (
            ("client", client, all(callable(getattr(client, way, None)) for way in ("checkpoint", "fetch")), "a Client, with `checkpoint` and `fetch`"),
            ("profile", profile, isinstance(profile, v.Profile), "a Profile of batching or its name"), ("token", token, isinstance(token, str), "a string"), ("name", name, isinstance(name, str), "a string"),
            ("record", record, record is None or hasattr(record, "write"), "what has `write`"), ("clock", clock, callable(clock), "a function that gives nanoseconds"),
        ):  # fmt: skip
            if not fits:
                raise wrong(argument, expected, given)
        self.profile, ahead = profile, time.time_ns() if hint is None else hint
        engine = Batcher(profile, token=token, hint=ahead) if record is None else Recorded(profile, v.Setup(token, ahead), record)
        super().__init__(client, engine, clock, callers_drive, name)

    # producers -------------------------------------------------------------------------------------------------------
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
            if drives := why is None and sync and self._may_drive():
                self._driver = threading.current_thread()
            if why is None:
                self._kept.add(item)
            if why is None and not drives:
                self._look |= body is None
                self._come()
        if drives:
            self._drive_until(item)
        outcome = why or (item.wait() if sync else "ok")
        if outcome != "ok":
            raise error_of(outcome, id, self._first)

    def refresh(self, id: str, *, key: int | None = None, due: int | None = None, owner: str = "", index: int = 0, told: Told | None = None) -> Wait:
        """Ask for the state of one operation once it is due: by `key`, the service's own stamp of its end, or by `due`, a time of `now()`.
        Wait for it by the handle's `result`, or be told: `told(ids, error)` is called once for all that go on together, in whichever
        thread drives or settles them: it must not wait for what a caller of `submit` holds. With an error they do not go on."""
        wait = Wait(self, id, owner, told)
        with self._lock:
            if self._kept.is_empty(id):
                raise Misuse(f"{id}: an empty update and a refresh of one name cannot be told apart")
            if isinstance(self.profile.discipline, v.Shipped) and self._kept.is_refreshed(id):     # it would accept it, and nobody could say whose an answer is
                raise error_of("duplicate", id, self._first)
            (answer,) = self._engine.refresh(id, key, due, owner, index, at=self.now())
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
            told = self._kept.told_by(self._engine.cancel(id, owner, at=self.now())) if self._over is None else []
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
            told = self._kept.told_by(self._engine.stop(at=self.now())) if self._over is None else []
            self._look = True
            self._come()
        tell(told, self._first)

    def close(self, timeout: float | None = None) -> None:
        """Stop, and wait until everything is sent and everybody told. Raises what ended the collector, if it was neither this nor the
        execution's end: then async updates may be lost. TimeoutError: a request is still out after so many seconds. May be called again."""
        self.stop()
        if threading.current_thread() in (self._thread, self._driver):      # from a callback
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

    # for those who wait ----------------------------------------------------------------------------------------------
    def _take_credit(self, wait: Wait) -> bool:
        """Whether the engine has credited whoever waited, and nobody has taken that yet."""
        with self._lock:
            credited, wait._credited = wait._credited, False
            return credited

    def _may_wait(self) -> None:
        if threading.current_thread() in (self._thread, self._driver):
            raise Misuse("the collector's thread would wait for itself: a callback may submit async updates, and wait for nothing")
