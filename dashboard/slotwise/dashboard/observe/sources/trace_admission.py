"""A trace of admission, played into snapshots; what its groups owe is the engine's word."""
from __future__ import annotations

from typing import Any

from slotwise.dashboard.observe.sources.fold import Fold
from slotwise.impl._native import Admission
from slotwise.impl.snapshot import Snapshot
from slotwise.spec import trace
from slotwise.spec import vocabulary as v


class Debts:
    """What groups owe is not in a trace. The engine says it: it plays the commands beside it, for as long as it sees what the trace says was
    seen. From there on, and under a profile that keeps no debts, nothing is known."""

    def __init__(self, header: trace.Header) -> None:
        self._engine = Admission(header.profile, header.setup.capacity) if isinstance(header.profile.discipline, v.BoundedBorrow) else None

    def step(self, line: trace.Step) -> None:
        if self._engine is not None and list(map(tuple, self._engine.step(line.command))) != list(map(tuple, line.saw or ())):
            self._engine = None

    def now(self) -> dict[str, dict[str, int]]:
        return {} if self._engine is None else self._engine.debts()


class Admitting:
    def __init__(self, read: trace.Trace, name: str) -> None:
        self.fold, self.debts = Fold(name, read.header.setup.capacity, read.steps[0].command.at if read.steps else 0), Debts(read.header)

    def step(self, line: trace.Step, at: int) -> None:
        play(self.fold, line)
        self.debts.step(line)

    def snapshot(self, at: int, state: str) -> Snapshot:
        self.fold.debts, self.fold.state = self.debts.now(), state
        return self.fold.snapshot(at)


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
