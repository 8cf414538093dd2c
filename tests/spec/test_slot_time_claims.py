"""What is claimed of fairness by slot time: T1-T4 over random worlds, the attacks P1-P12 as numbers and as named traces, and numbers of single rules."""
from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import floor
from pathlib import Path
from random import Random
from typing import cast

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from slotwise.fuzz import attacks
from slotwise.fuzz.attacks import ATTACKS, Attack, first_wait_ms, flow, scenario, share
from slotwise.spec import simulation, slot_time, trace
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import Admission, Lease, admission, state, step
from slotwise.spec.fair_queue import Head
from slotwise.spec.scenarios import MS, Arrival, Scenario
from slotwise.spec.simulation import Run, percentile, simulate
from slotwise.spec.slot_time import RATE, rate_of
from slotwise.spec.vocabulary import weight_in_units

SLOTWISE = v.PROFILES["slotwise"]
GOLDEN = Path(__file__).parents[1] / "golden" / "attacks"
#: The worlds are small; shrinking one takes longer than reading it.
SETTINGS = settings(max_examples=70, deadline=None, database=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


# Random worlds, watched at every start -----------------------------------------------------------------------------------------------


@st.composite
def worlds(draw: st.DrawFn, resources: int = 3, wide: bool = True, limits: bool = True) -> Scenario:
    capacity = {f"r{i}": draw(st.integers(1, 6)) for i in range(draw(st.integers(1, resources)))}
    groups = [v.Group(f"g{i}", draw(st.sampled_from([1.0, 1.0, 2.0, 3.5, 8.0])), running_limit=draw(st.sampled_from([None, None, 1, 2])) if limits else None) for i in range(draw(st.integers(1, 5)))]
    arrivals = []
    for i in range(draw(st.integers(1, 30))):
        asked = draw(st.lists(st.sampled_from(sorted(capacity)), min_size=1, unique=True))
        needs = {r: draw(st.integers(1, capacity[r])) if wide else 1 for r in asked}
        arrivals.append(Arrival(draw(st.integers(0, 40)), v.Task(f"t{i}", draw(st.sampled_from(groups)).name, needs), draw(st.one_of(st.integers(1, 12), st.sampled_from([1, 12])))))
    return Scenario("world", capacity, tuple(arrivals), tuple(groups))


def long_world(seed: int, unit: bool) -> Scenario:
    r = Random(seed)
    capacity = {f"r{i}": r.randint(1, 16) for i in range(1 if unit else r.randint(1, 3))}
    groups = [v.Group(f"g{i}", r.choice([1.0, 1.0, 2.0, 4.0, 8.0]), running_limit=None if unit else r.choice([None, None, None, 1, 3])) for i in range(r.randint(2, 6))]
    kind = r.choice(["const", "exp", "pareto", "two"])
    arrivals = []
    for i in range(120):
        needs = {x: r.randint(1, capacity[x]) if not unit and r.random() < 0.3 else 1 for x in r.sample(sorted(capacity), r.randint(1, len(capacity)))}
        service = {"const": 100, "exp": int(r.expovariate(0.01)) + 1, "pareto": min(100_000, int(30 * r.paretovariate(1.1))), "two": 1 if r.random() < 0.95 else 10_000}[kind]
        arrivals.append(Arrival(r.choice([0, 0, r.randint(0, 3000)]), v.Task(f"t{i}", r.choice(groups).name, needs), service))
    return Scenario(f"long {seed}", capacity, tuple(arrivals), tuple(groups))


@dataclass(frozen=True)
class Wait:
    overtaken: int
    started: int


class Watched:
    """Steps the reference, a pump one start at a time, and looks inside after each."""

    def __init__(self, world: Scenario, parameters: v.SlotTime) -> None:
        self.world, self.parameters = world, parameters
        self.admission = admission(msgspec.structs.replace(SLOTWISE, discipline=parameters), world.capacity)
        self.discipline = cast(slot_time.Discipline, self.admission.discipline)
        self.longest = max(arrival.service for arrival in world.arrivals)
        self.levels: dict[str, int] = {}
        self.virtual: dict[str, int] = {}
        self.horizon = 1                                   # the largest so far
        self.met: dict[tuple[str, str], int] = {}          # the gap of two groups when both began to compete
        self.waits: list[Wait] = []

    def run(self) -> Run:
        run = simulation.play(self.world, self.step, profile="slotwise", engine="reference")
        assert run.unserved == {}, "T1: something accepted never started"
        assert self.discipline.overtaken == {}
        for wait in self.waits:
            rank = sum(other.overtaken <= wait.overtaken <= other.started for other in self.waits)
            assert wait.started - wait.overtaken <= (self.parameters.patience + rank) * self.longest, "T2"
        return run

    def step(self, command: v.Command) -> list[v.Observation]:
        if not isinstance(command, v.Pump):
            saw = step(self.admission, command)
            self.look(command.at)
            return saw
        started: list[v.Observation] = []
        while True:
            overtaken = dict(self.discipline.overtaken)
            word, *closing = step(self.admission, v.Pump(at_most=1, at=command.at))
            self.look(command.at)
            if not closing:
                self.when_nothing_more_starts(command.at)
                return [*started, word]
            started.append(word)
            if (since := overtaken.get(str(word[2]))) is not None:
                self.waits.append(Wait(since, command.at))

    def look(self, at: int) -> None:
        d = self.discipline
        levels, virtual = {group: d.level(group, at) for group in d.accounts}, dict(d.virtual)
        assert all(levels[group] >= level for group, level in self.levels.items()), "a level fell"
        assert all(virtual[resource] >= time for resource, time in self.virtual.items()), "a virtual time fell"
        assert all(d.ledger.free(resource) >= 0 for resource in self.world.capacity)
        assert all(limit is None or d.ledger.running(name) <= limit for name, limit in ((g.name, g.running_limit) for g in self.world.groups))
        self.levels, self.virtual, self.horizon = levels, virtual, max(self.horizon, d.horizon)

    def heads(self) -> list[Head]:
        return [head for group, head in self.admission.queue.heads().items() if self.discipline.competes(group)]

    def when_nothing_more_starts(self, at: int) -> None:
        """Work conservation: what fits waits only for a patient head that does not fit and needs the same."""
        heads = [task for task, _ in self.heads()]
        patient = [task for task in heads if slot_time.patience(self.discipline, task, at) and self.discipline.lacks(task)]
        for task in heads:
            assert self.discipline.lacks(task) or any(task.needs.keys() & other.needs.keys() for other in patient)
        assert self.admission.ledger.leases or not heads, "T1: nothing runs, and nothing starts"


class Unit(Watched):
    """T3: one resource, unit tasks, no limits. The gap of the levels of two groups that both compete is bounded."""

    def when_nothing_more_starts(self, at: int) -> None:
        super().when_nothing_more_starts(at)
        d, (capacity,) = self.discipline, self.world.capacity.values()
        competing = {task.group for task, _ in self.heads()}
        whole = {group: rate_of(capacity, capacity, d.accounts[group].weight) for group in d.accounts}
        for g in d.accounts:
            for m in d.accounts:
                if g == m or not {g, m} <= competing:
                    self.met.pop((g, m), None)
                    continue
                gap = d.level(g, at) - d.level(m, at)
                first = self.met.setdefault((g, m), d.level(g, at + self.longest) - d.level(m, at))
                assert gap <= max(first, self.longest * whole[g], self.parameters.ahead * self.horizon * whole[m]), "T3"


@SETTINGS
@given(worlds(), st.sampled_from([0, 1, 2, 4]), st.sampled_from([0, 1, 2]))
def test_everything_is_served_waits_are_bounded_and_nothing_idles(world: Scenario, patience: int, ahead: int) -> None:
    Watched(world, v.SlotTime(patience=patience, ahead=ahead)).run()


@SETTINGS
@given(worlds(resources=1, wide=False, limits=False), st.sampled_from([0, 1, 2, 5]))
def test_levels_of_competing_groups_stay_together(world: Scenario, ahead: int) -> None:
    Unit(world, v.SlotTime(ahead=ahead)).run()


@pytest.mark.parametrize("seed", range(10))
def test_so_it_is_in_long_runs(seed: int) -> None:
    Watched(long_world(seed, unit=False), v.SlotTime(patience=seed % 3)).run()
    Unit(long_world(seed, unit=True), v.SlotTime(ahead=1 + seed % 2)).run()


@SETTINGS
@given(worlds(), st.randoms(use_true_random=False))
def test_names_and_the_order_of_declaration_change_nothing(world: Scenario, r: Random) -> None:
    """T4."""
    names = [group.name for group in world.groups]
    other = dict(zip(names, r.sample([f"n{i}" for i in range(len(names))], len(names)), strict=True))
    ids = {a.task.id: id for a, id in zip(world.arrivals, r.sample(range(1000), len(world.arrivals)), strict=True)}

    def shuffled(units: dict[str, int]) -> dict[str, int]:
        return {resource: units[resource] for resource in r.sample(sorted(units), len(units))}

    arrivals = tuple(Arrival(a.at, v.Task(f"{ids[a.task.id]}", other[a.task.group], shuffled(a.task.needs)), a.service) for a in world.arrivals)
    groups = [msgspec.structs.replace(group, name=other[group.name]) for group in world.groups]
    renamed = simulate(SLOTWISE, Scenario("other", shuffled(world.capacity), arrivals, tuple(r.sample(groups, len(groups)))))
    assert renamed.starts == [(at, lease, f"{ids[task]}") for at, lease, task in simulate(SLOTWISE, world).starts]


# The attacks -------------------------------------------------------------------------------------------------------------------------


@cache
def came(id: str) -> tuple[Run, trace.Trace]:
    return attacks.run(ATTACKS[id])


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_the_attack_gains_nothing(attack: Attack) -> None:
    run, _ = came(attack.id)
    assert attack.holds(run), attack.measure(run)


@pytest.mark.parametrize("id", ATTACKS)
def test_its_named_trace_is_what_the_reference_does(id: str) -> None:
    assert (GOLDEN / f"{id}{trace.SUFFIX}").read_bytes() == trace.encode(came(id)[1])


@pytest.mark.parametrize("ms", [600, 2400])
def test_a_newcomer_on_one_endpoint_waits_no_longer_for_uptime(ms: int) -> None:
    """P3."""
    assert first_wait_ms("N")(simulate(SLOTWISE, attacks.newcomer(ms))) <= 100


@pytest.mark.parametrize("ms", [1000, 3000])
def test_a_wide_task_waits_no_longer_for_uptime(ms: int) -> None:
    """P8, P12."""
    assert first_wait_ms("Y")(simulate(SLOTWISE, attacks.in_order(ms))) <= 500
    assert first_wait_ms("N")(simulate(SLOTWISE, attacks.at_its_limit(ms))) <= 400


# Numbers of single rules -------------------------------------------------------------------------------------------------------------


def test_what_can_never_start_is_refused() -> None:
    a = admission(SLOTWISE, {"r": 8})
    tasks = (v.Task("wide", "g", {"r": 9}), v.Task("other", "g", {"s": 1}), v.Task("limit", "none", {"r": 1}), v.Task("weight", "air", {"r": 1}))
    reasons = ("never_fits", "never_fits", "limit_below_one", "no_weight")
    saw = step(a, v.Enqueue(tasks=tasks, groups=(v.Group("none", running_limit=0), v.Group("air", 0.0))))
    assert saw == [("refused", task.id, reason) for task, reason in zip(tasks, reasons, strict=True)]
    with pytest.raises(ValueError, match="at least 1"):
        admission(SLOTWISE, {"r": 0})


def test_a_discarded_head_leaves_no_claim() -> None:
    a = admission(SLOTWISE, {"r": 2})
    tasks = (("a", "a0", 1), ("a", "a1", 1), ("wide", "w0", 2), ("wide", "w1", 2), ("b", "b0", 1), ("b", "b1", 1))
    step(a, v.Enqueue(tasks=tuple(v.Task(id, group, {"r": units}) for group, id, units in tasks)))
    assert [word[2] for word in step(a, v.Pump(at_most=9))[:-1]] == ["a0", "b0"]
    assert state(a)["overtaken"] == {"w0": 0}
    step(a, v.Discard(task="w0", at=1))
    assert state(a)["overtaken"] == {}


def two_wide() -> tuple[Admission, slot_time.Discipline]:
    """One unit of two runs from 0, and another group's head asks for both; a third group's too."""
    a = admission(SLOTWISE, {"r": 2, "s": 1})
    step(a, v.Enqueue(tasks=(v.Task("n", "narrow", {"r": 1}),)))
    step(a, v.Pump(at_most=1))
    step(a, v.Enqueue(tasks=(v.Task("w", "wide", {"r": 2}), v.Task("x", "xwide", {"r": 2}))))
    return a, cast(slot_time.Discipline, a.discipline)


@pytest.mark.parametrize(("overtaken", "first"), [({"w": 30, "x": 20}, "x"), ({"w": 20, "x": 30}, "w")])
def test_the_longest_overtaken_head_goes_first(overtaken: dict[str, int], first: str) -> None:
    a, discipline = two_wide()
    discipline.overtaken.update(overtaken)
    step(a, v.Release(lease=1, at=100))
    assert step(a, v.Pump(at_most=1, at=100))[0][2] == first


def test_only_tasks_in_its_way_make_a_head_wait_longer() -> None:
    """The task of 0 holds a unit that it lacks, the one of 60 does not."""
    a, discipline = two_wide()
    step(a, v.Enqueue(tasks=(v.Task("o", "other", {"s": 1}), v.Task("n2", "narrow", {"r": 1})), at=0))
    step(a, v.Pump(at_most=1, at=0))                                       # o
    step(a, v.Release(lease=1, at=90))
    discipline.overtaken["w"] = 80
    assert [word[2] for word in step(a, v.Pump(at_most=9, at=100))[:-1]] == ["w"]
    assert discipline.overtaken == {}


def test_a_head_is_overtaken_only_in_what_it_is_short_of() -> None:
    """It lacks the gpu. Cpus are taken before its eyes, of which one is left for it; only then the last."""
    a = admission(SLOTWISE, {"cpu": 2, "gpu": 1})
    step(a, v.Enqueue(tasks=(v.Task("g", "gpu", {"gpu": 1}), v.Task("both", "both", {"cpu": 1, "gpu": 1}))))
    step(a, v.Pump(at_most=1))
    for at, overtaken in ((5, {}), (6, {"both": 6})):
        step(a, v.Enqueue(tasks=(v.Task(f"c{at}", f"c{at}", {"cpu": 1}),), at=at))
        assert step(a, v.Pump(at_most=1, at=at))[0][2] == f"c{at}"
        assert state(a)["overtaken"] == overtaken


def test_a_long_task_elsewhere_does_not_make_a_wide_one_wait() -> None:
    narrow = [Arrival(0, v.Task(f"n{i}", "narrow", {"cpu": 1}), (8 + i % 5) * MS) for i in range(400)]
    run = simulate(SLOTWISE, scenario("elsewhere", {"cpu": 4, "gpu": 1}, [], flow("long", 1, 2000 * MS, gpu=1), narrow, flow("wide", 1, 10 * MS, at=100 * MS, cpu=4)))
    assert first_wait_ms("wide")(run) < 60


def test_units_are_not_kept_for_a_head_whose_group_is_at_its_limit() -> None:
    a = admission(SLOTWISE, {"r": 3})
    step(a, v.Enqueue(tasks=(v.Task("g0", "g", {"r": 1}), v.Task("g1", "g", {"r": 3}))))
    step(a, v.Pump(at_most=9))
    cast(slot_time.Discipline, a.discipline).overtaken["g1"] = 0
    a.ledger.leases[1] = Lease(a.ledger.leases[1].task, 90)               # has run for 10 only: the head is patient
    step(a, v.Enqueue(tasks=(v.Task("h", "h", {"r": 1}),), at=100))
    assert ("refused", "h", "kept_units") in step(a, v.Explain(at=100))
    step(a, v.Enqueue(tasks=(v.Task("g2", "g", {"r": 1}),), groups=(v.Group("g", running_limit=1),), at=100))
    assert ("startable", "h") in step(a, v.Explain(at=100))


@pytest.mark.parametrize(("units", "expected"), [(1, 798), (2, 797), (8, 791)])
def test_the_horizon_moves_by_slot_time(units: int, expected: int) -> None:
    """h + (s - h) x / (x + 8 h), where x = s times share, of eight units."""
    a = admission(SLOTWISE, {"r": 8})
    now = 0
    for lease, (task, service) in enumerate([(v.Task("a", "g", {"r": 8}), 800), (v.Task("b", "g", {"r": units}), 80)], 1):
        step(a, v.Enqueue(tasks=(task,), at=now))
        step(a, v.Pump(at_most=1, at=now))
        now += service
        step(a, v.Release(lease=lease, at=now))
    slot_time_of_it = Fraction(80 * units, 8)
    assert state(a)["horizon"] == expected == floor(800 - 720 * slot_time_of_it / (slot_time_of_it + 6400))


def test_a_weight_counts_from_when_it_comes() -> None:
    a = admission(SLOTWISE, {"r": 4})
    step(a, v.Enqueue(tasks=(v.Task("a", "g", {"r": 2}),)))
    step(a, v.Pump(at_most=1))
    step(a, v.Enqueue(tasks=(v.Task("b", "g", {"r": 1}),), groups=(v.Group("g", 4.0),), at=8))
    discipline = cast(slot_time.Discipline, a.discipline)
    assert (discipline.level("g", 8), discipline.level("g", 16)) == (4 * RATE, 5 * RATE)


def test_what_counts_is_the_dominant_share() -> None:
    a = admission(SLOTWISE, {"cpu": 8, "gpu": 2})
    step(a, v.Enqueue(tasks=(v.Task("a", "g", {"cpu": 1, "gpu": 1}), v.Task("b", "h", {"cpu": 6, "gpu": 1}))))
    step(a, v.Pump(at_most=2))
    discipline = cast(slot_time.Discipline, a.discipline)
    assert (discipline.level("g", 12), discipline.level("h", 12)) == (6 * RATE, 9 * RATE)


def idle_while(run: Run, group: str, resource: str) -> float:
    """The part of a resource that is not in use until the last task of a group starts."""
    until = max(start for arrival, start, _ in run.spans() if arrival.task.group == group)
    used = sum((min(end, until) - min(start, until)) * arrival.task.needs.get(resource, 0) for arrival, start, end in run.spans())
    return 1 - used / until / run.scenario.capacity[resource]


def test_wide_among_narrow() -> None:
    r = Random(1)
    narrow = [Arrival(0, v.Task(f"n{i}", "narrow", {"r": 1}), int(MS * r.uniform(5, 15))) for i in range(1200)]
    run = simulate(SLOTWISE, scenario("wide", {"r": 8}, [], narrow, flow("wide", 10, 10 * MS, at=20 * MS, r=5)))
    assert idle_while(run, "narrow", "r") < 0.006
    assert percentile(run.waits()["wide"], 95) < 200 * MS


def test_long_tasks_are_not_drained_for_every_short_wide_one() -> None:
    """Mostly 2 ms, every hundredth 400 ms; whole-machine tasks of 5 ms in between. The machine stays busy, and the wide tasks are not starved."""
    r = Random(3)
    narrow = [Arrival(0, v.Task(f"n{i}", "narrow", {"r": 1}), 400 * MS if r.random() < 0.01 else 2 * MS) for i in range(2500)]
    wide = [Arrival(20 * i * MS, v.Task(f"w{i}", "wide", {"r": 8}), 5 * MS) for i in range(12)]
    run = simulate(SLOTWISE, scenario("drained", {"r": 8}, [], narrow, wide))
    assert idle_while(run, "narrow", "r") < 0.2
    assert max(run.waits()["wide"]) < max(start for arrival, start, _ in run.spans() if arrival.task.group == "narrow")


@cache
def two_bottlenecks() -> tuple[Run, int]:
    """X and A share r1 until A has done its work; X and B share r2."""
    kinds = [("X", 600, {"r1": 1, "r2": 1}), ("A", 256, {"r1": 1}), ("B", 600, {"r2": 1})]
    arrivals = tuple(Arrival(0, v.Task(f"{group}{i}", group, needs), (90 + i % 20) * MS) for group, number, needs in kinds for i in range(number))
    run = simulate(SLOTWISE, Scenario("two bottlenecks", {"r1": 8, "r2": 8}, arrivals, (v.Group("A", 4.0),)))
    return run, max(end for arrival, _, end in run.spans() if arrival.task.group == "A")


def test_weights_hold_on_a_bottleneck_whatever_happens_on_another() -> None:
    assert share("X", 500 * MS, 3500 * MS)(two_bottlenecks()[0]) == pytest.approx(0.2, abs=0.015)


def test_arrears_from_another_bottleneck_are_soon_forgotten() -> None:
    run, end = two_bottlenecks()
    assert share("B", end + 1000 * MS, end + 3000 * MS)(run) > 0.45


def test_a_resource_nobody_used_is_no_way_to_a_low_level() -> None:
    kinds = [("A", 500, 0, {"sub": 1, "e1": 1}), ("N", 250, 2000 * MS, {"sub": 1, "e2": 1})]
    arrivals = tuple(Arrival(at, v.Task(f"{group}{i}", group, needs), (90 + i % 20) * MS) for group, number, at, needs in kinds for i in range(number))
    run = simulate(SLOTWISE, Scenario("unused", {"sub": 8, "e1": 8, "e2": 8}, arrivals))
    assert share("N", 2200 * MS, 4000 * MS)(run) < 0.53


def test_tiny_tasks_do_not_spoil_the_look_ahead() -> None:
    trickle = [Arrival(i * 8 * MS, v.Task(f"t{i}", "t", {"r": 1}), MS) for i in range(1000)]
    run = simulate(SLOTWISE, scenario("trickle", {"r": 8}, [], flow("A", 40, 1000 * MS), flow("B", 40, 1000 * MS), trickle))
    for t in range(1000, 8000, 500):
        assert abs(share("A", 0, t * MS)(run) - share("B", 0, t * MS)(run)) * t < 130


@pytest.mark.parametrize(("others", "slots"), [(1, 4), (3, 2), (7, 1)])
def test_a_closed_loop_group_gets_its_whole_share(others: int, slots: int) -> None:
    """Its next task comes when one ends: it is always back with an empty queue, and returning must cost it nothing."""
    r = Random(slots)
    a = admission(SLOTWISE, {"r": 8})
    tasks = [v.Task(f"o{i}", f"o{i % others}", {"r": 1}) for i in range(1100)] + [v.Task(f"k{i}", "k", {"r": 1}) for i in range(slots)]
    step(a, v.Enqueue(tasks=tuple(tasks)))
    running: list[tuple[int, int, str]] = []
    now = busy = 0
    while now < 1000 * MS:
        for word in step(a, v.Pump(at_most=8, at=now))[:-1]:
            service = int(r.expovariate(1 / (10 * MS))) + 1
            busy += service * str(word[2]).startswith("k")
            heapq.heappush(running, (now + service, int(str(word[1])), str(word[2])))
        now, lease, task = heapq.heappop(running)
        step(a, v.Release(lease=lease, at=now))
        if task.startswith("k"):
            step(a, v.Enqueue(tasks=(v.Task(task, "k", {"r": 1}),), at=now))
    assert busy / now / 8 > 0.96 * slots / 8


def test_the_numbers_of_levels_are_whole() -> None:
    """No rounding where capacity and weight are numbers up to 16."""
    for capacity in range(1, 17):
        for weight in range(1, 17):
            units = weight_in_units(v.Group("g", float(weight)))
            assert rate_of(1, capacity, units) * capacity * weight == RATE
