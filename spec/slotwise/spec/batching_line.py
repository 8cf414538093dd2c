"""The queue (slotwise): what one request can carry of it. Everything leaves in the order in which it was accepted."""
from __future__ import annotations

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_state import Collector, Item
from slotwise.spec.rules import LOOK_AHEAD, rule


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
    return True if is_full(len(c.queue) - len(items), updates, size, c.parameters) else None


def is_full(left: int, updates: int, size: int, limits: v.LookAhead) -> bool:
    return left > 0 or updates == limits.updates or size >= limits.bytes
