"""Two frames beside each other, without any screen."""
from __future__ import annotations

from typing import Any

import msgspec

from slotwise.dashboard.observe.difference import MOST, difference
from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.panes import Pane
from slotwise.dashboard.sample import snapshots

from .samples import SECOND, group, resource, snapshot, worker


def told(panes: list[Pane], name: str) -> dict[tuple[str, str], tuple[Any, ...]]:
    """By row and number: before, after, change, times."""
    (pane,) = [one for one in panes if one.name == name or one.title == name]
    return {(str(row.cells[0].value), str(row.cells[1].value)): tuple(cell.value for cell in row.cells[2:6]) for row in pane.rows}


def facts(panes: list[Pane]) -> dict[str, Any]:
    assert panes[0].name == "between"
    return {str(row.cells[0].value): row.cells[1].value for row in panes[0].rows}


def test_before_after_and_change() -> None:
    before = derive(None, snapshot(10, events=100, resources=(resource(busy=2, busy_time=10 * SECOND),), groups=(group(waiting=3, oldest=9 * SECOND, started=10, submitted=13),)))
    after = derive(None, snapshot(20, events=400, resources=(resource(busy=6, busy_time=60 * SECOND),), groups=(group(waiting=3, oldest=4 * SECOND, started=40, submitted=43),)))
    panes = difference(before, after)
    assert facts(panes) == {"passed": 10.0, "events": 300, "submitted": 30, "started": 30, "finished": 0, "failed": 0, "cancelled": 0, "retried": 0, "timed_out": 0, "window then": 10.0, "window now": 20.0}
    resources, groups = told(panes, "resources"), told(panes, "groups")
    assert resources["gpu", "busy"] == ("2", "6", "+4", "x3")
    assert groups["a", "oldest"] == ("1s", "16s", "+15s", "x16")
    assert groups["a", "n/s"] == ("1.00", "2.00", "+1.00", "x2"), "counts per second, since windows differ in length"
    assert groups["a", "flag"] == ("", "STARVE", "", None)
    assert not any(what == "wait" for _, what in groups), "what is the same is left out"
    assert told(panes, "verdicts")["starving", "oldest"] == ("1s", "16s", "+15s", "x16")
    assert told(panes, "verdicts")["starving", "status"] == ("ok", "alarm", "", None)
    assert told(difference(after, before), "resources")["gpu", "busy"] == ("6", "2", "-4", "/3"), "also backwards"


def test_the_same_is_no_difference() -> None:
    frame = derive(None, list(snapshots())[-1])
    assert [pane.total for pane in difference(frame, frame)[1:]] == [0] * 5


def test_what_appears_and_disappears() -> None:
    before = derive(None, snapshot(10, groups=(group("old", waiting=2, oldest=5 * SECOND, finished=7), group("stays", finished=1)), workers=(worker("w0", running=5 * SECOND, parked=5 * SECOND),)))
    after = derive(None, snapshot(20, groups=(group("stays", finished=2), group("young", waiting=4, oldest=19 * SECOND, finished=3)), resources=(resource(busy=1),)))
    panes = difference(before, after)
    groups = told(panes, "groups")
    assert groups["young", "wait"] == ("-", "4", "new", None)
    assert groups["old", "wait"] == ("2", "-", "gone", None)
    assert ("young", "group") not in groups
    assert told(panes, "resources")["gpu", "busy"] == ("-", "1", "new", None)
    assert told(panes, "workers")["w0", "run"] == ("50.0%", "-", "gone", None)
    assert facts(panes)["finished"] == 4, "of what is there now; what has gone is not subtracted"


def test_another_run_has_no_counts_in_common() -> None:
    before = derive(None, snapshot(10, pid=7, events=900, groups=(group(started=90, waiting=1),)))
    for changes in ({"pid": 8}, {"started": 5 * SECOND}, {"program": "other"}):
        after = derive(None, msgspec.structs.replace(snapshot(6, events=3, groups=(group(started=6, waiting=2),)), **changes))
        panes = difference(before, after)
        assert list(facts(panes)) == ["another run", "window then", "window now"]
        assert "pid 7, now" in facts(panes)["another run"]
        assert told(panes, "groups")["a", "wait"] == ("1", "2", "+1", "x2"), "but their states can be compared"
    again = facts(difference(before, derive(None, snapshot(6, pid=7, events=3))))
    assert (again["passed"], again["events"]) == (-4.0, -897), "of a recording, backwards"


def test_groups_by_the_greatest_change() -> None:
    def shot(now: float, **waiting: int) -> Any:
        return derive(None, snapshot(now, groups=tuple(group(name, waiting=count) for name, count in waiting.items())))

    pane = next(one for one in difference(shot(1, a=50, b=0, c=100), shot(1, a=51, b=90, c=80)) if one.name == "groups")
    assert list(dict.fromkeys(row.cells[0].value for row in pane.rows)) == ["b", "c", "a"]


def test_very_many_changes_are_cut_and_counted() -> None:
    before = derive(None, snapshot(1, groups=tuple(group(f"g{i}", waiting=1) for i in range(1000))))
    after = derive(None, snapshot(2, groups=tuple(group(f"g{i}", waiting=2 + i) for i in range(1000))))
    pane = next(one for one in difference(before, after) if one.name == "groups")
    assert len(pane.rows) == MOST
    assert pane.total == 1000
    assert pane.rows[0].cells[0].value == "g999"
