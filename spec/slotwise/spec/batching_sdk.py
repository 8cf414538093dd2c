"""What a durable-execution SDK does with a handler's work: steps, waits, child contexts, and coordinators of parallel branches.

What runs again begins at the top and looks at the state first: what is done goes on, what is pending suspends. A coordinator owns its branches
and their slots; a suspended branch keeps its slot, and what resumes together starts in the order of the branches. However a coordinator
leaves, it cancels the refreshes that it asked for.

There are three ways to wait. The look-ahead discipline asks for a refresh of each operation, by the service's stamp of its end, and is told
what resumes, as one event among others. As published, a coordinator has one refresh for each resume time of its own clock, and when that has
come it does nothing but wait for the answer; and before refreshes were scheduled, it then submitted an empty item.
"""
from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from slotwise.spec import batching_scenarios as work
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_service import Action, Operation

#: What happened to a branch, or what a waiting producer is told: a word and what it is about.
Event = tuple[Any, ...]
Code = Coroutine[Any, Any, None]


class Ended(Exception):
    """A producer cannot go on; as opposed to an error of the program."""


class Refused(Ended):
    """The collector refused, or did not settle well: the producer cannot go on."""


class Failed(Ended):
    """User code has failed for good."""


class Suspended(Ended):
    """Nothing to do before the attempt `id` is done: at the service's stamp `key`, or at a local time."""

    def __init__(self, id: str, key: int | None, due: int | None) -> None:
        super().__init__(id)
        self.id, self.key, self.due = id, key, due

    @property
    def when(self) -> int:
        return self.key if self.key is not None else self.due or 0


@dataclass(eq=False, slots=True)
class Box:
    """A mailbox, of one reader. `blocked`: that of a producer that has submitted a sync item, which the collector counts itself."""

    blocked: bool = False
    events: list[Event] = field(default_factory=list)
    reader: Any = None                       # who waits for an event: the world's affair


class Host(Protocol):
    """The world that producers live in. Only the three asynchronous methods take time."""

    now: int
    profile: v.Profile
    scenario: work.Scenario
    state: dict[str, Operation]              # the local copy of the service's
    paused: set[str]

    async def submit(self, op: str, action: Action | None, *, parent: str | None = None, sync: bool = True, size: int = 100, delay: int = 0, ends: bool = False, final: bool = False) -> None: ...
    async def user(self, duration: int) -> None: ...
    async def receive(self, box: Box, until: int | None = None) -> Event | None: ...
    def spawn(self, code: Code, done: Callable[[Ended | None], None]) -> None: ...
    def post(self, box: Box, event: Event) -> None: ...
    def open(self, name: str, box: Box) -> None: ...
    def close(self, name: str) -> None: ...
    def refresh(self, id: str, owner: str, index: int, key: int | None, due: int | None) -> None: ...
    def cancel(self, owner: str) -> None: ...
    def reaches(self, attempt: str) -> None: ...
    def fresh(self, name: str) -> str: ...


async def handle(host: Host) -> None:
    """The whole handler; a result too large to be returned is an update."""
    await perform(host, host.scenario.work)
    if host.scenario.result:
        await host.submit("the execution", "succeed", size=host.scenario.result, final=True)


async def perform(host: Host, works: Sequence[work.Work], context: str | None = None, path: str = "") -> None:
    """One after another, in a context. `path` is what their names begin with."""
    for one in works:
        op = path + one.name
        match one:
            case work.Step():
                await step(host, op, context, one)
            case work.Poll():
                await step(host, op, context, work.Step(name=one.name, body=one.body, retries=one.in_vain, delay=one.delay))
            case work.Wait():
                await wait(host, op, context, one.duration)
            case work.Pause():
                if op not in host.paused:
                    host.paused.add(op)
                    await host.user(one.duration)
            case work.Child():
                await child(host, op, context, lambda op=op, inside=one.work: perform(host, inside, op, f"{op}/"))  # type: ignore[misc]
            case work.Parallel():
                await child(host, op, context, lambda op=op, one=one: Coordinator(host, op, one).run())  # type: ignore[misc]


def suspension(host: Host, op: str, full: int | None) -> Suspended:
    """Of a pending operation. Re-timed: for its full duration from now; or if that is none, until the stamp taken for a local time, or now."""
    pending = host.state[op]
    if not host.profile.waits_are_retimed:
        return Suspended(pending.attempt(op), pending.end, None)
    return Suspended(pending.attempt(op), None, host.now + full if full is not None else max(host.now, (pending.end or 0) - host.scenario.service.hint))


async def step(host: Host, op: str, context: str | None, one: work.Step) -> None:
    known = host.state.get(op, Operation("started"))
    match known.status:
        case "succeeded":
            return
        case "failed":
            raise Failed(op)
        case "pending":
            raise suspension(host, op, None)
    host.reaches(known.attempt(op))
    await host.submit(op, "start", parent=context, sync=one.at_most_once)
    await host.user(one.body)
    if known.tries < one.retries:
        await host.submit(op, "retry", parent=context, delay=one.delay)
        raise suspension(host, op, one.delay)
    await host.submit(op, "fail" if one.fails else "succeed", parent=context, size=one.size)
    if one.fails:
        raise Failed(op)


