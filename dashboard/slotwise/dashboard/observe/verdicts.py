"""The four questions, answered in words and numbers: is a slot idle while work waits, who starves, does the checkpoint batcher wait for
nothing, does the pool burn CPU by spinning? Then whether the invariants hold, and whether anything diverges."""
from __future__ import annotations

from collections.abc import Callable

import msgspec

from slotwise.dashboard.observe import tables
from slotwise.dashboard.observe.histograms import FEW, number, percentile
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.panes import Status, worst
from slotwise.dashboard.observe.window import SECOND, BatcherWindow, GroupWindow, Window, WorkerWindow
from slotwise.dashboard.observe.words import Value, amount, escape, seconds

#: Of all capacity: so much lost is worth a word, and so much is an alarm.
LOST, LOST_BADLY = 0.01, 0.1
SPUN, HARDLY_SPUN = 0.25, 0.01           # of a worker's time; see SPIN01, SPIN02
NOT_ENOUGH = "not enough data"


class Verdict(msgspec.Struct, frozen=True):
    name: str
    status: Status
    text: str                            # one sentence of numbers, safe to show
    more: str                            # what there is to say after it
    numbers: dict[str, Value]            # by name, the unit after the last underscore
    evidence: str                        # the pane that shows it


def verdicts(window: Window, limits: Limits) -> tuple[Verdict, ...]:
    asked: tuple[Callable[[Window, Limits], Verdict], ...] = (idle, starving, checkpoints, spinning, invariants, divergences)
    return tuple(ask(window, limits) for ask in asked)


def unknown(name: str, why: str, evidence: str) -> Verdict:
    return Verdict(name, "unknown", why, "", {}, evidence)


def idle(window: Window, limits: Limits) -> Verdict:
    name, evidence = "idle-while-waiting", "resources"
    if not window.resources or window.length <= 0:
        return unknown(name, NOT_ENOUGH if window.resources else "no resources", evidence)
    now, eligible = sum(r.idle_eligible for r in window.resources), sum(r.after.eligible for r in window.resources)
    lost, (longest, exact) = window.lost / window.length, max(r.longest for r in window.resources)
    share = lost / window.capacity if window.capacity else 0.0
    status: Status = "alarm" if share > LOST_BADLY else "warn" if share > LOST else "ok"
    text = f"{now} slots idle, {eligible} eligible waiters, lost {amount(lost)} slot-s/s ({share:.1%} of {window.capacity}), longest {'' if exact else 'at most '}{seconds(longest / SECOND)}"
    most = sorted((r for r in window.resources if 100 * r.lost >= window.length), key=lambda r: -r.lost)[:3]
    more = " ".join(f"{escape(r.after.name)}={amount(r.lost / window.length)}" for r in most)
    numbers: dict[str, Value] = {"idle_slots": now, "eligible_waiters": eligible, "lost_slots": lost, "lost_percent": 100 * share, "longest_s": longest / SECOND}
    return Verdict(name, status, text, more, numbers, evidence)


def starving(window: Window, limits: Limits) -> Verdict:
    name, evidence, slo = "starving", "groups", limits.slo(window.after.slo)
    if not window.groups:
        return unknown(name, "no groups", evidence)
    oldest, who, late, behind = -1, window.groups[0], 0, 0
    for group in window.groups:
        waited = group.held_up
        if waited is None:
            continue
        late += waited > slo
        behind += tables.behind(group, limits)
        if waited > oldest:
            oldest, who = waited, group
    status: Status = "alarm" if late else "warn" if behind else "ok"
    jain = window.jain
    numbers: dict[str, Value] = {"oldest_s": max(0, oldest) / SECOND, "slo_s": slo / SECOND, "over_slo_groups": late, "behind_groups": behind, "jain": jain}
    if oldest >= 0:
        numbers |= {"group": who.after.name, "got_percent": tables.percent(who.got), "due_percent": tables.percent(who.due)}
    more = f"groups>SLO={late} behind={behind} jain={'-' if jain is None else f'{jain:.2f}'}"
    return Verdict(name, status, told(who, oldest, slo), more, numbers, evidence)


def told(group: GroupWindow, oldest: int, slo: float) -> str:
    if oldest < 0:
        return "nobody waits" if not any(one.after.waiting for one in group.window.groups) else "nobody waits for others"
    got, due = group.got, group.due
    fair = "" if got is None or due is None else f", got {got:.1%} of {due:.1%} due"
    return f"{escape(group.after.name)} oldest {seconds(oldest / SECOND)} (SLO {seconds(slo / SECOND)}){fair}"


