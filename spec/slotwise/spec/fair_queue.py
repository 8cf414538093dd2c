"""Fair queueing: whose turn it is.

Every group has a FIFO. A group with waiting tasks is *active* and has a turn, a number that only grows. Groups go by their *place*,
which the discipline assigns, and equal places by turn. In the disciplines that count tasks, the place is a *tag*: a group's tag moves
on by 1/weight with every start, so that heavier groups come round more often.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from slotwise.spec.rules import TAGGED, rule
from slotwise.spec.vocabulary import DiscardWhere, Group, Profile, Task

Head = tuple[Task, Group]                 # a task at the head of its FIFO, with the specification it came with


@dataclass(slots=True)
class FairQueue:
    profile: Profile
    groups: dict[str, Group] = field(default_factory=dict)           # newest specification of each
    fifo: dict[str, list[Head]] = field(default_factory=dict)        # oldest first
    live: dict[str, Head] = field(default_factory=dict)              # id -> the waiting task
    turn: dict[str, int] = field(default_factory=dict)               # of the active groups
    turns: int = 0
    version: int = 0                                                 # moves with every task that comes or goes
    tag: dict[str, float] = field(default_factory=dict)              # where the discipline counts tasks
    served: set[str] = field(default_factory=set)
    virtual_time: float = 0.0

    def alive(self, entry: Head) -> bool:
        """Does it stand for a waiting task? Else it is a ghost."""
        task, _ = entry
        return task.id in self.live and self.live[task.id][0].group == task.group

    def waits(self, group: str) -> bool:
        return any(map(self.alive, self.fifo.get(group, ())))

    def heads(self) -> dict[str, Head]:
        """The oldest waiting task of every group."""
        heads: dict[str, Head] = {}
        for group, fifo in self.fifo.items():
            if oldest := next(filter(self.alive, fifo), None):
                heads[group] = oldest
                if oldest is not fifo[0]:
                    forget_ghosts(self, group)
        return heads


@rule("QUE-1", source="semantics 2.4")
def accept(queue: FairQueue, task: Task, spec: Group) -> bool:
    """A task joins the back of its group's FIFO, and the specification it came with is its group's newest."""
    queue.groups[task.group] = spec
    queue.fifo.setdefault(task.group, []).append((task, spec))
    queue.live[task.id] = (task, spec)
    forget_ghosts(queue, task.group)
    return True


@rule("QUE-2", source="semantics 2.4, vector Q6")
def already_waits(queue: FairQueue, task: Task) -> bool | None:
    """A task is not accepted while one of the same id waits; an id may be used again once its task has started or was discarded."""
    return True if task.id in queue.live else None


@rule("QUE-3", source="semantics 2.4")
def take_turn(queue: FairQueue, group: str) -> bool:
    """A group that becomes active, or goes on after being served, takes the last turn."""
    queue.turns += 1
    queue.turn[group] = queue.turns
    return True


@rule("QUE-4", source="semantics 2.4, vector Q2")
def order(queue: FairQueue, place: Mapping[str, Any]) -> list[str]:
    """Groups go in the order of their places; of equal places, the earlier turn goes first."""
    return sorted(queue.turn, key=lambda group: (place[group], queue.turn[group]))


@rule("QUE-5", source="semantics 2.4, vectors Q5, Q13")
def discard(queue: FairQueue, id: str) -> bool:
    """A discarded task waits no longer. (Where a profile lets it linger, its entry stays in the FIFO: a ghost.)"""
    task, _ = queue.live.pop(id)
    if not queue.profile.discarded_task_lingers:
        queue.fifo[task.group] = [entry for entry in queue.fifo[task.group] if entry[0].id != id]
    queue.version += 1
    return True


@rule("QUE-6", source="semantics 2.4, vector Q6")
def not_waiting(queue: FairQueue, id: str) -> bool | None:
    """Only a task that waits can be discarded; nothing changes otherwise, selections included."""
    return None if id in queue.live else True


@rule("QUE-7", source="semantics 2.4, vector Q5; seed 000", off="idle_group_keeps_place")
def give_up_place(queue: FairQueue, group: str) -> bool | None:
    """A group whose last waiting task is discarded gives up its turn; when it is back it takes the last one."""
    if queue.waits(group) or queue.profile.idle_group_keeps_place:
        return None
    del queue.turn[group]
    return True


@rule("QUE-8", source="semantics 2.4, vector Q13", of=TAGGED, switch="discarded_task_lingers")
def forget_ghosts(queue: FairQueue, group: str) -> bool | None:
    """A ghost met at the head of its FIFO leaves it; unless its id waits again in that group, which gives the id its old entry back."""
    fifo = queue.fifo[group]
    met = len(fifo)
    while fifo and not queue.alive(fifo[0]):
        del fifo[0]
    return True if len(fifo) < met else None


@rule("QUE-9", source="semantics 2.4, vectors Q3, Q4", of=TAGGED)
def bring_tag(queue: FairQueue, group: str) -> bool:
    """A group comes back at the tag it left, so at one immediate turn; one that was never served comes at the virtual time."""
    if group not in queue.served:
        queue.tag[group] = queue.virtual_time
    return True


@rule("QUE-10", source="semantics 2.4, vectors Q1, Q8, Q9", of=TAGGED)
def move_tag(queue: FairQueue, group: str) -> bool:
    """A start moves the virtual time up to the group's tag, and the tag 1/weight beyond it, whatever the task needs.
    The weight is the newest; below 1 it counts as 1."""
    queue.virtual_time = max(queue.virtual_time, queue.tag[group])
    queue.tag[group] = queue.virtual_time + 1.0 / max(1.0, queue.groups[group].weight)
    queue.served.add(group)
    return True


@rule("QUE-11", source="semantics 2.4, vector Q6")
def stale(queue: FairQueue, id: str, version: int) -> bool | None:
    """A selection is stale once any task has come or gone since, or if its task is not at the head of a FIFO."""
    if version != queue.version or id not in queue.live:
        return True
    group = queue.live[id][0].group
    forget_ghosts(queue, group)
    return True if queue.fifo[group][0][0].id != id else None


@rule("QUE-12", source="semantics 2.4, vector Q11")
def matching(queue: FairQueue, command: DiscardWhere) -> list[str] | None:
    """A discard by condition takes every waiting task that meets it, in the order in which they arrived."""
    found = [id for id, (task, _) in queue.live.items() if command.group in (None, task.group) and id.startswith(command.prefix)]
    return found or None


def take(queue: FairQueue, group: str) -> Task:
    """Remove the head of a FIFO; the group has no turn until it takes one."""
    task, _ = queue.fifo[group].pop(0)
    del queue.live[task.id]
    del queue.turn[group]
    queue.version += 1
    forget_ghosts(queue, group)
    return task
