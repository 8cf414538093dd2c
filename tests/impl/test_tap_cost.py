"""What a snapshot costs is bounded, and what has not changed is not made anew. (The numbers themselves are those of test_meter.)"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import trio
from trio.testing import MockClock

from slotwise.impl import meter_seen
from slotwise.impl import tap as t
from slotwise.impl.meter import Meter
from slotwise.impl.scheduler import Group, Scheduler
from slotwise.impl.snapshot import VERSION, Snapshot


@contextmanager
def tapped(path: Path, costs: list[float]) -> Iterator[t.Tap]:
    """Each snapshot takes so many seconds of CPU."""
    spent = [0.0]

    def snapshot() -> Snapshot:
        spent[0] += costs.pop(0)
        return Snapshot(VERSION, "x", 1, 0, 0, 1, 0, 0, 0)

    tap = t.Tap(snapshot, path, clock=lambda: 0.0, cpu=lambda: spent[0])
    try:
        yield tap
    finally:
        tap.close()


def test_the_dearer_a_snapshot_the_longer_until_the_next(tmp_path: Path) -> None:
    with tapped(tmp_path / "s", [0.001, 0.002, 0.005, 1.0, 0.0]) as tap:
        found, every = [], []
        for _ in range(5):
            every.append(msgspec.msgpack.decode(tap._frame()[4:], type=Snapshot).every)
            found.append(tap.interval)
        assert found == pytest.approx([0.1, 0.1, 0.25, t.LONGEST, 0.1])
        assert every == pytest.approx([10**8, 10**8, 10**8, 25 * 10**7, 2 * 10**9])      # by what the one before it took


def test_it_waits_so_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that takes 4 ms comes each 200 ms; then one that takes 10 ms comes each 500 ms."""
    shown: list[float] = []

    async def main() -> None:
        begun = trio.current_time()
        tap = t.Tap(lambda: Snapshot(VERSION, "x", 1, 0, 0, 1, 0, 0, 0), tmp_path / "s", clock=trio.current_time)
        tap._viewers.append(object())                    # type: ignore[arg-type]

        def show() -> None:
            shown.append(trio.current_time() - begun)
            tap.cost = 0.004 if len(shown) < 4 else 0.01

        monkeypatch.setattr(tap, "show", show)
        with trio.move_on_after(1.9):
            await tap.run()
        tap._viewers.clear()
        tap.close()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    assert shown == pytest.approx([0.0, 0.2, 0.4, 0.6, 1.1, 1.6])


def test_a_group_to_which_nothing_happens_is_frozen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    it = Meter({"x": 2})
    rows = [it.group(Group(f"g{i}")) for i in range(100)]
    shape = it.shape({"x": 1})
    made: list[str] = []
    work = meter_seen.frozen

    def freeze(meter: Any, row: Any, *rest: Any) -> Any:
        made.append(row.name)
        return work(meter, row, *rest)

    monkeypatch.setattr(meter_seen, "frozen", freeze)

    def frozen(at: int) -> list[str]:
        made.clear()
        it.frozen_groups(at, 0)
        return list(made)

    assert len(frozen(0)) == 100
    assert frozen(10) == []
    it.advance(20)
    it.waits(rows[3], shape, "#1")
    assert frozen(30) == frozen(40) == ["g3"]            # what it has waited grows
    it.advance(50)
    it.starts(rows[3], "#1")
    assert frozen(60) == ["g3"]                          # what it was served grows
    it.advance(70)
    it.ends(rows[3], shape, "#1", 50)
    assert frozen(80) == ["g3"]
    assert frozen(90) == []
    assert it.frozen_groups(95, 0)[3].service == 20
    it.advance(100)
    it.backs_off(rows[5], 1)
    assert frozen(110) == frozen(120) == ["g5"]
    it.advance(130)
    it.backs_off(rows[5], -1)
    assert frozen(140) == ["g5"]
    assert frozen(150) == []
    it.respecify(rows[7], Group("g7", weight=2.0), 160)
    assert frozen(170) == ["g7"]
    assert it.frozen_groups(180, 0)[7].weight == 2.0
    it.advance(200)
    it.waits(rows[9], shape, "#2")
    it.advance(205)
    it.leaves(rows[9], shape, "#2")
    assert frozen(210) == ["g9"]
    assert sum(it.frozen_groups(220, 0)[9].causes.values()) == 5


def test_a_snapshots_parts_are_no_work_for_the_garbage_collector() -> None:
    """A thousand groups ten times a second, on both sides; there are no cycles in them."""
    import gc

    async def main() -> Snapshot:
        async with Scheduler({"llm": 1}, [Group("a")]) as it:
            await it.submit(anyio.sleep, 0)
            return it.snapshot()

    shot = anyio.run(main)
    assert not any(gc.is_tracked(one) for one in (shot, shot.groups[0], shot.groups[0].wait, shot.resources[0]))
