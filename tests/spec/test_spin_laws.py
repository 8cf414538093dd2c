"""The laws of spinning: `slotwise` breaks none in random lives, the published pools break the listed ones, and each law and invariant has teeth."""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from slotwise.spec import rules, spin, spin_barrier, spin_dispatcher, spin_policy, spin_pool, spin_window, spin_worker
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.spin_invariants import INVARIANTS, Transition
from slotwise.spec.spin_invariants import broken as broken_invariants
from slotwise.spec.spin_judge import Judge
from slotwise.spec.spin_laws import KNOWN_HAZARDS, LAWS
from slotwise.spec.vocabulary import Observation

from .spin_walk import Life

SLOTWISE = v.PROFILES["slotwise"]
replace = msgspec.structs.replace
#: Other policies with everything else as in `slotwise`; one that does not know what a park costs is not competitive.
OTHERS = {d.__class__.__name__: replace(SLOTWISE, discipline=d) for d in (v.Ratchet(), v.Fixed(), v.BreakEven(latency=300), v.Average(), v.Guarded(latency=2048))}
Saw = list[Observation]


def broken(profile: v.Profile, seed: int, commands: int = 150, *, stranger: bool = False, decided: Counter[str] | None = None, change: Callable[[v.Command, Saw], Saw] | None = None) -> set[str]:
    def see(command: v.Command, saw: Saw) -> None:
        if decided is not None:
            decided.update(rules.decided)
        judge.step(command, change(command, saw) if change else saw)

    life = Life(profile, seed, see)
    judge = Judge(None if stranger else life.profile, life.setup)
    life.live(commands)
    return set(judge.broken)


@pytest.mark.parametrize("name", v.PROFILES)
def test_breaks_the_laws_that_are_listed_and_no_others(name: str) -> None:
    decided: Counter[str] = Counter()
    found: set[str] = set()
    for seed in range(200):
        found |= broken(v.PROFILES[name], seed, decided=decided)
    assert found == KNOWN_HAZARDS[name]
    assert decided.keys() == {rule.id for rule in rules.RULES.values() if rule.id.startswith("SPN") and rule.of(v.PROFILES[name])}


@pytest.mark.parametrize("name", OTHERS)
def test_any_policy_keeps_them(name: str) -> None:
    found = set().union(*(broken(OTHERS[name], seed, 100) for seed in range(80)))
    assert found <= (set() if name in ("BreakEven", "Guarded") else {"LAW-70"})


def test_the_bounds_of_the_yields_hold_for_a_deadline_that_is_strided_too() -> None:
    strided = replace(SLOTWISE, deadline_strided=True)
    assert set().union(*(broken(strided, seed, 100) for seed in range(60))) <= {"LAW-58", "LAW-59", "LAW-62", "LAW-66", "LAW-68"}


@pytest.mark.parametrize("name", [*v.PROFILES, *OTHERS])
def test_invariants_hold(name: str) -> None:
    for seed in range(25):
        invariants_in({**v.PROFILES, **OTHERS}[name], seed)


def invariants_in(profile: v.Profile, seed: int) -> None:
    def see(command: v.Command, saw: Saw) -> None:
        states.append(spin.state(life.model))
        assert broken_invariants(Transition(life.profile, life.setup, states[-2], command, saw, states[-1])) == []

    life = Life(profile, seed, see)
    states = [spin.state(life.model)]
    life.live(100)


def test_every_word_is_seen() -> None:
    words: set[object] = set()
    for seed in range(200):
        Life(SLOTWISE, seed, lambda _, saw: words.update(word[0] for word in saw)).live(100)
    assert words == v.SEEN.keys()


# teeth: a broken rule shows its law ---------------------------------------------------------------------------------------
def nothing(*_: Any, **__: Any) -> None:
    return None


def always(*_: Any, **__: Any) -> bool:
    return True


def yields_late(p: v.Profile, w: spin_window.Window, s: spin_window.Seams, elapsed: int) -> Any:
    if elapsed < w.q:
        return None
    spin_window.give_way(w, s)
    w.q = elapsed + p.yield_interval // 2
    return "goes on"


def over_at_the_second_look(w: spin_window.Window, elapsed: int) -> Any:
    return "expired" if elapsed >= w.length and w.reads % 2 == 0 else None


