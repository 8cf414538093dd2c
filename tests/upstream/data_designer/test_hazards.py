"""The published package breaks exactly the laws that its profile lists: those that a search meets, and those that a named trace shows."""
from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotwise.fuzz import walker
from slotwise.fuzz.upstream.data_designer import TARGET, claims
from slotwise.spec import vocabulary as v
from slotwise.spec.judge import Judge
from slotwise.spec.laws import KNOWN_HAZARDS, LAWS
from slotwise.spec.trace import SUFFIX, Trace, read

FOLDER = Path(__file__).parents[2] / "golden" / "hazards"
HAZARDS = {path.name.removesuffix(SUFFIX): trace for path in sorted(FOLDER.glob(f"*{SUFFIX}")) if (trace := read(path)).header.mechanism == "admission"}
PROFILES = [profile for profile in v.PROFILES.values() if claims(profile)]
#: Starvation takes longer than most episodes.
RARE = {"LAW-14"}


def broken(profile: v.Profile, trace: Trace) -> set[str]:
    """The laws that the package breaks with the commands of a trace."""
    package, judge = TARGET.make(profile, trace.header.setup.capacity), Judge(profile, trace.header.setup.capacity)
    return {one.law for command in trace.commands for one in judge.step(command, package.step(command))}


@pytest.mark.parametrize("name", [name for name, trace in HAZARDS.items() if claims(trace.header.profile)])
def test_each_breaks_exactly_its_laws(name: str) -> None:
    trace = HAZARDS[name]
    assert broken(trace.header.profile, trace) == set(re.findall(r"LAW-\d+", trace.header.note))


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_laws_it_breaks_are_those_its_profile_lists(profile: v.Profile) -> None:
    report = walker.campaign(TARGET, profile, steps=40_000, seed=1, hazards=frozenset(LAWS), floors_count=False)
    assert (report.equality, report.failures) == (True, [])
    assert set(report.hazards) >= KNOWN_HAZARDS[profile.name] - RARE
    assert set(report.hazards).union(*(broken(profile, trace) for trace in HAZARDS.values())) == KNOWN_HAZARDS[profile.name]
