"""A dispatcher: it holds a slot, writes its fan-out there, publishes it, takes part, waits for stragglers, and gives the slot back."""
from __future__ import annotations

from slotwise.spec import spin_vocabulary as v
from slotwise.spec.rules import SPIN, rule
from slotwise.spec.spin_pool import CALLS, Dispatcher, Passes, Pool, Saw, next_epoch, nothing_left, settle, something_left, take, too_late, wake
from slotwise.spec.vocabulary import Observation


def dispatch(pool: Pool, command: v.Dispatch) -> Observation:
    name, d = command.actor, pool.dispatchers.get(command.actor)
    why = nested(pool, name) or not_a_dispatcher(pool, name) or busy(d) or building(pool)
    if not why and command.total == 0:
        return nothing_to_do(name)
    why = why or no_workers(pool) or after_the_shutdown(pool)
    if why:
        return ("declined", name, why)
    slot = free_slot(pool.free, d.slot if d else 0, len(pool.slots))
    return slots_exhausted(pool, name) if slot is None else hold(pool, name, command.total, slot)


@rule("SPN-45", source="spin 1.4; issue 4", of=SPIN)
def nested(pool: Pool, name: str) -> str | None:
    """Who runs a task does not dispatch from within it: its tasks are its own to run."""
    actor = pool.actor(name)
    return "nested" if actor and actor.at == "running" else None


@rule("SPN-46", source="spin 1.1", of=SPIN)
def not_a_dispatcher(pool: Pool, name: str) -> str | None:
    """Workers and the builder do not dispatch."""
    return "not_a_dispatcher" if name == v.BUILDER or name in pool.workers else None


@rule("SPN-47", source="spin 1.3", of=SPIN)
def busy(d: Dispatcher | None) -> str | None:
    """A thread has one fan-out at a time."""
    return "busy" if d and d.at else None


@rule("SPN-48", source="spin 1.6", of=SPIN)
def building(pool: Pool) -> str | None:
    """Nothing is dispatched before the pool is built."""
    return None if pool.builder.at == "built" else "building"


@rule("SPN-49", source="spin 1.3 1", of=SPIN)
def nothing_to_do(name: str) -> Observation:
    """A fan-out of no tasks is done at once, and takes no slot."""
    return ("finished", name, -1, 0)


@rule("SPN-50", source="spin 1.1, 1.3 1", of=SPIN)
def no_workers(pool: Pool) -> str | None:
    """A pool without workers declines: the caller runs its tasks itself."""
    return None if pool.workers else "no_workers"


@rule("SPN-51", source="spin 1.3 1", of=SPIN)
def after_the_shutdown(pool: Pool) -> str | None:
    """A pool that is shut down declines."""
    return "shutdown" if pool.shutdown else None


@rule("SPN-52", source="spin 1.2, 1.3 2", of=SPIN)
def slots_exhausted(pool: Pool, name: str) -> Observation:
    """With every slot in use, a fan-out is declined, and that is counted."""
    pool.counters["slot_exhausted"] += 1
    return ("declined", name, "slots")


def free_slot(free: int, hint: int, slots: int) -> int | None:
    """The first free one from the hint on, wrapping."""
    return next((slot for slot in ((hint + i) % slots for i in range(slots)) if free >> slot & 1), None)


@rule("SPN-53", source="spin 1.3 2", of=SPIN)
def hold(pool: Pool, name: str, total: int, slot: int) -> Observation:
    """A fan-out holds the first free slot from the dispatcher's last one on."""
    pool.free &= ~(1 << slot)
    pool.dispatchers[name] = Dispatcher(name, "remaining", slot, total)
    return ("held", name, slot)


def step_of_dispatcher(pool: Pool, d: Dispatcher, passes: Passes) -> Saw:
    """One step, or a plain pass, which is only tallied."""
    match d.at:
        case "remaining" | "stamp" | "claim" | "active":
            return [write(pool, d)]
        case "epoch":
            return [publish(pool, d)]
        case "wake":
            return [wakes(pool, d)]
        case "scan":
            passed = nothing_left(pool, d, d.slot)
            return [passed, *share_done(pool, d)] if passed else [something_left(d, d.slot)]
        case "take":
            took = take(pool, d, d.slot)
            return [took] if took else [too_late(d, d.slot), *share_done(pool, d)]
        case "settle":
            count_own(pool, d)
            return [settle(pool, d, d.slot)]
        case "straggling":
            if not all_ended(pool, d):
                wait_for_stragglers(pool, d, passes)
            return []
        case "inactive" | "unclaim":
            return [take_back(pool, d)]
        case _:
            return [finish(pool, d)]


