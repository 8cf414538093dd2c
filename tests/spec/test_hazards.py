"""The hazards of the published packages, a shortest trace each: it breaks the laws that its note names, under its profile, and none under `slotwise`."""
from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.spec import batching_vocabulary, spin_vocabulary
from slotwise.spec import vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS, Mechanism
from slotwise.spec.trace import SUFFIX, Header, read

HAZARDS = sorted((Path(__file__).parents[1] / "golden" / "hazards").glob(f"*{SUFFIX}"))
#: Of those that come of one switch of the profile, its name.
SWITCHES = {path: found[1] for path in HAZARDS if (found := re.search(r"LAW-\d+, by (\w+)", read(path).header.note))}


def name_of(path: Path) -> str:
    return path.name.removesuffix(SUFFIX)


named = pytest.mark.parametrize("path", HAZARDS, ids=name_of)


def mechanism_of(header: Header) -> Mechanism:
    return MECHANISMS[header.mechanism]


def laws_of(header: Header) -> set[str]:
    found = re.search(r"breaks (LAW-\d+(?:, LAW-\d+)*),? ", header.note)
    assert found, header.note
    return set(found[1].split(", "))


def broken(header: Header, commands: Sequence[Any], profile: Any = None) -> set[str]:
    """By the rules, under the trace's profile or another one."""
    mechanism, chosen = mechanism_of(header), profile or header.profile
    model, judge = mechanism.model(chosen, header.setup), mechanism.new_judge(chosen, header.setup)
    return {one.law for command in commands for one in judge.step(command, mechanism.spec.step(model, command))}


@named
def test_breaks_exactly_its_laws(path: Path) -> None:
    trace = read(path)
    assert broken(trace.header, trace.commands) == laws_of(trace.header)


@named
def test_slotwise_breaks_none(path: Path) -> None:
    trace = read(path)
    assert broken(trace.header, trace.commands, mechanism_of(trace.header).profiles["slotwise"]) == set()


@pytest.mark.parametrize("path", SWITCHES, ids=name_of)
def test_comes_of_its_switch(path: Path) -> None:
    """The published discipline without that one defect does not break them all."""
    trace = read(path)
    healed = msgspec.structs.replace(trace.header.profile, **{SWITCHES[path]: False})
    assert not laws_of(trace.header) <= broken(trace.header, trace.commands, healed)


def switches(profile: type[Any]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(profile) if field.type in (bool, "bool")}


def test_every_switch_of_the_published_systems_has_a_trace() -> None:
    """But that of another SDK, and that of coordinators, which have no commands of their own."""
    published = switches(batching_vocabulary.Profile) | switches(spin_vocabulary.Profile)
    assert set(SWITCHES.values()) == published - {"settles_by_older", "waits_are_retimed"}


@named
def test_is_shortest(path: Path) -> None:
    """Without any one of its commands, or of its tasks, it no longer breaks them."""
    trace = read(path)
    wanted = laws_of(trace.header)
    for number, command in enumerate(trace.commands):
        before, after = trace.commands[:number], trace.commands[number + 1 :]
        assert not wanted <= broken(trace.header, [*before, *after]), f"not needed: {command}"
        if isinstance(command, v.Enqueue):
            for task in command.tasks:
                less = v.Enqueue(tasks=tuple(other for other in command.tasks if other != task), groups=command.groups, at=command.at)
                assert not wanted <= broken(trace.header, [*before, less, *after]), f"not needed: {task}"


def test_every_known_hazard_has_a_trace() -> None:
    known = {law for mechanism in MECHANISMS.values() for laws in mechanism.law_book.KNOWN_HAZARDS.values() for law in laws}
    assert {law for path in HAZARDS for law in laws_of(read(path).header)} == known


def test_no_trace_breaks_a_law_that_its_profile_does_not_list() -> None:
    for path in HAZARDS:
        header = read(path).header
        assert laws_of(header) <= mechanism_of(header).hazards(header.profile), path.name
