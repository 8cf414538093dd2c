"""Work run by the live scheduler: people who chat, and a nightly batch, ask one model that takes eight requests at a time.

    python -m slotwise.fuzz.sample.run_work                                   (add `trio`: it runs there too)
    slotwise watch --run "python -m slotwise.fuzz.sample.run_work 60"         (for a minute, and watched)
"""
from __future__ import annotations

import sys
import time
from random import Random

import anyio

from slotwise.impl.scheduler import Expired, Group, Retry, Scheduler

chance = Random(7)


async def ask(question: int) -> int:
    """Stands for a call of a model: it takes a while, and fails now and then."""
    await anyio.sleep(0.02 + 0.02 * chance.random())
    if chance.random() < 0.05:
        raise ConnectionError("the model is busy")
    return 6 * question


async def main(seconds: float) -> None:
    groups = [Group("chat", weight=3.0), Group("batch", running_limit=6)]          # chat gets three times what batch gets where both want more
    retry = Retry(on=(ConnectionError,), tries=10, first=0.05)
    ends, waits, answered, late = time.monotonic() + seconds, [0.0], 0, 0
    async with Scheduler({"llm": 8}, groups, retry=retry) as scheduler:
        while True:
            jobs = [scheduler.submit(ask, question, group="batch") for question in range(100)]
            for question in range(5):
                begun = time.monotonic()
                try:
                    await scheduler.submit(ask, question, group="chat", deadline=5.0)
                    waits.append(time.monotonic() - begun)
                except Expired:
                    late += 1
            answered += len([await job for job in jobs])
            if time.monotonic() >= ends:
                break
        seen = scheduler.snapshot()
    print(f"{answered} answers for the batch; chat was answered within {max(waits):.2f} s, {late} times not at all")
    for group in seen.groups:
        print(f"{group.name:<6} submitted {group.submitted:>4}, finished {group.finished:>4}, tried again {group.retried:>3}")


if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[1:] if word != "trio"]
    anyio.run(main, numbers[0] if numbers else 0.0, backend="trio" if "trio" in sys.argv else "asyncio")
