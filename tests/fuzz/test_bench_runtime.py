"""The benchmarks of the live scheduler run, and measure what they say. (How fast it is is not tested.)"""
from __future__ import annotations

import pytest

from slotwise.fuzz import bench, bench_runtime


@pytest.mark.parametrize("backend", bench_runtime.BACKENDS)
def test_every_task_is_run(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = 0

    async def nothing() -> None:
        nonlocal ran
        ran += 1

    monkeypatch.setattr(bench_runtime, "nothing", nothing)
    assert bench_runtime.ours(backend, 30, check=True) > 0
    assert bench_runtime.one_by_one(backend, 20) > 0
    assert bench_runtime.one_by_one(backend, 20, measured=False) > 0
    assert ran == 70


def test_it_is_reached_by_name_and_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise bench.NotAvailable("not here")

    for name in ("ours", "one_by_one"):
        monkeypatch.setattr(bench_runtime, name, lambda backend, measured=True: 10.0)
    monkeypatch.setattr(bench_runtime, "theirs", missing)
    monkeypatch.setattr(bench_runtime, "watched", lambda backend: [])
    monkeypatch.setattr(bench_runtime, "events", list)
    figures = bench.run(["runtime"])
    assert [figure.met for figure in figures] == [True, True, None, True, True, None, None]
    assert figures[2].note == "not available: not here"
