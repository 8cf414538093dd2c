"""The benchmarks of the checkpoint batcher are run, not judged, here: small, and what they say of right and wrong."""
from __future__ import annotations

import pytest

from slotwise.fuzz import bench_checkpoint
from slotwise.fuzz.bench import Figure

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")


def by_name(figures: list[Figure]) -> dict[str, Figure]:
    assert len({figure.name for figure in figures}) == len(figures)
    return {figure.name: figure for figure in figures}


def test_costs() -> None:
    figures = bench_checkpoint.decision(500) + bench_checkpoint.caller_cost(200)
    assert len(by_name(figures)) == 6
    assert all(figure.figure and figure.unit == "µs" for figure in figures)


def test_fan_out() -> None:
    """Twelve branches need three requests; a producer that is slow to come makes them more."""
    with bench_checkpoint.service() as service, bench_checkpoint.batcher(service.url, bench_checkpoint.profiles()["slotwise, V = 1, C = 50"]) as (batcher, client):
        pool = bench_checkpoint.Pool(12, spawned=False)
        bench_checkpoint.fan_out(batcher, pool, 12)
        pool.close()
        assert client.calls >= 3
        names = [name for request in service.requests() for name in request]
        assert sorted(names) == sorted([f"{what}{i}" for what in "bs" for i in range(12) for _ in "ab"] + ["p", "p"])


def test_many() -> None:
    found = by_name(bench_checkpoint.many(operations=400, producers=8))
    assert found["416 operations: each told once, durable once, in order"].met
