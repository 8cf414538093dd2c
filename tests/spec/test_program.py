"""The trio program: its events are those of the reference simulation, line by line; and what only it can show: cancellation, failure, freedom of order."""
from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf
from random import Random
from typing import cast

import pytest
import trio

from slotwise.spec import player, program, scenarios, simulation
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import admission, state, step
from slotwise.spec.program import Program
from slotwise.spec.scenarios import Arrival, Scenario
from slotwise.spec.simulation import SimulationError

SLOTWISE = v.PROFILES["slotwise"]


def small(seed: int) -> Scenario:
    """A few tasks, many of which come and end at the same instants; some end as soon as they start."""
    r = Random(seed)
    groups = tuple(v.Group(f"g{i}", r.choice([1.0, 2.0]), r.choice([None, 1, 2]), r.choice([None, 1, 2])) for i in range(3))
    capacity = {"a": r.randint(1, 3), "b": r.randint(1, 3)}
    arrivals = []
    for i in range(24):
        needs = {name: r.randint(1, capacity[name] + (r.random() < 0.1)) for name in r.sample("ab", r.randint(1, 2))}
        arrivals.append(Arrival(r.randint(0, 4), v.Task(f"t{i}", f"g{r.randrange(3)}", needs), r.randint(0, 3)))
    return Scenario(f"small-{seed}", capacity, tuple(arrivals), groups)


def same(profile: v.Profile, scenario: Scenario, work: program.Work = program.serve) -> None:
    """Events and commands are those of the simulation."""
    commands: list[v.Command] = []
    reference = admission(profile, scenario.capacity)

    def noted(command: v.Command) -> list[v.Observation]:
        commands.append(command)
        return step(reference, command)

    simulated, done = simulation.play(scenario, noted, profile=profile.name, engine="reference"), Program(profile, scenario, work=work)
    run = done.run()
    assert run.lines() == simulated.lines()
    assert (run.ends, run.unserved, run.digest) == (simulated.ends, simulated.unserved, simulated.digest)
    assert done.trace().commands == commands


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
@pytest.mark.parametrize("profile", v.PROFILES)
def test_its_events_are_those_of_the_simulation(name: str, profile: str) -> None:
    same(v.PROFILES[profile], scenarios.find(name))


@pytest.mark.parametrize("profile", v.PROFILES)
def test_so_are_those_of_small_scenarios_full_of_ties(profile: str) -> None:
    for seed in range(15):
        same(v.PROFILES[profile], small(seed))


def test_everybody_who_wakes_at_an_instant_gets_its_turn_in_it() -> None:
    """Even if it takes its time, in steps of trio's though not of the clock's, to come to the end."""

    async def dawdle(arrival: Arrival, started: int) -> None:
        await program.serve(arrival, started)
        for _ in range(int(arrival.task.id[1:]) % 5):
            await trio.lowlevel.checkpoint()

    for seed in range(5):
        same(SLOTWISE, small(seed), dawdle)


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_what_it_did_can_be_replayed(seed: int | None) -> None:
    done = Program(SLOTWISE, small(7), seed=seed)
    done.run()
    recorded = done.trace()
    assert recorded.header.seed == seed
    reference = admission(SLOTWISE, done.scenario.capacity)
    assert [step(reference, command) for command in recorded.commands] == [s.saw for s in recorded.steps]


def test_a_seed_chooses_the_order_of_an_instant_and_nothing_else_does() -> None:
    scenario = small(3)
    by_seed = {seed: {program.simulate(SLOTWISE, scenario, seed=seed).digest for _ in range(3)} for seed in range(8)}
    assert all(len(digests) == 1 for digests in by_seed.values())
    assert len(set.union(*by_seed.values())) > 4
    for seed in by_seed:
        assert {task for _, _, task in program.simulate(SLOTWISE, scenario, seed=seed).starts} == {task for _, _, task in simulation.simulate(SLOTWISE, scenario).starts}


def test_a_permutation_may_let_somebody_come_before_others_leave() -> None:
    def early(seed: int | None) -> bool:
        done = Program(SLOTWISE, small(3), seed=seed)
        done.run()
        commands = done.trace().commands
        return any(isinstance(a, v.Enqueue) and isinstance(b, v.Release) and a.at == b.at for a, b in pairwise(commands))

    assert not early(None)
    assert any(early(seed) for seed in range(4))


def three(**services: int) -> Scenario:
    """One slot; a comes at 0, b at 1, c at 2."""
    arrivals = [Arrival(i, v.Task(name, "g", {"r": 1}), service) for i, (name, service) in enumerate(services.items())]
    return Scenario("three", {"r": 1}, tuple(arrivals))


def gives_up(**at: int) -> Callable[[Arrival], float]:
    return lambda arrival: at.get(arrival.task.id, inf)


def test_a_worker_that_is_cancelled_releases_its_lease_at_that_instant() -> None:
    done = Program(SLOTWISE, three(a=100, b=10, c=10), gives_up=gives_up(a=40))
    run = done.run()
    assert run.lines() == ["0 1 a", "40 2 b", "50 3 c"]
    assert run.ends == [(40, 1), (50, 2), (60, 3)]
    assert done.outcome == {"a": "cancelled", "b": "done", "c": "done"}
    assert state(done.desk.admission).get("leases") == {}


def test_a_caller_that_gives_up_waiting_leaves_the_queue() -> None:
    done = Program(SLOTWISE, three(a=100, b=10, c=10), gives_up=gives_up(b=40))
    assert done.run().lines() == ["0 1 a", "100 2 c"]
    assert done.outcome == {"a": "done", "b": "cancelled", "c": "done"}
    assert [s.saw for s in done.desk.steps if isinstance(s.command, v.Discard)] == [[("discarded", "b")]]


