"""The HTTP table's workload through the live scheduler in virtual time: what the discipline does, and nothing of the machine, client or server."""
from __future__ import annotations

from random import Random
from statistics import mean

import trio
import trio.testing

from slotwise.fuzz.inference import TIMES, reply
from slotwise.fuzz.requests_dag import LLM, slow_to_fast, slow_to_fast_groups
from slotwise.impl.scheduler import Scheduler

LATE = 0.001                             # seconds: a request takes its model's time and, in the mean, so much more
SEEDS = 10


class Models:
    """Answer after a model's time, and a random one."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    async def ask(self, model: str, question: str) -> str:
        await trio.sleep(TIMES[model] + self.random.expovariate(1 / LATE))
        return reply(model, question)


def wall(profile: str, records: int, capacity: int, seed: int) -> float:
    """Seconds. The same numbers give the same."""

    async def main() -> float:
        async with Scheduler({LLM: capacity}, slow_to_fast_groups(capacity), profile=profile, tap=False) as scheduler:
            begun = trio.current_time()
            await slow_to_fast(scheduler, Models(seed), records)
            return trio.current_time() - begun

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def wall_against(profile: str, other: str, records: int, capacity: int, seeds: int = SEEDS) -> float:
    """By how many per cent it takes longer, in the mean."""
    return mean(100 * (wall(profile, records, capacity, seed) / wall(other, records, capacity, seed) - 1) for seed in range(seeds))
