"""A file is played without an event loop as it is with one: the same snapshots, and the same end."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import msgspec
import pytest

from slotwise.dashboard.observe.sources import event_log, event_log_lines
from slotwise.dashboard.observe.sources.event_log import EventLog
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.sources.trace import TraceFile
from slotwise.impl.snapshot import Snapshot
from slotwise.spec import trace

HOUSE = Path(__file__).parents[2]
LOG = Path(__file__).parent / "data-designer-0.9.7.events.jsonl"
TRACES = [next(iter(sorted((HOUSE / "tests/golden").rglob(pattern)))) for pattern in ("P1.slotwise.jsonl", "collector-*.slotwise.jsonl", "H3-*.slotwise.jsonl")]

GOLDEN = [path for pattern in ("admission/*", "attacks/*", "checkpoint/*", "hazards/*", "spin/*") for path in sorted((HOUSE / "tests/golden").glob(f"{pattern}.slotwise.jsonl"))[::7]]


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


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_between_the_looks_at_a_trace_is_what_had_happened_then(path: Path) -> None:
    """In any order; and from each instant of a command to the next."""
    read = trace.read(path)
    if any(step.saw is None for step in read.steps):
        with pytest.raises(SourceError, match="does not say what was seen"):
            TraceFile(str(path)).moments()
        return
    moments, looks = TraceFile(str(path)).moments(), list(TraceFile(str(path)).played())
    dice = Random(1)
    for look in dice.sample(looks, len(looks)):
        assert same(moments.at(look.now)) == same(look)
    times = sorted({step.command.at for step in read.steps})
    at, seen = times[0] - 1, []
    while (to := moments.hop(at, 1)) != at:
        at = to
        seen.append(at)
        assert same(moments.at(at)).events == sum(step.command.at <= at for step in read.steps)
    assert seen == times
    assert [moments.hop(times[-1], -count) for count in range(len(times) + 2)] == [*times[::-1], times[0], times[0]]
    assert same(moments.at(-5)) == same(moments.at(times[0]))
    assert moments.at(1 << 60).state == "ended"


def same(shot: Snapshot) -> Snapshot:
    """But for how many there were before."""
    return msgspec.structs.replace(shot, number=0)


def test_an_event_log(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = both(lambda: EventLog(str(LOG)))
    assert (len(whole[0]), whole[1]) == (1, "")
    monkeypatch.setattr(event_log, "INTERVAL", 10**6)
    many = both(lambda: EventLog(str(LOG)))
    assert len(many[0]) > 50
    monkeypatch.setattr(event_log, "MOST", 3)                # handed over a few at a time
    monkeypatch.setattr(event_log_lines, "TOGETHER", 5)
    assert both(lambda: EventLog(str(LOG))) == many


def test_between_the_looks_at_a_log_is_what_had_happened_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "INTERVAL", 10**6)
    moments, looks = EventLog(str(LOG)).moments(), list(EventLog(str(LOG)).played())
    dice = Random(1)
    for look in dice.sample(looks, len(looks)):
        assert same(moments.at(look.now)) == same(look)
    times = sorted({round(json.loads(line)["captured_at_monotonic"] * 10**9) for line in LOG.read_text().splitlines()})
    at, seen = times[0] - 1, []
    while (to := moments.hop(at, 1)) != at:
        at = to
        seen.append(at)
        assert moments.at(at).events == sum(one <= at for one in times)
    assert seen == times
    assert [moments.hop(times[7], by) for by in (-100, -7, -1, 0, 1, 100)] == [times[0], times[0], times[6], times[7], times[8], times[-1]]
    lines = LOG.read_text().splitlines(keepends=True)
    (tmp_path / "broken.jsonl").write_text("".join([*lines[:9], "{}\n", *lines[9:]]))
    assert same(EventLog(str(tmp_path / "broken.jsonl")).moments().at(1 << 60)) == same(moments.at(times[8])), "up to what cannot be read"
    (tmp_path / "none.jsonl").write_text("{}\n")
    with pytest.raises(SourceError, match="no whole event in it"):
        EventLog(str(tmp_path / "none.jsonl")).moments().at(0)


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