async def wait(host: Host, op: str, context: str | None, duration: int) -> None:
    if op not in host.state:
        await host.submit(op, "wait", parent=context, delay=duration)
    if host.state[op].status != "ready":
        raise suspension(host, op, duration)
    host.reaches(host.state[op].attempt(op))


async def child(host: Host, op: str, context: str | None, body: Callable[[], Awaitable[None]]) -> None:
    """A context: its start, what is in it, its end."""
    known = host.state.get(op)
    if known and known.status == "succeeded":
        return
    if known and known.status == "failed":
        raise Failed(op)
    if not known:
        await host.submit(op, "start", parent=context, sync=False)
    try:
        await body()
    except Failed:
        await host.submit(op, "fail", parent=context, ends=True)
        raise
    await host.submit(op, "succeed", parent=context, ends=True)


class Coordinator:
    """Of the branches of one parallel."""

    def __init__(self, host: Host, op: str, parallel: work.Parallel) -> None:
        self.host, self.op, self.parallel = host, op, parallel
        self.box = Box()
        self.waiting = list(range(len(parallel.branches)))       # not started yet
        self.slots = parallel.at_once or len(parallel.branches)  # free
        self.running = self.succeeded = self.failed = 0
        self.asleep: dict[int, Suspended] = {}                   # by branch
        self.waves: dict[int, Box] = {}                          # refreshes by resume time (as published)

    async def run(self) -> None:
        discipline = self.host.profile.discipline
        published = isinstance(discipline, v.Shipped)
        scheduled = not isinstance(discipline, v.Shipped) or discipline.heap
        if not published:
            self.host.open(self.op, self.box)
        try:
            while not self.finished():
                self.start_waiting()
                if published:
                    await (self.resume_waves() if scheduled else self.resume_by_empties())
                if not self.running and not self.box.events:
                    raise self.suspended()
                event = await self.host.receive(self.box, self.soonest() if published else None)
                if event is not None:
                    self.take(event, published, scheduled)
        finally:
            self.host.close(self.op)
            if scheduled:
                self.host.cancel(self.op)

    def finished(self) -> bool:
        of = len(self.parallel.branches)
        return self.succeeded >= min(of, self.parallel.needed or of) or self.failed > self.parallel.tolerated or self.succeeded + self.failed == of

    # starting
    def start_waiting(self) -> None:
        while self.waiting and self.slots:
            self.slots -= 1
            self.start(self.waiting.pop(0))

    def start(self, i: int) -> None:
        self.running += 1
        op, works = f"{self.op}.{i}", self.parallel.branches[i]
        code = perform(self.host, works, self.op, f"{op}/") if self.parallel.flat else child(self.host, op, self.op, lambda: perform(self.host, works, op, f"{op}/"))
        self.host.spawn(code, lambda error: self.host.post(self.box, ("ended", i, error)))

    def resume(self, branches: Sequence[int]) -> None:
        for i in branches:
            del self.asleep[i]
            self.start(i)

    # events
    def take(self, event: Event, published: bool, scheduled: bool) -> None:
        match event:
            case ("ended", int(i), Suspended() as until):
                self.running -= 1
                self.asleep[i] = until
                if scheduled:
                    self.ask(i, until, published)
            case ("ended", _, Refused() as why):
                raise why
            case ("ended", _, error):
                self.running -= 1
                self.slots += 1
                self.succeeded += error is None
                self.failed += error is not None
            case ("resumed", ids):
                self.resume([i for id in ids for i, until in self.asleep.items() if until.id == id])
            case ("refused", why):
                raise Refused(why)

    def ask(self, i: int, until: Suspended, published: bool) -> None:
        """For a refresh, at once; as published, the first branch that wakes at a time asks for all that do."""
        if not published:
            self.host.refresh(until.id, self.op, i, until.key, until.due)
        elif until.when not in self.waves:
            id = self.host.fresh(f"{self.op}@")
            self.waves[until.when] = box = Box()
            self.host.open(id, box)
            self.host.refresh(id, self.op, i, None, until.when)

    # as published
    def soonest(self) -> int | None:
        return min((until.when for until in self.asleep.values()), default=None)

    async def resume_waves(self) -> None:
        """One wave after another; each waits for its refresh."""
        while self.waves and min(self.waves) <= self.host.now:
            due = min(self.waves)
            told = await self.host.receive(self.waves.pop(due))
            if told != ("settled", "ok"):
                raise Refused(told[1] if told else "")
            self.resume(sorted(i for i, until in self.asleep.items() if until.when == due))

    async def resume_by_empties(self) -> None:
        due = sorted((until.when, i) for i, until in self.asleep.items() if until.when <= self.host.now)
        if due:
            await self.host.submit(self.host.fresh(f"{self.op}?"), None)
            self.resume([i for _, i in due])

    def suspended(self) -> Suspended:
        """With all branches asleep: until the first of them wakes."""
        return min(self.asleep.values(), key=lambda until: until.when)
