from __future__ import annotations

from math import isnan, nan

from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.history import RINGS, History, Past, Ring

from .samples import SECOND, group, resource, snapshot


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 9)), max_size=60))
def test_a_ring_keeps_the_greatest_of_each_of_the_last_periods(steps: list[tuple[int, float]]) -> None:
    ring, at, known = Ring(5, 10), 0, dict[int, float]()
    for step, value in steps:
        at += step
        ring.put(at, value)
        known[at // 10] = max(known.get(at // 10, value), value)
    latest = at // 10
    expected = [known.get(number, nan) for number in range(latest - 4, latest + 1)] if steps else [nan] * 5
    assert str(ring.last()) == str(expected)
    assert str(ring.last(2)) == str(expected[-2:])


def test_what_is_too_old_for_the_ring_is_ignored() -> None:
    ring = Ring(3, 1)
    for at, value in ((100, 1.0), (10, 9.0), (97, 9.0), (99, 2.0)):
        ring.put(at, value)
    assert str(ring.last()) == "[nan, 2.0, 1.0]"


def test_looks_a_second_apart_leave_no_gap_but_what_is_missing_longer_does() -> None:
    history = History()
    for now, busy in ((1.0, 3), (2.0, 5), (3.15, 7)):
        history.put(derive(None, snapshot(now, resources=(resource(busy=busy),))))
    assert str(history.last("busy", count=23)) == str([nan] + [3.0] * 10 + [5.0] + [nan] * 10 + [7.0])


def test_a_coarse_source_is_looked_at_less_often() -> None:
    history = History()
    for now, busy in ((1.0, 3), (4.0, 5), (7.15, 7)):
        history.put(derive(None, snapshot(now, resources=(resource(busy=busy),)), coarse=True))
    assert str(history.last("busy", count=63)) == str([nan] + [3.0] * 30 + [5.0] + [nan] * 30 + [7.0])


def test_history_has_a_minute_by_100_ms_and_an_hour_by_seconds() -> None:
    assert [(size, period / SECOND) for size, period in RINGS] == [(600, 0.1), (3600, 1.0)]
    history = History()
    for i in range(1, 9000):
        history.put(derive(None, snapshot(i / 10, resources=(resource(idle_waiting=i * SECOND // 10),), groups=(group(waiting=1, oldest=0),))))
    assert len(history.last("oldest")) == 600
    assert history.last("oldest", count=3) == [899.7, 899.8, 899.9]
    assert history.last("oldest", SECOND, 2) == [898.9, 899.9]
    assert history.last("lost", SECOND, 1) == [1.0]
    assert all(isnan(value) for value in history.last("spin"))
    assert history.last("status", SECOND, 1) == [2.0]


def test_the_past_is_short_and_knows_where_windows_begin() -> None:
    past = Past()
    assert past.before(SECOND, SECOND) is None
    for i in range(2000):
        past.put(snapshot(i / 10))
    now = round(199.9 * SECOND)
    assert len(past) <= 21
    for window, slack in ((1, 0.25), (10, 2), (60, 10)):
        found = past.before(now, window * SECOND)
        assert found is not None
        assert 0 <= (now - found.now) / SECOND - window <= slack
    past.put(snapshot(300, pid=9))
    assert (len(past), past.before(400 * SECOND, 10 * SECOND)) == (3, snapshot(300, pid=9))
    past.put(snapshot(3))
    assert past.before(4 * SECOND, 10 * SECOND) == snapshot(3)
    assert past.before(3 * SECOND, SECOND) is None
