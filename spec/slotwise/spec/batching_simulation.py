"""Scenarios of durable work in virtual time: producers are coroutines, timers a heap. `simulate` plays a scenario under a profile."""
from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Generator
from functools import partial
from random import Random
from types import coroutine

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_host import Box, Code, Event
from slotwise.spec.batching_run import Call, Run
from slotwise.spec.batching_scenarios import SCENARIOS, Scenario
from slotwise.spec.batching_sdk import handle
from slotwise.spec.batching_service import Answer, Update
from slotwise.spec.batching_world import Step, World


@coroutine
def _blocked() -> Generator[None, None, None]:
    """Until woken."""
    yield


class Timed(World):
    """Producers are coroutines, and timers a heap."""

    def __init__(self, profile: v.Profile, scenario: Scenario, step: Step | None = None, engine: str = "reference", seed: int | None = None) -> None:
        super().__init__(profile, scenario, step, engine)
        self.random = None if seed is None else Random(seed)
        self.ready: list[Code] = []
        self.codes: dict[Code, None] = {}                        # of all producers that have not ended
        self.current: Code | None = None
        self.timers: list[tuple[int, int, Callable[[], None]]] = []
        self.dropped: set[int] = set()                           # numbers of timers that are not needed any more

    def play(self) -> Run:
        return self.played(self.run_to_the_end)

    def run_to_the_end(self) -> None:
        try:
            self.run_all()
        finally:
            self.over = True
            for code in self.codes:
                code.close()

    def run_all(self) -> None:
        """Until nothing can happen any more, or the horizon."""
        self.spawn(handle(self), self.handler_returned)
        while True:
            self.run_ready()
            if self.fire():
                continue
            wake = self.end_of_instant()
            if self.ready:
                continue
            times = [at for at, _, _ in self.timers[:1]] + ([] if wake is None else [wake])
            if not times or min(times) > self.scenario.horizon:
                return
            self.now = min(times)

    def run_ready(self) -> None:
        while self.ready:
            code = self.ready.pop(self.random.randrange(len(self.ready)) if self.random else 0)
            self.current = code
            try:
                code.send(None)
            except StopIteration:
                del self.codes[code]
            self.current = None

    def fire(self) -> bool:
        """One timer of this instant."""
        while self.timers and self.timers[0][1] in self.dropped:
            self.dropped.remove(heapq.heappop(self.timers)[1])
        if not self.timers or self.timers[0][0] > self.now:
            return False
        heapq.heappop(self.timers)[2]()
        return True

    def after(self, duration: int, act: Callable[[], None]) -> int:
        heapq.heappush(self.timers, (self.now + duration, number := next(self.numbers), act))
        return number

    def start(self, code: Code) -> None:
        self.codes[code] = None
        self.ready.append(code)

    def wake(self, reader: Code) -> None:
        self.ready.append(reader)

    async def user(self, duration: int) -> None:
        if not duration:
            return
        self.credit(-1, 1)
        assert self.current
        self.after(duration, partial(self.back, self.current))
        await _blocked()

    def back(self, code: Code) -> None:
        self.credit(1, -1)
        self.ready.append(code)

    async def receive(self, box: Box, until: int | None = None) -> Event | None:
        if not box.events:
            if not box.blocked:
                self.credit(-1)
            box.reader = self.current
            number = None if until is None else self.after(until - self.now, partial(self.too_late, box))
            await _blocked()
            if number is not None and box.events:
                self.dropped.add(number)
        return box.events.pop(0) if box.events else None

    def too_late(self, box: Box) -> None:
        if box.reader is not None:
            reader, box.reader = box.reader, None
            self.credit(1)
            self.ready.append(reader)

    def serve(self, updates: list[Update], call: Call) -> None:
        out, back = self.scenario.service.out, self.scenario.service.back

        def arrives() -> None:
            answer = self.handled(updates, call)
            self.after(back, lambda: returns(answer))

        def returns(answer: Answer) -> None:
            if self.answered(answer):
                self.after(out + back, self.fetched)

        self.after(out, arrives)


def decided(profile: v.Profile) -> Counter[str]:
    """The rules that decide in the program: how often each does, over all built-in scenarios."""
    return sum((simulate(profile, make()).rules for make in dict.fromkeys(SCENARIOS.values())), Counter())


def simulate(profile: v.Profile, scenario: Scenario, *, step: Step | None = None, engine: str = "reference", seed: int | None = None) -> Run:
    """Play a scenario around the reference collector, or whatever else can be stepped. With a seed, who is ready goes on in a seeded order."""
    return Timed(profile, scenario, step, engine, seed).play()
