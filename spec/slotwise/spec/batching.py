"""Checkpoint batching (slotwise): drain, look ahead on known due times, hold only while somebody can still add work.

One collector, one request in flight, one clock. Nothing is sent except by `pump`: after the commands of one instant the driver pumps once
and obeys, and pumps again at the time it was told, and after any later command. The other half, what a refresh is and when it is due, is
in `refresh`. `collector.step` takes commands to a collector.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from slotwise.spec import batching_vocabulary as v
from slotwise.spec import refresh as r
from slotwise.spec.refresh import Waiter
from slotwise.spec.rules import LOOK_AHEAD, rule
from slotwise.spec.vocabulary import Observation, State


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


# producers -----------------------------------------------------------------------------------------------------------
@rule("BAT-1", source="discipline BAT-1", of=LOOK_AHEAD)
def under_an_ended_context(c: Collector, parent: str | None) -> v.Why | None:
    """What comes from below a context that has ended is refused: it is an orphan."""
    above: list[str] = []
    while parent is not None and parent not in above:            # a context above itself ends the search
        above.append(parent)
        parent = c.parents.get(parent)
    return "orphaned" if c.closed.intersection(above) else None


@rule("BAT-2", source="discipline BAT-1, BAT-16", of=LOOK_AHEAD)
def after_the_end(c: Collector) -> v.Why | None:
    """Once the collector has ended, everything is refused, for the reason that ended it."""
    return c.over


@rule("BAT-3", source="discipline BAT-1; H3", of=LOOK_AHEAD)
def after_the_stop(c: Collector) -> v.Why | None:
    """Once the collector is stopped, everything is refused."""
    return "stopped" if c.stopped else None


@rule("BAT-4", source="discipline BAT-2; H1, H4", of=LOOK_AHEAD)
def accept(c: Collector, command: v.Submit) -> bool:
    """An item joins the back of the queue; an empty one weighs nothing. The producer of a sync item is blocked: it is running no longer."""
    c.queue.append(Item(command.id, 0 if command.empty else command.size, command.sync, command.empty, command.final and not command.empty, command.at))
    c.moved = command.at
    if command.sync:
        change_credits(c, -1, 0)
    return True


@rule("BAT-5", source="discipline BAT-1, BAT-2", of=LOOK_AHEAD)
def place(c: Collector, command: v.Submit) -> bool | None:
    """An accepted update tells where its operation belongs; if it ends a context, all below that are orphans from now on."""
    if command.parent is None and not command.ends:
        return None
    if command.parent is not None:
        c.parents[command.id] = command.parent
    if command.ends:
        c.closed.add(command.id)
    return True


@rule("BAT-6", source="discipline BAT-4", of=LOOK_AHEAD)
def change_credits(c: Collector, running: int, outside: int) -> bool:
    """Credits count who can add work without the service's help: producers running, and those outside in user code. Neither count falls
    below 0, so that a count too low is healed once all are blocked."""
    c.running, c.outside = max(0, c.running + running), max(0, c.outside + outside)
    if running < 0:
        c.fell = c.now
    count_again(c)
    return True


@rule("BAT-7", source="discipline BAT-4, BAT-5", of=LOOK_AHEAD)
def count_again(c: Collector) -> bool | None:
    """Producers that were waited for in vain are not waited for again, until the count falls below theirs: they do move."""
    if c.running >= c.stale:
        return None
    c.stale = 0
    return True


# when to send --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Moment:
    """What a pump finds."""

    dues: list[int]              # of the waiters
    items: list[Item]            # what a request can carry of the queue
    full: bool
    blocked: int                 # producers and branches that wait for a request that could be sent now
    gate: int                    # while nobody is blocked, when the items are sent


def look(c: Collector) -> Moment:
    dues, items = [r.when(c, waiter) for waiter in c.waiters], prefix(c)
    full = bool(nothing_to_wait_for(c, items))
    gate = c.now if full or not c.queue else min(c.queue[0].at + c.parameters.collection, c.queue[-1].at + c.parameters.quiet)
    return Moment(dues, items, full, sum(item.sync for item in c.queue) + sum(due <= c.now for due in dues), gate)


def prefix(c: Collector) -> list[Item]:
    """What one request can carry of the queue, from its head: there is no overtaking."""
    items: list[Item] = []
    updates = size = 0
    for item in c.queue:
        if not item.empty and (too_many(c.parameters, updates) or too_large(c.parameters, updates, size + item.size)):
            break
        items.append(item)
        updates, size = updates + (not item.empty), size + item.size
    return items


@rule("BAT-8", source="discipline BAT-7; L5", of=LOOK_AHEAD)
def too_many(parameters: v.LookAhead, updates: int) -> bool | None:
    """A request carries at most so many updates; empty items are not counted."""
    return True if updates == parameters.updates else None


@rule("BAT-9", source="discipline BAT-7; H1; L5", of=LOOK_AHEAD)
def too_large(parameters: v.LookAhead, updates: int, size: int) -> bool | None:
    """A request carries at most so many bytes of updates, but its first update is never too large."""
    return True if updates and size > parameters.bytes else None


@rule("BAT-10", source="discipline BAT-7", of=LOOK_AHEAD)
def nothing_to_wait_for(c: Collector, items: list[Item]) -> bool | None:
    """A request is full if it leaves something over, or has as many updates or bytes as it may."""
    updates, size = sum(not item.empty for item in items), sum(item.size for item in items)
    return True if len(items) < len(c.queue) or updates == c.parameters.updates or size >= c.parameters.bytes else None


def pump(c: Collector) -> list[Observation]:
    if answer := ended(c) or in_flight(c) or stopping(c):
        return [answer]
    m = look(c)
    c.open = None if m.blocked == 0 else c.now if c.open is None else c.open
    return [nobody_blocked(c, m) or look_ahead(c, m) or hold(c, m) or send(c, m.items)]


@rule("BAT-11", source="discipline BAT-6, BAT-15", of=LOOK_AHEAD)
def ended(c: Collector) -> Observation | None:
    """After the end there is nothing to do."""
    return ("exit",) if c.over else None


@rule("BAT-12", source="discipline BAT-6; L1", of=LOOK_AHEAD)
def in_flight(c: Collector) -> Observation | None:
    """One request at a time: what comes while it is out is pooled."""
    return ("sleep", None) if c.flight else None


@rule("BAT-13", source="discipline BAT-6, BAT-12; H5; L9", of=LOOK_AHEAD)
def stopping(c: Collector) -> Observation | None:
    """After the stop, what is left is sent without waiting; with nothing left the collector ends at once."""
    if not c.stopped:
        return None
    if c.queue:
        return send(c, prefix(c))
    c.over = "stopped"
    return ("exit",)


@rule("BAT-14", source="discipline BAT-8; H4; L6", of=LOOK_AHEAD)
def nobody_blocked(c: Collector, m: Moment) -> Observation | None:
    """While nobody is blocked, items wait for silence, or until the first has waited for a whole collection, or for a full request; and a refresh waits until it is due."""
    if m.blocked or (c.queue and m.gate <= c.now):
        return None
    return ("sleep", min([m.gate] * bool(c.queue) + m.dues, default=None))


@rule("BAT-15", source="discipline BAT-9", of=LOOK_AHEAD)
def look_ahead(c: Collector, m: Moment) -> Observation | None:
    """A request waits for a known due time if of all plans for what is known to come the one with the least waiting begins then; fewer requests break ties, then earlier ones."""
    p = c.parameters
    opened = m.gate if c.open is None else c.open
    limit = min(opened + c.round_trip - 1, latest(c))
    near = sorted({due for due in m.dues if c.now < due <= c.now + p.horizon * c.round_trip})[: p.instants]
    first = plan(c.now, m.blocked, limit, c.round_trip, tuple((due, m.dues.count(due)) for due in near))
    return ("sleep", first) if first > c.now else None


def latest(c: Collector) -> int:
    """No collection is longer than this, counted from whatever is waiting for a request the longest."""
    return min([item.at for item in c.queue[:1]] + [opened for opened in (c.open,) if opened is not None]) + c.parameters.collection


def plan(now: int, blocked: int, limit: int, round_trip: int, known: tuple[tuple[int, int], ...]) -> int:
    """The first send of the best plan. `known`: the due instants to come, in order, each with the number of refreshes; a send covers what
    is due by then. It may be now, or at a due instant by the limit; each later one as soon as the channel is free and something is due,
    or at a due instant within a round trip of that."""

    @cache
    def after(i: int, at: int) -> tuple[int, int]:
        """The waiting and the number of sends, of a send at that time that covers what is known from the i-th on, and of the best that follow."""
        n = i + sum(due <= at for due, _ in known[i:])
        waiting, sends = rest(n, at + round_trip)
        return sum(count * (at - due) for due, count in known[i:n]) + waiting, sends + 1

    @cache
    def rest(i: int, free: int) -> tuple[int, int]:
        if i == len(known):
            return 0, 0
        soonest = max(free, known[i][0])
        return min(after(i, at) for at in [soonest, *(due for due, _ in known[i:] if soonest < due < soonest + round_trip)])

    def cost(first: int) -> tuple[int, int, int]:
        waiting, sends = after(0, first)
        return blocked * (first - now) + waiting, sends, first

    return min([now, *(due for due, _ in known if due <= limit)], key=cost)


def hold(c: Collector, m: Moment) -> Observation | None:
    """A request that could be sent, and is not full, may wait for producers that can still add work."""
    if not m.blocked or m.full:
        return None
    assert c.open is not None
    last = max(c.open, c.moved, *(due for due in m.dues if due <= c.now))
    waited = several_come(c, last) or one_comes(c, last) or somebody_may_come(c, last)
    if waited is None:
        give_up(c)
    return waited


def counted(c: Collector) -> int:
    """Producers that certainly add work, or block, or end."""
    return c.running - c.stale if c.parameters.counted else 0


@rule("BAT-16", source="discipline BAT-10", of=LOOK_AHEAD)
def several_come(c: Collector, last: int) -> Observation | None:
    """While two or more producers are running, a request waits until nothing has moved for a fraction of a round trip."""
    silence = max(c.parameters.may_come, c.round_trip // c.parameters.will_come)
    return asleep(c, max(last, c.fell) + silence) if counted(c) >= 2 else None


@rule("BAT-17", source="discipline BAT-10", of=LOOK_AHEAD)
def one_comes(c: Collector, last: int) -> Observation | None:
    """While one producer is running, a request waits for a short silence."""
    return asleep(c, last + c.parameters.may_come) if counted(c) == 1 else None


@rule("BAT-18", source="discipline BAT-10", of=LOOK_AHEAD)
def somebody_may_come(c: Collector, last: int) -> Observation | None:
    """While somebody is outside, or nobody can say who is running, a request waits for a short silence; but not if all that is blocked was known to come."""
    guess = any(item.sync for item in c.queue) or any(w.late and r.when(c, w) <= c.now for w in c.waiters)
    return asleep(c, last + c.parameters.may_come) if counted(c) <= 0 and guess and (c.outside or not c.parameters.counted) else None


def asleep(c: Collector, until: int) -> Observation | None:
    limit = cut_short(c, until)
    until = until if limit is None else limit
    return ("sleep", until) if until > c.now else None


@rule("BAT-19", source="discipline BAT-10; L7", of=LOOK_AHEAD)
def cut_short(c: Collector, until: int) -> int | None:
    """No hold lasts some round trips, nor beyond the longest collection."""
    assert c.open is not None
    limit = min(c.open + c.parameters.hold * c.round_trip - 1, latest(c))
    return limit if limit < until else None


@rule("BAT-20", source="discipline BAT-5, BAT-10", of=LOOK_AHEAD)
def give_up(c: Collector) -> bool | None:
    """Producers that are still running when a hold ends were waited for in vain."""
    if c.running <= c.stale:
        return None
    c.stale = c.running
    return True


@rule("BAT-21", source="discipline BAT-11; L2, L4", of=LOOK_AHEAD)
def send(c: Collector, items: list[Item]) -> Observation:
    """A request takes what it can carry of the queue, and every refresh that is due, by due time and as they were asked for. Empty items are not sent."""
    waiters = r.in_order(c, [w for w in c.waiters if r.when(c, w) <= c.now])
    c.queue = c.queue[len(items):]
    c.waiters = [w for w in c.waiters if w not in waiters]
    c.flight, c.open = Flight(items, waiters, c.now), None
    return ("send", [item.id for item in items if not item.empty], [w.id for w in waiters], c.token)


# answers -------------------------------------------------------------------------------------------------------------
@rule("BAT-22", source="discipline BAT-13, BAT-15", of=LOOK_AHEAD)
def without_token(c: Collector, command: v.Respond) -> list[Observation] | None:
    """An answer without a token is the end: the execution is completed if the request had its final update; else this worker lost the right to it."""
    assert c.flight
    if command.token is not None:
        return None
    return end(c, "completed" if any(item.final for item in c.flight.items) else "revoked")


@rule("BAT-23", source="discipline BAT-13", of=LOOK_AHEAD)
def next_token(c: Collector, command: v.Respond) -> bool:
    """An answer's token goes with the next request."""
    assert command.token is not None
    c.token = command.token
    return True


