"""What to do next: the one generator for checkpoint batching, as `generate` is for admission.

An episode is a little world: producers whose updates come singly or together, branches that wait for instants of a service whose clock
is not ours, a driver that mostly does its duty, and a service that answers after a round trip, in pages, without a stamp, without a token, or not at
all. Among these are commands that no driver would send: every command is legal in every state.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz import generate_batching_producers as producers
from slotwise.fuzz import generate_batching_service as service
from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_batching_episode import STYLES, Model
from slotwise.spec import batching_vocabulary as v

MS, SECOND = v.MILLISECOND, v.SECOND

BYTES = ("as it is", "as it is", 1000, 300)
UPDATES = ("as it is", "as it is", 1, 2, 3, 5)
HINTS = (0, 0, 5 * SECOND, -5 * SECOND)
#: Nanoseconds since 1970, and nearly all that a stamp may be: the clocks go on, and apart. (A stranger's may be floats.)
FAR = (*HINTS, *HINTS, 1_800_000_000 * SECOND, v.FURTHEST - (1 << 50), -v.FURTHEST + (1 << 50))
AHEAD = (0, 0, 3 * MS, 5 * SECOND, -5 * SECOND)          # of the service's clock, beside the hint
TRIPS = (30 * MS, 30 * MS, 5 * MS, 200 * MS, 1, 0)
GOES_ON = ("update", "update", "refresh", "ends", "ends", "goes on")
ILLEGAL = ("respond", "page", "fail", "again", "far")


def begin(profile: v.Profile, commands: Collection[str], choose: Choose, *, vary: bool = False, plain: bool = False) -> Model:
    """Draw an episode's set-up. The limits are often smaller than the profile's. `vary`: its other parameters vary too. `plain`: nobody is
    asked about limits of ours. Raises ValueError if no such command is known."""
    known = frozenset(commands) & v.COMMANDS.keys()
    style = STYLES[choose.one_of(tuple(STYLES), "style")]
    needs = {"answer": "respond", "illegal": "pump", "withdraw": "pump", "burst": "refresh"}
    kinds = tuple(kind for kind in style.kinds if needs.get(kind, kind) in known) or tuple(sorted(known))
    if not kinds:
        raise ValueError(f"nothing to draw: none of {sorted(commands)} is a command")
    if vary:
        profile = varied(profile, choose)
    if not plain:
        size, updates = choose.one_of(BYTES, "bytes"), choose.one_of(UPDATES, "updates")
        limits = {name: limit for name, limit in (("bytes", size), ("updates", updates)) if isinstance(limit, int)}
        profile = changed(profile, discipline=changed(profile.discipline, **limits))
    hint = choose.one_of(HINTS if plain else FAR, "hint")
    return Model(profile, v.Setup(hint=hint), style, kinds, known, hint + choose.one_of(AHEAD, "ahead"), choose.one_of(TRIPS, "trip"))


def varied(profile: v.Profile, choose: Choose) -> v.Profile:
    """The same discipline with other parameters."""
    short = (0, 1, MS, 20 * MS, 100 * MS)
    common = {"bytes": choose.one_of((0, 5, 300, 768_000), ""), "updates": choose.one_of((1, 2, 5, 250), ""), "collection": choose.one_of((0, 20 * MS, 250 * MS, SECOND), "")}
    discipline: v.LookAhead | v.Shipped
    match profile.discipline:
        case v.LookAhead():
            discipline = changed(
                profile.discipline, **common, quiet=choose.one_of(short, ""), may_come=choose.one_of((0, 1, MS, 2 * MS), ""), will_come=choose.one_of((1, 2, 8, 100), ""),
                hold=choose.one_of((0, 1, 1, 2, 50), ""), round_trip=choose.one_of((1, 10 * MS, 30 * MS), ""), horizon=choose.one_of((0, 1, 3, 10), ""),
                instants=choose.one_of((0, 1, 2, 64), ""), remembered=choose.one_of((1, 2, 3, 16), ""), resolution=choose.one_of((0, 0, 1, MS), ""),
                pause=choose.one_of((0, 1, 40 * MS, SECOND), ""), counted=choose.one_of((True, True, True, False), ""))
        case v.Shipped():
            window = choose.one_of((profile.discipline.blocked_window, 0, MS, 5 * MS), "") if profile.discipline.blocked_window is not None else None
            discipline = changed(profile.discipline, **common, quiet=choose.one_of((1, MS, 20 * MS, 100 * MS), ""), blocked_window=window)
    return changed(profile, discipline=discipline)


def switched(profile: v.Profile, choose: Choose) -> v.Profile:
    """The same discipline with other switches; no law is meant for what comes of it."""
    if isinstance(profile.discipline, v.LookAhead):
        return profile
    names = ("oversize_overflow_waits", "accepts_after_stop", "stop_abandons", "wakes_extend", "stop_waits_for_poll", "settles_by_older")
    discipline = changed(profile.discipline, heap=choose.one_of((True, True, False), ""), weighs_empties=choose.one_of(producers.YES, ""), revokes=choose.one_of(producers.YES, ""))
    return changed(profile, discipline=discipline, **{name: choose.one_of(producers.YES, "") for name in names})


def draw(model: Model, choose: Choose) -> Any:
    """The next command, of those the target knows."""
    book = model.book
    if not model.then and book.going:
        book.going -= 1
        if choose.integer(1, 4) <= model.style.goes_on:
            follow_on(model, choose)
    kind = model.then.pop() if model.then else choose.one_of(model.kinds, "do")
    return DRAW[kind](model, choose) if kind in DRAW else OTHERS[kind](model, choose)


def follow_on(model: Model, choose: Choose) -> None:
    """One that goes on does something, or ends."""
    kind = {"update": "submit", "refresh": "refresh", "ends": "credit"}.get(choose.one_of(GOES_ON, "goes on"), "")
    if kind in model.commands:
        model.then.append("ends" if kind == "credit" else kind)


def illegal(model: Model, choose: Choose) -> Any:
    """What no driver would send."""
    kind, now = choose.one_of(ILLEGAL, "illegal"), model.book.now
    if kind in model.commands:
        return DRAW[kind](model, choose)
    return v.Pump(at=now + 10 * SECOND if kind == "far" else max(0, now - MS) if kind == "again" else now)


DRAW: dict[str, Callable[[Model, Choose], Any]] = {
    "submit": producers.submit, "refresh": producers.refresh, "cancel": producers.cancel, "credit": producers.credit, "stop": service.stop,
    "pump": service.pump, "respond": service.respond, "page": service.page, "fail": service.fail,
}  # fmt: skip
OTHERS: dict[str, Callable[[Model, Choose], Any]] = {
    "answer": service.answer, "ends": producers.ends, "illegal": illegal, "withdraw": service.withdraw, "wake": service.wake, "in vain": service.in_vain,
    "burst": producers.burst, "blocked": producers.blocked,
}  # fmt: skip


def drain(model: Model) -> Any:
    """End it in order: answer what is out, stop, and pump until the collector has ended. None: it has, or can't."""
    book = model.book
    if book.ended or not model.commands >= {"stop", "pump", "respond", "page"}:
        return None
    if book.sent is not None:
        return v.Page(done=book.asks, at=book.now) if book.fetching else v.Respond(token=f"t{book.sends}", done=book.asks, at=max(book.now, book.sent + model.trip))
    if not model.long:
        model.long = True                                # stopped
        return v.Stop(at=book.now)
    return v.Pump(at=max(book.now, book.wake or 0))
