"""The random workloads, and how two disciplines are compared on them."""
from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from slotwise.fuzz import workloads
from slotwise.spec import scenarios, simulation
from slotwise.spec import vocabulary as v
from slotwise.spec.scenarios import Arrival, Scenario
from slotwise.spec.simulation import Run


def test_a_seed_is_always_the_same_workload() -> None:
    assert workloads.workload(5) == workloads.workload(5)
    assert workloads.workload(5).arrivals != workloads.workload(12).arrivals
    assert {workloads.workload(seed, 0.05).name.split()[0] for seed in range(7)} == set(workloads.FAMILIES)


@pytest.mark.parametrize("seed", range(14))
def test_a_workload_is_what_it_says(seed: int) -> None:
    found = scenarios.decode(scenarios.encode(workloads.workload(seed, 0.1)))
    assert 2 <= found.capacity["llm"] <= 16
    assert 2 <= len(found.groups) <= 6
    assert all(1 <= group.weight <= 4 and group.running_limit == found.capacity["llm"] for group in found.groups)


def two(service: Callable[[int], int]) -> Scenario:
    arrivals = [Arrival(0, v.Task(f"{group}{i}", group, {"llm": 1}), service(i)) for group in "ab" for i in range(60)]
    return Scenario("two", {"llm": 1}, tuple(arrivals), (v.Group("a", 3.0), v.Group("b", 1.0)))


def run(scenario: Scenario, order: str) -> Run:
    """The tasks one after another, groups in that order, again and again, until all are done."""
    waiting = {group: [a for a in scenario.arrivals if a.task.group == group] for group in "ab"}
    found, now = Run(scenario, "", "", [], [], {}), 0
    while any(waiting.values()):
        for group in order:
            if waiting[group]:
                arrival = waiting[group].pop(0)
                found.starts.append((now, len(found.starts) + 1, arrival.task.id))
                now += arrival.service
                found.ends.append((now, len(found.starts)))
    return found


def test_share_error_is_zero_where_shares_are_by_weight() -> None:
    fair = run(two(lambda i: 5), "aaab")
    assert workloads.window(fair) == (0, 390)                # a is done after 60 of its own and 19 of b's
    assert workloads.share_error(fair, 0, 380) == 0
    assert workloads.share_error(run(two(lambda i: 5), "ab"), 0, 380) == 0.25


def test_a_window_too_short_tells_nothing() -> None:
    assert workloads.window(run(two(lambda i: 400 if i == 59 else 5), "aaab")) is None


def test_the_first_to_run_dry_in_either_run_ends_the_window() -> None:
    assert workloads.window(run(two(lambda i: 5), "ab"), run(two(lambda i: 5), "aaab")) == (0, 390)


def test_a_comparison_with_itself_is_one() -> None:
    same = workloads.compare(range(7), "slotwise", "slotwise", length=0.05)
    assert same.wall == [1.0] * 7
    assert same.error == same.other_error


def test_a_discipline_that_idles_is_seen_to() -> None:
    def idling(profile: v.Profile, scenario: Scenario) -> Run:
        if profile.name == "slotwise":
            scenario = msgspec.structs.replace(scenario, arrivals=tuple(msgspec.structs.replace(a, service=a.service + a.service // 10) for a in scenario.arrivals))
        return simulation.simulate(profile, scenario)

    assert workloads.compare(range(3), simulate=idling, length=0.05).summary()["wall mean"] > 1.05
