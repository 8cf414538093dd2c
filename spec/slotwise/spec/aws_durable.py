"""Checkpoint batching as published: the collector of the AWS durable-execution SDK, with its known defects behind switches.

The published collector is a thread that reads its queue with a time-out. Here a read is a *sleep*: `pump` runs the thread until it
sleeps, sends or ends. What is in the queue when a read is looked at is delivered, also at the instant at which it expires. Queue reads
shorten for the heap of refreshes by a *wake* that travels through the queue. It measures nothing, and counts nobody.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.rules import SHIPPED, rule
from slotwise.spec.vocabulary import Observation, State


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


# producers -----------------------------------------------------------------------------------------------------------
@rule("AWS-1", source="semantics 2.3", of=SHIPPED)
def place(c: Collector, command: v.Submit) -> bool | None:
    """An update tells where its operation belongs, also one that is then refused; an empty item tells nothing."""
    if command.empty or command.parent is None:
        return None
    c.children.setdefault(command.parent, set()).add(command.id)
    return True


@rule("AWS-2", source="semantics 2.3", of=SHIPPED)
def orphan_all_below(c: Collector, command: v.Submit) -> bool | None:
    """The end of a context makes orphans of all operations known to be below it; not of those that come later."""
    if command.empty or not command.ends:
        return None
    below, left = {command.id}, [command.id]
    while left:
        new = c.children.get(left.pop(), set()) - below
        below |= new
        left += new
    c.orphans |= below - {command.id}
    return True


@rule("AWS-3", source="semantics 2.3", of=SHIPPED)
def orphaned(c: Collector, command: v.Submit) -> v.Why | None:
    """An orphan's update is refused."""
    return "orphaned" if not command.empty and command.id in c.orphans else None


@rule("AWS-4", source="semantics 2.3, 2.6", of=SHIPPED)
def after_the_end(c: Collector) -> v.Why | None:
    """After a failure, a revocation or the completion of the execution everything is refused."""
    return None if c.over == "stopped" else c.over


@rule("AWS-5", source="semantics 2.3, vector V36; H3", of=SHIPPED, off="accepts_after_stop")
def after_the_stop(c: Collector) -> v.Why | None:
    """After the stop, items are refused: unless they are accepted, and lost."""
    return "stopped" if c.stopped and not c.profile.accepts_after_stop else None


@rule("AWS-6", source="semantics 2.3, vector V34", of=SHIPPED, switch="heap")
def no_refresh_after_the_stop(c: Collector) -> v.Why | None:
    """After the stop, refreshes are refused."""
    return "stopped" if c.stopped else None


@rule("AWS-7", source="semantics 0, 2.7", of=SHIPPED, off="heap")
def nothing_scheduled(c: Collector) -> v.Why | None:
    """Before refreshes were scheduled, a coordinator itself submitted an empty item when the time had come."""
    return None if c.parameters.heap else "no_refresh"


@rule("AWS-8", source="semantics 2.2, 2.3", of=SHIPPED)
def accept(c: Collector, command: v.Submit) -> bool:
    """An item joins the back of the queue; an empty one weighs nothing."""
    c.queue.append(Item(command.id, 0 if command.empty else command.size, command.sync, command.empty, command.final and not command.empty))
    return True


@rule("AWS-9", source="semantics 2.3, 2.5; H6", of=SHIPPED, switch="heap")
def schedule(c: Collector, command: v.Refresh) -> bool:
    """A refresh waits for a time of the caller's own clock."""
    c.asked += 1
    due = command.due if command.due is not None else command.at if command.key is None else command.key - c.hint
    c.heap = sorted([*c.heap, Refresh(command.id, command.owner, due, c.asked)], key=lambda entry: (entry.due, entry.seq))
    return True


@rule("AWS-10", source="semantics 2.3, 2.5", of=SHIPPED, switch="heap")
def wake(c: Collector) -> bool | None:
    """A new refresh ends the read that is going on, by a wake in the queue; there is one at a time."""
    if c.woken:
        return None
    c.woken = True
    c.queue.append(WAKE)
    return True


@rule("AWS-11", source="semantics 2.5", of=SHIPPED, switch="heap")
def cancel(c: Collector, command: v.Cancel) -> bool | None:
    """A refresh that is cancelled is only marked; one that has joined a batch goes with it."""
    marked = [entry for entry in c.heap if (entry.owner == command.owner if command.id is None else entry.id == command.id)]
    for entry in marked:
        entry.cancelled = True
    return True if marked else None


# the collector -------------------------------------------------------------------------------------------------------
def pump(c: Collector) -> list[Observation]:
    """The thread runs until it sleeps, sends or ends."""
    saw: list[Observation] = []
    answer = ended(c) or in_flight(c)
    while answer is None:
        answer = begin_read(c, saw) if c.until is None else end_read(c, c.until, saw)
    return [*saw, answer]