@rule("SPN-54", source="spin 1.3 3, 4; 5.4", of=SPIN)
def write(pool: Pool, d: Dispatcher) -> Observation:
    """A slot is written before it is active: how many remain, when it was published, how many can be claimed (set, not added to: so no drift is left). Then its bit is set."""
    slot, word = pool.slots[d.slot], d.at
    match word:
        case "remaining":
            slot.panicked, slot.remaining, d.at = False, d.total, "stamp"
        case "stamp":
            slot.published_at, d.at = pool.now, "claim"
        case "claim":
            slot.claim, d.at = d.total, "active"
        case _:
            pool.active, d.at = pool.active | 1 << d.slot, "epoch"
    return ("wrote", d.name, d.slot, word)


@rule("SPN-55", source="spin 1.3 5", of=SPIN)
def publish(pool: Pool, d: Dispatcher) -> Observation:
    """The epoch moves once the slot is active: who has seen the new epoch and scans, finds it."""
    pool.epoch, d.at = next_epoch(pool.epoch), "wake"
    d.epoch = pool.epoch
    return ("published", d.name, d.slot, pool.epoch)


def wakes(pool: Pool, d: Dispatcher) -> Observation:
    all_of_them = wakes_all(pool)
    number = wakes_enough(pool, d) if all_of_them is None else all_of_them
    calls(pool, d, number)
    woken = wake(pool, number)
    pool.counters["dispatches"] += 1
    d.at = "scan"
    return ("wakes", d.name, len(woken), " ".join(woken))


@rule("SPN-56", source="spin 1.3 6", of=SPIN, switch="wakes_all")
def wakes_all(pool: Pool) -> int | None:
    """(As published: every parked worker is woken.)"""
    return len(pool.sleepers) if pool.profile.wakes_all else None


@rule("SPN-57", source="spin 5.4; issue 4", of=SPIN, off="wakes_all")
def wakes_enough(pool: Pool, d: Dispatcher) -> int:
    """As many parked workers are woken as there are tasks beside the dispatcher's own; those first that parked first."""
    return needed(d.total, len(pool.sleepers))


def needed(total: int, sleepers: int) -> int:
    return min(total - 1, sleepers)


@rule("SPN-75", source="spin 5.4", of=SPIN)
def calls(pool: Pool, d: Dispatcher, number: int) -> bool | None:
    """A publication that wakes anybody is a call, and is noted with its stamp before they go on; a later one takes its place after sixteen epochs."""
    if not number:
        return None
    pool.calls[d.epoch % CALLS] = d.epoch, pool.slots[d.slot].published_at
    return True


@rule("SPN-58", source="spin 1.3 8, 1.7", of=SPIN)
def count_own(pool: Pool, d: Dispatcher) -> bool:
    """What the dispatcher runs of its own fan-out is counted."""
    pool.counters["tasks_by_dispatcher"] += 1
    d.own += 1
    return True


def share_done(pool: Pool, d: Dispatcher) -> Saw:
    """Nothing is left for it to take."""
    return [] if all_ended(pool, d) else [straggles(pool, d)]


@rule("SPN-59", source="spin 1.3 9, 10", of=SPIN)
def all_ended(pool: Pool, d: Dispatcher) -> bool | None:
    """A fan-out is over only when every task of it is settled."""
    if pool.slots[d.slot].remaining:
        return None
    d.at = "inactive"
    return True


@rule("SPN-60", source="spin 1.3 9", of=SPIN)
def straggles(pool: Pool, d: Dispatcher) -> Observation:
    """If others still run, the dispatcher waits for them, and that is counted."""
    pool.counters["straggler_waits"] += 1
    d.at, d.pauses = "straggling", 0
    return ("straggles", d.name, d.slot)


def wait_for_stragglers(pool: Pool, d: Dispatcher, passes: Passes) -> None:
    d.pauses += 1
    passes.pauses += 1
    gives_way(pool, d, passes)


@rule("SPN-61", source="spin 1.2, 1.3 9", of=SPIN)
def gives_way(pool: Pool, d: Dispatcher, passes: Passes) -> bool | None:
    """A dispatcher that waits yields once after so many pauses."""
    if d.pauses % pool.profile.straggler_stride:
        return None
    pool.counters["straggler_yields"] += 1
    passes.yields += 1
    return True


@rule("SPN-62", source="spin 1.3 10", of=SPIN)
def take_back(pool: Pool, d: Dispatcher) -> Observation:
    """Afterwards the slot is inactive, and then its claim is 0: who still has it on a list finds nothing there."""
    word = d.at
    if word == "inactive":
        pool.active, d.at = pool.active & ~(1 << d.slot), "unclaim"
    else:
        pool.slots[d.slot].claim, d.at = 0, "return"
    return ("wrote", d.name, d.slot, word)


@rule("SPN-63", source="spin 1.3 10", of=SPIN)
def finish(pool: Pool, d: Dispatcher) -> Observation:
    """The slot is free again, and the caller goes on; if a task panicked, with a panic."""
    pool.free |= 1 << d.slot
    pool.dispatchers[d.name] = Dispatcher(d.name, slot=d.slot)
    return ("raised" if pool.slots[d.slot].panicked else "finished", d.name, d.slot, d.own)
