"""What to do next: the one generator for spinning, as `generate` is for admission.

An episode is a small pool: a few workers, a few dispatchers, and somebody who lets them go step by step, in any order, or many steps at once. Its
numbers are mostly smaller than the profile's, so that a window is passed through in tens of commands. Time stands still, ticks, or jumps to
where something happens: the end of a window, the next yield, the builder's deadline, or one nanosecond before. Windows and gaps apart from
the pool are drawn in `generate_spin_window`.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz import generate_spin_window as apart
from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_spin_book import Book
from slotwise.spec import spin_vocabulary as v

SCALES = ("small",) * 9 + ("as it is",)
BUDGETS, STRIDES = (8, 8, 12, 5, 2, 1, 16), (4, 4, 1, 3, 2, 5)
INTERVALS, STRAGGLERS, READY = (10, 10, 1, 3, 25), (4, 1, 3, 10), (50, 50, 0, 7, 1000)
SLOTS = (2, 2, 1, 3, "as it is", "as it is")
BOUNDS = ((20, 500), (20, 500), (5, 40), (20, 20), (8, 100))
WIDTHS = (3, 2, 3, 2, 4, 5, 1)
SPAWNED = ("all",) * 9 + ("fewer", "none")
PARKS = (68, 68, 8, 40, 300)
WAKES, CATCHES = (40, 0, 40, 1000), (0, 0, 10)
BUILT = (True, True, True, False)
TIMES = ("now",) * 8 + ("tick", "short", "deadline", "before the deadline", "due", "before it is due", "past", "long", "back")
STEPS = ("one",) * 9 + ("two", "few", "stride", "budget", "beyond", "many")
WHO = ("same",) * 4 + ("worker",) * 5 + ("dispatcher",) * 5 + ("anybody", "nobody")
TOTALS = (1, 2, 3, 2, 4, 1, 7, 0)
DISPATCHERS = ("d0", "d1", "d2", "d3")
SELDOM, RARELY = (False,) * 8 + (True,), (False,) * 24 + (True,)
FLOOD = (2, 15, 16, 17, 18, 34)
ILLEGAL = ("go", "end", "stir", "dispatch", "back", "builder", "no task")
NOBODY = ("nobody", "w99", "w00", "d9")


@dataclass(frozen=True, slots=True)
class Style:
    """What an episode looks like: which commands, and what follows what."""

    kinds: tuple[str, ...]
    built: tuple[bool, ...] = BUILT
    steps: tuple[str, ...] = STEPS
    goes_on: int = 2                 # of 4: how often whoever dispatched, or ended a task, goes on at once
    long: bool = False


WORK = ("go",) * 8 + ("end",) * 4 + ("dispatch",) * 2
STYLES = {
    "mixed": Style((*WORK, *WORK, "publish", "park", "stir", "counters", "gap", "wait", "script", "shutdown", "illegal")),
    "work": Style((*WORK, "publish", "publish", "counters"), goes_on=3),
    "crowd": Style(("go",) * 8 + ("dispatch",) * 4 + ("end",) * 3 + ("publish",)),
    "races": Style(("go",) * 12 + ("end",) * 4 + ("publish", "publish", "rush", "rush", "miss", "miss"), steps=("one",) * 12 + ("two",), goes_on=1),
    "windows": Style(("go",) * 10 + ("park", "miss", "publish", "end", "end", "stir"), steps=("one", "one", "two", "few", "stride", "budget", "budget", "beyond", "many"), long=True),
    "naps": Style(("go",) * 6 + ("park",) * 6 + ("publish",) * 3 + ("stir", "miss", "miss", "flood", "end", "end", "end", "counters"), goes_on=3, long=True),
    "whole": Style(("wait",) * 3 + ("script",) * 3),
    "gaps": Style(("gap",), long=True),
    "builds": Style(("go",) * 6 + ("build",) * 8 + ("announce",) * 3 + ("dispatch", "shutdown", "park", "park"), built=(False,)),
    "ends": Style((*WORK, "publish", "publish", "park", "shutdown", "counters")),
    "wild": Style((*WORK, "publish", "park", "wait", "script", "gap") + ("illegal",) * 6, goes_on=1),
}  # fmt: skip
NEEDS = {"publish": "dispatch", "park": "go", "rush": "go", "build": "go", "announce": "go", "miss": "go", "flood": "go", "illegal": "go"}


@dataclass(slots=True)
class Model:
    """An episode under way."""

    profile: v.Profile
    setup: v.Setup
    style: Style
    kinds: tuple[str, ...]
    commands: frozenset[str]
    small: bool                                          # its numbers are
    book: Book
    gaps: str                                            # how they follow each other
    lengths: tuple[int, ...]                             # of gaps that come again
    then: list[tuple[str, str]] = field(default_factory=list)      # kind and actor, the next one last
    last: str = ""                                       # who went last
    fresh: int = 0
    long: bool = False


def begin(profile: v.Profile, commands: Collection[str], choose: Choose, *, vary: bool = False, plain: bool = False) -> Model:
    """Draw an episode's set-up. Its numbers are often smaller than the profile's. `vary`: the discipline's vary too. `plain`: nobody is asked
    about numbers of ours. Raises ValueError if no such command is known."""
    known = frozenset(commands) & v.COMMANDS.keys()
    style = STYLES[choose.one_of(tuple(STYLES), "style")]
    kinds = tuple(kind for kind in style.kinds if NEEDS.get(kind, kind) in known) or tuple(sorted(known))
    if not kinds:
        raise ValueError(f"nothing to draw: none of {sorted(commands)} is a command")
    small = not plain and choose.one_of(SCALES, "scale") == "small"
    if vary:
        profile = varied(profile, choose, small)
    if small:
        profile = smaller(profile, choose)
    setup = set_up(choose, small, choose.one_of(style.built, "built"))
    book = Book(profile, setup, apart.lengths(profile, setup))
    gaps = choose.one_of(apart.GAPS, "gaps")
    return Model(profile, setup, style, kinds, known, small, book, gaps, (apart.some_gap(book, choose), apart.some_gap(book, choose)), long=style.long)


def smaller(profile: v.Profile, choose: Choose) -> v.Profile:
    slots = choose.one_of(SLOTS, "slots")
    numbers: dict[str, Any] = {
        "budget": choose.one_of(BUDGETS, "budget"), "stride": choose.one_of(STRIDES, "stride"), "yield_interval": choose.one_of(INTERVALS, "interval"),
        "slots": slots if isinstance(slots, int) else profile.slots, "straggler_stride": choose.one_of(STRAGGLERS, "straggler stride"), "ready_within": choose.one_of(READY, "ready within"),
    }  # fmt: skip
    if isinstance(profile.discipline, v.Ratchet | v.Average):
        floor, cap = choose.one_of(BOUNDS, "bounds")
        numbers["discipline"] = changed(profile.discipline, floor=floor, cap=cap)
    elif isinstance(profile.discipline, v.Fixed):
        numbers["discipline"] = v.Fixed(profile.discipline.window // v.MICROSECOND)
    return changed(profile, **numbers)


def unshrunk(profile: v.Profile) -> v.Profile:
    """With the numbers by default, that `smaller` may have changed."""
    plain = changed(profile, **{name: getattr(v.PROFILES["slotwise"], name) for name in ("budget", "stride", "yield_interval", "slots", "straggler_stride", "ready_within")})
    return changed(plain, discipline=type(profile.discipline)()) if isinstance(profile.discipline, v.Ratchet | v.Average | v.Fixed) else plain


def set_up(choose: Choose, small: bool, built: bool) -> v.Setup:
    width = choose.one_of(WIDTHS, "width")
    spawned = {"all": None, "none": 0, "fewer": max(0, width - 2)}[choose.one_of(SPAWNED, "spawned")]
    if not small:
        return v.Setup(width, spawned, built)
    return v.Setup(width, spawned, built, choose.one_of(PARKS, "park"), choose.one_of(WAKES, "wake"), choose.one_of(CATCHES, "catch"))


def varied(profile: v.Profile, choose: Choose, small: bool) -> v.Profile:
    """Another policy that breaks no other laws, or the same with other parameters."""
    latency, unit = choose.one_of((0, 1, 512, 1024, 4096), ""), 1 if small else v.MICROSECOND
    floor, cap = choose.one_of((1, 5, 20, 40), "") * unit, choose.one_of((10, 100, 500), "") * unit
    kinds: tuple[Any, ...] = (v.Guarded(latency), v.BreakEven(latency))
    if not isinstance(profile.discipline, v.Guarded):
        kinds = (v.Ratchet(min(floor, cap), cap), v.Average(min(floor, cap), cap), v.Fixed(choose.one_of((0, 1, 50, 100), "") * v.MICROSECOND), *kinds)
    return changed(profile, discipline=choose.one_of(kinds, ""), slots=choose.one_of((1, 2, 8, 32), ""))


def switched(profile: v.Profile, choose: Choose) -> v.Profile:
    """Any policy with any switches; no law is meant for what comes of it."""
    profile = varied(changed(profile, discipline=v.Ratchet()), choose, True)
    names = ("deadline_strided", "yields_unbounded", "barrier_unbounded", "wakes_all", "empty_catch_counts")
    return changed(profile, **{name: choose.one_of((True, False), "") for name in names})


def draw(model: Model, choose: Choose) -> Any:
    """The next command, of those the target knows."""
    while model.then:
        kind, actor = model.then.pop()
        if kind == "end" or "go" in model.commands:
            return OTHERS[f"then {kind}"](model, choose, actor)
    kind = choose.one_of(model.kinds, "do")
    return (DRAW[kind] if kind in DRAW else OTHERS[kind])(model, choose)


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


STILL = ("running", "asleep", "gone")


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


def then_step(model: Model, choose: Choose, actor: str) -> Any:
    return v.Go(actor=actor, at=model.book.now)


def build(model: Model, choose: Choose) -> Any:
    book, p = model.book, model.profile
    start = book.now if book.start is None else book.start
    at = choose.one_of((book.now, book.now, book.now + 1, start + p.ready_within, start + p.ready_within - 1, start + p.ready_within + 1), "")
    times = choose.one_of((1, 1, 2, 3, p.budget - 1, p.budget, p.budget + 3), "") if model.small else choose.one_of((1, 2, 64, 64), "build")
    return v.Go(actor=v.BUILDER, times=max(1, times), at=max(at, book.now))


def announce(model: Model, choose: Choose) -> Any:
    missing = [name for name in model.book.workers if model.book.at(name) == "announce"]
    return v.Go(actor=missing[0], at=instant(model, choose)) if missing else build(model, choose)


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


def wait(model: Model, choose: Choose) -> Any:
    return apart.wait(model, choose, instant(model, choose))


def script(model: Model, choose: Choose) -> Any:
    return apart.script(model, choose, instant(model, choose))


def gap(model: Model, choose: Choose) -> Any:
    return apart.gap(model, choose, instant(model, choose))


DRAW: dict[str, Callable[[Model, Choose], Any]] = {
    "dispatch": dispatch, "go": go, "end": end, "stir": stir, "shutdown": shutdown, "counters": counters, "wait": wait, "script": script, "gap": gap,
}  # fmt: skip
OTHERS: dict[str, Callable[..., Any]] = {
    "publish": publish, "park": park, "rush": rush, "build": build, "announce": announce, "miss": miss, "flood": flood, "illegal": illegal,
    "then publish": then_publish, "then go on": then_go_on, "then rest": then_rest, "then miss": then_miss, "then fan-out": then_fan_out, "then finish": then_finish, "then step": then_step,
}  # fmt: skip


def drain(model: Model) -> Any:
    """End it in order: shut down, end every task, and let everybody go until all have left. None: they have, or can't."""
    book = model.book
    if not model.commands >= {"shutdown", "end", "go"}:
        return None
    if not book.shutdown:
        return v.Shutdown(at=book.now)
    for name in (*book.dispatchers, *book.workers):
        if book.at(name) == "running":
            return v.End(actor=name, at=book.now)
        if book.at(name) not in STILL and not (book.at(name) == "straggling" and book.others_run(name)):
            return v.Go(actor=name, times=16, at=book.now)
    return None
