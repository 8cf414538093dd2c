"""What the blocks of `slotwise bench spin` say: the regression with its confidence, the frontier with its drift, who is dominated.

Two arms are compared repetition by repetition: blocks run in the order A B … B A, so the geometric mean over such a pair cancels a
drift of the machine, and the median over the pairs is the ratio. Copies of two arms (the null arms) tell how large a ratio means nothing.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy import stats

NULL, ADVERSARY = "null: ", "adversary"
METRICS = ("cpu", "p50", "p99")
RESOLVED = 2.0             # where copies of an arm differ by more, the order of others is chance
NOT_WORSE = 1.10           # a point that dominates is nowhere worse by more, however large the drift


@dataclass(frozen=True, slots=True)
class Fit:
    """Ordinary least squares. `terms`: name -> (coefficient, half width of its 95% interval)."""

    response: str
    terms: dict[str, tuple[float, float]]
    r2: float
    condition: float
    rows: int

    def to_json(self) -> dict[str, object]:
        terms = {name: {"coefficient": value, "half_width_95": half} for name, (value, half) in self.terms.items()}
        return {"response": self.response, "terms": terms, "r2": self.r2, "condition": self.condition, "rows": self.rows}


def fit(response: str, y: Sequence[float], columns: Mapping[str, Sequence[float]]) -> Fit:
    """y against the columns and a constant. The condition number is that of the columns scaled to the same length."""
    names = [*columns, "constant"]
    x = np.column_stack([*(np.asarray(column, float) for column in columns.values()), np.ones(len(y))])
    scale = np.linalg.norm(x, axis=0)
    scale[scale == 0] = 1.0
    scaled, target = x / scale, np.asarray(y, float)
    solved, *_ = np.linalg.lstsq(scaled, target, rcond=None)
    rest = target - scaled @ solved
    free = len(y) - len(names)
    if free < 1:
        raise ValueError(f"{len(y)} rows are too few for {len(names)} terms")
    variance = float(rest @ rest) / free
    spread = np.sqrt(np.maximum(np.diag(np.linalg.pinv(scaled.T @ scaled)) * variance, 0.0)) / scale
    half = stats.t.ppf(0.975, free) * spread
    about = target - target.mean()
    r2 = 1 - float(rest @ rest) / float(about @ about) if float(about @ about) else 0.0
    terms = {name: (float(value), float(width)) for name, value, width in zip(names, solved / scale, half, strict=True)}
    return Fit(response, terms, r2, float(np.linalg.cond(scaled)), len(y))


@dataclass(frozen=True, slots=True)
class Regression:
    """`total`: all CPU time by the thread's own ns clock; `system`: the published form; `repetitions`: `total` for each alone; the rest
    are controls that should fit worse."""

    total: Fit
    system: Fit
    repetitions: list[Fit]
    user: Fit
    shuffled: Fit

    def to_json(self) -> dict[str, object]:
        return {"total": self.total.to_json(), "system": self.system.to_json(), "repetitions": [one.to_json() for one in self.repetitions],
                "control_user": self.user.to_json(), "control_shuffled": self.shuffled.to_json()}  # fmt: skip


COUNTS = ("pauses", "readings", "yields", "parks", "gaps")


def regress(rows: Sequence[Mapping[str, Any]]) -> Regression:
    """From the `regression` rows. Units: ns and counts, so that a coefficient is ns each."""

    def columns(names: Sequence[str], chosen: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
        return {name: [float(row["tally"][name]) for row in chosen] for name in names}

    def total(chosen: Sequence[Mapping[str, Any]]) -> Fit:
        return fit("total CPU", [row["tally"]["self_cpu"] for row in chosen], columns(COUNTS, chosen))

    system = [row["tally"]["sys_us"] * 1000.0 for row in rows]
    user = [row["tally"]["user_us"] * 1000.0 for row in rows]
    own = [float(row["tally"]["self_cpu"]) for row in rows]
    turned = [own[i] for i in np.random.default_rng(4).permutation(len(own))]
    return Regression(
        total(rows),
        fit("system time", system, columns(("yields", "parks"), rows)),
        [total(chosen) for n in sorted({row["repetition"] for row in rows}) if len(chosen := [row for row in rows if row["repetition"] == n]) > len(COUNTS) + 1],
        fit("system time", system, {"user": user}),
        fit("total CPU, shuffled", turned, columns(COUNTS, rows)),
    )  # fmt: skip


@dataclass(slots=True)
class Point:
    """An arm on a trace. Times in µs, medians over the repetitions, but `p99` in `per` is a block's and `pooled99` that of all blocks' latencies."""

    trace: str
    arm: str
    cpu: float
    p50: float
    p99: float
    pooled99: float
    samples: int
    yields: float | None        # per gap, by the pool's own count
    sleeps: float               # per gap, by the kernel's count
    wakeups: float              # per second of wall time: the proxy for energy
    preempted: float            # involuntary switches, per gap
    ratio: float | None         # live: the policy's cost ÷ the offline optimum, by its own price of a park
    per: dict[str, dict[int, float]]
    dominated_by: dict[str, list[str]]      # by latency; no entry: not judged

    def to_json(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "per"}


def points(blocks: Sequence[Mapping[str, Any]]) -> list[Point]:
    """One for each trace and arm, null arms included."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for block in blocks:
        found.setdefault((block["trace"], block["arm"]), []).append(block)
    return [_point(trace, arm, rows) for (trace, arm), rows in found.items()]


