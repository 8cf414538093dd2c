"""How long `slotwise watch --once` takes from the start of its process to its end, beside Python and typer alone, in one run."""
from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from slotwise.fuzz.bench import Figure, at_most, plain

BAR = 0.3                                # seconds


def start(folder: Path, turns: int) -> list[Figure]:
    """One look at a trace, beside Python and typer, in turns."""
    trace = folder / "one.slotwise.jsonl"
    write_trace(trace)
    works = {"python -c pass": ["-c", "pass"], "python -c 'import typer'": ["-c", "import typer"], "slotwise watch --once": ["-m", "slotwise.cli.start", "watch", str(trace), "--once"]}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for turn in range(turns + 1):
        for name, arguments in works.items():
            spent = once(arguments)
            if turn:                         # the first fills caches
                found[name].append(spent)
    wall, cpu = ({name: median(spent[i] for spent in spents) for name, spents in found.items()} for i in (0, 1))
    bare, typer, look = works
    return [at_most("dashboard: one look at a trace", wall[look], "s", BAR, f"{len(found[look])} in turns; CPU {cpu[look]:.3f} s"),
            plain("dashboard: one look ÷ python -c pass, CPU", cpu[look] / cpu[bare], "x"), plain("dashboard: one look ÷ python -c 'import typer', CPU", cpu[look] / cpu[typer], "x")]  # fmt: skip


def once(arguments: list[str]) -> tuple[float, float]:
    """Wall and CPU seconds of a Python."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    wall, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_trace(path: Path, jobs: int = 100) -> None:
    import anyio

    from slotwise.fuzz.dashboard_load import nothing
    from slotwise.impl.scheduler import Scheduler

    async def main() -> None:
        async with Scheduler({"llm": 2}, record=path) as it:
            for _ in range(jobs):
                it.submit(nothing, forget=True)

    anyio.run(main)
