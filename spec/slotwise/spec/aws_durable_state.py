"""The published collector as it stands: its queue, what did not fit, its heap of refreshes, and what its thread is at."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import State


@dataclass(frozen=True, slots=True)
class Item:
    """What a producer submitted, a refresh that has joined a batch (as an empty item), or a wake in the queue."""

    id: str
    size: int = 0
    sync: bool = True
    empty: bool = True
    final: bool = False
    refresh: bool = False
    wake: bool = False


WAKE = Item("", sync=False, wake=True)


@dataclass(slots=True)
class Refresh:
    """An entry of the heap."""

    id: str
    owner: str
    due: int
    seq: int
    cancelled: bool = False


@dataclass(slots=True)
class Flight:
    batch: list[Item]
    sent: int
    fetching: bool = False


@dataclass(slots=True)
class Collector:
    profile: v.Profile
    parameters: v.Shipped
    token: str
    hint: int                                                    # the caller's wall clock minus its local clock
    now: int = 0
    queue: list[Item] = field(default_factory=list)
    overflow: list[Item] = field(default_factory=list)           # did not fit
    heap: list[Refresh] = field(default_factory=list)            # by due time, then as they were asked for
    phase: Literal["idle", "first", "more"] = "idle"             # between collections; reading its first item; reading more
    batch: list[Item] = field(default_factory=list)              # being collected
    deadline: int = 0                                            # of the collection, while it reads more
    quiet_until: int | None = None                               # the end of the quiet window; none: it begins with the next read
    until: int | None = None                                     # when the read ends; none: no read is going on
    woken: bool = False                                          # a wake is in the queue
    flight: Flight | None = None
    children: dict[str, set[str]] = field(default_factory=dict)
    orphans: set[str] = field(default_factory=set)
    asked: int = 0                                               # refreshes so far
    stopped: bool = False
    over: v.Why | None = None                                    # "stopped": the thread has ended


def collector(profile: v.Profile, setup: v.Setup) -> Collector:
    assert isinstance(profile.discipline, v.Shipped)
    return Collector(profile, profile.discipline, setup.token, setup.hint)


def state(c: Collector) -> State:
    """The whole state, canonical: strings and integers only, sorted; what is none is left out. Pure."""
    found: State = {
        "now": c.now, "token": c.token, "phase": c.phase, "deadline": c.deadline, "quiet_until": c.quiet_until, "until": c.until,
        "queue": [_item(item) for item in c.queue], "overflow": [_item(item) for item in c.overflow], "batch": [_item(item) for item in c.batch],
        "heap": [[entry.id, entry.owner, entry.due, entry.seq, int(entry.cancelled)] for entry in c.heap], "woken": int(c.woken),
        "children": {parent: sorted(below) for parent, below in sorted(c.children.items())}, "orphans": sorted(c.orphans),
        "asked": c.asked, "stopped": int(c.stopped), "over": c.over,
    }  # fmt: skip
    if c.flight:
        found["flight"] = {"batch": [_item(item) for item in c.flight.batch], "sent": c.flight.sent, "fetching": int(c.flight.fetching)}
    return {key: value for key, value in found.items() if value is not None}


def _item(item: Item) -> list[object]:
    return ["wake"] if item.wake else [item.id, item.size, int(item.sync), int(item.empty), int(item.final), int(item.refresh)]