def _point(trace: str, arm: str, rows: Sequence[Mapping[str, Any]]) -> Point:
    per: dict[str, dict[int, float]] = {metric: {} for metric in METRICS}
    for row in rows:
        n = row["repetition"]
        per["cpu"][n] = max(row["cpu_ns"] / row["gaps"] / 1000, 1e-3)
        per["p50"][n], per["p99"][n] = (max(float(np.percentile(row["latencies"], q)) / 1000, 1e-3) for q in (50, 99))

    gaps, played, slept, wall = (sum(row[key] for row in rows) for key in ("gaps", "played", "slept", "wall_ns"))
    cost, best, counted = (sum(row[key] for row in rows) for key in ("cost_ns", "best_ns", "price_ns"))
    everything = np.concatenate([np.asarray(row["latencies"], float) for row in rows])
    return Point(
        trace, arm, median(per["cpu"].values()), median(per["p50"].values()), median(per["p99"].values()), pooled99=float(np.percentile(everything, 99)) / 1000, samples=gaps,
        yields=sum(row["counters"]["yields"] for row in rows) / played if counted else None, sleeps=slept / played, wakeups=slept / (wall / 1e9),
        preempted=sum(row["preempted"] for row in rows) / played, ratio=cost / best if best else None,
        per=per, dominated_by={},
    )  # fmt: skip


def pair_ratios(one: Mapping[int, float], other: Mapping[int, float]) -> list[float]:
    """How many times as large `one` is, for each pair of neighbouring repetitions: A B … B A."""
    pairs: dict[int, list[float]] = {}
    for n in sorted(set(one) & set(other)):
        pairs.setdefault(n // 2, []).append(math.log(one[n] / other[n]))
    if not pairs:
        raise ValueError("no repetition in common")
    return [math.exp(sum(logs) / len(logs)) for logs in pairs.values()]


def ratio(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    return median(pair_ratios(one, other))


def drift(found: Sequence[Point], trace: str, metric: str) -> float:
    """The largest factor, >= 1, between a null arm and the arm that it is a copy of, in any pair of repetitions."""
    here = {point.arm: point for point in found if point.trace == trace}
    factors = [factor for arm, point in here.items() if arm.startswith(NULL) and arm.removeprefix(NULL) in here
               for factor in pair_ratios(point.per[metric], here[arm.removeprefix(NULL)].per[metric])]  # fmt: skip
    return max((max(factor, 1 / factor) for factor in factors), default=math.inf)


def mark(found: Sequence[Point], latency: str) -> None:
    """Who is dominated in CPU and this latency: by an arm that is better in one by more than the drift, in every pair of repetitions, and not
    worse in the other by more than the drift or a tenth. The drift is the trace's, or if that is larger the run's median: a trace whose null
    arms happened to agree is measured no better than the others; where it is above RESOLVED there is no verdict. Null arms neither dominate nor are marked; nor is anybody against an
    adversary, where every arm has gaps of its own: there the ratio judges."""
    traces = list(dict.fromkeys(point.trace for point in found if point.trace != ADVERSARY))
    drifts = {metric: {trace: drift(found, trace, metric) for trace in traces} for metric in ("cpu", latency)}
    for trace in traces:
        here = [point for point in found if point.trace == trace and not point.arm.startswith(NULL)]
        limits = {metric: max(of[trace], median(of.values())) for metric, of in drifts.items()}
        if max(limits.values()) > RESOLVED:
            continue
        for point in here:
            point.dominated_by[latency] = [other.arm for other in here if other is not point and _dominates(other, point, limits)]


def _dominates(one: Point, other: Point, limits: Mapping[str, float]) -> bool:
    times = {metric: pair_ratios(one.per[metric], other.per[metric]) for metric in limits}
    better = any(max(times[metric]) < 1 / limit for metric, limit in limits.items())
    return better and all(median(times[metric]) <= min(limit, NOT_WORSE) for metric, limit in limits.items())
