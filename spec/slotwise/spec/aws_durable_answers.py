"""What the answer to a request means to the published collector, and the end."""
from __future__ import annotations

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.aws_durable_heap import settle_heap
from slotwise.spec.aws_durable_state import Collector
from slotwise.spec.rules import SHIPPED, rule
from slotwise.spec.vocabulary import Observation


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


def settle_queued(c: Collector, outcome: str) -> list[Observation]:
    left = [*c.overflow, *c.queue]
    c.overflow, c.queue, c.woken = [], [], False
    return [("settled", item.id, outcome) for item in left if item.sync]
