"""What may be left out of a failing case: tasks, groups, resources, commands. `searches` says which of these passes a mechanism has, in which order.

Each goes on as long as it gains, and says whether it did.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from msgspec.structs import replace as changed

from slotwise.fuzz.shrink_case import Case, Failing, Op
from slotwise.spec.vocabulary import Commit, Discard, Enqueue, Task


def drop_groups(failing: Failing) -> bool:
    names = sorted({task.group for op in failing.case.ops if isinstance(op.command, Enqueue) for task in op.command.tasks})
    gained = [failing.attempt(_filtered(failing.case.ops, partial(_of_others, name))) for name in names if len(names) > 1]
    return any(gained)


def drop_resources(failing: Failing) -> bool:
    gained = False
    for name in sorted(failing.case.setup):
        if len(failing.case.setup) > 1:
            fewer = {resource: units for resource, units in failing.case.setup.items() if resource != name}
            gained |= failing.fails(Case(failing.case.profile, fewer, _filtered(failing.case.ops, partial(_without, name))))
    return gained


def merge_all(failing: Failing) -> bool:
    """All tasks arrive with the first."""
    arrivals = [op.command for op in failing.case.ops if isinstance(op.command, Enqueue)]
    if len(arrivals) < 2:
        return False
    groups = {group.name: group for command in arrivals for group in command.groups}
    whole = changed(arrivals[0], tasks=tuple(task for command in arrivals for task in command.tasks), groups=tuple(groups.values()))
    return failing.attempt([Op(whole), *(op for op in failing.case.ops if not isinstance(op.command, Enqueue))])


def drop_lives(failing: Failing) -> bool:
    """Tasks go with everything that is said of them: it makes the least difference to the others."""
    gained = False
    ids = list(dict.fromkeys(task.id for op in failing.case.ops if isinstance(op.command, Enqueue) for task in op.command.tasks))
    size = len(ids) // 2
    while size:
        end = len(ids)
        while end > 0 and not failing.late:
            start = max(0, end - size)
            if failing.attempt(_without_lives(failing.case.ops, frozenset(ids[start:end]))):
                gained = True
                del ids[start:end]
            end = start
        size //= 2
    return gained


def drop_commands(failing: Failing) -> bool:
    gained = False
    size = max(1, len(failing.case.ops) // 2)
    while size:
        end = len(failing.case.ops)
        while end > 0 and not failing.late:
            start = max(0, end - size)
            ops = failing.case.ops
            gained |= failing.attempt(ops[:start] + ops[end:])
            end = min(start, len(failing.case.ops))
        size //= 2
    return gained


def drop_rounds(failing: Failing) -> bool:
    """Commands that make sense only together go together."""
    gained, left = False, 0
    while not failing.late:
        together = failing.search.simpler.together([op.command for op in failing.case.ops])
        if left >= len(together):
            break
        if failing.attempt([op for i, op in enumerate(failing.case.ops) if i not in together[left]]):
            gained = True
        else:
            left += 1
    return gained


def join(failing: Failing) -> bool:
    """Neighbours that can be one command become one."""
    gained = False
    while any(failing.attempt([Op(command) for command in joined]) for joined in failing.search.simpler.merged([op.command for op in failing.case.ops])):
        gained = True
    return gained


def drop_tasks(failing: Failing) -> bool:
    gained = False
    for at in range(len(failing.case.ops) - 1, -1, -1):
        command = failing.case.ops[at].command if at < len(failing.case.ops) else None
        size = len(command.tasks) // 2 if isinstance(command, Enqueue) else 0
        while size:
            command = failing.case.ops[at].command
            assert isinstance(command, Enqueue)
            end = len(command.tasks)
            while end > 0 and at < len(failing.case.ops):
                start = max(0, end - size)
                command = failing.case.ops[at].command
                assert isinstance(command, Enqueue)
                tasks = command.tasks[:start] + command.tasks[end:]
                if tasks:
                    gained |= failing.swap(at, replace(failing.case.ops[at], command=changed(command, tasks=tasks)))
                end = start
            size //= 2
    return gained


def merge(failing: Failing) -> bool:
    """Arrivals join the arrival before them."""
    gained = False
    for at in range(len(failing.case.ops) - 1, 0, -1):
        ops = failing.case.ops
        command = ops[at].command if at < len(ops) else None
        into = next((i for i in range(at - 1, -1, -1) if isinstance(ops[i].command, Enqueue)), None) if isinstance(command, Enqueue) else None
        if into is not None and isinstance(command, Enqueue):
            first = ops[into].command
            assert isinstance(first, Enqueue)
            groups = {group.name: group for group in (*first.groups, *command.groups)}
            both = Op(changed(first, tasks=first.tasks + command.tasks, groups=tuple(groups.values())))
            gained |= failing.attempt([*ops[:into], both, *ops[into + 1 : at], *ops[at + 1 :]])
    return gained


def _filtered(ops: Sequence[Op], kept: Callable[[Task], Task | None]) -> list[Op]:
    """The ops with fewer or other tasks; an arrival of none goes."""
    some: list[Op] = []
    for op in ops:
        if isinstance(op.command, Enqueue):
            tasks = tuple(new for task in op.command.tasks if (new := kept(task)) is not None)
            if tasks:
                some.append(replace(op, command=changed(op.command, tasks=tasks)))
        else:
            some.append(op)
    return some


def _without_lives(ops: Sequence[Op], gone: frozenset[str]) -> list[Op]:
    kept = [op for op in ops if op.lease_of not in gone and not (isinstance(op.command, (Discard, Commit)) and op.command.task in gone)]
    return _filtered(kept, lambda task: None if task.id in gone else task)


def _of_others(group: str, task: Task) -> Task | None:
    return None if task.group == group else task


def _without(resource: str, task: Task) -> Task | None:
    needs = {name: units for name, units in task.needs.items() if name != resource}
    return Task(task.id, task.group, needs) if needs else None
