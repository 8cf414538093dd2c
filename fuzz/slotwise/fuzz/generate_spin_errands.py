"""What takes several commands of an episode of spinning: a first one, and those that are to follow it (`then_...`), each with the actor that it is about."""
from __future__ import annotations

from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_spin_commands import DISPATCHERS, SELDOM, STILL, dispatch, go, instant, shutdown
from slotwise.fuzz.generate_spin_episode import Model
from slotwise.spec import spin_vocabulary as v

FLOOD = (2, 15, 16, 17, 18, 34)


def publish(model: Model, choose: Choose) -> Any:
    """A fan-out, up to its publication or a little further."""
    command = dispatch(model, choose)
    if ("publish", command.actor) not in model.then:
        model.then.append(("publish", command.actor))
    return changed(command, total=command.total or 1)


def then_publish(model: Model, choose: Choose, actor: str) -> Any:
    model.last = actor
    return v.Go(actor=actor, times=choose.one_of((4, 5, 6, 6, 6, 8, 30), "publishing"), at=model.book.now)


def then_go_on(model: Model, choose: Choose, actor: str) -> Any:
    return v.Go(actor=actor, times=choose.one_of((1, 2, 3, 4), "going on"), at=model.book.now)


def park(model: Model, choose: Choose) -> Any:
    """A worker comes to the end of its window, and perhaps to rest."""
    book = model.book
    able = tuple(name for name in book.workers if book.at(name) not in STILL)
    if not able:
        return go(model, choose)
    actor = choose.one_of(able, "")
    model.last = actor
    model.then += [("rest", actor)] * (choose.integer(0, 2) > 0)
    return v.Go(actor=actor, times=4 if book.at(actor) in ("top", "scan", "read", "woken") else 1, at=book.now)


def then_rest(model: Model, choose: Choose, actor: str) -> Any:
    book, p = model.book, model.profile
    return v.Go(actor=actor, times=choose.one_of((p.stride, p.stride + 1, p.stride + 1, p.stride + 2), ""), at=book.deadline(actor, choose))


def rush(model: Model, choose: Choose) -> Any:
    """All that look at one slot, or stand before a claim, go a step each."""
    book = model.book
    able = [name for name in (*book.dispatchers, *book.workers) if book.at(name) in ("scan", "take", "settle", "top")]
    if not able:
        return go(model, choose)
    model.then += [("step", name) for name in able[1:]]
    return v.Go(actor=able[0], at=book.now)


def then_step(model: Model, choose: Choose, actor: str) -> Any:
    return v.Go(actor=actor, at=model.book.now)


def miss(model: Model, choose: Choose) -> Any:
    """Something is published to a worker that is about to park."""
    book = model.book
    late = tuple(name for name in book.workers if book.at(name) == "wait")
    if late:
        model.then.append(("step", choose.one_of(late, "")))
        return publish(model, choose) if "dispatch" in model.commands and not book.shutdown else shutdown(model, choose) if "shutdown" in model.commands else go(model, choose)
    spinning = tuple(name for name in book.workers if book.at(name) == "window")
    if not spinning:
        return park(model, choose)
    actor = choose.one_of(spinning, "")
    if choose.integer(0, 5):
        model.then.append(("miss", actor))
    return v.Go(actor=actor, at=book.deadline(actor, choose))


def then_miss(model: Model, choose: Choose, actor: str) -> Any:
    return miss(model, choose)


def flood(model: Model, choose: Choose) -> Any:
    """One fan-out after the other by one dispatcher: as many as what is remembered of them, and more."""
    idle = tuple(name for name in DISPATCHERS if name not in model.book.dispatchers)
    if not idle or "dispatch" not in model.commands:
        return go(model, choose)
    model.then += [("fan-out", idle[0])] * choose.one_of(FLOOD, "flood")
    return v.Counters(at=model.book.now) if "counters" in model.commands else v.Go(actor=idle[0], at=model.book.now)


def then_fan_out(model: Model, choose: Choose, actor: str) -> Any:
    """To its end, if the dispatcher can do it by itself."""
    book = model.book
    if not book.at(actor):
        model.then.append(("finish", actor))
        return v.Dispatch(actor=actor, total=1, at=instant(model, choose) if choose.one_of(SELDOM, "") else book.now)
    return then_finish(model, choose, actor)


def then_finish(model: Model, choose: Choose, actor: str) -> Any:
    """Goes until it is over, or others have the rest."""
    book = model.book
    if book.at(actor) == "running" and "end" in model.commands:
        model.then.append(("finish", actor))
        return v.End(actor=actor, at=book.now)
    if book.at(actor) == "write":
        model.then.append(("finish", actor))
    return v.Go(actor=actor, times=20, at=book.now)


def build(model: Model, choose: Choose) -> Any:
    book, p = model.book, model.profile
    start = book.now if book.start is None else book.start
    at = choose.one_of((book.now, book.now, book.now + 1, start + p.ready_within, start + p.ready_within - 1, start + p.ready_within + 1), "")
    times = choose.one_of((1, 1, 2, 3, p.budget - 1, p.budget, p.budget + 3), "") if model.small else choose.one_of((1, 2, 64, 64), "build")
    return v.Go(actor=v.BUILDER, times=max(1, times), at=max(at, book.now))


def announce(model: Model, choose: Choose) -> Any:
    missing = [name for name in model.book.workers if model.book.at(name) == "announce"]
    return v.Go(actor=missing[0], at=instant(model, choose)) if missing else build(model, choose)
