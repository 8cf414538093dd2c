"""What a recording costs the scheduler that is recorded, how large it is, and how long it takes to see an instant of it.

The workload of `bench runtime`: tasks that do nothing, in two groups, so the costliest there is by event: about six events to a task.
"""
from __future__ import annotations

import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from slotwise.fuzz.bench import Figure, NotAvailable, native, plain

TASKS, AT_ONCE, ROUNDS = 10_000, 500, 7
EVENTS = 1_000_000


async def nothing() -> None:
    pass


def work(tasks: int, **options: Any) -> tuple[float, float, float]:
    """CPU of the loop's thread and of the whole process, and time, each µs for a task. The beginning and the end, when the file is opened and closed, are not in it."""
    import anyio

    from slotwise.impl.scheduler import Group, Scheduler

    async def main() -> tuple[float, float, float]:
        async with Scheduler({"llm": 8}, [Group("hot", weight=2.0), Group("cold")], **options) as it:
            begun = time.thread_time(), time.process_time(), time.perf_counter()
            for _ in range(0, tasks, AT_ONCE):
                for job in [it.submit(nothing, group=("hot", "cold")[i % 2]) for i in range(AT_ONCE)]:
                    await job
            ended = time.thread_time(), time.process_time(), time.perf_counter()
            loop, process, wall = ((b - a) / tasks * 1e6 for a, b in zip(begun, ended, strict=True))
            return loop, process, wall

    return anyio.run(main)


def recording() -> list[Figure]:
    native()
    try:
        from slotwise.impl.recording_file import open_recording
        from slotwise.impl.recording_format import arrow
        from slotwise.impl.tape import Tape

        arrow()
    except ModuleNotFoundError as error:
        raise NotAvailable(str(error)) from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.parquet")
        arms: dict[str, Any] = {"plain": dict, "tape": lambda: {"tape": Tape(1_000_000)}, "recording": lambda: {"recording": path}}
        rounds = [{name: work(TASKS, **options()) for name, options in arms.items()} for _ in range(ROUNDS)]

        def ratio(name: str, which: int) -> float:
            return median(spent[name][which] / spent["plain"][which] for spent in rounds)

        note = f"asyncio, {TASKS:,} tasks that do nothing, medians of {ROUNDS} turns in one run"
        figures = [
            plain("a task without recording, the loop's thread", median(spent["plain"][0] for spent in rounds), "µs", note),
            plain("with a tape ÷ without, the loop's thread", ratio("tape", 0), "x", note),
            plain("with a recording ÷ without, the loop's thread", ratio("recording", 0), "x", note),
            plain("with a recording ÷ without, CPU of all threads", ratio("recording", 1), "x", note),
            plain("with a recording ÷ without, time", ratio("recording", 2), "x", note),
        ]
        work(EVENTS // 6, recording=path)
        begun = time.perf_counter()
        with open_recording(path) as found:
            opened = (time.perf_counter() - begun) * 1e3
            events = sum(piece.rows for piece in found.pieces)
            dice, times = Random(0), []
            for _ in range(30):
                at = dice.randrange(found.first_ns, found.last_ns)
                begun = time.perf_counter()
                found.snapshot_at(at)
                times.append((time.perf_counter() - begun) * 1e3)
            dropped = found.snapshot_at(found.last_ns).dropped
            note = f"{events:,} events, {len(found.pieces)} row groups, {dropped:,} dropped"
            times.sort()
            figures += [
                plain("a closed recording, by event", path.stat().st_size / events, "bytes", note),
                plain("opening it", opened, "ms", note),
                plain("seeing an instant of it, median", median(times), "ms", note),
                plain("seeing an instant of it, slowest of 30", times[-1], "ms", note),
            ]
    return figures