def test_who_gives_up_at_the_instant_at_which_it_would_start_does_not_start() -> None:
    assert Program(SLOTWISE, three(a=100, b=10, c=10), gives_up=gives_up(b=100)).run().lines() == ["0 1 a", "100 2 c"]


@pytest.mark.parametrize("seed", range(6))
def test_who_gives_up_as_it_comes_is_gone_in_any_order(seed: int) -> None:
    done = Program(SLOTWISE, three(a=2, b=10, c=10), seed=seed, gives_up=gives_up(b=1, a=2))
    done.run()
    assert done.outcome == {"a": "cancelled", "b": "cancelled", "c": "done"}
    assert done.desk.waiting == {}
    assert state(done.desk.admission).get("leases") == {}


def test_a_worker_that_fails_releases_its_lease_and_takes_nobody_with_it() -> None:
    async def work(arrival: Arrival, started: int) -> None:
        await trio.sleep_until(started + 3)
        if arrival.task.id == "a":
            raise ValueError("boom")
        await program.serve(arrival, started)

    done = Program(SLOTWISE, three(a=100, b=10, c=10), work=work)
    assert done.run().lines() == ["0 1 a", "3 2 b", "13 3 c"]
    assert done.outcome == {"a": "failed: ValueError('boom')", "b": "done", "c": "done"}


def test_cancelling_and_failing_everywhere_leaves_nothing_behind() -> None:
    for seed in range(40):
        r = Random(seed)
        when = {f"t{i}": float(r.randint(0, 12)) for i in range(24) if r.random() < 0.5}
        bad = {f"t{i}" for i in range(24) if r.random() < 0.2}

        async def work(arrival: Arrival, started: int, bad: set[str] = bad) -> None:
            await program.serve(arrival, started)
            if arrival.task.id in bad:
                raise RuntimeError

        done = Program(v.PROFILES[r.choice(list(v.PROFILES))], small(seed), seed=r.choice([None, seed]), work=work, gives_up=lambda arrival, when=when: when.get(arrival.task.id, inf))  # type: ignore[misc]
        run = done.run()
        end = state(done.desk.admission)
        assert end["leases"] == {}
        assert set(done.outcome) == {arrival.task.id for arrival in done.scenario.arrivals}
        assert set(end["waiting"]) <= {arrival.task.group for arrival in done.scenario.arrivals if run.unserved.get(arrival.task.id) == ""}  # type: ignore[call-overload]


def test_an_error_inside_ends_the_program_with_that_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not hang, whoever it hits: the conductor, or somebody in a turn."""
    for where in ("end_of_instant", "release"):
        with monkeypatch.context() as patch:
            patch.setattr(Program, where, lambda *_: 1 // 0)
            with pytest.raises(ExceptionGroup) as error:
                program.simulate(SLOTWISE, small(3))
            assert error.value.split(ZeroDivisionError)[1] is None


def test_a_scenario_too_long_for_the_clock_is_refused() -> None:
    with pytest.raises(SimulationError, match=r"2\^53"):
        Program(SLOTWISE, three(a=1 << 53))


def commands(seed: int) -> tuple[dict[str, int], list[v.Command]]:
    """Anything goes: ids used again, old selections, leases of others, time going back."""
    r = Random(seed)
    capacity = {"a": r.randint(1, 3), "b": r.randint(1, 3)}
    groups = [v.Group(f"g{i}", r.choice([0.0, 1.0, 2.0]), r.choice([None, 0, 2]), r.choice([None, 0, 2])) for i in range(3)]
    found: list[v.Command] = []
    now = 0
    for _ in range(40):
        now = max(0, now + r.choice([0, 0, 1, 5, -3]))
        task = v.Task(f"t{r.randrange(8)}", f"g{r.randrange(3)}", {name: r.randint(1, 3) for name in r.sample("ab", r.randint(1, 2))})
        found.append(r.choice(list[v.Command]([
            v.Enqueue(tasks=(task, v.Task(f"t{r.randrange(8)}", "g0", {"a": 1})), groups=(r.choice(groups),), at=now), v.Pump(at_most=r.randint(0, 3), at=now),
            v.Release(lease=r.randint(0, 9), claim=r.choice([None, v.Claim(f"t{r.randrange(8)}"), v.Claim(generation=r.randrange(2))]), at=now), v.Pump(at_most=9, at=now),
            v.Discard(task=task.id, at=now), v.DiscardWhere(group=r.choice([None, "g1"]), prefix=r.choice(["", "t1"]), at=now), v.Select(at=now),
            v.Commit(task=task.id, version=r.randint(0, 9), at=now), v.Explain(at=now), v.Release(lease=r.randint(1, 9), at=now),
        ])))  # fmt: skip
    return capacity, found


@pytest.mark.parametrize("profile", v.PROFILES)
def test_a_trace_played_through_the_program_is_seen_as_by_the_rules(profile: str) -> None:
    for seed in range(25):
        capacity, trace = commands(seed)
        reference, played = admission(v.PROFILES[profile], capacity), player.Player(v.PROFILES[profile], capacity)
        assert played.play(trace) == [step(reference, command) for command in trace]
        end = state(reference)
        assert sorted(map(str, played.holders)) == sorted(cast(dict[str, object], end["leases"]))
        assert len(played.desk.waiting) == sum(cast(dict[str, int], end["waiting"]).values())


def test_the_program_can_be_stepped() -> None:
    capacity, trace = commands(1)
    reference, replayed = admission(SLOTWISE, capacity), player.Replayed(SLOTWISE, capacity)
    for command in trace:
        assert replayed.step(command) == step(reference, command)
        assert replayed.state() == state(reference)
