"""Is the engine's every mistake noticed? Each seeded fault of its faulty twin is searched for as a real one would be.

A fault declares its rule and the profiles under which it shows; it has to be found under each of them. `shortest.json` records the
shortest trace that is known to show each fault; a shrunk trace is *near* if it is at most two commands longer.
`python -m slotwise.fuzz.seeded SEEDS [MECHANISM]` searches with so many seeds for shorter ones, and keeps them.
"""
from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from slotwise.fuzz import targets
from slotwise.fuzz.processes import side_by_side
from slotwise.fuzz.searches import SEARCHES
from slotwise.fuzz.shrink import shrink
from slotwise.fuzz.walker import campaign
from slotwise.spec.mechanisms import MECHANISMS

PREFIX = "native:faults/"
SHORTEST = Path(__file__).with_name("shortest.json")
NEAR = 2
FLOOR = 1.0
#: Steps for one fault under one profile; what is not found by then is not found, on any machine.
AT_MOST = 1_000_000
#: Seconds in which the trace must be short. It takes less than one.
SHRINKS = 120.0
UNKNOWN = 999


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    rule: str
    wrong: str                       # what it does
    profiles: tuple[str, ...]        # under which it shows
    mechanism: str = "admission"

    @property
    def target(self) -> str:
        return PREFIX + self.name


@dataclass(frozen=True, slots=True)
class Found:
    """What the search made of a fault under one of its profiles."""

    fault: Fault
    profile: str
    killed: bool
    seconds: float                   # until it was found, before shrinking
    steps: int
    shrunk: int = 0                  # commands
    blamed: str = ""                 # the rule or law that the search named
    shortest: int | None = None      # the shortest known, commands

    @property
    def near(self) -> bool:
        return self.shortest is not None and self.shrunk <= self.shortest + NEAR

    def to_json(self) -> dict[str, object]:
        return {"fault": self.fault.name, "rule": self.fault.rule, "profile": self.profile, "killed": self.killed, "seconds": round(self.seconds, 3),
                "steps": self.steps, "shrunk": self.shrunk, "shortest": self.shortest, "blamed": self.blamed}  # fmt: skip


def catalogue() -> list[Fault]:
    """All seeded faults, of every mechanism; none where the faulty twin was not built."""
    try:
        twin = import_module("slotwise.fuzz._faulty")
    except ImportError:
        return []
    return [Fault(name, rule, wrong, tuple(profiles), mechanism) for mechanism, search in SEARCHES.items() for name, rule, wrong, profiles in getattr(twin, search.catalogue)]


def of_target(target: str) -> Fault | None:
    """The fault that a target is named after."""
    return next((fault for fault in catalogue() if fault.target == target), None)


def shortest() -> dict[str, dict[str, int]]:
    """fault -> profile -> commands of the shortest trace known."""
    found: dict[str, dict[str, int]] = json.loads(SHORTEST.read_text("utf-8"))
    return found


def runs(faults: Sequence[Fault] | None = None) -> list[tuple[Fault, str]]:
    """Each fault under each of its profiles."""
    return [(fault, profile) for fault in (catalogue() if faults is None else faults) for profile in fault.profiles]


def find(fault: Fault, profile: str, *, seed: int = 1, steps: int = AT_MOST) -> Found:
    report = campaign(targets.load(fault.target), MECHANISMS[fault.mechanism].profiles[profile], steps=steps, seed=seed, shrink=False)
    if not report.failures:
        return Found(fault, profile, False, report.seconds, report.steps)
    small = shrink(targets.load(fault.target), report.failures[0], seconds=SHRINKS)
    return Found(fault, profile, True, report.seconds, report.steps, len(small.trace.steps), small.rule, shortest().get(fault.name, {}).get(profile))


def _find(run: tuple[Fault, str]) -> Found:
    return find(*run)


def search(faults: Sequence[Fault] | None = None, *, workers: int = 2) -> Iterator[Found]:
    """Each fault under each of its profiles, in the order of the catalogue."""
    yield from side_by_side(_find, runs(faults), workers)


def shorter(seeds: int, faults: Sequence[Fault] | None = None, *, workers: int = 2) -> dict[str, dict[str, int]]:
    """The shortest traces known, and found with so many seeds, of all faults, or of some."""
    before = shortest()
    known = {fault.name: dict(before[fault.name]) for fault in catalogue() if faults is not None and fault not in faults and fault.name in before}
    tries = [(fault, profile, seed) for fault, profile in runs(faults) for seed in range(1, seeds + 1)]
    for (fault, profile, _), length in zip(tries, side_by_side(_length, tries, workers), strict=True):
        lengths = known.setdefault(fault.name, {})
        lengths[profile] = min(length, lengths.get(profile, length), before.get(fault.name, {}).get(profile, length))
    return known


def _length(one: tuple[Fault, str, int]) -> int:
    fault, profile, seed = one
    found = find(fault, profile, seed=seed)
    return found.shrunk if found.killed else UNKNOWN


def score(found: Sequence[Found]) -> float:
    return sum(one.killed for one in found) / len(found) if found else 0.0


if __name__ == "__main__":
    chosen = [fault for fault in catalogue() if fault.mechanism in (sys.argv[2:] or SEARCHES)]
    SHORTEST.write_text(json.dumps(shorter(int(sys.argv[1]), chosen), indent=1) + "\n", "utf-8")
