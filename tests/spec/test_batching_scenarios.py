"""Scenarios of durable work and the world that plays them: the published packages' own runs to the nanosecond, and what `slotwise` must reach."""
from __future__ import annotations

import random
from functools import partial
from typing import Any

import msgspec
import pytest

from slotwise.spec import batching_scenarios as scenarios
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector, rules, trace
from slotwise.spec.batching_judge import Judge
from slotwise.spec.batching_laws import KNOWN_HAZARDS
from slotwise.spec.batching_player import Fate
from slotwise.spec.batching_run import Run
from slotwise.spec.batching_scenarios import Child, Known, Parallel, Pause, Poll, Scenario, Service, Wait
from slotwise.spec.batching_scenarios import Step as UserStep
from slotwise.spec.batching_service import Answer, Backend, Operation, Update
from slotwise.spec.batching_simulation import simulate
from slotwise.spec.scenarios import ScenarioError

from .batching_drawn import drawn

SECOND, MS = v.SECOND, v.MILLISECOND
BEFORE, AFTER, OURS = v.PROFILES["aws-durable-2.0.0"], v.PROFILES["aws-durable-3.0.0"], v.PROFILES["slotwise"]


def sends(run: Run) -> list[tuple[float, int]]:
    """In ms: when, and how many updates."""
    return [(call.at / MS, call.updates) for call in run.calls]


#: name, profile -> handler ms, calls, and resume after the scheduled end in ms.
BARS = [
    ("steps-200", OURS, 6000, 200, None), ("steps-200", AFTER, 6200, 200, None), ("steps-200", BEFORE, 26000, 200, None),
    ("fan-out-200", OURS, 150, 5, None), ("fan-out-200", AFTER, 152, 5, None), ("fan-out-200", BEFORE, 350, 5, None),
    ("fan-out-200-flat", OURS, 90, 3, None), ("fan-out-200-flat", AFTER, 92, 3, None), ("fan-out-200-flat", BEFORE, 290, 3, None),
    ("fan-out-200-mc50", OURS, 270, 9, None), ("fan-out-200-mc50", AFTER, 279, 9, None), ("fan-out-200-mc50", BEFORE, 1170, 9, None),
    ("nested-waves", OURS, 8150, 8, 22.5), ("nested-waves", AFTER, 8155, 8, 46), ("nested-waves", BEFORE, 8650, 8, 145),
]  # fmt: skip


@pytest.mark.parametrize(("name", "profile", "handler", "calls", "resume"), BARS, ids=lambda value: getattr(value, "name", None))
def test_the_bars(name: str, profile: v.Profile, handler: int, calls: int, resume: float | None) -> None:
    run = simulate(profile, scenarios.find(name))
    assert (run.result, run.handler, len(run.calls)) == ("done", handler * MS, calls)
    assert set(run.resumes.values()) == (set() if resume is None else {int(resume * MS)})
    assert run.tail == (0 if profile is OURS else 100 * MS)
    assert not any(call.in_vain for call in run.calls)


