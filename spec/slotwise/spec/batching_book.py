"""What follows from commands and observations alone, for the laws of batching: who waits, what is on its way, what has been shown.

Nothing here comes from a rule: it is what anybody could write down beside a collector.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from slotwise.spec import batching_vocabulary as v

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Item:
    """Accepted, and not settled; an async one, not sent."""

    id: str
    size: int
    sync: bool
    empty: bool
    final: bool
    at: int


@dataclass(eq=False, slots=True)
class Ask:
    """A refresh that was accepted and is not settled."""

    id: str
    owner: str
    index: int
    key: int | None
    due: int                     # where there is a key only: 0
    seq: int
    cancelled: bool = False
    withdrawn: bool = False      # cancelled before it was due


@dataclass(eq=False, slots=True)
class Flight:
    """A request that is out, with the updates and refreshes that it carries. Which empty items went with it is not said: any that were accepted before."""

    items: list[Item]
    empties: list[Item]
    asks: list[Ask]
    sent: int
    done: set[str] = field(default_factory=set)
    back: list[Ask] = field(default_factory=list)        # asked for again
    fetching: bool = False


@dataclass(slots=True)
class Book:
    token: str
    now: int = 0
    queue: list[Item] = field(default_factory=list)              # as accepted
    asks: list[Ask] = field(default_factory=list)                # not on a request
    flight: Flight | None = None
    shown: set[str] = field(default_factory=set)                 # operations that answers have shown done
    parent: dict[str, str] = field(default_factory=dict)         # by the last accepted item
    ended: set[str] = field(default_factory=set)                 # contexts, by accepted items
    parents: dict[str, set[str]] = field(default_factory=dict)   # all that were ever told, also by refused items
    ends: set[str] = field(default_factory=set)                  # the same
    asked: int = 0
    stopped: bool = False
    over: str | None = None                                      # why the execution is over for this worker
    answers: int = 0
    longest: int = 0                                             # of their round trips
    open: int | None = None                                      # the first pump that found the channel idle and somebody blocked
    looked: int | None = None                                    # ... and something that could be sent, of what is there yet

    def below_an_ended(self, parent: str | None) -> bool:
        """By what was accepted: must it be refused?"""
        above: set[str] = set()
        while parent is not None and parent not in above:
            above.add(parent)
            parent = self.parent.get(parent)
        return bool(above & self.ended)

    def perhaps_below_an_ended(self, id: str) -> bool:
        """By all that was told: may it be refused?"""
        above, left = set(), list(self.parents.get(id, ()))
        while left:
            context = left.pop()
            if context not in above:
                above.add(context)
                left += self.parents.get(context, ())
        return bool(above & self.ends)

    def told(self, command: v.Submit) -> None:
        if command.parent is not None:
            self.parents.setdefault(command.id, set()).add(command.parent)
        if command.ends:
            self.ends.add(command.id)

    def accept_item(self, command: v.Submit) -> None:
        if command.parent is not None:
            self.parent[command.id] = command.parent
        if command.ends:
            self.ended.add(command.id)
        self.queue.append(Item(command.id, 0 if command.empty else command.size, command.sync, command.empty, command.final and not command.empty, command.at))

    def accept_refresh(self, command: v.Refresh) -> None:
        self.asked += 1
        due = command.due if command.due is not None else command.at if command.key is None else 0
        self.asks.append(Ask(command.id, command.owner, command.index, command.key, due, self.asked))

    def due(self) -> list[Ask]:
        """Those without a key that could be sent now: nobody else's clock is needed to tell."""
        return [ask for ask in self.asks if ask.key is None and not ask.cancelled and ask.due <= self.now]

    def blocked(self) -> bool:
        return any(item.sync for item in self.queue) or bool(self.due())

    def alive(self) -> list[Ask]:
        return [*(self.flight.asks if self.flight else ()), *self.asks]

    def forget(self, thing: Item | Ask) -> None:
        """It is settled."""
        flight = self.flight or Flight([], [], [], 0)
        if isinstance(thing, Ask):
            self.asks, flight.asks = _without(thing, self.asks), _without(thing, flight.asks)
        else:
            self.queue, flight.items, flight.empties = _without(thing, self.queue), _without(thing, flight.items), _without(thing, flight.empties)

    def everybody(self) -> list[Item | Ask]:
        """Who waits to be told: on the request, then in the queue, then by refresh."""
        items, asks = (self.flight.items, self.flight.asks) if self.flight else ([], [])
        return [*(item for item in items if item.sync), *asks, *(item for item in self.queue if item.sync), *self.asks]


def _without(thing: T, things: list[T]) -> list[T]:
    return [other for other in things if other is not thing]
