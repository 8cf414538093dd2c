"""A slotwise trace, played into snapshots: what its commands asked and what was seen."""
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from slotwise.dashboard.observe.sources.fold import Fold
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.impl.snapshot import Snapshot
from slotwise.spec import trace
from slotwise.spec import vocabulary as v

PER_RUN = 600                                # snapshots of a whole trace, about


def is_one(first: bytes) -> bool:
    return first.startswith(b'{"slotwise":')


class TraceFile:
    live, coarse = False, False

    def __init__(self, name: str) -> None:
        self.name = name

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        import anyio.lowlevel
        import anyio.to_thread

        for snapshot in self._play(await anyio.to_thread.run_sync(self._read)):
            yield snapshot
            await anyio.lowlevel.checkpoint()

    def played(self) -> Iterator[Snapshot]:
        """The same without an event loop."""
        return self._play(self._read())

    def _read(self) -> trace.Trace:
        try:
            return trace.read(Path(self.name))
        except trace.TraceError as error:
            raise SourceError(self.name, str(error).removeprefix(f"{self.name}: ")) from None

    def _play(self, read: trace.Trace) -> Iterator[Snapshot]:
        if read.header.mechanism == "admission":
            play = admission(read, Path(self.name).name)
        elif read.header.mechanism == "batching":
            from slotwise.dashboard.observe.sources.trace_batching import batching

            play = batching(read, Path(self.name).name)
        else:
            from slotwise.dashboard.observe.sources.trace_spin import spinning

            play = spinning(read, Path(self.name).name, instants(read))
        unseen = next((number for number, step in enumerate(read.steps, 2) if step.saw is None), None)
        if unseen is not None:
            raise SourceError(self.name, f"line {unseen} does not say what was seen; slotwise replay plays such a trace")
        yield from play


def instants(read: trace.Trace) -> int:
    """The time between two snapshots."""
    times = [step.command.at for step in read.steps]
    return max(1, (max(times) - min(times)) // PER_RUN) if times else 1


def admission(read: trace.Trace, name: str) -> Iterator[Snapshot]:
    fold = Fold(name, read.header.setup.capacity, read.steps[0].command.at if read.steps else 0)
    step, next_at = instants(read), fold.started
    for line in read.steps:
        command: Any = line.command
        while next_at + step <= command.at:
            next_at += step
            yield fold.snapshot(next_at)
        play(fold, line)
    fold.state = "ended"
    yield fold.snapshot()


def play(fold: Fold, line: trace.Step) -> None:
    """One command, and what was seen."""
    command: Any = line.command
    fold.pass_to(command.at)
    fold.events += 1
    tasks = {task.id: task for task in command.tasks} if isinstance(command, v.Enqueue) else {}
    if isinstance(command, v.Enqueue):
        for group in command.groups:
            fold.group(group.name, group.weight, group.running_limit)
    for saw in line.saw or ():
        seen(fold, saw, tasks, command.at)
    if isinstance(command, v.Pump | v.Select) and line.saw and line.saw[-1][0] in ("drained", "blocked"):
        fold.due = False                     # what waits now is kept waiting


def seen(fold: Fold, saw: v.Observation, tasks: dict[str, v.Task], at: int) -> None:
    match saw:
        case ("accepted", str(task)) if task in tasks:
            fold.waits(task, tasks[task].group, tasks[task].needs, at)
            fold.due = True
        case ("started", lease, str(task), *_):
            fold.starts(task, str(lease), at)
        case ("released", lease):
            fold.ends(str(lease), at)
            fold.due = True
        case ("discarded", str(task)):
            fold.discarded(task, at)
            fold.due = True
        case ("refused", str(task), str(reason)):
            fold.refused(task, reason, at)
        case _:
            pass
