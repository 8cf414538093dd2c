"""Exact counts and integrals of a live scheduler, folded where things happen: nothing is sampled, and nothing is sent.

Integrals are kept at changes only. What is constant between two changes is multiplied by the time between them, or, where a value grows and
falls by steps, each step is charged with the time that is left: the integral of x until now is now · x − Σ instant · step. What a waiter
waits for is the same for all groups whose first task has the same needs (a *shape*), so it is clocked by shape; a group reads that clock
when something happens to the group itself, and not at every change elsewhere.

All instants are nanoseconds since the scheduler began.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from math import lcm
from typing import Any

from slotwise.impl import snapshot as s
from slotwise.impl.meter_rows import KEPT, LIMIT, SCHEDULER, SHORT, WITHIN, Durations, GroupRow, ResourceRow, Shape, bucket, eligible, low, merged
from slotwise.spec.vocabulary import Group, weight_in_units

__all__ = ["Durations", "GroupRow", "Meter", "ResourceRow", "Shape", "bucket", "low", "merged"]

NOTHING: Mapping[str, Any] = {}


class Meter:
    def __init__(self, capacity: dict[str, int]) -> None:
        self.at = self.events = self.leases = 0
        self.due = False                     # work could be started, if the scheduler came to it
        self.resources = {name: ResourceRow(name, units) for name, units in capacity.items()}
        self.groups: dict[str, GroupRow] = {}
        self.shapes: dict[tuple[tuple[str, int], ...], Shape] = {}
        self._heads: dict[Shape, None] = {}  # with tasks
        self._idlers: list[ResourceRow] = []
        self._stale = True                   # what the shapes wait for may have changed since it was judged
        self._slack = self._was_due = False  # when it was: some units were free; and `due`
        self._largest = max(capacity.values())
        self._scale = lcm(*capacity.values())

    # what there is ---------------------------------------------------------------------------------------------------
    def shape(self, needs: dict[str, int]) -> Shape:
        """The engine judges needs; an unlisted resource counts here as one of none."""
        key = tuple(needs.items())
        found = self.shapes.get(key)
        if found is None:
            parts = tuple((self.resources[name], units) for name, units in key if name in self.resources)
            rate = max((units * self._largest * (self._scale // row.capacity) for row, units in parts), default=0)
            found = self.shapes[key] = Shape(dict(needs), parts, rate)
        return found

    def group(self, spec: Group) -> GroupRow:
        row = self.groups.get(spec.name)
        if row is None:
            row = self.groups[spec.name] = GroupRow(spec)
        return row

    def respecify(self, row: GroupRow, spec: Group, at: int) -> None:
        self._all_read(at)
        more = weight_in_units(spec) - row.weight
        row.specify(spec)
        for resource in self.resources.values():
            if row in resource.groups:
                resource.weight += more
        self._settle(row)

    # what happens ----------------------------------------------------------------------------------------------------
    def waits(self, job: Any, at: int) -> None:
        """A job, at its first or a later try, was accepted."""
        if at != self.at:
            self._advance(at)
        self.events += 1
        row, shape = job._row, job._shape
        for resource, _ in shape.parts:
            if row not in resource.groups:
                for holder in resource.holders:      # shares change; whoever holds nothing has less than its share anyhow
                    self._read_on(holder)
                resource.groups[row] = None
                resource.weight += row.weight
            resource.waiting += 1
        if row.waiting:
            self._read(row)
        elif row.line:                       # nobody alive
            row.line.clear()
            row.dead = 0
        row.line.append(job)
        row.rest = None
        row.waiting += 1
        shape.waiting += 1
        job._since = at
        self._settle(row)

    def starts(self, job: Any, at: int) -> None:
        if at != self.at:
            self._advance(at)
        self.events += 1
        row, shape = job._row, job._shape
        self._read(row)
        line = row.line
        while line[0] is not job:            # dead
            line.popleft()
            row.dead -= 1
        line.popleft()
        row.waiting -= 1
        row.running += 1
        row.started += 1
        row.wait.add(at - job._since)
        row.serving += shape.rate
        row.service_less += at * shape.rate
        row.limited = row.limit is not None and row.running >= row.limit
        self._stale = True
        shape.waiting -= 1
        for resource, units in shape.parts:
            resource.waiting -= 1
            resource.free -= units
            resource.busy_less += at * units
            resource.holders[row] = resource.holders.get(row, 0) + units
        self.leases += 1
        job._since = at
        self._settle(row)

    def ends(self, job: Any, at: int) -> None:
        """A lease is given back; the outcome comes separately."""
        if at != self.at:
            self._advance(at)
        self.events += 1
        row, shape = job._row, job._shape
        if row.waiting:
            self._read(row)
        spent = at - job._since
        self._stale = True
        row.running -= 1
        row.serving -= shape.rate
        row.service_less -= at * shape.rate
        row.limited = row.limit is not None and row.running >= row.limit
        for resource, units in shape.parts:
            resource.free += units
            resource.busy_less -= at * units
            resource.hold.add(spent)
            left = resource.holders[row] - units
            if left:
                resource.holders[row] = left
            else:
                del resource.holders[row]
        self.leases -= 1
        if row.overdue:
            row.overdue.pop(job, None)
        if row.waiting:
            if row.limit is None:
                row.mark = row.shape.clock.copy()
            else:
                self._settle(row)

    def leaves(self, job: Any, at: int) -> None:
        """A waiting job waits no longer, and has not started. (Its state must say so already.)"""
        if at != self.at:
            self._advance(at)
        self.events += 1
        row, shape = job._row, job._shape
        self._read(row)
        row.waiting -= 1
        row.dead += 1
        shape.waiting -= 1
        for resource, _ in shape.parts:
            resource.waiting -= 1
        if row.dead > 32 and 2 * row.dead > len(row.line):
            row.line = deque(waiting for waiting in row.line if waiting._state == "waiting")
            row.dead = 0
        self._settle(row)

    def told(self, job: Any, at: int) -> None:
        """A running job was told to end, and may hold its units for a while yet."""
        if at != self.at:
            self._advance(at)
        self.events += 1
        job._row.overdue[job] = at

    def backs_off(self, row: GroupRow, at: int, jobs: int) -> None:
        """One more job (jobs 1) is between two tries, or one less (-1)."""
        if at != self.at:
            self._advance(at)
        self.events += 1
        row.rest = None
        row.backing += jobs
        row.backing_less += at * jobs

    # time --------------------------------------------------------------------------------------------------------------
    def _advance(self, at: int) -> None:
        """Until now everything was as it is."""
        if not self._heads and not self._idlers:
            self.at = at
            return
        spent = at - self.at
        if not self._stale and (not self._slack or self.due == self._was_due):
            for shape in self._heads:
                shape.clock[shape.index] += spent
            if self._idlers:
                self._idle(spent)
            self.at = at
            return
        self._stale, self._was_due = False, self.due
        somewhere_idle = False
        for resource in self.resources.values():
            resource.wanted = 0
        for shape in self._heads:
            parts = shape.parts
            if len(parts) == 1:
                resource, units = parts[0]
                if resource.free >= units:
                    index = SCHEDULER if self.due else KEPT
                    resource.wanted += shape.tasks * units
                    somewhere_idle = True
                else:
                    index = SHORT
                    if resource.free + 1 == units:       # `eligible`
                        resource.wanted += shape.tasks * units
                        somewhere_idle = somewhere_idle or resource.free > 0
            else:
                short = [i for i, (resource, units) in enumerate(parts) if resource.free < units]
                index = SHORT + short[0] if short else SCHEDULER if self.due else KEPT
                for resource, units in eligible(shape):
                    somewhere_idle = True
                    resource.wanted += shape.tasks * units
            shape.index = index
            shape.clock[index] += spent
        self._slack = somewhere_idle
        if somewhere_idle or self._idlers:
            self._idle(spent)
        self.at = at

    def _idle(self, spent: int) -> None:
        self._idlers = []
        for resource in self.resources.values():
            idle = min(resource.free, resource.wanted)
            if idle:
                if not resource.idle:
                    resource.idle_from = self.at
                resource.idle_time += idle * spent
                resource.longest = max(resource.longest, self.at + spent - resource.idle_from)
                self._idlers.append(resource)
            resource.idle = idle

    def _read(self, row: GroupRow) -> None:
        """Charge the time since it was last read to what the group's tasks waited for."""
        at = self.at
        if at == row.since or not row.waiting:
            row.since = at
            return
        if row.limited:
            row.causes[LIMIT] = row.causes.get(LIMIT, 0) + row.waiting * (at - row.since)
        elif (shape := row.shape) is not None:
            clock, mark, i = shape.clock, row.mark, shape.index
            if clock[i] - mark[i] == at - row.since:         # all the time the same
                self._charge(row, shape, i, at - row.since)
            else:
                for i, total in enumerate(clock):
                    if total != mark[i]:
                        self._charge(row, shape, i, total - mark[i])
        row.since = at

    def _charge(self, row: GroupRow, shape: Shape, i: int, spent: int) -> None:
        if i >= SHORT:
            resource, _ = shape.parts[i - SHORT]
            # It holds less than its share of what it is short of: others have what is due to it.
            lent = resource.holders.get(row, 0) * resource.weight < row.weight * resource.capacity
            key = resource.lent if lent else resource.full
        else:
            key = WITHIN[i]
        causes = row.causes
        causes[key] = causes.get(key, 0) + row.waiting * spent

    def _all_read(self, at: int) -> None:
        if at != self.at:
            self._advance(at)
        for row in self.groups.values():
            self._read_on(row)

    def _read_on(self, row: GroupRow) -> None:
        """Read it, and go on as before."""
        self._read(row)
        if row.shape is not None:
            row.mark = row.shape.clock.copy()

    def _settle(self, row: GroupRow) -> None:
        """Who waits at its head now, and how many of its tasks wait for nothing but units?"""
        old = row.shape
        row.since = self.at
        if not row.waiting:
            if old is not None:
                if row.counted:
                    self._count(old, -row.counted)
                row.shape, row.counted = None, 0
            return
        line = row.line
        while line[0]._state != "waiting":
            line.popleft()
            row.dead -= 1
        shape: Shape = line[0]._shape
        if shape is not old:
            if row.counted:
                self._count(old, -row.counted)           # type: ignore[arg-type]
            row.shape, row.counted = shape, 0
        row.mark = shape.clock.copy()
        counted = row.waiting if row.limit is None else 0 if row.limited else min(row.waiting, row.limit - row.running)
        if counted != row.counted:
            self._count(shape, counted - row.counted)
            row.counted = counted

    def _count(self, shape: Shape, more: int) -> None:
        before = shape.tasks
        shape.tasks = before + more
        if not before:
            self._heads[shape] = None
            self._stale = True
        elif before == -more:
            del self._heads[shape]
            self._stale = True
        elif self._slack:
            self._stale = True               # how many want it matters only where something is idle

    # what it tells ---------------------------------------------------------------------------------------------------
    def causes(self, row: GroupRow) -> dict[tuple[str, str], int]:
        """Waiter-ns of a group by cause and resource ("" where there is none), until `at`."""
        self._read_on(row)
        found = dict(row.causes)
        if backing := self.at * row.backing - row.backing_less:
            found["back_off", ""] = backing
        return found

    def frozen_resources(self, at: int, begun: int = 0) -> tuple[s.Resource, ...]:
        """`at` is the time to which the meter was advanced, here too; `begun` is the instant 0 on the program's clock."""
        if at != self.at:
            self._advance(at)
        tasks, lent = dict.fromkeys(self.resources.values(), 0), self._lent()
        for shape in self._heads:
            for resource, _ in eligible(shape):
                tasks[resource] += shape.tasks
        return tuple(
            s.Resource(
                r.name, r.capacity, r.capacity - r.free, lent[r], r.waiting, wanting, r.idle_time, r.longest, at * (r.capacity - r.free) - r.busy_less, r.hold.frozen(),
                begun + (r.idle_from if r.idle else at) if r.free and wanting else None,         # from now on, if nothing was idle until now
            )
            for r, wanting in tasks.items()
        )  # fmt: skip

    def _lent(self) -> dict[ResourceRow, int]:
        """Units beyond their holder's share by weight (rounded up), of all groups that have ever needed it, while another group's first task waits for it."""
        waiting = dict.fromkeys(self.resources.values(), 0)      # groups whose first task needs it
        for row in self.groups.values():
            if row.shape is not None:
                for resource, _ in row.shape.parts:
                    waiting[resource] += 1
        lent = dict.fromkeys(self.resources.values(), 0)
        for resource, rows in waiting.items():
            if rows and resource.weight:
                for row, held in resource.holders.items():
                    beyond = held + -resource.capacity * row.weight // resource.weight
                    if beyond > 0 and rows > (row.shape is not None and resource.name in row.shape.needs):
                        lent[resource] += beyond
        return lent

    def frozen_groups(self, at: int, begun: int, debts: Mapping[str, dict[str, int]] = NOTHING) -> tuple[s.Group, ...]:
        """`begun` is the instant 0 on the program's clock; `debts` what groups owe, units by resource."""
        if at != self.at:
            self._advance(at)
        found = []
        for row in self.groups.values():
            debt = debts.get(row.name, NOTHING)
            one = None if debt else row.rest
            if one is None:
                one = self._frozen(row, begun, debt)
                if not (debt or row.waiting or row.running or row.backing):      # until a job of it waits, nothing of it changes
                    row.rest = one
            found.append(one)
        return tuple(found)

    def _frozen(self, row: GroupRow, begun: int, debt: Mapping[str, int]) -> s.Group:
        causes = {f"{cause} {resource}" if resource else cause: charged for (cause, resource), charged in self.causes(row).items()}
        first = row.line[0] if row.waiting else None
        return s.Group(
            row.name, row.spec.weight, row.limit, row.running, row.waiting, row.backing, None if first is None else begun + first._since,
            (self.at * row.serving - row.service_less) // self._scale, row.wait.frozen(), causes, row.submitted, row.started,
            row.outcomes["finished"], row.outcomes["failed"], row.outcomes["cancelled"], row.retried, row.outcomes["timed_out"],
            {} if first is None else dict(first._shape.needs), self._blocked_by(row),
            len(row.overdue), begun + next(iter(row.overdue.values())) if row.overdue else None, dict(debt),
        )  # fmt: skip

    def _blocked_by(self, row: GroupRow) -> str:
        if row.limited and row.waiting:
            return "limit"
        if row.shape is None:
            return ""
        for resource, units in row.shape.parts:
            if resource.free < units:
                lent = resource.holders.get(row, 0) * resource.weight < row.weight * resource.capacity
                return f"{'lent' if lent else 'capacity'} {resource.name}"
        return "scheduler" if self.due else "kept"
