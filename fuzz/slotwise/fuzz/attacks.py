"""Attacks on fairness by slot time: P1-P12, small, each with what it does, what came of it in a first version, and what must come of it.

The first version charged every start with an estimate, corrected it at the end, and had one virtual time for all resources. It looked as
good on `heavy-root`, and each of these broke it. There is no P11. P10 remains: throwaway groups beat any fairness by group.
Recorded from the reference, they are `tests/golden/attacks/P*.slotwise.jsonl`.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slotwise.spec import rules, trace
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import admission
from slotwise.spec.admission import step as do
from slotwise.spec.scenarios import MS, Arrival, Scenario
from slotwise.spec.simulation import Run, play

Measure = Callable[[Run], float]


@dataclass(frozen=True, slots=True)
class Attack:
    id: str
    what: str
    first: str                   # what the first version did, in this scenario
    scenario: Scenario
    measure: Measure
    least: float                 # what is measured must lie
    most: float                  # in these bounds
    until: int                   # the trace ends here

    def holds(self, run: Run) -> bool:
        return self.least <= self.measure(run) <= self.most


# What is measured


def first_wait_ms(group: str) -> Measure:
    return lambda run: run.waits()[group][0] / MS


def share(group: str, begin: int, end: int) -> Measure:
    """The slot-time of a group in a window, of all there is; by the dominant resource of each task. An ending space stands for all groups that begin so."""

    def measure(run: Run) -> float:
        slots = 0.0
        for arrival, start, stop in run.spans():
            if arrival.task.group == group or (group.endswith(" ") and arrival.task.group.startswith(group[:-1])):
                slots += max(0, min(stop, end) - max(start, begin)) * max(units / run.scenario.capacity[r] for r, units in arrival.task.needs.items())
        return slots / (end - begin)

    return measure


def starts(group: str, begin: int, end: int) -> Measure:
    return lambda run: sum(begin <= start < end and arrival.task.group == group for arrival, start, _ in run.spans())


def refused(reason: str) -> Measure:
    return lambda run: sum(why == reason for why in run.unserved.values())


# How it is done


def flow(group: str, number: int, service: int, at: int = 0, prefix: str = "", **needs: int) -> list[Arrival]:
    """So many equal tasks at one instant."""
    return [Arrival(at, v.Task(f"{group}-{prefix}{i}", group, needs or {"r": 1}), service) for i in range(number)]


def scenario(name: str, capacity: dict[str, int], groups: Iterable[v.Group], *flows: list[Arrival]) -> Scenario:
    return Scenario(name, capacity, tuple(arrival for some in flows for arrival in some), tuple(groups))


def newcomer(ms: int) -> Scenario:
    """A and B are busy on two endpoints, B four times as heavy; N asks for B's after a while."""
    return scenario(f"newcomer after {ms} ms", {"e1": 2, "e2": 2}, [v.Group("B", 4.0)],
                    flow("A", ms // 10, 100 * MS, e1=1), flow("B", ms // 10, 100 * MS, e2=1), flow("N", 4, 100 * MS, at=ms * MS, e2=1))  # fmt: skip


def kept_alive() -> Scenario:
    return scenario("kept alive", {"r": 4}, [], flow("a", 1, 2020 * MS), flow("b", 200, 50 * MS), flow("a", 40, 50 * MS, at=2000 * MS, prefix="burst"))


def over_estimated() -> Scenario:
    return scenario("over-estimated", {"r": 4}, [], flow("A", 8, 200 * MS), flow("A", 500, MS, prefix="short"), flow("N", 10, 10 * MS, at=402 * MS))


def first_batch() -> Scenario:
    return scenario("first batch", {"r": 8}, [v.Group("h", 4.0)], flow("h", 16, 1000 * MS), flow("l", 16, 1000 * MS))


def slow_stranger() -> Scenario:
    flood = [Arrival(0, v.Task(f"flood-{i}", "flood", {"r": 1}), 8 * MS + i % 9 * MS // 2) for i in range(200)]
    return scenario("slow stranger", {"r": 8}, [], flood, flow("slow", 8, 1000 * MS, at=50 * MS))


def wrong_resource() -> Scenario:
    """G holds the gpu; W needs a cpu and the gpu; the flood needs only cpus."""
    return scenario("wrong resource", {"cpu": 2, "gpu": 1}, [], flow("G", 1, 500 * MS, gpu=1), flow("W", 1, 10 * MS, cpu=1, gpu=1), flow("flood", 120, 10 * MS, cpu=1))


def in_order(ms: int) -> Scenario:
    """X, heavy, is held back by r1 and holds half of r2; B has the rest; Y asks for five of the eight units of r2 after a while."""
    return scenario(f"in order after {ms} ms", {"r1": 4, "r2": 8}, [v.Group("X", 4.0)],
                    flow("X", ms // 5, 100 * MS, r1=1, r2=1), flow("B", ms // 5, 100 * MS, r2=1), flow("Y", 1, 100 * MS, at=ms * MS, r2=5))  # fmt: skip


def taught() -> Scenario:
    """x teaches a small mean with tiny tasks, then brings long ones."""
    peer = [Arrival(0, v.Task(f"p-{i}", "p", {"r": 1}), (80 + i * 7 % 40) * MS) for i in range(160)]
    return scenario("taught", {"r": 8}, [], peer, flow("x", 20, MS, at=400 * MS, prefix="tiny"), flow("x", 12, 2000 * MS, at=400 * MS, prefix="z"))


def throwaway() -> Scenario:
    cheats = [Arrival(0, v.Task(f"t{i}", f"cheat{i}", {"r": 1}), 50 * MS) for i in range(60)]
    return scenario("throwaway groups", {"r": 4}, [], flow("honest", 60, 50 * MS), cheats)


def at_its_limit(ms: int) -> Scenario:
    """B may run one task of four units and is heavy; A uses the rest; N asks for five of eight after a while."""
    return scenario(f"at its limit for {ms} ms", {"r": 8}, [v.Group("B", 4.0, running_limit=1)],
                    flow("A", ms // 5, 100 * MS, r=1), flow("B", ms // 20, 100 * MS, r=4), flow("N", 1, 100 * MS, at=ms * MS, r=5))  # fmt: skip


def attacks() -> list[Attack]:
    return [
        Attack("P1", "a task asks for nine units of eight, among narrow ones of another group; refused, and nobody waits for it", "accepted it; after 32 starts it kept all that was free for it, and 9 of 41 tasks never started",
               scenario("nine of eight", {"r": 8}, [], flow("wide", 1, 10 * MS, r=9), flow("narrow", 40, 10 * MS)), refused("never_fits"), 1, 1, 100 * MS),
        Attack("P2", "a group that may run no task; refused at the door", "accepted it; it waited for ever",
               scenario("limit 0", {"r": 8}, [v.Group("none", running_limit=0)], flow("none", 1, 10 * MS), flow("narrow", 8, 10 * MS)), refused("limit_below_one"), 1, 1, 20 * MS),
        Attack("P3", "two endpoints; a newcomer on the second, after 600 ms; ms until its first start", "1600 ms, and longer the longer the others had been running", newcomer(600), first_wait_ms("N"), 0, 100, 1300 * MS),
        Attack("P4", "one long task is kept alive through an absence of 2 s, then a burst against a backlogged peer; its share of the next 400 ms, fair 0.5", "0.97",
               kept_alive(), share("a", 2000 * MS, 2400 * MS), 0.45, 0.53, 2400 * MS),
        Attack("P5", "long tasks, then short ones; a newcomer 2 ms into those; ms until its first start", "123 ms, until all short tasks were done", over_estimated(), first_wait_ms("N"), 0, 1, 430 * MS),
        Attack("P6", "the first batch, weights 4 : 1, before anything is known of service times; slots of the heavy group, fair 6.4 of 8", "4, as if weights were equal", first_batch(), starts("h", 0, MS), 6, 6, MS),
        Attack("P6b", "a new group of 1 s tasks meets a flood of 8-12 ms tasks; starts of the flood in the next 200 ms, fair 80", "6",
               slow_stranger(), starts("flood", 50 * MS, 250 * MS), 55, 100, 250 * MS),
        Attack("P7", "a head of cpu and gpu waits for the gpu; starts of a flood that needs only cpus, before it is free, of 100", "54; a cpu was kept for a head that waited for the gpu",
               wrong_resource(), starts("flood", 0, 500 * MS), 99, 100, 530 * MS),
        Attack("P8", "a heavy group, held back by another resource, starts in order again and again; ms until a wide task of a third group starts", "900 ms, and longer the longer the others had been running",
               in_order(1000), first_wait_ms("Y"), 0, 500, 1500 * MS),
        Attack("P9", "tiny tasks first, to be taken for quick, then long ones, against tasks of 100 ms; its share of the next 2 s, fair 0.5", "0.98",
               taught(), share("x", 440 * MS, 2440 * MS), 0.4, 0.65, 2440 * MS),
        Attack("P10", "every task of a cheat in a group of its own, against one backlogged group; share of the honest one in 500 ms. This remains: fairness is by group", "0.025, the same",
               throwaway(), share("honest", 0, 500 * MS), 0, 0.2, 500 * MS),
        Attack("P12", "a heavy group at its limit, another that uses the rest; ms until a wide task of a third group starts, after 1 s of that", "2900 ms, and longer the longer the others had been running",
               at_its_limit(1000), first_wait_ms("N"), 0, 400, 1400 * MS),
    ]  # fmt: skip


ATTACKS = {attack.id: attack for attack in attacks()}


def run(attack: Attack, profile: v.Profile = v.PROFILES["slotwise"]) -> tuple[Run, trace.Trace]:
    """Play the attack on the reference; the trace is what the reference did until the attack's last instant."""
    reference = partial(do, admission(profile, attack.scenario.capacity))
    steps: list[trace.Step] = []

    def recorded(command: v.Command) -> list[v.Observation]:
        saw = reference(command)
        if command.at <= attack.until:
            steps.append(trace.Step(command, saw, list(rules.decided)))
        return saw

    came = play(attack.scenario, recorded, profile=profile.name, engine="reference")
    note = f"{attack.id}: {attack.what}. The first version: {attack.first}. Reached: {attack.measure(came):.4g}."
    return came, trace.Trace(trace.header(profile, attack.scenario.capacity, targets=("reference",), note=note), steps)


def record(folder: Path) -> None:
    """Write every attack's trace into a folder."""
    for attack in ATTACKS.values():
        trace.write(folder / f"{attack.id}{trace.SUFFIX}", run(attack)[1])
