"""The benchmark of the native simulation is run, not judged, here."""
from __future__ import annotations

import pytest

from slotwise.fuzz import bench, bench_simulation
from slotwise.spec import batching_vocabulary as v

pytest.importorskip("slotwise.impl._native", reason="the engine is not built")


def test_two_figures_for_each_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_simulation, "SCENARIOS", ("F10", "F18"))
    monkeypatch.setattr(bench_simulation, "ROUNDS", 1)
    figures = bench.run(["batching-simulation"])
    assert [figure.name.rpartition(", ")[2] for figure in figures] == [name for name in v.PROFILES for _ in range(2)]
    assert all(figure.figure and figure.command == "slotwise bench batching-simulation" for figure in figures)
