"""The time between two snapshots, in numbers. Everything that adds up is the exact difference of two counters or integrals: over
consecutive windows it sums to what it is over the whole. Durations and integrals are in nanoseconds, shares from 0 to 1."""
from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Protocol, TypeVar

from slotwise.dashboard.observe.window_parts import OWN, BatcherWindow, GroupWindow, ResourceWindow, WorkerWindow
from slotwise.impl.snapshot import Snapshot

__all__ = ["OWN", "SECOND", "BatcherWindow", "GroupWindow", "ResourceWindow", "Window", "WorkerWindow", "another_run", "by_name"]

SECOND = 10**9


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


class Window:
    """From `previous` to `current`; from the scheduler's start, if there is no previous snapshot or it is of another run."""

    def __init__(self, previous: Snapshot | None, current: Snapshot) -> None:
        self.restarted = previous is not None and another_run(previous, current)
        before = None if self.restarted else previous
        self.before, self.after = before, current
        self.now = current.now
        self.began = before.now if before else current.started
        self.length = self.now - self.began
        self.events = current.events - (before.events if before else 0)
        self.dropped = current.dropped - (before.dropped if before else 0)

    @cached_property
    def resources(self) -> list[ResourceWindow]:
        known = by_name(self.before.resources if self.before else ())
        return [ResourceWindow(known.get(one.name), one, self) for one in self.after.resources]

    @cached_property
    def groups(self) -> list[GroupWindow]:
        known = by_name(self.before.groups if self.before else ())
        return [GroupWindow(known.get(one.name), one, self) for one in self.after.groups]

    @cached_property
    def batchers(self) -> list[BatcherWindow]:
        known = by_name(self.before.batchers if self.before else ())
        return [BatcherWindow(known.get(one.name), one, self) for one in self.after.batchers]

    @cached_property
    def workers(self) -> list[WorkerWindow]:
        known = by_name(self.before.workers if self.before else ())
        return [WorkerWindow(known.get(one.name), one, self) for one in self.after.workers]

    @cached_property
    def service(self) -> int:
        """slot-ns, of all groups."""
        return sum(group.service for group in self.groups)

    @cached_property
    def weight(self) -> float:
        return sum(group.weight for group in self.after.groups)

    @cached_property
    def service_per_weight(self) -> float:
        """slot-ns that are due to a group of weight 1"""
        return self.service / self.weight if self.weight else 0.0

    @cached_property
    def capacity(self) -> int:
        return sum(resource.capacity for resource in self.after.resources)

    @cached_property
    def lost(self) -> int:
        """slot-ns"""
        return sum(resource.lost for resource in self.resources)

    @cached_property
    def jain(self) -> float | None:
        """How evenly those groups that wait got what is due to them; 1 is even."""
        got = [group.service / group.after.weight for group in self.groups if group.after.weight and group.ready]
        return sum(got) ** 2 / (len(got) * sum(x * x for x in got)) if len(got) > 1 and any(got) else None


def another_run(previous: Snapshot, current: Snapshot) -> bool:
    return (previous.pid, previous.program, previous.started) != (current.pid, current.program, current.started) or previous.now > current.now or previous.events > current.events


def by_name(things: Iterable[N]) -> dict[str, N]:
    return {thing.name: thing for thing in things}
