"""What is simpler than a command, a time, a capacity, a name: candidates for the shrinker, the simplest first."""
from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace as changed

from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Command, Group, Profile, Task


def variants(command: Command) -> Iterator[Command]:
    """Simpler commands of the same kind."""
    match command:
        case v.Enqueue():
            if len(command.groups) > 1:
                yield changed(command, groups=())
            unit = tuple(Task(task.id, task.group, dict.fromkeys(task.needs, 1)) for task in command.tasks)
            if len(unit) > 1 and unit != command.tasks:
                yield changed(command, tasks=unit)
            for i in range(len(command.groups)):
                yield changed(command, groups=command.groups[:i] + command.groups[i + 1 :])
            for i, group in enumerate(command.groups):
                for simple in _groups(group):
                    yield changed(command, groups=(*command.groups[:i], simple, *command.groups[i + 1 :]))
            for i, task in enumerate(command.tasks):
                for needs in _needs(dict(task.needs)):
                    yield changed(command, tasks=(*command.tasks[:i], Task(task.id, task.group, needs), *command.tasks[i + 1 :]))
        case v.Pump() if command.at_most > 1:
            yield changed(command, at_most=1)
            if command.at_most > 9:
                yield changed(command, at_most=9)
        case v.Release() if command.claim is not None:
            yield changed(command, claim=None)
            if command.claim.needs is not None:
                yield changed(command, claim=v.Claim(command.claim.task, None, command.claim.generation))
            if command.claim.task is not None:
                yield changed(command, claim=v.Claim(None, command.claim.needs, command.claim.generation))
        case v.DiscardWhere():
            if command.prefix:
                yield changed(command, prefix="")
            if command.group is not None:
                yield changed(command, group=None)


def _groups(group: Group) -> Iterator[Group]:
    if group.share_limit is not None:
        yield changed(group, share_limit=None)
    if group.running_limit is not None:
        yield changed(group, running_limit=None)
    for weight in (1.0, 2.0, 0.5):
        if group.weight == weight:
            break
        yield changed(group, weight=weight)
    if group.share_limit is not None and group.share_limit > 1:
        yield changed(group, share_limit=1)
    if group.running_limit is not None and group.running_limit > 1:
        yield changed(group, running_limit=1)


def _needs(needs: dict[str, int]) -> Iterator[dict[str, int]]:
    if len(needs) > 1:
        for resource in needs:
            yield {other: units for other, units in needs.items() if other != resource}
    if any(units > 1 for units in needs.values()):
        yield dict.fromkeys(needs, 1)
    for resource, units in needs.items():
        for fewer in _fewer(units):
            yield {**needs, resource: fewer}


def _fewer(units: int) -> Iterator[int]:
    yield from sorted({n for n in (1, 2, units // 2, units - 1) if 1 <= n < units})


def simpler_setups(profile: Profile, capacity: dict[str, int]) -> Iterator[tuple[Profile, dict[str, int]]]:
    plain = v.PROFILES.get(profile.name)
    if plain is not None and plain != profile:
        yield plain, capacity
    if len(capacity) > 1:
        for resource in capacity:
            yield profile, {other: units for other, units in capacity.items() if other != resource}
    for resource, units in capacity.items():
        for fewer in _fewer(units):
            yield profile, {**capacity, resource: fewer}


def simpler_times(commands: Sequence[Command]) -> Iterator[list[Command]]:
    """Time stands still; or the instants are 0, 1, 2 and so on."""
    times = [command.at for command in commands]
    if any(times):
        yield _at(commands, [0] * len(times))
    order = {at: number for number, at in enumerate(sorted(set(times)))}
    ranks = [order[at] for at in times]
    if ranks != times:
        yield _at(commands, ranks)


def smaller_gaps(commands: Sequence[Command], i: int) -> Iterator[list[Command]]:
    """Less time, or none, before command `i`."""
    times = [command.at for command in commands[:i + 1]]
    gap = times[i] - (times[i - 1] if i else 0) if i < len(times) else 0
    for smaller in (0, *_fewer(gap)) if gap > 0 else ():
        yield [*commands[:i], *(changed(command, at=max(0, command.at - gap + smaller)) for command in commands[i:])]


def _at(commands: Sequence[Command], times: Sequence[int]) -> list[Command]:
    return [changed(command, at=at) for command, at in zip(commands, times, strict=True)]


def simpler_names(commands: Sequence[Command]) -> tuple[list[Command], dict[str, str]] | None:
    """Groups a, b, c and tasks a1, a2, b1, in order of arrival; with the new id of each. None if they are named so already, or an id's beginning matters."""
    groups: dict[str, str] = {}
    ids: dict[str, str] = {}
    count: dict[str, int] = {}
    for command in commands:
        if isinstance(command, v.DiscardWhere) and command.prefix:
            return None
        for task in command.tasks if isinstance(command, v.Enqueue) else ():
            group = groups.setdefault(task.group, chr(ord("a") + len(groups)) if len(groups) < 26 else f"g{len(groups)}")
            if task.id not in ids:
                count[group] = count.get(group, 0) + 1
                ids[task.id] = f"{group}{count[group]}"
    if all(old == new for old, new in (*groups.items(), *ids.items())):
        return None
    return [_renamed(command, groups, ids) for command in commands], ids


def _renamed(command: Command, groups: dict[str, str], ids: dict[str, str]) -> Command:
    match command:
        case v.Enqueue():
            tasks = tuple(Task(ids[task.id], groups[task.group], task.needs) for task in command.tasks)
            return changed(command, tasks=tasks, groups=tuple(changed(group, name=groups.get(group.name, group.name)) for group in command.groups))
        case v.Discard() | v.Commit():
            return changed(command, task=ids.get(command.task, command.task))
        case v.DiscardWhere() if command.group is not None:
            return changed(command, group=groups.get(command.group, command.group))
        case v.Release() if command.claim is not None and command.claim.task is not None:
            return changed(command, claim=v.Claim(ids.get(command.claim.task, command.claim.task), command.claim.needs, command.claim.generation))
        case _:
            return command
