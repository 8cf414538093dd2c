"""The engine's collector in the world of scenarios: every command answers as in the specification."""
from __future__ import annotations

import random

import msgspec
import pytest

from slotwise.spec import batching_scenarios as scenarios
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_scenarios import Scenario
from slotwise.spec.batching_simulation import simulate

from ..spec.batching_drawn import drawn

impl = pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
from slotwise.impl import Batcher  # noqa: E402


def same(profile: v.Profile, scenario: Scenario, seed: int | None = None) -> None:
    engine = Batcher(profile, hint=scenario.service.hint)
    ours, reference = simulate(profile, scenario, step=engine.step, engine="native", seed=seed), simulate(profile, scenario, seed=seed)
    assert ours.lines() == reference.lines()
    assert (ours.calls, ours.result, ours.handler, ours.exit, ours.reached) == (reference.calls, reference.result, reference.handler, reference.exit, reference.reached)


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_built_in(name: str, profile: str) -> None:
    same(v.PROFILES[profile], scenarios.find(name))


@pytest.mark.parametrize("profile", v.PROFILES)
def test_drawn(profile: str) -> None:
    for seed in range(60):
        dice = random.Random(seed)
        chosen = v.PROFILES[profile]
        if seed % 2:
            chosen = msgspec.structs.replace(chosen, discipline=msgspec.structs.replace(chosen.discipline, updates=dice.randint(1, 5)))
        same(chosen, drawn(dice), seed=dice.choice([None, seed]))
