"""The reference program: the rules with a body, as trio tasks under a virtual clock.

Every arrival of a scenario is a *caller*, a trio task of its own: it comes at its instant, waits for a lease, works for its service
time and lets go of the lease, whatever happens to it meanwhile: done, failed or cancelled. What `admission.step` decides is
the truth here too; the program adds who waits on whom, and lifetimes.

trio promises nothing about the order in which tasks go that wake together. So nobody touches the scheduler as soon as it wakes: it
registers for a *turn*, and when nobody is left to wake, one *conductor* lets the tasks of the instant go, one after another, in the
order of `simulation`: completions by lease, withdrawals, arrivals (together one enqueue), and at last one pump. With a seed they go in
a seeded permutation instead; the recorded trace says which.

Everybody sleeps *until* an instant, never *for* a while. A second of trio's clock stands for a nanosecond, so that instants are exact
(up to 2^53: a hundred days).
"""
from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from math import inf
from random import Random
from types import TracebackType

import trio
import trio.testing

from slotwise.spec import rules, trace
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import Admission, admission, step
from slotwise.spec.scenarios import Arrival, Scenario
from slotwise.spec.simulation import Run, SimulationError

#: Turns of an instant go in this order.
COMPLETION, WITHDRAWAL, ARRIVAL = range(3)
LAST_INSTANT = 1 << 53

Work = Callable[[Arrival, int], Awaitable[None]]           # (arrival, when it started)


async def serve(arrival: Arrival, started: int) -> None:
    """Work for the service time."""
    await trio.sleep_until(started + arrival.service)


class Turn(AbstractAsyncContextManager[None]):
    """`async with`: wait for the conductor's sign, act, and hand back at the end of the block, in which nobody may wait."""

    def __init__(self, conductor: Conductor, rank: tuple[int, int]) -> None:
        self.conductor, self.rank = conductor, rank
        self.go, self.over = trio.Event(), trio.Event()

    async def __aenter__(self) -> None:
        self.conductor.register(self)
        with trio.CancelScope(shield=True):                # who has to let go of something does so, cancelled or not
            await self.go.wait()
        if self.conductor.left:                            # by an error: everything is being cancelled
            await trio.sleep_forever()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.over.set()


class Conductor:
    """Lets the tasks that wake at one instant go one after another."""

    def __init__(self, seed: int | None = None) -> None:
        self.random = None if seed is None else Random(seed)
        self.woken: list[Turn] = []
        self.somebody = trio.Event()
        self.left = False

    def turn(self, kind: int, number: int) -> Turn:
        return Turn(self, (kind, number))

    def register(self, turn: Turn) -> None:
        self.woken.append(turn)
        self.somebody.set()
        if self.left:
            turn.go.set()

    async def conduct(self, afterwards: Callable[[], None]) -> None:
        """Instant by instant, until no instant is left: when the clock gets that far, whoever waits would wait for ever."""
        try:
            while True:
                with trio.move_on_at(LAST_INSTANT):
                    await self.somebody.wait()
                if not self.woken:
                    return
                await trio.testing.wait_all_tasks_blocked()
                for turn in self.in_order():
                    turn.go.set()
                    await turn.over.wait()
                afterwards()
        finally:
            self.left = True
            for turn in self.woken:
                turn.go.set()

    def in_order(self) -> list[Turn]:
        turns = sorted(self.woken, key=lambda turn: turn.rank)
        if self.random:
            self.random.shuffle(turns)
        self.woken, self.somebody = [], trio.Event()
        return turns


@dataclass(slots=True)
class Answer:
    """What a waiting caller is told: its lease and when it was granted, or why it gets none."""

    told: trio.Event = field(default_factory=trio.Event)
    lease: int | None = None
    at: int = 0
    why: str = ""


@dataclass(slots=True)
class Desk:
    """The scheduler and those who wait for it: does a command, records it, and passes on what was seen."""

    admission: Admission
    waiting: dict[str, Answer] = field(default_factory=dict)
    steps: list[trace.Step] = field(default_factory=list)

    def perform(self, command: v.Command) -> list[v.Observation]:
        saw = step(self.admission, command)
        self.steps.append(trace.Step(command, saw, list(rules.decided)))
        for word in saw:
            match word:
                case ("started", int(lease), str(task), _):
                    self.tell(task, lease, command.at)
                case ("discarded", str(task)):
                    self.tell(task, why="discarded")
        return saw

    def expects(self, task: str) -> Answer:
        """Somebody comes with this task and will wait for the answer. Its id is its own."""
        if task in self.waiting:
            raise SimulationError(f"two callers wait for {task!r}")
        self.waiting[task] = answer = Answer()
        return answer

    def tell(self, task: str, lease: int | None = None, at: int = 0, why: str = "") -> None:
        answer = self.waiting.pop(task)
        answer.lease, answer.at, answer.why = lease, at, why
        answer.told.set()


