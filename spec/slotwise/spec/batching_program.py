"""The reference program of checkpoint batching: callers, branches and coordinators, the collector and the service as trio tasks under a virtual clock.

What producers do is written once, in `batching_sdk`; what an instant means, in `batching_world`. The program adds who waits on whom,
and lifetimes. As in `program`, trio promises nothing about the order in which tasks go that wake together: so nobody touches the world as
soon as it wakes, but waits for its *turn*, and one *conductor* lets one task go at a time, when nobody is left to wake. Without a
seed the order is that of `batching_simulation.simulate`: who was told something, as they were told; then sleepers, as they went to sleep; the
collector last. With a seed the next task is any of those that could go.

Everybody sleeps until an instant. A second of trio's clock stands for a nanosecond, so that instants are exact (up to 2^53).
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import trio
import trio.testing

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_host import Box, Code, Event
from slotwise.spec.batching_run import Call, Run
from slotwise.spec.batching_scenarios import Scenario
from slotwise.spec.batching_sdk import handle
from slotwise.spec.batching_service import Update
from slotwise.spec.batching_world import Step, World

#: Of so many tasks that could go, which goes next?
Choice = Callable[[int], int]


@dataclass(eq=False, slots=True)
class Turn:
    """A task's permission to act, until it waits again."""

    number: int = 0                              # of a sleeper: as they went to sleep
    go: trio.Event = field(default_factory=trio.Event)


class Conductor:
    """Lets tasks go one after another."""

    def __init__(self, choice: Choice | None) -> None:
        self.choice = choice
        self.told: list[Turn] = []               # who can go, as they were told something
        self.woken: list[Turn] = []              # who has slept until now
        self.asleep = 0
        self.somebody, self.over = trio.Event(), trio.Event()

    def tell(self, turn: Turn) -> None:
        """It can go; also if it has just woken by itself."""
        if turn in self.woken:
            self.woken.remove(turn)
        self.told.append(turn)

    def sleeper(self, number: int) -> Turn:
        """Of one who will sleep."""
        self.asleep += 1
        return Turn(number)

    async def sleep_until(self, at: int, turn: Turn) -> None:
        """Until then, or until told; and then until it is its turn."""
        with trio.move_on_at(at):
            await turn.go.wait()
        self.asleep -= 1
        if not turn.go.is_set() and turn not in self.told:
            self.woken.append(turn)
            self.somebody.set()
        await turn.go.wait()

    def hand_back(self) -> None:
        """By whoever has the turn, when it waits or ends."""
        self.over.set()

    def next(self) -> Turn | None:
        could = [*self.told, *sorted(self.woken, key=lambda turn: turn.number)]
        if not could:
            return None
        turn = could[self.choice(len(could)) if self.choice else 0]
        (self.told if turn in self.told else self.woken).remove(turn)
        return turn

    async def let(self, turn: Turn) -> None:
        self.over = trio.Event()
        turn.go.set()
        await self.over.wait()

    async def let_all(self) -> None:
        """Until nobody can go at this instant."""
        while True:
            await trio.testing.wait_all_tasks_blocked()
            turn = self.next()
            if turn is None:
                return
            await self.let(turn)

    async def pass_time(self, until: int) -> None:
        """Until somebody wakes, or then."""
        self.somebody = trio.Event()
        with trio.move_on_at(until):
            await self.somebody.wait()


class Program(World):
    """A scenario as a program. `choice`: who goes next; a seed makes one."""

    def __init__(self, profile: v.Profile, scenario: Scenario, *, step: Step | None = None, engine: str = "trio", seed: int | None = None, choice: Choice | None = None) -> None:
        super().__init__(profile, scenario, step, engine)
        self.choice = Random(seed).randrange if seed is not None else choice
        self.wake_at: int | None = None

    def play(self) -> Run:
        return self.played(lambda: trio.run(self.main, clock=trio.testing.MockClock(autojump_threshold=0)))

    async def main(self) -> None:
        self.conductor, self.pump_turn = Conductor(self.choice), Turn()
        async with trio.open_nursery() as self.house:
            self.house.start_soon(self.collector)
            self.spawn(handle(self), self.handler_returned)
            try:
                await self.conduct()
            finally:
                self.over = True                 # who still waits would wait for ever
                self.house.cancel_scope.cancel()

    async def conduct(self) -> None:
        """Instant by instant, until nothing can happen any more, or the horizon."""
        while True:
            self.now = int(trio.current_time())
            if self.now > self.scenario.horizon:
                return
            await self.conductor.let_all()
            await self.conductor.let(self.pump_turn)
            if self.conductor.told:
                continue
            if self.wake_at is None and not self.conductor.asleep and not self.conductor.woken:
                return
            latest = self.scenario.horizon + 1
            await self.conductor.pass_time(latest if self.wake_at is None else min(self.wake_at, latest))

    # tasks
    async def collector(self) -> None:
        while True:
            await self.pump_turn.go.wait()
            self.pump_turn = Turn()
            self.wake_at = self.end_of_instant()
            self.conductor.hand_back()

    def start(self, code: Code) -> None:
        turn = Turn()
        self.conductor.tell(turn)
        self.house.start_soon(self.producer, turn, code)

    async def producer(self, turn: Turn, code: Code) -> None:
        try:
            await turn.go.wait()
            await code
        finally:
            code.close()
            self.conductor.hand_back()

    def serve(self, updates: list[Update], call: Call) -> None:
        self.house.start_soon(self.service, updates, call, self.sleeper())

    async def service(self, updates: list[Update], call: Call, turn: Turn) -> None:
        """One request: on its way, handled, on its way back, and perhaps another page."""
        out, back = self.scenario.service.out, self.scenario.service.back
        await self.conductor.sleep_until(call.at + out, turn)
        answer = self.handled(updates, call)
        await self.sleep(back)
        if self.answered(answer):
            await self.sleep(out + back)
            self.fetched()
        self.conductor.hand_back()

    # how time passes
    def sleeper(self) -> Turn:
        return self.conductor.sleeper(next(self.numbers))

    async def sleep(self, duration: int) -> None:
        turn = self.sleeper()
        self.conductor.hand_back()
        await self.conductor.sleep_until(self.now + duration, turn)

    async def user(self, duration: int) -> None:
        if duration:
            self.credit(-1, 1)
            await self.sleep(duration)
            self.credit(1, -1)

    async def receive(self, box: Box, until: int | None = None) -> Event | None:
        if not box.events:
            if not box.blocked:
                self.credit(-1)
            box.reader = turn = Turn() if until is None else self.sleeper()
            self.conductor.hand_back()
            await (turn.go.wait() if until is None else self.conductor.sleep_until(until, turn))
            if box.reader is turn:               # nobody has told it anything
                box.reader = None
                self.credit(1)
        return box.events.pop(0) if box.events else None

    def wake(self, reader: Turn) -> None:
        self.conductor.tell(reader)


def simulate(profile: v.Profile, scenario: Scenario, *, seed: int | None = None) -> Run:
    """Run a scenario as a program. Without a seed, its commands and what they show are those of `batching_simulation.simulate`."""
    return Program(profile, scenario, seed=seed).play()
