"""Gaps for a lone worker, and what its windows cost, for tests: the cost model of the window policies."""
from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import msgspec

from slotwise.spec import spin
from slotwise.spec import spin_vocabulary as v

US, MS = v.MICROSECOND, v.MILLISECOND
PARK = 68_300
SETUP = v.Setup(park=PARK)
AFTER, SLOTWISE = v.PROFILES["ep-cpu-after"], v.PROFILES["slotwise"]
Discipline = v.Ratchet | v.Fixed | v.BreakEven | v.Average | v.Guarded


def of(discipline: Discipline) -> v.Profile:
    return msgspec.structs.replace(AFTER if isinstance(discipline, v.Ratchet) else SLOTWISE, discipline=discipline)


#: What the columns of the model's table are, and the gaps by which a worker is warmed up.
POLICIES: dict[str, tuple[v.Profile, int]] = {
    "park": (of(v.Fixed(0)), 0), "fixed 500": (of(v.Fixed(500 * US)), 0), "ratchet": (of(v.Ratchet()), 0), "ratchet from 500": (of(v.Ratchet()), 3),
    "EWMA x2": (of(v.Average()), 0), "break-even": (of(v.BreakEven()), 0), "GFTL": (SLOTWISE, 0),
}  # fmt: skip


def drawn(n: int, seed: int) -> dict[str, list[int]]:
    """The traces of the table, of so many gaps. Phases change every 500 gaps."""
    pick = random.Random(seed)
    return {
        **{f"const {us}": [us * US] * n for us in (20, 300, 3000)},
        **{f"exp {us}": [int(pick.expovariate(1 / (us * US))) for _ in range(n)] for us in (50, 300)},
        "decode": [2 * MS if pick.random() < 0.05 else 15 * US for _ in range(n)],
        "Pareto 1.2": [int(10 * US * pick.paretovariate(1.2)) for _ in range(n)],
        "phases": [3 * MS if i // 500 % 2 else 20 * US for i in range(n)],
    }  # fmt: skip


def cost(gap: int, window: int, park: int = PARK) -> int:
    return gap if gap <= window else window + park


@dataclass(slots=True)
class Bill:
    paid: int = 0
    least: int = 0
    guard: int = 0               # the highest
    windows: list[int] | None = None

    @property
    def ratio(self) -> float:
        return self.paid / self.least


def played(profile: v.Profile, gaps: Iterable[int] | Callable[[int], int], n: int = 0, *, warm: int = 0, park: int = PARK) -> Bill:
    """What a lone worker pays. An adversary is asked for each gap once it knows the window."""
    pool, bill = spin.pool(profile, v.Setup(park=park)), Bill(windows=[])
    window = pool.policy.choose(pool.lone.memory)
    for _ in range(warm):
        window = int(str(spin.step(pool, v.Gap(gap=1))[0][3]))

    def asked() -> Iterator[int]:
        if callable(gaps):
            for _ in range(n):
                yield gaps(window)
        else:
            yield from gaps

    assert bill.windows is not None
    for gap in asked():
        [(_, used, outcome, following)] = spin.step(pool, v.Gap(gap=gap))
        assert (used, outcome) == (window, "caught" if gap <= window else "parked")
        bill.windows.append(window)
        bill.paid += cost(gap, window, park)
        bill.least += min(gap, park)
        bill.guard = max(bill.guard, pool.lone.memory.guard)
        window = int(str(following))
    return bill
