"""What to do next: the one generator for checkpoint batching, as `generate` is for admission.

An episode is a little world: producers whose updates come singly or together, branches that wait for instants of a service whose clock
is not ours, a driver that mostly does its duty, and a service that answers after a round trip, in pages, without a stamp, without a token, or not at
all. Among these are commands that no driver would send: every command is legal in every state.
"""
from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.generate import Choose
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation

MS, SECOND = v.MILLISECOND, v.SECOND
MOST = 1 << 20
BYTES = ("as it is", "as it is", 1000, 300)
UPDATES = ("as it is", "as it is", 1, 2, 3, 5)
HINTS = (0, 0, 5 * SECOND, -5 * SECOND)
AHEAD = (0, 0, 3 * MS, 5 * SECOND, -5 * SECOND)          # of the service's clock, beside the hint
TRIPS = (30 * MS, 30 * MS, 5 * MS, 200 * MS, 1, 0)
TIMES = ("now",) * 6 + ("tick", "short", "short", "ms", "ms", "long", "wake", "wake", "very long", "back")
PUMPED = ("now",) * 4 + ("wake",) * 5 + ("before", "after", "long")
ANSWERED = ("in time",) * 6 + ("now", "late")
SIZES = ("small",) * 5 + ("third", "half", "half", "whole", "too large", "none")
IDS = ("new",) * 14 + ("again", "asked", "context", "orphan")
PARENTS = ("none",) * 8 + ("recent", "recent", "ended", "itself")
YES = (True, False)
SELDOM = (False,) * 8 + (True,)
RARELY = (False,) * 24 + (True,)
WAITS = ("key",) * 5 + ("due",) * 3 + ("both", "neither")
OWNERS = ("a", "a", "b")
SOON = (1, 2, 9, 15, 16, 29, 30, 31, 45, 60, 61, 90)
DISTANCES = (-50, 0, 1, 3, 16, 30, 60, 61, 100, 150, 1500)
INSTANTS = ("new",) * 3 + ("same", "same", "near")
CANCELLED = ("asked", "asked", "owner", "nobody")
CREDITS = (1, 1, 1, 2, 3, -1, -1)
OUTSIDE = (0, 0, 0, 1, 1, -1)
FATES = ("token",) * 30 + ("no token", "fail")
STAMPS = ("right",) * 12 + ("none", "odd")
SHOWN = ("right",) * 6 + ("all", "none", "early", "strangers")
PAGES = ("last",) * 8 + ("more",)
CLOCKS = ("kept",) * 30 + ("set",)
GOES_ON = ("update", "update", "refresh", "ends", "ends", "goes on")
ILLEGAL = ("respond", "page", "fail", "again", "far")


@dataclass(frozen=True, slots=True)
class Style:
    """What an episode looks like: which commands, and what follows what."""

    kinds: tuple[str, ...]
    then_pump: int = 3               # of 4: how often a command is followed by a pump
    then_answer: int = 1             # of 4: how often a pump is followed by an answer, as soon as that may come
    sync: tuple[bool, ...] = (True, True, False)
    goes_on: int = 3                 # of 4: how often one that goes on is followed


MIXED = ("submit",) * 6 + ("refresh",) * 4 + ("pump",) * 6 + ("answer",) * 6 + ("credit",) * 2 + ("cancel",)
STYLES = {
    "mixed": Style((*MIXED, *MIXED, "stop", "illegal", "withdraw")),
    "crowd": Style(("submit",) * 6 + ("pump",) * 6 + ("answer",) * 4 + ("credit",) * 4, then_pump=2, sync=(True,)),
    "waves": Style(("refresh",) * 8 + ("pump",) * 8 + ("answer",) * 6 + ("submit", "submit", "cancel", "credit"), then_pump=2, then_answer=3),
    "again": Style(("refresh",) * 3 + ("submit",) * 2 + ("pump",) * 4 + ("answer",) * 8, then_answer=4, goes_on=4),
    "quiet": Style(("submit",) * 6 + ("pump",) * 8 + ("answer",) * 3, then_pump=2, sync=(False, False, False, True)),
    "bulk": Style(("submit",) * 12 + ("pump",) * 2 + ("answer",) * 3 + ("refresh",), then_pump=1, sync=(True, False, False)),
    "ends": Style(("submit",) * 5 + ("refresh",) * 3 + ("pump",) * 4 + ("answer",) * 4 + ("stop", "cancel", "credit")),
    "plans": Style(("burst",) * 3 + ("refresh",) * 3 + ("submit",) * 3 + ("pump",) * 6 + ("answer",) * 4, then_pump=2, then_answer=3, sync=(True,)),
    "cancels": Style(("submit",) * 3 + ("refresh",) * 5 + ("withdraw",) * 4 + ("cancel",) * 2 + ("pump",) * 8 + ("answer",) * 4, sync=(False, False, True)),
    "wild": Style((*MIXED, "stop") + ("illegal",) * 6, then_pump=1),
}  # fmt: skip


