"""Strict (data-designer without borrowing): work-conserving, and a group at its limit makes way under pressure.

A start costs 1/weight, as in bounded borrow. There is no share and no debt: only a group that already holds as many leases as its
share limit is held back, and only while a startable head of another group asks for the same resource.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise.spec.fair_queue import FairQueue, Head
from slotwise.spec.rules import STRICT, rule
from slotwise.spec.tagged import Tagged, could_start, pressed
from slotwise.spec.vocabulary import Refusal, Strict

if TYPE_CHECKING:
    from slotwise.spec.admission import Borrowed, Ledger


@dataclass(slots=True)
class Discipline(Tagged):
    parameters: Strict
    queue: FairQueue
    ledger: Ledger

    def judge(self, head: Head, heads: Collection[Head], earlier: list[Head], at: int) -> Refusal | Borrowed:
        return at_its_limit(self, head, heads) or {}


@rule("STR-1", source="semantics 2.3, vectors A2, A12", of=STRICT)
def at_its_limit(discipline: Discipline, head: Head, heads: Collection[Head]) -> Refusal | None:
    """Under pressure, a group that holds as many leases as its share limit starts nothing."""
    task, spec = head
    if spec.share_limit is None or discipline.ledger.running(task.group) < spec.share_limit or not pressed(task, could_start(discipline.ledger, heads)):
        return None
    return "group_cap"
