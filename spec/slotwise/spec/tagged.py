"""What strict and bounded borrow have in common: groups go by tag, which moves on by 1/weight with every start."""
from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from slotwise.spec.fair_queue import FairQueue, Head, bring_tag, move_tag
from slotwise.spec.vocabulary import State, Task

if TYPE_CHECKING:
    from slotwise.spec.admission import Borrowed, Lease, Ledger


def could_start(ledger: Ledger, heads: Collection[Head]) -> list[Head]:
    """The heads whose units are free, whatever else may hold them back."""
    return [head for head in heads if all(ledger.free(r) >= units for r, units in head[0].needs.items())]


def pressed(task: Task, startable: list[Head]) -> set[str]:
    """The resources of a task for which a startable head of another group asks. `submission` counts only for a task that needs nothing else."""
    asked = {resource for peer, _ in startable if peer.group != task.group for resource in peer.needs}
    return {resource for resource in task.needs if resource in asked and (resource != "submission" or len(task.needs) == 1)}


class Tagged:
    """A discipline in which a group competes while it has a turn, and stands where its tag is."""

    __slots__ = ()
    queue: FairQueue

    def competes(self, group: str) -> bool:
        return group in self.queue.turn

    def come(self, group: str, at: int) -> None:
        bring_tag(self.queue, group)

    def places(self, at: int) -> dict[str, tuple[float]]:
        return {group: (self.queue.tag[group],) for group in self.queue.turn}

    def start(self, task: Task, borrowed: Borrowed, earlier: list[Head], at: int) -> None:
        move_tag(self.queue, task.group)

    def finish(self, lease: Lease, at: int) -> None:
        """Nothing is owed."""

    def go_on(self, group: str, at: int) -> None:
        """Its tag has moved already."""

    def respecify(self, group: str, at: int) -> None:
        """The newest weight counts from the next start; share limits are those of each head."""

    def withdraw(self, task: str) -> None:
        """Nothing is remembered of a waiting task."""

    def state(self, at: int) -> State:
        return {}
