"""Windows and gaps apart from a pool, for the generator of spinning: clocks that read what matters, and gaps in runs."""
from __future__ import annotations

from typing import Any

from slotwise.fuzz.generate import Choose
from slotwise.fuzz.generate_spin_book import Book
from slotwise.fuzz.generate_spin_episode import Model
from slotwise.spec import spin_vocabulary as v

#: The ratchet's ten windows, in units of which 1,000 are 1,000,000 ns.
TEN = (20_000, 31_250, 40_000, 62_500, 80_000, 125_000, 160_000, 250_000, 320_000, 500_000)
GAPS = ("constant", "constant", "alternating", "adversarial", "adversarial", "adversarial", "adversarial", "any", "any", "phases")
RAN = (True,) * 6 + (False,)
EMPTY = (True, False)
#: A whole window takes its time here.
MOST_PASSES = 8_000
LENGTHS = ("ten",) * 5 + ("own", "own", "none", "one")
PAUSES = (31, 1, 2, 47, 150, "any", "any")
CLOCKS = (20, 1, 49, 3)
YIELDS = (1050, 1, 31, 200, 820, "an interval")
FIRST = (None, None, None, "long", "an interval", 1)
SEEN_AT = (None,) * 5 + ("begin", "window", "window", "before", "middle", "early", "same", "budget")
RISES = ("interval", "interval", "half", "short", "short", "tick", "none", "before", "after", "far")
JUMPS = ("no",) * 5 + ("window", "before", "after")
BELOW = ("even", "even", "zero", "blind", "early")


def lengths(profile: v.Profile, setup: v.Setup) -> tuple[int, ...]:
    """Of windows that the policy may choose."""
    d = profile.discipline
    latency = d.latency if isinstance(d, v.BreakEven | v.Guarded) else 0
    park = setup.park + latency * max(0, setup.wake - setup.catch) // 1024
    match d:
        case v.Fixed():
            return (d.window,)
        case v.BreakEven():
            return (park,)
        case v.Guarded():
            return (park, park, 0, park // 8, park // 4, park // 2, 2 * park)
        case _:
            return (d.floor, d.floor, 2 * d.floor, 4 * d.floor, d.cap, d.cap // 2)


def length(model: Model, choose: Choose) -> int:
    match choose.one_of(LENGTHS, "length of a window"):
        case "own":
            return min(choose.one_of(model.book.lengths, ""), v.SECOND)
        case "none":
            return 0
        case "one":
            return 1
        case _:
            ten = choose.one_of(TEN, "")
            return ten // v.MICROSECOND if model.small else ten


def seen_at(model: Model, choose: Choose, moments: dict[str, int], label: str, same: int | None) -> int | None:
    chosen = choose.one_of(SEEN_AT, label)
    return same if chosen == "same" else None if chosen is None else max(moments["least"], moments[chosen])


def wait(model: Model, choose: Choose, at: int) -> Any:
    p, window = model.profile, length(model, choose)
    pause, clock, yields, first = choose.one_of(PAUSES, "pause"), choose.one_of(CLOCKS, "clock"), choose.one_of(YIELDS, "yields"), choose.one_of(FIRST, "first yield")
    cost = pause if isinstance(pause, int) else choose.integer(1, 150)
    cheapest = 1 if model.small else max(1, window // MOST_PASSES)
    cost = max(cost, cheapest)
    odd = choose.integer(-1, 1)
    moments = {"least": 0, "begin": 0, "window": window + odd, "before": window - cost + odd, "middle": window // 2, "early": min(p.budget, p.stride) * cost + odd, "budget": p.budget * cost + choose.integer(0, 9) * cost}
    publish = seen_at(model, choose, moments, "publish", None)
    given = {"long": 10 * window + 1000, "an interval": p.yield_interval}
    return v.Wait(
        window=window, pause=cost, clock=clock, yields=max(cheapest, yields if isinstance(yields, int) else p.yield_interval + odd),
        first_yield=first if first is None or isinstance(first, int) else min(v.SECOND, max(1, given[first])), publish=publish, shutdown=seen_at(model, choose, moments, "shut", publish), at=at,
    )  # fmt: skip


def script(model: Model, choose: Choose, at: int) -> Any:
    p, window = model.profile, length(model, choose)
    below, odd = (p.budget - 1) // p.stride, choose.integer(-1, 1)
    now, readings = 0, []
    match choose.one_of(BELOW, "readings below the budget"):
        case "zero":
            readings = [0] * below
        case "blind":
            readings = [min(k, max(0, window - 1)) for k in range(below)]
            now = window + odd
        case "even":
            rise = max(1, window // (4 * (below + 1)))
            readings = [rise * (k + 1) for k in range(below)]
        case _:
            for _ in range(choose.integer(0, below)):
                now = now + rising(model, choose)
                readings.append(now)
    now = max(now, readings[-1] if readings else 0)
    for _ in range(choose.one_of((0, 1, 3, 6, 12, 20), "readings")):
        jump = choose.one_of(JUMPS, "jump")
        now = now + rising(model, choose) if jump == "no" else max(now, window + {"window": 0, "before": -1, "after": 1}[jump])
        readings.append(now)
    moments = {"least": 1, "begin": 1, "window": p.budget + len(readings) - below + odd, "before": p.budget - 1, "middle": p.budget + choose.integer(0, 6), "early": p.stride + odd, "budget": p.budget + odd}
    publish = seen_at(model, choose, moments, "publish", None)
    return v.Script(window=window, readings=tuple(max(0, reading) for reading in readings), publish=publish, shutdown=seen_at(model, choose, moments, "shut", publish), at=at)


def rising(model: Model, choose: Choose) -> int:
    interval = model.profile.yield_interval
    return {
        "interval": interval, "half": interval // 2, "short": interval // 4 + 1, "tick": 1, "none": 0, "before": interval - 1, "after": interval + 1, "far": 3 * interval + interval // 2,
    }[choose.one_of(RISES, "rise")]  # fmt: skip


def some_gap(book: Book, choose: Choose) -> int:
    near = choose.one_of(book.lengths, "")
    return max(0, choose.one_of((near, near + 1, near - 1, near // 2, near // 7, 2 * near, 5 * near + 1, 40 * near + 3, 0), ""))


def gap(model: Model, choose: Choose, at: int) -> Any:
    book, number = model.book, model.fresh
    model.fresh += 1
    lone = book.lone if number else book.lengths[0]
    match model.gaps:
        case "constant":
            length = model.lengths[0]
        case "alternating":
            length = model.lengths[number % 2]
        case "phases":
            length = model.lengths[number // 12 % 2]
        case "adversarial":
            length = max(0, lone + 1 - book.carried)
        case _:
            length = choose.one_of((lone, lone + 1, max(0, lone - 1), max(0, lone - book.carried), max(0, lone - book.carried + 1)), "") if choose.integer(0, 1) else some_gap(book, choose)
    return v.Gap(gap=length, ran=choose.one_of(RAN if model.gaps != "any" else EMPTY, "ran"), at=at)
