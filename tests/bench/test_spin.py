"""The analysis of the waiting benchmark, on data whose truth is known; what it says when something is missing; and one very short real run."""
from __future__ import annotations

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from slotwise.cli import bench_spin as shown
from slotwise.cli.output import Stop
from slotwise.fuzz import bench_spin, spin_analysis, spin_models
from slotwise.fuzz.bench import NotAvailable
from slotwise.fuzz.spin_analysis import Point

COSTS = {"pauses": 31.0, "readings": 20.0, "yields": 1050.0, "parks": 68_300.0, "gaps": 400.0}


def blocks_of_regression(noise: float) -> list[dict[str, Any]]:
    """Blocks whose worker spent what its counts cost, and its system time what its yields and parks did."""
    draw, rows = Random(5), []
    for repetition in range(2):
        for arm in range(18):
            tally: dict[str, float] = {name: draw.randrange(20, 40_000 if name in ("pauses", "readings") else 900) for name in COSTS}
            spent = sum(COSTS[name] * number for name, number in tally.items())
            tally["self_cpu"] = 5e6 + spent * (1 + noise * draw.gauss(0, 1))
            tally["sys_us"] = (1e6 + 1053 * tally["yields"] + 68_300 * tally["parks"]) / 1000
            tally["user_us"] = draw.randrange(1000, 90_000)
            rows.append({"what": "regression", "arm": arm, "repetition": repetition, "tally": tally})
    return rows


def test_regression_finds_the_costs() -> None:
    exact = spin_analysis.regress(blocks_of_regression(0.0))
    assert {name: pytest.approx(value, rel=1e-6) for name, (value, _) in exact.total.terms.items()} == {**COSTS, "constant": 5e6}
    assert exact.system.terms["yields"][0] == pytest.approx(1053)
    assert exact.system.terms["parks"][0] == pytest.approx(68_300)
    assert len(exact.repetitions) == 2
    noisy = spin_analysis.regress(blocks_of_regression(0.005))
    assert 0.99 < noisy.total.r2 < 1
    assert all(half > 0 and abs(noisy.total.terms[name][0] - COSTS[name]) < 2 * half for name in COSTS for half in [noisy.total.terms[name][1]])
    assert noisy.shuffled.r2 < 0.5
    assert noisy.user.r2 < 0.5 < noisy.system.r2


def test_an_interval_covers_the_truth_nineteen_times_in_twenty() -> None:
    draw, x, covered = Random(1), [float(i) for i in range(20)], 0
    for _ in range(400):
        value, half = spin_analysis.fit("y", [3 * i + draw.gauss(0, 1) for i in x], {"x": x}).terms["x"]
        covered += abs(value - 3) <= half
    assert 368 <= covered <= 392


def test_columns_that_go_together_are_told() -> None:
    x = [float(i) for i in range(1, 21)]
    assert spin_analysis.fit("y", x, {"x": x, "the same": [i * 1.0001 for i in x]}).condition > 1e6
    assert spin_analysis.fit("y", x, {"x": x}).condition < 10
    with pytest.raises(ValueError, match=r"2 rows are too few for 2 terms"):
        spin_analysis.fit("y", x[:2], {"x": x[:2]})


def block(trace: str, arm: str, repetition: int, cpu: float, latency: float, **more: int) -> dict[str, Any]:
    """`cpu`, `latency`: µs."""
    return {"what": "block", "trace": trace, "arm": arm, "repetition": repetition, "played": 10, "gaps": 10, "wall_ns": 10**6, "cpu_ns": int(cpu * 10_000), "lost_ns": 0, "slept": 4, "preempted": 0,
            "counters": {"parks": 0, "hits": 0, "yields": 0}, "cost_ns": 0, "best_ns": 0, "price_ns": 0, "latencies": [int(latency * 1000)] * 10, **more}  # fmt: skip


