"""Admission: which head starts now, and what it leaves behind. Shared by every discipline: the ledger of leased units and the round.

`step` is the truth: it takes one command to a scheduler and says what was seen. It has no clock of its own and no randomness; every
command is legal in every state.
"""
from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from slotwise.spec import bounded_borrow, slot_time, strict
from slotwise.spec import fair_queue as q
from slotwise.spec import vocabulary as v
from slotwise.spec.fair_queue import FairQueue, Head
from slotwise.spec.rules import decided, rule
from slotwise.spec.vocabulary import Group, Observation, Refusal, Task

Borrowed = dict[str, int]                        # resource -> units beyond the group's share


@dataclass(frozen=True, slots=True)
class Lease:
    task: Task
    at: int                                      # when it was granted


@dataclass(slots=True)
class Ledger:
    capacity: dict[str, int]
    leases: dict[int, Lease] = field(default_factory=dict)
    granted: int = 0
    released: list[int] = field(default_factory=list)      # oldest first

    def free(self, resource: str) -> int:
        return self.capacity.get(resource, 0) - sum([lease.task.needs.get(resource, 0) for lease in self.leases.values()])

    def held(self, group: str, resource: str) -> int:
        return sum([lease.task.needs.get(resource, 0) for lease in self.leases.values() if lease.task.group == group])

    def running(self, group: str) -> int:
        return sum([lease.task.group == group for lease in self.leases.values()])


class Discipline(Protocol):
    """The questions on which the families differ."""

    def competes(self, group: str) -> bool: ...                            # does it stand in the order, with a right to start?
    def come(self, group: str, at: int) -> None: ...                       # it begins to: where does it stand?
    def go_on(self, group: str, at: int) -> None: ...                      # it was served and goes on: where does it stand?
    def respecify(self, group: str, at: int) -> None: ...                  # its newest specification has arrived
    def places(self, at: int) -> Mapping[str, tuple[float, ...]]: ...         # of the active groups; the least goes first
    def judge(self, head: Head, heads: Collection[Head], earlier: list[Head], at: int) -> Refusal | Borrowed: ...   # it would fit: may it start?
    def start(self, task: Task, borrowed: Borrowed, earlier: list[Head], at: int) -> None: ...                    # what does a start leave behind?
    def finish(self, lease: Lease, at: int) -> None: ...                   # what does the end of a lease settle?
    def withdraw(self, task: str) -> None: ...                             # a waiting task was discarded
    def state(self, at: int) -> v.State: ...


@dataclass(slots=True)
class Admission:
    queue: FairQueue
    ledger: Ledger
    discipline: Discipline
    now: int = 0


def admission(profile: v.Profile, capacity: dict[str, int]) -> Admission:
    """A scheduler with nothing waiting and nothing running. `capacity` is in units per resource, each at least 1 (ValueError)."""
    for resource, units in capacity.items():
        if units < 1:
            raise ValueError(f"capacity of {resource} must be at least 1, found {units}")
    queue, ledger = FairQueue(profile), Ledger(dict(capacity))
    match profile.discipline:
        case v.Strict() as parameters:
            return Admission(queue, ledger, strict.Discipline(parameters, queue, ledger))
        case v.BoundedBorrow() as parameters:
            return Admission(queue, ledger, bounded_borrow.Discipline(parameters, queue, ledger))
        case v.SlotTime() as parameters:
            return Admission(queue, ledger, slot_time.Discipline(parameters, queue, ledger))


@rule("ADM-1", source="semantics 2.3, step 0")
def no_capacity(ledger: Ledger, task: Task) -> Refusal | None:
    """A task may start only if every resource it needs has that many units free. A resource that is not listed has none."""
    for resource, units in task.needs.items():
        if ledger.free(resource) < units:
            return "no_capacity"
    return None


@rule("ADM-2", source="semantics 2.5; I1")
def grant(admission: Admission, group: str, borrowed: Borrowed, earlier: list[Head], at: int) -> Observation:
    """A start leases the units of the group's head until they are released, and takes it from the queue, in one step.
    Leases are numbered in the order granted."""
    ledger = admission.ledger
    task = q.take(admission.queue, group)
    ledger.granted += 1
    ledger.leases[ledger.granted] = Lease(task, at)
    admission.discipline.start(task, borrowed, earlier, at)
    if admission.queue.waits(group):
        admission.discipline.go_on(group, at)
        q.take_turn(admission.queue, group)
    return ("started", ledger.granted, task.id, dict(task.needs))