def claims_twice(pool: spin_pool.Pool, actor: Any, slot: int) -> Observation | None:
    left = pool.slots[slot].claim
    if left < 1:
        return None
    actor.at = "running"
    return ("took", actor.name, slot, left - 1)


def sleeps_anyway(pool: spin_pool.Pool, w: spin_pool.Worker) -> Observation:
    pool.sleepers.append(w.name)
    w.at = "asleep"
    return ("slept", w.name)


def never_sleeps(pool: spin_pool.Pool, w: spin_pool.Worker) -> Observation | None:
    return None


def publishes_early(pool: spin_pool.Pool, d: spin_pool.Dispatcher) -> Observation:
    word = d.at
    if word == "claim":
        pool.active, d.at = pool.active | 1 << d.slot, "active"
        return ("wrote", d.name, d.slot, "active")
    if word == "active":
        pool.slots[d.slot].claim, d.at = d.total, "epoch"
        return ("wrote", d.name, d.slot, "claim")
    return right_write(pool, d)


right_write = spin_dispatcher.write


def no_pre_check(pool: spin_pool.Pool, actor: Any, slot: int) -> Observation | None:
    return None


def forgets_the_panic(pool: spin_pool.Pool, actor: Any, slot: int, panics: bool) -> Observation:
    return right_end(pool, actor, slot, False)


right_end = spin_pool.end


def finishes_at_once(pool: spin_pool.Pool, d: spin_pool.Dispatcher) -> bool:
    d.at = "inactive"
    return True


def stays_in(pool: spin_pool.Pool, w: spin_pool.Worker) -> Observation | None:
    return None


def takes_any_slot(free: int, hint: int, slots: int) -> int:
    return 0


def anew(pool: spin_pool.Pool, w: spin_pool.Worker, at: int) -> Saw:
    w.at = "window"
    spin_worker.begin_stretch(w, at)
    spin_worker.enters(pool, w)
    return [("nothing_new", w.name)]


def grows_for_ever(m: spin_policy.Memory, park: int) -> int:
    return 3 * park


def parks_late(pool: spin_pool.Pool, w: spin_pool.Worker) -> Observation:
    w.expired, w.at = True, "wait"
    return ("expired", w.name, w.window.length)


def no_last_look(pool: spin_pool.Pool, at: int) -> None:
    return None


def never_gives_way(pool: spin_pool.Pool, d: spin_pool.Dispatcher, passes: spin_pool.Passes) -> None:
    return None


def floods(p: v.Profile, w: spin_window.Window, s: spin_window.Seams) -> Any:
    spin_window.give_way(w, s)
    return "goes on"


def only_pauses(pool: spin_pool.Pool, passes: spin_pool.Passes) -> bool:
    passes.pauses += 1
    return True


def built_at_once(pool: spin_pool.Pool) -> Observation:
    pool.builder.at = "built"
    return ("built", len(pool.workers))


def announces_nine(pool: spin_pool.Pool, w: spin_pool.Worker, at: int) -> Observation:
    w.at = "top"
    return ("announced", w.name, 9)


def epoch_stands(epoch: int) -> int:
    return epoch


def skips_one(active: int, number: int, slots: int) -> list[int]:
    return right_turn(active, number, slots)[1:]


right_turn = spin_worker.in_turn

