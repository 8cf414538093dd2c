"""A Prometheus endpoint, scraped into snapshots. Coarse: gauges are what they were when it was asked, histograms have few buckets."""
from __future__ import annotations

import math
import time
import urllib.request
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from http.client import HTTPException
from urllib.error import HTTPError

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
                missing = answer.length or 0         # of what its header promised
        except HTTPError as error:
            raise SourceError(self.name, f"cannot be read: HTTP {error.code} {' '.join(str(error.reason).split())[:200]}") from None
        except (OSError, ValueError, HTTPException) as error:
            raise SourceError(self.name, f"cannot be read: {getattr(error, 'reason', None) or error}") from None
        if len(page) > LARGEST:
            raise SourceError(self.name, f"a page of more than {LARGEST:,} bytes: refused")
        if missing:
            raise SourceError(self.name, f"broken off after {len(page):,} of {len(page) + missing:,} bytes")
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
        self._found: dict[tuple[str, str], dict[str | None, list[tuple[Labels, float]]]] = {}

    def having(self, name: str, labels: Labels) -> list[tuple[Labels, float]]:
        """The samples with these labels. A page may have thousands: the first label is looked up."""
        if not labels:
            return self.samples.get(name, [])
        (label, first), *rest = labels.items()
        found = self._found.get((name, label))
        if found is None:
            found = self._found[name, label] = defaultdict(list)
            for sample in self.samples.get(name, ()):
                found[sample[0].get(label)].append(sample)
        return [sample for sample in found.get(first, ()) if all(sample[0].get(label) == wanted for label, wanted in rest)]

    def of(self, *names: str, **labels: str) -> float:
        """The sum of all samples with these labels, of the first of these names that is there at all; 0 if there are none."""
        return sum(value for _, value in self.having(next((name for name in names if name in self.samples), names[0]), labels))

    def count(self, *names: str, **labels: str) -> int:
        return round(self.of(*names, **labels))

    def ns(self, *names: str, **labels: str) -> int:
        return ns(self.of(*names, **labels))

    def greatest(self, name: str, /, **labels: str) -> float | None:
        return max((value for _, value in self.having(name, labels)), default=None)

    def values(self, label: str, /, *names: str) -> list[str]:
        """That the label has, in the order of the page."""
        return list(dict.fromkeys(having[label] for name in names for having, _ in self.samples.get(name, ()) if label in having))

    def by(self, label: str, name: str, /, **labels: str) -> dict[str, int]:
        """Whole numbers by another label's value."""
        found: dict[str, int] = defaultdict(int)
        for having, value in self.having(name, labels):
            found[having.get(label, "")] += round(value)
        return dict(found)

    def histogram(self, name: str, /, **labels: str) -> Histogram:
        """Each count at the upper end of its bucket."""
        ends: dict[float, float] = defaultdict(float)
        for having, value in self.having(f"{name}_bucket", labels):
            ends[float(having["le"])] += value
        counts: dict[int, int] = defaultdict(int)
        before, last = 0.0, 0.0
        for end in sorted(ends):
            last = end if math.isfinite(end) else 2 * last
            counts[bucket(max(0, ns(last) - 1))] += round(ends[end] - before)
            before = ends[end]
        return Histogram({i: n for i, n in counts.items() if n > 0}, self.ns(f"{name}_sum", **labels))


def snapshot(samples: Samples, name: str, started: int, now: int, number: int) -> Snapshot:
    """What the page says, by the names of `slotwise.impl.names` or the design's; what it does not say is 0 or empty."""
    page = _Page(samples)
    resources = tuple(resource(page, one, now) for one in page.values("resource", "slots_capacity", "slots"))
    groups = tuple(group(page, one, now) for one in page.values("group", "group_weight", "queue_depth", "service_slot_seconds_total"))
    workers = tuple(worker(page, one) for one in page.values("worker", "worker_state_seconds_total"))
    checks = tuple(Check(one, page.of("invariant_ok", name=one) > 0, page.count("invariant_checks_total", name=one), now) for one in page.values("name", "invariant_ok"))
    named = page.values("batcher", "checkpoint_batches_total", "checkpoint_updates_total")
    batchers = tuple(batcher(page, one, {"batcher": one}) for one in named) or ((batcher(page, "checkpoint", {}),) if "checkpoint_batches_total" in samples else ())
    leases = page.count("leases", state="active") if "leases" in samples else sum(r.busy for r in resources)
    events, dropped = page.count("events_total"), page.count("tape_dropped_events_total")
    return Snapshot(VERSION, name, 0, started, now, number, events, dropped, leases, resources, groups, batchers, workers, checks)


