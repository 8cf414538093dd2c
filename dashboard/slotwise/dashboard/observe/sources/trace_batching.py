"""A trace of the checkpoint collector, played into snapshots of one batcher: counted as a running one is."""
from __future__ import annotations

from slotwise.impl.checkpoint_counts import Counts
from slotwise.impl.snapshot import VERSION, Snapshot
from slotwise.spec import batching_vocabulary as b
from slotwise.spec import trace

LATEST = 20                                  # batches and waves that a snapshot has


class Collecting:
    def __init__(self, read: trace.Trace, name: str) -> None:
        self.name, self.started = name, read.steps[0].command.at if read.steps else 0
        self.counts = Counts(read.header.profile.discipline, LATEST)
        self.events = self.number = 0

    def snapshot(self, at: int, state: str) -> Snapshot:
        self.number += 1
        return Snapshot(VERSION, self.name, 0, self.started, at, self.number, self.events, 0, 0, batchers=(self.counts.row(self.name),), state=state)

    def step(self, line: trace.Step, at: int) -> None:
        self.events += 1
        counts, saw = self.counts, list(line.saw or ())
        if saw and saw[0][0] == "time_reversed":
            return
        match line.command:
            case b.Submit(size=size, empty=empty):
                counts.submitted(size, empty, saw, at)
            case b.Refresh(id=id, key=key, due=due):
                counts.refreshed(id, key, due, saw, at)
            case b.Stop():
                counts.stopped()
            case b.Pump():
                counts.pumped(saw, at)
            case b.Respond() | b.Page():
                counts.answered(saw, at, "ok")
            case b.Fail():
                counts.answered(saw, at, "failed")
            case _:
                counts.seen(saw, at)
