"""The frontier as a picture: CPU per gap against dispatch latency, a small chart for each trace of gaps. SVG, PNG, or whatever the name says."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from slotwise.fuzz.spin_analysis import ADVERSARY, NULL, Point
from slotwise.fuzz.spin_models import Modelled

#: Arm -> colour and marker: our policy in one colour, the ratchet in one, what never adapts in grey, other crates' in green.
STYLES: dict[str, tuple[str, str]] = {
    "GFTL 0": ("#c1121f", "o"), "GFTL 1": ("#c1121f", "s"), "GFTL 4": ("#c1121f", "D"), "ratchet": ("#1d5fbf", "^"), "ratchet, warm": ("#1d5fbf", "v"),
    "park": ("#6b6b6b", "X"), "fixed 20": ("#6b6b6b", "<"), "fixed 100": ("#6b6b6b", ">"), "fixed 500": ("#6b6b6b", "P"), "spin": ("#111111", "*"),
    "break-even": ("#e08a00", "h"), "rayon": ("#2a8f4f", "p"), "crossbeam": ("#2a8f4f", "d"), "parking_lot": ("#2a8f4f", "H"),
}  # fmt: skip
MODEL = "#8a4fbf"
NAMES = {"decode": "decode: 95% 15 µs, 5% 2 ms", "phases": "phases: 20 µs, then 3 ms", "Pareto": "Pareto 1.2 from 20 µs"}


def draw(points: Sequence[Point], drifts: Mapping[str, Mapping[str, float]], target: Path, latency: str = "p50", modelled: Sequence[Modelled] = ()) -> None:
    traces = list(dict.fromkeys(point.trace for point in points))
    wide = min(4, len(traces))
    high = -(-len(traces) // wide)
    with matplotlib.rc_context({"svg.hashsalt": "slotwise", "font.size": 9, "axes.titlesize": 10, "svg.fonttype": "path"}):
        figure = Figure(figsize=(3.2 * wide, 2.75 * high + 1.2), layout="constrained")
        grid = figure.subplots(high, wide, squeeze=False)
        for number in range(wide * high):
            axes = grid[number // wide][number % wide]
            if number < len(traces):
                trace = traces[number]
                if trace == ADVERSARY:
                    _ratios(axes, [point for point in points if point.trace == trace and not point.arm.startswith(NULL)])
                    continue
                _panel(axes, [point for point in points if point.trace == trace and not point.arm.startswith(NULL)], latency, [one for one in modelled if one.trace == trace and latency == "p50"])
                moved = drifts[trace]
                axes.set_title(NAMES.get(trace, trace))
                judged = any(latency in point.dominated_by for point in points if point.trace == trace)
                note = f"null drift ×{moved['cpu']:.2f}, ×{moved[latency]:.2f}{'' if judged else ': not judged'}"
                axes.text(0.98, 0.97, note, transform=axes.transAxes, ha="right", va="top", fontsize=7, color="#555555")
            else:
                axes.set_visible(False)
        figure.supxlabel("CPU of the worker per gap, µs")
        figure.supylabel(f"dispatch latency, {latency}, µs")
        arms = [arm for arm in STYLES if any(point.arm == arm for point in points)]
        figure.legend(handles=[*(_key(arm) for arm in arms), *([_model()] if modelled else []), _hollow()], loc="outside upper center", ncols=8, frameon=False, fontsize=8.5, handletextpad=0.3, columnspacing=1.2)
        figure.savefig(target, dpi=130, metadata={"Date": None} if target.suffix == ".svg" else None)


def _key(arm: str) -> Line2D:
    colour, marker = STYLES[arm]
    return Line2D([], [], linestyle="", marker=marker, color=colour, markersize=7, label=arm)


def _model() -> Line2D:
    return Line2D([], [], linestyle="", marker="x", color=MODEL, markersize=7, label="model: OpenMP, ONNX RT")


def _hollow() -> Line2D:
    return Line2D([], [], linestyle="", marker="o", markerfacecolor="none", markeredgecolor="#555555", markersize=7, label="hollow: dominated")


def _panel(axes: Axes, points: Sequence[Point], latency: str, modelled: Sequence[Modelled]) -> None:
    for one in modelled:
        axes.scatter([one.cpu], [one.p50], marker="x", s=44, linewidths=1.2, color=MODEL, zorder=2)
    for point in sorted(points, key=lambda point: point.arm.startswith("GFTL")):
        colour, marker = STYLES.get(point.arm, ("#888888", "."))
        dominated = bool(point.dominated_by.get(latency))
        options: dict[str, Any] = {"facecolors": "none" if dominated else colour, "edgecolors": colour, "zorder": 2 if dominated else 3}
        axes.scatter([point.cpu], [getattr(point, latency)], marker=marker, s=46, linewidths=1.1, alpha=0.9, **options)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(0.12, 0.15)
    axes.grid(True, which="major", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for axis, low, top in ((axes.xaxis, *axes.get_xlim()), (axes.yaxis, *axes.get_ylim())):
        axis.set_major_locator(FixedLocator(_ticks(low, top)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _ticks(low: float, top: float) -> list[float]:
    """Round numbers between the two, as many as can be read."""
    steps = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8) if top / low < 5 else (1, 2, 5) if top / low < 30 else (1, 3) if top / low < 400 else (1,)
    return [tick for power in range(-3, 7) for step in steps if low <= (tick := step * 10.0**power) <= top]


def _ratios(axes: Axes, points: Sequence[Point]) -> None:
    """Against the adversary, who gives every arm gaps of its own: cost ÷ the offline optimum."""
    known = sorted((point for point in points if point.ratio is not None), key=lambda point: -(point.ratio or 0.0))
    for place, point in enumerate(known):
        colour, marker = STYLES.get(point.arm, ("#888888", "."))
        axes.scatter([point.ratio or 1.0], [place], marker=marker, s=46, color=colour, zorder=3)
    axes.axvline(2.25, color="#c1121f", linewidth=0.9, linestyle="--")
    axes.text(2.35, len(known) - 0.6, "2.25 (+ 11 B)", color="#c1121f", fontsize=7.5, va="top")
    axes.set_xscale("log")
    axes.set_title("adversary: cost ÷ optimum")
    axes.set_yticks(range(len(known)), [point.arm for point in known], fontsize=7.5)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", axis="x", color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