def resource(page: _Page, name: str, now: int) -> Resource:
    own, lent = (page.count("slots", resource=name, state=state) for state in ("busy_own", "busy_borrowed"))
    idle = page.ns("idle_while_waiting_age_seconds", resource=name)
    return Resource(
        name, page.count("slots_capacity", resource=name), own + lent, lent, page.count("resource_waiters", "queue_depth", resource=name), page.count("slots", resource=name, state="idle_eligible"),
        page.ns("idle_while_waiting_slot_seconds_total", resource=name), page.ns("idle_while_waiting_longest_seconds", resource=name),
        page.ns("busy_slot_seconds_total", resource=name), page.histogram("hold_seconds", resource=name), now - idle if idle else None,
    )  # fmt: skip


def group(page: _Page, name: str, now: int) -> Group:
    waiting = round(page.greatest("queue_depth", group=name) or 0)
    causes: dict[str, int] = defaultdict(int)
    for having, value in page.having("wait_cause_waiter_seconds_total", {"group": name}):
        causes[f"{having.get('cause', '')} {having.get('resource', '')}".strip()] += ns(value)
    wait, weight = page.histogram("wait_seconds", group=name), page.greatest("group_weight", group=name)
    overdue = page.count("overdue_tasks", group=name)
    started = page.count("tasks_started_total", group=name) if "tasks_started_total" in page.samples else sum(wait.counts.values())
    ended = page.by("outcome", "tasks_ended_total", group=name)
    return Group(
        name, 1.0 if weight is None else weight, None, page.count("running_tasks", "running", group=name), waiting, page.count("backing_off_tasks", group=name),
        now - page.ns("oldest_waiter_age_seconds", group=name) if waiting else None, page.ns("service_slot_seconds_total", group=name), wait, dict(causes),
        page.count("tasks_submitted_total", group=name), started,
        ended.get("finished", 0), ended.get("failed", 0), ended.get("cancelled", 0), page.count("retries_total", group=name), ended.get("timed_out", 0),
        overdue=overdue, overdue_since=now - page.ns("oldest_overdue_age_seconds", group=name) if overdue else None, debt=page.by("resource", "borrow_debt_slots", group=name),
    )  # fmt: skip


def worker(page: _Page, name: str) -> Worker:
    run, spin, yields, park = (page.ns("worker_state_seconds_total", worker=name, state=state) for state in ("run", "spin", "yield", "park"))
    hits, misses = (page.count("worker_spins_total", worker=name, outcome=outcome) for outcome in ("hit", "miss"))
    return Worker(name, "run", run, spin, yields, park, hits, misses, page.ns("worker_wasted_spin_seconds_total", worker=name), 0, page.histogram("worker_wake_seconds", worker=name))


def batcher(page: _Page, name: str, of: dict[str, str]) -> Batcher:
    seals = page.by("reason", "checkpoint_batches_total", **of)
    return Batcher(
        name, sum(seals.values()), page.count("checkpoint_updates_total", "checkpoint_batch_items_sum", **of), page.count("refresh_due_total", **of), page.count("checkpoint_failures_total", **of), seals,
        page.count("checkpoint_pending_items", **of), page.ns("checkpoint_needless_wait_seconds_total", **of), page.ns("checkpoint_open_seconds_total", "checkpoint_open_seconds_sum", **of),
        page.histogram("checkpoint_commit_seconds", **of), page.count("refresh_joined_total", **of), page.count("refresh_late_total", **of),
    )  # fmt: skip
