"""The rules of batching that decide in the program: replay, retries, and coordinators, in whatever is drawn and in the built-in scenarios.

A play is watched from beside it: what a coordinator starts, is told and asks for, and what is submitted. What must hold is worked out again from that."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from slotwise.spec import batching_coordinator as coordinator
from slotwise.spec import batching_program as program
from slotwise.spec import batching_scenarios as scenarios
from slotwise.spec import batching_sdk as sdk
from slotwise.spec import batching_simulation as simulation
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_coordinator import Coordinator
from slotwise.spec.batching_host import Code, Ended, Host, Refused, Suspended
from slotwise.spec.batching_run import Run
from slotwise.spec.batching_scenarios import Child, Parallel, Poll, Scenario, Step, Wait, Work
from slotwise.spec.batching_world import World
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.rules import Rule

from .batching_drawn import drawn

RULES: dict[str, Rule] = {id: rule for id, rule in MECHANISMS["batching"].rule_book.items() if rule.where == "program"}


def test_every_rule_of_the_program_decides_in_the_scenarios_and_in_no_step() -> None:
    """Under every profile under which it can; and no floor asks a campaign for it."""
    for profile in v.PROFILES.values():
        assert simulation.decided(profile).keys() == {id for id, rule in RULES.items() if rule.of(profile)}, profile.name
    assert MECHANISMS["batching"].decided_in_scenarios().keys() == RULES.keys()
    assert {id.split("-")[0] for id in RULES} == {"SDK"}


def test_a_run_counts_its_own_and_its_log_names_none() -> None:
    for play in (simulation.simulate, program.simulate):
        runs = [play(v.PROFILES["slotwise"], scenarios.find(name)) for name in ("F09", "F18", "F09")]
        assert runs[0].rules == runs[2].rules != runs[1].rules
        assert not {id for step in runs[1].steps for id in step.rules or ()} & RULES.keys()


# a play, watched ---------------------------------------------------------------------------------------------------------
@dataclass(eq=False)
class Watched:
    """One coordinator, from its beginning until it leaves: what can be told of it from beside."""

    k: Coordinator
    report: Callable[[str], None]
    fresh: int = 0                                               # branches that have started
    holding: set[int] = field(default_factory=set)               # a slot
    asleep: dict[int, Suspended] = field(default_factory=dict)
    succeeded: int = 0
    failed: int = 0
    asked: dict[int, int] = field(default_factory=dict)          # resume times of waves (as published), each with the instant of asking
    open: bool = False                                           # something was asked for, and not withdrawn
    expected: list[int] = field(default_factory=list)            # branches that are to resume next, in this order
    wave: tuple[int, int] | None = None                          # (resume time, index) of the last branch that resumed at this instant
    resumed_at: int = -1

    def finished(self) -> list[str]:
        """The rules by which it ends."""
        p, of = self.k.parallel, len(self.k.parallel.branches)
        enough = self.succeeded >= of or (p.needed is not None and self.succeeded >= p.needed)
        tests = {"SDK-7": enough, "SDK-8": self.failed > p.tolerated, "SDK-9": self.succeeded + self.failed == of}
        return [rule for rule, holds in tests.items() if holds]

    def attends(self) -> None:
        """It attends to an event: what had to be done before?"""
        for rule in self.finished():
            self.report(rule)
        if self.fresh < len(self.k.parallel.branches) and len(self.holding) < (self.k.parallel.at_once or len(self.k.parallel.branches)):
            self.report("SDK-10")
            self.report("SDK-12")
        if self.expected:
            self.report("SDK-15")

    def takes(self, event: Sequence[Any]) -> None:
        self.attends()
        match event:
            case ("ended", int(i), Suspended() as until):
                self.asleep[i] = until
            case ("ended", int(i), Refused()):
                pass
            case ("ended", int(i), error):
                self.holding.discard(i)
                self.succeeded += error is None
                self.failed += error is not None
            case ("resumed", ids):
                self.expected = sorted(i for i, until in self.asleep.items() if until.id in ids)
                if len({self.asleep[i].key for i in self.expected}) > 1:
                    self.report("SDK-15")

    def starts(self, i: int) -> None:
        if i not in self.asleep:
            if i != self.fresh:
                self.report("SDK-10")
            self.fresh += 1
            self.holding.add(i)
            if len(self.holding) > (self.k.parallel.at_once or len(self.k.parallel.branches)):
                self.report("SDK-11")
                self.report("SDK-12")
            return
        until, now = self.asleep.pop(i), self.k.host.now
        if not self.k.published:
            if self.expected[:1] != [i]:
                self.report("SDK-15")
            del self.expected[:1]
            return
        rule = "SDK-17" if self.k.scheduled else "SDK-18"
        if self.wave and self.resumed_at == now and self.wave > (until.when, i):
            self.report(rule)
        if now < until.when + self.trip:
            self.report("SDK-16" if self.k.scheduled else "SDK-18")
        if self.k.scheduled and any(other.when < until.when for other in self.asleep.values()):
            self.report("SDK-16")
        self.wave, self.resumed_at = (until.when, i), now
        if until.when not in [other.when for other in self.asleep.values()]:
            self.asked.pop(until.when, None)

    @property
    def trip(self) -> int:
        service = self.k.host.scenario.service
        return service.out + service.back

    def asks(self, id: str, i: int, key: int | None, due: int | None) -> None:
        self.open = True
        until = self.asleep.get(i)
        if not self.k.published:
            if until is None or (until.id, until.key, until.due) != (id, key, due):
                self.report("SDK-13")
        elif until is None or due != until.when or due in self.asked:
            self.report("SDK-14")
        else:
            self.asked[due] = self.k.host.now

    def slept(self) -> None:
        """It has attended to a branch that suspends."""
        if self.k.published and self.k.scheduled and any(until.when not in self.asked for until in self.asleep.values()):
            self.report("SDK-14")
        if not self.k.published and not self.open and self.asleep:
            self.report("SDK-13")

    def leaves(self, error: BaseException | None) -> None:
        if error is None and not self.finished():
            for rule in ("SDK-7", "SDK-8", "SDK-9"):
                self.report(rule)
        if isinstance(error, Suspended) and (len(self.asleep) < len(self.holding) or error.when > min(until.when for until in self.asleep.values())):
            self.report("SDK-19")
        if self.open:
            self.report("SDK-21" if self.k.published else "SDK-20")


def tries_of(works: Sequence[Work], path: str = "") -> Iterator[tuple[str, int]]:
    """How often each step is tried again."""
    for one in works:
        op = path + one.name
        match one:
            case Step():
                yield op, one.retries
            case Poll():
                yield op, one.in_vain
            case Child():
                yield from tries_of(one.work, f"{op}/")
            case Parallel():
                for i, branch in enumerate(one.branches):
                    yield from tries_of(branch, f"{op}.{i}/")


def durations(works: Sequence[Work]) -> Iterator[int]:
    for one in works:
        match one:
            case Step() | Poll():
                yield one.delay
            case Wait():
                yield one.duration
            case Child():
                yield from durations(one.work)
            case Parallel():
                for branch in one.branches:
                    yield from durations(branch)


def lost(error: object, profile: v.Profile) -> bool:
    """Was the branch told, as published, that the right to the execution is lost?"""
    return isinstance(error, Refused) and str(error) in ("suspended", "revoked") and isinstance(profile.discipline, v.Shipped)


def watch(profile: v.Profile, scenario: Scenario, seed: int | None = None) -> tuple[set[str], Run]:
    """Play it: the rules that were broken."""
    broken: set[str] = set()
    by_coordinator: dict[Coordinator, Watched] = {}
    by_owner: dict[str, Watched] = {}
    tries, lasts, again = dict(tries_of(scenario.work)), set(durations(scenario.work)), dict.fromkeys([""], 0)
    suspended: set[Suspended] = set()
    run, take, start, spawn, submit, refresh, cancel = Coordinator.run, Coordinator.take, Coordinator.start, World.spawn, World.submit, World.refresh, World.cancel

    async def watched_run(k: Coordinator) -> None:
        by_coordinator[k] = by_owner[k.op] = one = Watched(k, broken.add)
        try:
            await run(k)
        except Ended as error:
            one.leaves(error)
            raise
        one.leaves(None)

    def watched_take(k: Coordinator, event: Any) -> None:
        by_coordinator[k].takes(event)
        try:
            take(k, event)
        except Refused:
            if event[0] == "ended" and lost(event[2], profile):
                broken.add("SDK-22")
            raise
        match event:
            case ("ended", _, Suspended() as until):
                by_coordinator[k].slept()
                if not profile.waits_are_retimed and k.host.state[until.id.rpartition("#")[0]].end != until.key:
                    broken.add("SDK-3")

    def watched_start(k: Coordinator, i: int) -> None:
        by_coordinator[k].starts(i)
        start(k, i)

    def watched_spawn(world: World, code: Code, done: Callable[[Ended | None], None]) -> None:
        def ended(error: Ended | None) -> None:
            if isinstance(error, Suspended) and error not in suspended:
                suspended.add(error)
                stamped = max(world.now, (world.state[error.id.rpartition("#")[0]].end or 0) - scenario.service.hint)
                if profile.waits_are_retimed and error.due != stamped and (error.due or 0) - world.now not in lasts:
                    broken.add("SDK-4")
            done(error)

        spawn(world, code, ended)

    async def watched_submit(world: World, op: str, action: Any, **options: Any) -> None:
        if action and op in world.state and world.state[op].status in ("succeeded", "failed"):
            broken.add("SDK-1" if world.state[op].status == "succeeded" else "SDK-2")
        again[op] = again.get(op, 0) + (action == "retry")
        if op in tries and (again[op] > tries[op] or (action in ("succeed", "fail") and again[op] < tries[op])):
            broken.update(("SDK-5", "SDK-6"))
        await submit(world, op, action, **options)

    def watched_refresh(world: World, id: str, owner: str, index: int, key: int | None, due: int | None) -> None:
        by_owner[owner].asks(id, index, key, due)
        refresh(world, id, owner, index, key, due)

    def watched_cancel(world: World, owner: str) -> None:
        by_owner[owner].open = False
        cancel(world, owner)

    with pytest.MonkeyPatch.context() as patch:
        for kind, name, function in ((Coordinator, "run", watched_run), (Coordinator, "take", watched_take), (Coordinator, "start", watched_start), (World, "spawn", watched_spawn),
                                     (World, "submit", watched_submit), (World, "refresh", watched_refresh), (World, "cancel", watched_cancel)):  # fmt: skip
            patch.setattr(kind, name, function)
        return broken, simulation.simulate(profile, scenario, seed=seed)


def every() -> Iterator[tuple[Scenario, int | None]]:
    """The built-in scenarios, then drawn ones."""
    for make in dict.fromkeys(scenarios.SCENARIOS.values()):
        yield make(), None
    for seed in range(150):
        yield drawn(random.Random(seed)), random.Random(seed).choice([None, seed])


@pytest.mark.parametrize("profile", v.PROFILES)
def test_all_of_them_hold(profile: str) -> None:
    for scenario, seed in every():
        broken, run = watch(v.PROFILES[profile], scenario, seed)
        assert broken == set(), (scenario.name, seed)
        assert run.lines() == simulation.simulate(v.PROFILES[profile], scenario, seed=seed).lines(), "watching changes nothing"


# each with a mistake -------------------------------------------------------------------------------------------------------
def backwards(k: Coordinator, due: int) -> bool:
    k.resume(sorted((i for i, until in k.asleep.items() if until.when == due), reverse=True))
    return True


def only_one(k: Coordinator, due: int) -> bool:
    """Of a wave; the others go with the next."""
    k.resume(sorted(i for i, until in k.asleep.items() if until.when >= due))
    return True


def last_first(k: Coordinator) -> bool | None:
    if not k.waiting or not k.slots:
        return None
    k.slots -= 1
    k.start(k.waiting.pop())
    return True


def gives_up_its_slot(k: Coordinator, i: int, until: Suspended) -> bool:
    k.running -= 1
    k.slots += 1
    k.asleep[i] = until
    return True


def gives_two_back(k: Coordinator, error: Ended | None) -> bool:
    k.running -= 1
    k.slots += 2
    k.succeeded += error is None
    k.failed += error is not None
    return True


def nothing(*_: Any) -> None:
    return None


def asks_later(k: Coordinator, i: int, until: Suspended) -> bool | None:
    if not k.published:
        k.host.refresh(until.id, k.op, i, None if until.key is None else until.key + 1, until.due)
    return None if k.published else True


def asks_again(k: Coordinator, i: int, until: Suspended) -> bool:
    k.host.refresh(f"{until.id}!", k.op, i, None, until.when)
    return coordinator_ask_for_wave(k, i, until) or False


def in_any_order(k: Coordinator, ids: Sequence[str]) -> bool:
    k.resume([i for id in reversed(ids) for i, until in k.asleep.items() if until.id == id])
    return True


def too_early(k: Coordinator) -> int | None:
    return max(k.waves) if k.waves and min(k.waves) <= k.host.now else None


def by_index(k: Coordinator) -> list[int] | None:
    return sorted((i for i, until in k.asleep.items() if until.when <= k.host.now), reverse=True) or None


def from_now(host: Host, op: str) -> Suspended | None:
    pending = host.state[op]
    return None if host.profile.waits_are_retimed else Suspended(pending.attempt(op), (pending.end or 0) + 1, None)


def earlier(host: Host, op: str, full: int | None) -> Suspended:
    return Suspended(host.state[op].attempt(op), None, host.now + 1)


coordinator_ask_for_wave = coordinator.ask_for_wave
#: rule -> where it is, a profile, and what it does instead.
TEETH: dict[str, tuple[Any, str, str, Callable[..., Any]]] = {
    "SDK-1": (sdk, "already_done", "slotwise", nothing),
    "SDK-2": (sdk, "already_failed", "slotwise", nothing),
    "SDK-3": (sdk, "until_its_end", "slotwise", from_now),
    "SDK-4": (sdk, "re_timed", "aws-durable-3.0.0", earlier),
    "SDK-5": (sdk, "tried_again", "slotwise", lambda tries, retries: True if tries + 1 < retries else None),
    "SDK-6": (sdk, "tries", "slotwise", lambda poll: Step(name=poll.name, body=poll.body, retries=poll.in_vain + 1, delay=poll.delay)),
    "SDK-7": (coordinator, "has_enough", "slotwise", lambda of, needed, succeeded: succeeded >= of),
    "SDK-8": (coordinator, "too_many_failed", "slotwise", lambda k: True if k.failed > k.parallel.tolerated + 1 else None),
    "SDK-9": (coordinator, "all_ended", "slotwise", lambda k: True if k.succeeded + k.failed >= k.of - 1 else None),
    "SDK-10": (coordinator, "start_next", "slotwise", last_first),
    "SDK-11": (coordinator, "keep_slot", "slotwise", gives_up_its_slot),
    "SDK-12": (coordinator, "give_back", "slotwise", gives_two_back),
    "SDK-13": (coordinator, "ask", "slotwise", asks_later),
    "SDK-14": (coordinator, "ask_for_wave", "aws-durable-3.0.0", asks_again),
    "SDK-15": (coordinator, "go_on", "slotwise", in_any_order),
    "SDK-16": (coordinator, "next_wave", "aws-durable-3.0.0", too_early),
    "SDK-17": (coordinator, "resume_wave", "aws-durable-3.0.0", backwards),
    "SDK-18": (coordinator, "due_together", "aws-durable-2.0.0", by_index),
    "SDK-19": (coordinator, "until_the_first", "slotwise", lambda k: max(k.asleep.values(), key=lambda until: until.when)),
    "SDK-20": (coordinator, "withdraw", "slotwise", nothing),
    "SDK-21": (coordinator, "withdraw_waves", "aws-durable-3.0.0", nothing),
    "SDK-22": (coordinator, "sleeps_for_ever", "aws-durable-3.0.0", nothing),
}  # fmt: skip


@pytest.mark.parametrize("rule", TEETH)
def test_a_rule_with_a_mistake_is_noticed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, profile, instead = TEETH[rule]
    monkeypatch.setattr(module, function, instead)
    assert any(rule in watch(v.PROFILES[profile], scenario, seed)[0] for scenario, seed in every())


def test_each_has_a_mistake() -> None:
    assert TEETH.keys() == RULES.keys()


def test_a_wave_that_takes_others_along_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """SDK-16: who wakes later waits for a refresh of its own."""
    monkeypatch.setattr(coordinator, "resume_wave", only_one)
    assert "SDK-16" in watch(v.PROFILES["aws-durable-3.0.0"], scenarios.find("F09"))[0]
