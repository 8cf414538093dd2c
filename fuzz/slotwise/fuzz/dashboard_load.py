"""A scheduler that is kept busy for whoever watches it: `python -m slotwise.fuzz.dashboard_load SOCKET GROUPS WAITING`.

It does what its input says, a word a line, and answers each with a line of JSON (`Mark`): "pace N" gives it N jobs that do nothing each
second (0: as many as it can, -1: none), "hide" shows viewers nothing more, and "show" does so again, "mark" only asks, "stop" ends it. With WAITING,
so many jobs wait at any time, and eight run for 50 ms each.
"""
from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import anyio
import msgspec

from slotwise.impl.loops import soon_from_threads
from slotwise.impl.scheduler import Group, Scheduler

AT_ONCE = 256                            # jobs submitted between two looks at the clock
BEHIND = 4096                            # jobs that may wait before no more are submitted
CAPACITY = 8
PATIENCE = 30.0                          # seconds in which a viewer must take the last numbers
LASTS = 0.05                             # seconds, of a job where many wait
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Mark:
    """What the scheduler's process has done until now."""

    wall: float                          # s
    cpu: float                           # s
    jobs: int                            # over
    events: int
    rss: int                             # bytes
    tap: float                           # s of CPU, for its viewers


async def nothing() -> None:
    pass


def resident(process: int | str = "self") -> int:
    """Bytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * PAGE


class Load:
    def __init__(self, it: Scheduler, groups: int, waiting: int) -> None:
        self.it, self.waiting = it, waiting
        self.names = [f"group-{i:04}" for i in range(groups)]
        self.pace, self.given, self.stopped = -1.0, 0, False
        self._began, self._given = time.monotonic(), 0
        self.tap, self.shows, self.hidden = 0.0, 0, False
        assert it._tap is not None
        self._show = it._tap.show
        it._tap.show = self.show             # type: ignore[method-assign]

    def show(self) -> None:
        """The tap's, with its CPU time."""
        if not self.hidden:
            begun = time.thread_time()
            self._show()
            self.tap += time.thread_time() - begun
            self.shows += 1

    def set_pace(self, pace: float) -> None:
        self.pace, self._began, self._given = pace, time.monotonic(), 0

    def mark(self) -> Mark:
        # All that was submitted and does not wait any more has, between two steps of the loop, run to its end.
        return Mark(time.monotonic(), time.process_time(), self.given - len(self.it._waiting) - len(self.it._ready), self.it._meter.events, resident(), self.tap)

    def wanted(self) -> int:
        """Jobs that are due now."""
        if self.pace < 0 or len(self.it._waiting) > BEHIND:
            return 0
        return AT_ONCE if not self.pace else min(AT_ONCE, int((time.monotonic() - self._began) * self.pace) - self._given)

    def submit(self, count: int) -> None:
        names, groups = self.names, len(self.names)
        for i in range(self.given, self.given + count):
            self.it.submit(nothing, group=names[i % groups], forget=True)
        self.given += count
        self._given += count

    async def run(self) -> None:
        if self.waiting:
            await self.keep_waiting()
            return
        while not self.stopped:
            if (wanted := self.wanted()) > 0:
                self.submit(wanted)
                await anyio.lowlevel.checkpoint()
            else:
                await anyio.sleep(0.001)

    async def shown_to_all(self) -> None:
        """Until every viewer has been given the last numbers."""
        tap, shows = self.it._tap, self.shows
        assert tap is not None
        with anyio.move_on_after(PATIENCE):
            while tap.viewers and (self.shows == shows or any(viewer.kept for viewer in tap._viewers)):
                await anyio.sleep(0.01)

    async def keep_waiting(self) -> None:
        """Whenever one has ended, another waits."""
        def another() -> None:
            self.it.submit(busy, group=self.names[self.given % len(self.names)], forget=True)
            self.given += 1

        async def busy() -> None:
            await anyio.sleep(LASTS)
            if not self.stopped:
                another()

        for _ in range(self.waiting + CAPACITY):
            another()
        while not self.stopped:
            await anyio.sleep(0.01)
        raise Enough


class Enough(Exception):
    """Nobody waits for the jobs that are left."""


def listen(load: Load, soon: Callable[[Callable[[], None]], None]) -> None:
    """A thread's: what is read is done in the loop, between two steps."""
    for line in sys.stdin:
        words = line.split()

        def act(words: list[str] = words) -> None:
            if words[0] == "pace":
                load.set_pace(float(words[1]))
            elif words[0] in ("hide", "show"):
                load.hidden = words[0] == "hide"
            load.stopped = load.stopped or words[0] == "stop"
            answer(load.mark())

        soon(act)
        if words[0] == "stop":
            return
    soon(lambda: setattr(load, "stopped", True))


def answer(mark: Mark) -> None:
    sys.stdout.write(msgspec.json.encode(asdict(mark)).decode() + "\n")
    sys.stdout.flush()


async def main(socket: str, groups: int, waiting: int) -> None:
    made = [Group(f"group-{i:04}", weight=float(1 + i % 3)) for i in range(groups)]
    try:
        async with Scheduler({"llm": CAPACITY}, made, name="load", tap=socket) as it:
            load = Load(it, groups, waiting)
            threading.Thread(target=listen, args=(load, soon_from_threads()), daemon=True).start()
            answer(load.mark())
            await load.run()
            await it.drain()
            await load.shown_to_all()
            answer(load.mark())
    except Enough:
        pass


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
