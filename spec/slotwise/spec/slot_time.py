"""Slot time (slotwise): the group that has had least goes first, counted in the time its tasks have held their dominant resource.

Nothing is estimated, so nothing is corrected: a group's *attained* slot-time is a fact that only grows. Nobody is held to a share and
nobody owes: what is free is used. A wide task is not starved by narrow ones: after a while, free units are kept for it.

Numbers are integers. While a task runs, its group's *level* rises by the task's *rate* every nanosecond: its dominant share divided by
the group's weight, in parts of `RATE` (rounded down, the only rounding there is). So levels are straight lines in time with whole
numbers, exact and cheap to compare, and a level never falls.
"""
from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slotwise.spec.fair_queue import FairQueue, Head
from slotwise.spec.rules import SLOT_TIME, rule
from slotwise.spec.vocabulary import WEIGHT_UNIT, Refusal, SlotTime, State, Task, weight_in_units

if TYPE_CHECKING:
    from slotwise.spec.admission import Borrowed, Lease, Ledger

#: What a group of weight 1 that holds a whole resource gains in level every nanosecond: 720,720 squared times 64, so that a rate is exact
#: where capacity and weight are numbers up to 16, or the one a power of two up to 1,024 and the other up to 16.
RATE = 720_720 * 720_720 * 64


@dataclass(slots=True)
class Account:
    weight: int                  # in 1024ths
    level: int = 0               # of finished tasks, of running ones until `since`, and of what returning added
    since: int = 0               # when a weight last changed: running tasks count from then on


@dataclass(slots=True)
class Discipline:
    parameters: SlotTime
    queue: FairQueue
    ledger: Ledger
    accounts: dict[str, Account] = field(default_factory=dict)
    virtual: dict[str, int] = field(default_factory=dict)              # resource -> virtual time
    overtaken: dict[str, int] = field(default_factory=dict)            # waiting task -> when it was first overtaken
    horizon: int = 0                                                   # nanoseconds; 0: nothing has finished yet

    # what the rules speak of
    def rate(self, task: Task) -> int:
        weight, capacity = self.accounts[task.group].weight, self.ledger.capacity
        return max([rate_of(units, capacity[resource], weight) for resource, units in task.needs.items()])

    def limited(self, group: str) -> bool:
        limit = self.queue.groups[group].running_limit
        return limit is not None and self.ledger.running(group) >= limit

    def competes(self, group: str) -> bool:
        return self.queue.waits(group) and not self.limited(group)

    def lacks(self, task: Task) -> set[str]:
        return {resource for resource, units in task.needs.items() if self.ledger.free(resource) < units}

    def level(self, group: str, at: int) -> int:
        """What its finished tasks have added, and its running ones until now (or will have, by a later instant)."""
        account = self.accounts[group]
        level = account.level
        for lease in self.ledger.leases.values():
            if lease.task.group == group:
                level += self.rate(lease.task) * (at - max(lease.at, account.since))
        return level

    def virtual_time(self, group: str) -> int:
        """The least over the resources its head shares with other groups; the largest of all, if it shares none."""
        elsewhere = self.needed_by_others(group)
        shared = [self.virtual.get(r, 0) for r in self.queue.fifo[group][0][0].needs if r in elsewhere]
        return min(shared) if shared else max(self.virtual.values(), default=0)

    def needed_by_others(self, group: str) -> set[str]:
        """The resources that another group's running task or head needs."""
        tasks = [lease.task for lease in self.ledger.leases.values()] + [fifo[0][0] for fifo in self.queue.fifo.values() if fifo]
        return {resource for task in tasks if task.group != group for resource in task.needs}

    # the discipline
    def come(self, group: str, at: int) -> None:
        self.accounts.setdefault(group, Account(weight_in_units(self.queue.groups[group])))
        if self.competes(group):
            come_back(self, group, at)

    def go_on(self, group: str, at: int) -> None:
        if self.competes(group):
            forget_arrears(self, group, at)

    def respecify(self, group: str, at: int) -> None:
        if group in self.accounts:
            reweigh(self, group, at)

    def places(self, at: int) -> dict[str, tuple[int, int]]:
        return {group: patience(self, self.queue.fifo[group][0][0], at) or look_ahead(self, group, at) for group in self.queue.turn}

    def judge(self, head: Head, heads: Collection[Head], earlier: list[Head], at: int) -> Refusal | Borrowed:
        return running_limit(self, head[0].group) or kept_units(self, head[0], earlier, at) or {}

    def start(self, task: Task, borrowed: Borrowed, earlier: list[Head], at: int) -> None:
        self.overtaken.pop(task.id, None)
        raise_virtual_time(self, task, at)
        note_overtaken(self, task, earlier, at)

    def finish(self, lease: Lease, at: int) -> None:
        settle(self, lease, at)
        learn(self, lease, at)

    def withdraw(self, task: str) -> None:
        self.overtaken.pop(task, None)

    def state(self, at: int) -> State:
        return {
            "horizon": self.horizon,
            "virtual": {resource: time for resource, time in sorted(self.virtual.items()) if time},
            "accounts": {group: [a.weight, self.level(group, at)] for group, a in sorted(self.accounts.items())},
            "overtaken": dict(sorted(self.overtaken.items())),
        }


@rule("SLT-1", source="design 4, rule 2", of=SLOT_TIME)
def reweigh(discipline: Discipline, group: str, at: int) -> bool | None:
    """A new weight counts from now on: a group keeps the level it has."""
    account, weight = discipline.accounts[group], weight_in_units(discipline.queue.groups[group])
    if weight == account.weight:
        return None
    account.level, account.since = discipline.level(group, at), at
    account.weight = weight
    return True


