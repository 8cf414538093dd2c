"""The tables of the dashboard: which number stands in which column, its formula and its unit."""
from __future__ import annotations

from typing import Any, NamedTuple

from slotwise.dashboard.observe.histograms import FEW_FOR_P99, decades, number, percentile
from slotwise.dashboard.observe.limits import DEFAULTS, Limits
from slotwise.dashboard.observe.panes import Cell, Field, Pane, Status, Table
from slotwise.dashboard.observe.window import SECOND, BatcherWindow, GroupWindow, ResourceWindow, Window, WorkerWindow
from slotwise.impl.snapshot import Batch, Check, Divergence, Histogram, Wave

#: What each cause is called where a person reads it.
CAUSE_WORDS = {
    "capacity": "no free slot", "limit": "own limit reached", "lent": "slot lent out", "kept": "kept for a patient head",
    "back_off": "pause between two tries", "dependency": "dependency", "scheduler": "scheduler gap",
}  # fmt: skip


def s(ns: int | None) -> float | None:
    """Seconds."""
    return None if ns is None else ns / SECOND


def percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def quantile(histogram: Histogram, at: float) -> Cell:
    value = percentile(histogram.counts, at)
    return Cell(s(value), note="few" if value is not None and at >= 99 and number(histogram.counts) < FEW_FOR_P99 else "")


RESOURCES: Table[ResourceWindow] = Table("resources", "Resources", lambda r: r.after.name, [
    Field("resource", "resource", "", "its name", lambda r: r.after.name),
    Field("busy", "busy", "slots", "units held", lambda r: r.after.busy),
    Field("capacity", "cap", "slots", "units there are", lambda r: r.after.capacity),
    Field("own", "own", "slots", "units held within their holder's share", lambda r: r.after.busy - r.after.lent),
    Field("lent", "lent", "slots", "units held beyond their holder's share while others wait", lambda r: r.after.lent),
    Field("waiting", "wait", "waiters", "tasks waiting that need it", lambda r: r.after.waiting),
    Field("eligible", "elig", "waiters", "of these, tasks that nothing else holds", lambda r: r.after.eligible),
    Field("idle", "idle", "slots", "min(free, eligible), now", lambda r: r.idle_eligible),
    Field("lost", "lost", "slot-s/s", "integral of min(free, eligible) / window", lambda r: r.lost / r.window.length if r.window.length else None),
    Field("lost_share", "lost%", "%", "lost / capacity", lambda r: percent(r.lost_share)),
    Field("longest", "longest", "s", "longest stretch with idle and eligible slots in the window (dim: at most)", lambda r: longest(r)),
    Field("used", "used%", "%", "integral of busy / (capacity x window)", lambda r: percent(r.used_share)),
    Field("hold_p50", "hold p50", "s", "grant to release, 50th percentile over the window", lambda r: quantile(r.hold, 50)),
    Field("hold_p99", "hold p99", "s", "grant to release, 99th percentile over the window", lambda r: quantile(r.hold, 99)),
])  # fmt: skip


def longest(resource: ResourceWindow) -> Cell:
    value, exact = resource.longest
    return Cell(s(value), note="" if exact else "at most")


def flag(group: GroupWindow, limits: Limits) -> tuple[str, Status]:
    """A word for the group's state."""
    oldest = group.held_up
    if oldest is not None and oldest > limits.slo(group.window.after.slo):
        return "STARVE", "alarm"
    if behind(group, limits):
        return "BEHIND", "warn"
    if oldest is not None and 2 * oldest > limits.slo(group.window.after.slo):
        return "LATE", "ok"
    if not (group.after.waiting or group.after.running or group.after.backing_off):
        return "idle", "ok"
    return "", "ok"


def behind(group: GroupWindow, limits: Limits) -> bool:
    """It could run, and got less than half (FAIR02) of what is due, for long enough to tell."""
    ratio, window = group.demand_ratio, group.window
    return ratio is not None and ratio < limits["FAIR02"] and (window.length >= DEFAULTS["FAIR02"].hold or window.before is None) and group.ready