#: (what is broken, where, how) -> laws of which one at least must say so.
MISTAKES: dict[str, tuple[Any, str, Any, set[str]]] = {
    "time goes back": (spin, "time_reversed", nothing, {"LAW-72"}),
    "the deadline is missed": (spin_window, "over", over_at_the_second_look, {"LAW-59"}),
    "yields too often": (spin_window, "yields", yields_late, {"LAW-60"}),
    "never yields": (spin_window, "yields", nothing, {"LAW-62"}),
    "yields first": (spin_window, "yields_first", floods, {"LAW-60", "LAW-61"}),
    "reads rarely": (spin_window, "looks_rarely", lambda p, w: True if w.n % p.stride else None, {"LAW-58", "LAW-66"}),
    "a shutdown is not seen": (spin_window, "shutdown_seen", nothing, {"LAW-84", "LAW-65"}),
    "a publication is not seen": (spin_window, "publication_seen", nothing, {"LAW-84", "LAW-65"}),
    "takes twice": (spin_pool, "take", claims_twice, {"LAW-75"}),
    "sleeps anyway": (spin_worker, "sleeps", sleeps_anyway, {"LAW-83"}),
    "never sleeps": (spin_worker, "sleeps", never_sleeps, {"LAW-83"}),
    "active before the claim": (spin_dispatcher, "write", publishes_early, {"LAW-73"}),
    "no look before the claim": (spin_pool, "nothing_left", no_pre_check, {"LAW-80"}),
    "a panic is lost": (spin_pool, "end", forgets_the_panic, {"LAW-88"}),
    "does not wait": (spin_dispatcher, "all_ended", finishes_at_once, {"LAW-79"}),
    "waits for ever": (spin_dispatcher, "all_ended", nothing, {"LAW-79"}),
    "does not leave": (spin_worker, "leaves", stays_in, {"LAW-85"}),
    "a slot of somebody else": (spin_dispatcher, "free_slot", takes_any_slot, {"LAW-78"}),
    "dispatches while busy": (spin_dispatcher, "busy", nothing, {"LAW-78"}),
    "begins anew": (spin_worker, "nothing_new", anew, {"LAW-63", "LAW-64"}),
    "too long a window": (spin_policy, "follow", grows_for_ever, {"LAW-57"}),
    "has no guard": (spin_policy, "guarded", nothing, {"LAW-70"}),
    "parks are not counted": (spin_worker, "park", parks_late, {"LAW-92"}),
    "catches are not counted": (spin_worker, "useful_catch", nothing, {"LAW-93"}),
    "the barrier has no end": (spin_barrier, "time_is_up", no_last_look, {"LAW-91"}),
    "the barrier does not yield": (spin_barrier, "pauses", only_pauses, {"LAW-91"}),
    "built too early": (spin_barrier, "everybody_is_ready", built_at_once, {"LAW-90"}),
    "stragglers starve": (spin_dispatcher, "gives_way", never_gives_way, {"LAW-89"}),
    "the epoch stands": (spin_dispatcher, "next_epoch", epoch_stands, {"LAW-76"}),
    "wakes nobody": (spin_dispatcher, "needed", lambda total, sleepers: 0, {"LAW-86"}),
    "wakes all": (spin_dispatcher, "needed", lambda total, sleepers: sleepers, {"LAW-87"}),
    "looks past a slot": (spin_worker, "in_turn", skips_one, {"LAW-74"}),
    "does not look again": (spin_worker, "again", nothing, {"LAW-82"}),
    "one ready too many": (spin_worker, "announce", announces_nine, {"LAW-81"}),
    "gaps are not carried": (spin_policy, "every_catch_counts", always, {"LAW-69"}),
    "a stride is nothing": (spin_window, "only_pauses", nothing, {"LAW-58", "LAW-66"}),
}  # fmt: skip


def loose(module: Any, name: str, monkeypatch: pytest.MonkeyPatch, mistake: Any) -> None:
    """In every module that has taken the name over."""
    right = getattr(module, name)
    for other in (spin, spin_barrier, spin_dispatcher, spin_policy, spin_pool, spin_window, spin_worker):
        if getattr(other, name, None) is right:
            monkeypatch.setattr(other, name, mistake)


def found(sought: set[str], **how: Any) -> set[str]:
    """The laws broken in lives, until those sought are among them."""
    laws: set[str] = set()
    for seed in range(60):
        if sought <= laws:
            break
        laws |= broken(SLOTWISE, seed, **how)
    return laws


@pytest.mark.parametrize("name", MISTAKES)
def test_a_broken_rule_shows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, function, mistake, laws = MISTAKES[name]
    loose(module, function, monkeypatch, mistake)
    assert laws <= found(laws)


def told(word: str, how: Callable[[Sequence[Any]], Sequence[Any]]) -> Callable[[v.Command, Saw], Saw]:
    def change(_: v.Command, saw: Saw) -> Saw:
        return [tuple(how(seen)) if seen[0] == word else seen for seen in saw]

    return change


#: What a stranger might tell -> the law that says so.
LIES: dict[str, tuple[Callable[[v.Command, Saw], Saw], str]] = {
    "another word": (told("slept", lambda seen: ("sleeps", *seen[1:])), "LAW-71"),
    "nobody parked": (told("wakes", lambda seen: (*seen[:2], 1, "w9")), "LAW-77"),
    "too late": (told("outcome", lambda seen: (*seen[:5], int(str(seen[5])) + 10**6)), "LAW-68"),
    "too many yields": (told("outcome", lambda seen: (*seen[:3], 10**6, *seen[4:])), "LAW-67"),
    "another window": (told("waited", lambda seen: (*seen[:3], 9)), "LAW-69"),
    "counted twice": (told("counters", lambda seen: (*seen[:4], int(str(seen[4])) + 1, *seen[5:])), "LAW-92"),
}  # fmt: skip


