"""Lints: what in a frame deserves a sentence. Each has a code, a limit, a time that it must last, and clears at 80% of its limit.

A lint gives *readings*: how bad each thing is, where 1 is its limit, if that is more than 0.8. `Watch` remembers since when, and turns
them into alarms.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Literal

import msgspec

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.histograms import percentile
from slotwise.dashboard.observe.limits import CLEARS, DEFAULTS, SECOND, Limits
from slotwise.dashboard.observe.panes import Field, Pane, Status, Table, worst
from slotwise.dashboard.observe.tables import cause_words
from slotwise.dashboard.observe.verdicts import HARDLY_SPUN, SPUN
from slotwise.dashboard.observe.window import OWN
from slotwise.dashboard.observe.words import SAFE, escape, seconds
from slotwise.impl.snapshot import Group

Says = Literal["ok", "warn", "recheck"]


class Reading(msgspec.Struct, frozen=True):
    entity: str                              # its name, as it is
    badness: float                           # above 1: the limit is passed
    sentence: str                            # with the number and the next step


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


def over(value: float, limit: float) -> float:
    """Bad when greater."""
    return value / limit if limit else inf if value > 0 else 0.0


def under(value: float, limit: float) -> float:
    """Bad when less."""
    return limit / value if value else inf if limit else 0.0


# the lints --------------------------------------------------------------------------------------------------------------------------


def sch001(frame: Frame) -> Iterator[Reading]:
    for r in frame.window.resources:
        if (bad := over(r.idle_eligible, frame.limits["SCH001"])) > CLEARS:
            yield Reading(r.after.name, bad, f"{r.idle_eligible} of {r.after.capacity} slots idle with {r.after.eligible} eligible waiters; {waiters(frame, r.after.name)}")


def waiters(frame: Frame, resource: str) -> str:
    """Who could use it, and what is said to hold them."""
    found = sorted((g.after for g in frame.window.groups if g.after.waiting and resource in g.after.needs), key=lambda g: -g.waiting)[:3]
    told = ", ".join(f"{escape(g.name)} ({g.waiting}: {escape(cause_words(g.blocked_by)) or 'nothing holds it'})" for g in found)
    return "look at " + (told or "the scheduler's loop")


def fair01(frame: Frame) -> Iterator[Reading]:
    slo = frame.limits.slo(frame.window.after.slo)
    for g in frame.window.groups:
        waited = g.held_up
        if waited is not None and (bad := over(waited, slo)) > CLEARS:
            why = f"it waits for: {escape(cause_words(g.after.blocked_by))}" if g.after.blocked_by else "this source does not tell what it waits for"
            limit = f"the SLO is {seconds(slo / SECOND)}" if bad > 1 else f"not yet {1 - CLEARS:.0%} below the SLO of {seconds(slo / SECOND)}"
            yield Reading(g.after.name, bad, f"its oldest task has waited {seconds(waited / SECOND)}, {limit}; {why}")


def fair02(frame: Frame) -> Iterator[Reading]:
    limit = frame.limits["FAIR02"]
    for g in frame.window.groups:
        ratio = g.demand_ratio
        if ratio is not None and (bad := under(ratio, limit)) > CLEARS and g.ready:
            yield Reading(g.after.name, bad, f"got {g.got or 0.0:.1%} of the {g.due or 0.0:.1%} that are due, and could run; see why it waits")


def debt01(frame: Frame) -> Iterator[Reading]:
    """Of each group the greatest debt, of those that another group's first task waits for."""
    capacity = {r.after.name: r.after.capacity for r in frame.window.resources}
    for g in (one.after for one in frame.window.groups if one.after.debt):
        for resource, units in sorted(g.debt.items(), key=lambda pair: -pair[1]):
            if (bad := over(units, frame.limits["DEBT01"])) > CLEARS and (lenders := waiting_for(frame, resource, besides=g.name)):
                of = f" of {capacity[resource]}" if resource in capacity else ""
                owes = f"owes {units}{of} units of {escape(resource)} while {escape(lenders[0].name)} waits for it ({lenders[0].waiting} waiting)"
                yield Reading(g.name, bad, f"{owes}; its tasks give them back as they end: shorten them, or lower what it may borrow")
                break


