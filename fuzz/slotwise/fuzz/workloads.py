"""Random workloads, and how one discipline fares against another on them: the time until all is done, and how fairly slot-time is shared.

A workload is a scenario with one resource of 2 to 16 slots and 2 to 6 groups of weight 1 to 4, each with all its tasks there at once, and
enough of them that groups wait side by side for a while. Number `seed` is always the same workload.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from statistics import fmean, median

from slotwise.spec import simulation
from slotwise.spec import vocabulary as v
from slotwise.spec.scenarios import Arrival, Scenario
from slotwise.spec.simulation import Run

Simulate = Callable[[v.Profile, Scenario], Run]
Draw = Callable[[Random], float]                 # a service time in milliseconds

#: Service times of mean 10 ms or so, and about how long the longest are.
SERVICES: dict[str, tuple[Draw, float]] = {
    "constant": (lambda r: 10.0, 10),
    "exponential": (lambda r: r.expovariate(0.1), 60),
    "pareto": (lambda r: min(150.0, 10 / 3 * r.paretovariate(1.5)), 150),
    "bimodal": (lambda r: 2.0 if r.random() < 0.9 else 80.0, 80),
}
#: How the groups of a workload differ: `mixed` draw from different families, `late` come at different times, `two-scale` are a hundred times quicker or slower.
FAMILIES = (*SERVICES, "mixed", "late", "two-scale")
#: Of a group; quick groups beside slow ones are done before them.
MOST_TASKS = 1200
#: A workload goes on for so many of its longest services, at least and beyond.
LENGTH = (25, 15)
#: Shares are looked at over windows of at least so many longest services.
WINDOW = 20


def workload(seed: int, length: float = 1.0) -> Scenario:
    """`length` shortens it, for a quick look."""
    r = Random(f"workload {seed}")
    family = FAMILIES[seed % len(FAMILIES)]
    slots, number = 2 + int(r.random() * 15), 2 + int(r.random() * 5)
    weights = [1 + int(r.random() * 4) for _ in range(number)]
    kinds = [SERVICES[family if family in SERVICES else list(SERVICES)[int(r.random() * len(SERVICES))]] for _ in weights]
    scale = [(0.1 if i % 2 else 10.0) if family == "two-scale" else 0.5 + r.random() for i in range(number)]
    duration = length * (LENGTH[0] + LENGTH[1] * r.random()) * max(longest * size for (_, longest), size in zip(kinds, scale, strict=True))
    wanted = [duration * slots * weight / sum(weights) / (10 * size) for weight, size in zip(weights, scale, strict=True)]
    tasks: list[Arrival] = []
    for i, (draw, _) in enumerate(kinds):
        at = int(r.random() * duration * 250_000) if family == "late" and i else 0
        for k in range(max(2, int(min(wanted[i], MOST_TASKS)))):
            tasks.append(Arrival(at, v.Task(f"g{i}-{k}", f"g{i}", {"llm": 1}), max(1, int(draw(r) * scale[i] * 1_000_000))))
    groups = tuple(v.Group(f"g{i}", float(weight), share_limit=slots, running_limit=slots) for i, weight in enumerate(weights))
    return Scenario(f"{family} {seed}", {"llm": slots}, tuple(tasks), groups)


def window(*runs: Run) -> tuple[int, int] | None:
    """From when all groups are there until, in any of the runs, the first of them has no more waiting; None if that is too short to tell."""
    come: dict[str, int] = {}
    for arrival in runs[0].scenario.arrivals:
        come[arrival.task.group] = max(come.get(arrival.task.group, 0), arrival.at)
    end = min(min(last_starts(run).values()) for run in runs)
    begin = max(come.values())
    return (begin, end) if end - begin >= WINDOW * max(arrival.service for arrival in runs[0].scenario.arrivals) else None


def last_starts(run: Run) -> dict[str, int]:
    return {arrival.task.group: start for arrival, start, _ in run.spans()}


def share_error(run: Run, begin: int, end: int) -> float:
    """The largest difference between a group's share of the slot-time delivered in a window and its share of the weights."""
    got = dict.fromkeys((group.name for group in run.scenario.groups), 0)
    for arrival, start, stop in run.spans():
        got[arrival.task.group] += max(0, min(stop, end) - max(start, begin))
    weights, all_of_it = sum(group.weight for group in run.scenario.groups), sum(got.values())
    return max(abs(got[group.name] / all_of_it - group.weight / weights) for group in run.scenario.groups)


def nearest_rank(values: list[float], percent: int) -> float:
    return sorted(values)[round((len(values) - 1) * percent / 100)] if values else 0.0


@dataclass(slots=True)
class Comparison:
    """Of one profile with another, workload by workload. A wall ratio below 1: the one is sooner done."""

    wall: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)           # of the one
    other_error: list[float] = field(default_factory=list)     # of the other, in the same windows

    def summary(self) -> dict[str, float]:
        return {
            "workloads": len(self.wall), "wall mean": fmean(self.wall), "wall p95": nearest_rank(self.wall, 95), "wall max": max(self.wall),
            "windows": len(self.error), "share error median": median(self.error or [0.0]), "share error p95": nearest_rank(self.error, 95),
            "other share error median": median(self.other_error or [0.0]), "other share error p95": nearest_rank(self.other_error, 95),
        }  # fmt: skip


def compare(seeds: Iterable[int], one: str = "slotwise", other: str = "data-designer-0.9", simulate: Simulate = simulation.simulate, length: float = 1.0) -> Comparison:
    """Run the workloads of these seeds under both profiles. `simulate` may be the reference's or the engine's."""
    found = Comparison()
    for seed in seeds:
        scenario = workload(seed, length)
        a, b = simulate(v.PROFILES[one], scenario), simulate(v.PROFILES[other], scenario)
        found.wall.append(a.wall / b.wall)
        if span := window(a, b):
            found.error.append(share_error(a, *span))
            found.other_error.append(share_error(b, *span))
    return found
