"""What the answer to a request means (slotwise), and the end."""
from __future__ import annotations

from slotwise.spec import batching_vocabulary as v
from slotwise.spec import refresh as r
from slotwise.spec.batching_hold import change_credits
from slotwise.spec.batching_state import Collector, Item
from slotwise.spec.rules import LOOK_AHEAD, rule
from slotwise.spec.vocabulary import Observation


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
    c.round_trip, c.measured = mean_after(c.round_trip, trip) if c.measured else trip, True
    return True


def mean_after(mean: int, trip: int) -> int:
    return mean + (trip - mean) // 8


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
