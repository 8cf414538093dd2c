"""What a meter tells of itself, until the instant to which it was advanced: the rows of a snapshot."""
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slotwise.impl import snapshot as s
from slotwise.impl.meter_rows import GroupRow, ResourceRow, eligible

if TYPE_CHECKING:
    from slotwise.impl.meter_time import Clocks

NOTHING: Mapping[str, Any] = {}


def causes(meter: Clocks, row: GroupRow) -> dict[tuple[str, str], int]:
    """Waiter-ns of a group by cause and resource ("" where there is none)."""
    meter.read(row)
    found = dict(row.causes)
    if backing := meter.at * row.backing - row.backing_less:
        found["back_off", ""] = backing
    return found


def resources(meter: Clocks, begun: int) -> tuple[s.Resource, ...]:
    """`begun` is the instant 0 on the program's clock."""
    at, tasks, lent = meter.at, dict.fromkeys(meter.resources.values(), 0), _lent(meter)
    for shape in meter._heads:
        for resource, _ in eligible(shape):
            tasks[resource] += shape.tasks
    return tuple(
        s.Resource(
            r.name, r.capacity, r.capacity - r.free, sum(lent[r].values()), r.waiting, wanting, at * r.idle - r.idle_less, max(r.longest, at - r.idle_from if r.idle else 0),
            at * (r.capacity - r.free) - r.busy_less, r.hold.frozen(),
            begun + (r.idle_from if r.idle else at) if r.free and wanting else None,         # from now on, if nothing was idle until now
            lent[r],
        )
        for r, wanting in tasks.items()
    )  # fmt: skip


def _lent(meter: Clocks) -> dict[ResourceRow, dict[str, int]]:
    """Units beyond their holder's share by weight (rounded up), of all groups that have ever needed it, while another group's first task waits for it; by
    the holder, the greatest first."""
    waiting = dict.fromkeys(meter.resources.values(), 0)      # groups whose first task needs it
    for row in meter.groups.values():
        if row.shape is not None:
            for resource, _ in row.shape.parts:
                waiting[resource] += 1
    lent = dict[ResourceRow, dict[str, int]]()
    for resource, rows in waiting.items():
        found = list[tuple[int, str]]()
        if rows and resource.weight:
            for row, held in resource.holders.items():
                beyond = held + -resource.capacity * row.weight // resource.weight
                if beyond > 0 and rows > (row.shape is not None and resource.name in row.shape.needs):
                    found.append((-beyond, row.name))
        lent[resource] = {name: -beyond for beyond, name in sorted(found)}
    return lent


def groups(meter: Clocks, begun: int, debts: Mapping[str, dict[str, int]]) -> tuple[s.Group, ...]:
    """`begun` is the instant 0 on the program's clock; `debts` what groups owe, units by resource."""
    found = []
    for row in meter.groups.values():
        debt = debts.get(row.name, NOTHING)
        one = None if debt else row.rest
        if one is None:
            one = frozen(meter, row, begun, debt)
            if not (debt or row.waiting or row.running or row.backing):      # until a job of it waits, nothing of it changes
                row.rest = one
        found.append(one)
    return tuple(found)


def frozen(meter: Clocks, row: GroupRow, begun: int, debt: Mapping[str, int]) -> s.Group:
    charged = {f"{cause} {resource}" if resource else cause: spent for (cause, resource), spent in causes(meter, row).items()}
    first = row.line[0] if row.waiting else None
    return s.Group(
        row.name, row.spec.weight, row.limit, row.running, row.waiting, row.backing, None if first is None else begun + first[1],
        (meter.at * row.serving - row.service_less) // meter._scale, row.wait.frozen(), charged, row.submitted, row.started,
        row.outcomes["finished"], row.outcomes["failed"], row.outcomes["cancelled"], row.retried, row.outcomes["timed_out"],
        {} if first is None else dict(first[2].needs), _blocked_by(meter, row),
        len(row.overdue), begun + next(iter(row.overdue.values())) if row.overdue else None, dict(debt),
    )  # fmt: skip


def _blocked_by(meter: Clocks, row: GroupRow) -> str:
    if row.limited and row.waiting:
        return "limit"
    if row.shape is None:
        return ""
    for resource, units in row.shape.parts:
        if resource.free < units:
            lent = resource.holders.get(row, 0) * resource.weight < row.weight * resource.capacity
            return f"{'lent' if lent else 'capacity'} {resource.name}"
    return "scheduler" if meter.due else "kept"