def waiting_for(frame: Frame, resource: str, besides: str) -> list[Group]:
    """Groups whose first task waits for it, and not for something of its own; the longest queue first."""
    found = [g.after for g in frame.window.groups if g.after.waiting and resource in g.after.needs and g.after.name != besides and g.after.blocked_by.partition(" ")[0] not in OWN]
    return sorted(found, key=lambda g: -g.waiting)


def lease01(frame: Frame) -> Iterator[Reading]:
    for g in (one.after for one in frame.window.groups if one.after.overdue):
        held = (frame.window.now - (frame.window.now if g.overdue_since is None else g.overdue_since)) / SECOND
        if (bad := over(held, frame.limits["LEASE01"])) > CLEARS:
            told = f"{g.overdue} {'task was' if g.overdue == 1 else 'tasks were'} told to end (a deadline, or a cancellation) and still {'holds its' if g.overdue == 1 else 'hold their'} units"
            yield Reading(g.name, bad, f"{told}, the first for {seconds(held)}; look in them for a shield, a call in a thread, or a caught cancellation")


def ckpt01(frame: Frame) -> Iterator[Reading]:
    for b in frame.window.batchers:
        share = b.needless_share
        if share is not None and (bad := over(100 * share, frame.limits["CKPT01"])) > CLEARS:
            yield Reading(b.after.name, bad, f"{share:.0%} of the time was spent waiting for nothing; shorten its windows")


IN_VAIN = 0.05                           # needless wait, of the time
SEVERAL = 10                             # refreshes, from which on a share says something
#: Seal reasons that mean: time ran out.
TIMED = frozenset({"timer", "quiet", "collection", "window"})


def ckpt02(frame: Frame) -> Iterator[Reading]:
    """Of a batcher whose waiting brings something there is nothing to say, however full its batches are."""
    limit = frame.limits["CKPT02"]
    for b in frame.window.batchers:
        fill, total, needless = b.fill, sum(b.seals.values()), b.needless_share
        timed = sum(n for reason, n in b.seals.items() if reason in TIMED) / total if total else 0.0
        if fill is None or needless is None or needless < IN_VAIN:
            continue
        if (bad := min(over(100 * timed, limit), under(100 * fill, limit))) > CLEARS:
            yield Reading(b.after.name, bad, f"{timed:.0%} of its batches were sealed by a timer, {fill:.0%} full, and {needless:.0%} of the time was waited for nothing; a shorter window would cost little")


def ckpt03(frame: Frame) -> Iterator[Reading]:
    for b in frame.window.batchers:
        counts = b.commit.counts
        p50, p99 = percentile(counts, 50), percentile(counts, 99)
        if p50 and p99 and (bad := over(p99 / p50, frame.limits["CKPT03"])) > CLEARS:
            yield Reading(b.after.name, bad, f"commits take {seconds(p99 / SECOND)} at p99, {p99 / p50:.1f} times their median; look at the store")


def wave01(frame: Frame) -> Iterator[Reading]:
    for b in frame.window.batchers:
        for w in b.waves:
            if w.refreshes and (bad := over(100 * w.late / w.refreshes, frame.limits["WAVE01"])) > CLEARS:
                late = f"{w.late} of {w.refreshes} refreshes were late, the latest {seconds(w.latest / SECOND)} after it was due"
                yield Reading(f"{b.after.name}#{w.number}", bad, f"{late}; look at the requests before it")


