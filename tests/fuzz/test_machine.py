"""The same search as a Hypothesis state machine."""
from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.fuzz.broken import Mute, broken

from slotwise.fuzz import reference
from slotwise.fuzz.machine import machine
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import Target
from slotwise.spec.vocabulary import PROFILES

QUICK = settings(max_examples=60, stateful_step_count=30, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@pytest.mark.parametrize("profile", PROFILES)
def test_a_true_copy_passes(profile: str) -> None:
    run_state_machine_as_test(machine(Target("copy", Reference), PROFILES[profile]), settings=QUICK)


@pytest.mark.parametrize(("mistake", "profile"), [("second_release_unknown", "strict"), ("place_kept", "slotwise"), ("debt_not_charged", "data-designer-0.9")])
def test_finds_mistakes(mistake: str, profile: str) -> None:
    with pytest.raises(AssertionError, match=r"expected|states differ"):
        run_state_machine_as_test(machine(broken(mistake), PROFILES[profile]), settings=settings(QUICK, max_examples=400))


def test_only_commands_that_the_target_knows() -> None:
    made = machine(Target("small", Mute, frozenset({"enqueue", "pump"}), lambda profile: False), PROFILES["slotwise"])
    assert {"enqueue", "pump"} <= vars(made).keys()
    assert "release" not in vars(made)
    run_state_machine_as_test(made, settings=QUICK)


def test_the_reference_itself() -> None:
    run_state_machine_as_test(machine(reference.TARGET, PROFILES["slotwise"]), settings=QUICK)
