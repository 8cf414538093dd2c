"""What a window says of each resource, group, batcher and worker. Durations and integrals are in nanoseconds, shares from 0 to 1."""
from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

from slotwise.dashboard.observe.histograms import between
from slotwise.impl.snapshot import Batch, Batcher, Group, Histogram, Resource, Wave, Worker

if TYPE_CHECKING:
    from slotwise.dashboard.observe.window import Window

#: Causes that say: this group wants to run, and could.
READY = ("capacity", "lent", "kept", "scheduler")
#: Causes that are the group's own affair.
OWN = ("limit", "dependency", "back_off")


class ResourceWindow:
    __slots__ = ("after", "before", "window")

    def __init__(self, before: Resource | None, after: Resource, window: Window) -> None:
        self.before, self.after, self.window = before, after, window

    @property
    def idle_eligible(self) -> int:
        """Slots that are free now while work for them waits."""
        return max(0, min(self.after.capacity - self.after.busy, self.after.eligible))

    @property
    def lost(self) -> int:
        """slot-ns"""
        return self.after.idle_waiting - (self.before.idle_waiting if self.before else 0)

    @property
    def busy_time(self) -> int:
        """slot-ns"""
        return self.after.busy_time - (self.before.busy_time if self.before else 0)

    @property
    def longest(self) -> tuple[int, bool]:
        """Longest stretch of the window with idle and eligible slots, ns, and whether that is exact; if it is not, none was longer.

        Two snapshots tell the longest since the start and the stretches that last. So it is exact if a record was broken within the window,
        if the present stretch is as long as any can have been, and if there was none."""
        before, after, window = self.before, self.after, self.window
        record, room = after.idle_waiting_longest, min(self.lost, window.length)         # what is idle loses a slot-ns each ns, at least
        if before is None:
            return record, True
        present = 0 if after.idle_since is None else window.now - max(after.idle_since, window.began)
        if present >= min(record, room):
            return present, True
        if record > before.idle_waiting_longest:
            if before.idle_since is None:
                return record, True
            if record > room:                # too long to have begun in the window
                part = record - (window.began - before.idle_since)
                return max(part, room - part), part >= room - part
        return min(record, room), False

    @property
    def lost_share(self) -> float | None:
        return share(self.lost, self.after.capacity * self.window.length)

    @property
    def used_share(self) -> float | None:
        return share(self.busy_time, self.after.capacity * self.window.length)

    @property
    def hold(self) -> Histogram:
        return between(self.before.hold if self.before else None, self.after.hold)


