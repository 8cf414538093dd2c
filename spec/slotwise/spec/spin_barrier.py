"""The readiness barrier: whoever builds the pool waits until every worker has announced itself, and gives way to them, but not for ever."""
from __future__ import annotations

from slotwise.spec.rules import SPIN, rule
from slotwise.spec.spin_pool import Passes, Pool, Saw, next_epoch, wake
from slotwise.spec.vocabulary import Observation


def step_of_builder(pool: Pool, at: int, passes: Passes) -> Saw:
    """One pass, or the last look."""
    b = pool.builder
    b.start = at if b.start is None else b.start
    if built := everybody_is_ready(pool):
        return [built]
    if b.at == "last_look":
        return [abandon(pool)]
    b.passes += 1
    if not (waits_for_ever(pool, passes) or pauses(pool, passes)):
        yields(passes)
        time_is_up(pool, at)
    return []


@rule("SPN-64", source="spin 1.6", of=SPIN)
def everybody_is_ready(pool: Pool) -> Observation | None:
    """Once every worker that was spawned has announced itself, the pool is built; that is looked at once more when the time is up."""
    if pool.ready < len(pool.workers):
        return None
    pool.builder.at = "built"
    return ("built", len(pool.workers))


@rule("SPN-65", source="spin 1.6, ORIG", of=SPIN, switch="barrier_unbounded")
def waits_for_ever(pool: Pool, passes: Passes) -> bool | None:
    """(As first published: the builder pauses, without a yield and without an end.)"""
    if not pool.profile.barrier_unbounded:
        return None
    passes.pauses += 1
    return True


@rule("SPN-66", source="spin 1.6", of=SPIN, off="barrier_unbounded")
def pauses(pool: Pool, passes: Passes) -> bool | None:
    """Below the budget the builder pauses."""
    if pool.builder.passes >= pool.profile.budget:
        return None
    passes.pauses += 1
    return True


@rule("SPN-67", source="spin 1.6", of=SPIN, off="barrier_unbounded")
def yields(passes: Passes) -> bool:
    """From the budget on it yields in every pass: the workers it waits for may need its processor."""
    passes.yields += 1
    return True


@rule("SPN-68", source="spin 1.6", of=SPIN, off="barrier_unbounded")
def time_is_up(pool: Pool, at: int) -> bool | None:
    """After every yield it reads the clock; when the time is up it looks once more, for a worker may have come in between."""
    assert pool.builder.start is not None
    if at - pool.builder.start < pool.profile.ready_within:
        return None
    pool.builder.at = "last_look"
    return True


@rule("SPN-69", source="spin 1.6", of=SPIN, off="barrier_unbounded")
def abandon(pool: Pool) -> Observation:
    """A pool that does not become ready is shut down, and its workers are not joined: that would wait for the one that is stuck."""
    pool.shutdown, pool.epoch, pool.builder.at = True, next_epoch(pool.epoch), "built"
    wake(pool, len(pool.sleepers))
    return ("abandoned", pool.ready, len(pool.workers))
