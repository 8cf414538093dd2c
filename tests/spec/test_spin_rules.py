"""Properties of single rules of spinning, of their arithmetic, and what a pool does in small closed loops."""
from __future__ import annotations

import ast
import inspect
import random
import re
from importlib import import_module
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.spec import rules, spin, spin_policy, spin_pool, spin_window
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import Observation

from .spin_model import PARK, SLOTWISE, US, drawn, played
from .spin_walk import small

replace = msgspec.structs.replace
SPIN = MECHANISMS["spin"]
PARKS = st.one_of(st.integers(8, 200), st.integers(8, v.SECOND))
GAPS = st.lists(st.one_of(st.integers(0, 10**6), st.integers(0, 1 << 50)), max_size=60)


def tell(pool: Any, *commands: v.Command) -> list[Observation]:
    """What they were answered."""
    return [seen for command in commands for seen in spin.step(pool, command)]


def go(actor: str, times: int = 1, at: int = 0) -> v.Go:
    return v.Go(actor=actor, times=times, at=at)


# one rule for each switch -----------------------------------------------------------------------------------------------
def test_each_switch_is_read_in_one_rule() -> None:
    sources = {name: ast.parse(inspect.getsource(import_module(f"slotwise.spec.{name}"))) for name in SPIN.rules[1:]}
    reads: dict[str, list[str]] = {}
    for tree in sources.values():
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.Attribute):
                        reads.setdefault(node.attr, []).append(function.name)
    switches = [field.name for field in msgspec.structs.fields(v.Profile) if field.type == "bool" or field.type is bool]
    assert len(switches) == 5
    for switch in switches:
        [reader] = reads[switch]
        [rule] = [rule for rule in SPIN.rule_book.values() if rule.function.endswith(f".{reader}")]
        assert rule.switch == switch


def test_rules_are_numbered_and_have_sentences() -> None:
    assert {*SPIN.rule_book} == {f"SPN-{n}" for n in range(1, len(SPIN.rule_book) + 1)}
    for rule in SPIN.rule_book.values():
        assert re.fullmatch(r"(spin|issue 4|design).*", rule.source), rule.id
        assert rule.prose.endswith((".", ".)", "?")), rule.id
        assert set(rule.disciplines) <= {d.__struct_config__.tag for d in get_args(SPIN.profile.__annotations__["discipline"]) or ()} | set(rules.SPIN)


# windows ------------------------------------------------------------------------------------------------------------------
WAITS = st.builds(
    v.Wait, window=st.integers(0, 60_000), pause=st.integers(1, 200), clock=st.integers(1, 100), yields=st.integers(1, 30_000), first_yield=st.none() | st.integers(1, 30_000),
    publish=st.none() | st.integers(0, 70_000), shutdown=st.none() | st.integers(0, 70_000),
)  # fmt: skip


@st.composite
def profiles(draw: st.DrawFn) -> v.Profile:
    return small(v.PROFILES[draw(st.sampled_from([*v.PROFILES]))], random.Random(draw(st.integers(0, 10**6))))


@given(profiles(), WAITS)
@settings(max_examples=150, deadline=None)
def test_a_window_ends_and_says_how_long_it_was(profile: v.Profile, command: v.Wait) -> None:
    [(_, outcome, n, yields, reads, elapsed)] = tell(spin.pool(profile, v.Setup()), command)
    assert (outcome == "expired") <= (int(str(elapsed)) >= command.window)
    least = int(str(n)) - int(str(yields)) - (outcome == "expired")
    assert int(str(elapsed)) >= least * command.pause + int(str(reads)) * command.clock


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**5))
def test_the_tight_bound_of_yields(length: int, first: int, interval: int) -> None:
    """Yields at the earliest that they are due."""
    at, count = first, 0
    while not spin_window.is_over(at, length) and count <= 2000:
        at, count = spin_window.next_yield(at, interval), count + 1
    assert count == min(2001, spin_window.most_yields(length, first, interval))


