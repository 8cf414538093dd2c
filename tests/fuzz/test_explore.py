"""The explorer: it goes everywhere once, closes, and finds what is wrong by the shortest way; and the schedules that never let the awaited thread run."""
from __future__ import annotations

from typing import Any

import pytest
from tests.fuzz.broken_spin import broken

from slotwise.fuzz import exits, reference, schedules, scopes_spin
from slotwise.fuzz.explore import Scope, explore, explored, scope_of
from slotwise.fuzz.judges import judge
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.schedules import SCENES, Scheduled, scheduled
from slotwise.fuzz.target import Target, TargetError
from slotwise.spec import batching_vocabulary as b
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS

SLOTWISE = v.PROFILES["slotwise"]
COPY = Target("copy", Reference, mechanisms=tuple(MECHANISMS))


@pytest.mark.parametrize("profile", MECHANISMS["batching"].profiles.values(), ids=lambda profile: str(profile.name))
def test_a_scope_closes(profile: Any) -> None:
    found = explore(COPY, profile)
    assert (found.exit, found.closed, found.lockstep) == (exits.CLEAN, True, True)
    assert found.states > 90
    assert found.depth >= 5
    again = explore(reference.TARGET, profile)
    assert (again.states, again.steps, again.depth, again.lockstep) == (found.states, found.steps, found.depth, False)


def test_every_mechanism_has_scopes_of_two_sizes() -> None:
    for mechanism in MECHANISMS.values():
        assert explored(mechanism.name)
        for profile in mechanism.profiles.values():
            tiny, small = scope_of(profile, "tiny"), scope_of(profile, "small")
            assert len(small.moves) > len(tiny.moves) or small.setup != tiny.setup
            found = explore(COPY, profile, "small", depth=3)
            assert (found.exit, found.closed, found.depth) == (exits.CLEAN, False, 3)