class Program:
    """A scenario as a program. `work` is what a worker does with its lease; `gives_up` is when a caller's patience ends (never)."""

    def __init__(self, profile: v.Profile, scenario: Scenario, *, seed: int | None = None, work: Work = serve, gives_up: Callable[[Arrival], float] = lambda _: inf) -> None:
        if max(a.at for a in scenario.arrivals) + sum(a.service for a in scenario.arrivals) >= LAST_INSTANT:
            raise SimulationError(f"scenario {scenario.name}: may last longer than 2^53 ns, up to which the virtual clock is exact")
        self.profile, self.scenario, self.seed, self.work, self.gives_up = profile, scenario, seed, work, gives_up
        self.desk = Desk(admission(profile, scenario.capacity))
        self.conductor = Conductor(seed)
        self.table: list[Arrival] = []                     # has come, and is not enqueued yet
        self.outcome: dict[str, str] = {}                  # task -> done, cancelled, failed: ..., or why it was refused

    def run(self) -> Run:
        trio.run(self.main, clock=trio.testing.MockClock(autojump_threshold=0))
        return self.what_came_of_it()

    async def main(self) -> None:
        async with trio.open_nursery() as house:           # the conductor outlives the callers, who have to let go of something
            house.start_soon(self.conduct)
            async with trio.open_nursery() as callers:
                for place, arrival in enumerate(self.scenario.in_order()):
                    callers.start_soon(self.caller, place, arrival)
            house.cancel_scope.cancel()

    async def conduct(self) -> None:
        await self.conductor.conduct(self.end_of_instant)
        for task in list(self.desk.waiting):
            self.desk.tell(task)

    async def caller(self, place: int, arrival: Arrival) -> None:
        """Come, wait, work, let go."""
        task = arrival.task.id
        await trio.sleep_until(arrival.at)
        with trio.CancelScope(deadline=self.gives_up(arrival)) as patience:
            async with self.conductor.turn(ARRIVAL, place):
                answer = self.desk.expects(task)
                self.table.append(arrival)
            try:
                await answer.told.wait()
            except trio.Cancelled:
                async with self.conductor.turn(WITHDRAWAL, place):
                    self.withdraw(task, answer)
                raise
            self.outcome[task] = answer.why if answer.lease is None else await self.worker(answer.lease, answer.at, arrival)
        if patience.cancelled_caught:
            self.outcome[task] = "cancelled"

    async def worker(self, lease: int, started: int, arrival: Arrival) -> str:
        """Work under a lease, and release it, whatever happens. A worker that fails takes nobody with it."""
        try:
            await self.work(arrival, started)
        except Exception as error:
            return f"failed: {error!r}"
        finally:
            async with self.conductor.turn(COMPLETION, lease):
                self.release(lease)
        return "done"

    # what is done in a turn; nobody else touches the scheduler
    def now(self) -> int:
        return int(trio.current_time())

    def withdraw(self, task: str, answer: Answer) -> None:
        if answer.lease is not None:
            self.release(answer.lease)
        elif not answer.told.is_set():
            self.desk.perform(v.Discard(task=task, at=self.now()))

    def release(self, lease: int) -> None:
        self.enqueue()                                     # only in a permutation has somebody come before
        self.desk.perform(v.Release(lease=lease, at=self.now()))

    def enqueue(self) -> None:
        """Those who came one after another arrive together."""
        if self.table:
            names = {arrival.task.group for arrival in self.table}
            groups = tuple(group for group in self.scenario.groups if group.name in names)
            for word in self.desk.perform(v.Enqueue(tasks=tuple(arrival.task for arrival in self.table), groups=groups, at=self.now())):
                if word[0] != "accepted":
                    self.desk.tell(str(word[1]), why=str(word[-1]))
            self.table.clear()

    def end_of_instant(self) -> None:
        self.enqueue()
        self.desk.perform(v.Pump(at_most=len(self.scenario.arrivals), at=self.now()))

    # what came of it
    def trace(self) -> trace.Trace:
        """Every command as it was done, in whatever permutation."""
        note = f"the trio program, scenario {self.scenario.name}"
        return trace.Trace(trace.header(self.profile, self.scenario.capacity, seed=self.seed, targets=("trio",), note=note), list(self.desk.steps))

    def what_came_of_it(self) -> Run:
        run = Run(self.scenario, self.profile.name, "trio", [], [], {task: why for task, why in self.outcome.items() if why not in ("done", "cancelled") and not why.startswith("failed")})
        for done in self.desk.steps:
            for word in done.saw or ():
                if word[0] == "started":
                    run.starts.append((done.command.at, int(str(word[1])), str(word[2])))
                elif word[0] == "released":
                    run.ends.append((done.command.at, int(str(word[1]))))
        return run


def simulate(profile: v.Profile, scenario: Scenario, *, seed: int | None = None) -> Run:
    """Run a scenario as a program. Without a seed, its events are those of `simulation.simulate`."""
    return Program(profile, scenario, seed=seed).run()
