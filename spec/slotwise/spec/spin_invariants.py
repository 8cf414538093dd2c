"""Invariants of spinning: what holds in every state of a pool that the rules can reach, whatever the commands. As in `invariants`."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slotwise.spec import spin_vocabulary as v
from slotwise.spec.rules import GUARDED, RATCHET, SPIN
from slotwise.spec.spin_policy import price_of_a_park
from slotwise.spec.vocabulary import Observation, State


@dataclass(frozen=True, slots=True)
class Transition:
    profile: v.Profile
    setup: v.Setup
    before: State
    command: v.Command
    saw: list[Observation]
    after: State

    def part(self, name: str, *, before: bool = False) -> Any:
        return (self.before if before else self.after).get(name, {})

    def number(self, name: str) -> int:
        return int(str(self.after.get(name, 0)))

    def memories(self) -> dict[str, Any]:
        """What each worker has learned, and the lone one."""
        return {name: worker.get("memory", {}) for name, worker in [*self.part("workers").items(), ("the lone worker", self.part("lone"))]}

    @property
    def park(self) -> int:
        d = self.profile.discipline
        return price_of_a_park(self.setup.park, self.setup.wake, self.setup.catch, d.latency if isinstance(d, v.BreakEven | v.Guarded) else 0)


@dataclass(frozen=True, slots=True)
class Invariant:
    id: str
    prose: str
    source: str
    disciplines: tuple[str, ...]
    off: str | None
    broken: Callable[[Transition], str | None]

    def of(self, profile: v.Profile) -> bool:
        return type(profile.discipline).__struct_config__.tag in self.disciplines and not (self.off and getattr(profile, self.off))


INVARIANTS: dict[str, Invariant] = {}


def invariant(id: str, *, source: str, of: tuple[str, ...] = SPIN, off: str | None = None) -> Callable[[Callable[[Transition], str | None]], Callable[[Transition], str | None]]:
    """Register a predicate, which says what is broken, or None. `off`: a switch with which it need not hold."""

    def register(broken: Callable[[Transition], str | None]) -> Callable[[Transition], str | None]:
        INVARIANTS[id] = Invariant(id, " ".join((broken.__doc__ or "").split()), source, of, off, broken)
        return broken

    return register


def broken(transition: Transition) -> list[tuple[str, str]]:
    """(id, what is broken) of every invariant of the profile that does not hold."""
    found = ((i.id, i.broken(transition)) for i in INVARIANTS.values() if i.of(transition.profile))
    return [(id, what) for id, what in found if what]


@invariant("INV-12", source="spin 1.7")
def counters_never_fall(t: Transition) -> str | None:
    """No counter falls, and a dispatcher's tasks are tasks."""
    before, after = t.part("counters", before=True), t.part("counters")
    if after.get("tasks_by_dispatcher", 0) > after.get("tasks", 0):
        return f"{after}"
    return next((f"{name}: {value} -> {after.get(name, 0)}" for name, value in before.items() if after.get(name, 0) < value), None)


@invariant("INV-13", source="spin 1.3, 1.5")
def active_is_held(t: Transition) -> str | None:
    """Only a slot that a dispatcher holds is active, and no two hold the same."""
    holders = [d.get("slot", 0) for d in t.part("dispatchers").values() if "at" in d]
    taken = sum(1 << slot for slot in set(holders))
    wrong = len(set(holders)) < len(holders) or t.number("active") & ~taken or t.number("taken") != taken
    return f"held {sorted(holders)}, taken {t.number('taken'):b}, active {t.number('active'):b}" if wrong else None


@invariant("INV-14", source="spin 1.4; issue 4")
def each_task_is_somewhere(t: Transition) -> str | None:
    """Of each published fan-out, the tasks that remain are those that can be claimed and those that somebody runs: none is lost, none is run twice."""
    running: Counter[int] = Counter()
    for worker in t.part("workers").values():
        if worker["at"] in ("running", "settle"):
            running[worker["todo"][0]] += 1
    for d in t.part("dispatchers").values():
        if d.get("at") in ("running", "settle"):
            running[d.get("slot", 0)] += 1
    for name, d in t.part("dispatchers").items():
        if d.get("at") not in (None, "remaining", "stamp", "claim"):
            slot = t.part("slots").get(str(d.get("slot", 0)), {})
            remain, claimable = slot.get("remaining", 0), max(0, slot.get("claim", 0))
            if remain != claimable + running[d.get("slot", 0)]:
                return f"{name}: {remain} remain, {claimable} can be claimed, {running[d.get('slot', 0)]} run"
    return None