@dataclass(slots=True)
class Book:
    """What a driver would know."""

    now: int = 0
    wake: int | None = None                              # when the last sleep ends
    sent: int | None = None                              # when the request that is out left
    fetching: bool = False
    updates: bool = False                                # it carries some
    asks: tuple[str, ...] = ()                           # refreshes that it carries
    sends: int = 0
    ended: bool = False                                  # the last pump said so
    waiting: dict[str, bool] = field(default_factory=dict)         # refreshes that were accepted and are not settled; the newest last
    going: int = 0                                       # producers and branches that go on, and were not seen since

    def update(self, command: Any, saw: list[Observation]) -> None:
        said: Any
        for said in saw:
            match said[0]:
                case "time_reversed":
                    return
                case "send":
                    self.sent, self.updates, self.asks, self.fetching = command.at, bool(said[1]), tuple(said[2]), False
                    self.sends += 1
                    self.wake = None
                case "sleep":
                    self.wake = said[1]
                case "exit":
                    self.ended = True
                case "resumed":
                    self.going += len(said[3])
                    for id in said[3]:
                        self.waiting.pop(id, None)
                case "accepted" if isinstance(command, v.Refresh):
                    self.waiting[said[1]] = True
                case "settled":
                    self.waiting.pop(said[1], None)
                    self.going += said[2] == "ok"
                case _:
                    pass
        self.now = max(self.now, command.at)
        if isinstance(command, v.Respond | v.Page | v.Fail) and not (saw and saw[0][0] == "unexpected"):
            self.fetching = bool(saw) and saw[0][0] == "fetch"
            if not self.fetching:
                self.sent = None


@dataclass(slots=True)
class Model:
    """An episode under way."""

    profile: v.Profile
    setup: v.Setup
    style: Style
    kinds: tuple[str, ...]
    commands: frozenset[str]
    ahead: int                                           # the service's clock minus ours
    trip: int
    book: Book = field(default_factory=Book)
    fresh: int = 0
    names: list[str] = field(default_factory=list)       # of operations, the newest last
    keys: dict[str, int | None] = field(default_factory=dict)      # of what was asked for, by name
    dues: dict[str, int] = field(default_factory=dict)   # of the same, by our clock, as far as the hint tells
    below: dict[str, str] = field(default_factory=dict)  # operation -> the context it was last said to be below
    closed: list[str] = field(default_factory=list)      # contexts that were ended
    instant: int = 0                                     # of the service, that something last waited for
    then: list[str] = field(default_factory=list)
    long: bool = False


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
    hint = choose.one_of(HINTS, "hint")
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
    discipline = changed(profile.discipline, heap=choose.one_of((True, True, False), ""), weighs_empties=choose.one_of(YES, ""), revokes=choose.one_of(YES, ""))
    return changed(profile, discipline=discipline, **{name: choose.one_of(YES, "") for name in names})


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


def pump_next(model: Model, choose: Choose) -> None:
    if "pump" in model.commands and choose.integer(1, 4) <= model.style.then_pump:
        model.then.append("pump")


