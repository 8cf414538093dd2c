"""What is waited for, and how whoever waits is told."""
from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from slotwise.impl.checkpoint_client import CheckpointError, Update, error_of

if TYPE_CHECKING:
    from slotwise.impl.checkpoint import CheckpointBatcher

log = logging.getLogger(__name__)

#: Called with the names that go on together, in the order of their index, and None; or with the error for which they do not.
Told = Callable[[list[str], CheckpointError | None], object]


class Item:
    """An update, or an empty one, until it is settled."""

    __slots__ = ("_gate", "_outcome", "body", "flown", "id", "sync")

    def __init__(self, id: str, body: bytes | None, sync: bool) -> None:
        self.id, self.body, self.sync, self._outcome = id, body, sync, ""
        self.flown = body is None                            # an empty one is never in a request
        self._gate = threading.Lock() if sync else None      # locked until it is settled
        if self._gate:
            self._gate.acquire()

    def leave(self) -> Update:
        """Into a request."""
        body, self.body, self.flown = self.body, b"", True
        assert body is not None
        return Update(self.id, body)

    @property
    def settled(self) -> bool:
        return bool(self._outcome)

    def settle(self, outcome: str) -> None:
        assert self._gate, f"nobody waits for {self.id}"
        assert not self._outcome, f"{self.id} was settled before"
        self._outcome = outcome
        self._gate.release()

    def wait(self) -> str:
        assert self._gate
        self._gate.acquire()
        return self._outcome


class Wait:
    """A refresh that was asked for."""

    __slots__ = ("_batcher", "_credited", "_gate", "_outcome", "_told", "id", "owner")

    def __init__(self, batcher: CheckpointBatcher, id: str, owner: str, told: Told | None) -> None:
        self.id, self.owner, self._batcher, self._told = id, owner, batcher, told
        self._outcome = ""
        self._credited = False                               # it was resumed, and its credit is not taken yet
        self._gate = threading.Event()

    def settle(self, outcome: str) -> None:
        assert not self._outcome, f"{self.id} was settled before"
        self._outcome, self._credited = outcome, outcome == "ok"
        self._gate.set()

    @property
    def done(self) -> bool:
        return self._gate.is_set()

    def result(self, timeout: float | None = None) -> None:
        """Wait until it is answered. Raises a `CheckpointError` if it will not be, TimeoutError after so many seconds. Whoever is in here
        is not running; what is resumed is credited by the engine before its owner goes on."""
        self._batcher._may_wait()
        self._batcher.credit(-1)
        answered = self._gate.wait(timeout)
        if not self._batcher._take_credit(self):
            self._batcher.credit(1)
        if not answered:
            raise TimeoutError(f"{self.id}: not answered yet")
        if self._outcome != "ok":
            raise error_of(self._outcome, self.id, self._batcher._first)


#: Who is told what. Those of a list go on together.
Telling = tuple[Item | list[Wait], str]


class Outstanding:
    """The bodies of what was not sent yet, and who waits for what. The engine knows names only; here is who they are."""

    def __init__(self) -> None:
        self._queue: deque[Item] = deque()                   # updates that were not sent yet
        self._blocked: dict[str, list[Item]] = {}            # those that somebody waits for, by name, in order
        self._waits: dict[str, Wait] = {}                    # one of a name is alive at a time

    def __len__(self) -> int:
        return len(self._queue) + len(self._blocked) + len(self._waits)

    @property
    def blocks(self) -> bool:
        """Somebody waits for an update."""
        return bool(self._blocked)

    def is_refreshed(self, id: str) -> bool:
        return id in self._waits

    def is_empty(self, id: str) -> bool:
        return any(item.body is None for item in self._blocked.get(id, ()))

    def add(self, item: Item) -> None:
        if item.body is not None:
            self._queue.append(item)
        if item.sync:
            self._blocked.setdefault(item.id, []).append(item)

    def add_wait(self, wait: Wait) -> None:
        self._waits[wait.id] = wait

    def take(self, id: str) -> Update:
        """The first update of that name leaves the queue; but for profiles that reorder, it is at its head."""
        for i, item in enumerate(self._queue):
            if item.id == id:
                del self._queue[i]
                return item.leave()
        raise AssertionError(f"{id} is not queued")

    def told_by(self, saw: Sequence[tuple[Any, ...]], answer: bool = False, ends: bool = False) -> list[Telling]:
        """Who is to be told what, in the order of what was seen; they are forgotten here. An update and a refresh may have one name: only
        an answer settles updates, with `ok` those that were sent; at the end the other outcome is the same for all."""
        told: list[Telling] = []
        for what in saw:
            if what[0] == "resumed":
                told.append(([self._waits.pop(id) for id in what[3]], "ok"))
            elif what[0] == "settled":
                _, id, outcome = what
                items = self._blocked.get(id)
                if answer and items and (items[0].flown if outcome == "ok" else ends):
                    told.append((items.pop(0), outcome))
                    if not items:
                        del self._blocked[id]
                else:
                    told.append(([self._waits.pop(id)], outcome))
        return told

    def left(self, outcome: str) -> list[Telling]:
        """Everybody that is left."""
        told: list[Telling] = [(item, outcome) for items in self._blocked.values() for item in items]
        told += [([wait], outcome) for wait in self._waits.values()]
        self._queue.clear()
        self._blocked.clear()
        self._waits.clear()
        return told


def tell(told: Iterable[Telling], first: BaseException | None) -> None:
    """Everybody, in this order. All that go on together have one call, each of its owner's callback; what a callback raises harms nobody else:
    an error is logged, and what is none (an exit, an interrupt) is raised once everybody is told."""
    exits: BaseException | None = None
    for who, outcome in told:
        if isinstance(who, Item):
            who.settle(outcome)
            continue
        waves: list[tuple[Told, list[str]]] = []
        for wait in who:
            wait.settle(outcome)
            if wait._told is None:
                continue
            if waves and waves[-1][0] == wait._told:
                waves[-1][1].append(wait.id)
            else:
                waves.append((wait._told, [wait.id]))
        for callback, ids in waves:
            try:
                callback(ids, None if outcome == "ok" else error_of(outcome, ids[0], first))
            except Exception:
                log.exception("the callback of %s failed", ", ".join(ids))
            except BaseException as error:
                exits = error
    if exits is not None:
        raise exits
