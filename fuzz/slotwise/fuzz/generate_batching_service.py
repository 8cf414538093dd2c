"""What the driver of an episode does, and the service that it asks."""
from __future__ import annotations

from typing import Any

from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_batching_episode import Model
from slotwise.fuzz.generate_batching_producers import instant, pump_next, refresh
from slotwise.spec import batching_vocabulary as v

MS, SECOND = v.MILLISECOND, v.SECOND

PUMPED = ("now",) * 4 + ("wake",) * 5 + ("before", "after", "long")
ANSWERED = ("in time",) * 6 + ("now", "late")
FATES = ("token",) * 30 + ("no token", "fail")
STAMPS = ("right",) * 12 + ("none", "odd")
SHOWN = ("right",) * 6 + ("all", "none", "early", "strangers")
PAGES = ("last",) * 8 + ("more",)
CLOCKS = ("kept",) * 30 + ("set",)


def pump(model: Model, choose: Choose) -> Any:
    book = model.book
    wake = max(book.now, book.wake or 0)
    match choose.one_of(PUMPED, "pump at"):
        case "wake":
            at = wake
        case "before":
            at = max(book.now, wake - 1)
        case "after":
            at = wake + choose.one_of((1, MS, 50 * MS), "")
        case "long":
            at = book.now + 200 * MS
        case _:
            at = book.now
    if "respond" in model.commands and choose.integer(1, 4) <= model.style.then_answer:
        model.then.append("answer")
    return v.Pump(at=at)


def wake(model: Model, choose: Choose) -> Any:
    return v.Pump(at=max(model.book.now, model.book.wake or 0))


def withdraw(model: Model, choose: Choose) -> Any:
    """What is next to come due is not wanted any more; and then comes its time."""
    to_come = [id for id in model.book.waiting if model.dues[id] > model.book.now]
    if "cancel" not in model.commands or not to_come:
        return refresh(model, choose) if "refresh" in model.commands else pump(model, choose)
    id = min(to_come, key=model.dues.__getitem__)
    if "pump" in model.commands:
        model.then.append("wake")
    return v.Cancel(id=id, at=model.book.now)


def stop(model: Model, choose: Choose) -> Any:
    pump_next(model, choose)
    if "respond" in model.commands and choose.integer(0, 1):
        model.then.append("in vain" if model.book.asks else "answer")
    return v.Stop(at=instant(model, choose))


def answer(model: Model, choose: Choose) -> Any:
    """What the service does, if it has something to answer; else the driver pumps."""
    book = model.book
    if book.sent is None:
        return pump(model, choose) if "pump" in model.commands else respond(model, choose)
    if choose.one_of(FATES, "fate") == "fail" and "fail" in model.commands:
        return fail(model, choose)
    if book.fetching and "page" in model.commands:
        return page(model, choose)
    return respond(model, choose)


def in_vain(model: Model, choose: Choose) -> Any:
    """Nothing that was asked for is done yet."""
    return v.Respond(token=f"t{model.book.sends}", at=arrives(model, choose))


def arrives(model: Model, choose: Choose) -> int:
    """When the answer comes."""
    book = model.book
    match choose.one_of(ANSWERED, "answer at"):
        case "now":
            return book.now
        case "late":
            return max(book.now, (book.sent or 0) + model.trip) + choose.one_of((1, MS, model.trip), "")
        case _:
            return max(book.now, (book.now if book.sent is None else book.sent) + model.trip - choose.one_of((0, 0, model.trip // 3), ""))


def shown(model: Model, choose: Choose, stamp: int) -> tuple[str, ...]:
    """The operations that a page shows done."""
    asks = model.book.asks
    match choose.one_of(SHOWN, "shown"):
        case "all":
            return asks
        case "none":
            return ()
        case "early":
            return asks[:1]
        case "strangers":
            return (*asks[1:], *model.names[-2:], *tuple(model.keys)[-2:])
        case _:
            return tuple(id for id in asks if (key := model.keys.get(id)) is None or key <= stamp)


def respond(model: Model, choose: Choose) -> Any:
    book, at = model.book, arrives(model, choose)
    if choose.one_of(CLOCKS, "clock") == "set":
        model.ahead += choose.one_of((-5 * SECOND, -MS, 40 * MS, 5 * SECOND), "")
    sent = book.now if book.sent is None else book.sent
    handled = sent + (at - sent) // 2 + model.ahead
    stamped = choose.one_of(STAMPS, "stamp")
    stamp = None if not book.updates or stamped == "none" else handled + 3 * MS if stamped == "odd" else handled
    token = None if choose.one_of(FATES, "fate") == "no token" else f"t{book.sends}"
    marker = "more" if choose.one_of(PAGES, "pages") == "more" else None
    pump_next(model, choose)
    return v.Respond(token=token, stamp=stamp, done=shown(model, choose, handled), marker=marker, at=at)


def page(model: Model, choose: Choose) -> Any:
    marker = "more" if choose.one_of(PAGES, "pages") == "more" else None
    pump_next(model, choose)
    return v.Page(done=shown(model, choose, model.book.now + model.ahead), marker=marker, at=instant(model, choose))


def fail(model: Model, choose: Choose) -> Any:
    pump_next(model, choose)
    return v.Fail(at=arrives(model, choose))
