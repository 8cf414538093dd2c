"""Percentiles of durations that were counted in buckets, eight to each power of two of nanoseconds (`slotwise.impl.snapshot.Histogram`)."""
from __future__ import annotations

from collections.abc import Mapping

from slotwise.impl.meter_rows import low
from slotwise.impl.snapshot import Histogram

FEW, FEW_FOR_P99 = 20, 100               # fewer than these say nothing; too little for a 99th percentile
DECADES = ((10**6, "< 1 ms"), (10**7, "1 - 10 ms"), (10**8, "10 - 100 ms"), (10**9, "0.1 - 1 s"), (10**10, "1 - 10 s"))
BEYOND = "> 10 s"


def middle(index: int) -> int:
    """At most 1/16 (6.25%) off any duration in the bucket."""
    return (low(index) + low(index + 1) - 1) // 2


def between(before: Histogram | None, after: Histogram) -> Histogram:
    """What was counted between two readings of one histogram."""
    if before is None or not before.counts:
        return after
    earlier = before.counts
    counts = {i: n - earlier.get(i, 0) for i, n in after.counts.items() if n != earlier.get(i, 0)}
    return Histogram(counts, after.total - before.total)


def number(counts: Mapping[int, int]) -> int:
    return sum(counts.values())


def percentile(counts: Mapping[int, int], percent: float) -> int | None:
    """The least duration, ns, that so many percent do not exceed; None if fewer than 20 were counted."""
    n = number(counts)
    if n < FEW:
        return None
    left = -(-n * percent // 100)
    for i in sorted(counts):
        left -= counts[i]
        if left <= 0:
            return middle(i)
    return middle(max(counts))


def decades(counts: Mapping[int, int]) -> list[tuple[str, int]]:
    """How many were of which order of magnitude."""
    found = dict.fromkeys([*(name for _, name in DECADES), BEYOND], 0)
    for i, n in counts.items():
        found[next((name for limit, name in DECADES if middle(i) < limit), BEYOND)] += n
    return list(found.items())
