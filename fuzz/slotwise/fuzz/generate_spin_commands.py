"""Single commands of an episode of spinning: who goes how far and when, a task ends, a fan-out begins, somebody is stirred; and what nobody would do."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_spin_episode import Model
from slotwise.spec import spin_vocabulary as v

TIMES = ("now",) * 8 + ("tick", "short", "deadline", "before the deadline", "due", "before it is due", "past", "long", "back")
WHO = ("same",) * 4 + ("worker",) * 5 + ("dispatcher",) * 5 + ("anybody", "nobody")
TOTALS = (1, 2, 3, 2, 4, 1, 7, 0)
DISPATCHERS = ("d0", "d1", "d2", "d3")
SELDOM, RARELY = (False,) * 8 + (True,), (False,) * 24 + (True,)
ILLEGAL = ("go", "end", "stir", "dispatch", "back", "builder", "no task")
NOBODY = ("nobody", "w99", "w00", "d9")
STILL = ("running", "asleep", "gone")


def instant(model: Model, choose: Choose, actor: str = "") -> int:
    book, p = model.book, model.profile
    now, unit = book.now, 1 if model.small else v.MICROSECOND
    match choose.one_of(TIMES, "time"):
        case "tick":
            return now + 1
        case "short":
            return now + choose.one_of((2, 3, 5, 9, 10, 11), "") * unit
        case "deadline":
            return book.deadline(actor, choose)
        case "before the deadline":
            return max(now, book.deadline(actor, choose) - 1)
        case "due":
            return max(now, book.due.get(actor, now))
        case "before it is due":
            return max(now, book.due.get(actor, now) - 1)
        case "past":
            return now + choose.one_of((p.yield_interval, p.yield_interval - 1, p.yield_interval + 1, 2 * p.yield_interval), "")
        case "long":
            return now + choose.one_of((100, 500, 700, 5000), "") * unit
        case "back":
            return max(0, now - 1)
        case _:
            return now


def steps(model: Model, choose: Choose) -> int:
    p = model.profile
    match choose.one_of(model.style.steps, "steps"):
        case "one":
            return 1
        case "two":
            return 2
        case "few":
            return choose.integer(3, 6)
        case "stride":
            return min(p.stride, 64)
        case "budget":
            return max(1, p.budget - choose.integer(0, 1)) if model.small or choose.one_of(RARELY, "") else 64
        case "beyond":
            return choose.integer(7, 12)
        case _:
            return 30


def who(model: Model, choose: Choose) -> str:
    book = model.book
    under_way, workers = tuple(book.dispatchers), tuple(book.workers)
    match choose.one_of(WHO, "who"):
        case "same" if model.last and book.at(model.last) not in STILL:
            return model.last
        case "dispatcher" if under_way:
            return choose.one_of(under_way, "")
        case "anybody":
            return choose.one_of((v.BUILDER, *workers, *under_way, *DISPATCHERS), "")
        case "nobody":
            return choose.one_of(NOBODY, "")
        case _:
            able = tuple(name for name in workers if book.at(name) not in STILL) or workers
            return choose.one_of(able, "") if able else choose.one_of(under_way or DISPATCHERS, "")


def go(model: Model, choose: Choose) -> Any:
    actor = who(model, choose)
    if actor not in NOBODY:
        model.last = actor
    if model.book.at(actor) == "running" and "end" in model.commands and choose.integer(0, 3):
        return ending(model, choose, actor)
    return v.Go(actor=actor, times=steps(model, choose), at=instant(model, choose, actor))


def end(model: Model, choose: Choose) -> Any:
    book = model.book
    running = tuple(name for name in (*book.workers, *book.dispatchers) if book.at(name) == "running")
    return ending(model, choose, choose.one_of(running, "")) if running else go(model, choose) if "go" in model.commands else v.End(actor=who(model, choose), at=book.now)


def ending(model: Model, choose: Choose, actor: str) -> Any:
    model.last = actor
    if choose.integer(1, 4) <= model.style.goes_on:
        model.then.append(("go on", actor))
    return v.End(actor=actor, panics=choose.one_of(SELDOM, "panics"), at=instant(model, choose))


def dispatch(model: Model, choose: Choose) -> Any:
    book = model.book
    idle = tuple(name for name in DISPATCHERS if name not in book.dispatchers)
    actor = choose.one_of(idle, "") if idle and not choose.one_of(SELDOM, "odd dispatcher") else choose.one_of((*DISPATCHERS, *book.workers, v.BUILDER), "")
    model.last = actor
    if choose.integer(1, 4) <= model.style.goes_on:
        model.then.append(("publish", actor))
    return v.Dispatch(actor=actor, total=choose.one_of(TOTALS, "total"), at=instant(model, choose))


def stir(model: Model, choose: Choose) -> Any:
    asleep = tuple(name for name in model.book.workers if model.book.at(name) == "asleep")
    return v.Stir(actor=choose.one_of(asleep, "") if asleep and not choose.one_of(SELDOM, "") else who(model, choose), at=instant(model, choose))


def shutdown(model: Model, choose: Choose) -> Any:
    return v.Shutdown(at=instant(model, choose))


def counters(model: Model, choose: Choose) -> Any:
    return v.Counters(at=instant(model, choose))


def illegal(model: Model, choose: Choose) -> Any:
    """What nobody would do."""
    book = model.book
    anybody: Sequence[str] = (*book.workers, *DISPATCHERS, v.BUILDER, *NOBODY)
    match choose.one_of(ILLEGAL, "illegal"):
        case "end" | "no task" if "end" in model.commands:
            return v.End(actor=choose.one_of(anybody, ""), at=book.now)
        case "stir" if "stir" in model.commands:
            return v.Stir(actor=choose.one_of(anybody, ""), at=book.now)
        case "dispatch" if "dispatch" in model.commands:
            return v.Dispatch(actor=choose.one_of(anybody, ""), total=choose.one_of((0, 1, 2), ""), at=book.now)
        case "builder":
            return v.Go(actor=v.BUILDER, times=choose.integer(1, 3), at=book.now)
        case "back":
            return v.Go(actor=choose.one_of(anybody, ""), at=max(0, book.now - choose.integer(1, 9)))
        case _:
            return v.Go(actor=choose.one_of(anybody, ""), times=choose.integer(1, 3), at=book.now)
