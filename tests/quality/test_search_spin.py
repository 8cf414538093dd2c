"""How well we search and shrink in spinning: steps, not seconds. The bounds are what was measured, with room for a changed generator."""
from __future__ import annotations

from statistics import median

import pytest
from tests.fuzz.broken_spin import MISTAKES, SHOWS, broken

from slotwise.fuzz.walker import campaign
from slotwise.spec.spin_vocabulary import PROFILES

#: The shortest trace known to show each mistake, by whatever rule.
SHORTEST = {"deadline_later": 1, "yields_without_end": 1, "no_cap": 1, "never_guarded": 1, "first_task_again": 4, "parks_anyway": 1, "parks_without_a_look": 4, "gives_no_way": 4, "time_is_never_up": 1}
SEEDS = range(3)
NEAR = 2


@pytest.fixture(scope="module")
def found() -> dict[str, list[tuple[int, int]]]:
    """Mistake -> for each seed: steps until it was found, length shrunk."""
    result: dict[str, list[tuple[int, int]]] = {}
    for mistake in MISTAKES:
        for seed in SEEDS:
            report = campaign(broken(mistake), PROFILES[SHOWS[mistake]], steps=60_000, seed=seed)
            result.setdefault(mistake, []).append((report.steps, len(report.failures[0].trace.steps)))
    return result


def test_found_soon(found: dict[str, list[tuple[int, int]]]) -> None:
    steps = [run[0] for runs in found.values() for run in runs]
    assert median(steps) <= 1_500
    assert max(steps) <= 60_000


def test_shrunk_to_nearly_the_shortest(found: dict[str, list[tuple[int, int]]]) -> None:
    near = [run[1] <= SHORTEST[mistake] + NEAR for mistake, runs in found.items() for run in runs]
    assert sum(near) >= 0.75 * len(near), found
    assert not {mistake for mistake, runs in found.items() if min(run[1] for run in runs) < SHORTEST[mistake]}
