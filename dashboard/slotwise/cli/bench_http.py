"""`slotwise bench http`: the walls of three profiles side by side, and beside them what was published."""
from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING

from slotwise.cli.output import table
from slotwise.fuzz.bench import Figure, NotAvailable

if TYPE_CHECKING:
    from slotwise.fuzz.bench_http import Report

NAME, COMMAND = "http", "slotwise bench http"
HEAD = ("", "wall ms", "least", "most", "records/s", "slots used", "held ms", "idle slot-ms", "against after", "against before")
RIGHT = "wall ms,least,most,records/s,slots used,held ms,idle slot-ms"


def measured(told: Callable[[str], None]) -> tuple[list[Figure], Report | None]:
    """The figures, and the whole report if there is one. Raises CheckFailed."""
    from slotwise.fuzz import bench_http

    try:
        report = bench_http.measure(tell=lambda note: told(f"{NAME}: {note}"))
    except NotAvailable as error:
        return [Figure(NAME, None, "", "", None, COMMAND, f"not available: {error}")], None
    return [Figure(f.name, f.figure, f.unit, f.bar, f.met, COMMAND, f.note) for f in report.figures], report


def tables(report: Report) -> str:
    from slotwise.fuzz.bench_http import AFTER, BEFORE, PUBLISHED

    called, parts = {BEFORE: "before: ", AFTER: "after: "}, []
    for load, arms in report.runs.items():
        rows = []
        for arm, runs in arms.items():
            walls = [run.wall * 1000 for run in runs]
            changes = [str(report.change(load, arm, other)) if other != arm and (arm, other) != (BEFORE, AFTER) else "" for other in (AFTER, BEFORE)]
            cells = (f"{wall:,.0f}" for wall in (median(walls), min(walls), max(walls)))
            used, held, idle = (median(numbers) for numbers in zip(*((run.used, run.held, run.idle) for run in runs), strict=True))
            rows.append((f"{called.get(arm, '')}{arm}", *cells, f"{1000 * load.records / median(walls):.1f}", f"{100 * used:.1f}%", f"{held:.1f}", f"{idle:,.0f}", *changes))
        runs_of_all = [run for runs in arms.values() for run in runs]
        late = median(run.late for run in runs_of_all)
        title = f"{load.name}: {len(runs_of_all)} runs; the models alone need {load.least * 1000:,.0f} ms; the server's answers come {late:.1f} ms late"
        parts.append(f"{title}\n{table(HEAD, rows, RIGHT)}")
        if load in PUBLISHED:
            before, after, changed = PUBLISHED[load]
            parts[-1] += f"\npublished, from another machine and the whole product: before {before * 1000:,.0f} ms, after {after * 1000:,.0f} ms, {changed}"
    if report.virtual:
        alone = ", ".join(f"{percent:+.2f}% ({load.name})" for load, percent in report.virtual.items())
        parts.append(f"the discipline alone, in virtual time, where client and server need none: ours against after {alone}")
    told = f"{report.requests:,} measured requests; every run: all answers right, never above the endpoint's capacity, nothing held, waiting or active at the end"
    parts.append("held: a request's slot, in the mean; the models alone need 42.5 ms. idle: slots that were free while a task could have had them")
    parts.append(f"{told}; load average {report.busy[0]:.2f} before, {report.busy[1]:.2f} after")
    return "\n\n".join(parts)
