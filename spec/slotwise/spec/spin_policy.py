"""How long a window is: what a worker has learned of its stretches, and the length that follows from it.

A stretch of X without a task costs X if the window lasts so long, and else the window and B, where B is what a park costs: ski rental. The
best that hindsight can do is OPT = min(X, B). Whoever has parked knows X all the same, for the publisher stamps its slot: so every
window that was not chosen can be priced too.

**Guarded.** Six windows, 0, B/8, B/4, B/2, B and 2B, each have a ledger of what they would have cost, in a memory of 64 stretches; the
cheapest is used. The guard G counts how much more was paid than 9/8 of what the window B would have cost, and beyond 8B the window is B.
Its cost is at most 2.25 OPT + 11B over any sequence of stretches, also one that is chosen knowing every window:

- A guarded step, G > 8B, uses B: it adds cost_B - cost_B - cost_B/8 <= 0 to G.
- Any other step uses at most 2B, so costs at most 3B, and adds at most that; before it, G <= 8B. So G <= 11B always. (INV-20)
- The lower clamp at -16B only raises G. So over all steps the sum of cost(used) - 9/8 cost_B is at most what G has gained, at most 11B.
- cost_B <= 2 min(X, B) for each stretch: X <= B costs X, and X > B costs 2B. So the whole is at most 9/8 * 2 OPT + 11B.

Divisions are rounded down: cost_B >> 3 is at most an eighth, so the guard counts a little too much, never too little: the sum of
cost(used) - cost_B - (cost_B >> 3) is at most 11B, and cost_B + (cost_B >> 3) <= 9/8 cost_B.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from slotwise.spec import spin_vocabulary as v
from slotwise.spec.rules import AVERAGE, BREAK_EVEN, FIXED, GUARDED, RATCHET, SPIN, rule
from slotwise.spec.vocabulary import Observation

Discipline = v.Ratchet | v.Fixed | v.BreakEven | v.Average | v.Guarded
CANDIDATES = 6


@dataclass(slots=True)
class Memory:
    """What one worker has learned."""

    window: int = 0                                              # the ratchet's
    average: int = 0                                             # of the gaps
    ledgers: list[int] = field(default_factory=lambda: [0] * CANDIDATES)
    guard: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    discipline: Discipline
    park: int                                                    # B: what a park costs, latency included

    def memory(self) -> Memory:
        return Memory(window=self.discipline.floor if isinstance(self.discipline, v.Ratchet) else 0)

    def choose(self, m: Memory) -> int:
        """The window of a stretch that begins now."""
        match self.discipline:
            case v.Ratchet():
                return m.window
            case v.Fixed():
                return fixed(self.discipline)
            case v.BreakEven():
                return break_even(self.park)
            case v.Average():
                return twice_the_average(self.discipline, m)
            case v.Guarded():
                return cold(m, self.park) or guarded(m, self.park) or follow(m, self.park)

    def grow(self, m: Memory) -> None:
        if isinstance(self.discipline, v.Ratchet):
            double(self.discipline, m)

    def shrink(self, m: Memory) -> None:
        if isinstance(self.discipline, v.Ratchet):
            halve(self.discipline, m)

    def learn(self, m: Memory, gap: int, used: int) -> None:
        """A stretch of that length has ended with a task."""
        match self.discipline:
            case v.Average():
                average(m, seen(gap, used, self.park))
            case v.Guarded():
                guard(m, gap, used, self.park)
                keep_ledgers(m, gap, self.park)
            case _:
                pass


def policy(profile: v.Profile, setup: v.Setup) -> Policy:
    latency = profile.discipline.latency if isinstance(profile.discipline, v.BreakEven | v.Guarded) else 0
    return Policy(profile.discipline, price_of_a_park(setup.park, setup.wake, setup.catch, latency))


# the arithmetic, of plain numbers
def price_of_a_park(park: int, wake: int, catch: int, latency: int) -> int:
    """CPU, and what the later look is worth."""
    return park + latency * max(0, wake - catch) // 1024


def cost(gap: int, window: int, park: int) -> int:
    """Of a stretch."""
    return gap if gap <= window else window + park


def candidates(park: int) -> tuple[int, ...]:
    return (0, park // 8, park // 4, park // 2, park, 2 * park)


def doubled(window: int, cap: int) -> int:
    return min(2 * window, cap)


def halved(window: int, floor: int) -> int:
    return max(window // 2, floor)


def seen(gap: int, used: int, park: int) -> int:
    """Of a stretch, by a worker that is told nothing: once parked, it sees no more than the window and a park."""
    return min(gap, used + park)


def next_average(average: int, gap: int) -> int:
    return average + ((gap - average) >> 3)


def within(window: int, floor: int, cap: int) -> int:
    return min(max(window, floor), cap)


def next_ledger(ledger: int, cost: int) -> int:
    return ledger - (ledger >> 6) + cost


def next_guard(guard: int, paid: int, even: int, park: int) -> int:
    """`paid` for the stretch, and what the window B would have cost."""
    return max(-16 * park, guard + paid - even - (even >> 3))


def is_guarded(guard: int, park: int) -> bool:
    return guard > 8 * park


def least(ledgers: list[int]) -> int:
    """Which is cheapest? Of equals, the first."""
    return ledgers.index(min(ledgers))


# the rules
@rule("SPN-10", source="spin 1.5 W3, W5; 2.4", of=RATCHET)
def double(p: v.Ratchet, m: Memory) -> bool:
    """After a scan that ran a task, and after a catch that counts, the window doubles, up to its cap."""
    m.window = doubled(m.window, p.cap)
    return True


@rule("SPN-11", source="spin 1.5 W6; 2.4", of=RATCHET)
def halve(p: v.Ratchet, m: Memory) -> bool:
    """After a park the window halves, down to its floor."""
    m.window = halved(m.window, p.floor)
    return True


@rule("SPN-12", source="spin 5.2", of=FIXED)
def fixed(p: v.Fixed) -> int:
    """The window is always the same."""
    return p.window


@rule("SPN-13", source="spin 5.2", of=BREAK_EVEN)
def break_even(park: int) -> int:
    """The window is as long as a park costs: no stretch costs more than twice what it must."""
    return park


@rule("SPN-14", source="spin 5.3, 5.5", of=AVERAGE)
def average(m: Memory, gap: int) -> bool:
    """The average moves by an eighth, rounded down, towards each gap, as far as the worker saw it: who measures by itself has seen the window and a park of a longer one."""
    m.average = next_average(m.average, gap)
    return True


@rule("SPN-15", source="spin 5.3, 5.5", of=AVERAGE)
def twice_the_average(p: v.Average, m: Memory) -> int:
    """The window is twice the average gap, within its bounds."""
    return within(2 * m.average, p.floor, p.cap)


@rule("SPN-16", source="spin 5.4", of=GUARDED)
def keep_ledgers(m: Memory, gap: int, park: int) -> bool:
    """After each stretch every candidate's ledger forgets a 64th and takes what that window would have cost."""
    m.ledgers = [next_ledger(ledger, cost(gap, window, park)) for ledger, window in zip(m.ledgers, candidates(park), strict=True)]
    return True


