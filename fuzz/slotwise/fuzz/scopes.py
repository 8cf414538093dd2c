"""The scopes of admission: a few tasks of two groups, and the releases of their leases, in every order."""
from __future__ import annotations

from typing import Any

from slotwise.fuzz.explore import Scope
from slotwise.spec import vocabulary as v


def scope(profile: v.Profile, size: str) -> Scope:
    """Tiny: two tasks of one group and one of another, two units. Small: one more, which is wide, and a discard."""
    tiny = size == "tiny"
    tasks = [v.Task("a1", "a", {"r": 1}), v.Task("a2", "a", {"r": 1}), v.Task("b1", "b", {"r": 1})] + [v.Task("b2", "b", {"r": 2})] * (not tiny)
    moves: list[tuple[Any, int]] = [(v.Enqueue(tasks=(task,), groups=()), 1) for task in tasks]
    moves += [(v.Pump(at_most=1), 0), *((v.Release(lease=number), 1) for number in range(1, len(tasks) + 1))]
    if not tiny:
        moves += [(v.Discard(task="a2"), 1)]
    return Scope(profile, {"r": 2}, tuple(moves), (0, 10**9) if tiny else (0,))
