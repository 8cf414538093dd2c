"""Looking ahead (slotwise): a request that could be sent now may wait for due times that are known."""
from __future__ import annotations

from functools import cache

from slotwise.spec.batching_state import Collector, Moment
from slotwise.spec.rules import LOOK_AHEAD, rule
from slotwise.spec.vocabulary import Observation


@rule("BAT-15", source="discipline BAT-9", of=LOOK_AHEAD)
def look_ahead(c: Collector, m: Moment) -> Observation | None:
    """A request waits for a known due time if of all plans for what is known to come the one with the least waiting begins then; fewer requests break ties, then earlier ones."""
    p = c.parameters
    limit = last_begin(m.gate if c.open is None else c.open, c.round_trip, latest(c))
    near = sorted({due for due in m.dues if c.now < due <= c.now + p.horizon * c.round_trip})[: p.instants]
    first = plan(c.now, m.blocked, limit, c.round_trip, tuple((due, m.dues.count(due)) for due in near))
    return ("sleep", first) if first > c.now else None


def last_begin(opened: int, round_trip: int, latest: int) -> int:
    """A plan begins within a round trip."""
    return min(opened + round_trip - 1, latest)


def latest(c: Collector) -> int:
    """No collection is longer than this, counted from whatever is waiting for a request the longest."""
    return min([item.at for item in c.queue[:1]] + [opened for opened in (c.open,) if opened is not None]) + c.parameters.collection


def plan(now: int, blocked: int, limit: int, round_trip: int, known: tuple[tuple[int, int], ...]) -> int:
    """The first send of the best plan. `known`: the due instants to come, in order, each with the number of refreshes; a send covers what
    is due by then. It may be now, or at a due instant by the limit; each later one as soon as the channel is free and something is due,
    or at a due instant within a round trip of that."""

    @cache
    def after(i: int, at: int) -> tuple[int, int]:
        """The waiting and the number of sends, of a send at that time that covers what is known from the i-th on, and of the best that follow."""
        n = i + sum(due <= at for due, _ in known[i:])
        waiting, sends = rest(n, at + round_trip)
        return sum(count * (at - due) for due, count in known[i:n]) + waiting, sends + 1

    @cache
    def rest(i: int, free: int) -> tuple[int, int]:
        if i == len(known):
            return 0, 0
        soonest = max(free, known[i][0])
        return min(after(i, at) for at in [soonest, *(due for due, _ in known[i:] if soonest < due < soonest + round_trip)])

    def cost(first: int) -> tuple[int, int, int]:
        waiting, sends = after(0, first)
        return blocked * (first - now) + waiting, sends, first

    return min([now, *(due for due, _ in known if due <= limit)], key=cost)
