"""What is measured, by all its names: in a snapshot, for Prometheus, for OpenTelemetry. Both exports are generated from this table.

Prometheus wants base units, the unit in the name and `_total` at the end of a counter; OpenTelemetry wants neither, but dots. Labels are
never ids of jobs, leases or batches.
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from slotwise.impl import snapshot as s

Value = float | s.Histogram
#: Metric, values of its labels, value.
Reading = tuple["Metric", tuple[str, ...], Value]


@dataclass(frozen=True, slots=True)
class Metric:
    internal: str                # where in the snapshot
    prom: str
    otel: str
    unit: str                    # UCUM
    kind: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str


def _m(internal: str, prom: str, otel: str, unit: str, kind: Literal["counter", "gauge", "histogram"], labels: str, help: str) -> Metric:
    return Metric(internal, prom, otel, unit, kind, tuple(labels.split()), help)


SLOTS = _m("resources.busy, .lent, .eligible", "sched_slots", "sched.slot.usage", "{slot}", "gauge", "resource state", "Units by state: busy_own, busy_borrowed (beyond the holder's share while others wait), idle, idle_eligible (idle although somebody would take it)")
CAPACITY = _m("resources.capacity", "sched_slots_capacity", "sched.slot.limit", "{slot}", "gauge", "resource", "Units that there are")
IDLE_WAITING = _m("resources.idle_waiting", "sched_idle_while_waiting_slot_seconds_total", "sched.slot.idle_while_waiting", "s", "counter", "resource", "Slot-seconds idle although a waiting task would have taken them")
IDLE_AGE = _m("resources.idle_since", "sched_idle_while_waiting_age_seconds", "sched.slot.idle_while_waiting.age", "s", "gauge", "resource", "Since when units have been idle although somebody waits; 0 if none are")
IDLE_LONGEST = _m("resources.idle_waiting_longest", "sched_idle_while_waiting_longest_seconds", "sched.slot.idle_while_waiting.longest", "s", "gauge", "resource", "Longest time in which units were idle although somebody waited")
BUSY_TIME = _m("resources.busy_time", "sched_busy_slot_seconds_total", "sched.slot.busy", "s", "counter", "resource", "Slot-seconds held")
HOLD = _m("resources.hold", "sched_hold_seconds", "sched.hold.duration", "s", "histogram", "resource", "From grant to release")
NEEDED = _m("resources.waiting", "sched_resource_waiters", "sched.resource.waiters", "{waiter}", "gauge", "resource", "Waiting tasks that need it; a task may need several resources")
DEPTH = _m("groups.waiting", "sched_queue_depth", "sched.queue.depth", "{waiter}", "gauge", "group", "Tasks waiting")
RUNNING = _m("groups.running", "sched_running_tasks", "sched.task.running", "{task}", "gauge", "group", "Tasks running")
BACKING_OFF = _m("groups.backing_off", "sched_backing_off_tasks", "sched.task.backing_off", "{task}", "gauge", "group", "Tasks between two tries")
SERVICE = _m("groups.service", "sched_service_slot_seconds_total", "sched.service", "s", "counter", "group", "Dominant share held, in slot-seconds of the largest resource")
WEIGHT = _m("groups.weight", "sched_group_weight", "sched.group.weight", "1", "gauge", "group", "Weight")
OLDEST = _m("groups.oldest", "sched_oldest_waiter_age_seconds", "sched.queue.oldest_age", "s", "gauge", "group", "How long the task has waited that has waited longest; 0 if none waits")
WAIT = _m("groups.wait", "sched_wait_seconds", "sched.wait.duration", "s", "histogram", "group", "From submission, or the end of a back-off, to start")
CAUSE = _m("groups.causes", "sched_wait_cause_waiter_seconds_total", "sched.wait.cause", "s", "counter", "group cause resource", "Waiter-seconds, each charged to exactly one cause; resource is empty where the cause is of none")
OVERDUE = _m("groups.overdue", "sched_overdue_tasks", "sched.task.overdue", "{task}", "gauge", "group", "Running tasks that were told to end (deadline, cancellation) and still hold their units")
OVERDUE_AGE = _m("groups.overdue_since", "sched_oldest_overdue_age_seconds", "sched.task.oldest_overdue_age", "s", "gauge", "group", "Since the first of these was told so; 0 if there is none")
DEBT = _m("groups.debt", "sched_borrow_debt_slots", "sched.borrow.debt", "{slot}", "gauge", "group resource", "Units that a group must still repay; only where it owes some")
SUBMITTED = _m("groups.submitted", "sched_tasks_submitted_total", "sched.task.submitted", "{task}", "counter", "group", "Tasks submitted")
STARTED = _m("groups.started", "sched_tasks_started_total", "sched.task.started", "{task}", "counter", "group", "Tries started")
OUTCOMES = _m("groups.finished, .failed, .cancelled, .timed_out", "sched_tasks_ended_total", "sched.task.ended", "{task}", "counter", "group outcome", "Tasks that are over, by how they ended")
RETRIED = _m("groups.retried", "sched_retries_total", "sched.task.retried", "{try}", "counter", "group", "Tries that failed and are followed by another")
LEASES = _m("leases", "sched_leases", "sched.lease.active", "{lease}", "gauge", "state", "Leases held")
BATCHES = _m("batchers.seals", "sched_checkpoint_batches_total", "sched.checkpoint.batches", "{request}", "counter", "batcher reason", "Requests by what sealed them")
UPDATES = _m("batchers.updates", "sched_checkpoint_updates_total", "sched.checkpoint.updates", "{update}", "counter", "batcher", "Updates sent")
PENDING = _m("batchers.waiting", "sched_checkpoint_pending_items", "sched.checkpoint.pending", "{item}", "gauge", "batcher", "Items that are not durable yet")
FAILURES = _m("batchers.failures", "sched_checkpoint_failures_total", "sched.checkpoint.failures", "{request}", "counter", "batcher", "Requests that failed")
OPEN = _m("batchers.open_time", "sched_checkpoint_open_seconds_total", "sched.checkpoint.open", "s", "counter", "batcher", "From a request's first item to its seal")
NEEDLESS = _m("batchers.needless", "sched_checkpoint_needless_wait_seconds_total", "sched.checkpoint.needless_wait", "s", "counter", "batcher", "A batch was open, nothing in flight, and no item came before the seal")
COMMIT = _m("batchers.commit", "sched_checkpoint_commit_seconds", "sched.checkpoint.commit.duration", "s", "histogram", "batcher", "From seal to durable")
REFRESHES = _m("batchers.refreshes", "sched_refresh_due_total", "sched.refresh.due", "{refresh}", "counter", "batcher", "Refreshes answered")
JOINED = _m("batchers.joined", "sched_refresh_joined_total", "sched.refresh.joined", "{refresh}", "counter", "batcher", "Refreshes that shared a request, with updates or with another refresh")
LATE = _m("batchers.late", "sched_refresh_late_total", "sched.refresh.late", "{refresh}", "counter", "batcher", "Refreshes answered more than a round trip after they were due")
WORKER_TIME = _m("workers.running, .spinning, .yielding, .parked", "sched_worker_state_seconds_total", "sched.worker.time", "s", "counter", "worker state", "Time of a worker by state")
SPINS = _m("workers.hits, .misses", "sched_worker_spins_total", "sched.worker.spins", "{spin}", "counter", "worker outcome", "Windows that caught a task (hit) or ended in a park (miss)")
WASTED = _m("workers.wasted", "sched_worker_wasted_spin_seconds_total", "sched.worker.spin.wasted", "s", "counter", "worker", "Time spun in windows that ended in a park")
WAKE = _m("workers.wake", "sched_worker_wake_seconds", "sched.worker.wake.duration", "s", "histogram", "worker", "From publication to the first look after a park")
INVARIANT = _m("checks.holds", "sched_invariant_ok", "sched.invariant.ok", "1", "gauge", "name", "1 if it holds, 0 if it does not")
CHECKED = _m("checks.checked", "sched_invariant_checks_total", "sched.invariant.checks", "{check}", "counter", "name", "Times checked")
DIVERGENCES = _m("divergences", "sched_divergences", "sched.divergences", "{divergence}", "gauge", "", "Differences between engine and specification")
EVENTS = _m("events", "sched_events_total", "sched.events", "{event}", "counter", "", "Events folded")
DROPPED = _m("dropped", "sched_tape_dropped_events_total", "sched.tape.dropped", "{event}", "counter", "", "Events that are not on the tape; counters have them")
AT = _m("now", "sched_snapshot_timestamp_seconds", "sched.snapshot.time", "s", "gauge", "", "The program's monotonic clock at the snapshot")

METRICS = tuple(value for value in list(globals().values()) if isinstance(value, Metric))


def readings(seen: s.Snapshot) -> Iterator[Reading]:
    """All that a snapshot says, in seconds and units."""
    for r in seen.resources:
        free = r.capacity - r.busy
        eligible = min(free, r.eligible)
        for state, units in (("busy_own", r.busy - r.lent), ("busy_borrowed", r.lent), ("idle", free - eligible), ("idle_eligible", eligible)):
            yield SLOTS, (r.name, state), units
        yield from ((metric, (r.name,), value) for metric, value in (
            (IDLE_AGE, 0.0 if r.idle_since is None else (seen.now - r.idle_since) / 1e9),
            (CAPACITY, r.capacity), (IDLE_WAITING, r.idle_waiting / 1e9), (IDLE_LONGEST, r.idle_waiting_longest / 1e9), (BUSY_TIME, r.busy_time / 1e9), (HOLD, r.hold), (NEEDED, r.waiting),
        ))  # fmt: skip
    for g in seen.groups:
        age, overdue = (0.0 if since is None else (seen.now - since) / 1e9 for since in (g.oldest, g.overdue_since))
        yield from ((metric, (g.name,), value) for metric, value in (
            (DEPTH, g.waiting), (RUNNING, g.running), (BACKING_OFF, g.backing_off), (SERVICE, g.service / 1e9), (WEIGHT, g.weight), (OLDEST, age), (WAIT, g.wait),
            (SUBMITTED, g.submitted), (STARTED, g.started), (RETRIED, g.retried), (OVERDUE, g.overdue), (OVERDUE_AGE, overdue),
        ))  # fmt: skip
        for cause, spent in g.causes.items():
            kind, _, resource = cause.partition(" ")
            yield CAUSE, (g.name, kind, resource), spent / 1e9
        yield from ((DEBT, (g.name, resource), units) for resource, units in g.debt.items())
        yield from ((OUTCOMES, (g.name, outcome), getattr(g, outcome)) for outcome in ("finished", "failed", "cancelled", "timed_out"))
    for b in seen.batchers:
        yield from ((BATCHES, (b.name, reason), n) for reason, n in b.seals.items())
        yield from ((metric, (b.name,), value) for metric, value in (
            (UPDATES, b.updates), (PENDING, b.waiting), (FAILURES, b.failures), (OPEN, b.open_time / 1e9), (NEEDLESS, b.needless / 1e9), (COMMIT, b.commit),
            (REFRESHES, b.refreshes), (JOINED, b.joined), (LATE, b.late),
        ))  # fmt: skip
    for w in seen.workers:
        for state, spent in (("run", w.running), ("spin", w.spinning), ("yield", w.yielding), ("park", w.parked)):
            yield WORKER_TIME, (w.name, state), spent / 1e9
        yield SPINS, (w.name, "hit"), w.hits
        yield SPINS, (w.name, "miss"), w.misses
        yield WASTED, (w.name,), w.wasted / 1e9
        yield WAKE, (w.name,), w.wake
    for c in seen.checks:
        yield INVARIANT, (c.id,), float(c.holds)
        yield CHECKED, (c.id,), c.checked
    yield LEASES, ("active",), seen.leases
    yield DIVERGENCES, (), len(seen.divergences)
    yield EVENTS, (), seen.events
    yield DROPPED, (), seen.dropped
    yield AT, (), seen.now / 1e9
