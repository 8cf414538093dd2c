"""The hazards of the published packages, a shortest trace each: it breaks the laws that its note names, under its profile, and none under `slotwise`."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from slotwise.spec import admission as a
from slotwise.spec import vocabulary as v
from slotwise.spec.laws import KNOWN_HAZARDS, Judge
from slotwise.spec.trace import SUFFIX, Header, read

HAZARDS = sorted((Path(__file__).parents[1] / "golden" / "hazards").glob(f"*{SUFFIX}"))
named = pytest.mark.parametrize("path", HAZARDS, ids=lambda path: path.name.removesuffix(SUFFIX))


def laws_of(header: Header) -> set[str]:
    found = re.search(r"breaks (LAW-\d+(?:, LAW-\d+)*) ", header.note)
    assert found, header.note
    return set(found[1].split(", "))


def broken(profile: v.Profile, capacity: dict[str, int], commands: Sequence[v.Command]) -> set[str]:
    scheduler, judge = a.admission(profile, capacity), Judge(profile, capacity)
    return {one.law for command in commands for one in judge.step(command, a.step(scheduler, command))}


@named
def test_breaks_exactly_its_laws(path: Path) -> None:
    trace = read(path)
    assert broken(trace.header.profile, trace.header.setup.capacity, trace.commands) == laws_of(trace.header)


@named
def test_slotwise_breaks_none(path: Path) -> None:
    trace = read(path)
    assert broken(v.PROFILES["slotwise"], trace.header.setup.capacity, trace.commands) == set()


@named
def test_is_shortest(path: Path) -> None:
    """Without any one of its commands, or of its tasks, it no longer breaks them."""
    trace = read(path)
    profile, capacity, wanted = trace.header.profile, trace.header.setup.capacity, laws_of(trace.header)
    for number, command in enumerate(trace.commands):
        before, after = trace.commands[:number], trace.commands[number + 1 :]
        assert not wanted <= broken(profile, capacity, [*before, *after]), f"not needed: {command}"
        if isinstance(command, v.Enqueue):
            for task in command.tasks:
                less = v.Enqueue(tasks=tuple(other for other in command.tasks if other != task), groups=command.groups, at=command.at)
                assert not wanted <= broken(profile, capacity, [*before, less, *after]), f"not needed: {task}"


def test_every_known_hazard_has_a_trace() -> None:
    assert {law for path in HAZARDS for law in laws_of(read(path).header)} == set().union(*KNOWN_HAZARDS.values())


def test_no_trace_breaks_a_law_that_its_profile_does_not_list() -> None:
    for path in HAZARDS:
        header = read(path).header
        assert laws_of(header) <= KNOWN_HAZARDS[header.profile.name], path.name
