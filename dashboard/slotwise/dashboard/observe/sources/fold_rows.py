"""What a fold of events keeps: of each resource, and of each group."""
from __future__ import annotations

from collections import Counter, OrderedDict

from slotwise.impl.meter_rows import Durations
from slotwise.spec.vocabulary import WEIGHT_UNIT

Needs = tuple[tuple[str, int], ...]


class ResourceRow:
    def __init__(self, name: str, capacity: int) -> None:
        self.name, self.capacity = name, capacity
        self.busy = self.busy_time = self.idle = self.longest = 0
        self.idle_since: int | None = None
        self.groups: dict[str, None] = {}                        # that have ever needed it
        self.weight = 0                                          # of those
        self.hold = Durations()

    @property
    def free(self) -> int:
        return self.capacity - self.busy


class GroupRow:
    def __init__(self, name: str) -> None:
        self.name, self.weight, self.limit = name, 1.0, None
        self.waiting: OrderedDict[str, tuple[Needs, int]] = OrderedDict()      # task -> its needs, since when; in their order
        self.held: Counter[str] = Counter()
        self.runs: Counter[Needs] = Counter()
        self.running = self.service = 0                          # the latter in slot-ns by the fold's scale
        self.refused = ""                                        # the reason last told for its head
        self.causes: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.wait = Durations()

    limit: int | None

    @property
    def units(self) -> int:
        """Its weight."""
        return round(self.weight * WEIGHT_UNIT)

    @property
    def needs(self) -> Needs:
        """Of its first task."""
        return next(iter(self.waiting.values()))[0] if self.waiting else ()

    @property
    def tasks(self) -> int:
        """That its limit leaves room for."""
        return len(self.waiting) if self.limit is None else max(0, min(len(self.waiting), self.limit - self.running))
