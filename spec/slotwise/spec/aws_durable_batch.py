"""What the published collector puts into one request, and what does not fit."""
from __future__ import annotations

from slotwise.spec.aws_durable_state import Collector, Item
from slotwise.spec.rules import SHIPPED, rule


def join(c: Collector, item: Item) -> None:
    c.batch.append(item)
    c.quiet_until = None


def is_full(c: Collector) -> bool:
    return has_enough(sum(not item.empty for item in c.batch), any(item.empty for item in c.batch), c.parameters.updates)


def has_enough(updates: int, empties: bool, most: int) -> bool:
    """All empty items together count for one update."""
    return updates + empties >= most


def fits(c: Collector, item: Item) -> bool:
    if item.empty and not c.parameters.weighs_empties:
        return True
    return sum(other.size for other in c.batch) + item.size <= c.parameters.bytes


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