@rule("AWS-12", source="semantics 2.6", of=SHIPPED)
def ended(c: Collector) -> Observation | None:
    """After the end there is nothing to do."""
    return ("exit",) if c.over else None


@rule("AWS-13", source="semantics 2.4 G; L1", of=SHIPPED)
def in_flight(c: Collector) -> Observation | None:
    """One request at a time."""
    return ("sleep", None) if c.flight else None


def begin_read(c: Collector, saw: list[Observation]) -> Observation | None:
    """The thread reads its queue, or leaves, or has collected enough."""
    if c.phase == "idle" and not c.stopped:
        c.phase = "first"
        drain_overflow(c)
        join_due(c, saw)
        begin_collection(c)
    if c.phase == "more":
        return read_more(c, saw)
    if c.stopped:
        return leave(c, saw)
    read_first(c, saw)
    return None


def end_read(c: Collector, until: int, saw: list[Observation]) -> Observation | None:
    """A read ends with what has come, or at its time."""
    if c.now < until and not c.queue and not ended_by_stop(c):
        return ("sleep", until)
    c.until = None
    if c.queue:
        return take(c, c.queue.pop(0), saw)
    joined = join_due(c, saw)
    if c.phase == "first":
        begin_collection(c)
        return None
    return None if joined else seal(c, saw, deadline_passed(c) or silence(c) or stop_seen(c) or cut_short(c))


@rule("AWS-14", source="semantics 2.10; H5", of=SHIPPED, off="stop_waits_for_poll")
def ended_by_stop(c: Collector) -> bool | None:
    """A stop ends the read, unless it is seen only when that ends by itself."""
    return True if c.stopped and not c.profile.stop_waits_for_poll else None


@rule("AWS-15", source="semantics 2.4 A; H1", of=SHIPPED)
def drain_overflow(c: Collector) -> bool | None:
    """A collection begins with what did not fit before, whatever its size; but, if so published, an update that is larger than a request
    may be does not fit now either, and goes to the back."""
    if not c.overflow:
        return None
    while c.overflow and not is_full(c):
        item = c.overflow.pop(0)
        if c.profile.oversize_overflow_waits and not fits(c, item):
            c.overflow.append(item)
            break
        join(c, item)
    return True


@rule("AWS-16", source="semantics 2.4 B and F, 2.5", of=SHIPPED, switch="heap")
def join_due(c: Collector, saw: list[Observation]) -> bool | None:
    """Refreshes that are due join the batch, whatever it holds; those that were cancelled are settled."""
    due = [entry for entry in c.heap if entry.due <= c.now]
    c.heap = c.heap[len(due):]
    saw += [("settled", entry.id, "ok") for entry in due if entry.cancelled]
    joined = [entry for entry in due if not entry.cancelled]
    for entry in joined:
        join(c, Item(entry.id, refresh=True))
    return True if joined else None


def join(c: Collector, item: Item) -> None:
    c.batch.append(item)
    c.quiet_until = None


@rule("AWS-17", source="semantics 2.5, vector V28", of=SHIPPED, switch="heap")
def forget_cancelled(c: Collector, saw: list[Observation]) -> bool | None:
    """A cancelled refresh that is next in the heap is settled, so that no read ends for it."""
    if not c.heap or not c.heap[0].cancelled:
        return None
    while c.heap and c.heap[0].cancelled:
        saw.append(("settled", c.heap.pop(0).id, "ok"))
    return True


@rule("AWS-18", source="semantics 2.4 C, 2.5", of=SHIPPED)
def read_first(c: Collector, saw: list[Observation]) -> bool:
    """With an empty batch, a read lasts until the next refresh is due, but only so long that a stop is seen."""
    forget_cancelled(c, saw)
    c.until = max(c.now, min([c.now + c.parameters.quiet, *(entry.due for entry in c.heap[:1])]))
    return True


@rule("AWS-19", source="semantics 2.4 D; L6", of=SHIPPED)
def begin_collection(c: Collector) -> bool | None:
    """A collection ends so long after its first item was read."""
    if not c.batch:
        return None
    c.phase, c.deadline = "more", c.now + c.parameters.collection
    return True


def read_more(c: Collector, saw: list[Observation]) -> Observation | None:
    enough = full(c) or stop_seen(c)
    if enough is None:
        join_due(c, saw)
        forget_cancelled(c, saw)
        begin_window(c)
        assert c.quiet_until is not None
        until = min([c.deadline, c.quiet_until, *(entry.due for entry in c.heap[:1])])
        if until > c.now:
            c.until = until
            return None
    return seal(c, saw, enough or deadline_passed(c) or silence(c))


