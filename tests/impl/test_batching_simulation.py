"""The native simulation plays every scenario of durable work exactly as the reference does: command by command, with what each shows."""
from __future__ import annotations

import random

import msgspec
import pytest

from slotwise.spec import batching_scenarios as scenarios
from slotwise.spec import batching_simulation as reference
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_scenarios import Child, Known, Parallel, Scenario, Service, Step, Wait

from ..spec.batching_drawn import drawn

native = pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
from slotwise.impl import batching_simulation as simulation  # noqa: E402


def same(profile: v.Profile, scenario: Scenario, seed: int | None = None) -> None:
    due, played = reference.simulate(profile, scenario, seed=seed), native.simulate_batching(profile, scenario, seed=seed)
    log, calls, ending, reached, ends = played
    assert log.splitlines() == due.lines()
    assert [tuple(call) for call in calls] == [(call.at, call.updates, call.refreshes, call.in_vain) for call in due.calls]
    assert ending == (due.result, due.until, due.handler, due.exit)
    assert (reached, dict(ends)) == (list(due.reached.items()), due.ends)


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_built_in(name: str, profile: str) -> None:
    same(v.PROFILES[profile], scenarios.find(name))


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("name", [name for name in scenarios.SCENARIOS if name.startswith("F")])
def test_built_in_in_a_seeded_order(name: str, profile: str) -> None:
    """So branches that wake together have not gone to sleep in their order."""
    same(v.PROFILES[profile], scenarios.find(name), seed=1)


def profiles_of(name: str, dice: random.Random) -> v.Profile:
    """The profile, or it with small requests, and some of its defects on or off."""
    chosen = v.PROFILES[name]
    if dice.random() < 0.5:
        chosen = msgspec.structs.replace(chosen, discipline=msgspec.structs.replace(chosen.discipline, updates=dice.randint(1, 5)))
    if dice.random() < 0.3:
        chosen = msgspec.structs.replace(chosen, waits_are_retimed=not chosen.waits_are_retimed)
    return chosen


@pytest.mark.parametrize("profile", v.PROFILES)
def test_drawn(profile: str) -> None:
    for seed in range(60):
        dice = random.Random(seed)
        same(profiles_of(profile, dice), drawn(dice), seed=dice.choice([None, seed, seed + (1 << 40)]))


def known_before(scenario: Scenario, profile: v.Profile, dice: random.Random) -> Scenario:
    """The same, invoked again: some of its operations are known from earlier, and some of those are waits."""
    ops = list(dict.fromkeys(step.command.id for step in reference.simulate(profile, scenario).steps if isinstance(step.command, v.Submit) and not step.command.empty))
    end = [None, 0, -(10**9), 10**9, dice.randrange(10**10)]
    return msgspec.structs.replace(scenario, earlier=tuple(Known(op, dice.choice(end)) for op in ops if dice.random() < 0.4), horizon=dice.choice([scenario.horizon, dice.randrange(3 * 10**9)]))


@pytest.mark.parametrize("profile", v.PROFILES)
def test_drawn_and_invoked_again(profile: str) -> None:
    for seed in range(40):
        dice = random.Random(1000 + seed)
        chosen = profiles_of(profile, dice)
        same(chosen, known_before(drawn(dice), chosen, dice), seed=dice.choice([None, seed]))


@pytest.mark.parametrize("profile", v.PROFILES)
def test_odd_names_and_names_that_meet(profile: str) -> None:
    """What has to be escaped, and operations of other contexts that come to the same full name."""
    branch = (Wait(name='"\\\n\x01ä', duration=5), Step(name="s#1", retries=1, delay=7))
    for other in ("p.0", "p.0/s", "p@3", "p.1#1", "s"):
        same(v.PROFILES[profile], Scenario("odd", (Step(name=other), Parallel(name="p", branches=(branch, branch, (Step(name="s"),)), flat=other == "s"), Child(name="c", work=branch)), Service(out=0, back=0)))


def test_a_seed_matters() -> None:
    """The comparison has teeth: the same scenario in another order has another log."""
    scenario = scenarios.find("F11")
    logs = {native.simulate_batching(v.PROFILES["slotwise"], scenario, seed=seed)[0] for seed in (None, 1, 2, 3)}
    assert len(logs) == 4


def test_a_run_is_that_of_the_reference() -> None:
    profile, scenario = v.PROFILES["slotwise"], scenarios.find("nested-waves")
    due, run = reference.simulate(profile, scenario, engine="native"), simulation.simulate(profile, scenario)
    assert (run.as_json(), run.lines(), run.resumes, run.calls) == (due.as_json(), due.lines(), due.resumes, due.calls)
    assert [(step.command, step.saw) for step in run.trace().steps] == [(step.command, [tuple(word) for word in step.saw or ()]) for step in due.steps]


def test_json_will_do() -> None:
    profile, scenario = v.PROFILES["slotwise"], scenarios.find("F13")
    assert native.simulate_batching(msgspec.json.encode(profile), scenarios.encode(scenario)) == native.simulate_batching(profile, scenario)


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (b"{", "not a scenario"), (b'{"name":"x"}', "not a scenario: missing field `work`"), (b'{"name":"x","work":[],"more":1}', "unknown field `more`"),
        (scenarios.encode(Scenario("x", (Step(name="a"), Step(name="a")))), '"a" is named twice in the handler'), (Scenario("x", (), earlier=(Known("a"), Known("a", 5))), '"a" is known twice'),
    ],
)  # fmt: skip
def test_a_bad_scenario_is_refused(scenario: Scenario | bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        native.simulate_batching(v.PROFILES["slotwise"], scenario)


def test_a_bad_profile_or_seed_is_refused() -> None:
    scenario = scenarios.find("F10")
    with pytest.raises(ValueError, match="not a profile"):
        native.simulate_batching(b"{}", scenario)
    with pytest.raises(ValueError, match="instants must be"):
        native.simulate_batching(v.Profile("x", v.LookAhead(instants=-1)), scenario)
    with pytest.raises(OverflowError):
        native.simulate_batching(v.PROFILES["slotwise"], scenario, seed=-1)