def rate_of(units: int, capacity: int, weight: int) -> int:
    """The share of a resource, by weight (in 1024ths), in parts of `RATE`."""
    return units * RATE * WEIGHT_UNIT // (capacity * weight)


@rule("SLT-2", source="design 4, rule 2", of=SLOT_TIME)
def settle(discipline: Discipline, lease: Lease, at: int) -> bool:
    """A group attains, by each of its tasks, the task's dominant share times the time it runs; its level is that by weight.
    The dominant share of a task is the largest of its shares of the resources it needs."""
    account = discipline.accounts[lease.task.group]
    account.level += discipline.rate(lease.task) * (at - max(lease.at, account.since))
    return True


@rule("SLT-3", source="design 4, rule 2", of=SLOT_TIME)
def learn(discipline: Discipline, lease: Lease, at: int) -> bool | None:
    """The horizon is the mean service time, every task weighted by its slot-time: it moves towards each new one.
    The first horizon is the first service time; before that it is one nanosecond."""
    service = at - lease.at
    if service == 0:
        return None
    share = max((units << 32) // discipline.ledger.capacity[resource] for resource, units in lease.task.needs.items())
    discipline.horizon = horizon_after(discipline.horizon, service, share, discipline.parameters.memory)
    return True


def horizon_after(horizon: int, service: int, share: int, memory: int) -> int:
    """h + (s - h) * x / (x + memory * h), where x is share times service; shares and the fraction are in parts of 2^32, rounded down, as is the sum."""
    if horizon == 0:
        return service
    slot_time = share * service
    return horizon + ((service - horizon) * ((slot_time << 32) // (slot_time + (memory * horizon << 32))) >> 32)


@rule("SLT-4", source="design 4, rule 3", of=SLOT_TIME)
def look_ahead(discipline: Discipline, group: str, at: int) -> tuple[int, int]:
    """Groups go by index: the level that each will have some horizons from now, if its running tasks keep running."""
    return (1, discipline.level(group, at + discipline.parameters.ahead * (discipline.horizon or 1)))


@rule("SLT-5", source="design 4, rules 3 and 7", of=SLOT_TIME)
def patience(discipline: Discipline, task: Task, at: int) -> tuple[int, int] | None:
    """A head is patient once it has waited, since it was first overtaken, some times longer than any task in its way has run.
    Patient heads go before all others, the longest overtaken first."""
    since = discipline.overtaken.get(task.id)
    if since is None:
        return None
    short = discipline.lacks(task)
    longest = max((at - lease.at for lease in discipline.ledger.leases.values() if short & lease.task.needs.keys()), default=0)
    return (0, since) if at - since > discipline.parameters.patience * longest else None


@rule("SLT-6", source="design 4, rule 4", of=SLOT_TIME)
def come_back(discipline: Discipline, group: str, at: int) -> bool | None:
    """A group that begins to compete (its queue fills, or it falls below its limit) starts at no less than the virtual time:
    absence earns no credit, and costs none."""
    behind = discipline.virtual_time(group) - discipline.level(group, at)
    if behind <= 0:
        return None
    discipline.accounts[group].level += behind
    return True


@rule("SLT-7", source="design 4, rule 4", of=SLOT_TIME)
def forget_arrears(discipline: Discipline, group: str, at: int) -> bool | None:
    """While a group goes on competing, it is at most some look-aheads behind the virtual time."""
    p = discipline.parameters
    arrears = p.arrears * p.ahead * (discipline.horizon or 1) * RATE
    behind = discipline.virtual_time(group) - arrears - discipline.level(group, at)
    if behind <= 0:
        return None
    discipline.accounts[group].level += behind
    return True


@rule("SLT-8", source="design 4, rule 4", of=SLOT_TIME)
def raise_virtual_time(discipline: Discipline, task: Task, at: int) -> bool | None:
    """The virtual time of a resource is the largest level at which a task was started on it; it never falls."""
    level = discipline.level(task.group, at)
    behind = [resource for resource in task.needs if discipline.virtual.get(resource, 0) < level]
    discipline.virtual.update(dict.fromkeys(behind, level))
    return True if behind else None


@rule("SLT-9", source="design 4, rules 1 and 4", of=SLOT_TIME)
def running_limit(discipline: Discipline, group: str) -> Refusal | None:
    """A group never runs more tasks than its limit."""
    return "running_limit" if discipline.limited(group) else None


@rule("SLT-10", source="design 4, rules 5 and 7", of=SLOT_TIME)
def kept_units(discipline: Discipline, task: Task, earlier: list[Head], at: int) -> Refusal | None:
    """Free units that a patient head needs are kept for it; anything else that fits may start."""
    patient = [head for head, _ in earlier if discipline.competes(head.group) and patience(discipline, head, at)]
    for resource, units in task.needs.items():
        kept = sum([head.needs.get(resource, 0) for head in patient])
        if discipline.ledger.free(resource) - kept < units:
            return "kept_units"
    return None


@rule("SLT-11", source="design 4, rule 6", of=SLOT_TIME)
def note_overtaken(discipline: Discipline, task: Task, earlier: list[Head], at: int) -> bool | None:
    """A head is overtaken when a task behind it takes what it is then short of, and no head before it was short of the same.
    The first such moment stays with the head."""
    claimed: set[str] = set()
    before = len(discipline.overtaken)
    for head, _ in earlier:
        if discipline.competes(head.group):
            short = discipline.lacks(head)
            if short & task.needs.keys() and not short & claimed:
                discipline.overtaken.setdefault(head.id, at)
            claimed |= {r for r in head.needs if discipline.ledger.free(r) + task.needs.get(r, 0) < head.needs[r]}
    return True if len(discipline.overtaken) > before else None