def test_a_pair_cancels_a_drift() -> None:
    """Each block is 7% dearer than the one before, whoever runs it; in the order A B B A, twice, that falls on both alike."""
    dear, order = 1.0, ["a", "b", "b", "a", "a", "b", "b", "a"]
    per: dict[str, dict[int, float]] = {"a": {}, "b": {}}
    for place, arm in enumerate(order):
        per[arm][place // 2] = dear * {"a": 3.0, "b": 2.0}[arm]
        dear *= 1.07
    assert spin_analysis.ratio(per["a"], per["b"]) == pytest.approx(1.5)
    assert spin_analysis.ratio({0: 3.0}, {0: 2.0, 1: 9.0}) == pytest.approx(1.5)
    with pytest.raises(ValueError, match=r"no repetition in common"):
        spin_analysis.ratio({0: 1.0}, {1: 1.0})


def frontier(arms: dict[str, tuple[float, float]], wobble: float) -> list[Point]:
    """Four repetitions; the copy of `a` is dearer and slower by `wobble`."""
    found = {**arms, "null: a": (arms["a"][0] * wobble, arms["a"][1] * wobble)}
    points = spin_analysis.points([block("t", arm, n, *at) for n in range(4) for arm, at in found.items()])
    spin_analysis.mark(points, "p50")
    return points


def test_who_is_dominated() -> None:
    arms = {"a": (10.0, 10.0), "cheap": (5.0, 20.0), "fast": (20.0, 5.0), "bad": (11.0, 15.0), "near": (10.4, 10.4), "cheaper and near": (6.0, 20.3)}
    by = {point.arm: point.dominated_by for point in frontier(arms, 1.05)}
    assert by == {"a": {"p50": []}, "cheap": {"p50": []}, "fast": {"p50": []}, "bad": {"p50": ["a", "near"]}, "near": {"p50": []}, "cheaper and near": {"p50": ["cheap"]}, "null: a": {}}


def test_once_is_not_enough() -> None:
    """Better in one pair of repetitions only, however much: not dominated. Nor against an adversary, where gaps differ."""
    per = {"a": [1.0, 1.0, 8.0, 8.0], "b": [9.0] * 4}
    for trace, a, verdict in (("t", per["a"], []), ("t", [1.0] * 4, ["a"]), ("adversary", [1.0] * 4, None)):
        blocks = [block(trace, arm, n, cpu[n], 5) for arm, cpu in (("a", a), ("null: a", [cpu * 1.2 for cpu in a]), ("b", per["b"])) for n in range(4)]
        points = spin_analysis.points(blocks)
        spin_analysis.mark(points, "p50")
        assert next(point.dominated_by.get("p50") for point in points if point.arm == "b") == verdict


def test_a_difference_within_the_drift_marks_nobody() -> None:
    arms = {"a": (10.0, 10.0), "bad": (11.0, 15.0), "worse": (25.0, 11.0)}
    assert [point.dominated_by.get("p50") for point in frontier(arms, 1.9)] == [[], [], ["a"], None]
    assert [point.dominated_by.get("p50") for point in frontier(arms, 2.1)] == [None] * 4            # nor is anybody judged where copies differ so much
    assert spin_analysis.drift(frontier(arms, 0.5), "t", "cpu") == pytest.approx(2.0)


def test_no_null_arm_no_verdict() -> None:
    points = spin_analysis.points([block("t", arm, 0, cpu, 5) for arm, cpu in (("a", 1.0), ("b", 9.0))])
    spin_analysis.mark(points, "p50")
    assert [point.dominated_by for point in points] == [{}, {}]


def test_a_point_sums_its_blocks() -> None:
    (point,) = spin_analysis.points([block("t", "GFTL 0", n, 10 + n, 5, cost_ns=90_000, best_ns=30_000, price_ns=1000) for n in range(3)])
    assert (point.cpu, point.p50, point.samples, point.sleeps, point.wakeups) == (11, 5, 30, 0.4, 4000)
    assert point.ratio == 3.0


def test_models() -> None:
    """A width of sixteen, as published: 14.1, 3.2 and 6.4 cores; and fixed spinning burns each gap whole that it outlasts."""
    assert {name: round(cores, 1) for name, cores in spin_models.cores(spin_models.QUOTED, 300).items()} == {"spin": 14.1, "fixed 500": 14.1, "break-even": 6.4, "park": 3.2, "GFTL 0": 3.2}
    gaps = {"mixed": [20.0, 20.0, 100_000.0], "short": [30.0]}
    found = {(one.trace, one.arm): (round(one.cpu), one.p50) for one in spin_models.columns(gaps, spin_models.QUOTED)}
    assert found == {("mixed", "OpenMP"): (33_347, 0), ("mixed", "libgomp"): (3_186, 0), ("mixed", "ONNX Runtime"): (11_046, 0), ("short", "OpenMP, libgomp, ONNX Runtime"): (30, 0)}


def test_one_line_for_whatever_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(bench_spin, "CRATE", tmp_path)
        with pytest.raises(NotAvailable, match=r"^the measuring program is built from a checkout of slotwise, which this is not$"):
            bench_spin.program()
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda name: None)
        with pytest.raises(NotAvailable, match=r"^the measuring program needs a Rust toolchain: cargo was not found$"):
            bench_spin.program()
    (tmp_path / "Cargo.toml").write_text("[package")
    with monkeypatch.context() as patch:
        patch.setattr(bench_spin, "CRATE", tmp_path)
        if shutil.which("cargo"):
            with pytest.raises(NotAvailable, match=r"^the measuring program was not built: .+ && cargo build --release\)$"):
                bench_spin.program()


