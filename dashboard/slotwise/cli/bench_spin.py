"""`slotwise bench spin`: the frontier as tables beside the bars, and as a picture."""
from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from slotwise.cli.output import Stop, table, writable
from slotwise.fuzz.bench import Figure, NotAvailable

if TYPE_CHECKING:
    from slotwise.fuzz.bench_spin import Report
    from slotwise.fuzz.spin_analysis import Point
    from slotwise.fuzz.spin_models import Modelled

HEAD = ("", "CPU µs/gap", "p50 µs", "p99 µs", "sleeps/gap", "wakeups/s", "ratio", "dominated in CPU, p50 by", "in CPU, p99 by")
RIGHT = "CPU µs/gap,p50 µs,p99 µs,sleeps/gap,wakeups/s,ratio"
NAME, COMMAND, BLOCKS = "spin", "slotwise bench spin", 4


def measured(blocks: int, told: Callable[[str], None]) -> tuple[list[Figure], Report | None]:
    """The figures, and the whole report if there is one."""
    from slotwise.fuzz import bench_spin

    try:
        report = bench_spin.measure(blocks, tell=lambda note: told(f"{NAME}: {note}"))
    except NotAvailable as error:
        return [Figure(NAME, None, "", "", None, COMMAND, f"not available: {error}")], None
    return [Figure(f.name, f.figure, f.unit, f.bar, f.met, COMMAND, f.note) for f in report.figures], report


def may_be_pictured(target: Path) -> None:
    """Raises Stop now, rather than after minutes, if there could be no picture."""
    if target.suffix not in (".svg", ".png"):
        raise Stop(f"--picture: {target} must end with .svg or .png")
    if find_spec("matplotlib") is None:
        raise Stop("--picture: matplotlib is missing: pip install 'slotwise[bench]'")
    writable("--picture", target)


def pictured(report: Report, target: Path) -> None:
    """Raises Stop, in one line, if it can't be drawn or written."""
    try:
        from slotwise.fuzz.spin_picture import draw
    except ImportError as error:
        raise Stop(f"--picture: {error.name} is missing: pip install 'slotwise[bench]'") from None
    try:
        draw(report.points, report.drifts, target, modelled=report.modelled)
    except (OSError, ValueError) as error:
        raise Stop(f"--picture {target}: {' '.join(str(error).split())}") from None


def tables(report: Report) -> str:
    """For each trace its arms, CPU ascending, with what the model says of other runtimes; then the model's sixteen threads."""
    from slotwise.fuzz.spin_analysis import NULL

    parts = []
    for trace, moved in report.drifts.items():
        points = [point for point in report.points if point.trace == trace and not point.arm.startswith(NULL)]
        rows = [(point.cpu, row(point)) for point in points] + [(one.cpu, modelled(one)) for one in report.modelled if one.trace == trace]
        drifts = ", ".join(f"{metric} ×{factor:.2f}" for metric, factor in moved.items())
        title = f"gaps: {trace} ({min(point.samples for point in points):,} to an arm; the null arms drift by {drifts})"
        parts.append(f"{title}\n{table(HEAD, [cells for _, cells in sorted(rows, key=lambda of: of[0])], RIGHT)}")
    policies = list(next(iter(report.cores.values())))
    wide = [(costs, *(f"{found[name]:.1f}" for name in policies)) for costs, found in report.cores.items()]
    parts.append(f"model: cores that a pool of 16 burns at gaps of 300 µs, work of 20 µs\n{table(('park costs', *policies), wide, ','.join(policies))}")
    return "\n\n".join(parts)


def row(point: Point) -> tuple[str, ...]:
    ratio = "-" if point.ratio is None else f"{point.ratio:.2f}"
    by = (several(point.dominated_by.get(latency)) for latency in ("p50", "p99"))
    return (point.arm, f"{point.cpu:,.1f}", f"{point.p50:.2f}", f"{point.pooled99:,.1f}", f"{point.sleeps:.2f}", f"{point.wakeups:,.0f}", ratio, *by)


def modelled(one: Modelled) -> tuple[str, ...]:
    return (f"model: {one.arm}", f"{one.cpu:,.1f}", f"{one.p50:.2f}", "-", "-", "-", "-", "", "")


def several(names: list[str] | None) -> str:
    """`?`: not judged."""
    return "?" if names is None else "" if not names else names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
