"""Checkpoint batching as published: the collector of the AWS durable-execution SDK, with its known defects behind switches.

The published collector is a thread that reads its queue with a time-out. Here a read is a *sleep*: `pump` runs the thread until it
sleeps, sends or ends (`aws_durable_thread`). What is in the queue when a read is looked at is delivered, also at the instant at which it expires. Queue
reads shorten for the heap of refreshes (`aws_durable_heap`) by a *wake* that travels through the queue. It measures nothing, and counts nobody.
"""
from __future__ import annotations

from slotwise.spec import aws_durable_answers as answers
from slotwise.spec import aws_durable_heap as heap
from slotwise.spec import aws_durable_thread as thread
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.aws_durable_state import Collector, Item
from slotwise.spec.rules import SHIPPED, rule
from slotwise.spec.vocabulary import Observation


# producers ------------------------------------------------------------------------------------------------------------
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


# commands -------------------------------------------------------------------------------------------------------------
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
            heap.schedule(c, command)
            heap.wake(c)
            return [("accepted", command.id)]
        case v.Cancel():
            heap.cancel(c, command)
            return []
        case v.Credit():
            return []                                            # nobody is counted
        case v.Stop():
            c.stopped = True
            return []
        case v.Pump():
            return thread.pump(c)
        case v.Respond():
            ending = answers.without_token(c, command)
            if ending is not None:
                return ending
            answers.next_token(c, command)
            return answers.take_in(c, command.marker)
        case v.Page():
            return answers.take_in(c, command.marker)
        case v.Fail():
            return answers.fail(c)
