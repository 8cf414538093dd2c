"""The refreshes of the published collector: they wait in a heap, and join a batch when they are due."""
from __future__ import annotations

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.aws_durable_batch import join
from slotwise.spec.aws_durable_state import WAKE, Collector, Item, Refresh
from slotwise.spec.rules import SHIPPED, rule
from slotwise.spec.vocabulary import Observation


@rule("AWS-9", source="semantics 2.3, 2.5; H6", of=SHIPPED, switch="heap")
def schedule(c: Collector, command: v.Refresh) -> bool:
    """A refresh waits for a time of the caller's own clock."""
    c.asked += 1
    due = local(command.due, command.key, command.at, c.hint)
    c.heap = sorted([*c.heap, Refresh(command.id, command.owner, due, c.asked)], key=lambda entry: (entry.due, entry.seq))
    return True


def local(due: int | None, key: int | None, at: int, hint: int) -> int:
    """The caller's own time of a refresh: as given, or by the service's stamp, or now."""
    return due if due is not None else at if key is None else key - hint


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


@rule("AWS-17", source="semantics 2.5, vector V28", of=SHIPPED, switch="heap")
def forget_cancelled(c: Collector, saw: list[Observation]) -> bool | None:
    """A cancelled refresh that is next in the heap is settled, so that no read ends for it."""
    if not c.heap or not c.heap[0].cancelled:
        return None
    while c.heap and c.heap[0].cancelled:
        saw.append(("settled", c.heap.pop(0).id, "ok"))
    return True


def settle_heap(c: Collector, outcome: str) -> list[Observation]:
    left, c.heap = c.heap, []
    return [("settled", entry.id, outcome) for entry in left]
