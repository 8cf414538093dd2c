"""Snapshots from events: a ledger of tasks that wait, start and end, with exact integrals between its changes. For records of schedulers
that tell what they do, and not what it adds up to."""
from __future__ import annotations

from collections import Counter
from math import ceil

from slotwise.impl.meter_rows import bucket
from slotwise.impl.snapshot import CAUSES, VERSION, Group, Histogram, Resource, Snapshot

#: Causes by the reason for which a head is refused.
REFUSED = {"group_cap": "limit", "running_limit": "limit", "borrow_debt": "lent", "kept_units": "kept"}
Needs = tuple[tuple[str, int], ...]


class Durations:
    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.total = 0

    def add(self, duration: int) -> None:
        self.counts[bucket(duration)] += 1
        self.total += duration

    def frozen(self) -> Histogram:
        return Histogram(dict(self.counts), self.total)


class _Resource:
    def __init__(self, name: str, capacity: int) -> None:
        self.name, self.capacity = name, capacity
        self.busy = self.busy_time = self.idle = self.idle_from = self.longest = 0
        self.hold = Durations()


class _Group:
    def __init__(self, name: str) -> None:
        self.name, self.weight, self.limit = name, 1.0, None
        self.waiting: dict[str, tuple[Needs, int]] = {}          # task -> its needs, since when
        self.shapes: Counter[Needs] = Counter()                  # of those that wait
        self.held: Counter[str] = Counter()
        self.running = self.service = 0
        self.refused = ""                                        # the reason last told for its head
        self.causes: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.wait = Durations()

    limit: int | None


