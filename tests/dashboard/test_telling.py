"""Rows put together, counters told in another way, alarms that were acknowledged: without any screen."""
from __future__ import annotations

from typing import Any

import msgspec
import pytest

from slotwise.dashboard.observe import regroup, units
from slotwise.dashboard.observe.alarms import Acknowledged, listing, opened
from slotwise.dashboard.observe.frames import Frame, derive
from slotwise.dashboard.observe.lints import Alarm, Watch
from slotwise.dashboard.sample import snapshots
from slotwise.impl import snapshot as s

from .samples import SECOND, batch, batcher, group, resource, snapshot, worker

SAMPLE = list(snapshots())[-41::40]


def frame() -> Frame:
    return derive(SAMPLE[0], SAMPLE[1])


def rows(table: Any, things: Any) -> list[dict[str, Any]]:
    return [{column.id: cell.value for column, cell in zip(table.columns, row.cells, strict=True)} for row in table.pane(things).rows]


def put_together(frame: Frame, name: str, place: int) -> list[dict[str, Any]]:
    view = regroup.VIEWS[name][place]
    return rows(view.table, view.gather(frame.table(name)[1]))


# rows put together --------------------------------------------------------------------------------------------------------------------


def test_groups_by_what_they_wait_for() -> None:
    before = snapshot(0, groups=(group("a", causes={"capacity llm": 0}), group("b")))
    after = snapshot(10, groups=(
        group("a", waiting=3, oldest=4 * SECOND, blocked_by="capacity llm", causes={"capacity llm": 20 * SECOND, "lent llm": 10 * SECOND}),
        group("b", waiting=2, oldest=2 * SECOND, blocked_by="capacity llm", causes={"capacity llm": 5 * SECOND, "limit": 5 * SECOND}),
        group("c", waiting=7, oldest=9 * SECOND, blocked_by="capacity db"), group("d"),
    ))  # fmt: skip
    seen = derive(before, after)
    by_cause = {row.pop("cause"): row for row in put_together(seen, "groups", 0)}
    assert by_cause == {
        "no free slot: llm": {"groups": 2, "waiting": 5, "waiters": 2.5, "share": 62.5, "oldest": 8.0, "most": "a b"}, "slot lent out: llm": {"groups": 1, "waiting": 0, "waiters": 1.0, "share": 25.0, "oldest": None, "most": "a"},
        "own limit reached": {"groups": 1, "waiting": 0, "waiters": 0.5, "share": 12.5, "oldest": None, "most": "b"}, "no free slot: db": {"groups": 1, "waiting": 7, "waiters": 0.0, "share": 0.0, "oldest": 1.0, "most": "c"},
    }  # fmt: skip
    by_resource = {row["resource"]: row for row in put_together(seen, "groups", 1)}
    assert {what: (row["waiters"], row["waiting"]) for what, row in by_resource.items()} == {"llm": (3.5, 5), "-": (0.5, 0), "db": (0.0, 7)}
    each = put_together(seen, "groups", 2)
    assert sum(row["share"] for row in each) == pytest.approx(100)
    assert [(row["group"], row["now"]) for row in each] == [("a", "yes"), ("a", ""), ("b", "yes"), ("b", ""), ("c", "yes")]
    assert sum(row["waiting"] for row in by_cause.values()) == sum(g.waiting for g in after.groups), "each group waits for one thing now"


def test_a_cause_without_its_resource() -> None:
    seen = derive(None, snapshot(10, groups=(group("a", waiting=3, oldest=0, blocked_by="capacity llm", causes={"capacity": SECOND}),)))
    assert [(row["cause"], row["waiting"]) for row in put_together(seen, "groups", 0)] == [("no free slot", 3)]


def test_sums_are_those_of_the_rows() -> None:
    """Whatever is put together: no row is lost, and none counted twice."""
    seen = frame()
    for name, views in regroup.VIEWS.items():
        if name in ("groups", "alarms"):
            continue
        things = seen.table(name)[1]
        for view in views:
            found = view.gather(things)
            assert sum(len(one.of) for one in found) == len(things) > 0
            assert len({view.table.key(one) for one in found}) == len(found)
    (by_batcher,) = put_together(seen, "waves", 0)
    assert by_batcher["due"] == sum(row["due"] for row in rows(*seen.table("waves")))
    seals = {row["seal"]: row for row in put_together(seen, "batches", 0)}
    assert {seal: row["count"] for seal, row in seals.items()} == {"full": 3, "timer": 1, "flush": 1}
    assert seals["full"]["fill"] == 100.0


