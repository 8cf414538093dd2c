"""The generator's floors: how often each rule of a profile must decide in 100,000 steps. A rule that nobody reaches is an error.

`floors.json` holds what was measured, kept at a tenth.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from slotwise.spec import admission as _admission  # noqa: F401  (registers the rules)
from slotwise.spec.rules import RULES, Rule
from slotwise.spec.vocabulary import Profile

PER = 100_000
#: Floors are judged from this many steps on; below that they say nothing.
ENOUGH = 20_000
#: Rules that a switch turns off.
OFF = {"ADM-9": "accepts_the_impossible", "QUE-7": "idle_group_keeps_place"}


class Missed(NamedTuple):
    rule: str
    hits: int
    floor: float          # in that many steps


def rules_of(profile: Profile) -> list[Rule]:
    """The rules that can decide under a profile: those of its discipline, with its switches."""
    discipline = str(type(profile.discipline).__struct_config__.tag)
    return [
        rule for rule in RULES.values()
        if discipline in rule.disciplines and (rule.switch is None or getattr(profile, rule.switch)) and not getattr(profile, OFF.get(rule.id, ""), False)
    ]  # fmt: skip


def all_floors() -> dict[str, dict[str, float]]:
    """Profile name -> rule -> times per 100,000 steps."""
    floors: dict[str, dict[str, float]] = json.loads(files(__package__).joinpath("floors.json").read_text("utf-8"))
    return floors


def floors_of(profile: str) -> dict[str, float]:
    """Of a profile by name; empty for one that has none."""
    return all_floors().get(profile, {})


def missed(profile: Profile, hits: Mapping[str, int], steps: int) -> list[Missed]:
    """The rules that decided too seldom in so many steps: below their floor, or never. A rule without a floor is missed always.
    Nothing is missed in a run too short to tell."""
    if steps < ENOUGH:
        return []
    floors = floors_of(profile.name)
    found = [Missed(rule.id, hits.get(rule.id, 0), floors.get(rule.id, 0.0) * steps / PER) for rule in rules_of(profile)]
    return [m for m in found if m.hits < m.floor or not m.hits or m.rule not in floors]


def measured(hits: Mapping[str, int], steps: int) -> dict[str, float]:
    """Floors for `floors.json`: a tenth of what was reached."""
    return {rule: round(count * PER / steps / 10, 1) for rule, count in hits.items()}