def groups(limits: Limits) -> Table[GroupWindow]:
    return Table("groups", "Groups", lambda g: g.after.name, [
        Field("group", "group", "", "its name", lambda g: g.after.name),
        Field("running", "busy", "tasks", "tasks that run now", lambda g: g.after.running),
        Field("got", "got%", "%", "integral of its slots / that of all groups, over the window", lambda g: percent(g.got)),
        Field("due", "due%", "%", "weight / sum of all weights", lambda g: percent(g.due)),
        Field("lag", "lag", "points", "got - due", lambda g: None if g.got is None or g.due is None else 100 * (g.got - g.due)),
        Field("waiting", "wait", "waiters", "tasks that wait now", lambda g: g.after.waiting),
        Field("backing_off", "pause", "tasks", "tasks between two tries", lambda g: g.after.backing_off),
        Field("oldest", "oldest", "s", "now - submission of the task that has waited longest", lambda g: s(g.oldest)),
        Field("p50", "p50", "s", "submission to start, 50th percentile over the window", lambda g: quantile(g.wait, 50)),
        Field("p99", "p99", "s", "submission to start, 99th percentile over the window", lambda g: quantile(g.wait, 99)),
        Field("n", "n", "starts", "starts in the window", lambda g: g.count("started")),
        Field("debt", "debt", "units", "units that it must still repay, under a profile that keeps debts; - none", lambda g: sum(g.after.debt.values()) or None),
        Field("overdue", "overdue", "tasks", "running tasks that were told to end, and still hold their units", lambda g: g.after.overdue),
        Field("weight", "weight", "", "by which slots are due", lambda g: g.after.weight),
        Field("limit", "limit", "tasks", "most tasks at once", lambda g: g.after.limit),
        Field("flag", "flag", "", "STARVE: oldest > SLO, and others hold it; BEHIND: got < half of due; LATE: oldest > SLO / 2", lambda g: flag(g, limits)[0]),
    ], sort="-oldest", status=lambda g: flag(g, limits)[1])  # fmt: skip


BATCHERS: Table[BatcherWindow] = Table("batchers", "Checkpoint batchers", lambda b: b.after.name, [
    Field("batcher", "batcher", "", "its name", lambda b: b.after.name),
    Field("requests", "req", "requests", "requests in the window", lambda b: b.count("requests")),
    Field("updates", "upd", "updates", "updates in the window", lambda b: b.count("updates")),
    Field("fill", "fill", "%", "updates / (requests x most updates of one)", lambda b: percent(b.fill)),
    Field("seals", "sealed", "", "share of requests by reason", lambda b: seals(b)),
    Field("needless", "needless", "s", "time in which a batch was open, nothing in flight, and no item came before the seal; per request",
          lambda b: b.count("needless") / b.count("requests") / SECOND if b.count("requests") else None),
    Field("needless_share", "needless%", "%", "needless / (open + commit)", lambda b: percent(b.needless_share)),
    Field("commit_p50", "commit p50", "s", "seal to durable, 50th percentile over the window", lambda b: quantile(b.commit, 50)),
    Field("commit_p99", "commit p99", "s", "seal to durable, 99th percentile over the window", lambda b: quantile(b.commit, 99)),
    Field("waiting", "wait", "items", "items that are not durable yet", lambda b: b.after.waiting),
    Field("failures", "failed", "requests", "requests that failed in the window", lambda b: b.count("failures")),
    Field("refreshes", "refr", "refreshes", "refreshes sent in the window", lambda b: b.count("refreshes")),
    Field("joined", "join", "refreshes", "refreshes that shared a request, with updates or with another refresh", lambda b: b.count("joined")),
    Field("late", "late", "refreshes", "refreshes answered more than a round trip after they were due", lambda b: b.count("late")),
])  # fmt: skip


def seals(batcher: BatcherWindow) -> str:
    """full 91% timer 6%; less than half a per cent is left out"""
    counted = sorted(batcher.seals.items(), key=lambda pair: (-pair[1], pair[0]))
    total = sum(n for _, n in counted)
    return " ".join(f"{reason} {100 * n / total:.0f}%" for reason, n in counted if 200 * n > total) if total else "-"


BATCHES: Table[tuple[str, Batch]] = Table("batches", "Checkpoint batches", lambda b: f"{b[0]}#{b[1].number}", [
    Field("batcher", "batcher", "", "whose it is", lambda b: b[0]),
    Field("batch", "batch", "", "its number", lambda b: b[1].number),
    Field("updates", "upd", "updates", "updates at the seal", lambda b: b[1].updates),
    Field("most", "most", "updates", "most that one may have", lambda b: b[1].most),
    Field("fill", "fill", "%", "updates / most", lambda b: 100 * b[1].updates / b[1].most if b[1].most else None),
    Field("size", "size", "bytes", "of its updates", lambda b: b[1].size),
    Field("seal", "seal", "", "why it was sealed", lambda b: b[1].seal),
    Field("open", "open", "s", "first item to seal", lambda b: s(b[1].sealed - b[1].opened)),
    Field("commit", "commit", "s", "seal to durable; - in flight", lambda b: None if b[1].done is None else s(b[1].done - b[1].sealed)),
    Field("outcome", "outcome", "", "how it ended", lambda b: b[1].outcome),
])  # fmt: skip

