"""The published scheduler, run with its own event log: `slotwise watch` reads what it writes, to the last task."""
from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from data_designer.config.column_configs import GenerationStrategy
from data_designer.config.scheduling import SchedulingMetadata
from data_designer.engine.column_generators.generators.base import FromScratchColumnGenerator
from data_designer.engine.dataset_builders.async_scheduler import AsyncTaskScheduler
from data_designer.engine.dataset_builders.row_group_plan import CompactRowGroupPlan
from data_designer.engine.dataset_builders.scheduling.completion import CompletionTracker
from data_designer.engine.dataset_builders.utils.execution_graph import ExecutionGraph
from data_designer.engine.dataset_builders.utils.row_group_buffer import RowGroupBufferManager
from data_designer.engine.observability import JsonlSchedulerEventSink

from slotwise.dashboard.observe.sources.source import find
from slotwise.impl.snapshot import Snapshot

pandas = pytest.importorskip("pandas")       # comes with the package
RECORDS, TOGETHER = 12, 3


class Root(FromScratchColumnGenerator):  # type: ignore[misc]
    """The column that all others need; nothing of the base class is used but its type."""

    is_order_dependent = False
    config = SimpleNamespace(name="root", side_effect_columns=[])

    def __init__(self) -> None:
        pass

    @staticmethod
    def get_generation_strategy() -> Any:
        return GenerationStrategy.FULL_COLUMN

    def get_scheduling_metadata(self) -> Any:
        return SchedulingMetadata.local()

    def generate(self, data: Any) -> Any:
        return data

    def generate_from_scratch(self, count: int) -> Any:
        return pandas.DataFrame({"root": range(count)})

    async def agenerate_from_scratch(self, count: int) -> Any:
        return self.generate_from_scratch(count)


class Leaf:
    is_order_dependent = False

    def __init__(self, name: str, fails_at: int = 0) -> None:
        self.config = SimpleNamespace(name=name, side_effect_columns=[])
        self.fails_at, self.calls = fails_at, 0

    def get_scheduling_metadata(self) -> Any:
        return SchedulingMetadata.local()

    async def agenerate(self, data: Any) -> Any:
        self.calls += 1
        await asyncio.sleep(0.002)
        if self.calls == self.fails_at:
            raise ValueError("on purpose")
        return {**data, self.config.name: 1}


class Storage:
    dataset_name = "sample"

    def write_batch_to_parquet_file(self, **_: Any) -> None:
        pass

    def move_partial_result_to_final_file_path(self, number: int) -> str:
        return str(number)

    def get_file_paths(self) -> dict[str, list[str]]:
        return {"parquet-files": []}

    def write_metadata(self, data: Any) -> None:
        pass


def run(log: Path) -> None:
    graph = ExecutionGraph()
    graph.add_column("root", GenerationStrategy.FULL_COLUMN)
    for leaf in ("left", "right"):
        graph.add_column(leaf, GenerationStrategy.CELL_BY_CELL)
        graph.add_edge("root", leaf)
    plan = CompactRowGroupPlan.fresh(num_records=RECORDS, buffer_size=TOGETHER)
    buffers = RowGroupBufferManager(Storage())

    async def main() -> None:
        with JsonlSchedulerEventSink(log) as sink:
            scheduler = AsyncTaskScheduler(
                {"root": Root(), "left": Leaf("left"), "right": Leaf("right", fails_at=5)}, graph, CompletionTracker.with_graph(graph, plan), plan, buffers,
                on_finalize_row_group=buffers.checkpoint_row_group, run_id="sample", scheduler_event_sink=sink, max_in_flight_tasks=2, disable_early_shutdown=True,
            )  # fmt: skip
            await scheduler.run()

    asyncio.run(main())


def test_what_it_writes_is_read_to_the_last_task(tmp_path: Path) -> None:
    run(tmp_path / "events.jsonl")

    async def read() -> list[Snapshot]:
        return [one async for one in find(str(tmp_path / "events.jsonl")).snapshots()]

    last = anyio.run(read)[-1]
    assert (last.program, last.state, last.leases, last.dropped) == ("data-designer sample", "ended: success", 0, 0)
    assert last.events == len((tmp_path / "events.jsonl").read_bytes().splitlines())
    groups = {g.name.rpartition("/")[2]: g for g in last.groups}
    assert {name: (g.waiting, g.running, g.submitted - g.started) for name, g in groups.items()} == {"root": (0, 0, 0), "left": (0, 0, 0), "right": (0, 0, 0)}
    assert groups["root"].finished == RECORDS // TOGETHER
    assert groups["right"].failed == 1
    assert groups["left"].started + groups["right"].started in (2 * RECORDS - 1, 2 * RECORDS)
    submission = next(r for r in last.resources if r.name == "submission")
    assert (submission.capacity, submission.busy) == (2, 0)
    assert sum(submission.hold.counts.values()) == sum(g.started for g in last.groups)