@invariant("INV-15", source="spin 1.5 W6")
def sleepers_are_parked(t: Transition) -> str | None:
    """Those that a publication may wake are those that are parked, each once; after a shutdown nobody is."""
    asleep = sorted(name for name, worker in t.part("workers").items() if worker["at"] == "asleep")
    sleepers = sorted(t.after.get("sleepers", []))      # type: ignore[call-overload]
    return f"{sleepers}, and {asleep} are parked" if sleepers != asleep or (asleep and t.after.get("shutdown")) else None


@invariant("INV-16", source="spin 1.5 W6; issue 4")
def parks_with_the_present_epoch(t: Transition) -> str | None:
    """Who parks has stored the epoch that there is: the next one will wake it, or somebody in its place."""
    before = t.part("workers", before=True)
    parked = [name for name, worker in t.part("workers").items() if worker["at"] == "asleep" != before[name]["at"]]
    return next((f"{name} parks with {t.part('workers')[name].get('last', 0)}" for name in parked if t.part("workers")[name].get("last", 0) != t.number("epoch")), None)


@invariant("INV-17", source="spin 2.1 I8", off="deadline_strided")
def readings_follow_from_passes(t: Transition) -> str | None:
    """In each window the clock was read as often as its passes say."""
    p = t.profile
    for name, worker in t.part("workers").items():
        n, reads = (worker.get("window", {}).get(word, 0) for word in ("n", "reads"))
        if reads != (n // p.stride if n < p.budget else (p.budget - 1) // p.stride + n - (p.budget - 1)):
            return f"{name}: {reads} readings in {n} passes"
    return None


@invariant("INV-18", source="spin 2.1 I1, I5, I6", off="yields_unbounded")
def yields_are_due(t: Transition) -> str | None:
    """In each window the next yield is due an interval after a reading of it, and from the first on the yields fit into the time."""
    for name, worker in t.part("workers").items():
        w, elapsed = worker.get("window", {}), t.number("now") - worker.get("since", 0)
        q, y, n = (w.get(word, 0) for word in ("q", "y", "n"))
        if q > elapsed + t.profile.yield_interval or (y == 0) != (q == 0) or q < y * t.profile.yield_interval or (y > 0 and n < t.profile.budget):
            return f"{name}: {y} yields, the next at {q}, after {elapsed}, in {n} passes"
    return None


@invariant("INV-19", source="spin 2.1 I15, 2.4", of=RATCHET)
def ratchet_within_bounds(t: Transition) -> str | None:
    """The ratchet's window is one that doubling from the floor and halving from the cap can reach: with the published bounds, one of ten."""
    d = t.profile.discipline
    assert isinstance(d, v.Ratchet)
    windows = {d.floor}
    left = [d.floor]
    while left:
        w = left.pop()
        new = {min(2 * w, d.cap), max(w // 2, d.floor)} - windows
        windows |= new
        left += new
    return next((f"{name}: {m.get('window')}" for name, m in t.memories().items() if m.get("window") not in windows), None)


@invariant("INV-20", source="spin 5.4; issue 4", of=GUARDED)
def guard_within_bounds(t: Transition) -> str | None:
    """The guard never exceeds eleven parks: following the leader costs at most so much more than nine eighths of breaking even."""
    return next((f"{name}: {m['guard']} with parks of {t.park}" for name, m in t.memories().items() if not -16 * t.park <= m.get("guard", 0) <= 11 * t.park), None)


@invariant("INV-21", source="spin 1.7; issue 4")
def outcomes_are_a_partition(t: Transition) -> str | None:
    """One command of one worker ends each window once: what was left as caught, expired or by a shutdown is what was counted as parks, or goes on."""
    counted = t.part("counters").get("parks", 0) - t.part("counters", before=True).get("parks", 0)
    told = sum(word[0] == "expired" for word in t.saw)
    return f"{counted} parks for {told} windows" if counted != told else None


@invariant("INV-22", source="issue 4; spin 6.1 class E", off="empty_catch_counts")
def one_window_each(t: Transition) -> str | None:
    """A worker's window stays as long as it is, and its passes only grow, until a task ends the stretch."""
    for name, worker in t.part("workers", before=True).items():
        after = t.part("workers")[name]
        if worker.get("entered") and after.get("entered") and worker.get("since") == after.get("since"):
            old, new = worker.get("window", {}), after.get("window", {})
            if old.get("length") != new.get("length") or old.get("n", 0) > new.get("n", 0):
                return f"{name}: {old} -> {new}"
    return None
