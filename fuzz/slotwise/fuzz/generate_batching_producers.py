"""What producers and branches of an episode do: updates, refreshes, cancels, credits."""
from __future__ import annotations

from typing import Any

from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_batching_episode import Model
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import LATEST

MS, SECOND = v.MILLISECOND, v.SECOND

MOST = 1 << 20
TIMES = ("now",) * 6 + ("tick", "short", "short", "ms", "ms", "long", "wake", "wake", "very long", "back")
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
    key, due = stamp if how in ("key", "both") else None, min(LATEST, max(0, stamp - model.ahead)) if how in ("due", "both") else None
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


def credit(model: Model, choose: Choose) -> Any:
    pump_next(model, choose)
    return v.Credit(running=choose.one_of(CREDITS, "running"), outside=choose.one_of(OUTSIDE, "outside"), at=instant(model, choose))


def ends(model: Model, choose: Choose) -> Any:
    """One that went on is running no longer."""
    pump_next(model, choose)
    return v.Credit(running=-1, at=model.book.now)
