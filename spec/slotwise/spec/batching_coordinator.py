"""A coordinator of parallel branches: it owns them and their slots. A suspended branch keeps its slot, and what resumes together starts in the order of the branches.

There are three ways to wait. The look-ahead discipline asks for a refresh of each operation, by the service's stamp of its end, and is told
what resumes, as one event among others. As published, a coordinator has one refresh for each resume time of its own clock, and when that has
come it does nothing but wait for the answer; and before refreshes were scheduled, it then submitted an empty item.

These rules decide in the program that plays a scenario, not in a step of the collector.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from slotwise.spec import batching_scenarios as work
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_host import Box, Code, Ended, Event, Host, Refused, Suspended
from slotwise.spec.rules import BATCHING, LOOK_AHEAD, SHIPPED, rule

#: What a producer is told, or refused with, once this worker has lost the right to the execution.
LOST = ("suspended", "revoked")


class Coordinator:
    """Of the branches of one parallel. `branch`: the code of a branch by its index, from the top."""

    def __init__(self, host: Host, op: str, parallel: work.Parallel, branch: Callable[[int], Code]) -> None:
        discipline = host.profile.discipline
        self.host, self.op, self.parallel, self.branch = host, op, parallel, branch
        self.published = isinstance(discipline, v.Shipped)
        self.scheduled = not isinstance(discipline, v.Shipped) or discipline.heap
        self.box = Box()
        self.waiting = list(range(len(parallel.branches)))       # not started yet
        self.slots = parallel.at_once or len(parallel.branches)  # free
        self.running = self.succeeded = self.failed = 0
        self.asleep: dict[int, Suspended] = {}                   # by branch
        self.waves: dict[int, Box] = {}                          # refreshes by resume time (as published)

    @property
    def of(self) -> int:
        return len(self.parallel.branches)

    async def run(self) -> None:
        if not self.published:
            self.host.open(self.op, self.box)
        try:
            while not (enough(self) or too_many_failed(self) or all_ended(self)):
                while start_next(self):
                    pass
                if self.published:
                    await (self.resume_waves() if self.scheduled else self.resume_by_empties())
                if not self.running and not self.box.events:
                    raise until_the_first(self)
                event = await self.host.receive(self.box, self.soonest() if self.published else None)
                if event is not None:
                    self.take(event)
        finally:
            self.host.close(self.op)
            withdraw(self)
            withdraw_waves(self)

    def start(self, i: int) -> None:
        self.running += 1
        self.host.spawn(self.branch(i), lambda error: self.host.post(self.box, ("ended", i, error)))

    def resume(self, branches: Sequence[int]) -> None:
        for i in branches:
            del self.asleep[i]
            self.start(i)

    def take(self, event: Event) -> None:
        match event:
            case ("ended", int(i), Suspended() as until):
                keep_slot(self, i, until)
                if self.scheduled and not ask(self, i, until):
                    ask_for_wave(self, i, until)
            case ("ended", _, Refused() as why):
                if not sleeps_for_ever(self, why):
                    raise why
            case ("ended", _, error):
                give_back(self, error)
            case ("resumed", ids):
                go_on(self, ids)
            case ("refused", why):
                raise Refused(why)

    # as published
    def soonest(self) -> int | None:
        return min((until.when for until in self.asleep.values()), default=None)

    async def resume_waves(self) -> None:
        while (due := next_wave(self)) is not None:
            told = await self.host.receive(self.waves.pop(due))
            if told != ("settled", "ok"):
                raise Refused(told[1] if told else "")
            resume_wave(self, due)

    async def resume_by_empties(self) -> None:
        if due := due_together(self):
            await self.host.submit(self.host.fresh(f"{self.op}?"), None)
            self.resume(due)


@rule("SDK-7", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def enough(k: Coordinator) -> bool | None:
    """A coordinator ends when as many branches have succeeded as it needs: all, if it does not say."""
    return True if has_enough(k.of, k.parallel.needed, k.succeeded) else None


def has_enough(of: int, needed: int | None, succeeded: int) -> bool:
    return succeeded >= min(of, needed or of)


@rule("SDK-8", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def too_many_failed(k: Coordinator) -> bool | None:
    """It ends when more branches have failed than it tolerates."""
    return True if k.failed > k.parallel.tolerated else None


@rule("SDK-9", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def all_ended(k: Coordinator) -> bool | None:
    """It ends when all branches have."""
    return True if k.succeeded + k.failed == k.of else None


@rule("SDK-10", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def start_next(k: Coordinator) -> bool | None:
    """Branches start in the order of their index, while slots are free."""
    if not k.waiting or not k.slots:
        return None
    k.slots -= 1
    k.start(k.waiting.pop(0))
    return True


@rule("SDK-11", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def keep_slot(k: Coordinator, i: int, until: Suspended) -> bool:
    """A branch that is suspended keeps its slot."""
    k.running -= 1
    k.asleep[i] = until
    return True


@rule("SDK-12", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def give_back(k: Coordinator, error: Ended | None) -> bool:
    """A branch that has ended, well or not, gives its slot back."""
    k.running -= 1
    k.slots += 1
    k.succeeded += error is None
    k.failed += error is not None
    return True


@rule("SDK-13", source="discipline REF-1, REF-9; H8", of=LOOK_AHEAD, where="program")
def ask(k: Coordinator, i: int, until: Suspended) -> bool | None:
    """When a branch suspends, a refresh is asked for at once, of its operation. Nobody waits for it: what resumes is told as an event like others."""
    if k.published:
        return None
    k.host.refresh(until.id, k.op, i, until.key, until.due)
    return True


@rule("SDK-14", source="semantics 2.7", of=SHIPPED, switch="heap", where="program")
def ask_for_wave(k: Coordinator, i: int, until: Suspended) -> bool | None:
    """As published, there is one refresh for each resume time: the first branch that wakes then asks for all that do."""
    if until.when in k.waves:
        return None
    id = k.host.fresh(f"{k.op}@")
    k.waves[until.when] = box = Box()
    k.host.open(id, box)
    k.host.refresh(id, k.op, i, None, until.when)
    if box.events:                                               # it may not ask
        raise Refused(box.events[0][1])
    return True


@rule("SDK-15", source="discipline REF-7, REF-9", of=LOOK_AHEAD, where="program")
def go_on(k: Coordinator, ids: Sequence[str]) -> bool:
    """What resumes together starts as it is told: one wave for one instant, in the order of the branches. They have kept their slots."""
    k.resume([i for id in ids for i, until in k.asleep.items() if until.id == id])
    return True


@rule("SDK-16", source="semantics 2.7", of=SHIPPED, switch="heap", where="program")
def next_wave(k: Coordinator) -> int | None:
    """As published, waves resume one after another, the earliest first, each when its refresh is answered; meanwhile nothing else is attended to."""
    return min(k.waves) if k.waves and min(k.waves) <= k.host.now else None


@rule("SDK-17", source="semantics 2.7", of=SHIPPED, switch="heap", where="program")
def resume_wave(k: Coordinator, due: int) -> bool:
    """As published, a wave is all branches that wake at one time, in the order of their index."""
    k.resume(sorted(i for i, until in k.asleep.items() if until.when == due))
    return True


@rule("SDK-18", source="semantics 2.7", of=SHIPPED, off="heap", where="program")
def due_together(k: Coordinator) -> list[int] | None:
    """Before refreshes were scheduled, one empty item asked for all branches that were due, and they resumed by time and then index."""
    due = sorted((until.when, i) for i, until in k.asleep.items() if until.when <= k.host.now)
    return [i for _, i in due] or None


@rule("SDK-19", source="semantics 2.7; discipline REF-9", of=BATCHING, where="program")
def until_the_first(k: Coordinator) -> Ended:
    """With all its branches asleep, a coordinator suspends until the first of them wakes, if one does."""
    return min(k.asleep.values(), key=lambda until: until.when, default=Refused("suspended"))


@rule("SDK-20", source="discipline REF-8, REF-9; H8", of=LOOK_AHEAD, where="program")
def withdraw(k: Coordinator) -> bool | None:
    """However a coordinator leaves, nobody waits any more for what it has asked for."""
    if k.published:
        return None
    k.host.cancel(k.op)
    return True


@rule("SDK-21", source="semantics 2.7", of=SHIPPED, switch="heap", where="program")
def withdraw_waves(k: Coordinator) -> bool | None:
    """As published, the refresh of every wave that has not resumed is cancelled, however a coordinator leaves."""
    if not k.published or not k.scheduled:
        return None
    k.host.cancel(k.op)
    return True


@rule("SDK-22", source="semantics 2.7", of=SHIPPED, switch="revokes", where="program")
def sleeps_for_ever(k: Coordinator, why: Refused) -> bool | None:
    """As published, a branch that is told that the right to the execution is lost never wakes, and the others go on."""
    if not k.published or str(why) not in LOST:
        return None
    k.running -= 1
    return True
