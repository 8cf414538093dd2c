"""At which value each lint speaks, and after how long. One table, which verdicts and lints share; `--warn CODE=value` changes a value."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import NamedTuple

SECOND = 10**9
CLEARS = 0.8                             # of the limit: below that, a lint that has spoken falls silent


class LimitError(ValueError):
    """What was asked of the lints makes no sense; the message says why."""


class Limit(NamedTuple):
    value: float
    unit: str
    hold: int                            # ns that it must last
    says: str


DEFAULTS = {
    "SCH001": Limit(0, "slots", SECOND // 10, "slots are idle while work for them waits"),
    "FAIR01": Limit(5, "s", 0, "a task has waited longer than the SLO (the program's own, unless it is set here)"),
    "FAIR02": Limit(0.5, "of due", 10 * SECOND, "a group that could run gets less than so much of what is due to it, and of what it asked for"),
    # The engine's debts are units, and no snapshot knows how long each was owed. Three units owed for 20 s are the 60 slot-s of the design.
    "DEBT01": Limit(2, "units", 20 * SECOND, "a group owes more of a resource, and another group waits for that"),
    # A cancellation takes effect when the task next waits, and what it then closes (a connection, a file) takes some round trips: 0.2 s are
    # ten times what that costs. What takes longer is shielded, or blocks a thread.
    "LEASE01": Limit(0.2, "s", 0, "a task was told to end so long ago, and still holds its units"),
    "CKPT01": Limit(10, "%", 10 * SECOND, "needless wait, of the time that batches are open or being committed"),
    "CKPT02": Limit(50, "%", 0, "batches sealed by a timer, with less fill than that, and with some needless wait"),
    "CKPT03": Limit(5, "x p50", 0, "99th percentile of commits"),
    "WAVE01": Limit(5, "%", 0, "of a wave's refreshes are late"),
    "WAVE02": Limit(50, "%", 0, "fewer of a batcher's refreshes share a request"),
    "SPIN01": Limit(10, "%", 10 * SECOND, "fewer spins find a task, with more than 25% of the time spent spinning"),
    "SPIN02": Limit(0.001, "s", 0, "99th percentile of wake-ups, with less than 1% of the time spent spinning"),
    "LOOP01": Limit(0.3, "s", 0, "the last snapshot is older: the scheduler's loop is stalled"),
    "TAPE01": Limit(0, "events", 0, "events were not recorded (counters are unaffected)"),
    "INV": Limit(0, "", 0, "an invariant does not hold"),
    "DIV": Limit(0, "", 0, "a divergence is open"),
}


class Limits:
    """`limits["SPIN01"]` is the value in force."""

    def __init__(self, changed: Mapping[str, float] | None = None, allowed: Iterable[str] = ()) -> None:
        self.changed, self.allowed = dict(changed or {}), frozenset(allowed)
        for code in (*self.changed, *self.allowed):
            if code not in DEFAULTS:
                raise LimitError(f"{code}: no such lint; there are {', '.join(DEFAULTS)}")
        for code, value in self.changed.items():
            if not DEFAULTS[code].unit:
                raise LimitError(f"{code} has no value to set")
            if not isfinite(value) or value < 0:
                raise LimitError(f"{code}={value:g}: expected a number, not negative")

    def __getitem__(self, code: str) -> float:
        return self.changed.get(code, DEFAULTS[code].value)

    def slo(self, programs: int) -> float:
        """ns"""
        return self.changed["FAIR01"] * SECOND if "FAIR01" in self.changed else programs

    @staticmethod
    def parse(warn: Iterable[str] = (), allow: Iterable[str] = ()) -> Limits:
        """From `CODE=value` and `CODE`. Raises LimitError."""
        changed = {}
        for given in warn:
            code, equals, value = given.partition("=")
            try:
                changed[code] = float(value)
            except ValueError:
                raise LimitError(f"{given!r}: expected CODE=value, the value a number" + ("" if equals else "; = is missing")) from None
        return Limits(changed, allow)