def instant(model: Model, choose: Choose) -> int:
    now = model.book.now
    match choose.one_of(TIMES, "time"):
        case "tick":
            return now + 1
        case "short":
            return now + choose.one_of((MS // 4, 9 * MS // 10, MS), "")
        case "ms":
            return now + choose.integer(1, 40) * MS
        case "long":
            return now + choose.integer(1, 12) * 10 * MS
        case "very long":
            return now + SECOND
        case "wake":
            return max(now, model.book.wake or 0)
        case "back":
            return max(0, now - 1)
        case _:
            return now


def name_of(model: Model, choose: Choose) -> str:
    match choose.one_of(IDS, "id"):
        case "again" if model.names:
            return choose.one_of(tuple(model.names[-6:]), "")
        case "asked" if model.book.waiting:
            return choose.one_of(tuple(model.book.waiting)[-4:], "")
        case "context" if model.below:
            return choose.one_of(tuple(model.below.values())[-4:], "")
        case "orphan" if model.below:
            orphans = tuple(id for id, parent in model.below.items() if parent in model.closed) or tuple(model.below)
            return choose.one_of(orphans[-4:], "")
        case _:
            model.fresh += 1
            model.names.append(f"o{model.fresh}")
            return model.names[-1]


def submit(model: Model, choose: Choose) -> Any:
    limit, parent = model.profile.discipline.bytes, None
    id = name_of(model, choose)
    match choose.one_of(PARENTS, "parent"):
        case "recent" if model.names:
            parent = choose.one_of(tuple(model.names[-5:]), "")
        case "ended" if model.closed:
            parent = choose.one_of(tuple(model.closed[-3:]), "")
        case "itself":
            parent = id
    sizes = {"small": choose.one_of((1, 10, 100), ""), "third": limit // 3, "half": limit // 2 + 1, "whole": limit, "too large": limit + 1, "none": 0}
    size = min(MOST, sizes[choose.one_of(SIZES, "size")])
    ends, sync = choose.one_of(YES if id in model.below.values() else SELDOM, "ends"), choose.one_of(model.style.sync, "sync")
    if parent is not None:
        model.below[id] = parent
    if ends:
        model.closed.append(id)
    pump_next(model, choose)
    return v.Submit(id=id, size=size, sync=sync, empty=choose.one_of(SELDOM, "empty"), parent=parent, ends=ends, final=choose.one_of(RARELY, "final"), at=instant(model, choose))


def refresh(model: Model, choose: Choose) -> Any:
    at = instant(model, choose)
    match choose.one_of(INSTANTS, "instant"):
        case "same":
            stamp = model.instant
        case "near":
            stamp = model.instant + choose.integer(0, 40) * MS
        case _:
            stamp = max(at, model.book.now) + model.ahead + choose.one_of(DISTANCES, "distance") * MS
    model.instant = stamp
    how = choose.one_of(WAITS, "wait")
    id = name_of(model, choose)
    key, due = stamp if how in ("key", "both") else None, max(0, stamp - model.ahead) if how in ("due", "both") else None
    model.keys[id], model.dues[id] = key, at if how == "neither" else stamp - model.setup.hint if due is None else due
    pump_next(model, choose)
    return v.Refresh(id=id, key=key, due=due, owner=choose.one_of(OWNERS, "owner"), index=choose.integer(0, 3), at=at)


def burst(model: Model, choose: Choose) -> Any:
    """Several refreshes that are due soon, one after the other; and then somebody is blocked: there is something to plan."""
    now = model.book.now
    due = now + choose.one_of(SOON, "soon") * MS
    model.fresh += 1
    id = f"o{model.fresh}"
    model.names.append(id)
    keyed = choose.one_of(SELDOM, "keyed")
    model.keys[id], model.dues[id], model.instant = due + model.ahead if keyed else None, due, due + model.ahead
    if choose.integer(1, 4) > 1:
        model.then.append("burst")
    else:
        model.then += [kind for kind in ("pump", "blocked") if kind in model.commands or (kind == "blocked" and "submit" in model.commands)]
    return v.Refresh(id=id, key=model.keys[id], due=None if keyed else due, owner=choose.one_of(OWNERS, "owner"), at=now)


def blocked(model: Model, choose: Choose) -> Any:
    return v.Submit(id=name_of(model, choose), size=1, at=model.book.now)


def cancel(model: Model, choose: Choose) -> Any:
    how, id = choose.one_of(CANCELLED, "cancel"), None
    if how == "asked":
        id = choose.one_of(tuple(model.book.waiting)[-5:] or tuple(model.keys)[-5:] or ("nobody",), "")
    elif how == "nobody":
        id = "nobody"
    pump_next(model, choose)
    return v.Cancel(id=id, owner=choose.one_of(OWNERS, "owner"), at=instant(model, choose))


def withdraw(model: Model, choose: Choose) -> Any:
    """What is next to come due is not wanted any more; and then comes its time."""
    to_come = [id for id in model.book.waiting if model.dues[id] > model.book.now]
    if "cancel" not in model.commands or not to_come:
        return refresh(model, choose) if "refresh" in model.commands else pump(model, choose)
    id = min(to_come, key=model.dues.__getitem__)
    if "pump" in model.commands:
        model.then.append("wake")
    return v.Cancel(id=id, at=model.book.now)


def wake(model: Model, choose: Choose) -> Any:
    return v.Pump(at=max(model.book.now, model.book.wake or 0))


def in_vain(model: Model, choose: Choose) -> Any:
    """Nothing that was asked for is done yet."""
    return v.Respond(token=f"t{model.book.sends}", at=arrives(model, choose))


def credit(model: Model, choose: Choose) -> Any:
    pump_next(model, choose)
    return v.Credit(running=choose.one_of(CREDITS, "running"), outside=choose.one_of(OUTSIDE, "outside"), at=instant(model, choose))


def ends(model: Model, choose: Choose) -> Any:
    """One that went on is running no longer."""
    pump_next(model, choose)
    return v.Credit(running=-1, at=model.book.now)


def stop(model: Model, choose: Choose) -> Any:
    pump_next(model, choose)
    if "respond" in model.commands and choose.integer(0, 1):
        model.then.append("in vain" if model.book.asks else "answer")
    return v.Stop(at=instant(model, choose))


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


def illegal(model: Model, choose: Choose) -> Any:
    """What no driver would send."""
    kind, now = choose.one_of(ILLEGAL, "illegal"), model.book.now
    if kind in model.commands:
        return DRAW[kind](model, choose)
    return v.Pump(at=now + 10 * SECOND if kind == "far" else max(0, now - MS) if kind == "again" else now)


DRAW: dict[str, Callable[[Model, Choose], Any]] = {
    "submit": submit, "refresh": refresh, "cancel": cancel, "credit": credit, "stop": stop, "pump": pump, "respond": respond, "page": page, "fail": fail,
}  # fmt: skip
OTHERS: dict[str, Callable[[Model, Choose], Any]] = {"answer": answer, "ends": ends, "illegal": illegal, "withdraw": withdraw, "wake": wake, "in vain": in_vain, "burst": burst, "blocked": blocked}


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
