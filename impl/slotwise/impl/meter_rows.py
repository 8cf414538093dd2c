"""What a meter keeps: of each resource, each group, and each shape of needs."""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from slotwise.impl import snapshot as s
from slotwise.spec.vocabulary import Group, weight_in_units

SCHEDULER, KEPT, SHORT = 0, 1, 2         # of a shape's clock; from SHORT on, by the first need that is not free

#: Cause and resource of what is charged, where no resource is short.
WITHIN = (("scheduler", ""), ("kept", ""))
LIMIT = ("limit", "")


def bucket(duration: int) -> int:
    """Eight buckets to each power of two; exact below 16 ns."""
    if duration < 8:
        return max(0, duration)
    exponent = duration.bit_length() - 4
    return (exponent << 3) + (duration >> exponent)


def low(index: int) -> int:
    """The least duration in a bucket, ns."""
    return index if index < 16 else (8 + (index & 7)) << ((index >> 3) - 1)


class Durations:
    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.total = 0

    def add(self, duration: int) -> None:
        """One of less than nothing counts as nothing."""
        if duration < 0:
            duration = 0
        self.total += duration
        exponent = duration.bit_length() - 4
        i = (exponent << 3) + (duration >> exponent) if exponent > 0 else duration
        counts = self.counts
        counts[i] = counts.get(i, 0) + 1

    def frozen(self) -> s.Histogram:
        return s.Histogram(self.counts.copy(), self.total)


class ResourceRow:
    __slots__ = ("busy_less", "capacity", "free", "full", "groups", "hold", "holders", "idle", "idle_from", "idle_time", "lent", "longest", "name", "waiting", "wanted", "weight")

    def __init__(self, name: str, capacity: int) -> None:
        self.name, self.capacity = name, capacity
        self.free, self.busy_less = capacity, 0      # units, and Σ instant · units of what began less what ended
        self.idle = self.idle_from = self.idle_time = self.longest = 0
        self.wanted = self.waiting = 0       # units that nothing else holds back; waiting tasks that need it
        self.groups: dict[GroupRow, None] = {}       # that have ever needed it
        self.weight = 0                      # of those
        self.holders: dict[GroupRow, int] = {}       # units of those that hold some
        self.hold = Durations()
        self.full, self.lent = ("capacity", name), ("lent", name)


class Shape:
    """Needs that are equal. `tasks` wait, may start by their group's limit, and have a first task of this shape before them."""

    __slots__ = ("clock", "index", "needs", "parts", "rate", "tasks", "waiting")

    def __init__(self, needs: dict[str, int], parts: tuple[tuple[ResourceRow, int], ...], rate: int) -> None:
        self.needs, self.parts, self.rate = needs, parts, rate
        self.tasks = self.waiting = 0
        self.index = SCHEDULER
        self.clock = [0] * (SHORT + len(parts))


def eligible(shape: Shape) -> Sequence[tuple[ResourceRow, int]]:
    """What its tasks are eligible for (dashboard 4.7): the first of them would start now if one unit of that were free in addition, and
    given to it. Those behind it are taken to need what it needs, as far as their group's limit leaves room (that is in `tasks`)."""
    short = [part for part in shape.parts if part[0].free < part[1]]
    if not short:
        return shape.parts
    return short if len(short) == 1 and short[0][0].free + 1 == short[0][1] else ()


class GroupRow:
    __slots__ = ("backing", "backing_less", "causes", "counted", "dead", "limit", "limited", "line", "mark", "name", "outcomes", "overdue", "rest", "retried", "running",
                 "sent", "service_less", "serving", "shape", "since", "spec", "started", "submitted", "wait", "waiting", "weight")  # fmt: skip

    def __init__(self, spec: Group) -> None:
        self.name = spec.name
        self.overdue: dict[Any, int] = {}    # jobs that were told to end and hold their units yet, since when; the first told first
        self.sent = False                    # the engine knows the specification
        self.line: deque[Any] = deque()      # jobs, those that wait no longer included until they are met; `dead` of them
        self.waiting = self.running = self.dead = self.counted = 0
        self.backing = self.backing_less = self.serving = self.service_less = 0
        self.shape: Shape | None = None      # of its first waiting job
        self.mark: list[int] = []            # its shape's clock at `since`
        self.since = 0
        self.causes: dict[tuple[str, str], int] = {}
        self.submitted = self.started = self.retried = 0
        self.outcomes = {"finished": 0, "failed": 0, "cancelled": 0, "timed_out": 0}
        self.wait = Durations()
        self.rest: s.Group | None = None     # as it was frozen, while nothing has happened to it since and nothing of it grows with time
        self.specify(spec)

    def specify(self, spec: Group) -> None:
        self.spec, self.weight, self.limit = spec, weight_in_units(spec), spec.running_limit
        self.limited = self.limit is not None and self.running >= self.limit
        self.rest = None


def merged(rows: Iterable[s.Histogram]) -> s.Histogram:
    """One histogram of several."""
    counts: dict[int, int] = {}
    total = 0
    for row in rows:
        total += row.total
        for i, n in row.counts.items():
            counts[i] = counts.get(i, 0) + n
    return s.Histogram(counts, total)
