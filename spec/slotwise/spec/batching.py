"""Checkpoint batching (slotwise): drain, look ahead on known due times, hold only while somebody can still add work.

One collector, one request in flight, one clock. Nothing is sent except by `pump`: after the commands of one instant the driver pumps once
and obeys, and pumps again at the time it was told, and after any later command. Its parts have modules of their own: the queue is in
`batching_line`, looking ahead in `batching_plan`, credits and holds in `batching_hold`, what an answer means in `batching_answers`; and the other
half, what a refresh is and when it is due, in `refresh`. `collector.step` takes commands to a collector.
"""
from __future__ import annotations

from slotwise.spec import batching_answers as answers
from slotwise.spec import batching_hold as holds
from slotwise.spec import batching_line as line
from slotwise.spec import batching_plan as plans
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import refresh as r
from slotwise.spec.batching_state import Collector, Flight, Item, Moment
from slotwise.spec.rules import LOOK_AHEAD, rule
from slotwise.spec.vocabulary import Observation


# producers ------------------------------------------------------------------------------------------------------------
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
        holds.change_credits(c, -1, 0)
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


# when to send ---------------------------------------------------------------------------------------------------------
def look(c: Collector) -> Moment:
    dues, items = [r.when(c, waiter) for waiter in c.waiters], line.prefix(c)
    full = bool(line.nothing_to_wait_for(c, items))
    gate = c.now if full or not c.queue else opens(c.queue[0].at, c.queue[-1].at, c.parameters)
    return Moment(dues, items, full, sum(item.sync for item in c.queue) + sum(due <= c.now for due in dues), gate)


def opens(first: int, last: int, parameters: v.LookAhead) -> int:
    """When the gate opens to items of which nobody waits for any, by when the first and the last came."""
    return min(first + parameters.collection, last + parameters.quiet)


def pump(c: Collector) -> list[Observation]:
    if answer := ended(c) or in_flight(c) or stopping(c):
        return [answer]
    m = look(c)
    c.open = None if m.blocked == 0 else c.now if c.open is None else c.open
    return [nobody_blocked(c, m) or plans.look_ahead(c, m) or holds.hold(c, m) or send(c, m.items)]


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
        return send(c, line.prefix(c))
    c.over = "stopped"
    return ("exit",)


@rule("BAT-14", source="discipline BAT-8; H4; L6", of=LOOK_AHEAD)
def nobody_blocked(c: Collector, m: Moment) -> Observation | None:
    """While nobody is blocked, items wait for silence, or until the first has waited for a whole collection, or for a full request; and a refresh waits until it is due."""
    if m.blocked or (c.queue and m.gate <= c.now):
        return None
    return ("sleep", min([m.gate] * bool(c.queue) + m.dues, default=None))


@rule("BAT-21", source="discipline BAT-11; L2, L4", of=LOOK_AHEAD)
def send(c: Collector, items: list[Item]) -> Observation:
    """A request takes what it can carry of the queue, and every refresh that is due, by due time and as they were asked for. Empty items are not sent."""
    waiters = r.in_order(c, [w for w in c.waiters if r.when(c, w) <= c.now])
    c.queue = c.queue[len(items):]
    c.waiters = [w for w in c.waiters if w not in waiters]
    c.flight, c.open = Flight(items, waiters, c.now), None
    return ("send", [item.id for item in items if not item.empty], [w.id for w in waiters], c.token)


@rule("BAT-28", source="discipline BAT-12; H5; L9", of=LOOK_AHEAD)
def begin_to_stop(c: Collector) -> list[Observation] | None:
    """At the stop, refreshes that are not on a request are orphaned."""
    gone = r.in_order(c, c.waiters)
    c.stopped, c.waiters = True, []
    return [("settled", w.id, "orphaned") for w in gone] or None


# commands -------------------------------------------------------------------------------------------------------------
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
                holds.change_credits(c, 1, 0)
                return [resumed]
            r.wait(c, command)
            return [("accepted", command.id)]
        case v.Cancel():
            return r.cancel(c, command) or []
        case v.Credit():
            holds.change_credits(c, command.running, command.outside)
            return []
        case v.Stop():
            return begin_to_stop(c) or []
        case v.Pump():
            return pump(c)
        case v.Respond():
            ending = answers.without_token(c, command)
            if ending is not None:
                return ending
            answers.next_token(c, command)
            assert c.flight
            if command.stamp is not None:
                r.learn(c, command.stamp - c.flight.sent, c.now - c.flight.sent)
            return answers.take_in(c, command.done, command.marker)
        case v.Page():
            return answers.take_in(c, command.done, command.marker)
        case v.Fail():
            return answers.fail(c)