@rule("ADM-3", source="semantics 2.5")
def round(admission: Admission, at: int) -> tuple[str, Borrowed, list[Head]] | None:
    """Heads are asked in order; the first that nothing holds back is the one to start."""
    queue = admission.queue
    heads = queue.heads()
    earlier: list[Head] = []
    for group in q.order(queue, admission.discipline.places(at)):
        if group not in heads:                       # only where an idle group keeps its place
            q.forget_ghosts(queue, group)
            continue
        verdict = judge(admission, heads[group], heads.values(), earlier, at)
        if not isinstance(verdict, str):
            return group, verdict, earlier
        earlier.append(heads[group])
    return None


def judge(admission: Admission, head: Head, heads: Collection[Head], earlier: list[Head], at: int) -> Refusal | Borrowed:
    return no_capacity(admission.ledger, head[0]) or admission.discipline.judge(head, heads, earlier, at)


def verdicts(admission: Admission, at: int) -> list[tuple[Head, Refusal | Borrowed, list[Head]]]:
    """The verdict on every head as if it were the next to start, in order, each with the heads before it."""
    heads = admission.queue.heads()
    ordered = [heads[group] for group in q.order(admission.queue, admission.discipline.places(at)) if group in heads]
    return [(head, judge(admission, head, ordered, ordered[:i], at), ordered[:i]) for i, head in enumerate(ordered)]


@rule("ADM-4", source="semantics 2.3; I1")
def free_units(admission: Admission, number: int, at: int) -> bool:
    """A release frees the units that the scheduler itself recorded, once, and the discipline settles what the group owes."""
    lease = admission.ledger.leases[number]
    group = lease.task.group
    competed = admission.discipline.competes(group)
    del admission.ledger.leases[number]
    admission.ledger.released.append(number)
    admission.discipline.finish(lease, at)
    if not competed and admission.discipline.competes(group):
        admission.discipline.come(group, at)
        q.take_turn(admission.queue, group)
    return True


@rule("ADM-5", source="semantics 2.3, vector A9")
def of_another_scheduler(claim: v.Claim) -> str | None:
    """A lease that another scheduler granted is refused, whatever its number."""
    return "wrong_controller_generation" if claim.generation != 0 else None


@rule("ADM-6", source="semantics 2.3, vector A9")
def already_released(admission: Admission, number: int) -> str | None:
    """A second release of a lease changes nothing; it is called a duplicate for as long as the release is remembered."""
    memory, ledger = admission.queue.profile.released_memory, admission.ledger
    if not 0 < number <= ledger.granted or number in ledger.leases:
        return None
    return "duplicate" if memory is None or number in ledger.released[max(0, len(ledger.released) - memory):] else None


@rule("ADM-7", source="semantics 2.3, vector A9")
def not_running(admission: Admission, number: int) -> str | None:
    """A lease that was never granted, or is forgotten, is unknown."""
    return None if number in admission.ledger.leases else "unknown_lease"


@rule("ADM-8", source="semantics 2.3, vector A9")
def of_another_task(admission: Admission, number: int, claim: v.Claim) -> str | None:
    """A release that names another task than the lease's is refused, and the lease stays."""
    return "stale_lease" if claim.task not in (None, admission.ledger.leases[number].task.id) else None


@rule("ADM-9", source="design 4, rule 1; vectors A8, H3", off="accepts_the_impossible")
def impossible(admission: Admission, task: Task, spec: Group) -> Refusal | None:
    """A task that could never start is refused: it asks more than there is, or its group has no weight, or may run no task."""
    if admission.queue.profile.accepts_the_impossible:
        return None
    for resource, units in task.needs.items():
        if units > admission.ledger.capacity.get(resource, 0):
            return "never_fits"
    if spec.weight == 0:
        return "no_weight"
    return "limit_below_one" if spec.running_limit == 0 else None


@rule("ADM-10", source="design 4")
def time_reversed(admission: Admission, at: int) -> list[Observation] | None:
    """Time never goes back: a command from before an earlier one is refused, and nothing is done."""
    return [("time_reversed", admission.now)] if at < admission.now else None


@rule("ADM-11", source="semantics 2.5")
def closing_word(admission: Admission, started: int, at_most: int) -> Observation:
    """A pump ends because nothing waits, or as many as asked were started, or nothing more may start."""
    if not admission.queue.live:
        return ("drained",)
    return ("full",) if started == at_most else ("blocked",)