WAVES: Table[tuple[str, Wave]] = Table("waves", "Refresh waves", lambda w: f"{w[0]}#{w[1].number}", [
    Field("batcher", "batcher", "", "whose it is", lambda w: w[0]),
    Field("wave", "wave", "", "its number", lambda w: w[1].number),
    Field("due", "due", "refreshes", "refreshes that one answer resumed", lambda w: w[1].refreshes),
    Field("joined", "join", "refreshes", "of these, those that shared a request, with updates or with another refresh", lambda w: w[1].joined),
    Field("late", "late", "refreshes", "of these, those answered more than a round trip after they were due", lambda w: w[1].late),
    Field("latest", "latest", "s", "answer - due instant, of the latest", lambda w: s(w[1].latest)),
])  # fmt: skip

WORKERS: Table[WorkerWindow] = Table("workers", "Workers", lambda w: w.after.name, [
    Field("worker", "worker", "", "its name", lambda w: w.after.name),
    Field("state", "state", "", "now", lambda w: w.after.state),
    Field("run", "run", "%", "time that it ran tasks / window", lambda w: percent(w.part("running"))),
    Field("spin", "spin", "%", "time that it spun / window", lambda w: percent(w.part("spinning"))),
    Field("yield", "yield", "%", "time that it yielded / window", lambda w: percent(w.part("yielding"))),
    Field("park", "park", "%", "time that it was parked / window", lambda w: percent(w.part("parked"))),
    Field("hit", "hit", "%", "spins that found a task / spins", lambda w: percent(w.hit)),
    Field("save", "save", "cores", "time spun in vain / window", lambda w: w.count("wasted") / w.window.length if w.window.length else None),
    Field("wake", "wake p99", "s", "publication to the first look after a park, 99th percentile over the window", lambda w: quantile(w.wake, 99)),
    Field("window", "window", "s", "how long it spins at most", lambda w: s(w.after.window)),
])  # fmt: skip

CHECKS: Table[tuple[Check, int]] = Table("checks", "Invariants", lambda c: c[0].id, [
    Field("check", "check", "", "its id", lambda c: c[0].id),
    Field("holds", "holds", "", "yes or NO", lambda c: "yes" if c[0].holds else "NO"),
    Field("checked", "checked", "times", "how often", lambda c: c[0].checked),
    Field("age", "age", "s", "since it was last checked", lambda c: s(c[1] - c[0].at)),
    Field("detail", "detail", "", "what was seen", lambda c: c[0].detail),
], status=lambda c: "ok" if c[0].holds else "alarm")  # fmt: skip

DIVERGENCES: Table[tuple[Divergence, int]] = Table("divergences", "Divergences", lambda d: d[0].id, [
    Field("divergence", "divergence", "", "its id", lambda d: d[0].id),
    Field("seed", "seed", "", "of its episode", lambda d: d[0].seed),
    Field("step", "step", "", "at which it shows", lambda d: d[0].step),
    Field("rule", "rule", "", "that is broken", lambda d: d[0].rule),
    Field("detail", "detail", "", "what differs", lambda d: d[0].detail),
    Field("age", "age", "s", "since it was found", lambda d: s(d[1] - d[0].at)),
    Field("repro", "again", "", "a command that shows it", lambda d: d[0].repro),
    Field("trace", "trace", "", "the file of its shrunk trace", lambda d: d[0].trace),
], status=lambda d: "alarm")  # fmt: skip


# why a group waits -------------------------------------------------------------------------------------------------------------------

class Why(NamedTuple):
    """A cause."""

    kind: str
    charged: int                             # waiter-ns
    resources: dict[str, int]                # of it, if the cause is of resources
    total: int                               # of all causes
    length: int                              # of the window


