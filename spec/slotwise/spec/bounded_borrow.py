"""Bounded borrow (data-designer): a group is held to its share while a peer waits; alone it may borrow, and owes it back.

A start costs 1/weight. Above the ledger, a group is held to its share while a peer that could start waits for the same resource;
alone, it may borrow beyond its share and is in debt until its own releases repay it. In debt it makes way. A group without a share
limit (a local one) is never held back and never owes.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING

from slotwise.spec.fair_queue import FairQueue, Head
from slotwise.spec.rules import BORROWING, rule
from slotwise.spec.tagged import Tagged, could_start, pressed
from slotwise.spec.vocabulary import BoundedBorrow, Refusal, State, Task, weight_in_units

if TYPE_CHECKING:
    from slotwise.spec.admission import Borrowed, Lease, Ledger


@dataclass(slots=True)
class Discipline(Tagged):
    parameters: BoundedBorrow
    queue: FairQueue
    ledger: Ledger
    debt: dict[tuple[str, str], int] = field(default_factory=dict)     # (group, resource) -> units owed

    def judge(self, head: Head, heads: Collection[Head], earlier: list[Head], at: int) -> Refusal | Borrowed:
        task, spec = head
        borrowed: Borrowed = {}
        if spec.share_limit is None:
            return borrowed
        startable = could_start(self.ledger, heads)
        under_pressure = pressed(task, startable)
        for resource, units in task.needs.items():
            share = self.share(head, resource, startable)
            debt = self.debt.get((task.group, resource), 0)
            beyond = self.ledger.held(task.group, resource) + units - share
            if resource in under_pressure:
                refusal = make_way(debt) or held_to_share(beyond)
            else:
                borrowed[resource] = max(0, min(units, beyond))
                refusal = borrow_ceiling(self, task.group, resource, share, debt, borrowed[resource])
            if refusal:
                return refusal
        return borrowed

    def share(self, head: Head, resource: str, startable: list[Head]) -> int:
        task, spec = head
        rivals = [weight_counted(peer) for peer in startable if peer[0].group != task.group and resource in peer[0].needs]
        share = share_of(self.ledger.capacity.get(resource, 0), weight_counted(head), sum(rivals), self.parameters.share_rounding == "ceil")
        if self.ledger.capacity.get(resource, 0) > 1 and spec.share_limit is not None:
            share = min(share, spec.share_limit)
        return share

    def start(self, task: Task, borrowed: Borrowed, earlier: list[Head], at: int) -> None:
        Tagged.start(self, task, borrowed, earlier, at)
        take_on_debt(self, task, borrowed)

    def finish(self, lease: Lease, at: int) -> None:
        repay(self, lease.task)

    def state(self, at: int) -> State:
        return {"debt": {group: {r: owed for (g, r), owed in sorted(self.debt.items()) if g == group and owed} for group in sorted({g for (g, _), owed in self.debt.items() if owed})}}


def weight_counted(head: Head) -> int:
    """The weight of a head's own specification in 1024ths; below 1 it counts as 1."""
    return max(1024, weight_in_units(head[1]))


def share_of(capacity: int, weight: int, rivals: int, round_up: bool) -> int:
    """Competing groups split a resource by weight, at least one unit each; a group alone counts a phantom peer as heavy as itself.
    Exact; the published package rounds where capacity x weight passes 2^43."""
    if capacity <= 1:
        return max(capacity, 0)
    total = weight + (rivals or weight)
    return min(capacity, max(1, -(-capacity * weight // total) if round_up else capacity * weight // total))


def ceiling_of(capacity: int, share: int, reserve: int) -> int:
    """The most a group alone may owe of a resource: everything beyond its share and the reserve."""
    return max(0, max(0, capacity - reserve) - share)


@rule("BOR-1", source="semantics 2.3, vector A5", of=BORROWING)
def make_way(debt: int) -> Refusal | None:
    """Under pressure, a group in debt starts nothing."""
    return "borrow_debt" if debt > 0 else None


@rule("BOR-2", source="semantics 2.3, vectors A4, H1", of=BORROWING)
def held_to_share(beyond: int) -> Refusal | None:
    """Under pressure, a group starts nothing beyond its share."""
    return "group_cap" if beyond > 0 else None


@rule("BOR-3", source="semantics 2.2, vectors A3, A6; seed 000", of=BORROWING)
def borrow_ceiling(discipline: Discipline, group: str, resource: str, share: int, debt: int, more: int) -> Refusal | None:
    """A group alone may owe up to a ceiling: its own, else the profile's, else everything beyond its share except a reserve."""
    p, capacity = discipline.parameters, discipline.ledger.capacity.get(resource, 0)
    reserve = min(p.reserve_at_most, max(p.reserve_at_least, ceil(capacity * p.reserve_fraction)))
    default = ceiling_of(capacity, share, reserve) if p.default_ceiling is None else p.default_ceiling
    ceiling = next((own.units for own in p.ceilings if own.group == group and own.resource == resource), default)
    return "borrow_debt" if more > 0 and debt + more > ceiling else None


@rule("BOR-4", source="semantics 2.3, vectors A1, A11", of=BORROWING)
def take_on_debt(discipline: Discipline, task: Task, borrowed: Borrowed) -> bool | None:
    """What a start takes beyond its group's share, the group owes."""
    for resource, units in borrowed.items():
        discipline.debt[task.group, resource] = discipline.debt.get((task.group, resource), 0) + units
    return True if any(borrowed.values()) else None


@rule("BOR-5", source="semantics 2.3, vectors A1, H2", of=BORROWING)
def repay(discipline: Discipline, task: Task) -> bool | None:
    """A release repays its units of its group's debt, whichever lease borrowed them."""
    if not discipline.parameters.repay:
        return None
    owed = [r for r in task.needs if discipline.debt.get((task.group, r), 0)]
    for resource in owed:
        discipline.debt[task.group, resource] = max(0, discipline.debt[task.group, resource] - task.needs[resource])
    return True if owed else None
