from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.histograms import between, decades, middle, percentile
from slotwise.impl.meter_rows import Durations, bucket, low
from slotwise.impl.snapshot import Histogram

from .samples import durations

durations_ns = st.integers(0, 2**60)


@settings(deadline=None)
@given(durations_ns)
def test_a_duration_lies_in_its_bucket_and_the_middle_is_near(duration: int) -> None:
    i = bucket(duration)
    assert low(i) <= duration < low(i + 1)
    assert abs(middle(i) - duration) <= duration / 16


@settings(deadline=None)
@given(st.lists(durations_ns, min_size=20), st.sampled_from([1, 50, 90, 99, 100]))
def test_a_percentile_is_at_most_a_sixteenth_off(found: list[int], percent: int) -> None:
    counts: dict[int, int] = {}
    for one in found:
        counts[bucket(one)] = counts.get(bucket(one), 0) + 1
    exact = sorted(found)[-(-len(found) * percent // 100) - 1]
    told = percentile(counts, percent)
    assert told is not None
    assert abs(told - exact) <= exact / 16


@settings(deadline=None)
@given(durations_ns)
def test_the_meter_counts_in_the_same_buckets(duration: int) -> None:
    counted = Durations()
    counted.add(duration)
    assert counted.frozen() == Histogram({bucket(duration): 1}, duration)


def test_few_say_nothing() -> None:
    assert percentile(durations((1, 19)).counts, 50) is None
    assert percentile(durations((1, 20)).counts, 50) is not None


@settings(deadline=None)
@given(st.lists(durations_ns), st.lists(durations_ns))
def test_the_difference_is_what_came_between(earlier: list[int], later: list[int]) -> None:
    def of(found: list[int]) -> Histogram:
        return Histogram({i: sum(bucket(one) == i for one in found) for i in {bucket(one) for one in found}}, sum(found))

    assert between(of(earlier), of(earlier + later)) == of(later)
    assert between(None, of(later)) == of(later)


def test_decades_count_all() -> None:
    assert decades(durations((0.0005, 2), (0.005, 3), (20, 4)).counts) == [("< 1 ms", 2), ("1 - 10 ms", 3), ("10 - 100 ms", 0), ("0.1 - 1 s", 0), ("1 - 10 s", 0), ("> 10 s", 4)]
