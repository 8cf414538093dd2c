"""The pool: what its threads share, and what any of them does to run the tasks of a slot, all one small step at a time.

A step reads or writes one shared word, or looks at one slot. A fan-out lives in one *slot*: `claim` counts its tasks down as they are taken,
`remaining` as they end. Workers wait on the *epoch*, which every publication moves: a worker parks only if the epoch has not moved
since before its last scan, and the slot is active before the epoch moves, so no wake-up is lost.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from slotwise.spec import spin_policy
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.rules import SPIN, rule
from slotwise.spec.spin_policy import Lone, Memory, Policy
from slotwise.spec.spin_window import Window
from slotwise.spec.vocabulary import Observation

EPOCHS = 1 << 32                 # the epoch wraps
CALLS = 16                       # noted, each at the place of its epoch
Saw = list[Observation]


@dataclass(slots=True)
class Slot:
    claim: int = 0               # tasks that nobody has taken; below 0 if several came too late
    remaining: int = 0           # tasks that have not ended
    panicked: bool = False
    published_at: int = 0


@dataclass(slots=True)
class Worker:
    name: str
    number: int
    memory: Memory
    at: str = "top"              # where it stands: announce, top, scan, take, running, settle, read, window, wait, asleep, woken, gone
    last: int = 0                # the epoch when it last read it to store it
    since: int = 0               # when its stretch began
    entered: bool = False        # this stretch has had a window, and has taught nothing
    expired: bool = False        # ... which is over
    caught: bool = False         # the scan follows a catch
    todo: list[int] = field(default_factory=list)        # slots of the scan, the present one first
    ran: int = 0                 # tasks in this scan
    window: Window = field(default_factory=lambda: Window(0))
    told: int = 0                # yields of the window that are counted


@dataclass(slots=True)
class Dispatcher:
    name: str
    at: str = ""                 # remaining, stamp, claim, active, epoch, wake, scan, take, running, settle, straggling, inactive, unclaim, return; none: no fan-out
    slot: int = 0                # of its fan-out, or of the last
    total: int = 0
    own: int = 0                 # tasks it ran itself
    pauses: int = 0              # while it waits for stragglers
    epoch: int = 0               # of its publication


@dataclass(slots=True)
class Builder:
    at: str = "built"            # barrier, last_look, built
    passes: int = 0
    start: int | None = None


@dataclass(slots=True)
class Pool:
    profile: v.Profile
    setup: v.Setup
    policy: Policy
    workers: dict[str, Worker]
    slots: list[Slot]
    builder: Builder
    lone: Lone
    now: int = 0
    shutdown: bool = False
    epoch: int = 0
    ready: int = 0
    active: int = 0                                              # published slots, as bits
    free: int = 0                                                # slots of nobody, as bits
    sleepers: list[str] = field(default_factory=list)            # as they parked
    calls: dict[int, tuple[int, int]] = field(default_factory=dict)      # publications that woke somebody: epoch and stamp, by place
    counters: Counter[str] = field(default_factory=Counter)
    dispatchers: dict[str, Dispatcher] = field(default_factory=dict)     # every one that ever had a slot

    def actor(self, name: str) -> Worker | Dispatcher | None:
        return self.workers.get(name) or self.dispatchers.get(name)


@dataclass(slots=True)
class Passes:
    """The plain passes of one command that are not told yet, and the seams of a window inside the pool: all passes of a command see the same."""

    pool: Pool
    at: int
    pauses: int = 0
    yields: int = 0
    readings: int = 0
    last: int = 0                # of the worker
    since: int = 0               # the same

    def shut(self) -> bool:
        return self.pool.shutdown

    def moved(self) -> bool:
        return self.pool.epoch != self.last

    def pause(self) -> None:
        self.pauses += 1

    def give_way(self) -> None:
        self.yields += 1

    def read(self) -> int:
        self.readings += 1
        return self.at - self.since


COUNTERS = ("dispatches", "tasks", "tasks_by_dispatcher", "slot_exhausted", "parks", "spin_hits", "panics", "straggler_waits", "straggler_yields", "spin_yields")


def pool(profile: v.Profile, setup: v.Setup) -> Pool:
    """With nothing published. Built: every worker has announced itself at the first epoch, and stands before its first scan."""
    policy = spin_policy.policy(profile, setup)
    workers = {f"w{i}": Worker(f"w{i}", i, policy.memory(), "top" if setup.built else "announce") for i in range(setup.workers)}
    return Pool(
        profile, setup, policy, workers, [Slot() for _ in range(profile.slots)], Builder("built" if setup.built else "barrier"), Lone(policy.memory()),
        ready=setup.workers if setup.built else 0, free=(1 << profile.slots) - 1,
    )  # fmt: skip


# words that several share ------------------------------------------------------------------------------------------
def next_epoch(epoch: int) -> int:
    return (epoch + 1) % EPOCHS


def first_call(calls: dict[int, tuple[int, int]], last: int, epoch: int) -> int | None:
    """When the first of the noted calls after the epoch `last` was published, of those that are still there."""
    behind = (epoch - last) % EPOCHS
    since = [(epoch - back) % EPOCHS for back in reversed(range(min(behind, CALLS)))]
    return next((stamp for e in since for noted, stamp in [calls.get(e % CALLS, (None, 0))] if noted == e), None)


def wake(pool: Pool, number: int) -> list[str]:
    """The first so many of those parked, in the order in which they parked, go on."""
    woken, pool.sleepers = pool.sleepers[:number], pool.sleepers[number:]
    for name in woken:
        leave_the_park(pool, name)
    return woken


def leave_the_park(pool: Pool, name: str) -> None:
    pool.workers[name].at = "woken"


@rule("SPN-22", source="spin 1.4; I13", of=SPIN)
def shut_down(pool: Pool) -> Observation:
    """At a shutdown the epoch moves, so that everybody looks, and all who are parked go on. Fan-outs under way are finished."""
    pool.shutdown, pool.epoch = True, next_epoch(pool.epoch)
    wake(pool, len(pool.sleepers))
    return ("shut_down", pool.epoch)


@rule("SPN-23", source="spin 1.5 W6", of=SPIN)
def stir(pool: Pool, name: str) -> Observation | None:
    """A park may end though nobody ended it: the worker looks again, as if woken."""
    if name not in pool.sleepers:
        return None
    pool.sleepers.remove(name)
    leave_the_park(pool, name)
    return ("stirred", name)


# running a slot, whoever does -----------------------------------------------------------------------------------------
@rule("SPN-24", source="spin 1.4", of=SPIN)
def nothing_left(pool: Pool, actor: Worker | Dispatcher, slot: int) -> Observation | None:
    """A look at the claim tells whether a task is left, and changes nothing: who comes too late does not drive it down."""
    return ("passed", actor.name, slot) if pool.slots[slot].claim < 1 else None


@rule("SPN-25", source="spin 1.4", of=SPIN)
def something_left(actor: Worker | Dispatcher, slot: int) -> Observation:
    """Who sees a task left goes on to take it."""
    actor.at = "take"
    return ("sees", actor.name, slot)


@rule("SPN-26", source="spin 1.4", of=SPIN)
def take(pool: Pool, actor: Worker | Dispatcher, slot: int) -> Observation | None:
    """A claim is counted down by one. What was there is the task's number, counted from 1: it is the actor's alone, and its fan-out is not over before it ends."""
    left, pool.slots[slot].claim = pool.slots[slot].claim, pool.slots[slot].claim - 1
    if left < 1:
        return None
    actor.at = "running"
    return ("took", actor.name, slot, left - 1)


@rule("SPN-27", source="spin 1.4", of=SPIN)
def too_late(actor: Worker | Dispatcher, slot: int) -> Observation:
    """If nothing was left after all, the actor has taken nothing; the claim is below 0 until it is next set."""
    return ("lost", actor.name, slot)


@rule("SPN-28", source="spin 1.4, 1.7", of=SPIN)
def end(pool: Pool, actor: Worker | Dispatcher, slot: int, panics: bool) -> Observation:
    """A task that ends is counted before it is settled, so that whoever sees the fan-out done sees it counted. A panic is kept for the dispatcher."""
    pool.counters["tasks"] += 1
    if panics:
        pool.counters["panics"] += 1
        pool.slots[slot].panicked = True
    actor.at = "settle"
    return ("ended", actor.name, slot)


@rule("SPN-29", source="spin 1.4", of=SPIN)
def settle(pool: Pool, actor: Worker | Dispatcher, slot: int) -> Observation:
    """A settled task is one less for the dispatcher to wait for. Then the same slot is looked at again."""
    pool.slots[slot].remaining -= 1
    actor.at = "scan"
    return ("settled", actor.name, slot, pool.slots[slot].remaining)