@rule("SPN-17", source="spin 5.4", of=GUARDED)
def guard(m: Memory, gap: int, used: int, park: int) -> bool:
    """After each stretch the guard takes what was paid beyond nine eighths of what breaking even would have cost; it remembers at most 16 parks of luck."""
    m.guard = next_guard(m.guard, cost(gap, used, park), cost(gap, park, park), park)
    return True


@rule("SPN-18", source="spin 5.4", of=GUARDED)
def cold(m: Memory, park: int) -> int | None:
    """Who knows nothing breaks even."""
    return None if any(m.ledgers) else park


@rule("SPN-19", source="spin 5.4", of=GUARDED)
def guarded(m: Memory, park: int) -> int | None:
    """Once following has cost eight parks too many, the window breaks even until that is paid back."""
    return park if is_guarded(m.guard, park) else None


@rule("SPN-20", source="spin 5.4", of=GUARDED)
def follow(m: Memory, park: int) -> int:
    """The window is the candidate that would have cost least; of equals, the smallest."""
    return candidates(park)[least(m.ledgers)]


# a lone worker -------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Lone:
    """A worker apart from the pool."""

    memory: Memory
    carried: int = 0                                             # of its stretch, before the gap that comes
    window: int = 0                                              # of its stretch, once that has met a gap
    met: bool = False


@rule("SPN-21", source="spin 1.5 W5, 2.4; 5.4", of=SPIN, switch="empty_catch_counts")
def every_catch_counts(profile: v.Profile) -> bool | None:
    """(As published: a catch counts though it ran no task, and a new stretch begins with each window. Else a stretch goes on until a task ends it.)"""
    return True if profile.empty_catch_counts else None


def gap(profile: v.Profile, policy: Policy, lone: Lone, command: v.Gap) -> Observation:
    """A publication ends the gap; the stretch ends if the worker got a task of it."""
    anew = every_catch_counts(profile)
    used = lone.window if lone.met else policy.choose(lone.memory)
    length = lone.carried + command.gap
    caught = length <= used
    if not caught:
        policy.shrink(lone.memory)
    elif anew:
        policy.grow(lone.memory)
    if command.ran:
        policy.grow(lone.memory)
    if command.ran or anew:
        policy.learn(lone.memory, length, used)
        lone.carried, lone.window, lone.met = 0, 0, False
    else:
        lone.carried, lone.window, lone.met = length, used, True
    return ("waited", used, "caught" if caught else "parked", policy.choose(lone.memory))
