"""Snapshots to derive frames from: a quiet scheduler, and changes of it."""
from __future__ import annotations

from typing import Any

from slotwise.impl import snapshot as s
from slotwise.impl.meter_rows import bucket

SECOND = 10**9
NONE = s.Histogram()


def durations(*pairs: tuple[float, int]) -> s.Histogram:
    """So many of so many seconds."""
    counts: dict[int, int] = {}
    for seconds, n in pairs:
        i = bucket(round(seconds * SECOND))
        counts[i] = counts.get(i, 0) + n
    return s.Histogram(counts, round(sum(seconds * n for seconds, n in pairs) * SECOND))


def resource(name: str = "gpu", **changes: Any) -> s.Resource:
    quiet = {"capacity": 8, "busy": 0, "lent": 0, "waiting": 0, "eligible": 0, "idle_waiting": 0, "idle_waiting_longest": 0, "busy_time": 0, "hold": NONE}
    return s.Resource(name, **{**quiet, **changes})


def group(name: str = "a", **changes: Any) -> s.Group:
    quiet: dict[str, Any] = {"weight": 1.0, "limit": None, "running": 0, "waiting": 0, "backing_off": 0, "oldest": None, "service": 0, "wait": NONE, "causes": {}}
    quiet |= dict.fromkeys(("submitted", "started", "finished", "failed", "cancelled", "retried", "timed_out"), 0)
    return s.Group(name, **{**quiet, **changes})


def batcher(name: str = "ckpt", **changes: Any) -> s.Batcher:
    quiet: dict[str, Any] = {"seals": {}, "commit": NONE}
    quiet |= dict.fromkeys(("requests", "updates", "refreshes", "failures", "waiting", "needless", "open_time", "joined", "late"), 0)
    return s.Batcher(name, **{**quiet, **changes})


def batch(number: int = 1, **changes: Any) -> s.Batch:
    return s.Batch(**{"number": number, "updates": 32, "most": 64, "size": 100, "seal": "full", "opened": 0, "last": 0, "sealed": 0, "done": None, **changes})


def wave(number: int = 1, **changes: Any) -> s.Wave:
    return s.Wave(**{"number": number, "due": 0, "at": 5 * SECOND, "refreshes": 100, "joined": 100, "late": 0, "latest": 0, **changes})


def worker(name: str = "w0", **changes: Any) -> s.Worker:
    quiet: dict[str, Any] = {"state": "park", **dict.fromkeys(("running", "spinning", "yielding", "parked", "hits", "misses", "wasted", "window"), 0)}
    return s.Worker(name, **{**quiet, **changes})


def snapshot(now: float = 0, **changes: Any) -> s.Snapshot:
    """`now` in seconds."""
    quiet: dict[str, Any] = {"version": s.VERSION, "program": "sample", "pid": 7, "started": 0, "number": 1, "events": 0, "dropped": 0, "leases": 0}
    return s.Snapshot(now=round(now * SECOND), **{**quiet, **changes})
