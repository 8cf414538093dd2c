"""A small live scheduler, steered over stdin: `hold` keeps all slots busy and lets a group wait, `ease` gives them back, `told` says what it has done."""
from __future__ import annotations

import sys

import anyio

from slotwise.impl.scheduler import Group, Scheduler

SLO = 0.3                                   # seconds after which a waiting group starves


async def main(socket: str) -> None:
    async with Scheduler({"llm": 2}, [Group("hog"), Group("meek")], name="steered", slo=SLO, tap=socket) as scheduler:
        eased, held, done = anyio.Event(), anyio.Semaphore(0), 0

        async def hold() -> None:
            held.release()
            await eased.wait()

        async def tick() -> None:
            nonlocal done
            done += 1

        say("ready")
        while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            match line.strip():
                case "hold":
                    for _ in range(2):
                        scheduler.submit(hold, group="hog")
                        await held.acquire()            # else the others would come first: they get as much as the hog
                    for _ in range(3):
                        scheduler.submit(tick, group="meek")
                case "ease":
                    eased.set()
                    eased = anyio.Event()
                case "work":                # whatever is free does it, now
                    await scheduler.submit(tick, group="meek")
            say(f"{line.strip()} done={done}")
        eased.set()


def say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
