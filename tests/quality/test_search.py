"""How well we search and shrink: steps, not seconds. The bounds are what was measured, with room for a changed generator."""
from __future__ import annotations

from statistics import median

import pytest
from tests.fuzz.broken import MISTAKES, broken
from tests.fuzz.test_walker import SHOWS

from slotwise.fuzz.shrink import Shrinker
from slotwise.fuzz.shrink_case import Case, leaning
from slotwise.fuzz.walker import campaign
from slotwise.spec.vocabulary import PROFILES

#: The shortest trace known to show each mistake, by its rule, when states are compared.
SHORTEST = {
    "second_release_unknown": 4, "debt_not_charged": 2, "repays_one": 3, "share_rounded_down": 2, "stale_selection_taken": 2, "place_kept": 2,
    "overtaking_not_noted": 2, "kept_units_given_away": 6, "running_limit_one_more": 2, "strict_limit_one_more": 2,
}  # fmt: skip
SEEDS = range(5)
NEAR = 2


@pytest.fixture(scope="module")
def found() -> dict[str, list[tuple[int, int, int, str]]]:
    """Mistake -> for each seed: steps until it was found, length as found, length shrunk, rule."""
    result: dict[str, list[tuple[int, int, int, str]]] = {}
    for mistake in MISTAKES:
        for seed in SEEDS:
            report = campaign(broken(mistake), PROFILES[SHOWS[mistake]], steps=60_000, seed=seed)
            failure = report.failures[0]
            result.setdefault(mistake, []).append((report.steps, len(failure.full.steps), len(failure.trace.steps), failure.rule))
    return result


def test_found_soon(found: dict[str, list[tuple[int, int, int, str]]]) -> None:
    steps = [run[0] for runs in found.values() for run in runs]
    assert median(steps) <= 1_500
    assert max(steps) <= 60_000


def test_shrunk_to_nearly_the_shortest(found: dict[str, list[tuple[int, int, int, str]]]) -> None:
    near = [run[2] <= SHORTEST[mistake] + NEAR for mistake, runs in found.items() for run in runs]
    assert sum(near) >= 0.9 * len(near), {mistake: [run[2] for run in runs] for mistake, runs in found.items()}


def test_nobody_is_shorter_than_the_shortest(found: dict[str, list[tuple[int, int, int, str]]]) -> None:
    assert not {mistake for mistake, runs in found.items() if min(run[2] for run in runs) < SHORTEST[mistake]}


def test_shrinking_keeps_the_rule() -> None:
    """What is shrunk fails by the same rule at its last step, and every check of the shrinker that it took was of that rule."""
    for mistake in ("share_rounded_down", "kept_units_given_away", "repays_one"):
        for seed in SEEDS:
            target = broken(mistake)
            failure = campaign(target, PROFILES[SHOWS[mistake]], steps=60_000, seed=seed, shrink=False).failures[0]
            shrinker = Shrinker(target, failure.finding, Case(failure.profile, failure.capacity, leaning(failure.full.steps, failure.capacity)), 20.0)
            small = shrinker.run()
            assert small.key == failure.finding.key
            assert small.at == len(small.commands) - 1
            assert shrinker.checks < 600