def checkpoints(window: Window, limits: Limits) -> Verdict:
    name, evidence = "checkpoint-wait", "batchers"
    active = [b for b in window.batchers if b.count("requests")]
    if not active:
        return unknown(name, NOT_ENOUGH if window.batchers else "no checkpoint batcher", evidence)
    one = max(active, key=lambda b: b.needless_share or 0.0)
    share, fill, each = one.needless_share or 0.0, one.fill, one.count("needless") / one.count("requests") / SECOND
    p99 = percentile(one.commit.counts, 99)
    status = worst(trouble(b, limits) for b in active)
    full, commit = tables.percent(fill), tables.s(p99)
    text = f"needless {seconds(each)} ({share:.0%}), fill {'-' if full is None else f'{full:.0f}%'}, sealed {escape(tables.seals(one))}, commit p99 {'-' if commit is None else seconds(commit)}"
    numbers: dict[str, Value] = {"needless_percent": 100 * share, "needless_s": each, "fill_percent": full, "commit_p99_s": commit}
    return Verdict(name, status, text, escape(one.after.name), numbers, evidence)


def trouble(batcher: BatcherWindow, limits: Limits) -> Status:
    """As of CKPT01 and failures."""
    return "warn" if 100 * (batcher.needless_share or 0.0) > limits["CKPT01"] or batcher.count("failures") else "ok"


def spinning(window: Window, limits: Limits) -> Verdict:
    name, evidence = "spin-burn", "workers"
    active = [w for w in window.workers if w.time > 0]
    if not active or window.length <= 0:
        return unknown(name, NOT_ENOUGH if window.workers else "no spinning workers", evidence)
    time, spun = sum(w.time for w in active), sum(w.count("spinning") for w in active)
    hits, misses = sum(w.count("hits") for w in active), sum(w.count("misses") for w in active)
    cores, hit = spun / window.length, hits / (hits + misses) if hits + misses else None
    status = worst(burns(w, limits) for w in active)
    text = f"{cores:.2f} cores, {spun / time:.0%} of worker time, hit {'-' if hit is None else f'{hit:.0%}'}"
    worse = sorted((w for w in active if w.count("wasted")), key=lambda w: -w.count("wasted"))[:3]
    more = " ".join(f"{escape(w.after.name)}={w.part('spinning') or 0.0:.0%}" for w in worse)
    save = sum(w.count("wasted") for w in active) / window.length
    numbers: dict[str, Value] = {"spin_cores": cores, "spin_percent": 100 * spun / time, "hit_percent": tables.percent(hit), "save_cores": save}
    return Verdict(name, status, text, more, numbers, evidence)


def burns(worker: WorkerWindow, limits: Limits) -> Status:
    """As of SPIN01 and SPIN02, at this moment."""
    spun, hit, wake = worker.part("spinning") or 0.0, worker.hit, worker.wake
    if hit is not None and 100 * hit < limits["SPIN01"] and spun > SPUN:
        return "warn"
    slow = number(wake.counts) >= FEW and (percentile(wake.counts, 99) or 0) > limits["SPIN02"] * SECOND
    return "warn" if slow and spun < HARDLY_SPUN else "ok"


def invariants(window: Window, limits: Limits) -> Verdict:
    checks = window.after.checks
    if not checks:
        return unknown("invariants", "none are checked", "checks")
    holding, ago = sum(check.holds for check in checks), (window.now - max(check.at for check in checks)) / SECOND
    broken = " ".join(escape(check.id) for check in checks if not check.holds)
    text, numbers = f"{holding}/{len(checks)} checked {seconds(ago)} ago", {"holding": holding, "checks": len(checks), "age_s": ago}
    return Verdict("invariants", "ok" if holding == len(checks) else "alarm", text, broken, dict(numbers), "checks")


def divergences(window: Window, limits: Limits) -> Verdict:
    found = window.after.divergences
    last = f"{escape(found[-1].id)} seed={found[-1].seed} step={found[-1].step} {escape(found[-1].rule)} {escape(found[-1].detail)}" if found else ""
    return Verdict("divergence", "alarm" if found else "ok", f"{len(found)} open", last, {"open": len(found)}, "divergences")
