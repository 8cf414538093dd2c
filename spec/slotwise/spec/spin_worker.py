"""A worker's outer loop: look for tasks, wait for more of them, park, and look again.

A *stretch* is its time without a task. In the pool as published each window is a stretch of its own, and a catch that ran nothing begins another;
here a stretch ends only with a task, and has one window: so every idle stretch ends in a park, and a park is never followed by another window before a task.
"""
from __future__ import annotations

from slotwise.spec import spin_window
from slotwise.spec.rules import SPIN, rule
from slotwise.spec.spin_policy import every_catch_counts
from slotwise.spec.spin_pool import Passes, Pool, Saw, Worker, first_call, nothing_left, settle, something_left, take, too_late
from slotwise.spec.spin_window import Pass, Window
from slotwise.spec.vocabulary import Observation


def step_of_worker(pool: Pool, w: Worker, at: int, passes: Passes) -> Saw:
    """One step, or a plain pass, which is only tallied."""
    match w.at:
        case "announce":
            return [announce(pool, w, at)]
        case "top":
            return [leaves(pool, w) or looks(pool, w)]
        case "scan":
            return [scan(pool, w)]
        case "take":
            return [take_up(pool, w)]
        case "settle":
            w.ran += 1
            return [settle(pool, w, w.todo[0])]
        case "read":
            return again(pool, w, at) or nothing_new(pool, w, at)
        case "window":
            return window(pool, w, passes)
        case "wait":
            return [sleeps(pool, w) or stays(w)]
        case _:
            return [woken(pool, w)]


@rule("SPN-30", source="spin 1.5 W0", of=SPIN)
def announce(pool: Pool, w: Worker, at: int) -> Observation:
    """A worker begins by counting itself ready; its first stretch begins."""
    pool.ready += 1
    w.at, w.last, w.since = "top", pool.epoch, at
    return ("announced", w.name, pool.ready)


@rule("SPN-31", source="spin 1.5 W1, W5", of=SPIN)
def leaves(pool: Pool, w: Worker) -> Observation | None:
    """A worker that sees the shutdown before a scan leaves for ever."""
    if not pool.shutdown:
        return None
    w.at = "gone"
    return ("left", w.name)


@rule("SPN-32", source="spin 1.5 W2", of=SPIN)
def looks(pool: Pool, w: Worker) -> Observation:
    """A scan is of the slots that are active when it begins, each once, from the worker's own number on, wrapping."""
    w.todo, w.ran = in_turn(pool.active, w.number, len(pool.slots)), 0
    w.at = "scan" if w.todo else "read"
    return ("looks", w.name, len(w.todo))


def in_turn(active: int, number: int, slots: int) -> list[int]:
    return [slot for slot in ((number + i) % slots for i in range(slots)) if active >> slot & 1]


def scan(pool: Pool, w: Worker) -> Observation:
    slot = w.todo[0]
    if passed := nothing_left(pool, w, slot):
        next_slot(w)
        return passed
    return something_left(w, slot)


def next_slot(w: Worker) -> None:
    w.todo = w.todo[1:]
    w.at = "scan" if w.todo else "read"


def take_up(pool: Pool, w: Worker) -> Observation:
    slot = w.todo[0]
    if took := take(pool, w, slot):
        teaches(pool, w, slot)
        return took
    next_slot(w)
    return too_late(w, slot)


@rule("SPN-33", source="spin 5.4", of=SPIN)
def teaches(pool: Pool, w: Worker, slot: int) -> bool | None:
    """The first task of a stretch that had a window tells how long there was none: from the stretch's beginning to the publication's stamp."""
    return learn(pool, w, pool.slots[slot].published_at) if w.entered else None


def learn(pool: Pool, w: Worker, published_at: int) -> bool:
    pool.policy.learn(w.memory, max(0, published_at - w.since), w.window.length)
    w.entered = False
    return True


@rule("SPN-34", source="spin 1.5 W3", of=SPIN)
def again(pool: Pool, w: Worker, at: int) -> Saw | None:
    """After a scan that ran a task, or if the epoch has moved since it was last stored, it is stored, and another scan follows: a publication in between is not missed."""
    caught, w.caught = w.caught, False
    if not w.ran and pool.epoch == w.last:
        return None
    w.last, w.at = pool.epoch, "top"
    if w.ran:
        useful_catch(pool, caught)
        pool.policy.grow(w.memory)
        begin_stretch(w, at)
    return [("again", w.name, w.ran)]


@rule("SPN-35", source="spin 5.4; issue 4", of=SPIN, off="empty_catch_counts")
def useful_catch(pool: Pool, caught: bool) -> bool | None:
    """A catch counts if the scan that follows it ran a task."""
    if not caught:
        return None
    pool.counters["spin_hits"] += 1
    return True


