"""What each lint looks at in a frame. A reading says how bad a thing is, where 1 is its limit; those of less than CLEARS are left out."""
from __future__ import annotations

from collections.abc import Iterator
from math import inf

import msgspec

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.histograms import percentile
from slotwise.dashboard.observe.limits import CLEARS, SECOND
from slotwise.dashboard.observe.tables import cause_words
from slotwise.dashboard.observe.verdicts import HARDLY_SPUN, SPUN
from slotwise.dashboard.observe.window import OWN
from slotwise.dashboard.observe.words import escape, seconds
from slotwise.impl.snapshot import Group


class Reading(msgspec.Struct, frozen=True):
    entity: str                              # its name, as it is
    badness: float                           # above 1: the limit is passed
    sentence: str                            # with the number and the next step


def over(value: float, limit: float) -> float:
    """Bad when greater."""
    return value / limit if limit else inf if value > 0 else 0.0


def under(value: float, limit: float) -> float:
    """Bad when less."""
    return limit / value if value else inf if limit else 0.0



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
