"""`slotwise bench spin`: ways to wait for work, measured in real threads on two cores, and what follows from it.

A small Rust program of its own (`fuzz/arms`, not part of the wheel) does the timing and prints JSON lines; it is built when it is first
asked for, from a checkout. Here they are read and judged.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from slotwise.fuzz.bench import Figure, NotAvailable, at_least, at_most, plain

if TYPE_CHECKING:
    from slotwise.fuzz.spin_analysis import Point, Regression
    from slotwise.fuzz.spin_models import Costs, Modelled

CRATE = Path(__file__).parents[2] / "arms"
GUARDED = ("GFTL 0", "GFTL 1", "GFTL 4")
FIXED = ("park", "fixed 20", "fixed 100", "fixed 500")
STATIONARY = ("20 µs", "50 µs", "100 µs", "300 µs", "1 ms", "3 ms", "exp 50 µs", "exp 300 µs")


def program() -> Path:
    """The measuring program, built if need be. Raises NotAvailable, in one line, if it can't be."""
    if not (CRATE / "Cargo.toml").exists():
        raise NotAvailable("the measuring program is built from a checkout of slotwise, which this is not")
    if shutil.which("cargo") is None:
        raise NotAvailable("the measuring program needs a Rust toolchain: cargo was not found")
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--message-format=json"]
    built = subprocess.run(command, cwd=CRATE, capture_output=True, text=True)
    if built.returncode:
        raise NotAvailable(f"the measuring program was not built: {first_line(built.stderr) or 'cargo failed'} (cd {os.path.relpath(CRATE)} && cargo build --release)")
    found = [message["executable"] for message in map(json.loads, built.stdout.splitlines()) if message.get("executable")]
    if not found:
        raise NotAvailable("the measuring program was not built: cargo names no executable")
    return Path(found[-1])


