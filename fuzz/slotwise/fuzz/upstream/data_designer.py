"""The task scheduler of `data-designer-engine` as a target: its fair queue and admission controller, driven as its own dispatch loop drives them.

It looks at private fields, because the package's views forget ghosts; a view is taken only where the reference forgets them too.
"""
from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from typing import Any

from slotwise.fuzz.target import Target, TargetError
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import bits
from slotwise.spec.vocabulary import Observation

try:
    from data_designer.engine.dataset_builders.scheduling.queue import FairTaskQueue, QueueSelection
    from data_designer.engine.dataset_builders.scheduling.resources import SchedulableTask, SchedulerResourceRequest, TaskGroupKey, TaskGroupSpec
    from data_designer.engine.dataset_builders.scheduling.task_admission import TaskAdmissionConfig, TaskAdmissionController, TaskAdmissionDenied, TaskAdmissionLease
    from data_designer.engine.dataset_builders.scheduling.task_model import Task
    from data_designer.engine.dataset_builders.scheduling.task_policies import BoundedBorrowTaskAdmissionPolicyConfig
except ImportError as error:
    raise TargetError(f"data-designer cannot be loaded ({error}): install slotwise[upstream]") from error

VERSION = version("data-designer-engine")
#: Before 0.9 an idle group kept its place, and a group alone left at least one unit free.
BEFORE = tuple(map(int, VERSION.split(".")[:2])) < (0, 9)


def claims(profile: v.Profile) -> bool:
    """Its two disciplines, with the defects of the version that is installed."""
    match profile.discipline:
        case v.BoundedBorrow(reserve_at_least=least, reserve_at_most=most):
            known = least == BEFORE and (most > 0 or not BEFORE)
        case other:
            known = isinstance(other, v.Strict)
    defects = (profile.accepts_the_impossible, profile.discarded_task_lingers, profile.idle_group_keeps_place, profile.released_memory)
    return known and defects == (True, True, BEFORE, 8192)


def group_key(group: str) -> Any:
    return TaskGroupKey("model", (group,))


def name(key: Any) -> str:
    return str(key.identity[0])


def schedulable(id: str, spec: Any, needs: dict[str, int]) -> Any:
    return SchedulableTask(id, Task(name(spec.key), 0, 0, "cell"), spec, SchedulerResourceRequest(dict(needs)))


NOBODY = schedulable("nobody", TaskGroupSpec(group_key("nobody")), {"submission": 1})


def borrowing(discipline: v.Strict | v.BoundedBorrow | v.SlotTime) -> Any:
    """With a discipline that it does not have, the package is as it comes."""
    match discipline:
        case v.Strict():
            return None
        case v.SlotTime():
            return BoundedBorrowTaskAdmissionPolicyConfig()
    ceilings = {(group_key(own.group), own.resource): own.units for own in reversed(discipline.ceilings)}     # the first of equals counts
    fraction, most = (discipline.reserve_fraction, discipline.reserve_at_most) if discipline.reserve_at_most else (0.0, 1)     # it accepts no 0
    return BoundedBorrowTaskAdmissionPolicyConfig(ceilings, discipline.default_ceiling, fraction, most, discipline.share_rounding, discipline.repay)


