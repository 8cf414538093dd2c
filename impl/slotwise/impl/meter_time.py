"""What a meter keeps of the time that passes: what tasks waited for, and how long units were idle.

Integrals are kept at changes only. What is constant between two changes is multiplied by the time between them, or, where a value grows and
falls by steps, each step is charged with the time that is left: the integral of x until now is now · x − Σ instant · step. What a waiter
waits for is the same for all groups whose first task has the same needs (a *shape*), and so is how long it has been so (its *phase*); a
group looks at its shape's phase when something happens to the group itself, and not at every change elsewhere.
"""
from __future__ import annotations

from math import lcm

from slotwise.impl.meter_rows import KEPT, LIMIT, SCHEDULER, SHORT, WITHIN, GroupRow, Phase, ResourceRow, Shape, eligible


class Clocks:
    """A meter's rows, and what time does to them. Changes are for `meter.Meter`."""

    def __init__(self, capacity: dict[str, int]) -> None:
        self.at = self.events = 0            # ns since the scheduler began, until which all is charged; what happened until then
        self.due = False                     # work could be started, if the scheduler came to it
        self.resources = {name: ResourceRow(name, units) for name, units in capacity.items()}
        self.groups: dict[str, GroupRow] = {}
        self.shapes: dict[tuple[tuple[str, int], ...], Shape] = {}
        self._heads: dict[Shape, None] = {}  # with tasks
        self._stale = True                   # what the shapes wait for may have changed since it was judged
        self._slack = self._was_due = False  # when it was: units may have been idle; and `due`
        self._idle = False                   # units of some resource were
        self._largest = max(capacity.values())
        self._scale = lcm(*capacity.values())

    @property
    def leases(self) -> int:
        """That are held."""
        return sum(row.running for row in self.groups.values())

    def advance(self, at: int) -> None:
        """Until now everything was as it is."""
        if (self._stale or self.due is not self._was_due) and (self._heads or self._idle):
            self._judge()
        self.at = at

    def _judge(self) -> None:
        """What do they wait for, from `self.at` on, and how many units are idle although something waits that would take them?"""
        self._stale, self._was_due = False, self.due
        here = SCHEDULER if self.due else KEPT
        slack = False
        for shape in self._heads:
            if shape.only is None:
                index, wanted = self._judged(shape, here)
                slack = slack or wanted
            else:                                        # by far the most; the same, at less cost
                resource, units = shape.only
                free = resource.free
                index = here if free >= units else SHORT
                if free and free >= units - 1:
                    resource.wanted += shape.tasks * units
                    slack = True
            phase = shape.phase
            if index != phase.index:
                shape.phase = Phase(index, self.at, phase.until(self.at))
        self._slack = slack
        if slack or self._idle:
            at, self._idle = self.at, False
            for resource in self.resources.values():
                idle = resource.wanted
                resource.wanted = 0
                if idle > resource.free:
                    idle = resource.free
                if idle:
                    self._idle = True
                if idle != resource.idle:
                    self._idles(resource, idle, at)

    def _judged(self, shape: Shape, here: int) -> tuple[int, bool]:
        """What it waits for, and whether something is idle that it would take."""
        index = next((SHORT + i for i, (resource, units) in enumerate(shape.parts) if resource.free < units), here)
        wanted = False
        for resource, units in eligible(shape):
            if resource.free:
                resource.wanted += shape.tasks * units
                wanted = True
        return index, wanted

    def _idles(self, resource: ResourceRow, idle: int, at: int) -> None:
        """So many of its units from now on."""
        if not resource.idle:
            resource.idle_from = at
        elif not idle and at - resource.idle_from > resource.longest:
            resource.longest = at - resource.idle_from
        resource.idle_less += at * (idle - resource.idle)
        resource.idle = idle

    def read(self, row: GroupRow) -> None:
        """Charge the time since it was last read to what the group's tasks waited for."""
        at, since = self.at, row.since
        if at == since:
            return
        row.since = at
        shape, mark = row.shape, row.mark
        if shape is None or mark is None:
            return
        phase = row.mark = shape.phase
        missed, row.missed = row.missed, 0
        if row.limited:
            row.causes[LIMIT] += row.waiting * (at - since) - missed
        elif phase is mark:
            self._charge(row, shape, phase.index, row.waiting * (at - since) - missed)
        else:
            for i, (now, before) in enumerate(zip(phase.until(at), mark.until(since), strict=True)):
                if now != before:
                    self._charge(row, shape, i, row.waiting * (now - before) - (missed if i == mark.index else 0))

    def _charge(self, row: GroupRow, shape: Shape, index: int, spent: int) -> None:
        if index < SHORT:
            row.causes[WITHIN[index]] += spent
            return
        resource, _ = shape.parts[index - SHORT]
        # It holds less than its share of what it is short of: others have what is due to it.
        lent = resource.holders.get(row, 0) * resource.weight < row.weight * resource.capacity
        row.causes[resource.lent if lent else resource.full] += spent

    def settle(self, row: GroupRow) -> None:
        """Who waits at its head now, and how many of its tasks wait for nothing but units? The group has been read."""
        old, waiting = row.shape, row.waiting
        if not waiting:
            if old is not None:
                if row.counted:
                    self._count(old, -row.counted)
                row.shape, row.mark, row.counted = None, None, 0
            if row.gone:
                row.line.clear()
                row.gone.clear()
            return
        line, gone = row.line, row.gone
        while gone and line[0][0] in gone:
            gone.remove(line.popleft()[0])
        shape = line[0][2]
        if shape is not old:
            if row.counted:
                self._count(old, -row.counted)           # type: ignore[arg-type]
            row.shape, row.mark, row.counted = shape, shape.phase, 0
        counted = waiting if row.limit is None else 0 if row.limited else min(waiting, row.limit - row.running)
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
