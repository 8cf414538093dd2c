"""Strict (data-designer without borrowing): work-conserving, and a group at its limit makes way under pressure.

A start costs 1/weight, as in bounded borrow. There is no share and no debt: only a group that already holds as many leases as its
share limit is held back, and only while a startable head of another group asks for the same resource.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise.spec.fair_queue import FairQueue, Head, bring_tag, move_tag
from slotwise.spec.rules import STRICT, rule
from slotwise.spec.vocabulary import Refusal, State, Strict, Task

if TYPE_CHECKING:
    from slotwise.spec.admission import Borrowed, Lease, Ledger


def pressed(task: Task, startable: list[Head]) -> set[str]:
    """The resources of a task for which a startable head of another group asks. `submission` counts only for a task that needs nothing else."""
    asked = {resource for peer, _ in startable if peer.group != task.group for resource in peer.needs}
    return {resource for resource in task.needs if resource in asked and (resource != "submission" or len(task.needs) == 1)}


@dataclass(slots=True)
class Discipline:
    parameters: Strict
    queue: FairQueue
    ledger: Ledger

    def competes(self, group: str) -> bool:
        return group in self.queue.turn

    def come(self, group: str, at: int) -> None:
        bring_tag(self.queue, group)

    def places(self, at: int) -> dict[str, tuple[float]]:
        return {group: (self.queue.tag[group],) for group in self.queue.turn}

    def judge(self, head: Head, startable: list[Head], earlier: list[Head], at: int) -> Refusal | Borrowed:
        return at_its_limit(self, head, startable) or {}

    def start(self, task: Task, borrowed: Borrowed, earlier: list[Head], at: int) -> None:
        move_tag(self.queue, task.group)

    def finish(self, lease: Lease, at: int) -> None:
        """Nothing is owed."""

    def go_on(self, group: str, at: int) -> None:
        """Its tag has moved already."""

    def respecify(self, group: str, at: int) -> None:
        """The newest weight counts from the next start."""

    def withdraw(self, task: str) -> None:
        """Nothing is remembered of a waiting task."""

    def state(self, at: int) -> State:
        return {}


@rule("STR-1", source="semantics 2.3, vectors A2, A12", of=STRICT)
def at_its_limit(discipline: Discipline, head: Head, startable: list[Head]) -> Refusal | None:
    """Under pressure, a group that holds as many leases as its share limit starts nothing."""
    task, spec = head
    if spec.share_limit is None or discipline.ledger.running(task.group) < spec.share_limit or not pressed(task, startable):
        return None
    return "group_cap"