def test_a_scope_of_spinning_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one worker that finds nothing, to keep it short."""
    tiny = scope_of(SLOTWISE, "tiny")
    monkeypatch.setattr(scopes_spin, "scope", lambda profile, size: Scope(tiny.profile, tiny.setup, ((v.Go(actor="w0"), 0), (v.Shutdown(), 1)), tiny.instants, tiny.essence))
    found = explore(COPY, SLOTWISE)
    assert found.closed
    assert 20 < found.states < 200


def test_what_is_forgotten_are_counts_and_whole_strides_beyond_the_budget() -> None:
    profile = v.Profile("p", v.Guarded(), budget=4, stride=2, straggler_stride=3)
    worker = {"at": "window", "window": {"length": 9, "n": 7, "reads": 3, "y": 1, "told": 0, "q": 3}}
    later = {"at": "window", "window": {"length": 9, "n": 9, "reads": 5, "y": 1, "told": 0, "q": 3}}
    state = {"workers": {"w0": worker}, "counters": {"parks": 3}, "dispatchers": {"d": {"at": "straggling", "pauses": 4}}}
    same = {"workers": {"w0": later}, "dispatchers": {"d": {"at": "straggling", "pauses": 7}}}
    assert scopes_spin.essence(profile, state) == scopes_spin.essence(profile, same)
    for other in ({**same, "epoch": 1}, {**same, "workers": {"w0": {**later, "window": {"length": 9, "n": 8, "q": 3}}}}, {**same, "dispatchers": {"d": {"at": "straggling", "pauses": 5}}}):
        assert scopes_spin.essence(profile, state) != scopes_spin.essence(profile, other)


@pytest.mark.parametrize(("mistake", "rule", "length"), [("first_task_again", "SPN-27", 12), ("gives_no_way", "SPN-61", 20)])
def test_a_mistake_is_found_by_the_shortest_way(mistake: str, rule: str, length: int) -> None:
    found = explore(broken(mistake), SLOTWISE, "tiny")
    assert found.exit == exits.DIVERGENCE
    assert found.failure is not None
    assert (found.failure.kind, found.failure.rule) == ("divergence", rule)
    assert len(found.failure.trace.steps) <= length
    assert all(isinstance(step.command, v.Dispatch) or step.command.times == 1 for step in found.failure.trace.steps if hasattr(step.command, "times"))
    assert judge(broken(mistake), found.failure.profile, found.failure.setup, found.failure.trace.commands) is not None


def test_a_broken_invariant_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slotwise.spec.spin_invariants.broken", lambda transition: [("INV-13", "as said")] if transition.after.get("active") else [])
    found = explore(COPY, SLOTWISE, "tiny", depth=9)
    assert (found.exit, found.closed) == (exits.INVARIANT, False)
    assert found.failure is not None
    assert (found.failure.rule, found.failure.message, len(found.failure.trace.steps)) == ("INV-13", "as said", 5)


def test_a_known_hazard_is_no_failure() -> None:
    profile = b.PROFILES["aws-durable-2.0.0"]
    assert explore(COPY, profile).hazards


# Schedules ---------------------------------------------------------------------------------------------------------------------------


def played(target: Target, profile: str, scene: str, processors: int) -> Scheduled:
    return scheduled(target, v.PROFILES[profile], next(one for one, on in SCENES if (one.name, on) == (scene, processors)), processors)


@pytest.mark.parametrize("profile", v.PROFILES)
def test_only_the_barrier_as_first_published_starves_who_it_waits_for(profile: str) -> None:
    for scene, processors in SCENES:
        if (scene.name, processors) == ("fan-out", 2):
            continue                                     # `slotwise explore` plays it, on the engine
        found = scheduled(COPY, v.PROFILES[profile], scene, processors)
        assert found.closed
        assert found.verdict == ("livelock" if (profile, scene.name, processors) == ("ep-cpu-orig", "build", 1) else "clean")
        assert found.exit == exits.CLEAN
    found = played(COPY, "ep-cpu-orig", "build", 1)
    assert (found.known, found.starved, {step.thread for step in found.round}) == (True, ("w0", "w1"), {v.BUILDER})


def test_a_wait_that_never_yields_starves_the_task_it_waits_for() -> None:
    found = played(broken("gives_no_way"), "slotwise", "fan-out", 1)
    assert (found.verdict, found.exit, found.known, found.starved) == ("livelock", exits.INVARIANT, False, ("w0",))
    assert [step.saw[0][0] for step in found.round] == ["spun"] * len(found.round)
    assert "waits" in [step.did for step in found.schedule if step.thread == "w0"]
    assert found.schedule[-1].saw[-1][0] in ("straggles", "spun")


def test_on_one_processor_alone() -> None:
    assert played(broken("gives_no_way"), "slotwise", "build", 2).verdict == "clean"


def test_who_never_parks_starves_the_others() -> None:
    found = played(broken("parks_anyway"), "slotwise", "build", 1)
    assert (found.verdict, found.exit) == ("livelock", exits.INVARIANT)


def test_who_is_parked_after_the_shutdown_is_left_behind() -> None:
    found = played(broken("parks_without_a_look"), "slotwise", "build", 2)
    assert (found.verdict, found.closed) == ("deadlock", False)
    assert found.schedule[-1].saw[-1][0] == "slept"


def test_a_schedule_is_one_that_the_pool_can_play() -> None:
    """Only windows look at the clock, and on one processor the dispatcher is the first to come."""
    found = played(broken("gives_no_way"), "slotwise", "fan-out", 1)
    scene, _ = SCENES[2]
    model = broken("gives_no_way").make(schedules.Scheduler(COPY, SLOTWISE, scene, 1).profile, scene.setup)
    model.step(v.Dispatch(actor="d", total=scene.total))
    now = 0
    for step in (*found.schedule, *found.round):
        if step.did != "waits":
            saw = model.step(v.End(actor=step.thread, at=now) if step.did == "ends" else v.Go(actor=step.thread, at=now))
            assert [seen[0] for seen in saw] == [seen[0] for seen in step.saw]


def test_a_target_without_copies_is_refused() -> None:
    class Plain:
        def __init__(self, profile: Any, setup: Any) -> None:
            pass

        def step(self, command: Any) -> list[Any]:
            return []

    with pytest.raises(TargetError, match="schedules need its state and copies of it"):
        scheduled(Target("plain", Plain, mechanisms=("spin",)), SLOTWISE, SCENES[0][0], 1)
