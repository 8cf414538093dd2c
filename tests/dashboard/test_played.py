"""A file is played without an event loop as it is with one: the same snapshots, and the same end."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from slotwise.dashboard.observe.sources import event_log
from slotwise.dashboard.observe.sources.event_log import EventLog
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.sources.trace import TraceFile
from slotwise.impl.snapshot import Snapshot

HOUSE = Path(__file__).parents[2]
LOG = Path(__file__).parent / "data-designer-0.9.7.events.jsonl"
TRACES = [next(iter(sorted((HOUSE / "tests/golden").rglob(pattern)))) for pattern in ("P1.slotwise.jsonl", "collector-*.slotwise.jsonl", "H3-*.slotwise.jsonl")]


def both(make: Callable[[], Any]) -> tuple[list[Snapshot], str]:
    """What it gives, and how it breaks off, which must be so both ways."""
    ends: list[tuple[list[Snapshot], str]] = []

    async def follow(found: list[Snapshot]) -> None:
        async for snapshot in make().snapshots():
            found.append(snapshot)

    def play(found: list[Snapshot]) -> None:
        for snapshot in make().played():
            found.append(snapshot)

    for way in (play, lambda found: anyio.run(follow, found)):
        found: list[Snapshot] = []
        try:
            way(found)
            wrong = ""
        except SourceError as error:
            wrong = str(error)
        ends.append((found, wrong))
    assert ends[0] == ends[1]
    return ends[0]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_a_trace(path: Path) -> None:
    found, wrong = both(lambda: TraceFile(str(path)))
    assert found[-1].state == "ended"
    assert wrong == ""


def test_an_event_log(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = both(lambda: EventLog(str(LOG)))
    assert (len(whole[0]), whole[1]) == (1, "")
    monkeypatch.setattr(event_log, "INTERVAL", 10**6)
    many = both(lambda: EventLog(str(LOG)))
    assert len(many[0]) > 50
    monkeypatch.setattr(event_log, "MOST", 3)                # handed over a few at a time
    monkeypatch.setattr(event_log, "TOGETHER", 5)
    assert both(lambda: EventLog(str(LOG))) == many


def test_what_was_seen_before_it_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = LOG.read_text().splitlines()
    times = [json.loads(line)["captured_at_monotonic"] for line in lines]
    broken = tmp_path / "broken.jsonl"
    broken.write_text("\n".join([*lines[:-5], "{}", *lines[-5:]]) + "\n")
    monkeypatch.setattr(event_log, "INTERVAL", 10**6)
    found, wrong = both(lambda: EventLog(str(broken)))
    assert len(found) == int(round((times[-6] - times[0]) * 1e9) / 10**6) > 10
    assert f"line {len(lines) - 4}: not an event of a scheduler" in wrong
    assert both(lambda: TraceFile(str(tmp_path / "none")))[0] == []