_CAUSES: Table[Why] = Table("causes", "Why it waits", lambda c: c.kind, [
    Field("cause", "cause", "", "what its waiters wait for", lambda c: cause_words(c.kind)),
    Field("share", "share", "%", "waiter-seconds charged to it / all; the shares sum to 100", lambda c: 100 * c.charged / c.total),
    Field("waiters", "waiters", "waiter-s/s", "waiter-seconds charged to it / window", lambda c: c.charged / c.length if c.length else None),
    Field("of", "of", "", "of the share, by resource", lambda c: by_resource(c)),
], sort="-share")  # fmt: skip
_DECADES: Table[tuple[str, int]] = Table("wait_times", "Wait times", lambda d: d[0], [
    Field("wait", "wait", "", "submission to start", lambda d: d[0]),
    Field("n", "n", "starts", "starts in the window", lambda d: d[1]),
])  # fmt: skip
_FACTS: Table[tuple[str, str, int | float | str | None]] = Table("facts", "Group", lambda f: f[0], [
    Field("fact", "fact", "", "what", lambda f: f[0]),
    Field("value", "value", "", "in the unit named", lambda f: f[2]),
    Field("unit", "unit", "", "of the value", lambda f: f[1]),
])  # fmt: skip


def cause_words(cause: str) -> str:
    """A cause, and the resource if it names one, as it is told."""
    kind, _, resource = cause.partition(" ")
    return CAUSE_WORDS.get(kind, kind) + (f": {resource}" if resource else "")


def by_resource(cause: Why) -> str:
    """io 38% db 23%"""
    found = sorted(cause.resources.items(), key=lambda pair: (-pair[1], pair[0]))
    return " ".join(f"{name} {100 * charged / cause.total:.0f}%" for name, charged in found)


def why(group: GroupWindow) -> list[Why]:
    """The causes of the window."""
    causes = group.causes
    total, kinds = sum(causes.values()), dict[str, dict[str, int]]()
    for cause, charged in causes.items():
        kind, _, resource = cause.partition(" ")
        kinds.setdefault(kind, {})[resource] = charged
    return [Why(kind, sum(parts.values()), {name: charged for name, charged in parts.items() if name}, total, group.window.length) for kind, parts in kinds.items()]


def drill(group: GroupWindow, limits: Limits) -> list[Pane]:
    """Why a group waits: the causes of the window, which sum to 100%; its wait times; and the rest that is known of it."""
    wait, after = group.wait, group.after
    overdue = None if after.overdue_since is None else max(0, group.window.now - after.overdue_since)
    counts = [(what, "in the window", group.count(what)) for what in ("submitted", "started", "finished", "failed", "cancelled", "retried")] + [("timed out", "in the window", group.count("timed_out"))]
    facts: list[tuple[str, str, int | float | str | None]] = [
        ("flag", "", flag(group, limits)[0] or "-"), ("weight", "", after.weight), ("limit", "tasks", after.limit), ("got", "%", percent(group.got)), ("due", "%", percent(group.due)),
        ("busy", "tasks", after.running), ("waiting", "waiters", after.waiting), ("between two tries", "tasks", after.backing_off), ("oldest", "s", s(group.oldest)),
        ("told to end, and running", "tasks", after.overdue), ("the first of these since", "s", s(overdue)), ("owes", "", " ".join(f"{name}={units}" for name, units in after.debt.items()) or "-"),
        ("first waiting task needs", "", " ".join(f"{name}={units}" for name, units in after.needs.items()) or "-"), ("and waits for", "", cause_words(after.blocked_by) or "-"), *([("which is lent to", "", group.lent_to)] if group.lent_to else []),
        *((f"wait p{at}", "s", s(percentile(wait.counts, at))) for at in (50, 90, 99)), *counts,
    ]  # fmt: skip
    return [_CAUSES.pane(why(group)), _DECADES.pane(decades(wait.counts)), _FACTS.pane(facts)]


def panes(window: Window, limits: Limits) -> dict[str, tuple[Table[Any], list[Any]]]:
    """Every table with its things, in the order in which they are shown."""
    now, after = window.now, window.after
    found: list[tuple[Table[Any], list[Any]]] = [
        (RESOURCES, window.resources), (groups(limits), window.groups), (BATCHERS, window.batchers),
        (BATCHES, [(b.name, batch) for b in after.batchers for batch in reversed(b.batches)]), (WAVES, [(b.name, wave) for b in after.batchers for wave in reversed(b.waves)]),
        (WORKERS, window.workers), (CHECKS, [(check, now) for check in after.checks]), (DIVERGENCES, [(one, now) for one in after.divergences]),
    ]  # fmt: skip
    return {table.name: (table, things) for table, things in found}