@rule("AWS-20", source="semantics 2.4 E, vectors V01, V02", of=SHIPPED)
def begin_window(c: Collector) -> bool | None:
    """A read waits for silence: a short one if a caller is blocked. Every read begins the window anew; a wake, if so published, too."""
    if c.quiet_until is not None and not c.profile.wakes_extend:
        return None
    blocked = c.parameters.blocked_window if any(item.sync for item in c.batch) else None
    c.quiet_until = c.now + min(c.parameters.quiet, c.parameters.quiet if blocked is None else blocked)
    return True


def take(c: Collector, item: Item, saw: list[Observation]) -> Observation | None:
    """What a read has brought."""
    if item.wake:
        consume_wake(c)
        return None
    if c.phase == "first":
        take_first(c, item)
        return None
    if misfit(c, item):
        return seal(c, saw, True)
    join(c, item)
    return None


@rule("AWS-21", source="semantics 2.4 C and E, 2.5; H4", of=SHIPPED, switch="heap")
def consume_wake(c: Collector) -> bool:
    """After a wake the thread reads again."""
    c.woken = False
    return True


@rule("AWS-22", source="semantics 2.4 C, vector V13", of=SHIPPED)
def take_first(c: Collector, item: Item) -> bool:
    """The first item is never too large."""
    join(c, item)
    begin_collection(c)
    return True


def is_full(c: Collector) -> bool:
    """All empty items together count for one update."""
    return sum(not item.empty for item in c.batch) + any(item.empty for item in c.batch) >= c.parameters.updates


def fits(c: Collector, item: Item) -> bool:
    if item.empty and not c.parameters.weighs_empties:
        return True
    return sum(other.size for other in c.batch) + item.size <= c.parameters.bytes


# what seals a batch --------------------------------------------------------------------------------------------------
@rule("AWS-23", source="semantics 2.4, vectors V08 to V11; L5", of=SHIPPED)
def full(c: Collector) -> bool | None:
    """Sealed: it has as many updates as a request may have."""
    return True if is_full(c) else None


@rule("AWS-24", source="semantics 2.4 E, vectors V12, V15; L5", of=SHIPPED)
def misfit(c: Collector, item: Item) -> bool | None:
    """Sealed: an item does not fit; it goes to the overflow."""
    if fits(c, item):
        return None
    c.overflow.append(item)
    return True


@rule("AWS-25", source="semantics 2.4 E, vector V07; L6", of=SHIPPED)
def deadline_passed(c: Collector) -> bool | None:
    """Sealed: the collection has lasted as long as it may."""
    return True if c.now >= c.deadline else None


def silence(c: Collector) -> bool | None:
    return blocked_silence(c) or quiet_silence(c) if c.quiet_until is not None and c.now >= c.quiet_until else None


@rule("AWS-26", source="semantics 2.4 E, vector V01", of=SHIPPED, switch="blocked_window")
def blocked_silence(c: Collector) -> bool | None:
    """Sealed: nothing came for a short while, and a caller is blocked."""
    return True if c.parameters.blocked_window is not None and any(item.sync for item in c.batch) else None


@rule("AWS-27", source="semantics 2.4 E, vector V02", of=SHIPPED)
def quiet_silence(c: Collector) -> bool:
    """Sealed: nothing came for a while."""
    return True


@rule("AWS-28", source="semantics 2.4 E, vector V35", of=SHIPPED)
def stop_seen(c: Collector) -> bool | None:
    """Sealed: the collector is stopped."""
    return True if c.stopped else None


@rule("AWS-29", source="semantics 2.4, vector V37", of=SHIPPED, switch="heap")
def cut_short(c: Collector) -> bool:
    """Sealed: a read ended for a refresh that had been cancelled meanwhile."""
    return True


@rule("AWS-30", source="semantics 2.4 F and G", of=SHIPPED)
def seal(c: Collector, saw: list[Observation], reason: bool | None) -> Observation:
    """What is due by now joins, and the batch is sent: its updates in order, without the empty items."""
    assert reason
    join_due(c, saw)
    batch, c.batch = c.batch, []
    c.flight = Flight(batch, c.now)
    c.phase, c.deadline, c.quiet_until = "idle", 0, None
    return ("send", [item.id for item in batch if not item.empty], [item.id for item in batch if item.refresh], c.token)


# answers and the end -------------------------------------------------------------------------------------------------
@rule("AWS-31", source="semantics 2.6, vectors V41 to V43", of=SHIPPED)
def without_token(c: Collector, command: v.Respond) -> list[Observation] | None:
    """An answer without a token is the end: of the execution, if its final update was sent (or, if so published, any update); else of
    this worker's right to it (or it is an error)."""
    assert c.flight
    if command.token is not None:
        return None
    if c.parameters.revokes:
        return end(c, "completed" if any(item.final for item in c.flight.batch) else "revoked")
    return end(c, "failed" if all(item.empty for item in c.flight.batch) else "completed")