@given(profiles(), st.lists(st.integers(0, 500), max_size=80), st.integers(0, 3000))
@settings(max_examples=150, deadline=None)
def test_no_clock_makes_it_yield_more(profile: v.Profile, steps: list[int], length: int) -> None:
    """Whatever a clock that does not go back reads."""
    readings = tuple(sum(steps[: i + 1]) for i in range(len(steps)))
    profile = replace(profile, yields_unbounded=False, deadline_strided=False)
    [(_, outcome, n, yields, reads, _)] = tell(spin.pool(profile, v.Setup()), v.Script(window=length, readings=readings))
    to_first = (profile.budget - 1) // profile.stride
    first = readings[to_first] if to_first < len(readings) else length
    assert outcome == "expired"
    assert int(str(yields)) <= spin_window.most_yields(length, first, profile.yield_interval)
    assert (yields != 0) == (int(str(n)) > profile.budget)
    assert reads == (int(str(n)) // profile.stride if int(str(n)) < profile.budget else to_first + int(str(n)) - profile.budget + 1)


def test_passes_wrap() -> None:
    assert [spin_window.next_pass(n) for n in (0, (1 << 32) - 1)] == [1, 0]


# policies -----------------------------------------------------------------------------------------------------------------
@given(PARKS, GAPS)
@settings(max_examples=200, deadline=None)
def test_guard_and_cost_are_bounded(park: int, gaps: list[int]) -> None:
    bill = played(SLOTWISE, gaps, park=park)
    assert bill.guard <= 11 * park
    assert 4 * bill.paid <= 9 * bill.least + 44 * park


@pytest.mark.parametrize("park", [8, 9, 100, 8100, PARK, 2 * PARK + 1, 10**9])
@pytest.mark.parametrize("beyond", [1, 1000])
def test_no_adversary_costs_more(park: int, beyond: int) -> None:
    """That publishes just after each window; or after the cheapest of all that are left to it."""
    late = played(SLOTWISE, lambda window: window + beyond, 4000, park=park)
    pick = random.Random(park)
    mean = played(SLOTWISE, lambda window: window + 1 if pick.random() < 0.9 else pick.choice([0, park // 8, park, 3 * park]), 4000, park=park)
    greedy = played(SLOTWISE, lambda window: max([0, 1, window, window + 1], key=lambda gap: 4 * (gap if gap <= window else window + park) - 9 * min(gap, park)), 4000, park=park)
    for bill in (late, mean, greedy):
        assert bill.guard <= 11 * park
        assert 4 * bill.paid <= 9 * bill.least + 44 * park


@given(st.integers(8, 10**9), st.integers(0, 1 << 50), st.sampled_from(range(6)), st.integers(-16, 8))
def test_one_step_of_the_proof(park: int, gap: int, chosen: int, guard: int) -> None:
    """Following adds at most three parks to a guard of at most eight; breaking even adds nothing."""
    even = spin_policy.cost(gap, park, park)
    paid = spin_policy.cost(gap, spin_policy.candidates(park)[chosen], park)
    assert even <= 2 * min(gap, park)
    assert spin_policy.next_guard(guard * park, paid, even, park) <= (guard + 3) * park
    assert spin_policy.next_guard(9 * park, even, even, park) <= 9 * park


@given(st.integers(1, v.SECOND), st.integers(1, v.SECOND), st.lists(st.booleans(), max_size=50))
def test_the_ratchet_stays_within_its_bounds(floor: int, cap: int, events: list[bool]) -> None:
    floor, cap = min(floor, cap), max(floor, cap)
    window = floor
    for grows in events:
        window = spin_policy.doubled(window, cap) if grows else spin_policy.halved(window, floor)
        assert floor <= window <= cap


def test_the_published_ratchet_has_ten_windows() -> None:
    windows, left = {20_000}, [20_000]
    while left:
        for window in (spin_policy.doubled(left[0], 500_000), spin_policy.halved(left[0], 20_000)):
            if window not in windows:
                windows.add(window)
                left.append(window)
        left.pop(0)
    assert windows == {20_000, 31_250, 40_000, 62_500, 80_000, 125_000, 160_000, 250_000, 320_000, 500_000}


def test_latency_makes_a_park_dearer() -> None:
    assert spin_policy.price_of_a_park(PARK, 40_000, 0, 1024) == PARK + 40_000
    assert spin_policy.price_of_a_park(PARK, 40_000, 40_001, 1024) == PARK


def test_never_dominated_by_a_fixed_window_on_a_stretched_trace() -> None:
    """Empty publications in between change nothing: a stretch is one."""
    gaps = drawn(500, 3)["exp 50"]
    whole, split = spin.pool(SLOTWISE, v.Setup()), spin.pool(SLOTWISE, v.Setup())
    for gap in gaps:
        third = gap // 3
        told = tell(whole, v.Gap(gap=gap))
        parts = tell(split, v.Gap(gap=third, ran=False), v.Gap(gap=third, ran=False), v.Gap(gap=gap - 2 * third))
        assert parts[-1] == told[0]
    assert spin.state(whole)["lone"] == spin.state(split)["lone"]


# small closed loops -------------------------------------------------------------------------------------------------------
def test_a_fan_out_from_beginning_to_end() -> None:
    pool = spin.pool(SLOTWISE, v.Setup(2))
    assert tell(pool, v.Dispatch(actor="d", total=2), go("d", 6)) == [
        ("held", "d", 0), ("wrote", "d", 0, "remaining"), ("wrote", "d", 0, "stamp"), ("wrote", "d", 0, "claim"), ("wrote", "d", 0, "active"), ("published", "d", 0, 1), ("wakes", "d", 0, ""),
    ]  # fmt: skip
    assert tell(pool, go("w0", 3), go("d", 2)) == [("looks", "w0", 1), ("sees", "w0", 0), ("took", "w0", 0, 1), ("sees", "d", 0), ("took", "d", 0, 0)]
    assert tell(pool, v.End(actor="d"), go("d", 9000)) == [("ended", "d", 0), ("settled", "d", 0, 1), ("passed", "d", 0), ("straggles", "d", 0), ("spun", "d", 8998, 2, 0)]
    assert tell(pool, v.End(actor="w0", panics=True), go("w0"), go("d", 4)) == [
        ("ended", "w0", 0), ("settled", "w0", 0, 0), ("wrote", "d", 0, "inactive"), ("wrote", "d", 0, "unclaim"), ("raised", "d", 0, 1),
    ]  # fmt: skip


def asleep(pool: Any, *names: str, at: int = 200 * US) -> None:
    for name in names:
        tell(pool, go(name, 2), go(name, 100, at))
        assert pool.workers[name].at == "asleep"


@pytest.mark.parametrize(("profile", "woken"), [("slotwise", "w0"), ("ep-cpu-after", "w0 w1 w2")])
def test_as_many_are_woken_as_there_are_tasks(profile: str, woken: str) -> None:
    pool = spin.pool(replace(v.PROFILES[profile], discipline=v.Fixed(0)), v.Setup(4))
    asleep(pool, "w0", "w1", "w2", at=0)
    assert tell(pool, v.Dispatch(actor="d", total=2), go("d", 6))[-1] == ("wakes", "d", len(woken.split()), woken)


def test_a_worker_does_not_sleep_through_a_publication() -> None:
    pool = spin.pool(replace(SLOTWISE, discipline=v.Fixed(0)), v.Setup(2))
    tell(pool, go("w0", 66))
    assert pool.workers["w0"].at == "wait"
    tell(pool, v.Dispatch(actor="d", total=1), go("d", 6))
    assert tell(pool, go("w0", 3)) == [("stayed", "w0"), ("woke", "w0", 0), ("looks", "w0", 1)]


def test_an_empty_catch_does_not_begin_the_window_anew() -> None:
    pool = spin.pool(replace(SLOTWISE, discipline=v.Fixed(1000)), v.Setup(2))
    tell(pool, go("w0", 60), v.Dispatch(actor="d", total=1), go("d", 8))
    assert tell(pool, go("w0", 9, 900)) == [
        ("caught", "w0", 1000), ("looks", "w0", 1), ("passed", "w0", 0), ("again", "w0", 0), ("looks", "w0", 1), ("passed", "w0", 0), ("nothing_new", "w0"), ("spun", "w0", 2, 0, 0),
    ]  # fmt: skip
    assert tell(pool, go("w0", 100, 1000)) == [("spun", "w0", 4, 0, 1), ("expired", "w0", 1000), ("slept", "w0"), ("idle", "w0", "parked")]
    assert tell(pool, v.Stir(actor="w0", at=1000), go("w0", 99, 1000)) == [
        ("stirred", "w0"), ("woke", "w0", 1000), ("looks", "w0", 1), ("passed", "w0", 0), ("nothing_new", "w0"), ("expired", "w0", 1000), ("slept", "w0"), ("idle", "w0", "parked"),
    ]  # fmt: skip


def test_the_stamp_tells_a_parked_worker_how_long_it_had_nothing() -> None:
    pool = spin.pool(SLOTWISE, v.Setup(2))
    asleep(pool, "w0", at=300 * US)
    tell(pool, v.Dispatch(actor="d", total=2, at=400 * US), go("d", 6, 400 * US), go("w0", 4, 440 * US))
    assert pool.workers["w0"].memory.ledgers == [PARK + c for c in (0, 8537, 17075, 34150, 68300, 136600)]


def test_the_barrier_looks_once_more() -> None:
    profile = replace(SLOTWISE, budget=3, ready_within=100)
    pool = spin.pool(profile, v.Setup(2, built=False))
    assert tell(pool, go(v.BUILDER, 4), v.Dispatch(actor="d", total=1)) == [("waits_ready", 2, 2), ("declined", "d", "building")]
    assert tell(pool, go(v.BUILDER, 1, 100), go("w0", 1, 100), go(v.BUILDER, 2, 100)) == [("waits_ready", 0, 1), ("announced", "w0", 1), ("built", 1), ("idle", "pool", "built")]
    pool = spin.pool(profile, v.Setup(2, built=False))
    assert tell(pool, go(v.BUILDER), go(v.BUILDER, 9, 100)) == [("waits_ready", 1, 0), ("waits_ready", 1, 1), ("abandoned", 0, 1), ("idle", "pool", "built")]
    assert tell(pool, go("w0", 2, 100), v.Dispatch(actor="d", total=1, at=100)) == [("announced", "w0", 1), ("left", "w0"), ("declined", "d", "shutdown")]


def test_a_ninth_fan_out_is_declined() -> None:
    pool = spin.pool(SLOTWISE, v.Setup(2))
    assert [tell(pool, v.Dispatch(actor=f"d{i}", total=1))[0] for i in range(9)] == [*(("held", f"d{i}", i) for i in range(8)), ("declined", "d8", "slots")]
    assert tell(pool, v.Counters())[0][7:9] == ("slot_exhausted", 1)


@pytest.mark.parametrize(("command", "why"), [
    (v.Dispatch(actor="w0", total=1), "nested"), (v.Dispatch(actor="w1", total=1), "not_a_dispatcher"), (v.Dispatch(actor="pool", total=1), "not_a_dispatcher"),
    (v.Dispatch(actor="d", total=0), "busy"),
])  # fmt: skip
def test_declined(command: v.Dispatch, why: str) -> None:
    pool = spin.pool(SLOTWISE, v.Setup(3))
    tell(pool, v.Dispatch(actor="d", total=2), go("d", 6), go("w0", 3))
    assert tell(pool, command) == [("declined", command.actor, why)]


def test_declined_without_workers_or_after_the_shutdown() -> None:
    alone, shut = spin.pool(SLOTWISE, v.Setup(1)), spin.pool(SLOTWISE, v.Setup(2))
    assert tell(alone, v.Dispatch(actor="d", total=0), v.Dispatch(actor="d", total=1)) == [("finished", "d", -1, 0), ("declined", "d", "no_workers")]
    assert tell(shut, v.Shutdown(), v.Dispatch(actor="d", total=1), go("w0")) == [("shut_down", 1), ("declined", "d", "shutdown"), ("left", "w0")]


def test_the_state_is_of_integers_and_strings() -> None:
    pool = spin.pool(SLOTWISE, v.Setup(2))
    tell(pool, v.Dispatch(actor="d", total=2), go("d", 8), go("w0", 500), v.Gap(gap=5, ran=False))
    before = msgspec.json.encode(spin.state(pool))
    assert msgspec.json.encode(spin.state(pool)) == before
    assert not re.search(rb"true|false|null|\.|:0[,}]|\{\}|\[\]", before)


@pytest.mark.parametrize(("kind", "parameters", "named"), [
    (v.Setup, {"width": 0}, "width"), (v.Setup, {"width": 2, "spawned": 2}, "spawned"), (v.Setup, {"park": -1}, "park"), (v.Wait, {"window": 5, "pause": -1}, "pause"),
    (v.Ratchet, {"floor": 501, "cap": 500}, "floor"), (v.Average, {"floor": 501, "cap": 500}, "floor"), (v.Fixed, {"window": v.SECOND + 1}, "window"),
])  # fmt: skip
def test_bad_parameters_are_refused_by_name(kind: type[Any], parameters: dict[str, Any], named: str) -> None:
    tag = kind.__struct_config__.tag_field
    with pytest.raises(msgspec.ValidationError, match=named):
        msgspec.convert({**parameters, **({tag: kind.__struct_config__.tag} if tag else {})}, type=kind)


def fan_out(pool: Any, at: int, ends: int) -> None:
    """Of two tasks, which the dispatcher has both run before anybody else looks."""
    tell(pool, v.Dispatch(actor="d", total=2, at=at), go("d", 8, at), v.End(actor="d", at=ends), go("d", 3, ends), v.End(actor="d", at=ends), go("d", 6, ends))
    assert not pool.dispatchers["d"].at


def parked(pool: Any, at: int) -> int:
    """The worker spins its whole window, and parks: how long was it?"""
    tell(pool, go("w0", 3, at))
    length: int = pool.workers["w0"].window.length
    assert tell(pool, go("w0", 10_000, at + length))[-2:] == [("slept", "w0"), ("idle", "w0", "parked")]
    return length


def test_short_fan_outs_that_a_parked_worker_misses_do_not_seem_far_apart() -> None:
    """SPN-76: it was called 100 us after its stretch began, and finds nothing, and again and again; the gap was 100 us, not until it got a task."""
    pool = SPIN.model(SLOTWISE, v.Setup(width=2))
    policy, worker = pool.policy, pool.workers["w0"]
    assert parked(pool, 0) == PARK
    for i in range(1, 40):                                       # more calls than are noted, while it is on its way
        fan_out(pool, 100 * US * i, 100 * US * i + 20)
        if i == 1:
            woken = tell(pool, go("w0", 1, 100 * US + 20))
            assert woken == [("woke", "w0", policy.choose(worker.memory))]
            expected = policy.memory()
            policy.learn(expected, 100 * US, PARK)
            assert worker.memory == expected
            assert tell(pool, go("w0", 9, 110 * US))[-2:] == [("slept", "w0"), ("idle", "w0", "parked")], "the stretch goes on, and its window is over"
    assert worker.memory == expected, "each stretch teaches once"


def test_who_is_called_by_nobody_has_missed_nothing() -> None:
    """SPN-75, SPN-76: a fan-out of one task wakes nobody, and a park that ends by itself tells nothing."""
    pool = SPIN.model(SLOTWISE, v.Setup(width=2))
    parked(pool, 0)
    tell(pool, v.Dispatch(actor="d", total=1, at=PARK), go("d", 8, PARK), v.End(actor="d", at=PARK), go("d", 6, PARK), v.Stir(actor="w0", at=PARK), go("w0", 1, PARK))
    assert pool.calls == {}
    assert pool.workers["w0"].memory == pool.policy.memory()


def test_the_first_of_the_noted_calls_is_found_whatever_the_epoch() -> None:
    for epoch in (5, 15, 16, 40, spin_pool.EPOCHS - 1, 0, 3):
        back = {(epoch - i) % spin_pool.EPOCHS: 1000 - i for i in range(30) if i % 3 == 0}
        calls: dict[int, tuple[int, int]] = {}
        for e, at in reversed(back.items()):
            calls[e % spin_pool.CALLS] = e, at
        for behind in range(40):
            last = (epoch - behind) % spin_pool.EPOCHS
            kept = [at for e, at in back.items() if (epoch - e) % spin_pool.EPOCHS < min(behind, spin_pool.CALLS)]
            assert spin_pool.first_call(calls, last, epoch) == (min(kept) if kept else None)
