"""The look-ahead collector as it stands: what is queued, who waits, what is on its way, and what was measured."""
from __future__ import annotations

from dataclasses import dataclass, field

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.refresh import Waiter
from slotwise.spec.vocabulary import State


@dataclass(frozen=True, slots=True)
class Item:
    """What a producer submitted: an update, or an empty one that only asks for the state."""

    id: str
    size: int
    sync: bool
    empty: bool
    final: bool
    at: int


@dataclass(slots=True)
class Flight:
    """The request that is out."""

    items: list[Item]
    waiters: list[Waiter]
    sent: int
    done: set[str] = field(default_factory=set)          # shown by its answer so far
    fetching: bool = False                               # the answer has come, and a page of it is awaited


@dataclass(slots=True)
class Collector:
    profile: v.Profile
    parameters: v.LookAhead
    token: str
    hint: int                                                    # the caller's wall clock minus its local clock
    now: int = 0
    queue: list[Item] = field(default_factory=list)
    waiters: list[Waiter] = field(default_factory=list)          # not in flight, as they were asked for
    flight: Flight | None = None
    known: set[str] = field(default_factory=set)                 # operations ever shown done
    parents: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)                # contexts that have ended
    running: int = 0                                             # producers that can add work without the service's help
    outside: int = 0                                             # producers in user code
    stale: int = 0                                               # of those running, waited for in vain
    open: int | None = None                                      # since when somebody is blocked and nothing is in flight
    moved: int = 0                                               # when an item, or a refresh that was late, last came
    fell: int = 0                                                # when `running` last fell
    round_trip: int = 0                                          # the mean
    measured: bool = False
    ring: list[tuple[int, int]] = field(default_factory=list)    # (stamp minus local time of sending, round trip) of stamped requests
    slack: int = 0                                               # by which the service is slower than its stamps
    asked: int = 0                                               # refreshes so far
    stopped: bool = False
    over: v.Why | None = None


def collector(profile: v.Profile, setup: v.Setup) -> Collector:
    assert isinstance(profile.discipline, v.LookAhead)
    return Collector(profile, profile.discipline, setup.token, setup.hint, round_trip=profile.discipline.round_trip)


@dataclass(frozen=True, slots=True)
class Moment:
    """What a pump finds."""

    dues: list[int]              # of the waiters
    items: list[Item]            # what a request can carry of the queue
    full: bool
    blocked: int                 # producers and branches that wait for a request that could be sent now
    gate: int                    # while nobody is blocked, when the items are sent


def state(c: Collector) -> State:
    """The whole state, canonical: strings and integers only, sorted; what is none is left out. Pure."""
    flight = c.flight
    found: State = {
        "now": c.now, "token": c.token, "queue": [_item(item) for item in c.queue], "waiters": [_waiter(w) for w in c.waiters],
        "known": sorted(c.known), "parents": dict(sorted(c.parents.items())), "closed": sorted(c.closed),
        "running": c.running, "outside": c.outside, "stale": c.stale, "open": c.open, "moved": c.moved, "fell": c.fell,
        "round_trip": c.round_trip, "measured": int(c.measured), "ring": [list(pair) for pair in c.ring], "slack": c.slack,
        "asked": c.asked, "stopped": int(c.stopped), "over": c.over,
    }  # fmt: skip
    if flight:
        found["flight"] = {"items": [_item(item) for item in flight.items], "waiters": [_waiter(w) for w in flight.waiters], "sent": flight.sent,
                           "done": sorted(flight.done), "fetching": int(flight.fetching)}
    return {key: value for key, value in found.items() if value is not None}


def _item(item: Item) -> list[object]:
    return [item.id, item.size, int(item.sync), int(item.empty), int(item.final), item.at]


def _waiter(w: Waiter) -> dict[str, object]:
    found = {"id": w.id, "owner": w.owner, "index": w.index, "key": w.key, "due": w.due, "seq": w.seq, "late": int(w.late), "tries": w.tries}
    return {key: value for key, value in found.items() if value is not None}
