"""A player of golden vectors: commands go to the published package and to the reference at once, and the trace is kept."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slotwise.fuzz.upstream.data_designer import BEFORE, DataDesigner, claims
from slotwise.spec import admission as a
from slotwise.spec import vocabulary as v
from slotwise.spec.rules import decided
from slotwise.spec.trace import Step

Tasks = tuple[v.Group, Sequence[str], dict[str, int]]        # of one group: its specification, their ids, what each needs
MANY = 9999
SLOT = {"submission": 1}
LLM = {"submission": 1, "llm_wait": 1}


class Mismatch(AssertionError):
    """The package did not do what the facts say, or the reference did not do what the package did."""


def ids(prefix: str, count: int, first: int = 0) -> list[str]:
    return [f"{prefix}{i}" for i in range(first, first + count)]


@dataclass
class Player:
    """Plays commands on the package and on the reference at once, and keeps the trace."""

    name: str
    profile: v.Profile
    capacity: dict[str, int]
    note: str = ""
    steps: list[Step] = field(default_factory=list)
    recording: bool = True

    def __post_init__(self) -> None:
        if not claims(self.profile):
            raise Mismatch(f"{self.name}: the installed package does not claim the profile {self.profile.name}")
        self.package, self.reference = DataDesigner(self.profile, self.capacity), a.admission(self.profile, self.capacity)
        self.lease: dict[str, int] = {}

    def do(self, command: v.Command) -> list[Any]:
        saw, expected = self.package.step(command), a.step(self.reference, command)
        if self.recording:
            self.steps.append(Step(command, saw, list(decided)))
        if saw != expected:
            raise Mismatch(f"{self.name}: {command}: the package saw {saw}, the reference {expected}")
        self.lease |= {str(word[2]): int(str(word[1])) for word in saw if word[0] == "started"}
        return list(saw)

    def same(self, found: object, fact: object) -> None:
        if found != fact:
            raise Mismatch(f"{self.name}: after {len(self.steps)} commands: found {found}, the facts say {fact}")

    def enqueue(self, *arrivals: Tasks) -> list[str]:
        tasks = tuple(v.Task(id, group.name, needs) for group, names, needs in arrivals for id in names)
        return [word[1] for word in self.do(v.Enqueue(tasks=tasks, groups=tuple({group.name: group for group, _, _ in arrivals}.values()))) if word[0] == "accepted"]

    def pump(self, at_most: int = MANY) -> list[str]:
        return [word[2] for word in self.do(v.Pump(at_most=at_most)) if word[0] == "started"]

    def release(self, task: str, claim: v.Claim | None = None) -> str:
        return str(self.do(v.Release(lease=self.lease[task], claim=claim))[0][0])

    def select(self) -> tuple[str, int]:
        _, task, version = self.do(v.Select())[0]
        return task, version

    def commit(self, task: str, version: int) -> str:
        return str(self.do(v.Commit(task=task, version=version))[0][0])

    def why(self) -> dict[str, str]:
        return {word[1]: word[2] if word[0] == "refused" else "allow" for word in self.do(v.Explain())}

    def state(self) -> dict[str, Any]:
        """The package's; the reference's must be the same where both give it."""
        found, expected = self.package.state(), a.state(self.reference)
        self.same(found, found | {key: expected[key] for key in found.keys() & expected.keys()})
        return found

    def debt(self) -> dict[str, int]:
        return {f"{group}/{resource}": units for group, owed in self.state()["debt"].items() for resource, units in owed.items()}

    def leased(self) -> dict[str, dict[str, int]]:
        held: dict[str, dict[str, int]] = {}
        for _, group, needs, _ in self.state()["leases"].values():
            for resource, units in needs.items():
                held.setdefault(group, {})[resource] = held.get(group, {}).get(resource, 0) + units
        return held

    def free(self, resource: str) -> int:
        return self.capacity[resource] - sum(units.get(resource, 0) for units in self.leased().values())

    def queue(self) -> dict[str, Any]:
        """Order as the facts give it: virtual time, tags of the served groups, [tag, turn] of the active ones, version, turns."""
        state = self.state()
        finish = {key.identity[0]: tag for key, tag in self.package.queue._group_finish.items()}
        active = {key.identity[0]: list(entry) for key, entry in self.package.turns().items()}
        return {"V": self.package.queue._virtual_time, "F": finish, "active": active, "seqver": state["version"], "seq": state["turns"]}


@dataclass
class Session:
    """One run of the recorder: the profiles of the installed version, and every trace played so far."""

    traces: list[Player] = field(default_factory=list)

    def open(self, name: str, profile: v.Profile, capacity: dict[str, int]) -> Player:
        self.traces.append(Player(name, profile, capacity))
        return self.traces[-1]

    def bounded(self, **parameters: Any) -> v.Profile:
        base = v.PROFILES["data-designer-0.8" if BEFORE else "data-designer-0.9"]
        return msgspec.structs.replace(base, discipline=msgspec.structs.replace(base.discipline, **parameters))

    def strict(self) -> v.Profile:
        return msgspec.structs.replace(v.PROFILES["strict"], idle_group_keeps_place=BEFORE)


Script = Callable[[Session, Any], None]
SCRIPTS: dict[str, Script] = {}


def vector(name: str) -> Callable[[Script], Script]:
    """Register a script that plays vectors of this name and checks them against their facts."""

    def register(script: Script) -> Script:
        SCRIPTS[name] = script
        return script

    return register


def group(name: str, weight: float = 1.0, limit: int | None = None) -> v.Group:
    return v.Group(name, float(weight), limit)


def reasons(fact: list[list[Any]]) -> dict[str, str]:
    """The verdicts of a fact, whatever their order."""
    return {task: reason for task, reason, *_ in fact}
