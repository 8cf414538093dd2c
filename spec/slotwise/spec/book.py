"""What commands and observations say is live: who waits, who runs, what is free. Bookkeeping, not a model: nothing is predicted.

The laws judge against it, and the generator draws from it. It believes what it is told, so it follows any scheduler.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Command, Group, Task

#: A task's dominant share of a resource is counted in parts of this many to the whole.
PARTS = 1_000_000


class Running(NamedTuple):
    task: Task            # as it started
    at: int               # when
    share: int            # of its dominant resource, in `PARTS`


@dataclass(slots=True)
class Book:
    capacity: Mapping[str, int]
    now: int = 0
    groups: dict[str, Group] = field(default_factory=dict)                     # newest accepted specification of each
    waiting: dict[str, Task] = field(default_factory=dict)                     # id -> task, in order of acceptance
    fifo: dict[str, dict[str, Task]] = field(default_factory=dict)             # group -> the same, without empty groups
    running: dict[int, Running] = field(default_factory=dict)                  # lease -> task, in order of start
    runs: dict[str, int] = field(default_factory=dict)                         # group -> tasks running
    free: dict[str, int] = field(default_factory=dict)                         # resource -> units; those of unlisted resources below 0
    granted: int = 0                                                           # leases
    names: dict[int, str] = field(default_factory=dict)                        # lease -> id of its task, for good
    released: dict[int, int] = field(default_factory=dict)                     # lease -> slot-time it attained, ns x parts
    attained: dict[str, int] = field(default_factory=dict)                     # group -> the same, of its finished tasks
    longest: int = 1                                                           # service of a finished task, ns
    changes: int = 0                                                           # tasks that came or went
    selection: tuple[str, int] | None = None                                   # the last (task, version) selected
    selected_at: dict[int, int] = field(default_factory=dict)                  # version -> `changes` when last seen

    def __post_init__(self) -> None:
        self.free = dict(self.capacity)

    # questions
    def head(self, group: str) -> Task:
        """The oldest waiting task of a group that has one."""
        return next(iter(self.fifo[group].values()))

    def heads(self) -> list[Task]:
        return [next(iter(tasks.values())) for tasks in self.fifo.values()]

    def fits(self, task: Task) -> bool:
        """Are its units free now?"""
        return not [resource for resource, units in task.needs.items() if self.free.get(resource, 0) < units]

    def possible(self, task: Task) -> bool:
        """Would they be, if nothing ran?"""
        return not [resource for resource, units in task.needs.items() if self.capacity.get(resource, 0) < units]

    def limited(self, group: str) -> bool:
        """Does it run as many tasks as its running limit allows?"""
        spec = self.groups.get(group)
        return spec is not None and spec.running_limit is not None and self.runs.get(group, 0) >= spec.running_limit

    def slot_time(self, lease: int) -> int:
        """What a lease has attained so far: its dominant share times the time it has run."""
        run = self.running.get(lease)
        return self.released.get(lease, 0) if run is None else (self.now - run.at) * run.share

    def longest_service(self) -> int:
        """So far, at least 1 ns; a running task counts with its age."""
        oldest = next(iter(self.running.values()), None)
        return max(self.longest, self.now - oldest.at) if oldest else self.longest

    # events
    def accepted(self, task: Task, spec: Group | None) -> None:
        if spec is not None:
            self.groups[task.group] = spec
        elif task.group not in self.groups:
            self.groups[task.group] = Group(task.group)
        self.waiting[task.id] = task
        self.fifo.setdefault(task.group, {})[task.id] = task
        self.changes += 1

    def gone(self, id: str) -> Task | None:
        """It waits no longer; None if it did not."""
        task = self.waiting.pop(id, None)
        if task is not None:
            fifo = self.fifo[task.group]
            del fifo[id]
            if not fifo:
                del self.fifo[task.group]
            self.changes += 1
        return task

    def started(self, lease: int, id: str, needs: dict[str, int]) -> None:
        task = self.gone(id) or Task(id, "", needs)
        share = 0
        for resource, units in needs.items():
            self.free[resource] = self.free.get(resource, 0) - units
            share = max(share, units * PARTS // self.capacity.get(resource, PARTS))
        self.running[lease] = Running(task if task.needs == needs else Task(id, task.group, needs), self.now, share)
        self.runs[task.group] = self.runs.get(task.group, 0) + 1
        self.granted = max(self.granted, lease)
        self.names[lease] = id

    def ended(self, lease: int) -> None:
        run = self.running.pop(lease, None)
        if run is None:
            return
        for resource, units in run.task.needs.items():
            self.free[resource] += units
        group, service = run.task.group, self.now - run.at
        self.runs[group] -= 1
        self.released[lease] = service * run.share
        self.attained[group] = self.attained.get(group, 0) + service * run.share
        self.longest = max(self.longest, service)

    def selected(self, id: str, version: int) -> None:
        self.selection = (id, version)
        self.selected_at[version] = self.changes

    def update(self, command: Command, saw: Sequence[Sequence[Any]]) -> None:
        """Take in a whole step, unjudged. `saw` must be in the words of the vocabulary."""
        if saw and saw[0][0] == "time_reversed":
            return
        self.now = max(self.now, command.at)
        sent = {group.name: group for group in command.groups} if isinstance(command, v.Enqueue) else {}
        for number, seen in enumerate(saw):
            match seen[0]:
                case "accepted" if isinstance(command, v.Enqueue):
                    task = command.tasks[number]
                    self.accepted(task, sent.get(task.group))
                case "discarded":
                    self.gone(seen[1])
                case "started":
                    self.started(seen[1], seen[2], seen[3])
                case "released":
                    self.ended(seen[1])
                case "selected":
                    self.selected(seen[1], seen[2])
