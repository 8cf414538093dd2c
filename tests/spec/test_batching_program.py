"""The trio program of checkpoint batching: its commands, and what they show, are those of the world; and what only it can show: freedom of order."""
from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from math import factorial

import pytest

from slotwise.spec import batching_program as program
from slotwise.spec import batching_scenarios as scenarios
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector
from slotwise.spec.batching_judge import Judge
from slotwise.spec.batching_laws import KNOWN_HAZARDS
from slotwise.spec.batching_program import Program
from slotwise.spec.batching_run import Run
from slotwise.spec.batching_scenarios import Parallel, Pause, Scenario, Step, Wait
from slotwise.spec.batching_simulation import simulate

from .batching_drawn import drawn

OURS = v.PROFILES["slotwise"]


def same(profile: v.Profile, scenario: Scenario) -> None:
    run, due = program.simulate(profile, scenario), simulate(profile, scenario)
    assert run.lines() == due.lines()
    assert (run.calls, run.result, run.until, run.handler, run.exit, run.reached, run.ends) == (due.calls, due.result, due.until, due.handler, due.exit, due.reached, due.ends)


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("name", [*scenarios.NAMED, *(f"F{i:02}" for i in range(6, 21)), "failures", "taken"])
def test_its_events_are_those_of_the_world(name: str, profile: str) -> None:
    same(v.PROFILES[profile], scenarios.find(name))


@pytest.mark.parametrize("profile", v.PROFILES)
def test_so_are_those_of_whatever_is_drawn(profile: str) -> None:
    for seed in range(60):
        same(v.PROFILES[profile], drawn(random.Random(seed)))


def ready(number: int) -> Scenario:
    """So many branches that are ready at one instant, and do one thing."""
    return Scenario("ready", (Parallel(name="p", branches=((Step(name="s"),),) * number, flat=True),))


def order(run: Run) -> tuple[str, ...]:
    """In which the branches went."""
    return tuple(step.command.id for step in run.steps if isinstance(step.command, v.Submit) and step.command.id.startswith("p.") and step.command.sync)


def every(number: int, play: Callable[[program.Choice], None]) -> None:
    """Play with every row of choices there is, one after another."""
    row: list[tuple[int, int]] = [(0, 1)]
    while row:
        taken: list[tuple[int, int]] = []

        def choose(of: int, taken: list[tuple[int, int]] = taken, begin: list[tuple[int, int]] = row) -> int:
            which = begin[len(taken)][0] if len(taken) < len(begin) else 0
            taken.append((which, of))
            return which

        play(choose)
        row = taken
        while row and row[-1][0] + 1 == row[-1][1]:
            row.pop()
        if row:
            row[-1] = (row[-1][0] + 1, row[-1][1])


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_every_order_of_ready_tasks_can_be_had(number: int) -> None:
    """All of them, by the choices at the instant at which they are ready; whoever comes after goes in order."""
    seen: set[tuple[str, ...]] = set()

    def play(choose: program.Choice) -> None:
        left = number

        def first(of: int) -> int:
            nonlocal left
            if of < left or left < 2:
                return 0
            left -= 1
            return choose(of)

        seen.add(order(Program(OURS, ready(number), choice=first).play()))

    every(number, play)
    assert len(seen) == factorial(number)
    assert all(sorted(one) == [f"p.{i}/s" for i in range(number)] for one in seen)


def test_a_seed_finds_every_order_of_five() -> None:
    seen: set[tuple[str, ...]] = set()
    for seed in range(3000):
        seen.add(order(Program(OURS, ready(5), seed=seed).play()))
        if len(seen) == factorial(5):
            return
    pytest.fail(f"only {len(seen)} of 120 orders")


def test_sleepers_that_wake_together_go_in_any_order() -> None:
    """Also those that slept, not only those that were told."""
    scenario = Scenario("sleepers", (Parallel(name="p", branches=((Step(name="s", body=v.SECOND),),) * 3, flat=True),))
    assert len({order(Program(OURS, scenario, seed=seed).play()) for seed in range(60)}) == 6


def test_who_has_slept_may_go_before_who_was_told() -> None:
    """At 1 s, branches 0 and 1 wake; 0 ends, which frees a slot for 2. Then 1 may still go before the coordinator, and before 2."""
    branches = ((Pause(name="a", duration=v.SECOND),), (Pause(name="a", duration=v.SECOND), Step(name="s")), (Step(name="s"),))
    scenario = Scenario("mixed", (Parallel(name="p", branches=branches, at_once=2, flat=True),))
    offered: list[int] = []

    def first(of: int) -> int:
        offered.append(of)
        return 0

    assert order(Program(OURS, scenario, choice=first).play()) == ("p.2/s", "p.1/s")
    assert [2, 2, 2] in [offered[i : i + 3] for i in range(len(offered))]
    assert {order(Program(OURS, scenario, seed=seed).play()) for seed in range(20)} == {("p.2/s", "p.1/s"), ("p.1/s", "p.2/s")}


def test_a_seed_chooses_the_order_and_nothing_else_does() -> None:
    scenario = scenarios.find("F18")
    digests = [{program.simulate(OURS, scenario, seed=seed).digest for _ in range(3)} for seed in range(5)]
    assert all(len(some) == 1 for some in digests)
    assert len(set.union(*digests)) > 2


@pytest.mark.parametrize("profile", v.PROFILES)
def test_any_order_keeps_the_laws_and_the_calls(profile: str) -> None:
    chosen = v.PROFILES[profile]
    for name in ("F05", "F18", "F19", "F13"):
        due = program.simulate(chosen, scenarios.find(name))
        for seed in range(4):
            run = program.simulate(chosen, scenarios.find(name), seed=seed)
            assert ([(call.at, call.updates) for call in run.calls], run.handler, run.exit) == ([(call.at, call.updates) for call in due.calls], due.handler, due.exit)
            judge, model = Judge(chosen, v.Setup()), collector.collector(chosen, v.Setup())
            for step in run.steps:
                assert collector.step(model, step.command) == step.saw
                assert not judge.step(step.command, step.saw or []) or chosen is not OURS


@pytest.mark.parametrize("profile", v.PROFILES)
def test_nobody_hangs_in_any_order(profile: str) -> None:
    """Whatever is drawn: with us everybody comes to an end, all laws are kept, and all credits given back."""
    chosen = v.PROFILES[profile]
    for seed in range(40):
        scenario = drawn(random.Random(seed))
        setup = v.Setup(hint=scenario.service.hint)
        model, judge = collector.collector(chosen, setup), Judge(chosen, setup)
        run = Program(chosen, scenario, step=partial(collector.step, model), seed=seed).play()
        broken = {found.law for step in run.steps for found in judge.step(step.command, step.saw or [])}
        assert broken <= KNOWN_HAZARDS[profile]
        if chosen is OURS:
            state = collector.state(model)
            assert (state["running"], state["outside"], run.result == "blocked") == (0, 0, False), seed


def test_an_error_inside_ends_the_program_with_that_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not hang, whoever it hits: the collector, the service, a producer."""
    for where in ("end_of_instant", "handled", "reaches", "answered"):
        with monkeypatch.context() as patch:
            patch.setattr(Program, where, lambda *_: 1 // 0)
            with pytest.raises(ExceptionGroup) as error:
                program.simulate(OURS, Scenario("one", (Step(name="a"), Wait(name="w", duration=v.SECOND))))
            assert error.value.split(ZeroDivisionError)[1] is None