class Fold:
    """Every change comes with its instant, ns, never before an earlier one's (if it is, the earlier counts)."""

    def __init__(self, program: str, capacity: dict[str, int], started: int) -> None:
        self.program, self.started, self.now, self.state = program, started, started, "running"
        self.resources: dict[str, _Resource] = {}
        self.groups: dict[str, _Group] = {}
        self.group_of: dict[str, str] = {}                       # task that waits -> its group
        self.leases: dict[str, tuple[_Group, Needs, int]] = {}
        self.events = self.number = 0
        for name, units in capacity.items():
            self.has(name, units, started)

    # what happens ----------------------------------------------------------------------------------------------------
    def has(self, resource: str, capacity: int, at: int) -> None:
        """There are so many units of it, from now on."""
        if resource not in self.resources:
            self.pass_to(at)
            self.resources[resource] = _Resource(resource, capacity)
            self.resources[resource].idle_from = self.now
        elif self.resources[resource].capacity != capacity:
            self.pass_to(at)
            self.resources[resource].capacity = capacity

    def group(self, name: str, weight: float | None = None, limit: int | None = None) -> None:
        group = self.groups.setdefault(name, _Group(name))
        if weight is not None:
            group.weight, group.limit = weight, limit

    def waits(self, task: str, group: str, needs: dict[str, int], at: int) -> None:
        self.pass_to(at)
        self.group(group)
        row, shape = self.groups[group], tuple(needs.items())
        if task not in self.group_of:
            self.group_of[task] = group
            row.waiting[task] = (shape, self.now)
            row.shapes[shape] += 1
            row.counts["submitted"] += 1

    def starts(self, task: str, lease: str, at: int) -> None:
        """Of a task that does not wait, nothing is known: it is ignored."""
        self.pass_to(at)
        if (taken := self._leaves(task)) is None:
            return
        row, shape, since = taken
        row.refused = ""
        row.running += 1
        row.counts["started"] += 1
        row.wait.add(self.now - since)
        for name, units in shape:
            row.held[name] += units
            if name in self.resources:
                self.resources[name].busy += units
        self.leases[lease] = (row, shape, self.now)

    def ends(self, lease: str, at: int, outcome: str = "finished") -> None:
        self.pass_to(at)
        if (found := self.leases.pop(lease, None)) is None:
            return
        row, shape, since = found
        row.running -= 1
        row.counts[outcome] += 1
        for name, units in shape:
            row.held[name] -= units
            if name in self.resources:
                self.resources[name].busy -= units
                self.resources[name].hold.add(self.now - since)

    def discarded(self, task: str, at: int) -> None:
        self.pass_to(at)
        if (taken := self._leaves(task)) is not None:
            taken[0].counts["cancelled"] += 1

    def refused(self, task: str, reason: str, at: int) -> None:
        """Why a head waits, in the scheduler's own word."""
        self.pass_to(at)
        if task in self.group_of:
            self.groups[self.group_of[task]].refused = reason

    def _leaves(self, task: str) -> tuple[_Group, Needs, int] | None:
        if task not in self.group_of:
            return None
        row = self.groups[self.group_of.pop(task)]
        shape, since = row.waiting.pop(task)
        row.shapes[shape] -= 1
        if not row.shapes[shape]:
            del row.shapes[shape]
        return row, shape, since

    # time --------------------------------------------------------------------------------------------------------------
    def pass_to(self, at: int) -> None:
        """Until then everything was as it is."""
        spent = at - self.now
        if spent <= 0:
            return
        largest = max((r.capacity for r in self.resources.values()), default=0)
        lent = self._lent()
        for row in self.groups.values():
            for shape, count in row.shapes.items():
                row.causes[self._cause(row, shape, lent).partition(" ")[0]] += count * spent
            if row.running:
                row.service += round(largest * max((row.held[name] / r.capacity for name, r in self.resources.items()), default=0.0) * spent)
        wanted = self._wanted()
        for name, resource in self.resources.items():
            resource.busy_time += resource.busy * spent
            idle = min(resource.capacity - resource.busy, wanted[name])
            if idle > 0:
                resource.idle += idle * spent
                resource.longest = max(resource.longest, at - resource.idle_from)
            else:
                resource.idle_from = at
        self.now = at

    def _fits(self, shape: Needs, besides: str = "") -> bool:
        return all(name == besides or (name in self.resources and self.resources[name].capacity - self.resources[name].busy >= units) for name, units in shape)

    def _cause(self, row: _Group, shape: Needs, lent: dict[str, int]) -> str:
        """Of a waiting task; with the resource, if one is short."""
        if row.limit is not None and row.running >= row.limit:
            return "limit"
        for name, units in shape:
            resource = self.resources.get(name)
            missing = units - (resource.capacity - resource.busy) if resource else units
            if missing > 0:
                return f"{'lent' if lent.get(name, 0) >= missing else 'capacity'} {name}"
        return REFUSED.get(row.refused, "scheduler")

    def _wanted(self) -> Counter[str]:
        """Units that tasks want which could have them now."""
        wanted: Counter[str] = Counter()
        for row in self.groups.values():
            room = len(row.waiting) if row.limit is None else max(0, row.limit - row.running)
            for shape, count in row.shapes.items():
                if self._fits(shape):
                    for name, units in shape:
                        wanted[name] += units * min(count, room)
                    room -= min(count, room)
        return wanted

    def _eligible(self) -> Counter[str]:
        """Tasks that one unit more of a resource would start."""
        found: Counter[str] = Counter()
        for row in self.groups.values():
            room = len(row.waiting) if row.limit is None else max(0, row.limit - row.running)
            for shape, count in row.shapes.items():
                for name, units in shape:
                    resource = self.resources.get(name)
                    if room and resource and units <= resource.capacity - resource.busy + 1 and self._fits(shape, besides=name):
                        found[name] += min(count, room)
        return found

    def _lent(self) -> dict[str, int]:
        """Units held beyond their holder's share by weight, of those that hold or wait, while another waits."""
        lent = dict.fromkeys(self.resources, 0)
        for name, resource in self.resources.items():
            asking = [row for row in self.groups.values() if any(name in dict(shape) for shape in row.shapes)]
            if not asking:
                continue
            sharing = {id(row): row for row in [*asking, *(row for row in self.groups.values() if row.held[name])]}.values()
            weights = sum(row.weight for row in sharing)
            for row in sharing:
                if weights and any(other is not row for other in asking):
                    lent[name] += max(0, row.held[name] - ceil(resource.capacity * row.weight / weights))
        return lent

    # what it tells ---------------------------------------------------------------------------------------------------
    def snapshot(self, at: int | None = None) -> Snapshot:
        """At an instant not before the last change; else at that."""
        if at is not None:
            self.pass_to(at)
        self.number += 1
        lent, eligible = self._lent(), self._eligible()
        waiting = Counter({name: sum(count for row in self.groups.values() for shape, count in row.shapes.items() if name in dict(shape)) for name in self.resources})
        resources = tuple(
            Resource(r.name, r.capacity, r.busy, lent[r.name], waiting[r.name], eligible[r.name], r.idle, r.longest, r.busy_time, r.hold.frozen())
            for r in self.resources.values()
        )  # fmt: skip
        groups = tuple(self._group(row, lent) for row in self.groups.values())
        return Snapshot(VERSION, self.program, 0, self.started, self.now, self.number, self.events, 0, len(self.leases), resources, groups, state=self.state)

    def _group(self, row: _Group, lent: dict[str, int]) -> Group:
        first, since = next(iter(row.waiting.values()), (None, None))
        counts, causes = row.counts, {cause: row.causes[cause] for cause in CAUSES}
        return Group(
            row.name, row.weight, row.limit, row.running, len(row.waiting), 0, since, row.service, row.wait.frozen(), causes, counts["submitted"], counts["started"],
            counts["finished"], counts["failed"], counts["cancelled"], counts["retried"], counts["timed_out"],
            {} if first is None else dict(first), "" if first is None else self._cause(row, first, lent),
        )  # fmt: skip