@pytest.mark.parametrize("name", LIES)
def test_a_lie_shows(name: str) -> None:
    change, law = LIES[name]
    assert law in found({law}, change=change)


def test_whatever_a_stranger_tells_is_judged() -> None:
    """The judge says what is broken, or goes silent; it never fails."""
    pick = random.Random(7)

    def garbled(_: v.Command, saw: Saw) -> Saw:
        if pick.random() < 0.98:
            return saw
        seen = list(saw)
        kind = pick.randrange(4)
        if kind == 0 and seen:
            del seen[pick.randrange(len(seen))]
        elif kind == 1 and seen:
            seen.insert(pick.randrange(len(seen)), pick.choice(seen))
        elif kind == 2 and seen:
            i = pick.randrange(len(seen))
            seen[i] = tuple(pick.choice([0, 1, 3, "w0", "d0", "claim", part]) if pick.random() < 0.5 else part for part in seen[i])
        else:
            seen.append((pick.choice([*v.SEEN]), pick.choice(["w0", "d0", v.BUILDER, 1]), *(pick.choice([0, 1, "claim", "inactive"]) for _ in range(pick.randrange(4)))))
        return seen

    laws = set().union(*(broken(SLOTWISE, seed, change=garbled) for seed in range(200)))
    assert {"LAW-71", "LAW-73"} <= laws


def test_every_law_has_teeth() -> None:
    shown = set().union(*(laws for *_, laws in MISTAKES.values()), (law for _, law in LIES.values()))
    assert shown == LAWS.keys()


def test_a_stranger_is_held_to_what_slotwise_has() -> None:
    assert broken(SLOTWISE, 3, stranger=True) == set() or Life(SLOTWISE, 3, nothing).profile != SLOTWISE


# teeth of the invariants ----------------------------------------------------------------------------------------------------
UP = {"w0": {"at": "top"}, "w1": {"at": "top"}}


def state_of(**parts: Any) -> dict[str, Any]:
    return {"now": 100, "workers": UP, "builder": {"at": "built"}, **parts}


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "INV-12": (state_of(counters={"tasks": 2}), state_of(counters={"tasks": 1})),
    "INV-13": (state_of(), state_of(active=1)),
    "INV-14": (state_of(), state_of(taken=1, active=1, slots={"0": {"remaining": 2, "claim": 1}}, dispatchers={"d": {"at": "scan", "total": 2}})),
    "INV-15": (state_of(), state_of(sleepers=["w0"])),
    "INV-16": (state_of(), state_of(epoch=2, sleepers=["w0"], workers={"w0": {"at": "asleep", "last": 1}, "w1": {"at": "top"}})),
    "INV-17": (state_of(), state_of(workers={**UP, "w0": {"at": "window", "window": {"n": 64}}})),
    "INV-18": (state_of(), state_of(workers={**UP, "w0": {"at": "window", "window": {"n": 5000, "reads": 967, "y": 1, "q": 10**6}}})),
    "INV-19": (state_of(), state_of(lone={"memory": {"window": 30_000}})),
    "INV-20": (state_of(), state_of(lone={"memory": {"guard": 12 * 68_300}})),
    "INV-21": (state_of(), state_of(counters={"parks": 1})),
    "INV-22": (state_of(workers={"w0": {"at": "window", "entered": 1, "window": {"length": 5}}}), state_of(workers={"w0": {"at": "window", "entered": 1, "window": {"length": 6}}})),
}  # fmt: skip


@pytest.mark.parametrize("id", INVARIANTS)
def test_an_invariant_has_teeth(id: str) -> None:
    profile = OTHERS["Ratchet"] if id == "INV-19" else SLOTWISE
    before, after = WRONG[id]
    if id == "INV-19":
        before, after = ({**state, "workers": {name: {**worker, "memory": {"window": 40_000}} for name, worker in state["workers"].items()}} for state in (before, after))
    assert id in [found for found, _ in broken_invariants(Transition(profile, v.Setup(), before, v.Counters(at=100), [], after))]
