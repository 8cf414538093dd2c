"""The laws of windows: of one in a pool, of whole ones apart from it, and of what windows cost a lone worker. See `spin_laws`."""
from __future__ import annotations

from functools import partial

from slotwise.spec import spin_vocabulary as v
from slotwise.spec.law_registry import Law
from slotwise.spec.law_registry import law as any_law
from slotwise.spec.spin_book import Actor, Book, Lone, Window

LAWS: dict[str, Law] = {}
law = partial(any_law, laws=LAWS)


# plain numbers
def readings_of(n: int, budget: int, stride: int) -> int:
    """Of the clock in so many passes: the last of each stride below the budget, and then every one."""
    return n // stride if n < budget else (budget - 1) // stride + n - (budget - 1)


def most_yields(length: int, first: int, interval: int) -> int:
    return max(0, -(-(length - first) // interval))


def park_price(profile: v.Profile, setup: v.Setup) -> int:
    """B."""
    latency = profile.discipline.latency if isinstance(profile.discipline, v.BreakEven | v.Guarded) else 0
    return setup.park + latency * max(0, setup.wake - setup.catch) // 1024


def lengths(profile: v.Profile, setup: v.Setup) -> tuple[int, int]:
    """The shortest and the longest window that the policy may choose."""
    park, d = park_price(profile, setup), profile.discipline
    match d:
        case v.Fixed():
            return d.window, d.window
        case v.BreakEven():
            return park, park
        case v.Guarded():
            return 0, 2 * park
        case _:
            return d.floor, d.cap


def passes(w: Window, p: v.Profile) -> int:
    """By its readings, of a window that is over. Below the budget each pass pauses."""
    below = (p.budget - 1) // p.stride
    return w.pauses if w.readings <= below else p.budget - 1 + w.readings - below


# a window in a pool -----------------------------------------------------------------------------------------------------
@law("LAW-57", source="spin 2.1 I15, 5.4")
def within_bounds(book: Book, window: int) -> str | None:
    """Every window is one that the policy can choose: within the ratchet's bounds, or at most two parks long."""
    shortest, longest = lengths(book.profile, book.setup)
    return None if shortest <= window <= longest else f"{window}, of {shortest} to {longest}"


@law("LAW-58", source="spin 2.1 I8")
def reads_in_time(book: Book, w: Window, over: bool) -> str | None:
    """Below the budget the clock is read in the last pass of each stride, and from then on in every pass."""
    p, n = book.profile, w.pauses + w.yields
    right = w.readings == readings_of(n, p.budget, p.stride) or (over and n + 1 >= p.budget and w.readings == readings_of(n + 1, p.budget, p.stride))
    return None if right else f"{w.readings} readings in {n} passes"


@law("LAW-59", source="spin 2 T5, 2.1 I9")
def over_at_once(book: Book, w: Window, length: int, readings: int) -> str | None:
    """The first reading that is as long as the window ends it, and no earlier one: this command's only one."""
    elapsed = book.now - w.since
    if elapsed < length:
        return f"over at {elapsed}, of {length}"
    return f"read {w.latest} and went on, {readings} readings at {elapsed}, of {length}" if w.latest >= length or readings != 1 else None


@law("LAW-60", source="spin 2.1 I6")
def yields_apart(book: Book, w: Window, yields: int) -> str | None:
    """Two yields of a window are at readings that are an interval apart; at one instant there is one yield."""
    elapsed = book.now - w.since
    near = w.yielded is not None and elapsed - w.yielded < book.profile.yield_interval
    return f"{yields} yields at {elapsed}, after one at {w.yielded}" if yields > 1 or (yields and near) else None


@law("LAW-61", source="spin 2.1 I1, I3")
def bounded_yields(book: Book, w: Window, length: int) -> str | None:
    """In a window there are at most as many yields as intervals fit between its first reading from the budget on and its end: none at the end, or after it."""
    most = 0 if w.first is None else most_yields(length, w.first, book.profile.yield_interval)
    late = w.yielded is not None and w.yielded >= length
    return f"{w.yields} yields of {most}, the last at {w.yielded} of {length}" if w.yields > most or late else None


@law("LAW-62", source="spin 2.1 I2, I5")
def yields_exactly_beyond(book: Book, yields: int, n: int) -> str | None:
    """A window that is over has yielded if and only if it went on beyond the first pass of its yielding part."""
    return f"{yields} yields in {n} passes" if (yields > 0) != (n > book.profile.budget) else None


@law("LAW-63", source="spin 6.1, classes A and E; issue 4")
def idle_ends_in_a_park(book: Book, worker: Actor, readings: int, over: bool) -> str | None:
    """Once a worker has been without a task for longer than any window, its next reading of the clock is its last before it parks, whatever it has caught in between."""
    idle = book.now - worker.since
    if idle < lengths(book.profile, book.setup)[1] or not readings or (over and readings == 1):
        return None
    return f"{readings} readings, idle for {idle}"


@law("LAW-64", source="spin 6.1, class E; issue 4")
def spins_once(worker: Actor) -> str | None:
    """After a park that brought no task a worker parks again at once: it does not spin for the same nothing twice."""
    return f"{worker.name} spins again" if worker.over else None


# whole windows ----------------------------------------------------------------------------------------------------------
@law("LAW-65", source="spin 2 T1, T2, T5; 2.1 I12, I13, I14")
def ended_truly(command: v.Wait | v.Script, outcome: str, n: int, elapsed: int, last_pass: int) -> str | None:
    """A window ends in the first pass that sees a shutdown, or else a publication, before that pass does anything else; and it expires when it is over."""
    moment = elapsed if isinstance(command, v.Wait) else n + 1
    shut, published = (at is not None and at <= moment for at in (command.shutdown, command.publish))
    missed = any(at is not None and at <= moment - last_pass for at in (command.shutdown, command.publish))
    right = {"shutdown": shut, "caught": published and not shut, "expired": elapsed >= command.window}[outcome] and not missed
    return None if right else f"{outcome} at {elapsed} of {command.window}, after {n} passes"


@law("LAW-66", source="spin 2.1 I8")
def whole_reads(p: v.Profile, n: int, readings: int) -> str | None:
    """The readings of a whole window follow from its passes, however it ended."""
    right = readings_of(n, p.budget, p.stride)
    return None if readings == right else f"{readings} readings in {n} passes, not {right}"


@law("LAW-67", source="spin 2.1 I1")
def whole_yields(p: v.Profile, yields: int, length: int, first: int) -> str | None:
    """A whole window yields at most once per interval from the first reading beyond the budget to its end."""
    most = most_yields(length, first, p.yield_interval)
    return f"{yields} yields, of at most {most}" if yields > most else None


@law("LAW-68", source="spin 2.1 I9, I10")
def whole_overshoot(p: v.Profile, command: v.Wait, n: int, elapsed: int) -> str | None:
    """A window lasts at least a stride, and when it is over is left within one stride's pauses and a reading, and a yield if the budget ends there with one; beyond the budget, within one
    yield or pause and a reading."""
    late = elapsed - command.window
    longest_yield = max(command.yields, command.first_yield or 0)
    longest = p.stride * command.pause + (longest_yield if n == p.budget and p.yields_unbounded else 0) if n <= p.budget else max(command.pause, longest_yield)
    if n < min(p.stride, p.budget):
        return f"over after {n} passes"
    return f"{late} beyond the window, in pass {n}" if late >= longest + command.clock and n > p.stride else None


# a lone worker ----------------------------------------------------------------------------------------------------------
@law("LAW-69", source="spin 5.2, 6.1; issue 4")
def one_window_each(lone: Lone, used: int, outcome: str) -> str | None:
    """A stretch without a task has one window, the one told for it; a publication is caught if it comes within that, counted from the stretch's beginning."""
    expected = lone.following if lone.window is None else lone.window
    if expected is not None and used != expected:
        return f"window {used}, not {expected}"
    right = "caught" if lone.length <= used else "parked"
    return None if outcome == right else f"{outcome} after {lone.length}, with window {used}"


@law("LAW-70", source="spin 5.4")
def competitive(lone: Lone, park: int) -> str | None:
    """All stretches together cost at most 2.25 times what hindsight would have paid, and eleven parks."""
    return f"{lone.paid}, where {lone.least} was enough, with parks of {park}" if 4 * lone.paid > 9 * lone.least + 44 * park else None
