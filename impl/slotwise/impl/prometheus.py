"""Snapshots as Prometheus metrics (extra `metrics`): a collector that reads when it is scraped, from whichever thread.

    from prometheus_client import start_http_server
    from slotwise.impl.prometheus import Collector

    Collector(scheduler.snapshot_from_thread).register()
    start_http_server(9464, addr="127.0.0.1")
"""
from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector as _Collector

from slotwise.impl.meter import bucket
from slotwise.impl.names import METRICS, readings
from slotwise.impl.names import Metric as Named
from slotwise.impl.snapshot import Histogram, Snapshot

#: Upper ends of the exported buckets: powers of two of a nanosecond, from about a microsecond to about eighteen minutes. (A duration of
#: exactly that many nanoseconds counts as more.)
ENDS = tuple(1 << power for power in range(10, 41))


class Collector(_Collector):
    def __init__(self, snapshot: Callable[[], Snapshot]) -> None:
        self._snapshot = snapshot

    def register(self, registry: CollectorRegistry = REGISTRY) -> Collector:
        registry.register(self)
        return self

    def describe(self) -> Iterable[Metric]:
        """The names; a registry that asks needs no running scheduler for them."""
        return [_family(metric) for metric in METRICS]

    def collect(self) -> Iterable[Metric]:
        families = {metric: _family(metric) for metric in METRICS}
        for metric, labels, value in readings(self._snapshot()):
            family = families[metric]
            if isinstance(value, Histogram):
                assert isinstance(family, HistogramMetricFamily)
                family.add_metric(labels, cumulative(value), value.total / 1e9)
            else:
                assert isinstance(family, (CounterMetricFamily, GaugeMetricFamily))
                family.add_metric(labels, value)
        return families.values()


def _family(metric: Named) -> CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily:
    kinds = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}
    return kinds[metric.kind](metric.prom, metric.help, labels=metric.labels)    # type: ignore[no-any-return]


def cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    found, count, counts = [], 0, sorted(histogram.counts.items(), reverse=True)
    for end in ENDS:
        while counts and counts[-1][0] < bucket(end):
            count += counts.pop()[1]
        found.append((repr(end / 1e9), float(count)))
    return [*found, ("+Inf", float(sum(histogram.counts.values())))]
