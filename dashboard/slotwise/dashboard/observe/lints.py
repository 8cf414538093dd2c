"""Lints: what in a frame deserves a sentence. Each has a code, a limit, a time that it must last, and clears at 80% of its limit.

A lint gives *readings*: how bad each thing is, where 1 is its limit, if that is more than 0.8. `Watch` remembers since when, and turns
them into alarms.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from slotwise.dashboard.observe import lint_rules as rules
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.limits import CLEARS, DEFAULTS, SECOND, Limits
from slotwise.dashboard.observe.lint_rules import Reading
from slotwise.dashboard.observe.panes import Field, Pane, Status, Table, worst
from slotwise.dashboard.observe.words import SAFE, escape

Says = Literal["ok", "warn", "recheck"]


class Alarm(msgspec.Struct, frozen=True):
    code: str
    entity: str
    status: Status                           # warn or alarm
    since: int                               # ns of the program's clock: when it was first so
    sentence: str


class Lint(msgspec.Struct, frozen=True):
    code: str
    status: Status
    read: Callable[[Frame], Iterator[Reading]]
    fragment: str                            # follows a count, of more than one

    def check(self, frame: Frame) -> dict[str, Says]:
        """What it says by one frame alone: warn at once if it need not last, else recheck. Of what is not named it says ok."""
        passed: Says = "recheck" if DEFAULTS[self.code].hold else "warn"
        return {reading.entity: passed if reading.badness > 1 else "ok" for reading in self.read(frame)}

    def format(self, reading: Reading) -> str:
        """A full sentence."""
        return f"{self.code} {escape(reading.entity)}: {reading.sentence}" if reading.entity else f"{self.code}: {reading.sentence}"

    def summary(self, count: int) -> str:
        return f"{count:,} {self.fragment}"


LINTS = {lint.code: lint for lint in (
    Lint("SCH001", "warn", rules.sch001, "resources have idle slots while work waits"),
    Lint("FAIR01", "alarm", rules.fair01, "groups starve"),
    Lint("FAIR02", "warn", rules.fair02, "groups get too little of what is due to them"),
    Lint("DEBT01", "warn", rules.debt01, "debts are not repaid while others wait"),
    Lint("LEASE01", "warn", rules.lease01, "groups hold units that they were told to give back"),
    Lint("CKPT01", "warn", rules.ckpt01, "batchers wait for nothing"),
    Lint("CKPT02", "warn", rules.ckpt02, "batchers seal by timer, half empty"),
    Lint("CKPT03", "warn", rules.ckpt03, "batchers have slow commits"),
    Lint("WAVE01", "warn", rules.wave01, "waves are late"),
    Lint("WAVE02", "warn", rules.wave02, "waves join too little"),
    Lint("SPIN01", "warn", rules.spin01, "workers spin in vain"),
    Lint("SPIN02", "warn", rules.spin02, "workers wake up slowly"),
    Lint("LOOP01", "alarm", rules.loop01, "loops are stalled"),
    Lint("TAPE01", "warn", rules.tape01, "tapes lose events"),
    Lint("INV", "alarm", rules.inv, "invariants do not hold"),
    Lint("DIV", "alarm", rules.div, "divergences are open"),
)}  # fmt: skip


class _Seen(msgspec.Struct):
    since: int
    speaks: bool


class Watch:
    """Sees frames one after another, and says what is wrong now. It forgets what is gone, and all of another run."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._run: object = None
        self.rechecks = 0                    # things past a limit, not for long enough yet

    def look(self, frame: Frame) -> tuple[Alarm, ...]:
        """The alarms that are open, the gravest first, then by code, then the oldest first."""
        after = frame.window.after
        if frame.window.restarted or self._run != (after.program, after.pid, after.started):
            self._seen.clear()
        self._run = (after.program, after.pid, after.started)
        now, seen, alarms = frame.window.now, {}, []
        self.rechecks = 0
        for code, lint in LINTS.items():
            if code in self.limits.allowed:
                continue
            hold = DEFAULTS[code].hold
            for reading in lint.read(frame):
                before = self._seen.get((code, reading.entity))
                if reading.badness <= (CLEARS if before is not None and before.speaks else 1.0):
                    continue
                state = seen[code, reading.entity] = before or _Seen(now, False)
                state.speaks = state.speaks or now - state.since >= hold
                if state.speaks:
                    alarms.append(Alarm(code, reading.entity, lint.status, state.since, lint.format(reading)))
                else:
                    self.rechecks += 1
        self._seen = seen
        order = list(LINTS)
        return tuple(sorted(alarms, key=lambda alarm: (alarm.status != "alarm", order.index(alarm.code), alarm.since)))


def status(alarms: tuple[Alarm, ...]) -> Status:
    """The gravest of them."""
    return worst(alarm.status for alarm in alarms) if alarms else "ok"


ALARMS: Table[tuple[Alarm, int]] = Table("alarms", "Alarms and lints", lambda a: f"{a[0].code} {a[0].entity}", [
    Field("age", "age", "s", "since it was first so", lambda a: (a[1] - a[0].since) / SECOND),
    Field("code", "code", "", "of the lint", lambda a: a[0].code),
    Field("entity", "of", "", "of what", lambda a: a[0].entity),
    Field("sentence", "", SAFE, "what is wrong, and the next step", lambda a: a[0].sentence),
], status=lambda a: a[0].status)  # fmt: skip


def pane(alarms: tuple[Alarm, ...], now: int, most: int | None = 200) -> Pane:
    return ALARMS.pane([(alarm, now) for alarm in alarms], most=most)
