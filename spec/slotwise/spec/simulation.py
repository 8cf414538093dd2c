"""The reference simulation: a scenario played through a scheduler, instant by instant, and what came of it.

*The instant*: completions in order of lease, then all arrivals as one enqueue in the order of the scenario, then one pump. Whatever
can be stepped can be simulated; `simulate` steps the reference.
"""
from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import groupby

from slotwise.spec import vocabulary as v
from slotwise.spec.admission import admission
from slotwise.spec.admission import step as do
from slotwise.spec.scenarios import Arrival, Scenario

Step = Callable[[v.Command], list[v.Observation]]
SECOND = 1_000_000_000


class SimulationError(RuntimeError):
    """A scheduler that answers what no scheduler may."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a scenario. Times are in nanoseconds."""

    scenario: Scenario
    profile: str
    engine: str
    starts: list[tuple[int, int, str]]           # (at, lease, task), in order
    ends: list[tuple[int, int]]                  # (at, lease), in order
    unserved: dict[str, str]                     # task -> why it was refused; "" if it still waits at the end

    def lines(self) -> list[str]:
        return [f"{at} {lease} {task}" for at, lease, task in self.starts]

    @property
    def digest(self) -> str:
        return sha256("".join(line + "\n" for line in self.lines()).encode()).hexdigest()

    @property
    def wall(self) -> int:
        return self.ends[-1][0] if self.ends else 0

    def spans(self) -> list[tuple[Arrival, int, int]]:
        """(arrival, start, end) of every task that has run, in order of start."""
        arrivals, ends = {a.task.id: a for a in self.scenario.arrivals}, {lease: at for at, lease in self.ends}
        return [(arrivals[task], at, ends[lease]) for at, lease, task in self.starts]

    def busiest(self) -> tuple[int, int]:
        """Unit-nanoseconds in use, and those there were, of the resource that was used most; of equals, the first in the scenario."""
        spans, used = self.spans(), {}
        for resource, units in self.scenario.capacity.items():
            used[resource] = sum((end - start) * arrival.task.needs.get(resource, 0) for arrival, start, end in spans), units * self.wall
        return max(used.values(), key=lambda both: both[0] / both[1] if both[1] else 0.0)

    @property
    def utilization(self) -> float:
        """Of the busiest resource, 0 to 1."""
        used, there = self.busiest()
        return used / there if there else 0.0

    @property
    def idle_slot_s(self) -> float:
        used, there = self.busiest()
        return (there - used) / SECOND

    def waits(self) -> dict[str, list[int]]:
        """From arrival to start, in order of start, by group."""
        waits: dict[str, list[int]] = {arrival.task.group: [] for arrival in self.scenario.arrivals}
        for arrival, start, _ in self.spans():
            waits[arrival.task.group].append(start - arrival.at)
        return waits

    def group_idle_s(self) -> dict[str, float]:
        """How long each group had no task running, until the end of all ("generation-column idle")."""
        idle = {}
        for group in self.waits():
            covered = until = 0
            for start, end in sorted((start, end) for arrival, start, end in self.spans() if arrival.task.group == group):
                covered += max(0, end - max(start, until))
                until = max(until, end)
            idle[group] = (self.wall - covered) / SECOND
        return idle

    def as_json(self) -> dict[str, object]:
        return {
            "scenario": self.scenario.name, "profile": self.profile, "engine": self.engine, "wall_s": self.wall / SECOND,
            "utilization": round(self.utilization, 6), "idle_slot_s": self.idle_slot_s,
            "waits": {group: {"p50_s": percentile(waits, 50) / SECOND, "p95_s": percentile(waits, 95) / SECOND, "max_s": max(waits, default=0) / SECOND} for group, waits in self.waits().items()},
            "digest": self.digest, **({"unserved": self.unserved} if self.unserved else {}),
        }  # fmt: skip


def percentile(values: list[int], percent: int) -> int:
    """The value at the nearest rank from 0 to n - 1, half to even; 0 of nothing."""
    whole, rest = divmod((len(values) - 1) * percent, 100)
    return sorted(values)[whole + (rest > 50 or (rest == 50 and whole % 2))] if values else 0


def simulate(profile: v.Profile, scenario: Scenario) -> Run:
    """Play a scenario through the reference."""
    return play(scenario, partial(do, admission(profile, scenario.capacity)), profile=profile.name, engine="reference")


def play(scenario: Scenario, step: Step, *, profile: str, engine: str) -> Run:
    """Play a scenario through anything that can be stepped. Raises SimulationError where its answers make no sense."""
    coming = [(at, list(some)) for at, some in groupby(scenario.in_order(), key=lambda arrival: arrival.at)]
    service = {arrival.task.id: arrival.service for arrival in scenario.arrivals}
    running: list[tuple[int, int]] = []                                       # (end, lease): a heap
    run = Run(scenario, profile, engine, [], [], dict.fromkeys(service, ""))
    i = 0
    while running or i < len(coming):
        now = min([end for end, _ in running[:1]] + [at for at, _ in coming[i : i + 1]])
        for lease in ending(running, now):
            expect([tuple(word) for word in step(v.Release(lease=lease, at=now))], [("released", lease)])
            run.ends.append((now, lease))
        if i < len(coming) and coming[i][0] == now:
            arrive(run, step, coming[i][1], now)
            i += 1
        for lease, task in pump(run, step, now):
            heapq.heappush(running, (now + service[task], lease))
    return run


def ending(running: list[tuple[int, int]], now: int) -> list[int]:
    """Take out the leases that end now, in order."""
    leases = []
    while running and running[0][0] == now:
        leases.append(heapq.heappop(running)[1])
    return leases


def arrive(run: Run, step: Step, arrivals: list[Arrival], now: int) -> None:
    tasks = tuple(arrival.task for arrival in arrivals)
    names = {task.group for task in tasks}
    saw = step(v.Enqueue(tasks=tasks, groups=tuple(group for group in run.scenario.groups if group.name in names), at=now))
    expect([word[1] for word in saw], [task.id for task in tasks])
    for word in saw:
        if word[0] != "accepted":
            run.unserved[str(word[1])] = str(word[-1]) if word[0] == "refused" else str(word[0])


def pump(run: Run, step: Step, now: int) -> list[tuple[int, str]]:
    """Start what may start: (lease, task) each."""
    started = [(int(str(word[1])), str(word[2])) for word in step(v.Pump(at_most=len(run.scenario.arrivals), at=now)) if word[0] == "started"]
    for lease, task in started:
        if run.unserved.pop(task, None) != "":
            raise SimulationError(f"at {now}: {task!r} was started; it does not wait")
        run.starts.append((now, lease, task))
    return started


def expect(found: Sequence[object], expected: Sequence[object]) -> None:
    if list(found) != list(expected):
        raise SimulationError(f"found {found}, expected {expected}")
