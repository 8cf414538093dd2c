"""Every invariant holds along seeded walks over the rules; and each of them can fail."""
from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from slotwise.spec import admission as a
from slotwise.spec import vocabulary as v
from slotwise.spec.invariants import INVARIANTS, Transition, broken

PROFILES = [
    *v.PROFILES.values(),
    msgspec.structs.replace(v.PROFILES["data-designer-0.9"], name="no-repay", discipline=v.BoundedBorrow(repay=False, default_ceiling=2)),
    msgspec.structs.replace(v.PROFILES["data-designer-0.9"], name="floor", discipline=v.BoundedBorrow(share_rounding="floor")),
]


def commands(pick: random.Random, steps: int) -> list[v.Command]:
    wide, groups, fresh, now = pick.random() < 0.4, [f"g{i}" for i in range(pick.randint(1, 4))], 0, 0
    out: list[v.Command] = []
    for _ in range(steps):
        roll, now = pick.random(), now + pick.choice((0, 0, 1, 5, 20))
        if roll < 0.4:
            name = pick.choice(groups)
            spec = v.Group(name, pick.choice((0.5, 1.0, 1.0, 2.0, 4.0)), pick.choice((None, 1, 2, 8)), pick.choice((None, None, 1, 2)))
            needs = {"submission": pick.randint(1, 3) if wide else 1} | ({"llm": 1} if pick.random() < 0.6 else {})
            fresh += 1
            out.append(v.Enqueue(tasks=(v.Task(f"t{fresh}", name, needs),), groups=(spec,) if pick.random() < 0.5 else (), at=now))
        elif roll < 0.48:
            out.append(v.Discard(task=f"t{pick.randint(1, fresh + 1)}", at=now))
        elif roll < 0.7:
            out.append(v.Pump(at_most=pick.choice((1, 99)), at=now))
        elif roll < 0.8:
            out.append(v.Explain(at=now))
        else:
            out.append(v.Release(lease=pick.randint(1, fresh + 1), at=now))
    return out


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
def test_they_hold_along_walks(profile: v.Profile) -> None:
    for seed in range(60):
        pick = random.Random(seed)
        capacity = {"submission": pick.randint(1, 8), "llm": pick.randint(1, 4)}
        scheduler = a.admission(profile, capacity)
        before = a.state(scheduler)
        for command in commands(pick, 60):
            saw = a.step(scheduler, command)
            after = a.state(scheduler)
            assert not broken(Transition(profile, capacity, before, command, saw, after)), (seed, command)
            before = after


def transition(profile: str, before: dict[str, Any], after: dict[str, Any], command: v.Command | None = None, saw: list[v.Observation] | None = None, **switches: Any) -> Transition:
    p = v.PROFILES[profile]
    if switches:
        p = msgspec.structs.replace(p, discipline=msgspec.structs.replace(p.discipline, **switches))
    return Transition(p, {"r": 4}, {"turns": 9, **before}, command or v.Pump(at_most=1), saw or [], {"turns": 9, **after})


DD, SW = "data-designer-0.9", "slotwise"
LEASE = {"1": ["a0", "a", {"r": 2}, 0]}
WAITING = {"fifo": {"a": [["a1", {"r": 1}]]}, "waiting": {"a": 1}, "turn": {"a": 1}, "groups": {"a": [1024, 4, -1]}}
BREAKERS = {
    "INV-1": transition(SW, {}, {"leases": {"1": ["a0", "a", {"r": 5}, 0]}}),
    "INV-2": transition(DD, {}, {"leases": LEASE, "debt": {"a": {"r": 3}}}),
    "INV-3": transition(DD, {"debt": {"a": {"r": 3}}}, {"debt": {"a": {"r": 2}}}, repay=False),
    "INV-4": transition(DD, {}, WAITING, v.Explain(), [("refused", "a1", "group_cap"), ("startable", "b1")]),
    "INV-5": transition(DD, {}, {**WAITING, "leases": {"1": ["a0", "a", {"r": 1}, 0]}}, v.Explain(), [("refused", "a1", "borrow_debt")]),
    "INV-6": transition(SW, {"accounts": {"a": [1024, 7]}}, {"accounts": {"a": [1024, 6]}}),
    "INV-7": transition(SW, {"virtual": {"r": 7}}, {"virtual": {}}),
    "INV-8": transition(DD, {"virtual_time": 4611686018427387904}, {"virtual_time": 4607182418800017408}),
    "INV-9": transition(SW, {}, {"turn": {"a": 3, "b": 3}}),
    "INV-10": transition(SW, {}, {**WAITING, "overtaken": {"a2": 4}}),
    "INV-11": transition(SW, {}, {"leases": LEASE, "groups": {"a": [1024, -1, 0]}}, saw=[("started", 1, "a0", {"r": 2})]),
}


@pytest.mark.parametrize("id", INVARIANTS)
def test_each_can_fail(id: str) -> None:
    assert [found for found, _ in broken(BREAKERS[id])] == [id]
    assert not broken(replace(BREAKERS[id], after=BREAKERS[id].before, saw=[]))
