"""A trace of spinning, played into snapshots: each worker's time by what it did, and the slots of fan-outs as a resource.

A trace's clock stands still within a command: what a worker does after one, it does until the next. Whole windows and gaps apart from the
pool show nothing here.
"""
from __future__ import annotations

from collections.abc import Iterator
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


def spinning(read: trace.Trace, name: str, step: int) -> Iterator[s.Snapshot]:
    """A snapshot every `step` ns of the trace, and one at its end."""
    setup, profile = read.header.setup, read.header.profile
    workers = {f"w{i}": Worker() for i in range(setup.workers)}
    held: dict[object, int] = {}                         # by dispatcher, since when
    busy_time, number, started = 0, 0, read.steps[0].command.at if read.steps else 0
    now = started
    next_at = started

    def snapshot(at: int, state: str = "running") -> s.Snapshot:
        slots = s.Resource("slots", profile.slots, len(held), 0, 0, 0, 0, 0, busy_time, s.Histogram())
        return s.Snapshot(s.VERSION, name, 0, started, at, number, number, 0, len(held), (slots,), workers=tuple(w.row(of) for of, w in workers.items()), state=state)

    def pass_to(at: int) -> None:
        nonlocal busy_time, now
        for worker in workers.values():
            worker.pass_by(at - now)
        busy_time += len(held) * (at - now)
        now = at

    for line in read.steps:
        at = max(now, line.command.at)
        while next_at + step <= at:
            next_at += step
            pass_to(next_at)
            yield snapshot(next_at)
        pass_to(at)
        number += 1
        if isinstance(line.command, v.Wait | v.Script | v.Gap):
            continue
        for saw in line.saw or ():
            actor = saw[1] if len(saw) > 1 else None
            if saw[0] == "held":
                held[actor] = at
            elif saw[0] in ("finished", "raised"):
                held.pop(actor, None)
            elif actor in workers:
                workers[str(actor)].seen(saw, at)
    yield snapshot(now, "ended")
