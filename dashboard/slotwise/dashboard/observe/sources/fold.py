"""Snapshots from events: a ledger of tasks that wait, start and end, with exact integrals between its changes. For records of schedulers
that tell what they do, and not what it adds up to."""
from __future__ import annotations

from collections import Counter
from math import lcm

from slotwise.dashboard.observe.sources.fold_rows import GroupRow, Needs, ResourceRow
from slotwise.impl.snapshot import VERSION, Group, Resource, Snapshot

#: Causes by the reason for which a head is refused.
REFUSED = {"group_cap": "limit", "running_limit": "limit", "borrow_debt": "lent", "kept_units": "kept"}


class Fold:
    """What the live meter counts (`slotwise.impl.meter`), by the same definitions, at leisure.

    Every change comes with its instant, ns, never before an earlier one's (if it is, the earlier counts)."""

    def __init__(self, program: str, capacity: dict[str, int], started: int) -> None:
        self.program, self.started, self.now, self.state = program, started, started, "running"
        self.resources: dict[str, ResourceRow] = {}
        self.groups: dict[str, GroupRow] = {}
        self.group_of: dict[str, str] = {}                       # task that waits -> its group
        self.leases: dict[str, tuple[GroupRow, Needs, int]] = {}
        self.events = self.number = 0
        self.debts: dict[str, dict[str, int]] = {}               # of groups, units by resource, if that is known
        self.due = True                                          # work could be started, if the scheduler came to it
        self.largest = self.scale = 1                            # of all capacities: the greatest, and their least common multiple
        for name, units in capacity.items():
            self.has(name, units, started)

    # what happens ----------------------------------------------------------------------------------------------------
    def has(self, resource: str, capacity: int, at: int) -> None:
        """There are so many units of it, from now on."""
        if resource not in self.resources:
            self.pass_to(at)
            self.resources[resource] = ResourceRow(resource, capacity)
        elif self.resources[resource].capacity != capacity:
            self.pass_to(at)
            self.resources[resource].capacity = capacity
        else:
            return
        self.largest, before = max(r.capacity for r in self.resources.values()), self.scale
        self.scale = lcm(before, capacity or 1)
        for row in self.groups.values():
            row.service = row.service * (self.scale // before)

    def group(self, name: str, weight: float | None = None, limit: int | None = None) -> None:
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = GroupRow(name)
        if weight is not None:
            before, group.weight, group.limit = group.units, weight, limit
            for resource in self.resources.values():
                if name in resource.groups:
                    resource.weight += group.units - before

    def waits(self, task: str, group: str, needs: dict[str, int], at: int) -> None:
        self.pass_to(at)
        self.group(group)
        row, shape = self.groups[group], tuple(needs.items())
        if task not in self.group_of:
            self.group_of[task] = group
            row.waiting[task] = (shape, self.now)
            row.counts["submitted"] += 1
            for name, _ in shape:
                if name in self.resources and group not in self.resources[name].groups:
                    self.resources[name].groups[group] = None
                    self.resources[name].weight += row.units

    def starts(self, task: str, lease: str, at: int) -> None:
        """Of a task that does not wait, nothing is known: it is ignored."""
        self.pass_to(at)
        if (taken := self._leaves(task)) is None:
            return
        row, shape, since = taken
        row.refused = ""
        row.running += 1
        row.runs[shape] += 1
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
        row.runs[shape] -= 1
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

    def _leaves(self, task: str) -> tuple[GroupRow, Needs, int] | None:
        if task not in self.group_of:
            return None
        row = self.groups[self.group_of.pop(task)]
        return row, *row.waiting.pop(task)

    # time --------------------------------------------------------------------------------------------------------------
    def pass_to(self, at: int) -> None:
        """Until then everything was as it is."""
        spent = at - self.now
        if spent <= 0:
            return
        for row in self.groups.values():
            if row.waiting:
                row.causes[self._cause(row)] += len(row.waiting) * spent
            row.service += sum(count * self._rate(shape) for shape, count in row.runs.items()) * spent
        wanted = self._eligible()[1]
        for name, resource in self.resources.items():
            resource.busy_time += resource.busy * spent
            idle = min(resource.free, wanted[name])
            if idle > 0:
                resource.idle_since = self.now if resource.idle_since is None else resource.idle_since
                resource.idle += idle * spent
                resource.longest = max(resource.longest, at - resource.idle_since)
            else:
                resource.idle_since = None
        self.now = at

    def _rate(self, shape: Needs) -> int:
        """The dominant share of a task, in slots of the largest resource, by the scale."""
        known = [(self.resources[name], units) for name, units in shape if name in self.resources]
        return max((units * self.largest * (self.scale // r.capacity) for r, units in known if r.capacity), default=0)

    def _cause(self, row: GroupRow) -> str:
        """Why its first task waits, and so all behind it; with the resource, if one is short."""
        if row.limit is not None and row.running >= row.limit:
            return "limit"
        for name, units in row.needs:
            resource = self.resources.get(name)
            if resource is None or resource.free < units:
                return f"{'lent' if resource is not None and self._has_less(row, resource) else 'capacity'} {name}"
        return REFUSED.get(row.refused, "scheduler" if self.due else "kept")

    def _has_less(self, row: GroupRow, resource: ResourceRow) -> bool:
        """Than its share by weight, of all groups that have ever needed it."""
        return row.held[resource.name] * resource.weight < row.units * resource.capacity

    def _eligible(self) -> tuple[Counter[str], Counter[str]]:
        """Tasks, and units that they want, by resource: as `slotwise.impl.meter_rows.eligible`."""
        tasks: Counter[str] = Counter()
        wanted: Counter[str] = Counter()
        for row in self.groups.values():
            if not row.tasks:
                continue
            lacking = {name: units - (self.resources[name].free if name in self.resources else 0) for name, units in row.needs}
            for name, units in row.needs:
                if lacking[name] <= 1 and all(lacks <= 0 for other, lacks in lacking.items() if other != name):
                    tasks[name] += row.tasks
                    wanted[name] += row.tasks * units
        return tasks, wanted

    def _lent(self) -> dict[str, dict[str, int]]:
        """Units beyond their holder's share by weight (rounded up), of all groups that have ever needed it, while another group's first task waits for it; by
        resource and holder, the greatest first."""
        lent = dict[str, dict[str, int]]()
        for name, resource in self.resources.items():
            asking = {row.name for row in self.groups.values() if name in dict(row.needs)}
            rows = [self.groups[one] for one in resource.groups if resource.weight and len(asking) > (one in asking)]
            beyond = {row.name: row.held[name] + -resource.capacity * row.units // resource.weight for row in rows}
            lent[name] = dict(sorted(((one, units) for one, units in beyond.items() if units > 0), key=lambda pair: (-pair[1], pair[0])))
        return lent

    # what it tells ---------------------------------------------------------------------------------------------------
    def snapshot(self, at: int | None = None) -> Snapshot:
        """At an instant not before the last change; else at that."""
        if at is not None:
            self.pass_to(at)
        self.number += 1
        lent, (tasks, _) = self._lent(), self._eligible()
        waiting = Counter(name for row in self.groups.values() for shape, _ in row.waiting.values() for name, _ in shape)
        resources = tuple(
            Resource(r.name, r.capacity, r.busy, sum(lent[r.name].values()), waiting[r.name], tasks[r.name], r.idle, r.longest, r.busy_time, r.hold.frozen(),
                     (self.now if r.idle_since is None else r.idle_since) if r.free > 0 and tasks[r.name] else None, lent[r.name])
            for r in self.resources.values()
        )  # fmt: skip
        groups = tuple(map(self._group, self.groups.values()))
        return Snapshot(VERSION, self.program, 0, self.started, self.now, self.number, self.events, 0, len(self.leases), resources, groups, state=self.state)

    def _group(self, row: GroupRow) -> Group:
        first, since = next(iter(row.waiting.values()), (None, None))
        counts = row.counts
        return Group(
            row.name, row.weight, row.limit, row.running, len(row.waiting), 0, since, row.service // self.scale, row.wait.frozen(), dict(row.causes), counts["submitted"], counts["started"],
            counts["finished"], counts["failed"], counts["cancelled"], counts["retried"], counts["timed_out"],
            {} if first is None else dict(first), "" if first is None else self._cause(row), debt=dict(self.debts.get(row.name, {})),
        )  # fmt: skip
