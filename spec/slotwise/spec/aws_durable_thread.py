"""The thread of the published collector: how it reads its queue, when a batch is sealed, and how it leaves."""
from __future__ import annotations

from slotwise.spec import aws_durable_batch as batch
from slotwise.spec import aws_durable_heap as heap
from slotwise.spec.aws_durable_answers import settle_queued
from slotwise.spec.aws_durable_state import Collector, Flight, Item
from slotwise.spec.rules import SHIPPED, rule
from slotwise.spec.vocabulary import Observation


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
        batch.drain_overflow(c)
        heap.join_due(c, saw)
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
    joined = heap.join_due(c, saw)
    if c.phase == "first":
        begin_collection(c)
        return None
    return None if joined else seal(c, saw, deadline_passed(c) or silence(c) or stop_seen(c) or cut_short(c))


@rule("AWS-14", source="semantics 2.10; H5", of=SHIPPED, off="stop_waits_for_poll")
def ended_by_stop(c: Collector) -> bool | None:
    """A stop ends the read, unless it is seen only when that ends by itself."""
    return True if c.stopped and not c.profile.stop_waits_for_poll else None


@rule("AWS-18", source="semantics 2.4 C, 2.5", of=SHIPPED)
def read_first(c: Collector, saw: list[Observation]) -> bool:
    """With an empty batch, a read lasts until the next refresh is due, but only so long that a stop is seen."""
    heap.forget_cancelled(c, saw)
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
    enough = batch.full(c) or stop_seen(c)
    if enough is None:
        heap.join_due(c, saw)
        heap.forget_cancelled(c, saw)
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
    c.quiet_until = c.now + window(c.parameters.quiet, blocked)
    return True


def window(quiet: int, blocked: int | None) -> int:
    """How long a silence is; `blocked`: where a caller is."""
    return min(quiet, quiet if blocked is None else blocked)


def take(c: Collector, item: Item, saw: list[Observation]) -> Observation | None:
    """What a read has brought."""
    if item.wake:
        consume_wake(c)
        return None
    if c.phase == "first":
        take_first(c, item)
        return None
    if batch.misfit(c, item):
        return seal(c, saw, True)
    batch.join(c, item)
    return None


@rule("AWS-21", source="semantics 2.4 C and E, 2.5; H4", of=SHIPPED, switch="heap")
def consume_wake(c: Collector) -> bool:
    """After a wake the thread reads again."""
    c.woken = False
    return True


@rule("AWS-22", source="semantics 2.4 C, vector V13", of=SHIPPED)
def take_first(c: Collector, item: Item) -> bool:
    """The first item is never too large."""
    batch.join(c, item)
    begin_collection(c)
    return True


# what seals a batch ---------------------------------------------------------------------------------------------------
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
    heap.join_due(c, saw)
    sealed, c.batch = c.batch, []
    c.flight = Flight(sealed, c.now)
    c.phase, c.deadline, c.quiet_until = "idle", 0, None
    return ("send", [item.id for item in sealed if not item.empty], [item.id for item in sealed if item.refresh], c.token)


@rule("AWS-38", source="semantics 2.6, vectors V34 to V36", of=SHIPPED)
def leave(c: Collector, saw: list[Observation]) -> Observation:
    """A stopped thread sends what it has collected, and ends; the refreshes are orphaned, and what is queued too, unless it is abandoned."""
    c.phase, c.over = "idle", "stopped"
    if not c.profile.stop_abandons:
        saw += settle_queued(c, "orphaned")
    saw += heap.settle_heap(c, "orphaned")
    return ("exit",)
