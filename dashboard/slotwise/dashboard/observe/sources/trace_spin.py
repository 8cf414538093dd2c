"""A trace of spinning, played into snapshots: each worker's time by what it did, and the slots of fan-outs as a resource.

A trace's clock stands still within a command: what a worker does after one, it does until the next. Whole windows and gaps apart from the
pool show nothing here.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from slotwise.impl import snapshot as s
from slotwise.spec import spin_vocabulary as v
from slotwise.spec import trace
from slotwise.spec.vocabulary import Observation

State = Literal["run", "spin", "yield", "park", "left"]
#: What a worker does after it was seen so. A worker that looks for tasks counts as spinning.
BECOMES: dict[str, State] = {
    "took": "run", "settled": "spin", "looks": "spin", "nothing_new": "spin", "spun": "spin", "caught": "spin", "again": "spin", "slept": "park", "woke": "spin", "left": "left",
}  # fmt: skip


@dataclass(slots=True)
class Worker:
    state: State = "spin"
    run: int = 0
    spin: int = 0
    park: int = 0
    hits: int = 0
    misses: int = 0
    wasted: int = 0
    entered: int | None = None   # when its window began, while it lasts
    window: int = 0

    def pass_by(self, time: int) -> None:
        match self.state:
            case "run":
                self.run += time
            case "park":
                self.park += time
            case "spin":
                self.spin += time
            case _:
                pass

    def seen(self, saw: Observation, at: int) -> None:
        word = str(saw[0])
        self.state = BECOMES.get(word, self.state)
        match word:
            case "nothing_new" if self.entered is None:
                self.entered = at
            case "caught":
                self.hits, self.window, self.entered = self.hits + 1, cast(int, saw[2]), None
            case "expired":
                self.misses, self.window = self.misses + 1, cast(int, saw[2])
                self.wasted += at - (at if self.entered is None else self.entered)
                self.entered = None
            case "woke":
                self.window = cast(int, saw[2])
            case _:
                pass

    def row(self, name: str) -> s.Worker:
        return s.Worker(name, self.state, self.run, self.spin, 0, self.park, self.hits, self.misses, self.wasted, self.window)


class Spinning:
    def __init__(self, read: trace.Trace, name: str) -> None:
        self.name, self.slots = name, read.header.profile.slots
        self.workers = {f"w{i}": Worker() for i in range(read.header.setup.workers)}
        self.held: dict[object, int] = {}                    # by dispatcher, since when
        self.started = self.now = read.steps[0].command.at if read.steps else 0
        self.busy_time = self.events = self.number = 0

    def snapshot(self, at: int, state: str) -> s.Snapshot:
        self.pass_to(at)
        self.number += 1
        slots = s.Resource("slots", self.slots, len(self.held), 0, 0, 0, 0, 0, self.busy_time, s.Histogram())
        rows = tuple(worker.row(name) for name, worker in self.workers.items())
        return s.Snapshot(s.VERSION, self.name, 0, self.started, at, self.number, self.events, 0, len(self.held), (slots,), workers=rows, state=state)

    def pass_to(self, at: int) -> None:
        for worker in self.workers.values():
            worker.pass_by(at - self.now)
        self.busy_time += len(self.held) * (at - self.now)
        self.now = at

    def step(self, line: trace.Step, at: int) -> None:
        self.pass_to(at)
        self.events += 1
        if isinstance(line.command, v.Wait | v.Script | v.Gap):
            return
        for saw in line.saw or ():
            actor = saw[1] if len(saw) > 1 else None
            if saw[0] == "held":
                self.held[actor] = at
            elif saw[0] in ("finished", "raised"):
                self.held.pop(actor, None)
            elif actor in self.workers:
                self.workers[str(actor)].seen(saw, at)
