"""Copies of the spinning rules with one mistake each, as targets."""
from __future__ import annotations

from functools import cache
from typing import Any

from slotwise.fuzz import mutants
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import Target
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import Observation

#: Name -> a mutant of the rules, by its key.
MISTAKES = {
    "deadline_later": "spin_window.is_over: return elapsed >= length -> return elapsed > length",
    "yields_without_end": "spin_window.yields: w.q = next_yield(elapsed, p.yield_interval) -> pass",
    "no_cap": "spin_policy.doubled: return min(2 * window, cap) -> return max(2 * window, cap)",
    "never_guarded": "spin_policy.is_guarded: return guard > 8 * park -> return guard < 8 * park",
    "first_task_again": "spin_pool.take: if left < 1: -> if left < 0:",
    "parks_anyway": "spin_worker.sleeps: if pool.epoch != w.last: -> if pool.epoch == w.last:",
    "parks_without_a_look": "spin_worker.sleeps: return None -> pass",
    "gives_no_way": "spin_dispatcher.gives_way: passes.yields += 1 -> pass",
    "time_is_never_up": "spin_barrier.time_is_up: pool.builder.at = 'last_look' -> pass",
}
SHOWS = {mistake: "ep-cpu-after" if mistake == "no_cap" else "slotwise" for mistake in MISTAKES}


@cache
def every() -> dict[str, mutants.Mutant]:
    return {mutant.key: mutant for mutant in mutants.mutants(MECHANISMS["spin"].rules[1:])}


@cache
def copied(mistake: str) -> mutants.Copy:
    return mutants.load(every()[MISTAKES[mistake]])


class Broken(Reference):
    """The turns of its loops are counted for each step, as `Copy.step` does."""

    def __init__(self, profile: Any, setup: Any, copy: mutants.Copy) -> None:
        super().__init__(profile, setup, copy.spec)
        self.copy = copy

    def step(self, command: Any) -> list[Observation]:
        self.copy.turns = 0
        return super().step(command)


def broken(mistake: str) -> Target:
    return Target(f"broken/{mistake}", lambda profile, setup: Broken(profile, setup, copied(mistake)), mechanisms=("spin",))
