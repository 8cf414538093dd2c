"""What to do next: the one generator for spinning, as `generate` is for admission.

An episode is a small pool: a few workers, a few dispatchers, and somebody who lets them go step by step, in any order, or many steps at once. Its
numbers are mostly smaller than the profile's, so that a window is passed through in tens of commands. Time stands still, ticks, or jumps to
where something happens: the end of a window, the next yield, the builder's deadline, or one nanosecond before. Here an episode is set up and
its next command chosen. Single commands are drawn in `generate_spin_commands`, what takes several in `generate_spin_errands`, windows and gaps
apart from the pool in `generate_spin_window`.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz import generate_spin_commands as single
from slotwise.fuzz import generate_spin_errands as errands
from slotwise.fuzz import generate_spin_window as apart
from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_spin_book import Book
from slotwise.fuzz.generate_spin_episode import NEEDS, STYLES, Model
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


def wait(model: Model, choose: Choose) -> Any:
    return apart.wait(model, choose, single.instant(model, choose))


def script(model: Model, choose: Choose) -> Any:
    return apart.script(model, choose, single.instant(model, choose))


def gap(model: Model, choose: Choose) -> Any:
    return apart.gap(model, choose, single.instant(model, choose))


DRAW: dict[str, Callable[[Model, Choose], Any]] = {
    "dispatch": single.dispatch, "go": single.go, "end": single.end, "stir": single.stir, "shutdown": single.shutdown, "counters": single.counters, "wait": wait, "script": script, "gap": gap,
}  # fmt: skip
OTHERS: dict[str, Callable[..., Any]] = {
    "publish": errands.publish, "park": errands.park, "rush": errands.rush, "build": errands.build, "announce": errands.announce, "miss": errands.miss, "flood": errands.flood,
    "illegal": single.illegal, "then publish": errands.then_publish, "then go on": errands.then_go_on, "then rest": errands.then_rest, "then miss": errands.then_miss,
    "then fan-out": errands.then_fan_out, "then finish": errands.then_finish, "then step": errands.then_step,
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
        if book.at(name) not in single.STILL and not (book.at(name) == "straggling" and book.others_run(name)):
            return v.Go(actor=name, times=16, at=book.now)
    return None
