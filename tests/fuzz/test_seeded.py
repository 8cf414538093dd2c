"""The seeded faults: that the catalogue is sound, and that a search finds, blames and shrinks one. (`slotwise mutate` finds all, in CI.)"""
from __future__ import annotations

import pytest

from slotwise.fuzz import seeded, targets
from slotwise.fuzz.seeded import Found
from slotwise.fuzz.shrink import Shrinker
from slotwise.fuzz.shrink_case import Case, leaning
from slotwise.fuzz.walker import campaign
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import PROFILES

FAULTS = {fault.name: fault for fault in seeded.catalogue()}

pytestmark = pytest.mark.skipif(not FAULTS, reason="the faulty twin is not built")


def test_the_catalogue_is_sound() -> None:
    assert len(FAULTS) == len(seeded.catalogue()) >= 16
    for fault in FAULTS.values():
        rules, profiles = MECHANISMS[fault.mechanism].rule_book, MECHANISMS[fault.mechanism].profiles
        assert fault.rule in rules
        assert fault.profiles
        assert set(fault.profiles) <= profiles.keys()
        assert fault.wrong
        disciplines = {str(type(profiles[name].discipline).__struct_config__.tag) for name in fault.profiles}
        assert disciplines & set(rules[fault.rule].disciplines)


def test_the_shortest_trace_of_each_is_known() -> None:
    assert {name: set(profiles) for name, profiles in seeded.shortest().items()} == {name: set(fault.profiles) for name, fault in FAULTS.items()}
    assert max(length for profiles in seeded.shortest().values() for length in profiles.values()) < 20


@pytest.mark.parametrize(("name", "profile"), [("debt_not_charged", "data-designer-0.9"), ("strict_limit_off_by_one", "strict"), ("running_limit_off_by_one", "slotwise"),
                                                ("cancelled_in_flight_settled_again", "slotwise"), ("asked_again_after_the_longest_pause", "slotwise"), ("published_limit_off_by_one", "aws-durable-2.0.0")])
def test_a_fault_is_found_blamed_and_shrunk(name: str, profile: str) -> None:
    found = seeded.find(FAULTS[name], profile)
    assert found.killed
    assert found.blamed == FAULTS[name].rule
    assert found.near, found


def test_shrinking_ends_by_itself() -> None:
    """However large the numbers are, in few looks; not because its time is over."""
    target, profile = targets.load(FAULTS["due_while_filling_misses_the_batch"].target), MECHANISMS["batching"].profiles["slotwise"]
    failure = campaign(target, profile, steps=60_000, seed=1, shrink=False).failures[0]
    shrinker = Shrinker(target, failure.finding, Case(failure.profile, failure.setup, leaning(failure.full.steps, failure.setup)), 1e9)
    assert len(shrinker.run().commands) <= 4
    assert shrinker.checks < 600


def test_the_engine_itself_has_none_of_them() -> None:
    from slotwise.impl import Admission

    with pytest.raises(TypeError):
        Admission(PROFILES["strict"], {"r": 1}, fault="debt_not_charged")  # type: ignore[call-arg]


def test_names() -> None:
    fault = FAULTS["debt_not_charged"]
    assert fault.target == "native:faults/debt_not_charged"
    assert seeded.of_target(fault.target) == fault
    assert seeded.of_target("native") is None
    assert [profile for _, profile in seeded.runs([fault])] == list(fault.profiles)


def test_near_is_at_most_two_longer() -> None:
    fault = FAULTS["debt_not_charged"]
    assert [Found(fault, "p", True, 0.1, 9, shrunk, "", 3).near for shrunk in (3, 5, 6)] == [True, True, False]
    assert not Found(fault, "p", True, 0.1, 9, 3).near
    assert seeded.score([]) == 0.0
    assert seeded.score([Found(fault, "p", True, 0.1, 9), Found(fault, "p", False, 30.0, 9)]) == 0.5
