"""What a meter keeps: of each resource, each group, and each shape of needs."""
from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from slotwise.impl import snapshot as s
from slotwise.spec.vocabulary import Group, weight_in_units

SCHEDULER, KEPT, SHORT = 0, 1, 2         # of a phase's clock; from SHORT on, by the first need that is not free

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
        self.counts: defaultdict[int, int] = defaultdict(int)
        self.total = 0

    def add(self, duration: int) -> None:
        """One of less than nothing counts as nothing."""
        if duration < 16:                    # each has its own bucket
            if duration < 0:
                duration = 0
            self.counts[duration] += 1
        else:
            exponent = duration.bit_length() - 4
            self.counts[(exponent << 3) + (duration >> exponent)] += 1
        self.total += duration

    def frozen(self) -> s.Histogram:
        return s.Histogram(dict(self.counts), self.total)


class ResourceRow:
    __slots__ = ("busy_less", "capacity", "free", "full", "groups", "hold", "holders", "idle", "idle_from", "idle_less", "lent", "longest", "name", "waiting", "wanted", "weight")

    def __init__(self, name: str, capacity: int) -> None:
        self.name, self.capacity = name, capacity
        self.free, self.busy_less = capacity, 0      # units, and Σ instant · units of what began less what ended
        self.idle = self.idle_less = 0       # units that were idle although wanted until now, and Σ instant · units of what became so less what is so no longer
        self.idle_from = self.longest = 0    # since when some are, and the longest such time that is over
        self.wanted = self.waiting = 0       # units that would be taken, while that is judged; waiting tasks that need it
        self.groups: dict[GroupRow, None] = {}       # that have ever needed it
        self.weight = 0                      # of those
        self.holders: dict[GroupRow, int] = {}       # units of those that hold some
        self.hold = Durations()
        self.full, self.lent = ("capacity", name), ("lent", name)


class Phase:
    """What the tasks of a shape have waited for since `at`, which is all the same, and how long they had waited for what until then."""

    __slots__ = ("at", "clock", "index")

    def __init__(self, index: int, at: int, clock: list[int]) -> None:
        self.index, self.at, self.clock = index, at, clock

    def until(self, at: int) -> list[int]:
        """How long they have waited for what."""
        clock = self.clock.copy()
        clock[self.index] += at - self.at
        return clock


class Shape:
    """Needs that are equal. `tasks` wait, may start by their group's limit, and have a first task of this shape before them."""

    __slots__ = ("alive", "needs", "only", "parts", "phase", "rate", "tasks")

    def __init__(self, needs: dict[str, int], parts: tuple[tuple[ResourceRow, int], ...], rate: int) -> None:
        self.needs, self.parts, self.rate = needs, parts, rate
        self.only = parts[0] if len(parts) == 1 else None
        self.tasks = self.alive = 0          # `alive` of them wait or run; one more if it is to be kept anyhow
        self.phase = Phase(SCHEDULER, 0, [0] * (SHORT + len(parts)))


def eligible(shape: Shape) -> Sequence[tuple[ResourceRow, int]]:
    """What its tasks are eligible for (dashboard 4.7): the first of them would start now if one unit of that were free in addition, and
    given to it. Those behind it are taken to need what it needs, as far as their group's limit leaves room (that is in `tasks`)."""
    short = [part for part in shape.parts if part[0].free < part[1]]
    if not short:
        return shape.parts
    return short if len(short) == 1 and short[0][0].free + 1 == short[0][1] else ()


#: A job that waits: its id, since when, its needs.
Waiter = tuple[str, int, Shape]


class GroupRow:
    __slots__ = ("backing", "backing_less", "causes", "counted", "gone", "limit", "limited", "line", "mark", "missed", "name", "outcomes", "overdue", "rest", "retried", "running",
                 "sent", "service_less", "serving", "shape", "since", "spec", "started", "submitted", "wait", "waiting", "weight")  # fmt: skip

    def __init__(self, spec: Group) -> None:
        self.name = spec.name
        self.overdue: dict[str, int] = {}    # jobs that were told to end and hold their units yet, since when; the first told first
        self.sent = False                    # the engine knows the specification
        self.line: deque[Waiter] = deque()   # in order, those included, until they are met, that are …
        self.gone: set[str] = set()          # … of those: they wait no longer, and have not started
        self.waiting = self.running = self.counted = 0
        self.backing = self.backing_less = self.serving = self.service_less = 0
        self.shape: Shape | None = None      # of its first waiting job
        self.mark: Phase | None = None       # of that, when it was last read, at `since`
        self.since = self.missed = 0         # waiter-ns between `since` and when those came that came after it
        self.causes: defaultdict[tuple[str, str], int] = defaultdict(int)
        self.submitted = self.started = self.retried = 0
        self.outcomes = {"finished": 0, "failed": 0, "cancelled": 0, "timed_out": 0}
        self.wait = Durations()
        self.rest: s.Group | None = None     # as it was frozen, while nothing has happened to it since and nothing of it grows with time
        self.specify(spec)

    def specify(self, spec: Group) -> None:
        self.spec, self.weight, self.limit = spec, weight_in_units(spec), spec.running_limit
        self.limited = self.limit is not None and self.running >= self.limit
        self.rest = None

    def waiters(self) -> Iterator[Waiter]:
        """Those that wait, in order."""
        return (waiter for waiter in self.line if waiter[0] not in self.gone)


def merged(rows: Iterable[s.Histogram]) -> s.Histogram:
    """One histogram of several."""
    counts: dict[int, int] = {}
    total = 0
    for row in rows:
        total += row.total
        for i, n in row.counts.items():
            counts[i] = counts.get(i, 0) + n
    return s.Histogram(counts, total)