class GroupWindow:
    __slots__ = ("after", "before", "service", "window")

    def __init__(self, before: Group | None, after: Group, window: Window) -> None:
        self.before, self.after, self.window = before, after, window
        self.service = after.service - (before.service if before else 0)         # slot-ns

    @property
    def got(self) -> float | None:
        """Of all service in the window; None if there was none."""
        return share(self.service, self.window.service)

    @property
    def due(self) -> float | None:
        """By weight, of all groups."""
        return share(self.after.weight, self.window.weight)

    @property
    def demand_ratio(self) -> float | None:
        """got / what was due, or what it asked for, if that is less: what it got, and as much again for each task that waits now as each that
        started in the window got. A group that asks for little is not behind with little."""
        weight, factor, started = self.after.weight, self.window.service_per_weight, self.count("started")
        if not weight or not factor:
            return None
        asked = self.service * (1 + self.after.waiting / started) if started else inf
        due = min(weight * factor, asked)
        return self.service / due if due else None

    @property
    def oldest(self) -> int | None:
        """How long the task that has waited longest has waited, ns."""
        return None if self.after.oldest is None or not self.after.waiting else max(0, self.window.now - self.after.oldest)

    @property
    def held_up(self) -> int | None:
        """The same, unless it is its own limit, a dependency or a pause that holds its first task."""
        return None if self.after.blocked_by.partition(" ")[0] in OWN else self.oldest

    @property
    def lent_to(self) -> str:
        """Who holds more than its share of what the first task waits for, the greatest first, and what it owes of that: batch=3 (owes 2). Empty if that
        is not why it waits, or not known."""
        cause, _, short = self.after.blocked_by.partition(" ")
        debts, found = {one.name: one.debt for one in self.window.after.groups}, list[str]()
        for resource in self.window.after.resources if cause == "lent" else ():
            if resource.name == short or (not short and resource.name in self.after.needs):
                held = [(one, units, debts.get(one, {}).get(resource.name, 0)) for one, units in resource.lent_to.items() if one != self.after.name]
                found += [f"{one}={units}" + (f" (owes {owed})" if owed else "") for one, units, owed in held]
        return " ".join(found)

    @property
    def wait(self) -> Histogram:
        return between(self.before.wait if self.before else None, self.after.wait)

    @property
    def causes(self) -> dict[str, int]:
        """waiter-ns by cause and resource ("capacity llm"), of the window, without zeros."""
        return difference(self.before.causes if self.before else {}, self.after.causes)

    @property
    def ready(self) -> bool:
        """In the window it waited for something that others hold, or for nothing."""
        if self.after.waiting and self.after.blocked_by.partition(" ")[0] in READY:
            return True
        after, before = self.after.causes, self.before.causes if self.before else {}
        return any(total > before.get(cause, 0) for cause, total in after.items() if cause.partition(" ")[0] in READY)

    def count(self, what: str) -> int:
        """submitted, started, finished, failed, cancelled, retried or timed_out in the window."""
        total: int = getattr(self.after, what) - (getattr(self.before, what) if self.before else 0)
        return total


class BatcherWindow:
    __slots__ = ("after", "before", "window")

    def __init__(self, before: Batcher | None, after: Batcher, window: Window) -> None:
        self.before, self.after, self.window = before, after, window

    def count(self, what: str) -> int:
        """requests, updates, refreshes, failures, needless (ns), open_time (ns), joined or late in the window."""
        total: int = getattr(self.after, what) - (getattr(self.before, what) if self.before else 0)
        return total

    @property
    def seals(self) -> dict[str, int]:
        return difference(self.before.seals if self.before else {}, self.after.seals)

    @property
    def commit(self) -> Histogram:
        return between(self.before.commit if self.before else None, self.after.commit)

    @property
    def fill(self) -> float | None:
        """Updates per request, of the most that a request may have; over the window."""
        most = self.after.batches[-1].most if self.after.batches else 0
        return share(self.count("updates"), self.count("requests") * most)

    @property
    def needless_share(self) -> float | None:
        """Of the time in which batches were open or being committed."""
        return share(self.count("needless"), self.count("open_time") + self.commit.total)

    @property
    def batches(self) -> list[Batch]:
        """Those that were sealed in the window, newest first, of the few that a snapshot has."""
        return [batch for batch in reversed(self.after.batches) if batch.sealed > self.window.began]

    @property
    def waves(self) -> list[Wave]:
        return [wave for wave in reversed(self.after.waves) if wave.at > self.window.began]


class WorkerWindow:
    __slots__ = ("after", "before", "window")

    def __init__(self, before: Worker | None, after: Worker, window: Window) -> None:
        self.before, self.after, self.window = before, after, window

    def count(self, what: str) -> int:
        """running, spinning, yielding, parked, wasted (ns), hits or misses in the window."""
        total: int = getattr(self.after, what) - (getattr(self.before, what) if self.before else 0)
        return total

    @property
    def time(self) -> int:
        return sum(self.count(state) for state in ("running", "spinning", "yielding", "parked"))

    def part(self, state: str) -> float | None:
        """Of the worker's time."""
        return share(self.count(state), self.time)

    @property
    def hit(self) -> float | None:
        hits = self.count("hits")
        return share(hits, hits + self.count("misses"))

    @property
    def wake(self) -> Histogram:
        return between(self.before.wake if self.before else None, self.after.wake)


def share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {key: total - before.get(key, 0) for key, total in after.items() if total != before.get(key, 0)}