def first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def rows(program: Path, options: Iterable[str] = (), tell: Callable[[str], None] = lambda note: None) -> list[dict[str, Any]]:
    """What it prints. Raises NotAvailable with its own line if it ends badly."""
    seen: list[dict[str, Any]] = []
    with subprocess.Popen([program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        for line in running.stdout:
            row = json.loads(line)
            seen.append(row)
            tell(f"{row['what']} {row.get('trace', '')} {row.get('repetition', '')}".strip())
        said = running.stderr.read()
    if running.returncode:
        raise NotAvailable(first_line(said).removeprefix("slotwise-arms: ") or f"the measuring program ended with {running.returncode}")
    return seen


@dataclass
class Report:
    calibration: dict[str, Any]
    regression: Regression
    points: list[Point]
    drifts: dict[str, dict[str, float]]
    lost: float                              # share of the wall time that others took from the dispatcher's core, median block
    modelled: list[Modelled]
    cores: dict[str, dict[str, float]]       # of a pool 16 wide at 300 µs gaps, by whose costs
    idle: list[dict[str, Any]]
    back_to_back: dict[str, list[float]]
    accounts: list[dict[str, Any]]           # against the adversary, by the worker's own windows and gaps
    figures: list[Figure] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        return {
            "calibration": self.calibration, "regression": self.regression.to_json(), "frontier": [point.to_json() for point in self.points],
            "null_drift": self.drifts, "lost_share": self.lost, "modelled": [one.to_json() for one in self.modelled],
            "cores_16_wide_300_us_model": self.cores, "idle": self.idle, "back_to_back_p50_ns": self.back_to_back, "adversary_accounts": self.accounts,
        }  # fmt: skip


def measure(blocks: int = 4, options: Iterable[str] = (), tell: Callable[[str], None] = lambda note: None) -> Report:
    """The whole run. Raises NotAvailable if something is missing."""
    try:
        import numpy  # noqa: F401
        import scipy  # noqa: F401
    except ImportError as error:
        raise NotAvailable(f"{error.name} is missing: pip install 'slotwise[bench]'") from None
    tell("builds the measuring program")
    return report(rows(program(), ["--blocks", str(blocks), *options], tell))


def report(seen: list[dict[str, Any]]) -> Report:
    from slotwise.fuzz import spin_analysis, spin_models

    def of(what: str) -> list[dict[str, Any]]:
        return [row for row in seen if row["what"] == what]

    calibration, blocks = of("calibration")[0]["found"], of("block")
    points = spin_analysis.points(blocks)
    for latency in ("p50", "p99"):
        spin_analysis.mark(points, latency)
    traces = list(dict.fromkeys(point.trace for point in points))
    drifts = {trace: {metric: spin_analysis.drift(points, trace, metric) for metric in spin_analysis.METRICS} for trace in traces}
    here = costs(calibration, points)
    gaps = {row["trace"]: [gap / 1000 for gap in row["gaps"]] for row in of("trace") if row["gaps"] and row["trace"] in traces}
    whole = Report(
        calibration, spin_analysis.regress(of("regression")), points, drifts, median(row["lost_ns"] / row["wall_ns"] for row in blocks),
        spin_models.columns(gaps, here), {"as published (68.3 µs a park)": spin_models.cores(spin_models.QUOTED, 300), "as calibrated here": spin_models.cores(here, 300)},
        [{name: row[name] for name in ("arm", "width", "cores", "millis")} for row in of("idle")], {row["arm"]: row["p50_ns"] for row in of("back to back")},
        [{name: value for name, value in row.items() if name != "what"} for row in of("account")],
    )  # fmt: skip
    whole.figures = figures(whole)
    return whole


def costs(calibration: dict[str, Any], points: list[Point]) -> Costs:
    """As calibrated; the latencies as the arms that only park, and only spin, had them."""
    from slotwise.fuzz.spin_models import Costs

    def usual(arm: str, otherwise: str) -> float:
        found = [point.p50 for point in points if point.arm == arm]
        return median(found) if found else calibration[otherwise] / 1000

    return Costs(pause=calibration["pause_ns"] / 1000, clock=calibration["clock_ns"] / 1000, park=calibration["park_ns"] / 1000, wake=usual("park", "wake_ns"),
                 catch=usual("spin", "catch_ns"))  # fmt: skip


def figures(it: Report) -> list[Figure]:
    """The bars, and beside them what was calibrated and fitted."""
    from slotwise.fuzz.spin_analysis import ADVERSARY, ratio

    found, by = [], {(point.trace, point.arm): point for point in it.points}
    traces = list(dict.fromkeys(point.trace for point in it.points))
    for arm in GUARDED:
        here = [by[trace, arm] for trace in traces if (trace, arm) in by]
        common = [point for point in here if point.trace != ADVERSARY]
        for latency in ("p50", "p99"):
            judged = [point for point in common if latency in point.dominated_by]
            lost = [f"{point.trace} ({', '.join(point.dominated_by[latency])})" for point in judged if point.dominated_by[latency]]
            what, rest = f"{arm}: traces on which it is dominated, CPU and {latency}", f"{len(judged)} of {len(common)} judged: elsewhere the null arms drift too far apart"
            found.append(at_most(what, len(lost), "traces", 0, "; ".join([rest, *lost])) if judged else Figure(what, None, "traces", "<= 0", None, "", rest))
        account = [row for row in it.accounts if row["arm"] == arm]
        if account:
            cost, best, price = (sum(row[key] for row in account) for key in ("cost_ns", "best_ns", "price_ns"))
            note = f"the worker's own account of {sum(row['gaps'] for row in account):,} gaps; with the 11 B it is {cost / best:.3f}"
            found.append(at_most(f"{arm}: live competitive ratio against the adversary, less 11 B a block", (cost - 11 * price) / best, "x", 2.25, note))
        ratios = [(point.ratio, point.trace) for point in common if point.ratio is not None]
        if ratios:
            found.append(at_most(f"{arm}: live competitive ratio, the worst of the other traces", max(ratios)[0], "x", 2.25, f"on {max(ratios)[1]}, as the dispatcher sees the gaps"))
    hindsight = [(ratio(by[trace, "GFTL 0"].per["cpu"], min((by[trace, arm] for arm in FIXED if (trace, arm) in by), key=lambda p: p.cpu).per["cpu"]), trace)
                 for trace in traces if trace in STATIONARY and (trace, "GFTL 0") in by and (trace, "park") in by]  # fmt: skip
    if hindsight:
        times, trace = max(hindsight)
        note = f"on {trace}, where the null arms drift {it.drifts[trace]['cpu']:.2f} x"
        found.append(at_most("GFTL 0 ÷ the best fixed window in hindsight, CPU per gap, the worst stationary trace", times, "x", 1.10, note))
    for row in it.idle:
        found.append(at_most(f"an idle pool of {row['width']}, {row['arm']}", 100 * row["cores"], "% of a core", 1, f"{row['millis']} ms"))
    if "spin" in it.back_to_back:
        for arm in (arm for arm in it.back_to_back if arm != "spin"):
            p50s, spins = it.back_to_back[arm], it.back_to_back["spin"]
            times = ratio(dict(enumerate(p50s)), dict(enumerate(spins)))
            found.append(at_most(f"back-to-back dispatch p50 ÷ pure spinning, {arm}", times, "x", 1.1, f"{median(p50s):.0f} and {median(spins):.0f} ns"))
    found.append(plain("what others took of the dispatcher's core, the median block", 100 * it.lost, "%", "gaps in which they did don't count"))
    total, system = it.regression.total, it.regression.system
    found += [plain(f"regression of total CPU: {name}", value, "ns", f"± {half:.3g} (95%)") for name, (value, half) in total.terms.items() if name != "constant"]
    found.append(plain("regression of total CPU: R²", total.r2, "", f"{total.rows} rows, condition {total.condition:.1f}; shuffled, it is {it.regression.shuffled.r2:.2f}"))
    found += [plain(f"regression of system time, as published: {name}", value, "ns", f"± {half:.3g} (95%)") for name, (value, half) in system.terms.items() if name != "constant"]
    found.append(plain("regression of system time: R²", system.r2, "", f"user time alone in place of the counts: {it.regression.user.r2:.2f}"))
    return found + [plain(f"calibrated: {name.removesuffix('_ns').replace('_', ' ')}", value, "ns") for name, value in it.calibration.items() if name.endswith("_ns")]


def window_speed(rounds: int = 3) -> list[Figure]:
    """The rules' whole window, and the engine's, pass by pass in virtual time."""
    try:
        from slotwise.spec import spin
        from slotwise.spec import spin_vocabulary as w
    except ImportError:
        raise NotAvailable("the rules of spinning are not here") from None
    from slotwise.fuzz.bench import in_turns, native

    profile, setup = w.PROFILES["slotwise"], w.Setup()
    command = w.Wait(window=500 * w.MICROSECOND)
    engine = getattr(native(), "Spinner", None)
    if engine is None:
        raise NotAvailable("the engine has no window yet")
    model, theirs = spin.pool(profile, setup), engine(profile, setup)
    passes = int(str(spin.step(model, command)[-1][2]))
    if theirs.step(command) != spin.step(model, command):
        raise NotAvailable("the engine's window is not the rules'")
    slow, fast = in_turns(lambda: [spin.step(model, command) for _ in range(10)], lambda: [theirs.step(command) for _ in range(1000)], rounds=rounds)
    return [at_least("the rules' window", 10 * passes / slow, "passes/s", 200_000), at_least("the engine's window ÷ the rules'", (slow / 10) / (fast / 1000), "x", 50),
            plain("the engine's window", 1000 * passes / fast, "passes/s", "500 µs, virtual time, a call from Python for each")]  # fmt: skip


BENCHES: dict[str, Callable[[], list[Figure]]] = {"spin": lambda: measure().figures, "spin-window": window_speed}