def test_resources_by_state() -> None:
    before = snapshot(0, resources=tuple(resource(name) for name in "abcdef"))
    after = snapshot(10, resources=(
        resource("a", capacity=4, busy=2, waiting=3, eligible=3, idle_waiting=5 * SECOND, busy_time=20 * SECOND), resource("b", capacity=4, busy=3, waiting=9, eligible=1, idle_waiting=10 * SECOND, busy_time=20 * SECOND),
        resource("c", capacity=2, busy=2, waiting=1, eligible=1), resource("d", capacity=2, busy=2), resource("e", capacity=2, busy=1, waiting=1), resource("f"),
    ))  # fmt: skip
    found = {row.pop("state"): row for row in put_together(derive(before, after), "resources", 0)}
    assert {state: (row["count"], row["which"]) for state, row in found.items()} == {"idle, wanted": (2, "b a"), "full, wanted": (1, "c"), "full": (1, "d"), "partly used": (1, "e"), "unused": (1, "f")}
    assert found["idle, wanted"] == {"count": 2, "busy": 5, "capacity": 8, "waiting": 12, "idle": 3, "lost": 1.5, "used": 50.0, "which": "b a"}
    assert next(iter(found)) == "idle, wanted", "the longest queues first"


def test_checks_by_outcome_and_by_family() -> None:
    ids = ("INV-1", "INV-12", "admission/strict ADM-3", "conformance", "7")
    shot = snapshot(10, checks=tuple(s.Check(id, id != "INV-12", i + 1, (10 - i) * SECOND) for i, id in enumerate(ids)))
    seen = derive(None, shot)
    outcome = {row["holds"]: row for row in put_together(seen, "checks", 0)}
    assert {holds: (row["count"], row["broken"], row["checked"], row["which"]) for holds, row in outcome.items()} == {"NO": (1, 1, 2, "INV-12"), "yes": (4, 0, 13, "INV-1 admission/strict ADM-3 conformance 7")}
    family = {row["family"]: row for row in put_together(seen, "checks", 1)}
    assert {what: (row["count"], row["broken"], row["age"], row["which"]) for what, row in family.items()} == {
        "INV": (2, 1, 1.0, "INV-12 INV-1"), "admission/strict ADM": (1, 0, 2.0, "admission/strict ADM-3"), "conformance": (1, 0, 3.0, "conformance"), "7": (1, 0, 4.0, "7"),
    }  # fmt: skip
    assert next(iter(family)) == "INV", "what does not hold first"
    view = regroup.VIEWS["checks"][1]
    assert [row.status for row in view.table.pane(view.gather(seen.table("checks")[1])).rows] == ["alarm", "ok", "ok", "ok"]


def test_workers_by_state() -> None:
    one, other = worker("w0", state="spin", running=SECOND, spinning=3 * SECOND, hits=1, misses=3, wasted=SECOND), worker("w1", state="spin", running=3 * SECOND, spinning=SECOND)
    (row,) = put_together(derive(None, snapshot(10, workers=(one, other))), "workers", 0)
    assert (row["count"], row["run"], row["spin"], row["hit"], row["save"]) == (2, 50.0, 50.0, 25.0, 0.1)


def test_batches_in_flight_have_no_commit() -> None:
    shot = snapshot(10, batchers=(batcher(batches=(batch(1, sealed=2 * SECOND, done=None), batch(2, seal="timer", sealed=SECOND, done=3 * SECOND))),))
    found = {row["seal"]: row["commit"] for row in put_together(derive(None, shot), "batches", 0)}
    assert found == {"full": None, "timer": 2.0}


def test_a_table_that_is_only_there_when_it_is_asked_for() -> None:
    seen = frame()
    assert "waits" not in seen.names
    found = regroup.things(seen, "waits")
    assert found is not None
    assert len(found[1]) == sum(len(one.causes) for one in seen.window.groups)
    assert regroup.things(seen, "nothing") is None


