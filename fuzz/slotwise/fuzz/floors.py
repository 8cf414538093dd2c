"""The generator's floors: how often each rule of a profile must decide in 100,000 steps. A rule that nobody reaches is an error.

`floors.json` (of batching: `floors_batching.json`) holds what was measured (`python -m slotwise.fuzz.measure`), kept at a tenth, and the
tilt that reached each rule best.
"""
from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from slotwise.fuzz.searches import SEARCHES
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.rules import Rule

PER = 100_000
#: Floors are judged from this many steps on; below that they say nothing.
ENOUGH = 20_000


class Missed(NamedTuple):
    rule: str
    hits: int
    floor: float          # in that many steps


def rules_of(profile: Any) -> list[Rule]:
    """The rules that can decide under a profile: those of its discipline, with its switches, that a step can reach."""
    return [rule for rule in mechanism_of(profile).rule_book.values() if rule.of(profile) and rule.where == "step"]


def file_of(mechanism: str) -> str:
    return f"floors{SEARCHES[mechanism].ending}.json"


@cache
def _file(mechanism: str) -> dict[str, dict[str, tuple[float, int]]]:
    return msgspec.json.decode(files(__package__).joinpath(file_of(mechanism)).read_bytes(), type=dict[str, dict[str, tuple[float, int]]])


def floors_of(profile: str, mechanism: str = "admission") -> dict[str, float]:
    """Rule -> times per 100,000 steps, of a profile by name; empty for one that has none."""
    return {rule: floor for rule, (floor, _) in _file(mechanism).get(profile, {}).items()}


def tilts_of(profile: str, mechanism: str = "admission") -> dict[str, int]:
    """Rule -> the tilt that reached it best when the floors were measured. Only a place to start from."""
    return {rule: tilt for rule, (_, tilt) in _file(mechanism).get(profile, {}).items()}


def asked(profile: Any, steps: int) -> dict[str, float]:
    """Rule -> how often it must decide in so many steps, of the profile's rules that have a floor."""
    floors = floors_of(profile.name, mechanism_of(profile).name)
    return {rule.id: floors[rule.id] * steps / PER for rule in rules_of(profile) if rule.id in floors}


def missed(profile: Any, hits: Mapping[str, int], steps: int) -> list[Missed]:
    """The rules that decided too seldom in so many steps: below their floor, or never. A rule without a floor is missed always.
    Nothing is missed in a run too short to tell."""
    if steps < ENOUGH:
        return []
    floors = floors_of(profile.name, mechanism_of(profile).name)
    found = [Missed(rule.id, hits.get(rule.id, 0), floors.get(rule.id, 0.0) * steps / PER) for rule in rules_of(profile)]
    return [m for m in found if m.hits < m.floor or not m.hits or m.rule not in floors]
