"""Every number that is shown has a unit, and a metric where the design names one."""
from __future__ import annotations

from typing import NamedTuple

import pytest

from slotwise.dashboard import sample
from slotwise.dashboard.observe.alarms import Acknowledged, listing
from slotwise.dashboard.observe.frames import Frame, derive
from slotwise.dashboard.observe.limits import DEFAULTS
from slotwise.dashboard.observe.lints import Watch
from slotwise.dashboard.observe.panes import Column
from slotwise.impl import names
from slotwise.impl import snapshot as s

#: Numbers that say which, and not how much; and pure ratios.
BARE = {("batches", "batch"), ("waves", "wave"), ("divergences", "seed"), ("divergences", "step"), ("groups", "weight"), ("facts", "value")}


def frame() -> Frame:
    found = list(sample.snapshots())
    last = found[-1]
    owing = tuple(s.Group(**{name: getattr(g, name) for name in g.__struct_fields__} | {"debt": {"gpu": 1}, "overdue": 1, "overdue_since": last.now}) for g in last.groups)
    return derive(found[-41], s.Snapshot(**{name: getattr(last, name) for name in last.__struct_fields__} | {"groups": owing}))


def test_every_number_in_a_pane_has_a_unit() -> None:
    shown = frame()
    panes = [*(shown.pane(name) for name in shown.names), *shown.drill("tenant-c")]
    numbers = 0
    for pane in panes:
        assert pane.rows, f"nothing in {pane.name}: it cannot be judged"
        for row in pane.rows:
            for column, cell in zip(pane.columns, row.cells, strict=True):
                if isinstance(cell.value, int | float) and (pane.name, column.id) not in BARE:
                    numbers += 1
                    assert column.unit, f"{pane.name}: {column.id} is a number without a unit"
                    assert column.unit in UNITS, f"{pane.name}: {column.id} is in {column.unit!r}, which the design has not"
    assert numbers > 300
    facts = next(pane for pane in panes if pane.name == "facts")
    assert all(row.cells[2].value for row in facts.rows if isinstance(row.cells[1].value, int | float) and row.cells[0].value not in ("weight",))
    alarms = Watch().look(shown)
    assert {column.unit for column in listing(alarms, shown.window.now, Acknowledged()).columns} <= {"", "s", "sentence"}


UNITS = {"slots", "tasks", "waiters", "units", "starts", "requests", "updates", "items", "refreshes", "bytes", "times", "cores", "slot-s/s", "waiter-s/s", "points", "s", "%"}


class Number(NamedTuple):
    """A row of the design's table: where it is shown, as what it is exported."""

    columns: str                             # "pane.column", several
    metrics: str = ""                        # of slotwise.impl.names
    otherwise: str = ""                      # why it has no metric, or another than the design's


