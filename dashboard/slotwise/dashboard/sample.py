"""A scheduler that never was, for pictures and tests: the same snapshots each time, with every table filled and every verdict at work."""
from __future__ import annotations

from collections.abc import Iterator
from math import sin
from typing import NamedTuple

from slotwise.impl.meter_rows import bucket
from slotwise.impl.snapshot import VERSION, Batch, Batcher, Check, Divergence, Group, Histogram, Resource, Snapshot, Wave, Worker

SECOND, MS = 10**9, 10**6
STEP, LONG = SECOND // 4, 90             # the time between two; seconds of all
END = 767.42


class R(NamedTuple):
    name: str
    capacity: int
    busy: int
    lent: int
    waiting: int
    eligible: int
    hold_ms: float


class G(NamedTuple):
    name: str
    weight: float
    running: int
    share: float                         # of the service, per cent
    waiting: int
    oldest: float | None
    wait_ms: float
    worst_ms: float
    blocked_by: str
    causes: dict[str, int]
    starts: int = 100                    # of a hundred that are counted


RESOURCES = (
    R("cpu", 32, 29, 4, 12, 1, 41), R("gpu", 8, 6, 0, 7, 7, 1900), R("io", 16, 16, 5, 9, 2, 12), R("net", 16, 9, 0, 0, 0, 6),
    R("ckpt", 4, 4, 0, 2, 1, 8), R("db", 12, 12, 7, 11, 3, 95), R("fuzz", 4, 3, 0, 0, 0, 210),
)  # fmt: skip
GROUPS = (
    G("tenant-c", 1, 2, 4.1, 14, 18.4, 310, 9800, "scheduler", {"capacity io": 38, "capacity db": 23, "lent gpu": 27, "limit": 9, "scheduler": 3}, 0),
    G("tenant-f", 1, 5, 9.0, 9, 6.1, 120, 4000, "capacity db", {"capacity db": 70, "lent db": 30}), G("batch", 2, 31, 38.7, 6, 1.2, 44, 900, "capacity cpu", {"capacity cpu": 100}),
    G("tenant-a", 1, 14, 17.5, 4, 0.4, 9, 200, "limit", {"limit": 80, "capacity cpu": 20}), G("tenant-b", 1, 10, 12.4, 3, 0.2, 8, 100, "capacity io", {"capacity io": 100}),
    G("tenant-d", 1, 9, 11.3, 3, 0.2, 8, 100, "capacity io", {"capacity io": 100}), G("tenant-e", 0.5, 5, 6.0, 2, 0.1, 5, 60, "capacity cpu", {"capacity cpu": 100}), G("system", 0.5, 3, 1.0, 0, None, 2, 9, "", {}),
)  # fmt: skip
#: run, spin, yield, park in per cent; hits in per cent
WORKERS = {"w0": (78, 10, 2, 10, 31), "w1": (74, 12, 3, 11, 28), "w2": (70, 18, 4, 8, 14), "w3": (33, 44, 6, 17, 4), "w4": (50, 31, 5, 14, 6)}
BATCHES = ((64, "full", 1.1, 1.8), (64, "full", 1.3, 2.0), (22, "timer", 5.0, 1.7), (64, "full", 0.9, 6.2), (9, "flush", 0.2, 1.5))
WAVES = ((40, 38, 2), (41, 41, 0), (40, 33, 7), (39, 39, 0), (40, 40, 0))


def load(t: float) -> float:
    """From 0.2 to 1: how much there is to do."""
    return min(1.0, 0.6 + 0.3 * sin(t / 7) + 0.15 * sin(t / 1.7))


def waits(n: int, ms: float, worst_ms: float) -> Histogram:
    most, few = n * 49 // 50, n - n * 49 // 50
    return Histogram({bucket(round(ms * MS)): most, bucket(round(worst_ms * MS)): few} if n else {}, round(most * ms * MS + few * worst_ms * MS))


