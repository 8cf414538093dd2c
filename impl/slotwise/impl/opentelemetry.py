"""Snapshots as OpenTelemetry's observable instruments (extra `otel`): read when the SDK collects, never on the scheduler's way.

    from slotwise.impl.opentelemetry import observe

    observe(opentelemetry.metrics.get_meter("slotwise"), scheduler.snapshot_from_thread)

A histogram cannot be observed: what there is of it are its count and its sum.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from slotwise.impl.names import METRICS, Metric, readings
from slotwise.impl.snapshot import Histogram, Snapshot

#: A collection asks every instrument; for so many seconds they are told of one snapshot.
FRESH = 0.05


class Source:
    def __init__(self, snapshot: Callable[[], Snapshot], clock: Callable[[], float] = time.monotonic) -> None:
        self._snapshot, self._clock = snapshot, clock
        self._at = float("-inf")
        self._read: dict[Metric, list[tuple[tuple[str, ...], float | Histogram]]] = {}

    def of(self, metric: Metric) -> list[tuple[tuple[str, ...], float | Histogram]]:
        if self._clock() - self._at > FRESH:
            read: dict[Metric, list[tuple[tuple[str, ...], float | Histogram]]] = {}
            for each, labels, value in readings(self._snapshot()):
                read.setdefault(each, []).append((labels, value))
            self._read, self._at = read, self._clock()
        return self._read.get(metric, [])


def observe(meter: Meter, snapshot: Callable[[], Snapshot]) -> None:
    """Create all instruments."""
    source = Source(snapshot)
    for metric in METRICS:
        if metric.kind == "histogram":
            count = _callback(source, metric, lambda value: sum(value.counts.values()) if isinstance(value, Histogram) else value)
            total = _callback(source, metric, lambda value: value.total / 1e9 if isinstance(value, Histogram) else value)
            meter.create_observable_counter(f"{metric.otel}.count", [count], "1", f"{metric.help}: how many")
            meter.create_observable_counter(f"{metric.otel}.sum", [total], metric.unit, f"{metric.help}: sum")
            continue
        callback = _callback(source, metric, lambda value: value if not isinstance(value, Histogram) else value.total)
        if metric.kind == "counter":
            meter.create_observable_counter(metric.otel, [callback], metric.unit, metric.help)
        elif metric.unit.startswith("{"):
            meter.create_observable_up_down_counter(metric.otel, [callback], metric.unit, metric.help)
        else:
            meter.create_observable_gauge(metric.otel, [callback], metric.unit, metric.help)


def _callback(source: Source, metric: Metric, number: Callable[[float | Histogram], float]) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def callback(options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(number(value), dict(zip(metric.labels, labels, strict=True))) for labels, value in source.of(metric)]

    return callback
