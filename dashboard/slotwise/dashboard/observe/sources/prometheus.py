"""A Prometheus endpoint, scraped into snapshots. Coarse: gauges are what they were when it was asked, histograms have few buckets."""
from __future__ import annotations

import math
import time
import urllib.request
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from http.client import HTTPException

import anyio
import anyio.to_thread

from slotwise.dashboard.observe.sources.source import URLS, SourceError
from slotwise.impl.meter_rows import bucket
from slotwise.impl.snapshot import VERSION, Batcher, Check, Group, Histogram, Resource, Snapshot, Worker

SECOND = 10**9
BEGAN = "process_start_time_seconds"         # of the wall clock
PREFIXES = ("slotwise_", "sched_")
LARGEST = 16 * 2**20                         # bytes of a page
INTERVAL, PATIENCE = 1.0, 5.0                # seconds
MISSING = "reading Prometheus pages needs prometheus-client: pip install 'slotwise[metrics]'"
Labels = Mapping[str, str]
Samples = dict[str, list[tuple[Labels, float]]]


class Endpoint:
    live, coarse = False, True

    def __init__(self, name: str, interval: float = INTERVAL, patience: float = PATIENCE) -> None:
        self.name, self.interval, self.patience = name, interval, patience

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """One per second, without end."""
        number, started = 0, 0
        while True:
            page = await anyio.to_thread.run_sync(self._page, abandon_on_cancel=True)
            number, now = number + 1, time.monotonic_ns()
            samples = self.read(page)
            if number == 1:                  # unless the page says when its process began, nothing can be said of the time before
                started = now - max(0, ns(time.time() - samples[BEGAN][0][1])) if BEGAN in samples else now
            yield snapshot(samples, self.name, started, now, number)
            await anyio.sleep(self.interval)

    def _page(self) -> bytes:
        if not self.name.startswith(URLS):
            raise SourceError(self.name, "expected an http:// or https:// address")
        try:
            with urllib.request.urlopen(self.name, timeout=self.patience) as answer:
                page: bytes = answer.read(LARGEST + 1)
        except (OSError, ValueError, HTTPException) as error:
            raise SourceError(self.name, f"cannot be read: {getattr(error, 'reason', None) or error}") from None
        if len(page) > LARGEST:
            raise SourceError(self.name, f"a page of more than {LARGEST:,} bytes: refused")
        return page

    def read(self, page: bytes) -> Samples:
        """The samples of a scheduler, by name without prefix."""
        try:
            from prometheus_client.parser import text_string_to_metric_families
        except ImportError:
            raise SourceError(self.name, MISSING) from None
        found: Samples = defaultdict(list)
        try:
            for family in text_string_to_metric_families(page.decode()):
                for sample in family.samples:
                    name: str = sample.name
                    prefix = next((one for one in PREFIXES if name.startswith(one)), None)
                    if (prefix is not None or name == BEGAN) and math.isfinite(sample.value):
                        found[name.removeprefix(prefix or "")].append((sample.labels, sample.value))
        except Exception as error:           # the parser raises whatever it stumbles over
            raise SourceError(self.name, f"not a Prometheus page: {' '.join(str(error).split())[:200]}") from None
        if not found.keys() - {BEGAN}:
            raise SourceError(self.name, "a Prometheus page without metrics of a scheduler (sched_… or slotwise_…)")
        return found


def ns(value: float) -> int:
    return round(value * SECOND)