def begin_stretch(w: Worker, at: int) -> None:
    w.since, w.entered, w.expired, w.window, w.told = at, False, False, Window(0), 0


def nothing_new(pool: Pool, w: Worker, at: int) -> Saw:
    """The scan ran nothing, and the epoch is as before."""
    w.at = "window"
    if every_catch_counts(pool.profile):
        begin_stretch(w, at)
    parked = parks_at_once(pool, w)
    if not parked and not goes_on(w):
        enters(pool, w)
    return [("nothing_new", w.name), *([parked] if parked else [])]


@rule("SPN-36", source="issue 4; spin 6.1", of=SPIN, off="empty_catch_counts")
def parks_at_once(pool: Pool, w: Worker) -> Observation | None:
    """A stretch whose window is over has no other: after a park that brought no task the worker parks at once."""
    return park(pool, w) if w.expired else None


@rule("SPN-37", source="issue 4; spin 6.1, 5.4", of=SPIN, off="empty_catch_counts")
def goes_on(w: Worker) -> bool | None:
    """A catch that ran no task changes nothing: the window goes on where it was, so that every idle stretch ends in a park."""
    return w.entered or None


@rule("SPN-38", source="spin 1.5 W4", of=SPIN)
def enters(pool: Pool, w: Worker) -> bool:
    """The window is as long as the policy says when a stretch has its first, counted from where the stretch began."""
    w.entered, w.window = True, Window(pool.policy.choose(w.memory))
    return True


@rule("SPN-39", source="spin 1.5 W6, 1.7", of=SPIN)
def park(pool: Pool, w: Worker) -> Observation:
    """The end of a window is a park, and is counted before the worker sleeps, or finds that it need not."""
    pool.counters["parks"] += 1
    w.expired, w.at = True, "wait"
    return ("expired", w.name, w.window.length)


def window(pool: Pool, w: Worker, passes: Passes) -> Saw:
    """One pass."""
    passes.last, passes.since = w.last, w.since
    came = spin_window.one_pass(pool.profile, w.window, passes)
    return [] if came == "goes on" else ended(pool, w, came)


def ended(pool: Pool, w: Worker, came: Pass) -> Saw:
    count_yields(pool, w)
    if came == "shutdown":
        w.at = "gone"
        return [("left", w.name)]
    if came == "expired":
        return [park(pool, w)]
    return [catch(pool, w)]


@rule("SPN-40", source="spin 2, 1.7", of=SPIN)
def count_yields(pool: Pool, w: Worker) -> bool | None:
    """The yields of a window are counted when it is left, however it ended; of one that goes on, those since."""
    if w.window.y == w.told:
        return None
    pool.counters["spin_yields"] += w.window.y - w.told
    w.told = w.window.y
    return True


@rule("SPN-41", source="spin 1.5 W5", of=SPIN)
def catch(pool: Pool, w: Worker) -> Observation:
    """After a catch another scan follows; the epoch is stored only after it."""
    w.at = "top"
    if every_catch_counts(pool.profile):
        pool.counters["spin_hits"] += 1
        pool.policy.grow(w.memory)
    else:
        w.caught = True
    return ("caught", w.name, pool.policy.choose(w.memory))


@rule("SPN-42", source="spin 1.5 W6", of=SPIN)
def sleeps(pool: Pool, w: Worker) -> Observation | None:
    """A worker parks only if the epoch is still the one that it stored; that is looked at and done in one step."""
    if pool.epoch != w.last:
        return None
    pool.sleepers.append(w.name)
    w.at = "asleep"
    return ("slept", w.name)


@rule("SPN-43", source="spin 1.5 W6", of=SPIN)
def stays(w: Worker) -> Observation:
    """If the epoch has moved, the park is over at once."""
    w.at = "woken"
    return ("stayed", w.name)


@rule("SPN-44", source="spin 1.5 W6", of=SPIN)
def woken(pool: Pool, w: Worker) -> Observation:
    """After a park the policy is told, and a scan follows."""
    missed(pool, w)
    pool.policy.shrink(w.memory)
    w.at = "top"
    return ("woke", w.name, pool.policy.choose(w.memory))


@rule("SPN-76", source="spin 5.4", of=SPIN)
def missed(pool: Pool, w: Worker) -> bool | None:
    """Who parked has missed the first call since: the gap ended there, whether or not there is a task left when it looks. So a park hides nothing, and short fan-outs, which are over before a parked worker comes, do not seem far apart."""
    called = first_call(pool.calls, w.last, pool.epoch) if w.entered else None
    return None if called is None else learn(pool, w, called)
