"""What groups owe, told cheaply: the same as in the whole state, which is the specification's."""
from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.impl._native import Admission
from slotwise.impl.admission_record import Recorded
from slotwise.spec import admission
from slotwise.spec import vocabulary as v

GROUPS = tuple(v.Group(name, weight, share_limit=limit) for name, weight, limit in (("a", 1.0, 4), ("b", 2.0, 8), ("c", 1.0, None)))


def played(seed: int, profile: str) -> list[dict[str, dict[str, int]]]:
    """Debts after each command of a random episode, compared on the way."""
    dice, capacity, found = Random(seed), {"x": 6, "y": 3}, []
    model, engine = admission.admission(v.PROFILES[profile], capacity), Admission(profile, capacity)
    recorded = Recorded(v.PROFILES[profile], capacity, engine=engine)
    for i in range(dice.randrange(60)):
        choices: list[v.Command] = [
            v.Enqueue(tasks=(v.Task(f"t{i}", dice.choice("abc"), dice.choice([{"x": 1}, {"x": 2}, {"y": 1}, {"x": 1, "y": 1}])),), groups=GROUPS, at=i), v.Pump(at_most=9, at=i),
            v.Release(lease=dice.randrange(1, 20), at=i),
        ]  # fmt: skip
        command = dice.choice(choices)
        assert [list(word) for word in engine.step(command)] == [list(word) for word in admission.step(model, command)]
        debts = engine.debts()
        assert debts == recorded.debts() == admission.state(model).get("debt", {})
        found.append(debts)
    return found


@settings(deadline=None, max_examples=150)
@given(st.integers(0, 1 << 32), st.sampled_from(["data-designer-0.9", "data-designer-0.8", "strict", "slotwise"]))
def test_debts_are_those_of_the_state(seed: int, profile: str) -> None:
    played(seed, profile)


def test_some_are_reached() -> None:
    found = [debts for seed in range(40) for debts in played(seed, "data-designer-0.9")]
    assert {(group, resource) for debts in found for group, owed in debts.items() for resource in owed} >= {("a", "x"), ("b", "x")}
    assert {} in found
    assert not any(debts for seed in range(10) for debts in played(seed, "slotwise"))
