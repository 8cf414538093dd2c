"""The tables of what is put together, but for what groups wait for."""
from __future__ import annotations

from collections.abc import Callable, Sequence

from slotwise.dashboard.observe.alarms import Open
from slotwise.dashboard.observe.panes import Field, Table, worst
from slotwise.dashboard.observe.sums import Sums, count, ratio
from slotwise.dashboard.observe.tables import percent, s
from slotwise.dashboard.observe.window import SECOND, ResourceWindow, WorkerWindow
from slotwise.dashboard.observe.words import Value
from slotwise.impl.snapshot import Batch, Check, Divergence, Wave


def resource_state(resource: ResourceWindow) -> str:
    """What is the matter with it, in a word or two."""
    after = resource.after
    if resource.idle_eligible:
        return "idle, wanted"
    if after.busy >= after.capacity:
        return "full, wanted" if after.waiting else "full"
    return "partly used" if after.busy else "unused"


def _lost(one: Sums) -> Value:
    return ratio(sum(r.lost for r in one.of), one.of[0].window.length)


RESOURCES: Table[Sums] = Table("resources_by_state", "Resources by state", lambda one: one.what, [
    Field("state", "state", "", "idle, wanted: units are free, and tasks that nothing else holds want them; full, wanted: none is free, and tasks wait", lambda one: one.what), count("resources"),
    Field("busy", "busy", "slots", "units held", lambda one: sum(r.after.busy for r in one.of)), Field("capacity", "cap", "slots", "units there are", lambda one: sum(r.after.capacity for r in one.of)),
    Field("waiting", "wait", "waiters", "tasks waiting that need one of them; who needs two counts twice", lambda one: sum(r.after.waiting for r in one.of)),
    Field("idle", "idle", "slots", "min(free, eligible), now", lambda one: sum(r.idle_eligible for r in one.of)),
    Field("lost", "lost", "slot-s/s", "integral of min(free, eligible) / window", _lost),
    Field("used", "used%", "%", "integral of busy / (capacity x window)", lambda one: percent(ratio(sum(r.busy_time for r in one.of), sum(r.after.capacity for r in one.of) * one.of[0].window.length))),
    Field("which", "which", "", "their names, the longest queue first", lambda one: " ".join(r.after.name for r in sorted(one.of, key=lambda r: -r.after.waiting))),
], sort="-waiting")  # fmt: skip


def _checks(one: Sums) -> list[Check]:
    return [check for check, _ in one.of]


def family(check: Check) -> str:
    """An id without the number at its end."""
    return check.id.rstrip("0123456789").rstrip("-") or check.id


def _of_checks(name: str, title: str, first: Field[Sums]) -> Table[Sums]:
    return Table(name, title, lambda one: one.what, [
        first, count("checks"), Field("broken", "broken", "checks", "that do not hold", lambda one: sum(not check.holds for check in _checks(one))),
        Field("checked", "checked", "times", "how often, all together", lambda one: sum(check.checked for check in _checks(one))),
        Field("age", "age", "s", "since the one was checked that was not for the longest time", lambda one: s(max(now - check.at for check, now in one.of))),
        Field("which", "which", "", "their ids, those that do not hold first", lambda one: " ".join(check.id for check in sorted(_checks(one), key=lambda check: check.holds))),
    ], sort="-broken", status=lambda one: "ok" if all(check.holds for check in _checks(one)) else "alarm")  # fmt: skip


CHECKS_BY_OUTCOME = _of_checks("checks_by_outcome", "Invariants by outcome", Field("holds", "holds", "", "yes or NO", lambda one: one.what))
CHECKS_BY_FAMILY = _of_checks("checks_by_family", "Invariants by family", Field("family", "family", "", "their ids without the number", lambda one: one.what))


def _parts(state: str) -> Callable[[Sums], Value]:
    def part(one: Sums) -> Value:
        workers: Sequence[WorkerWindow] = one.of
        return percent(ratio(sum(w.count(state) for w in workers), sum(w.time for w in workers)))

    return part


def _hit(one: Sums) -> Value:
    hits = sum(w.count("hits") for w in one.of)
    return percent(ratio(hits, hits + sum(w.count("misses") for w in one.of)))


