"""Exact counts and integrals of a live scheduler: nothing is sampled, and nothing is sent.

Here is what happens; what the time between does is in `meter_time`, and what is told of it in `meter_seen`. All instants are nanoseconds since
the scheduler began, and never fall; a meter is advanced to one, and then told what happens there. A job is known by its id.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from slotwise.impl import meter_seen
from slotwise.impl import snapshot as s
from slotwise.impl.meter_rows import Durations, GroupRow, ResourceRow, Shape, bucket, low, merged
from slotwise.impl.meter_time import Clocks
from slotwise.spec.vocabulary import Group, weight_in_units

__all__ = ["Durations", "GroupRow", "Meter", "ResourceRow", "Shape", "bucket", "low", "merged"]


#: So many different needs are remembered, though no job has them.
SHAPES = 1000


class Meter(Clocks):
    def __init__(self, capacity: dict[str, int]) -> None:
        super().__init__(capacity)
        self._many = SHAPES

    # what there is ---------------------------------------------------------------------------------------------------
    def shape(self, needs: dict[str, int]) -> Shape:
        """The engine judges needs; an unlisted resource counts here as one of none. Raises ValueError for what are no needs."""
        key = tuple(needs.items())
        found = self.shapes.get(key)
        if found is None:
            if not all(isinstance(name, str) and isinstance(units, int) for name, units in key):
                raise ValueError(f"needs: expected whole units by resource, found {needs}")
            parts = tuple((self.resources[name], units) for name, units in key if name in self.resources)
            rate = max((units * self._largest * (self._scale // row.capacity) for row, units in parts), default=0)
            found = self.shapes[key] = Shape(dict(needs), parts, rate)
        return found

    def forget(self) -> None:
        """Needs that no job has any more, once there are many: a program may count tokens."""
        if len(self.shapes) > self._many:
            self.shapes = {key: shape for key, shape in self.shapes.items() if shape.alive}
            self._many = max(SHAPES, 2 * len(self.shapes))

    def group(self, spec: Group) -> GroupRow:
        row = self.groups.get(spec.name)
        if row is None:
            row = self.groups[spec.name] = GroupRow(spec)
        return row

    def respecify(self, row: GroupRow, spec: Group, at: int) -> None:
        if at != self.at:
            self.advance(at)
        for other in self.groups.values():
            self.read(other)
        more = weight_in_units(spec) - row.weight
        row.specify(spec)
        for resource in self.resources.values():
            if row in resource.groups:
                resource.weight += more
        self.settle(row)

    # what happens, at the instant to which it was advanced -----------------------------------------------------------------
    def waits(self, row: GroupRow, shape: Shape, id: str) -> None:
        """A job, at its first or a later try, was accepted."""
        at = self.at
        self.events += 1
        for resource, _ in shape.parts:
            if row not in resource.groups:
                self._asks(row, resource)
            resource.waiting += 1
        shape.alive += 1
        row.rest = None
        row.line.append((id, at, shape))
        head = row.shape
        if head is None:                     # nobody waited
            row.since, row.waiting = at, 1
            if row.limit is None:
                row.shape, row.mark, row.counted = shape, shape.phase, 1
                self._count(shape, 1)
            else:
                self.settle(row)
            return
        if row.mark is head.phase:
            row.missed += at - row.since
        else:
            self.read(row)
        row.waiting += 1
        if row.limit is None:
            row.counted += 1
            head.tasks += 1
            if self._slack:
                self._stale = True
        else:
            self.settle(row)

    def _asks(self, row: GroupRow, resource: ResourceRow) -> None:
        """For the first time. Shares change; whoever holds nothing has less than its share anyhow."""
        for holder in resource.holders:
            self.read(holder)
        resource.groups[row] = None
        resource.weight += row.weight

    def starts(self, row: GroupRow, id: str) -> None:
        """The first of its group that waits. Raises IndexError if it does not wait."""
        at = self.at
        self.events += 1
        if row.since != at:
            self.read(row)
        line = row.line
        first, since, shape = line.popleft()
        while first != id:
            row.gone.discard(first)
            first, since, shape = line.popleft()
        waiting = row.waiting = row.waiting - 1
        row.running += 1
        row.started += 1
        row.wait.add(at - since)
        rate = shape.rate
        row.serving += rate
        row.service_less += at * rate
        self._stale = True
        for resource, units in shape.parts:
            resource.waiting -= 1
            resource.free -= units
            resource.busy_less += at * units
            resource.holders[row] = resource.holders.get(row, 0) + units
        if row.limit is not None:
            row.limited = row.running >= row.limit
        elif not row.gone:
            if not waiting:
                row.shape, row.mark, row.counted = None, None, 0
                self._count(shape, -1)
                return
            if line[0][2] is shape:          # one less like it
                row.counted = waiting
                shape.tasks -= 1
                return
        self.settle(row)

    def ends(self, row: GroupRow, shape: Shape, id: str, since: int) -> None:
        """A lease is given back, that the job has had `since` then; the outcome comes separately."""
        at = self.at
        self.events += 1
        if row.waiting and row.since != at:
            self.read(row)
        row.running -= 1
        shape.alive -= 1
        rate = shape.rate
        row.serving -= rate
        row.service_less -= at * rate
        self._stale = True
        for resource, units in shape.parts:
            resource.free += units
            resource.busy_less -= at * units
            resource.hold.add(at - since)
            left = resource.holders[row] - units
            if left:
                resource.holders[row] = left
            else:
                del resource.holders[row]
        if row.overdue:
            row.overdue.pop(id, None)
        if row.limit is not None:
            row.limited = row.running >= row.limit
            self.settle(row)

    def leaves(self, row: GroupRow, shape: Shape, id: str) -> None:
        """A waiting job waits no longer, and has not started."""
        self.events += 1
        self.read(row)
        row.waiting -= 1
        row.gone.add(id)
        shape.alive -= 1
        for resource, _ in shape.parts:
            resource.waiting -= 1
        if len(row.gone) > 32 and 2 * len(row.gone) > len(row.line):
            row.line = deque(row.waiters())
            row.gone.clear()
        self.settle(row)

    def told(self, row: GroupRow, id: str) -> None:
        """A running job was told to end, and may hold its units for a while yet."""
        self.events += 1
        row.overdue[id] = self.at

    def backs_off(self, row: GroupRow, jobs: int) -> None:
        """One more job (jobs 1) is between two tries, or one less (-1)."""
        self.events += 1
        row.rest = None
        row.backing += jobs
        row.backing_less += self.at * jobs

    # what it tells ---------------------------------------------------------------------------------------------------
    def causes(self, row: GroupRow) -> dict[tuple[str, str], int]:
        """Waiter-ns of a group by cause and resource ("" where there is none), until `at`."""
        return meter_seen.causes(self, row)

    def frozen_resources(self, at: int, begun: int = 0) -> tuple[s.Resource, ...]:
        """`at` is the time to which the meter was advanced, here too; `begun` is the instant 0 on the program's clock."""
        if at != self.at:
            self.advance(at)
        return meter_seen.resources(self, begun)

    def frozen_groups(self, at: int, begun: int, debts: Mapping[str, dict[str, int]] = meter_seen.NOTHING) -> tuple[s.Group, ...]:
        """`begun` is the instant 0 on the program's clock; `debts` what groups owe, units by resource."""
        if at != self.at:
            self.advance(at)
        return meter_seen.groups(self, begun, debts)