class DataDesigner:
    def __init__(self, profile: v.Profile, capacity: dict[str, int]) -> None:
        config = TaskAdmissionConfig(resource_limits=dict(capacity), bounded_borrow=borrowing(profile.discipline))
        if "submission" not in capacity:        # it insists on one; but a task that asks for what is not listed must find none
            config.resource_limits.pop("submission")
        self.queue, self.controller = FairTaskQueue(), TaskAdmissionController(config)
        self.granted: list[tuple[Any, int]] = []        # each lease, and when
        self.now = 0

    def step(self, command: v.Command) -> list[Observation]:
        if command.at < self.now:
            return [("time_reversed", self.now)]
        self.now = command.at
        match command:
            case v.Enqueue():
                return self.enqueue(command)
            case v.Discard(task=id):
                waited = id in self.queue._queued
                self.queue.discard(id)
                return [("discarded" if waited else "unknown_task", id)]
            case v.DiscardWhere(group=group, prefix=prefix):
                before = list(self.queue._queued)
                self.queue.discard_where(lambda item: group in (None, name(item.group.key)) and item.task_id.startswith(prefix))
                return [("discarded", id) for id in before if id not in self.queue._queued]
            case v.Pump(at_most=most):
                saw: list[Observation] = []
                while len(saw) < most and (found := self.select()):
                    saw.append(self.start(found))
                return [*saw, self.closing_word("full" if len(saw) == most else "blocked")]
            case v.Select():
                found = self.select()
                return [("selected", found.item.task_id, found.sequence_version) if found else self.closing_word("blocked")]
            case v.Commit():
                return [self.commit(command)]
            case v.Release():
                return [(self.controller.release(self.lease(command)).reason, command.lease)]
            case v.Explain():
                return self.explain()

    def enqueue(self, command: v.Enqueue) -> list[Observation]:
        sent = {group.name: TaskGroupSpec(group_key(group.name), group.weight, group.share_limit) for group in command.groups}
        newest = {name(key): spec for key, spec in self.queue._group_specs.items()} | sent
        items = [schedulable(task.id, newest.get(task.group) or TaskGroupSpec(group_key(task.group)), task.needs) for task in command.tasks]
        accepted = list(self.queue.enqueue(items))
        return [("accepted", accepted.pop(0)) if accepted[:1] == [item.task_id] else ("duplicate", item.task_id) for item in items]

    def select(self) -> Any:
        return self.queue.select_next(self.controller.is_eligible) if self.queue.has_queued_tasks else None

    def closing_word(self, word: str) -> Observation:
        return (word if self.queue.has_queued_tasks else "drained",)

    def start(self, selection: Any) -> Observation:
        """The package's loop leases first, and releases if the selection proves stale. That would repay debt: here the queue is asked first."""
        if self.queue.commit(selection) is None:
            return ("stale_selection", selection.item.task_id)
        lease = self.controller.try_acquire(selection.item, selection.queue_view)
        self.granted.append((lease, self.now))
        return ("started", len(self.granted), lease.item.task_id, dict(lease.resources))

    def commit(self, command: v.Commit) -> Observation:
        item, view = self.queue._queued.get(command.task) or replace(NOBODY, task_id=command.task), None
        if command.task in self.queue._queued and command.version == self.queue._sequence_version:
            head = self.queue._first_valid_item(item.group.key)
            if head.task_id == command.task:
                item, view = head, self.queue.view()
                if isinstance(denied := self.controller.try_evaluate(item, view), TaskAdmissionDenied):
                    return ("refused", command.task, denied.reason)
        return self.start(QueueSelection(item, view, command.version))

    def lease(self, command: v.Release) -> Any:
        """The lease as its caller believes it to be."""
        claim = command.claim or v.Claim()
        invented = TaskAdmissionLease(f"invented {command.lease}", NOBODY, {}, 0.0, self.controller._generation)
        lease = self.granted[command.lease - 1][0] if 0 < command.lease <= len(self.granted) else invented
        item = replace(lease.item, task_id=claim.task or lease.item.task_id)
        return replace(lease, item=item, resources=claim.needs or lease.resources, controller_generation=lease.controller_generation + "'" * (claim.generation > 0))

    def turns(self) -> Any:
        return self.queue._active_heap_entries if BEFORE else self.queue._active_entries

    def explain(self) -> list[Observation]:
        if not self.queue.has_queued_tasks:
            return []
        view = self.queue.view()
        heads = [head for _, head in sorted(view.first_candidate_tasks_by_group.items(), key=lambda entry: self.turns()[entry[0]])]
        denied = [getattr(self.controller.try_evaluate(head, view), "reason", None) for head in heads]
        return [("refused", head.task_id, reason) if reason else ("startable", head.task_id) for head, reason in zip(heads, denied, strict=True)]

    def state(self) -> v.State:
        """What can be read exactly. Its groups know no running limit, so the specifications are left out."""
        queue, controller = self.queue, self.controller
        owed = sorted((name(key), resource, units) for (key, resource), units in controller._policy_debt.items() if units)
        leases = [(str(number), controller._leases.get(lease.lease_id), at) for number, (lease, at) in enumerate(self.granted, 1)]
        tags = {name(key): tag for key, (tag, _) in self.turns().items()} | {name(key): tag for key, tag in queue._group_finish.items()}
        return {
            "now": self.now,
            "version": queue._sequence_version,
            "turns": queue._sequence,
            "granted": len(self.granted),
            "fifo": {name(key): [[item.task_id, dict(item.resource_request.amounts)] for item in fifo] for key, fifo in queue._queues.items() if fifo},
            "waiting": {name(key): count for key, count in queue._queued_by_group.items()},
            "turn": {name(key): turn for key, (_, turn) in self.turns().items()},
            "leases": {number: [lease.item.task_id, name(lease.item.group.key), dict(lease.resources), at] for number, lease, at in leases if lease},
            "virtual_time": bits(queue._virtual_time) if queue._virtual_time else 0,
            "tags": {group: bits(tag) for group, tag in tags.items()},
            "debt": {group: {resource: units for other, resource, units in owed if other == group} for group in sorted({group for group, _, _ in owed})},
        }


TARGET = Target("data-designer", DataDesigner, claims=claims)