@pytest.fixture(scope="module")
def program() -> Path:
    return bench_spin.program()


def test_a_wrong_option_is_one_line(program: Path) -> None:
    with pytest.raises(NotAvailable, match=r'^--blocks: found "none", expected a number above 0$'):
        bench_spin.rows(program, ["--blocks", "none"])


def test_a_short_run(program: Path, tmp_path: Path) -> None:
    """Everything once, very short: what it prints, what is made of it, and that counts which can't differ don't."""
    seen = bench_spin.rows(program, ["--blocks", "2", "--percent", "1", "--millis", "4", "--rounds", "20"])
    kinds = {row["what"] for row in seen}
    assert kinds == {"calibration", "regression", "idle", "back to back", "account", "trace", "block"}
    calibration = seen[0]["found"]
    assert all(calibration[name] > 0 for name in ("pause_ns", "clock_ns", "yield_ns", "park_ns", "wake_ns", "catch_ns"))
    fitted = [row for row in seen if row["what"] == "regression"]
    assert len(fitted) == 40
    assert all(row["tally"]["parks"] <= row["tally"]["gaps"] > 0 for row in fitted)
    assert all(row["tally"]["pauses"] >= 64 * row["tally"]["parks"] and row["tally"]["readings"] >= row["tally"]["parks"] for row in fitted)
    blocks = [row for row in seen if row["what"] == "block"]
    arms = {row["arm"] for row in blocks}
    assert {(row["trace"], row["arm"]) for row in blocks} == {(trace, arm) for trace in {row["trace"] for row in blocks} for arm in arms} - {("adversary", "spin"), ("adversary", "rayon")}
    assert len(arms) == 16
    assert all(len(row["latencies"]) == row["gaps"] <= row["played"] >= 2 and row["gaps"] >= 1 and row["cpu_ns"] > 0 for row in blocks)
    assert all(row["counters"]["parks"] == 0 for row in blocks if row["arm"] == "spin")
    assert all(row["counters"]["parks"] >= row["played"] - 1 for row in blocks if row["trace"] == "adversary" and row["arm"] == "fixed 20")
    even = [row for row in seen if row["what"] == "account" and row["arm"] == "break-even"]
    assert all(row["cost_ns"] == 2 * row["best_ns"] == 2 * row["price_ns"] * row["gaps"] for row in even)       # whatever it meets, it parks: B and B again
    report = bench_spin.report(seen)
    again = json.loads(json.dumps(report.to_json()))
    assert len(again["frontier"]) == len(blocks) / 2
    assert all(one["model"] is True for one in again["modelled"])
    assert "GFTL 0" in shown.tables(report)
    for name in ("frontier.svg", "frontier.png"):
        shown.pictured(report, tmp_path / name)
        assert (tmp_path / name).stat().st_size > 10_000
    with pytest.raises(Stop, match=r"frontier\.nope: .*nope"):
        shown.pictured(report, tmp_path / "frontier.nope")


def test_options_of_spin_alone() -> None:
    from slotwise.cli import bench

    for options in ({"picture": Path("x.svg")}, {"blocks": 3}):
        with pytest.raises(Stop, match=r"^--(picture|blocks) goes with: slotwise bench spin$"):
            bench.run(["call"], False, **options)