WORKERS: Table[Sums] = Table("workers_by_state", "Workers by state", lambda one: one.what, [
    Field("state", "state", "", "now", lambda one: one.what), count("workers"),
    *(Field(id, id, "%", f"their time {words} / all their time, in the window", _parts(state)) for id, words, state in
      (("run", "running tasks", "running"), ("spin", "spinning", "spinning"), ("yield", "yielding", "yielding"), ("park", "parked", "parked"))),
    Field("hit", "hit", "%", "spins that found a task / spins", _hit),
    Field("save", "save", "cores", "time spun in vain / window", lambda one: ratio(sum(w.count("wasted") for w in one.of), one.of[0].window.length)),
], sort="-count")  # fmt: skip


def _batches(one: Sums) -> list[Batch]:
    return [batch for _, batch in one.of]


def _commit(one: Sums) -> Value:
    known = [batch.done - batch.sealed for batch in _batches(one) if batch.done is not None]
    return ratio(sum(known), len(known) * SECOND)


def _of_batches(name: str, title: str, first: Field[Sums]) -> Table[Sums]:
    return Table(name, title, lambda one: one.what, [
        first, count("batches"), Field("updates", "upd", "updates", "their updates", lambda one: sum(b.updates for b in _batches(one))),
        Field("fill", "fill", "%", "updates / most that they may have", lambda one: percent(ratio(sum(b.updates for b in _batches(one)), sum(b.most for b in _batches(one))))),
        Field("size", "size", "bytes", "of their updates", lambda one: sum(b.size for b in _batches(one))),
        Field("open", "open", "s", "first item to seal, mean", lambda one: ratio(sum(b.sealed - b.opened for b in _batches(one)), len(one.of) * SECOND)),
        Field("commit", "commit", "s", "seal to durable, mean of those that are", _commit),
    ], sort="-count")  # fmt: skip


def _waves(one: Sums) -> list[Wave]:
    return [wave for _, wave in one.of]


WAVES: Table[Sums] = Table("waves_by_batcher", "Refresh waves by batcher", lambda one: one.what, [
    Field("batcher", "batcher", "", "whose they are", lambda one: one.what), count("waves"),
    Field("due", "due", "refreshes", "refreshes that answers resumed", lambda one: sum(w.refreshes for w in _waves(one))),
    Field("joined", "join", "refreshes", "of these, those that shared a request", lambda one: sum(w.joined for w in _waves(one))),
    Field("late", "late", "refreshes", "of these, those answered more than a round trip after they were due", lambda one: sum(w.late for w in _waves(one))),
    Field("latest", "latest", "s", "answer - due instant, of the latest of all", lambda one: s(max(w.latest for w in _waves(one)))),
])  # fmt: skip


def _found(one: Sums) -> list[tuple[Divergence, int]]:
    return list(one.of)


DIVERGENCES: Table[Sums] = Table("divergences_by_rule", "Divergences by rule", lambda one: one.what, [
    Field("rule", "rule", "", "that is broken", lambda one: one.what), count("found", "divergences"),
    Field("age", "age", "s", "since the latest was found", lambda one: s(min(now - found.at for found, now in _found(one)))),
    Field("which", "which", "", "their ids", lambda one: " ".join(found.id for found, _ in _found(one))),
], sort="-count", status=lambda one: "alarm")  # fmt: skip


def _of_alarms(name: str, title: str, first: Field[Sums], others: Callable[[Open], str]) -> Table[Sums]:
    return Table(name, title, lambda one: one.what, [
        first, count("alarms"), Field("age", "age", "s", "since the oldest was first so", lambda one: s(max(alarm.now - alarm.alarm.since for alarm in one.of))),
        Field("which", "which", "", "of what, or which", lambda one: " ".join(others(alarm) or "-" for alarm in one.of)),
    ], sort="-count", status=lambda one: worst("ok" if alarm.acknowledged else alarm.alarm.status for alarm in one.of))  # fmt: skip


BATCHES_BY_SEAL = _of_batches("batches_by_seal", "Batches by seal", Field("seal", "seal", "", "why they were sealed", lambda one: one.what))
BATCHES_BY_BATCHER = _of_batches("batches_by_batcher", "Batches by batcher", Field("batcher", "batcher", "", "whose they are", lambda one: one.what))
ALARMS_BY_CODE = _of_alarms("alarms_by_code", "Alarms by code", Field("code", "code", "", "of the lint", lambda one: one.what), lambda one: one.alarm.entity)
ALARMS_BY_ENTITY = _of_alarms("alarms_by_entity", "Alarms by entity", Field("entity", "of", "", "of what", lambda one: one.what or "-"), lambda one: one.alarm.code)
