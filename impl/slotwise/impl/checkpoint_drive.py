"""Who drives a `CheckpointBatcher`: one thread at a time, its own or that of a caller who waits.

To drive is to do what the engine's pump says: send, through the client, and tell everybody of the answer. A caller that has to wait anyway,
and is the first to, drives until it is told itself, which spares it two changes of threads; all that is left, above all to sleep until
something is due, or until the others have come too, is the collector's own thread's. One lock is held around the engine and the few maps
beside it, never while the client works, and never while somebody is told: the state is published first.
"""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

from slotwise.impl._native import Batcher
from slotwise.impl.checkpoint_client import Client, Update
from slotwise.impl.checkpoint_record import Recorded
from slotwise.impl.checkpoint_waits import Item, Outstanding, Telling, tell
from slotwise.spec.vocabulary import Observation

log = logging.getLogger(__name__)

#: A token, and what is sent with it.
Request = tuple[str, list[Update]]
#: Who is to be told, and what is to be done: `send` a request, `sleep` until then, or `exit` for that reason.
Step = tuple[list[Telling], str, Any]
NOTHING: Step = ([], "sleep", None)


class Driving:
    """The engine, and whoever does as it says."""

    def __init__(self, client: Client, engine: Batcher | Recorded, clock: Callable[[], int], callers_drive: bool, name: str) -> None:
        self._client, self._engine, self._clock, self._begun, self._callers_drive = client, engine, clock, clock(), callers_drive
        self._lock = threading.Lock()
        self._wake = threading.Condition(self._lock)
        self._asleep = False                                # nobody has woken the collector's own thread yet
        self._until: int | None = None                      # while it is asleep
        self._look = False                                  # it has something to do, whatever is kept
        self._driver: threading.Thread | None = None        # who makes a request, or tells of its answer
        self._broken: BaseException | None = None           # a defect that a caller met while it drove
        self._kept = Outstanding()
        self._first: BaseException | None = None            # what ended the collector, if an error did
        self._over: str | None = None                       # why it has ended
        self._thread = threading.Thread(target=self._collect, name=name, daemon=True)
        self._thread.start()

    def now(self) -> int:
        """The collector's clock."""
        return self._clock() - self._begun

    def _collect(self) -> None:
        """The collector's own thread."""
        try:
            while (request := self._next()) is not None:
                self._exchange(*request)
        except BaseException as error:
            log.exception("the collector's thread failed")
            self._leave("failed", error)

    def _next(self) -> Request | None:
        """Sleep until something is to be sent, and nobody else drives. None: there will never be anything more."""
        while True:
            with self._lock:
                if self._broken is not None:
                    raise self._broken
                if self._driver is self._thread:
                    self._driver = None
                told, word, what = self._pump() if self._driver is None else NOTHING
                if told or word != "sleep":
                    self._driver = self._thread
                else:
                    self._look &= self._driver is not None
                    self._sleep(what)
            tell(told, self._first)
            if word == "send":
                request: Request = what
                return request
            if word == "exit":
                self._leave(what, self._first)
                return None

    def _drive_until(self, item: Item) -> None:
        """A caller drives, until it is told or nothing can be sent now. What is left is the collector's own thread's, also after a defect.
        It is not woken for nothing: on a busy machine that costs the next caller more than all else."""
        try:
            while not item.settled:
                with self._lock:
                    told, word, what = self._pump()
                tell(told, self._first)
                if word != "send":
                    break
                self._exchange(*what)
        except BaseException as error:
            self._broken = error
        finally:
            with self._lock:
                self._driver = None
                if self._look or self._broken or len(self._kept):
                    self._come()

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
            self._look |= ends
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
    def _pump(self) -> Step:
        saw: Sequence[tuple[Any, ...]] = self._engine.pump(at=self.now())
        told, (word, *what) = self._kept.told_by(saw[:-1]), saw[-1]
        if word == "send":
            return told, word, (what[2], [self._kept.take(id) for id in what[0]])
        return told, word, what[0] if word == "sleep" else str(self._engine.state()["over"])

    def _may_drive(self) -> bool:
        """Nobody else does, or waits. Never the main thread: what a signal raises there, at any point, is not to befall a request of others."""
        return self._driver is None and self._callers_drive and not self._kept.blocks and threading.current_thread() is not threading.main_thread()

    def _refused(self, answer: Observation) -> str | None:
        """Why it was; also where a profile accepts what it will never settle."""
        return str(answer[2]) if answer[0] == "rejected" else self._over
