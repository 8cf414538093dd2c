"""How well we search and shrink in batching and in spinning: steps, not seconds. The bounds are what was measured, with room for a changed generator."""
from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import pytest
from tests.fuzz import broken_batching, broken_spin

from slotwise.fuzz.walker import campaign
from slotwise.spec import batching_vocabulary, spin_vocabulary

#: The shortest trace known to show each mistake, by whatever rule.
SHORTEST = {
    "batching": {"one_update_more": 2, "first_may_not_fit": 2, "stop_forgets": 1, "no_slack": 3, "never_due_again": 3, "deadline_later": 1},
    "spin": {"deadline_later": 1, "yields_without_end": 1, "no_cap": 1, "never_guarded": 1, "first_task_again": 4, "parks_anyway": 1, "parks_without_a_look": 4, "gives_no_way": 4, "time_is_never_up": 1},
}  # fmt: skip
BROKEN = {"batching": broken_batching, "spin": broken_spin}
PROFILES: dict[str, Mapping[str, Any]] = {"batching": batching_vocabulary.PROFILES, "spin": spin_vocabulary.PROFILES}
SEEDS = range(3)
NEAR = 2
Found = dict[str, list[tuple[int, int]]]


@pytest.fixture(scope="module", params=SHORTEST)
def searched(request: pytest.FixtureRequest) -> tuple[str, Found]:
    """A mechanism, and mistake -> for each seed: steps until it was found, length shrunk."""
    mechanism: str = request.param
    mistakes, profiles = BROKEN[mechanism], PROFILES[mechanism]
    found: Found = {}
    for mistake in mistakes.MISTAKES:
        for seed in SEEDS:
            report = campaign(mistakes.broken(mistake), profiles[mistakes.SHOWS[mistake]], steps=60_000, seed=seed)
            found.setdefault(mistake, []).append((report.steps, len(report.failures[0].trace.steps)))
    return mechanism, found


def test_found_soon(searched: tuple[str, Found]) -> None:
    steps = [run[0] for runs in searched[1].values() for run in runs]
    assert median(steps) <= 1_500
    assert max(steps) <= 60_000


def test_shrunk_to_nearly_the_shortest(searched: tuple[str, Found]) -> None:
    mechanism, found = searched
    shortest = SHORTEST[mechanism]
    near = [run[1] <= shortest[mistake] + NEAR for mistake, runs in found.items() for run in runs]
    assert sum(near) >= 0.75 * len(near), found
    assert not {mistake for mistake, runs in found.items() if min(run[1] for run in runs) < shortest[mistake]}