# counters -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "column"), [(name, column) for name, columns in units.COUNTERS.items() if name in ("groups", "batchers", "resources", "workers") for column in columns])
def test_each_counter_in_each_way(name: str, column: str) -> None:
    seen = frame()
    table, things = seen.table(name)
    length, found = seen.window.length, {}
    for unit in units.UNITS[1:]:
        told = units.told(table, things, unit, length)
        assert column in told.changed
        found[unit] = [row[column] for row in rows(told.table, things)]
        title = next(one.title for one in told.table.columns if one.id == column)
        assert title.endswith({"rate": "/s", "total": " sum", "percent": "/all"}[unit]) or units.COUNTERS[name][column] == unit == "rate"
    for rate, total in zip(found["rate"], found["total"], strict=True):
        assert rate * length / SECOND == pytest.approx(total)
    assert sum(one or 0 for one in found["percent"]) == pytest.approx(100 if any(found["total"]) else 0)


def test_what_is_no_counter_stays() -> None:
    seen = frame()
    table, things = seen.table("groups")
    told = units.told(table, things, "rate", seen.window.length).table
    assert [column.id for column in told.columns[: len(table.columns)]] == [column.id for column in table.columns]
    for one, other in zip(rows(table, things), rows(told, things), strict=True):
        assert {key: value for key, value in one.items() if key != "n"} == {key: value for key, value in other.items() if key in one and key != "n"}
    assert units.told(table, things, "own", 1).table is table
    assert units.told(*seen.table("checks"), "rate", 1) == (seen.table("checks")[0], ())


def test_without_a_window_there_are_no_rates() -> None:
    seen = derive(None, snapshot(0, groups=(group(started=5),)))
    table, things = seen.table("groups")
    assert rows(units.told(table, things, "rate", 0).table, things)[0]["n"] is None


# alarms -------------------------------------------------------------------------------------------------------------------------------

ONE, OTHER = Alarm("FAIR01", "a", "alarm", 5, "a waits"), Alarm("SCH001", "gpu", "warn", 6, "gpu idles")


def test_acknowledged_until_it_comes_back() -> None:
    known, watch = Acknowledged(), Watch()

    def look(at: float, late: bool) -> tuple[Alarm, ...]:
        alarms = watch.look(derive(None, snapshot(at, groups=(group("a", waiting=1, oldest=0 if late else round(at * SECOND)),))))
        known.seen(alarms)
        return alarms

    alarms = look(10, True)
    assert known.toggle(alarms)
    assert known.unheard(alarms) == ()
    assert known.unheard(look(11, True)) == (), "while it lasts"
    assert look(12, False) == ()
    alarms = look(20, True)
    assert known.unheard(alarms) == alarms != (), "it is another"
    assert known.toggle(alarms)
    later = tuple(msgspec.structs.replace(alarm, since=alarm.since + 1) for alarm in alarms)
    assert known.unheard(later) == later, "also if nobody saw that it was gone"


def test_acknowledging_twice_takes_it_back() -> None:
    known = Acknowledged()
    assert known.toggle([ONE])
    assert known.toggle([ONE, OTHER]), "one of them was not"
    assert known.unheard((ONE, OTHER)) == ()
    assert not known.toggle([ONE, OTHER])
    assert known.unheard((ONE, OTHER)) == (ONE, OTHER)


def test_in_a_recording_it_lasts() -> None:
    known = Acknowledged(lasting=True)
    known.toggle([ONE])
    known.seen([])
    later = Alarm("FAIR01", "a", "alarm", 99, "again")
    assert known.unheard((later, OTHER)) == (OTHER,)


def test_what_is_acknowledged_comes_last_or_not_at_all() -> None:
    known = Acknowledged()
    known.toggle([ONE])
    assert [one.alarm for one in opened([ONE, OTHER], 9, known)] == [OTHER]
    found = listing([ONE, OTHER], 9, known, hidden=False)
    (first, last) = found.rows()
    assert (first.key, first.status) == ("SCH001 gpu", "warn")
    assert (last.key, last.status) == ("FAIR01 a", "ok")
    words = {column.id: cell.value for column, cell in zip(found.columns, last.cells, strict=True)}
    assert (words["acked"], words["sentence"]) == ("yes", "(acked) a waits")
