"""The native simulation plays every scenario exactly as the reference does."""
from __future__ import annotations

import random

import msgspec
import pytest

from slotwise.spec import scenarios, simulation
from slotwise.spec import vocabulary as v
from slotwise.spec.scenarios import Arrival, Scenario

native = pytest.importorskip("slotwise.impl._native", reason="the engine is not built")


def same(profile: v.Profile, scenario: Scenario) -> None:
    due = simulation.simulate(profile, scenario)
    starts, ends, unserved = native.simulate(profile, scenario)
    names = [arrival.task.id for arrival in scenario.arrivals]
    assert [(at, lease, names[i]) for at, lease, i in starts] == due.starts
    assert ends == due.ends
    assert {names[i]: why for i, why in unserved} == due.unserved


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_built_in(name: str, profile: str) -> None:
    same(v.PROFILES[profile], scenarios.SCENARIOS[name]())


def drawn(seed: int) -> Scenario:
    """Few resources, arrivals out of order and at one instant, services of no length, tasks that never fit, groups left out."""
    dice = random.Random(seed)
    capacity = {f"r{i}": dice.choice([1, 2, 4, 8]) for i in range(dice.choice([1, 2, 3]))}
    members = [f"g{i}" for i in range(dice.choice([1, 2, 5]))]
    groups = tuple(v.Group(name, dice.choice([1.0, 2.0, 1.5]), dice.choice([None, 1, 4]), dice.choice([None, 1, 3])) for name in members if dice.random() < 0.8)

    def needs() -> dict[str, int]:
        wide = dice.random() < 0.3
        return {r: dice.randint(1, units + (dice.random() < 0.02)) if wide else 1 for r, units in capacity.items() if dice.random() < 0.7} or {"r0": 1}

    arrivals = [Arrival(dice.choice([0, 1, 5, dice.randrange(200)]), v.Task(f"t{i}", dice.choice(members), needs()), dice.choice([0, 1, 5, dice.randrange(50)])) for i in range(60)]
    return Scenario("drawn", capacity, tuple(arrivals), groups)


@pytest.mark.parametrize("profile", v.PROFILES)
def test_drawn(profile: str) -> None:
    for seed in range(25):
        same(v.PROFILES[profile], drawn(seed))


def test_json_will_do() -> None:
    profile, scenario = v.PROFILES["slotwise"], scenarios.neutral()
    assert native.simulate(msgspec.json.encode(profile), scenarios.encode(scenario)) == native.simulate(profile, scenario)


@pytest.mark.parametrize(("scenario", "said"), [(b"{", "not a scenario"), (b'{"name":"x","capacity":{},"arrivals":[]}', "at least one resource")])
def test_a_bad_scenario_is_refused(scenario: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        native.simulate(v.PROFILES["slotwise"], scenario)
