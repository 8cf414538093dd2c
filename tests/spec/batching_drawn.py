"""Scenarios of durable work, drawn by chance."""
from __future__ import annotations

import random
from typing import Any

from slotwise.spec.batching_scenarios import Child, Parallel, Pause, Poll, Scenario, Service, Step, Wait, Work


def drawn(dice: random.Random) -> Scenario:
    """Trees of all kinds of work, against services of all kinds."""

    def duration() -> int:
        return dice.choice([0, 1, 10**6, dice.randrange(50 * 10**6), 10**9, dice.randrange(3 * 10**9)])

    def works(depth: int) -> tuple[Work, ...]:
        return tuple(one(f"{i}", depth) for i in range(dice.randint(0, 3)))

    def one(name: str, depth: int) -> Work:
        kinds: list[Any] = [
            lambda: Step(name=name, body=duration(), size=dice.choice([0, 100, 400_000, 800_000]), retries=dice.choice([0, 0, 2]), delay=duration(), fails=dice.random() < 0.1, at_most_once=dice.random() < 0.2),
            lambda: Poll(name=name, in_vain=dice.randint(0, 3), delay=duration(), body=duration()), lambda: Wait(name=name, duration=duration()), lambda: Pause(name=name, duration=duration()),
            *([lambda: Child(name=name, work=works(depth - 1)), *[lambda: parallel(name, depth)] * 2] if depth else []),
        ]  # fmt: skip
        work: Work = dice.choice(kinds)()
        return work

    def parallel(name: str, depth: int) -> Work:
        branches = tuple(works(depth - 1) for _ in range(dice.randint(1, 6)))
        return Parallel(name=name, branches=branches, at_once=dice.choice([None, 1, 2]), needed=dice.choice([None, None, 1, 3]), tolerated=dice.randint(0, 2), flat=dice.random() < 0.3)

    service = Service(out=dice.choice([15 * 10**6, dice.randrange(10**8)]), back=dice.choice([15 * 10**6, dice.randrange(10**8)]), ahead=dice.choice([0, dice.randint(-(10**10), 10**10)]),
                      hint=dice.choice([0, dice.randint(-(10**9), 10**9)]), grid=dice.choice([1, 10**6, 10**9]), lag=dice.choice([0, 0, dice.randrange(10**8)]),
                      fates={dice.randint(1, 20): dice.choice(["fail", "no token", "page"])} if dice.random() < 0.5 else {})  # fmt: skip
    return Scenario("drawn", works(3) or (Step(name="s"),), service, result=dice.choice([0, 0, 900_000]))
