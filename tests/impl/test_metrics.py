"""What Prometheus and OpenTelemetry are told, read back through their own libraries."""
from __future__ import annotations

import re
import threading
from typing import Any

import anyio
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from slotwise.impl import names
from slotwise.impl import snapshot as s
from slotwise.impl.meter import Durations
from slotwise.impl.opentelemetry import observe
from slotwise.impl.prometheus import Collector
from slotwise.impl.scheduler import Group, Scheduler

HOLD = Durations()
for duration in (5, 2_000, 2_100, 3_000_000, 3_000_000, 10**10):
    HOLD.add(duration)
SECOND = 10**9
SEEN = s.Snapshot(
    s.VERSION, "program", 1, 0, 100 * SECOND, 3, 40, 2, 5,
    resources=(s.Resource("llm", 8, 5, 1, 4, 2, 3 * SECOND, SECOND, 90 * SECOND, HOLD.frozen(), 96 * SECOND),),
    groups=(s.Group('g "1"\n', 2.0, None, 5, 4, 1, 90 * SECOND, 80 * SECOND, HOLD.frozen(), {"capacity llm": 7 * SECOND, "limit": 2 * SECOND}, 20, 15, 6, 1, 2, 3, 1,
                    {"llm": 1}, "capacity llm", 2, 97 * SECOND, {"llm": 3}),),
    batchers=(s.Batcher("b", 4, 9, 3, 1, {"full": 3, "timer": 1}, 2, SECOND, 2 * SECOND, HOLD.frozen(), 2, 1),),
    workers=(s.Worker("w", "spin", SECOND, 2 * SECOND, 0, 3 * SECOND, 5, 6, SECOND, 100, HOLD.frozen()),),
    checks=(s.Check("conformance", False, 40, 0),),
    divergences=(s.Divergence("DIV-1", 0, 3, "ADM-1", "", 0),),
)  # fmt: skip