def enqueue(admission: Admission, command: v.Enqueue) -> list[Observation]:
    queue, discipline = admission.queue, admission.discipline
    sent = {group.name: group for group in command.groups}
    saw: list[Observation] = []
    for task in command.tasks:
        group = task.group
        spec = sent.get(group) or queue.groups.get(group) or Group(group)
        if refusal := impossible(admission, task, spec):
            saw.append(("refused", task.id, refusal))
        elif q.already_waits(queue, task):
            saw.append(("duplicate", task.id))
        else:
            competed = discipline.competes(group)
            q.accept(queue, task, spec)
            discipline.respecify(group, command.at)
            if group not in queue.turn or (not competed and discipline.competes(group)):
                discipline.come(group, command.at)
                q.take_turn(queue, group)
            saw.append(("accepted", task.id))
    queue.version += "accepted" in [word[0] for word in saw]
    return saw


def discard(admission: Admission, id: str) -> Observation:
    if q.not_waiting(admission.queue, id):
        return ("unknown_task", id)
    group = admission.queue.live[id][0].group
    q.discard(admission.queue, id)
    admission.discipline.withdraw(id)
    q.give_up_place(admission.queue, group)
    return ("discarded", id)


def pump(admission: Admission, command: v.Pump) -> list[Observation]:
    saw: list[Observation] = []
    while len(saw) < command.at_most and admission.queue.live and (found := round(admission, command.at)):
        saw.append(grant(admission, *found, command.at))
    return [*saw, closing_word(admission, len(saw), command.at_most)]


def select(admission: Admission, command: v.Select) -> Observation:
    if admission.queue.live and (found := round(admission, command.at)):
        return ("selected", admission.queue.fifo[found[0]][0][0].id, admission.queue.version)
    return closing_word(admission, 0, -1)


def commit(admission: Admission, command: v.Commit) -> Observation:
    if q.stale(admission.queue, command.task, command.version):
        return ("stale_selection", command.task)
    head, verdict, earlier = next(found for found in verdicts(admission, command.at) if found[0][0].id == command.task)
    if isinstance(verdict, str):
        return ("refused", command.task, verdict)
    return grant(admission, head[0].group, verdict, earlier, command.at)


def release(admission: Admission, command: v.Release) -> Observation:
    number, claim = command.lease, command.claim or v.Claim()
    refusal = of_another_scheduler(claim) or already_released(admission, number) or not_running(admission, number) or of_another_task(admission, number, claim)
    if refusal:
        return (refusal, number)
    free_units(admission, number, command.at)
    return ("released", number)


def explain(admission: Admission, command: v.Explain) -> list[Observation]:
    if not admission.queue.live:
        return []
    return [("refused", task.id, verdict) if isinstance(verdict, str) else ("startable", task.id) for (task, _), verdict, _ in verdicts(admission, command.at)]


def step(admission: Admission, command: v.Command) -> list[Observation]:
    """Do one command and say what was seen. The rules that decided are in `rules.decided`, in order of decision."""
    decided.clear()
    if refused := time_reversed(admission, command.at):
        return refused
    admission.now = command.at
    match command:
        case v.Enqueue():
            return enqueue(admission, command)
        case v.Pump():
            return pump(admission, command)
        case v.Release():
            return [release(admission, command)]
        case v.Select():
            return [select(admission, command)]
        case v.Commit():
            return [commit(admission, command)]
        case v.Discard():
            return [discard(admission, command.task)]
        case v.DiscardWhere():
            return [discard(admission, id) for id in q.matching(admission.queue, command) or ()]
        case v.Explain():
            return explain(admission, command)


def bits(tag: float) -> int:
    """An IEEE double as the integer of its 64 bits: states hold no floats."""
    return int.from_bytes(struct.pack(">d", tag), "big")


def state(admission: Admission) -> v.State:
    """The whole state, canonical: strings and integers only, sorted, zeros and empties dropped. Pure."""
    queue, ledger = admission.queue, admission.ledger
    return {
        "now": admission.now,
        "version": queue.version,
        "turns": queue.turns,
        "granted": ledger.granted,
        "fifo": {group: [[task.id, dict(task.needs)] for task, _ in fifo] for group, fifo in sorted(queue.fifo.items()) if fifo},
        "waiting": dict(sorted(Counter([task.group for task, _ in queue.live.values()]).items())),
        "turn": dict(sorted(queue.turn.items())),
        "groups": {name: [v.weight_in_units(g), -1 if g.share_limit is None else g.share_limit, -1 if g.running_limit is None else g.running_limit] for name, g in sorted(queue.groups.items())},
        "leases": {str(number): [lease.task.id, lease.task.group, dict(lease.task.needs), lease.at] for number, lease in sorted(ledger.leases.items())},
        "virtual_time": bits(queue.virtual_time) if queue.virtual_time else 0,
        "tags": {group: bits(tag) for group, tag in sorted(queue.tag.items()) if group in queue.served or group in queue.turn},
        **admission.discipline.state(admission.now),
    }
