"""What the benchmarks run: commands of short episodes, a trace with a thousand tasks waiting, the least that a Python scheduler could do,
and the published package's own dispatch loop."""
from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from hashlib import sha256
from random import Random
from typing import Any

import msgspec

from slotwise.fuzz import walker
from slotwise.fuzz.target import Target
from slotwise.spec import trace
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import admission, step

Episode = tuple[dict[str, int], list[v.Command]]


def episode(seed: int, steps: int = 60) -> Episode:
    """Four groups, two resources; a bit of everything, mostly arrivals, pumps and releases."""
    r = Random(seed)
    capacity = {"submission": r.randint(1, 9), "llm": r.randint(1, 8)}
    groups = [v.Group(f"g{i}", float(r.randint(1, 4)), r.choice((None, 1, 2, 4, 8)), r.choice((None, 2, 4))) for i in range(4)]
    commands: list[v.Command] = []
    now = 0
    for i in range(steps):
        now += r.choice((0, 0, 1, 5, 20))
        group, kind = r.choice(groups), r.random()
        if kind < 0.4:
            needs = {"submission": 1, "llm": 1} if r.random() < 0.7 else {"submission": 1}
            commands.append(v.Enqueue(tasks=(v.Task(f"t{i}", group.name, needs),), groups=(group,), at=now))
        elif kind < 0.5:
            commands.append(v.Discard(task=f"t{r.randint(0, i)}", at=now))
        elif kind < 0.75:
            commands.append(v.Pump(at_most=99, at=now))
        else:
            commands.append(v.Release(lease=r.randint(1, max(1, i // 2)), at=now))
    return capacity, commands


def full_house(groups: int, waiting: int, turns: int) -> Episode:
    """So many tasks wait; then, again and again, a lease ends, a task comes, and one starts."""
    specs = tuple(v.Group(f"g{i}", float(1 + i % 4), 64, 64) for i in range(groups))

    def task(i: int) -> v.Task:
        return v.Task(f"t{i}", f"g{i % groups}", {"submission": 1, "llm": 1})

    commands: list[v.Command] = [v.Enqueue(tasks=tuple(task(i) for i in range(waiting + 32)), groups=specs), v.Pump(at_most=99)]
    for i in range(turns):
        now = 1000 * (i + 1)
        commands += [v.Release(lease=i + 1, at=now), v.Enqueue(tasks=(task(waiting + 32 + i),), at=now), v.Pump(at_most=99, at=now)]
    return {"submission": 32, "llm": 32}, commands


class Least:
    """First in, first out, whatever the group: the least that a Python scheduler could do with these commands, and the measure of the machine."""

    def __init__(self, capacity: dict[str, int]) -> None:
        self.free, self.queue, self.leases = dict(capacity), dict[str, v.Task](), dict[int, v.Task]()
        self.granted = self.now = 0

    def step(self, command: v.Command) -> list[v.Observation]:
        if command.at < self.now:
            return [("time_reversed", self.now)]
        self.now = command.at
        match command:
            case v.Enqueue(tasks=tasks):
                return [self.accept(task) for task in tasks]
            case v.Discard(task=id):
                return [("discarded" if self.queue.pop(id, None) else "unknown_task", id)]
            case v.Pump(at_most=most):
                return self.pump(most)
            case v.Release(lease=number):
                return [(self.release(number), number)]
        raise ValueError(command)

    def accept(self, task: v.Task) -> v.Observation:
        if task.id in self.queue:
            return ("duplicate", task.id)
        self.queue[task.id] = task
        return ("accepted", task.id)

    def pump(self, most: int) -> list[v.Observation]:
        saw: list[v.Observation] = []
        while len(saw) < most and self.queue:
            task = next(iter(self.queue.values()))
            if any(self.free[resource] < units for resource, units in task.needs.items()):
                break
            self.granted += 1
            self.leases[self.granted] = self.queue.pop(task.id)
            for resource, units in task.needs.items():
                self.free[resource] -= units
            saw.append(("started", self.granted, task.id, dict(task.needs)))
        return [*saw, ("full" if len(saw) == most else "blocked" if self.queue else "drained",)]

    def release(self, number: int) -> str:
        task = self.leases.pop(number, None)
        if task is None:
            return "duplicate" if 0 < number <= self.granted else "unknown_lease"
        for resource, units in task.needs.items():
            self.free[resource] += units
        return "released"


def least(episodes: list[Episode]) -> None:
    for capacity, commands in episodes:
        scheduler = Least(capacity)
        for command in commands:
            scheduler.step(command)


def reference(profile: v.Profile, episodes: list[Episode]) -> None:
    for capacity, commands in episodes:
        scheduler = admission(profile, capacity)
        for command in commands:
            step(scheduler, command)


def lines(profile: v.Profile, play: Episode) -> bytes:
    return trace.encode(trace.Trace(trace.header(profile, play[0]), [trace.Step(command) for command in play[1]]))


def reference_lines(data: bytes) -> bytes:
    """What the engine does with a whole trace in one call: read the lines, step, write what was seen."""
    read = trace.decode(data)
    scheduler = admission(read.header.profile, read.header.setup.capacity)
    return b"".join(msgspec.json.encode(step(scheduler, command)) + b"\n" for command in read.commands)


def upstream_dispatches(system: Any, upstream: Any, groups: int, tasks: int) -> int:
    """The published package's own loop: select, lease, commit; release the oldest when nothing may start."""
    specs = [upstream.TaskGroupSpec(upstream.group_key(f"g{i}"), float(1 + i % 4), 64) for i in range(groups)]
    system.queue.enqueue([upstream.schedulable(f"t{i}", specs[i % groups], {"submission": 1, "llm": 1}) for i in range(tasks)])
    running: deque[Any] = deque()
    started = 0
    while system.queue.has_queued_tasks:
        selection = system.queue.select_next(system.controller.is_eligible)
        if selection is None:
            system.controller.release(running.popleft())
            continue
        running.append(system.controller.try_acquire(selection.item, selection.queue_view))
        system.queue.commit(selection)
        started += 1
    return started


def digest(target: Target, seeds: range) -> str:
    """Of everything seen in an episode of each seed, the profiles in turn."""
    found, profiles = sha256(), list(v.PROFILES.values())
    for seed in seeds:
        profile = profiles[seed % len(profiles)]
        found.update(repr(walker.play(target, profile, seed).seen).encode())
    return found.hexdigest()


def digest_elsewhere(target: str, seeds: int, hash_seed: int) -> subprocess.Popen[str]:
    """The same in another process, in which sets and dictionaries of strings are laid out differently."""
    code = f"from slotwise.fuzz import bench_loads, targets; print(bench_loads.digest(targets.load({target!r}), range({seeds})))"
    env = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True)