@rule("BAT-24", source="discipline BAT-13, BAT-14", of=LOOK_AHEAD)
def another_page(c: Collector, marker: str | None) -> list[Observation] | None:
    """Nobody is told anything before every page of the answer is there."""
    assert c.flight
    c.flight.fetching = marker is not None
    return None if marker is None else [("fetch", marker, c.token)]


@rule("BAT-25", source="discipline BAT-14", of=LOOK_AHEAD)
def measure(c: Collector, trip: int) -> bool:
    """The round trip is the first one, then moves towards each by an eighth, rounded down."""
    c.round_trip, c.measured = (c.round_trip + (trip - c.round_trip) // 8 if c.measured else trip), True
    return True


@rule("BAT-26", source="discipline BAT-3, BAT-14; L3", of=LOOK_AHEAD)
def durable(items: list[Item]) -> list[Observation] | None:
    """Once the answer is there, every producer blocked on the request goes on, in the order in which they came."""
    return [("settled", item.id, "ok") for item in items if item.sync] or None


def take_in(c: Collector, done: tuple[str, ...], marker: str | None) -> list[Observation]:
    """A page of the answer; with the last one, the flight is over."""
    assert c.flight
    c.flight.done |= set(done)
    if fetch := another_page(c, marker):
        return fetch
    flight, c.flight = c.flight, None
    measure(c, c.now - flight.sent)
    c.known |= flight.done
    saw = [*(durable(flight.items) or ()), *r.answered(c, flight, c.now - flight.sent)]
    if going_on := sum(word[0] == "resumed" or word[-1] == "ok" for word in saw):
        change_credits(c, going_on, 0)
    return saw


@rule("BAT-29", source="discipline BAT-16", of=LOOK_AHEAD)
def fail(c: Collector) -> list[Observation]:
    """If a request fails, or the fetch of a page of its answer, that is the end for all."""
    return end(c, "failed")


@rule("BAT-27", source="discipline BAT-3, BAT-15, BAT-16; L3", of=LOOK_AHEAD)
def end(c: Collector, why: v.Why) -> list[Observation]:
    """At the end everybody is told why: who was on the request, then the queue, then the refreshes. Only what completed the execution is well."""
    flight, c.flight, c.over = c.flight, None, why
    assert flight
    outcome = {"completed": "orphaned", "revoked": "suspended", "failed": "failed"}[why]
    saw: list[Observation] = [("settled", item.id, "ok" if why == "completed" else outcome) for item in flight.items if item.sync]
    saw += [("settled", w.id, outcome) for w in flight.waiters]
    saw += [("settled", item.id, outcome) for item in c.queue if item.sync]
    saw += [("settled", w.id, outcome) for w in r.in_order(c, c.waiters)]
    c.queue, c.waiters = [], []
    return saw


@rule("BAT-28", source="discipline BAT-12; H5; L9", of=LOOK_AHEAD)
def begin_to_stop(c: Collector) -> list[Observation] | None:
    """At the stop, refreshes that are not on a request are orphaned."""
    gone = r.in_order(c, c.waiters)
    c.stopped, c.waiters = True, []
    return [("settled", w.id, "orphaned") for w in gone] or None


# commands ------------------------------------------------------------------------------------------------------------
def do(c: Collector, command: v.Command) -> list[Observation]:
    match command:
        case v.Submit():
            why = under_an_ended_context(c, command.parent) or after_the_end(c) or after_the_stop(c)
            if why:
                return [("rejected", command.id, why)]
            place(c, command)
            accept(c, command)
            return [("accepted", command.id)]
        case v.Refresh():
            why = after_the_end(c) or after_the_stop(c) or r.already_asked_for(c, command.id)
            if why:
                return [("rejected", command.id, why)]
            if resumed := r.already_shown(c, command):
                change_credits(c, 1, 0)
                return [resumed]
            r.wait(c, command)
            return [("accepted", command.id)]
        case v.Cancel():
            return r.cancel(c, command) or []
        case v.Credit():
            change_credits(c, command.running, command.outside)
            return []
        case v.Stop():
            return begin_to_stop(c) or []
        case v.Pump():
            return pump(c)
        case v.Respond():
            ending = without_token(c, command)
            if ending is not None:
                return ending
            next_token(c, command)
            assert c.flight
            if command.stamp is not None:
                r.learn(c, command.stamp - c.flight.sent, c.now - c.flight.sent)
            return take_in(c, command.done, command.marker)
        case v.Page():
            return take_in(c, command.done, command.marker)
        case v.Fail():
            return fail(c)


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