def snapshots() -> Iterator[Snapshot]:
    """The last is that of the pictures."""
    began, count = round((END - LONG) * SECOND), LONG * SECOND // STEP
    work = 0.0
    for i in range(count + 1):
        t = i * STEP / SECOND
        near = i == count
        level = 1.0 if near else load(t)
        work += level
        yield snapshot(i, began + i * STEP, work * STEP, level, t)


def snapshot(number: int, now: int, work: float, level: float, t: float) -> Snapshot:
    """`work` is the integral of `level`, in ns."""
    late = t > LONG - 18.4                       # since when it goes wrong
    done = round(work / SECOND * 100)
    resources = tuple(
        Resource(r.name, r.capacity, busy := round(r.busy * level), min(busy, r.lent), round(r.waiting * level), r.eligible if late else 0, round(min(r.capacity - r.busy, r.eligible) * 0.6 * max(0.0, t - LONG + 18.4) * SECOND),
                 round(min(4.1, max(0.0, t - LONG + 18.4)) * SECOND) if r.capacity > r.busy and r.eligible else 0, round(r.busy * work), waits(done, r.hold_ms, 1.5 * r.hold_ms))
        for r in RESOURCES
    )  # fmt: skip
    groups = tuple(
        Group(g.name, g.weight, 2 if g.name == "tenant-a" else None, round(g.running * level), g.waiting if late or g.oldest is None or g.oldest < 1 else 0, 0,
              None if g.oldest is None else max(now - round(g.oldest * SECOND), round((END - g.oldest) * SECOND)) if late else now - round(min(g.oldest, 0.4) * SECOND), round(g.share * work), waits(done, g.wait_ms, g.worst_ms),
              {cause: round(share * work * g.waiting / 100) for cause, share in g.causes.items()}, done + g.waiting, done * g.starts // 100, done - 2, done // 200, 0, done // 90, 0, {"gpu" if g.blocked_by == "scheduler" else g.blocked_by.partition(" ")[2] or "cpu": 1} if g.waiting else {}, g.blocked_by)
        for g in GROUPS
    )  # fmt: skip
    workers = tuple(
        Worker(name, "spin" if spin > 40 else "run", round(run * t * SECOND / 100), round(spin * t * SECOND / 100), round(yields * t * SECOND / 100), round(park * t * SECOND / 100), round(t * hit), round(t * (100 - hit)), round(spin / 100 * (100 - hit) / 100 * t * SECOND), 50_000, waits(done, 0.021, 0.084))
        for name, (run, spin, yields, park, hit) in WORKERS.items()
    )  # fmt: skip
    requests = 8841 - (LONG * 4 - number)
    batches = tuple(Batch(requests - i, n, 64, 300 * n, seal, opened := now - round((i * 40 + 20) * MS), opened, opened + round(open_ * MS), opened + round((open_ + commit) * MS)) for i, (n, seal, open_, commit) in reversed(list(enumerate(BATCHES))))
    waves = tuple(Wave(612 - i, now - i * SECOND, now - i * SECOND, due, joined, late_, 120 * MS if late_ else 0) for i, (due, joined, late_) in reversed(list(enumerate(WAVES))))
    batcher = Batcher(
        "ckpt", requests, requests * 56, requests * 12, 0, {"full": requests * 91 // 100, "timer": requests * 6 // 100, "flush": requests * 3 // 100}, 12, round(requests * 0.1 * MS), round(requests * 1.4 * MS),
        waits(requests, 1.9, 6.2), requests * 11, requests // 20, batches, waves,
    )  # fmt: skip
    checks = tuple(Check(f"INV-{i}", True, number * 9, now - SECOND // 5) for i in range(1, 15))
    found = Divergence("DIV-41", 0x7F3A, 1182, "SLT-9", "expected blocked, found started 2 a2", now - 3 * SECOND, "slotwise replay .slotwise/DIV-41.slotwise.jsonl")
    return Snapshot(
        VERSION, "demo-sched", 4711, 0, now, number, 98_400 * number * STEP // SECOND, 0, sum(r.busy for r in resources), resources, groups, (batcher,), workers, checks, (found,) if t > LONG - 3 else (),
    )  # fmt: skip
