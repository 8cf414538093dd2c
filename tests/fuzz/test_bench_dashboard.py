"""The dashboard's benchmark: what it makes of numbers that are made up, and that all of it runs, as small as can be. How fast anything is is not tested."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from slotwise.fuzz import bench
from slotwise.fuzz import bench_dashboard as b
from slotwise.fuzz import dashboard_numbers as n

pytest.importorskip("textual")
MB = 2**20


def test_abba() -> None:
    """A drift through the blocks does not count; what the two between have more does."""
    found = n.Quads([(1.0, 1.1 + 0.03, 1.1 + 0.06, 1.0 + 0.09), (2.0, 2.2, 2.2, 2.0), (1.0, 1.0, 1.0, 1.0)])
    assert found.more() == pytest.approx([9.57, 10.0, 0.0], abs=0.01)
    assert found.median == pytest.approx(9.57, abs=0.01)
    assert found.words == "+9.6 (95 of 100: +0.0 to +10.0)"
    assert n.spread([float(i) for i in range(100)]) == (40.0, 59.0)


def test_percentiles() -> None:
    assert [n.percentile([3.0, 1.0, 2.0, 4.0], at) for at in (0, 50, 95)] == [1.0, 3.0, 4.0]


def test_growth_is_from_the_first_tenth_to_the_last() -> None:
    assert n.growth([100 * MB] * 20 + [300 * MB] + [101 * MB] * 19) == pytest.approx(1.0)     # a peak between is none
    assert n.growth([MB * i for i in range(100)]) == pytest.approx(90.0)
    assert n.growth([5 * MB]) == 0.0


def exported(events: int, *started: int) -> dict[str, Any]:
    columns = [{"id": "group"}, {"id": "n"}]
    return {"head": {"events": events}, "panes": {"groups": {"columns": columns, "rows": [{"cells": [{"value": f"g{i}"}, {"value": starts}]} for i, starts in enumerate(started)]}}}


def test_a_lost_event_is_counted() -> None:
    assert n.lost(exported(30, 4, 6), 30, 10) == 0
    assert n.lost(exported(29, 4, 6), 30, 10) == 1
    assert n.lost(exported(30, 4, 5), 30, 10) == 1
    assert n.lost(exported(33, 4, 6), 30, 10) == 3           # more than there were is as wrong


def test_the_plan_is_asked_for_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(b.FOR, "600")
    assert b.Plan.asked().memory == 600
    monkeypatch.setenv(b.FOR, "long")
    with pytest.raises(bench.NotAvailable, match="SLOTWISE_BENCH_SECONDS='long' is no number of seconds"):
        b.Plan.asked()
    monkeypatch.delenv(b.FOR)
    assert b.Plan.asked() == b.Plan()


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual", None)
    (figure,) = bench.run(["dashboard"])
    assert (figure.figure, figure.note) == (None, "not available: textual is missing: pip install 'slotwise[screen]'")


def test_the_load_does_what_it_is_told(tmp_path: Path) -> None:
    with b.Producer(tmp_path / "s", 3) as producer:
        assert producer.ask("mark").jobs == 0
        producer.ask("pace 500")
        while producer.ask("mark").jobs < 50:
            pass
        producer.ask("pace -1")
        producer.ask("stop")
        final = producer.read()
        assert final.events == 3 * final.jobs >= 150
        assert final.rss > MB
        assert producer.process.wait(120) == 0


TINY = b.Plan(memory=2.0, block=0.05, quads=1, settle=0.3, cost=1.0, keys=10, starts=1, pace=300, groups=3, many=(20, 40))


def test_all_of_it() -> None:
    """Real processes, a real terminal; the viewer's last frame has every event."""
    figures = {figure.name: figure for figure in b.dashboard(TINY)}
    lost = figures["dashboard: events that the viewer's counters lost"]
    assert (lost.figure, lost.met) == (0, True)
    rate = figures["dashboard, 3 groups at 900 events/s: events"].figure
    assert rate is not None
    assert 0 < rate < 10 * 3 * TINY.pace         # after a pause it makes up for that; flat out it would be far beyond
    told = {name.partition(": ")[2] for name in figures if name.startswith("dashboard, 20 groups, 40 tasks waiting: ")}
    assert told == {"events", "viewer", "frames", "key to repaint, p50", "key to repaint, p95", "tap"}
    assert all(figure.figure is not None for figure in figures.values())
    assert "9 keys" in figures["dashboard, 3 groups at 900 events/s: key to repaint, p50"].note
