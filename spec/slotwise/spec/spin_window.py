"""One spin window: pause, then also yield, until something is published, the window is over, or the pool is shut down.

A window sees the world through its *seams* alone: two flags, a clock, and two ways of passing time. Each pass looks at the flags and then
does the first of T1 to T7 that applies. So the same rules run inside a pool (`spin_pool`), on a scripted clock (`Scripted`) and in virtual
time (`Costed`).
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from slotwise.spec import spin_vocabulary as v
from slotwise.spec.rules import SPIN, rule
from slotwise.spec.vocabulary import Observation

Ending = Literal["caught", "expired", "shutdown"]
Pass = Ending | Literal["goes on"]
PASSES = 1 << 32                 # their number wraps


@dataclass(slots=True)
class Window:
    length: int                  # in time since the stretch began
    n: int = 0                   # passes begun, without those that only saw a flag
    q: int = 0                   # the next yield is due
    y: int = 0                   # yields
    reads: int = 0               # of the clock


class Seams(Protocol):
    """What a window asks of the world. `read` is the time elapsed."""

    def shut(self) -> bool: ...
    def moved(self) -> bool: ...
    def pause(self) -> None: ...
    def give_way(self) -> None: ...
    def read(self) -> int: ...


# the arithmetic, of plain numbers
def next_pass(n: int) -> int:
    return (n + 1) % PASSES


def is_over(elapsed: int, length: int) -> bool:
    return elapsed >= length


def is_due(elapsed: int, due: int) -> bool:
    return elapsed >= due


def next_yield(elapsed: int, interval: int) -> int:
    return elapsed + interval


def most_yields(length: int, first: int, interval: int) -> int:
    """The tight bound on the yields of a window whose first reading beyond the budget is `first`: they are an interval apart, before the end."""
    return max(0, -(-(length - first) // interval))


def one_pass(p: v.Profile, w: Window, s: Seams) -> Pass:
    """Each pass begins with the flags; the first rule that applies says what comes of it."""
    if ended := shutdown_seen(s) or publication_seen(s):
        return ended
    w.n = next_pass(w.n)
    return beyond_the_budget(p, w, s) if w.n >= p.budget else only_pauses(p, w, s) or looks_at_the_clock(w, s)


def beyond_the_budget(p: v.Profile, w: Window, s: Seams) -> Pass:
    flooded = yields_first(p, w, s)
    if looks_rarely(p, w):
        return flooded or pauses_between(s)
    elapsed = read(w, s)
    return over(w, elapsed) or flooded or yields(p, w, s, elapsed) or pauses_between(s)


def read(w: Window, s: Seams) -> int:
    w.reads += 1
    return s.read()


def give_way(w: Window, s: Seams) -> None:
    s.give_way()
    w.y += 1


@rule("SPN-1", source="spin 2 T1; I13", of=SPIN)
def shutdown_seen(s: Seams) -> Pass | None:
    """A shutdown ends the window first of all: who sees both leaves, whatever was published."""
    return "shutdown" if s.shut() else None


@rule("SPN-2", source="spin 2 T2; I12", of=SPIN)
def publication_seen(s: Seams) -> Pass | None:
    """A publication ends the window in any pass that sees it, whatever the clock says."""
    return "caught" if s.moved() else None


@rule("SPN-3", source="spin 2 T3; I7", of=SPIN)
def only_pauses(p: v.Profile, w: Window, s: Seams) -> Pass | None:
    """Below the budget a pass pauses, and does not read the clock, but for each stride's last."""
    if w.n % p.stride == 0:
        return None
    s.pause()
    return "goes on"


@rule("SPN-4", source="spin 2 T4; I10", of=SPIN)
def looks_at_the_clock(w: Window, s: Seams) -> Pass:
    """The last pass of each stride below the budget pauses and then reads the clock: the smallest window is one stride."""
    s.pause()
    return over(w, read(w, s)) or "goes on"


@rule("SPN-5", source="spin 1.8, 2 T5; I3", of=SPIN)
def over(w: Window, elapsed: int) -> Pass | None:
    """At a reading that is as long as the window, it is over: the deadline comes before any yield that is due."""
    return "expired" if is_over(elapsed, w.length) else None


@rule("SPN-6", source="spin 2 T6; I4, I5, I6", of=SPIN, off="yields_unbounded")
def yields(p: v.Profile, w: Window, s: Seams, elapsed: int) -> Pass | None:
    """Beyond the budget the first pass yields, and then each at least an interval after the last, counted from the reading before that yield: if a yield lasts
    longer, the next one is due at once."""
    if not is_due(elapsed, w.q):
        return None
    give_way(w, s)
    w.q = next_yield(elapsed, p.yield_interval)
    return "goes on"


@rule("SPN-7", source="spin 2 T7; I11", of=SPIN, off="yields_unbounded")
def pauses_between(s: Seams) -> Pass:
    """Beyond the budget, a pass with no yield due pauses."""
    s.pause()
    return "goes on"


@rule("SPN-8", source="spin 1.8, BEFORE", of=SPIN, switch="yields_unbounded")
def yields_first(p: v.Profile, w: Window, s: Seams) -> Pass | None:
    """(As published before the bound: beyond the budget every pass yields, before it looks at the deadline.)"""
    if not p.yields_unbounded:
        return None
    give_way(w, s)
    return "goes on"


@rule("SPN-9", source="spin 1.8, ORIG", of=SPIN, switch="deadline_strided")
def looks_rarely(p: v.Profile, w: Window) -> bool | None:
    """(As first published: beyond the budget too, the clock is read once per stride only.)"""
    return True if p.deadline_strided and w.n % p.stride else None


# whole windows, apart from a pool ------------------------------------------------------------------------------------
@dataclass(slots=True)
class Scripted:
    """A clock that reads what is written, and after that the window's end, and on from there. Flags are seen from a pass on."""

    command: v.Script
    passes: int = 0
    readings: int = 0
    last: int = 0

    def shut(self) -> bool:
        self.passes += 1
        return self.command.shutdown is not None and self.passes >= self.command.shutdown

    def moved(self) -> bool:
        return self.command.publish is not None and self.passes >= self.command.publish

    def pause(self) -> None:
        pass

    def give_way(self) -> None:
        pass

    def read(self) -> int:
        written = self.command.readings
        self.last = written[self.readings] if self.readings < len(written) else max(self.last + 1, self.command.window)
        self.readings += 1
        return self.last


@dataclass(slots=True)
class Costed:
    """Virtual time: each act first lasts as long as it costs. Flags are seen from a time on, and cost nothing."""

    command: v.Wait
    last: int = 0                # the time
    yielded: bool = False

    def shut(self) -> bool:
        return self.command.shutdown is not None and self.last >= self.command.shutdown

    def moved(self) -> bool:
        return self.command.publish is not None and self.last >= self.command.publish

    def pause(self) -> None:
        self.last += self.command.pause

    def give_way(self) -> None:
        first = None if self.yielded else self.command.first_yield
        self.last += self.command.yields if first is None else first
        self.yielded = True

    def read(self) -> int:
        self.last += self.command.clock
        return self.last


def whole(p: v.Profile, command: v.Wait | v.Script) -> Observation:
    """One window from its beginning to its end."""
    w = Window(command.window)
    s = Costed(command) if isinstance(command, v.Wait) else Scripted(command)
    while (came := one_pass(p, w, s)) == "goes on":
        pass
    return ("outcome", came, w.n, w.y, w.reads, s.last)