#: The published packages' own runs, in virtual time: F -> calls of 2.0.0, and of 3.0.0, as (ms, updates).
PUBLISHED: dict[str, tuple[list[tuple[float, int]], list[tuple[float, int]]]] = {
    "F02": ([(0, 250), (30, 250), (60, 250), (190, 51), (320, 1)], [(0, 250), (30, 250), (60, 250), (91, 51), (122, 1)]),
    "F03": ([(0, 250), (130, 151), (260, 1)], [(0, 250), (31, 151), (62, 1)]),
    "F04": ([(100, 151), (230, 50), (360, 150), (490, 50), (620, 150), (750, 50), (880, 150), (1010, 50), (1140, 1)],
            [(1, 151), (32, 50), (63, 150), (94, 50), (125, 150), (156, 50), (187, 150), (218, 50), (249, 1)]),
    "F05": ([(100, 61), (2230, 0), (2360, 10), (8100, 10), (8230, 10), (8360, 10), (8490, 10), (8620, 1)],
            [(1, 61), (2032, 0), (2063, 10), (8001, 10), (8032, 10), (8063, 10), (8094, 10), (8125, 1)]),
    "F06": ([(0, 250), (130, 51), (2130, 0), (2260, 37), (2390, 13), (8100, 50), (8230, 50), (8360, 50), (8490, 50), (8620, 1)],
            [(0, 250), (31, 51), (2031, 0), (2062, 37), (2093, 13), (8001, 50), (8032, 50), (8063, 50), (8094, 50), (8125, 1)]),
    "F08": ([(100, 13), (2230, 0), (2360, 5), (10100, 1), (10230, 1), (10360, 1)], [(1, 13), (2032, 0), (2063, 5), (10001, 1), (10032, 1), (10063, 1)]),
    "F09": ([(100, 9), (1230, 0), (1360, 1), (2230, 0), (2360, 1), (3230, 0), (3360, 1), (10100, 1), (10230, 1), (10360, 1)],
            [(1, 9), (1032, 0), (1063, 1), (2032, 0), (2063, 1), (3032, 0), (3063, 1), (10001, 1), (10032, 1), (10063, 1)]),
    "F10": ([(100, 8), (230, 1)], [(1, 8), (32, 1)]),
    "F12": ([(100, 7), (1100, 1), (1230, 1), (1360, 1)], [(1, 7), (1001, 1), (1032, 1), (1063, 1)]),
    "F13": ([(100, 12), (1230, 0), (1360, 6), (2490, 0), (2620, 6), (2750, 3), (6100, 1), (6230, 1), (6360, 1)],
            [(1, 12), (1032, 0), (1063, 6), (2094, 0), (2125, 6), (2156, 3), (6001, 1), (6032, 1), (6063, 1)]),
    "F14": ([(100, 4), (400, 1), (2530, 0), (4660, 0), (4790, 1), (12100, 1), (12230, 1), (12360, 1)],
            [(100, 4), (301, 1), (2332, 0), (4363, 0), (4394, 1), (12001, 1), (12032, 1), (12063, 1)]),
    "F15": ([(0, 1)], [(0, 1)]),
    "F16": ([(100, 1), (250, 1)], [(100, 1), (151, 1)]),
    "F18": ([(100, 9), (2230, 0), (2360, 1), (7360, 0), (7490, 1), (7620, 1), (7750, 1), (20100, 1), (20230, 1), (20360, 1)],
            [(1, 9), (2032, 0), (2063, 1), (7063, 0), (7094, 1), (7125, 1), (7156, 1), (20001, 1), (20032, 1), (20063, 1)]),
    "F19": ([(100, 7), (1230, 0), (1360, 1), (1490, 2), (2230, 0), (2360, 1), (2490, 2), (4620, 0), (4750, 1), (6620, 0), (6750, 1), (12100, 1), (12230, 1), (12360, 1)],
            [(1, 7), (1032, 0), (1063, 1), (1094, 2), (2032, 0), (2063, 1), (2094, 2), (4125, 0), (4156, 1), (6125, 0), (6156, 1), (12001, 1), (12032, 1), (12063, 1)]),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_call_is_that_of_the_published_package(name: str) -> None:
    for profile, calls in zip((BEFORE, AFTER), PUBLISHED[name], strict=True):
        run = simulate(profile, scenarios.find(name))
        assert sends(run) == calls, profile.name
        assert run.result == {"F10": "suspended", "F15": "blocked"}.get(name, "done")
        assert run.handler == (None if name == "F15" else calls[-1][0] * MS + 30 * MS)
        assert run.tail == (None if name == "F15" else 100 * MS)


def test_f17_was_published_for_one_version() -> None:
    assert sends(simulate(AFTER, scenarios.find("F17"))) == [(100, 2), (10001, 0), (10032, 1), (20001, 1), (20032, 1), (20063, 1)]


#: When user code went on after a wait or at an attempt, in ms, in order of its time: of 3.0.0, and ours.
RESUMED = {
    "F06": ([2061] * 37 + [2092] * 13, [2030] * 37 + [2062] * 13),
    "F13": ([1062] * 3 + [2124] * 3, [1038.5] * 3 + [2069.5] * 3),
    "F14": ([4393], [3015]),
    "F17": ([10031], [522.5]),
    "F18": ([2062, 7093], [2038.5, 5031]),
    "F19": ([1062, 2062, 4155, 6155], [1038.5, 2031, 4100.5, 6093]),
}


@pytest.mark.parametrize("name", RESUMED)
def test_when_it_resumes(name: str) -> None:
    for profile, times in zip((AFTER, OURS), RESUMED[name], strict=True):
        run = simulate(profile, scenarios.find(name))
        assert sorted(run.reached[attempt] / MS for attempt in run.resumes) == times, profile.name


def test_f10_suspends_until_the_first_wait_ends() -> None:
    """As published by the local clock; ours by the service's stamp."""
    assert [simulate(profile, scenarios.find("F10")).until for profile in (BEFORE, AFTER, OURS)] == [2130 * MS, 2031 * MS, 2015 * MS]


@pytest.mark.parametrize("name", [name for name in scenarios.SCENARIOS if name != "taken"])      # there nobody gets done
def test_slotwise_is_never_worse_than_what_is_published(name: str) -> None:
    ours, published = simulate(OURS, scenarios.find(name)), simulate(AFTER, scenarios.find(name))
    assert ours.result in ("done", "suspended")
    assert not any(call.in_vain for call in ours.calls)
    assert max(ours.resumes.values(), default=0) <= 30 * MS
    if published.handler is not None:
        assert ours.handler is not None
        assert (ours.handler, len(ours.calls)) <= (published.handler, len(published.calls))


@pytest.mark.parametrize("ahead", [0, 5 * SECOND, -5 * SECOND, 123_456_789])
@pytest.mark.parametrize("hinted", [True, False])
def test_two_stamps_tell_the_clock(ahead: int, hinted: bool) -> None:
    """Half a round trip after the service's scheduled end, and not once in vain, wherever its clock is and whatever the caller believes."""
    scenario = msgspec.structs.replace(scenarios.waves(10, "waves", steps_before=1), service=Service(ahead=ahead, hint=ahead if hinted else 0))
    run = simulate(OURS, scenario)
    assert set(run.resumes.values()) == {15 * MS}
    assert (run.handler, len(run.calls), sum(call.in_vain for call in run.calls)) == (8180 * MS, 9, 0)


@pytest.mark.parametrize(("number", "apart", "calls"), [(10, 5 * MS, (8, 12)), (50, 1_500_000, (10, 14)), (20, 20 * MS, (8, 34))])
def test_waits_that_begin_apart_are_asked_for_apart(number: int, apart: int, calls: tuple[int, int]) -> None:
    scenario = scenarios.waves(number, "apart", apart=apart)
    assert (len(simulate(BEFORE, scenario).calls), len(simulate(AFTER, scenario).calls)) == calls
    assert len(simulate(OURS, scenario).calls) <= calls[1]


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("name", ["F02", "F05", "F07", "F11", "F18"])
def test_the_order_of_who_is_ready_does_not_matter(name: str, profile: str) -> None:
    """As of the published package: calls and times are the same in any order, though commands are not."""
    scenario = scenarios.find(name)
    runs = [simulate(v.PROFILES[profile], scenario, seed=seed) for seed in (None, 1, 2, 3)]
    assert len({(tuple(sends(run)), run.handler) for run in runs}) == 1
    assert len({run.digest for run in runs}) > 1
    assert runs[1].digest == simulate(v.PROFILES[profile], scenario, seed=1).digest


@pytest.mark.parametrize("profile", v.PROFILES)
def test_a_run_is_a_trace(profile: str) -> None:
    """Its commands answer the same when they are played alone."""
    recorded = simulate(v.PROFILES[profile], scenarios.find("F18")).trace()
    model = collector.collector(v.PROFILES[profile], v.Setup())
    for step in recorded.steps:
        assert collector.step(model, step.command) == step.saw
        assert rules.decided == step.rules
    assert trace.encode(trace.decode(trace.encode(recorded))) == trace.encode(recorded)


def play(*work: scenarios.Work, profile: v.Profile = OURS, **service: Any) -> Run:
    return simulate(profile, Scenario("one", work, Service(**service)))


def test_credits_are_all_given_back() -> None:
    for name in scenarios.SCENARIOS:
        model = collector.collector(OURS, v.Setup())
        simulate(OURS, scenarios.find(name), step=partial(collector.step, model))
        state = collector.state(model)
        assert (state["running"], state["outside"], state["waiters"], state["queue"]) == (0, 0, [], []), name


@pytest.mark.parametrize("at_once", [1, 2, 3, 7])
def test_no_more_branches_than_slots(at_once: int) -> None:
    """A branch that sleeps keeps its slot: between its first update and its last, so many others at most."""
    branches = tuple((Wait(name="w", duration=SECOND),) if i % 2 else (UserStep(name="s", body=700 * MS),) for i in range(7))
    for profile in v.PROFILES.values():
        run = play(Parallel(name="p", branches=branches, at_once=at_once), UserStep(name="after"), profile=profile)
        inside: set[str] = set()
        most = 0
        for step in run.steps:
            if isinstance(step.command, v.Submit) and step.command.id.startswith("p.") and "/" not in step.command.id:
                inside ^= {step.command.id}
                most = max(most, len(inside))
        if run.result == "done":
            assert inside == set()
        assert most == at_once


def test_a_wave_resumes_in_the_order_of_the_branches() -> None:
    """Though they fall asleep in another; and ours also if their waits began at different times, and end together."""
    for apart, profiles in ((MS // 10, list(v.PROFILES.values())), (40 * MS, [OURS])):
        branches = tuple((Pause(name="late", duration=(5 - i) * apart), Wait(name="w", duration=SECOND)) for i in range(5))
        for profile in profiles:
            run = play(Parallel(name="p", branches=((UserStep(name="keeper", body=5 * SECOND),), *branches)), profile=profile, grid=SECOND)
            submitted = [step.command for step in run.steps if isinstance(step.command, v.Submit)]
            assert [one.id for one in submitted if one.id.endswith("w")] == [f"p.{i}/w" for i in range(5, 0, -1)]
            assert [one.id for one in submitted if one.ends and one.at < 5 * SECOND] == [f"p.{i}" for i in range(1, 6)]


def test_completion_and_tolerance() -> None:
    bad, good, long = (UserStep(name="s", fails=True),), (UserStep(name="s"),), (UserStep(name="s", body=SECOND),)
    for profile in v.PROFILES.values():
        early = play(Parallel(name="p", branches=(good, long), needed=1), profile=profile)
        assert [step.command.at for step in early.steps if isinstance(step.command, v.Stop)] == [SECOND], "a stop waits for the branches left behind"
        tolerant = play(Parallel(name="p", branches=(bad, good, long), tolerated=1), profile=profile)
        strict = play(Parallel(name="p", branches=(bad, good, long)), profile=profile)
        assert [run.handler is not None and run.handler > SECOND for run in (early, tolerant, strict)] == [False, True, False]
        assert {tolerant.result, strict.result} == {"done"}
        orphan = [word for step in strict.steps for word in step.saw or () if word[0] == "rejected"]
        assert ("rejected", "p.2/s", "orphaned") in orphan, "the branch that was left behind is an orphan"
        assert play(UserStep(name="s", fails=True), profile=profile).result == "failed: s"


def test_polls_retries_and_contexts_run_again_from_the_top() -> None:
    keeper = (UserStep(name="keeper", body=9 * SECOND),)
    inside = (UserStep(name="before"), Poll(name="poll", in_vain=2), UserStep(name="try", retries=1), Wait(name="w", duration=SECOND))
    for profile in v.PROFILES.values():
        run = play(Parallel(name="p", branches=(keeper, (Child(name="c", work=inside),))), profile=profile)
        assert run.result == "done"
        assert sum(isinstance(step.command, v.Submit) and step.command.id == "p.1/c/before" for step in run.steps) == 2, "what is done is not done again"
        assert [attempt for attempt in run.reached if "keeper" not in attempt] == [f"p.1/c/{x}" for x in ("before#0", "poll#0", "poll#1", "poll#2", "try#0", "try#1", "w#1")]


def test_a_retry_that_is_met_again_keeps_its_time_and_a_wait_does_only_with_us() -> None:
    """The inner coordinator runs again when its first wait is over. As published, a retry is then taken for due at the service's stamp by the local clock; a wait begins anew."""
    inner = Parallel(name="in", branches=((Wait(name="w", duration=2 * SECOND),), (UserStep(name="s", retries=1, delay=5 * SECOND),), (Wait(name="long", duration=6 * SECOND),)))
    work = Parallel(name="p", branches=((UserStep(name="keeper", body=20 * SECOND),), (inner,)))
    published, ours = play(work, profile=AFTER), play(work)
    assert [published.reached[f"p.1/in.{attempt}"] / MS for attempt in ("0/w#1", "1/s#1", "2/long#1")] == [2062, 5047, 11078]
    assert [ours.reached[f"p.1/in.{attempt}"] / MS for attempt in ("0/w#1", "1/s#1", "2/long#1")] == [2038.5, 5031, 6031]


@pytest.mark.parametrize("profile", v.PROFILES)
def test_a_large_result_ends_the_execution(profile: str) -> None:
    """With it the collector ends, without a tail; what was left behind is an orphan of its parallel still."""
    left = Parallel(name="p", branches=((UserStep(name="s"),), (UserStep(name="long", body=SECOND),)), needed=1, flat=True)
    run = simulate(v.PROFILES[profile], Scenario("large", (left,), result=900_000))
    assert run.result == "done"
    assert run.exit == run.handler
    assert run.tail == 0
    why = {word[2] for step in run.steps for word in step.saw or () if word[0] == "rejected" and word[1] == "p.1/long"}
    assert why == {"orphaned"}


#: As the packages themselves: in 2.0.0 nobody asks before the waits are over; in 3.0.0 a branch of whom the token was taken sleeps for ever, and the keeper works on.
FINDS_OUT_LATER = {("aws-durable-2.0.0", "no token", 1): 2130 * MS, ("aws-durable-3.0.0", "no token", 1): 10 * SECOND}


@pytest.mark.parametrize("profile", v.PROFILES)
def test_pages_and_ends(profile: str) -> None:
    """A page costs a round trip; a failure, or an answer without a token, is told to whoever is blocked, and to coordinators that only wait."""
    plain = simulate(v.PROFILES[profile], scenarios.find("F08"))
    paged = simulate(v.PROFILES[profile], msgspec.structs.replace(scenarios.find("F08"), service=Service(fates={2: "page"})))
    assert len(paged.calls) == len(plain.calls)
    assert {paged.resumes[attempt] - plain.resumes[attempt] for attempt in plain.resumes} == {30 * MS}
    fate: Fate
    for fate in ("fail", "no token"):
        for number in (1, 2, 4):
            run = simulate(v.PROFILES[profile], msgspec.structs.replace(scenarios.find("F08"), service=Service(fates={number: fate})))
            assert len(run.calls) == number
            assert run.result.startswith("refused")
            assert run.exit == run.calls[-1].at + 30 * MS
            assert run.handler == FINDS_OUT_LATER.get((profile, fate, number), run.exit)


def test_user_code_that_runs_at_most_once_waits_for_its_start() -> None:
    for profile, started in ((BEFORE, 130), (AFTER, 31), (OURS, 30)):
        assert play(UserStep(name="s", at_most_once=True), profile=profile).reached == {"s#0": started * MS}
        assert play(UserStep(name="s"), profile=profile).reached == {"s#0": 0}


def test_a_coordinator_that_may_not_ask_does_not_wait() -> None:
    """The token is taken while the inner one has a wait: it sleeps until then, and the outer one, refused, does not."""
    inner = Parallel(name="in", branches=((UserStep(name="s", body=SECOND // 2),), (Wait(name="w", duration=2 * SECOND),)))
    for profile in (AFTER, OURS):
        run = play(Parallel(name="p", branches=((inner,),)), profile=profile, fates={2: "no token"})
        assert (run.result.partition(":")[0], run.until, run.handler) == ("refused", None, run.calls[-1].at + 30 * MS)


def test_the_service() -> None:
    """A stamp comes only with updates; ends are on the grid; what is due is shown once, by attempt; an update goes before what is due."""
    backend = Backend(Service(ahead=7, grid=10, lag=2), [Known("old", 12)])
    answer = backend.handle([Update("w", "wait", 5), Update("s", "start"), Update("s", "retry", 3)], at=4)
    assert (answer.stamp, answer.done) == (11, [])
    assert answer.changes == {"w": Operation("pending", 20, 1), "s": Operation("pending", 20, 1)}
    assert backend.handle([], at=6) == Answer(None, {}, [])
    assert backend.handle([], at=7) == Answer(None, {"old": Operation("ready", 12, 1)}, ["old#1"])
    answer = backend.handle([Update("s", "start"), Update("s", "succeed")], at=30)
    assert (answer.stamp, answer.done) == (37, ["w#1"])
    assert answer.changes == {"s": Operation("succeeded", None, 1), "w": Operation("ready", 20, 1)}
    assert backend.handle([], at=99).done == []
    assert backend.ends == {"old#1": 12, "w#1": 20, "s#1": 20}


def test_a_service_slower_than_its_stamps() -> None:
    run = simulate(OURS, msgspec.structs.replace(scenarios.find("F09"), service=Service(lag=20 * MS)))
    assert run.result == "done"
    assert sum(call.in_vain for call in run.calls) >= 1
    assert all(20 * MS < after < 110 * MS for after in run.resumes.values())


@pytest.mark.parametrize("profile", v.PROFILES)
def test_whatever_is_drawn_keeps_the_laws(profile: str) -> None:
    """Ours all of them, and nobody hangs or keeps a credit; the published ones all but those that are known to be broken."""
    chosen = v.PROFILES[profile]
    for seed in range(150):
        scenario = drawn(random.Random(seed))
        setup = v.Setup(hint=scenario.service.hint)
        model, judge = collector.collector(chosen, setup), Judge(chosen, setup)
        run = simulate(chosen, scenario, step=partial(collector.step, model), seed=random.Random(seed).choice([None, seed]))
        broken = {found.law for step in run.steps for found in judge.step(step.command, step.saw or [])}
        assert not any(word[0] in ("unexpected", "time_reversed") or word[-1] == "duplicate" for step in run.steps for word in step.saw or ())
        if chosen is OURS:
            state = collector.state(model)
            assert (broken, state["running"], state["outside"]) == (set(), 0, 0), seed
            assert run.result != "blocked", seed
            assert not {attempt for attempt, after in run.resumes.items() if after < 0}, "nothing resumes before its end"
        else:
            assert broken <= KNOWN_HAZARDS[profile], seed


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_a_scenario_survives_its_file(name: str) -> None:
    assert scenarios.decode(scenarios.encode(scenarios.find(name))) == scenarios.find(name)


BAD = [
    (b"", "truncated"), (b'{"name": "x"}', "missing required field `work`"), (b'{"name":"x","work":[{"do":"nap","name":"a"}]}', "Invalid value 'nap'"),
    (b'{"name":"x","work":[{"do":"wait","name":"a","duration":-1}]}', r"Expected `int` >= 0 - at `\$\.work\[0\]\.duration`"),
    (b'{"name":"x","work":[{"do":"parallel","name":"p","branches":[[{"do":"step","name":"a"},{"do":"step","name":"a"}]]}]}', "'a' is named twice in 'p'"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BAD)
def test_a_bad_file_gets_one_clear_line(data: bytes, message: str) -> None:
    with pytest.raises(ScenarioError, match=rf"^f\.json: .*{message}"):
        scenarios.decode(data, "f.json")


def test_a_scenario_that_is_not_there() -> None:
    with pytest.raises(ScenarioError, match="found 'nope', expected one of steps-200, fan-out-200"):
        scenarios.find("nope")
