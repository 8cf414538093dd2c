"""Credits and holds (slotwise): who can still add work, and how long a request waits for them."""
from __future__ import annotations

from slotwise.spec import batching_vocabulary as v
from slotwise.spec import refresh as r
from slotwise.spec.batching_plan import latest
from slotwise.spec.batching_state import Collector, Moment
from slotwise.spec.rules import LOOK_AHEAD, rule
from slotwise.spec.vocabulary import Observation


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
    return asleep(c, max(last, c.fell) + silence(c.round_trip, c.parameters)) if counted(c) >= 2 else None


def silence(round_trip: int, parameters: v.LookAhead) -> int:
    """How long nothing has moved, when two or more producers are running."""
    return max(parameters.may_come, round_trip // parameters.will_come)


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
    limit = last_hold(c.open, c.round_trip, c.parameters.hold, latest(c))
    return limit if limit < until else None


def last_hold(opened: int, round_trip: int, trips: int, latest: int) -> int:
    return min(opened + trips * round_trip - 1, latest)


@rule("BAT-20", source="discipline BAT-5, BAT-10", of=LOOK_AHEAD)
def give_up(c: Collector) -> bool | None:
    """Producers that are still running when a hold ends were waited for in vain."""
    if c.running <= c.stale:
        return None
    c.stale = c.running
    return True