def scraped(collector: Collector) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    registry = CollectorRegistry()
    collector.register(registry)
    text = generate_latest(registry).decode()
    return {(sample.name, frozenset(sample.labels.items())): sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


def of(found: dict[tuple[str, frozenset[tuple[str, str]]], float], name: str, /, **labels: str) -> float:
    return found[name, frozenset(labels.items())]


def test_names_follow_both_conventions() -> None:
    for metric in names.METRICS:
        assert re.fullmatch(r"sched_[a-z_]+", metric.prom)
        assert re.fullmatch(r"sched(\.[a-z_]+)+", metric.otel)
        assert metric.prom.endswith("_total") == (metric.kind == "counter")
        assert not metric.otel.endswith("total")
        assert ("_seconds" in metric.prom) == (metric.unit == "s")
        assert metric.help
    for column in ("prom", "otel", "internal"):
        values = [getattr(metric, column) for metric in names.METRICS]
        assert len(set(values)) == len(values)


def test_every_metric_is_read_from_the_snapshot() -> None:
    read = {metric for metric, _, _ in names.readings(SEEN)}
    assert read == set(names.METRICS)
    for metric, labels, value in names.readings(SEEN):
        assert len(labels) == len(metric.labels)
        assert isinstance(value, s.Histogram) == (metric.kind == "histogram")


def test_prometheus_reads_what_the_snapshot_says() -> None:
    found = scraped(Collector(lambda: SEEN))
    assert {state: of(found, "sched_slots", resource="llm", state=state) for state in ("busy_own", "busy_borrowed", "idle", "idle_eligible")} == {
        "busy_own": 4, "busy_borrowed": 1, "idle": 1, "idle_eligible": 2,
    }  # fmt: skip
    assert of(found, "sched_idle_while_waiting_slot_seconds_total", resource="llm") == 3
    name = 'g "1"\n'
    assert of(found, "sched_wait_cause_waiter_seconds_total", group=name, cause="capacity", resource="llm") == 7
    assert of(found, "sched_wait_cause_waiter_seconds_total", group=name, cause="limit", resource="") == 2
    assert [of(found, f"sched_{what}", group=name) for what in ("overdue_tasks", "oldest_overdue_age_seconds")] == [2, 3]
    assert of(found, "sched_borrow_debt_slots", group=name, resource="llm") == 3
    assert of(found, "sched_idle_while_waiting_age_seconds", resource="llm") == 4
    assert of(found, "sched_oldest_waiter_age_seconds", group=name) == 10
    assert [of(found, "sched_tasks_ended_total", group=name, outcome=outcome) for outcome in ("finished", "failed", "cancelled", "timed_out")] == [6, 1, 2, 1]
    assert of(found, "sched_hold_seconds_count", resource="llm") == of(found, "sched_hold_seconds_bucket", resource="llm", le="+Inf") == 6
    assert of(found, "sched_hold_seconds_sum", resource="llm") == pytest.approx(10.006004105)
    assert of(found, "sched_hold_seconds_bucket", resource="llm", le=repr(2**10 / 1e9)) == 1
    assert of(found, "sched_hold_seconds_bucket", resource="llm", le=repr(2**11 / 1e9)) == 2
    assert of(found, "sched_hold_seconds_bucket", resource="llm", le=repr(2**22 / 1e9)) == 5
    assert of(found, "sched_checkpoint_batches_total", batcher="b", reason="full") == 3
    assert of(found, "sched_worker_spins_total", worker="w", outcome="miss") == 6
    assert (of(found, "sched_invariant_ok", name="conformance"), of(found, "sched_divergences"), of(found, "sched_tape_dropped_events_total")) == (0, 1, 2)


def test_a_registry_learns_the_names_without_a_scheduler() -> None:
    def nobody() -> s.Snapshot:
        raise AssertionError("not asked yet")

    registry = CollectorRegistry(auto_describe=True)
    Collector(nobody).register(registry)
    with pytest.raises(ValueError, match="Duplicated"):
        Collector(nobody).register(registry)


def collected(reader: InMemoryMetricReader) -> dict[str, list[tuple[dict[str, Any], float]]]:
    data = reader.get_metrics_data()
    assert data is not None
    metrics = [metric for resource in data.resource_metrics for scope in resource.scope_metrics for metric in scope.metrics]
    return {metric.name: [(dict(point.attributes or {}), point.value) for point in metric.data.data_points] for metric in metrics}    # type: ignore[union-attr]


def test_opentelemetry_reads_the_same_of_one_snapshot() -> None:
    asked = 0

    def snapshot() -> s.Snapshot:
        nonlocal asked
        asked += 1
        return SEEN

    reader = InMemoryMetricReader()
    observe(MeterProvider([reader]).get_meter("slotwise"), snapshot)
    found = collected(reader)
    assert found["sched.slot.limit"] == [({"resource": "llm"}, 8)]
    assert ({"group": 'g "1"\n', "cause": "capacity", "resource": "llm"}, 7.0) in found["sched.wait.cause"]
    assert found["sched.task.overdue"] == [({"group": 'g "1"\n'}, 2)]
    assert found["sched.borrow.debt"] == [({"group": 'g "1"\n', "resource": "llm"}, 3)]
    assert found["sched.hold.duration.count"] == [({"resource": "llm"}, 6)]
    assert found["sched.hold.duration.sum"][0][1] == pytest.approx(10.006004105)
    expected = {metric.otel for metric in names.METRICS if metric.kind != "histogram"} | {f"{metric.otel}.{end}" for metric in names.METRICS if metric.kind == "histogram" for end in ("count", "sum")}
    assert set(found) == expected
    assert asked == 1


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_another_thread_reads_between_two_steps_and_after_the_end(backend: str) -> None:
    found: list[float] = []

    async def main() -> Scheduler:
        async with Scheduler({"llm": 2}, [Group("a")], check=True) as it:
            collector = Collector(it.snapshot_from_thread)

            async def job() -> None:
                begun = threading.get_ident()
                await anyio.to_thread.run_sync(lambda: found.append(of(scraped(collector), "sched_running_tasks", group="a")))
                assert threading.get_ident() == begun

            await it.submit(job, group="a")
            found.append(of(scraped(collector), "sched_running_tasks", group="a"))
        return it

    it = anyio.run(main, backend=backend)
    found.append(of(scraped(Collector(it.snapshot_from_thread)), "sched_tasks_ended_total", group="a", outcome="finished"))
    assert found == [1, 0, 1]


def test_a_loop_that_does_not_come_to_it_is_a_time_out() -> None:
    async def main() -> None:
        async with Scheduler({"llm": 2}) as it:
            caught: list[BaseException] = []

            def ask() -> None:
                try:
                    it.snapshot_from_thread(0.01)
                except TimeoutError as error:
                    caught.append(error)

            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()                    # the loop stands still
            assert caught

    anyio.run(main)