class _Page:
    """Samples, by one label's value."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def of(self, name: str, /, **labels: str) -> float:
        """The sum of all samples with these labels; 0 if there are none."""
        return sum(value for having, value in self.samples.get(name, ()) if all(having.get(label) == wanted for label, wanted in labels.items()))

    def greatest(self, name: str, /, **labels: str) -> float | None:
        return max((value for having, value in self.samples.get(name, ()) if all(having.get(label) == wanted for label, wanted in labels.items())), default=None)

    def values(self, label: str, /, *names: str) -> list[str]:
        """That the label has, in the order of the page."""
        return list(dict.fromkeys(having[label] for name in names for having, _ in self.samples.get(name, ()) if label in having))

    def histogram(self, name: str, /, **labels: str) -> Histogram:
        """Each count at the upper end of its bucket."""
        ends: dict[float, float] = defaultdict(float)
        for having, value in self.samples.get(f"{name}_bucket", ()):
            if all(having.get(label) == wanted for label, wanted in labels.items()):
                ends[float(having["le"])] += value
        counts: dict[int, int] = defaultdict(int)
        before, last = 0.0, 0.0
        for end in sorted(ends):
            last = end if math.isfinite(end) else 2 * last
            counts[bucket(max(0, ns(last) - 1))] += round(ends[end] - before)
            before = ends[end]
        return Histogram({i: n for i, n in counts.items() if n > 0}, ns(self.of(f"{name}_sum", **labels)))


def snapshot(samples: Samples, name: str, started: int, now: int, number: int) -> Snapshot:
    """What the page says; what it does not say is 0 or empty."""
    page = _Page(samples)
    resources = tuple(resource(page, one) for one in page.values("resource", "slots_capacity", "slots"))
    groups = tuple(group(page, one, now) for one in page.values("group", "group_weight", "queue_depth", "service_slot_seconds_total"))
    workers = tuple(worker(page, one) for one in page.values("worker", "worker_state_seconds_total"))
    checks = tuple(Check(one, page.of("invariant_ok", name=one) > 0, round(page.of("invariant_checks_total", name=one)), now) for one in page.values("name", "invariant_ok"))
    batchers = (batcher(page),) if "checkpoint_batches_total" in samples else ()
    leases = sum(r.busy for r in resources)
    events, dropped = (round(page.of(one)) for one in ("events_total", "tape_dropped_events_total"))
    return Snapshot(VERSION, name, 0, started, now, number, events, dropped, leases, resources, groups, batchers, workers, checks)


def resource(page: _Page, name: str) -> Resource:
    own, lent = (round(page.of("slots", resource=name, state=state)) for state in ("busy_own", "busy_borrowed"))
    waiting = round(page.of("queue_depth", resource=name))
    return Resource(
        name, round(page.of("slots_capacity", resource=name)), own + lent, lent, waiting, round(page.of("slots", resource=name, state="idle_eligible")),
        ns(page.of("idle_while_waiting_slot_seconds_total", resource=name)), ns(page.of("idle_while_waiting_longest_seconds", resource=name)),
        ns(page.of("busy_slot_seconds_total", resource=name)), page.histogram("hold_seconds", resource=name),
    )  # fmt: skip


def group(page: _Page, name: str, now: int) -> Group:
    waiting, age = round(page.greatest("queue_depth", group=name) or 0), page.of("oldest_waiter_age_seconds", group=name)
    causes: dict[str, int] = defaultdict(int)
    for having, value in page.samples.get("wait_cause_waiter_seconds_total", ()):
        if having.get("group") == name:
            causes[having.get("cause", "")] += ns(value)
    wait = page.histogram("wait_seconds", group=name)
    weight = page.greatest("group_weight", group=name)
    return Group(
        name, 1.0 if weight is None else weight, None, round(page.of("running", group=name)), waiting, 0, now - ns(age) if waiting else None,
        ns(page.of("service_slot_seconds_total", group=name)), wait, dict(causes), 0, sum(wait.counts.values()), 0, 0, 0, 0, 0,
    )  # fmt: skip


def worker(page: _Page, name: str) -> Worker:
    run, spin, yields, park = (ns(page.of("worker_state_seconds_total", worker=name, state=state)) for state in ("run", "spin", "yield", "park"))
    hits, misses = (round(page.of("worker_spins_total", worker=name, outcome=outcome)) for outcome in ("hit", "miss"))
    return Worker(name, "run", run, spin, yields, park, hits, misses, 0, 0, page.histogram("worker_wake_seconds", worker=name))


def batcher(page: _Page) -> Batcher:
    seals = {reason: round(page.of("checkpoint_batches_total", reason=reason)) for reason in page.values("reason", "checkpoint_batches_total")}
    return Batcher(
        "checkpoint", sum(seals.values()), round(page.of("checkpoint_batch_items_sum")), round(page.of("refresh_due_total")), 0, seals, 0,
        ns(page.of("checkpoint_needless_wait_seconds_total")), ns(page.of("checkpoint_open_seconds_sum")), page.histogram("checkpoint_commit_seconds"),
        round(page.of("refresh_joined_total")), round(page.of("refresh_late_total")),
    )  # fmt: skip
