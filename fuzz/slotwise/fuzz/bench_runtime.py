"""The bars of the live scheduler, measured: what it adds to a task that does nothing, beside the published package's scheduler in one run.

A task's overhead is the CPU time of the whole, from submission to the awaited result, by task. With the package, a record is one cell of one
column whose generator does nothing, driven as its own builder drives it, without writing files.
"""
from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

from slotwise.fuzz.bench import Figure, NotAvailable, at_least, at_most, native, plain

TASKS = 10_000
BACKENDS = ("trio", "asyncio")


async def nothing() -> None:
    pass


def ours(backend: str, tasks: int = TASKS, **options: Any) -> float:
    """CPU µs for a task."""
    import anyio

    from slotwise.impl.scheduler import Group, Scheduler

    async def main() -> float:
        async with Scheduler({"llm": 8}, [Group("hot", weight=2.0), Group("cold")], **options) as it:
            begun = time.process_time()
            jobs = [it.submit(nothing, group=("hot", "cold")[i % 2]) for i in range(tasks)]
            for job in jobs:
                await job
            it.snapshot()                        # whatever was put off until somebody looks
            return (time.process_time() - begun) / tasks * 1e6

    return anyio.run(main, backend=backend)


def one_by_one(backend: str, tasks: int = TASKS // 4, measured: bool = True) -> float:
    """The same where each is awaited before the next is submitted, so that a worker has to be woken for each; or what that costs if nothing is measured."""
    import anyio

    from slotwise.impl.meter_log import MeterLog
    from slotwise.impl.scheduler import Scheduler

    class Deaf(MeterLog):
        def waits(self, *_: Any, **due: Any) -> None: ...
        def starts(self, *_: Any, **due: Any) -> None: ...
        def ends(self, *_: Any, **due: Any) -> None: ...
        def turns(self, *_: Any, **due: Any) -> None: ...

    async def main() -> float:
        async with Scheduler({"llm": 8}) as it:
            if not measured:
                it._log = Deaf(it._meter)
            begun = time.process_time()
            for _ in range(tasks):
                await it.submit(nothing)
            it.snapshot()
            return (time.process_time() - begun) / tasks * 1e6

    return anyio.run(main, backend=backend)


def theirs() -> Callable[[int], float]:
    """CPU µs for a record in the published package, by number of records."""
    try:
        import pandas
        from data_designer.config.column_configs import GenerationStrategy
        from data_designer.config.scheduling import SchedulingMetadata
        from data_designer.engine.column_generators.generators.base import FromScratchColumnGenerator
        from data_designer.engine.dataset_builders.async_scheduler import AsyncTaskScheduler
        from data_designer.engine.dataset_builders.row_group_plan import CompactRowGroupPlan
        from data_designer.engine.dataset_builders.scheduling.completion import CompletionTracker
        from data_designer.engine.dataset_builders.utils.execution_graph import ExecutionGraph
        from data_designer.engine.dataset_builders.utils.row_group_buffer import RowGroupBufferManager
    except ImportError as error:
        raise NotAvailable(f"data-designer cannot be loaded ({error}): install slotwise[upstream]") from None

    class Cell:
        config = SimpleNamespace(name="cell", side_effect_columns=[])
        is_order_dependent = False

        def get_scheduling_metadata(self) -> Any:
            return SchedulingMetadata.local()

        async def agenerate(self, data: dict[str, Any]) -> dict[str, Any]:
            return {"cell": 1}

    class Root(FromScratchColumnGenerator):  # type: ignore[misc]
        is_order_dependent = False
        config = SimpleNamespace(name="root", side_effect_columns=[])

        def __init__(self) -> None:          # it needs none of what the base class would build
            pass

        def get_scheduling_metadata(self) -> Any:
            return SchedulingMetadata.local()

        @staticmethod
        def get_generation_strategy() -> Any:
            return GenerationStrategy.FULL_COLUMN

        def generate(self, data: Any) -> Any:
            return data

        def generate_from_scratch(self, records: int) -> Any:
            return pandas.DataFrame({"root": range(records)})

        async def agenerate_from_scratch(self, records: int) -> Any:
            return self.generate_from_scratch(records)

    Root.__abstractmethods__ = frozenset()

    def run(records: int) -> float:
        graph = ExecutionGraph()
        graph.add_column("root", GenerationStrategy.FULL_COLUMN)
        graph.add_column("cell", GenerationStrategy.CELL_BY_CELL)
        graph.add_edge("root", "cell")
        plan = CompactRowGroupPlan.fresh(num_records=records, buffer_size=1000)
        tracker, buffer, done = CompletionTracker.with_graph(graph, plan), RowGroupBufferManager(SimpleNamespace(dataset_name="none")), [0]

        def finalize(group: int) -> None:
            size = plan.row_group_size(group)
            done[0] += sum("cell" in buffer.get_row(group, i) for i in range(size))
            buffer.free_row_group(group)

        async def main() -> float:
            scheduler = AsyncTaskScheduler({"root": Root(), "cell": Cell()}, graph, tracker, plan, buffer, on_finalize_row_group=finalize, num_records=0, buffer_size=0, run_id="bench")
            begun = time.process_time()
            await scheduler.run()
            return (time.process_time() - begun) / records * 1e6

        level = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            spent = asyncio.run(main())
        finally:
            logging.disable(level)
        if done[0] != records:
            raise NotAvailable(f"data-designer finished {done[0]} of {records} records")
        return spent

    return run


def overhead() -> list[Figure]:
    native()
    works: dict[str, Callable[[], float]] = {backend: partial(ours, backend) for backend in BACKENDS}
    missing = ""
    try:
        package = theirs()
        works["data-designer"] = lambda: package(2000)
    except NotAvailable as error:
        missing = str(error)
    rounds = [{name: work() for name, work in works.items()} for _ in range(5)]
    found = {name: median(spent[name] for spent in rounds) for name in works}
    note = "submission, admission, start, release, result; two groups, capacity 8"
    figures = [at_most(f"live scheduler, {backend}: a task that does nothing", found[backend], "µs", 30, note) for backend in BACKENDS]
    if missing:
        return [*figures, Figure("data-designer's scheduler ÷ live scheduler", None, "", "", None, "", f"not available: {missing}")]
    return [*figures, *(at_least(f"data-designer's scheduler ÷ live scheduler, {backend}", found["data-designer"] / found[backend], "x", 5, "the same: a record that does nothing") for backend in BACKENDS),
            plain("data-designer's scheduler: a record that does nothing", found["data-designer"], "µs")]  # fmt: skip


def events() -> list[Figure]:
    """What folding costs, by event, and a snapshot."""
    from slotwise.impl.jobs import Job
    from slotwise.impl.meter import Meter
    from slotwise.impl.meter_log import MeterLog
    from slotwise.spec.vocabulary import Group

    def fold(groups: int, jobs: int = 20_000) -> tuple[float, Meter]:
        log = MeterLog(meter := Meter({"llm": 8}))
        shape, rows = meter.shape({"llm": 1}), [meter.group(Group(f"g{i}")) for i in range(groups)]
        made: list[Any] = [Job(None, str(i), rows[i % groups], shape, nothing, (), None, False) for i in range(jobs)]    # type: ignore[arg-type]
        running: list[Any] = []
        at, begun = 0, time.process_time()
        for job in made:
            at += 10
            log.waits(job, at)
            if len(running) == 8:
                log.ends(running.pop(), at + 5)
            job._since = at + 5
            log.starts(job, at + 5)
            running.append(job)
        return (time.process_time() - begun) / log.folded().events * 1e9, meter

    figures = []
    for groups in (1, 1000):
        spent = median(fold(groups)[0] for _ in range(5))
        meter = fold(groups)[1]
        begun = time.process_time()
        for _ in range(20):
            meter.frozen_groups(meter.at, 0)
        taken = (time.process_time() - begun) / 20
        figures += [plain(f"an event noted and folded, {groups} groups", spent, "ns", "the loop that makes the events included"), plain(f"the groups of a snapshot, {groups} groups", taken * 1e3, "ms")]
    return figures


VIEWER = """
import socket, sys
it = socket.socket(socket.AF_UNIX)
it.connect(sys.argv[1])
while it.recv(65536):
    pass
"""


def watched(backend: str, tasks: int = 2 * TASKS) -> list[Figure]:
    """What a viewer in another process costs the scheduler, as part of its CPU time."""
    import anyio

    from slotwise.impl.scheduler import Group, Scheduler

    async def main(path: Path | None) -> float:
        async with Scheduler({"llm": 8}, [Group(f"g{i}") for i in range(100)], tap=path or False) as it:
            viewer = None if path is None else subprocess.Popen([sys.executable, "-c", VIEWER, str(path)])
            while viewer is not None and it._tap is not None and not it._tap.viewers:
                await anyio.sleep(0.01)
            begun = time.process_time()
            for start in range(0, tasks, 1000):
                for job in [it.submit(nothing, group=f"g{i % 100}") for i in range(start, start + 1000)]:
                    await job
                await anyio.sleep(0)
            spent = time.process_time() - begun
        if viewer is not None:
            viewer.wait()
        return spent

    with tempfile.TemporaryDirectory() as place:
        pairs = [(anyio.run(main, None, backend=backend), anyio.run(main, Path(place) / "s", backend=backend)) for _ in range(7)]
    alone, seen = (median(pair[i] for pair in pairs) for i in (0, 1))
    return [plain(f"live scheduler, {backend}: slowed by a viewer", 100 * (seen / alone - 1), "%", "100 groups, ten snapshots a second to another process; flat out, so read the order only")]


def alone() -> list[Figure]:
    """One at a time, on both in turn."""
    rounds = [{backend: one_by_one(backend) for backend in BACKENDS} for _ in range(5)]
    note = "each awaited before the next is submitted: a worker is woken for each, and then who awaits it"
    found = {backend: median(spent[backend] for spent in rounds) for backend in BACKENDS}
    deaf = {backend: median(one_by_one(backend, measured=False) for _ in range(5)) for backend in BACKENDS}
    return [
        *(at_most(f"live scheduler, {backend}: one at a time", found[backend], "µs", 30, note) for backend in BACKENDS),
        *(plain(f"of that for what is measured, {backend}", found[backend] - deaf[backend], "µs", "three events noted and folded, where they happen") for backend in BACKENDS),
    ]


def runtime() -> list[Figure]:
    """All of it."""
    return [*overhead(), *alone(), *watched("trio"), *events()]


BENCHES = {"runtime": runtime}