#: The design's table of metrics (4.7), in its order.
PAGE = {
    "busy/cap": Number("resources.busy resources.capacity", "sched_slots sched_slots_capacity"),
    "own, borrowed": Number("resources.own resources.lent", "sched_slots"),
    "idle (eligible)": Number("resources.idle resources.eligible", "sched_slots"),
    "lost": Number("resources.lost resources.lost_share", "sched_idle_while_waiting_slot_seconds_total"),
    "longest": Number("resources.longest", "sched_idle_while_waiting_longest_seconds sched_idle_while_waiting_age_seconds"),
    "wait (depth)": Number("resources.waiting groups.waiting", "sched_queue_depth sched_resource_waiters"),
    "got%": Number("groups.got", "sched_service_slot_seconds_total"),
    "due%": Number("groups.due", "sched_group_weight"),
    "lag%": Number("groups.lag", otherwise="derived"),
    "Jain": Number("", otherwise="derived; in the verdict"),
    "debt": Number("groups.debt", "sched_borrow_debt_slots", "the engine owes units, not slot-seconds"),
    "oldest": Number("groups.oldest", "sched_oldest_waiter_age_seconds"),
    "p50 p99": Number("groups.p50 groups.p99 groups.n", "sched_wait_seconds"),
    "hold": Number("resources.hold_p50 resources.hold_p99", "sched_hold_seconds"),
    "why it waits": Number("causes.share causes.waiters causes.of", "sched_wait_cause_waiter_seconds_total"),
    "leases": Number("groups.overdue", "sched_leases sched_overdue_tasks sched_oldest_overdue_age_seconds", "leases have no time to live: a task is told to end"),
    "fill": Number("batches.fill batchers.fill", "sched_checkpoint_updates_total sched_checkpoint_batches_total", "a histogram of items would say no more than their quotient"),
    "seal reason": Number("batches.seal batchers.seals", "sched_checkpoint_batches_total"),
    "open": Number("batches.open", "sched_checkpoint_open_seconds_total", "a sum"),
    "needless wait": Number("batchers.needless batchers.needless_share", "sched_checkpoint_needless_wait_seconds_total"),
    "commit": Number("batches.commit batchers.commit_p50 batchers.commit_p99", "sched_checkpoint_commit_seconds"),
    "due / joined / late": Number("waves.due waves.joined waves.late waves.latest", "sched_refresh_due_total sched_refresh_joined_total sched_refresh_late_total"),
    "run spin yield park": Number("workers.run workers.spin workers.yield workers.park", "sched_worker_state_seconds_total"),
    "spin burn": Number("", "sched_worker_state_seconds_total", "derived; in the verdict"),
    "hit": Number("workers.hit", "sched_worker_spins_total"),
    "save": Number("workers.save", "sched_worker_wasted_spin_seconds_total"),
    "wake": Number("workers.wake", "sched_worker_wake_seconds"),
    "inv": Number("checks.checked checks.age", "sched_invariant_ok sched_invariant_checks_total"),
    "div": Number("divergences.age", "sched_divergences"),
    "drop": Number("", "sched_tape_dropped_events_total"),
    "lag": Number("", "sched_snapshot_timestamp_seconds"),
}


@pytest.mark.parametrize("row", PAGE)
def test_a_number_of_the_design_is_shown_and_exported(row: str) -> None:
    shown, number = frame(), PAGE[row]
    columns = {f"{pane.name}.{column.id}": column for pane in (*(shown.pane(name) for name in shown.names), *shown.drill("tenant-c")) for column in pane.columns}
    exported = {metric.prom: metric for metric in names.METRICS}
    for place in number.columns.split():
        assert isinstance(columns[place], Column)
        assert columns[place].help
    assert number.metrics or number.otherwise
    for name in number.metrics.split():
        assert exported[name].unit
        assert exported[name].help


def test_every_metric_is_of_a_field_of_the_snapshot() -> None:
    """Read from the table itself: `groups.finished, .failed` are two."""
    rows = {"resources": s.Resource, "groups": s.Group, "batchers": s.Batcher, "workers": s.Worker, "checks": s.Check}
    exported: set[tuple[str, str]] = set()
    for metric in names.METRICS:
        table, _, fields = metric.internal.partition(".")
        for field in fields.split(", .") if fields else ():
            assert field in rows[table].__struct_fields__, metric.internal
            exported.add((table, field))
        assert fields or table in s.Snapshot.__struct_fields__
    told = {(table, field) for table, kind in rows.items() for field in kind.__struct_fields__}
    assert told - exported == {
        *((table, "name") for table in ("resources", "groups", "batchers", "workers")), ("groups", "limit"), ("groups", "needs"), ("groups", "blocked_by"), ("resources", "lent_to"),
        ("batchers", "requests"), ("batchers", "batches"), ("batchers", "waves"), ("workers", "state"), ("workers", "window"), ("checks", "id"), ("checks", "at"), ("checks", "detail"),
    }  # fmt: skip


def test_every_limit_has_a_unit_or_no_value() -> None:
    assert {code for code, limit in DEFAULTS.items() if not limit.unit} == {"INV", "DIV"}