def wave02(frame: Frame) -> Iterator[Reading]:
    for b in frame.window.batchers:
        refreshes, joined = b.count("refreshes"), b.count("joined")
        if refreshes >= SEVERAL and (bad := under(100 * joined / refreshes, frame.limits["WAVE02"])) > CLEARS:
            yield Reading(b.after.name, bad, f"only {joined} of {refreshes} refreshes shared a request; a longer look-ahead would join more")


def spin01(frame: Frame) -> Iterator[Reading]:
    for w in frame.window.workers:
        hit, spun = w.hit, w.part("spinning")
        if hit is not None and spun is not None and (bad := min(under(100 * hit, frame.limits["SPIN01"]), over(spun, SPUN))) > CLEARS:
            yield Reading(w.after.name, bad, f"{hit:.0%} of its spins found a task, and it spun {spun:.0%} of the time; shorten its window of {seconds(w.after.window / SECOND)}")


def spin02(frame: Frame) -> Iterator[Reading]:
    for w in frame.window.workers:
        spun, wake = w.part("spinning"), w.wake
        if spun is not None and spun < HARDLY_SPUN and (p99 := percentile(wake.counts, 99)) is not None and (bad := over(p99 / SECOND, frame.limits["SPIN02"])) > CLEARS:
            yield Reading(w.after.name, bad, f"it wakes up in {seconds(p99 / SECOND)} at p99, and hardly spins; a longer window would spare that")


def loop01(frame: Frame) -> Iterator[Reading]:
    age = None if frame.age is None else frame.age / SECOND
    if age is not None and (bad := over(age, max(frame.limits["LOOP01"], 3 * frame.window.after.every / SECOND))) > CLEARS:
        yield Reading("", bad, f"STALLED: the last snapshot is {seconds(age)} old; something blocks the scheduler's loop")


def tape01(frame: Frame) -> Iterator[Reading]:
    if (bad := over(frame.window.dropped, frame.limits["TAPE01"])) > CLEARS:
        yield Reading("", bad, f"{frame.window.dropped:,} events were not recorded (the counters are unaffected); make the tape longer")


def inv(frame: Frame) -> Iterator[Reading]:
    for check in frame.window.after.checks:
        if not check.holds:
            then = "search longer, or help its generator" if frame.window.after.campaigns else "record a trace and replay it"
            yield Reading(check.id, inf, f"does not hold: {escape(check.detail) or 'no detail'}; {then}")


def div(frame: Frame) -> Iterator[Reading]:
    for one in frame.window.after.divergences:
        yield Reading(one.id, inf, f"seed={one.seed} step={one.step} {escape(one.rule)}: {escape(one.detail)}; {escape(one.repro) or 'replay its trace'}")


LINTS = {lint.code: lint for lint in (
    Lint("SCH001", "warn", sch001, "resources have idle slots while work waits"),
    Lint("FAIR01", "alarm", fair01, "groups starve"),
    Lint("FAIR02", "warn", fair02, "groups get too little of what is due to them"),
    Lint("DEBT01", "warn", debt01, "debts are not repaid while others wait"),
    Lint("LEASE01", "warn", lease01, "groups hold units that they were told to give back"),
    Lint("CKPT01", "warn", ckpt01, "batchers wait for nothing"),
    Lint("CKPT02", "warn", ckpt02, "batchers seal by timer, half empty"),
    Lint("CKPT03", "warn", ckpt03, "batchers have slow commits"),
    Lint("WAVE01", "warn", wave01, "waves are late"),
    Lint("WAVE02", "warn", wave02, "waves join too little"),
    Lint("SPIN01", "warn", spin01, "workers spin in vain"),
    Lint("SPIN02", "warn", spin02, "workers wake up slowly"),
    Lint("LOOP01", "alarm", loop01, "loops are stalled"),
    Lint("TAPE01", "warn", tape01, "tapes lose events"),
    Lint("INV", "alarm", inv, "invariants do not hold"),
    Lint("DIV", "alarm", div, "divergences are open"),
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