@rule("AWS-32", source="semantics 2.4 G", of=SHIPPED)
def next_token(c: Collector, command: v.Respond) -> bool:
    """An answer's token goes with the next request."""
    assert command.token is not None
    c.token = command.token
    return True


@rule("AWS-33", source="semantics 2.2, vector V44", of=SHIPPED)
def another_page(c: Collector, marker: str | None) -> list[Observation] | None:
    """Nobody is told anything before every page of the answer is there."""
    assert c.flight
    c.flight.fetching = marker is not None
    return None if marker is None else [("fetch", marker, c.token)]


@rule("AWS-34", source="semantics 2.2, 2.5; L3, L4", of=SHIPPED)
def durable(c: Collector) -> list[Observation]:
    """Once the answer is there, every caller blocked on the batch goes on, in its order."""
    flight, c.flight = c.flight, None
    assert flight
    return [("settled", item.id, "ok") for item in flight.batch if item.sync]


@rule("AWS-35", source="semantics 6, last row", of=SHIPPED, switch="settles_by_older")
def settled_by_older(c: Collector) -> list[Observation] | None:
    """A refresh that has come due during a request is settled by its answer, which cannot show what it asks for."""
    if not c.profile.settles_by_older:
        return None
    older = [entry for entry in c.heap if entry.due <= c.now and not entry.cancelled]
    c.heap = [entry for entry in c.heap if entry not in older]
    return [("settled", entry.id, "ok") for entry in older] or None


def take_in(c: Collector, marker: str | None) -> list[Observation]:
    fetch = another_page(c, marker)
    return [*durable(c), *(settled_by_older(c) or ())] if fetch is None else fetch


@rule("AWS-36", source="semantics 2.6, vectors V40 to V43", of=SHIPPED)
def end(c: Collector, why: v.Why) -> list[Observation]:
    """At the end everybody is told why: the batch, what did not fit, the queue, the refreshes. Only what completed the execution is well."""
    flight, c.flight, c.over = c.flight, None, why
    assert flight
    outcome = {"completed": "orphaned", "revoked": "suspended", "failed": "failed"}[why]
    saw: list[Observation] = [("settled", item.id, "ok" if why == "completed" else outcome) for item in flight.batch if item.sync]
    return saw + settle_queued(c, outcome) + settle_heap(c, outcome)


@rule("AWS-37", source="semantics 2.6, vector V40", of=SHIPPED)
def fail(c: Collector) -> list[Observation]:
    """If a request fails, or the fetch of a page of its answer, that is the end for all."""
    return end(c, "failed")


@rule("AWS-38", source="semantics 2.6, vectors V34 to V36", of=SHIPPED)
def leave(c: Collector, saw: list[Observation]) -> Observation:
    """A stopped thread sends what it has collected, and ends; the refreshes are orphaned, and what is queued too, unless it is abandoned."""
    c.phase, c.over = "idle", "stopped"
    if not c.profile.stop_abandons:
        saw += settle_queued(c, "orphaned")
    saw += settle_heap(c, "orphaned")
    return ("exit",)


def settle_queued(c: Collector, outcome: str) -> list[Observation]:
    left = [*c.overflow, *c.queue]
    c.overflow, c.queue, c.woken = [], [], False
    return [("settled", item.id, outcome) for item in left if item.sync]


def settle_heap(c: Collector, outcome: str) -> list[Observation]:
    left, c.heap = c.heap, []
    return [("settled", entry.id, outcome) for entry in left]


# commands ------------------------------------------------------------------------------------------------------------
def do(c: Collector, command: v.Command) -> list[Observation]:
    match command:
        case v.Submit():
            place(c, command)
            orphan_all_below(c, command)
            if why := orphaned(c, command) or after_the_end(c) or after_the_stop(c):
                return [("rejected", command.id, why)]
            accept(c, command)
            return [("accepted", command.id)]
        case v.Refresh():
            if why := nothing_scheduled(c) or after_the_end(c) or no_refresh_after_the_stop(c):
                return [("rejected", command.id, why)]
            schedule(c, command)
            wake(c)
            return [("accepted", command.id)]
        case v.Cancel():
            cancel(c, command)
            return []
        case v.Credit():
            return []                                            # nobody is counted
        case v.Stop():
            c.stopped = True
            return []
        case v.Pump():
            return pump(c)
        case v.Respond():
            ending = without_token(c, command)
            if ending is not None:
                return ending
            next_token(c, command)
            return take_in(c, command.marker)
        case v.Page():
            return take_in(c, command.marker)
        case v.Fail():
            return fail(c)


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
