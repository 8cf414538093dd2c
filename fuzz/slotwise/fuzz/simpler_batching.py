"""What is simpler than a command of batching, a time, a setup, a name: candidates for the shrinker, the simplest first."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import fields
from msgspec.structs import replace as changed

from slotwise.fuzz import simpler
from slotwise.spec import batching_vocabulary as v

simpler_times = simpler.simpler_times
MS = v.MILLISECOND


def variants(command: Any) -> Iterator[Any]:
    """Simpler commands of the same kind: fields as they are by default, then smaller numbers and fewer names."""
    for field in fields(type(command)):
        value = getattr(command, field.name)
        if field.required or field.name == "at" or value == field.default:
            continue
        if not (isinstance(command, v.Respond) and field.name == "token"):
            yield changed(command, **{field.name: field.default})
        if isinstance(value, tuple) and len(value) > 1:
            for i in range(len(value)):
                yield changed(command, **{field.name: value[:i] + value[i + 1 :]})
        elif isinstance(value, int) and not isinstance(value, bool):
            long_ago = (-1, 0) if field.name in ("key", "stamp") and value not in (0, -1) else (0,) if field.name == "due" and value else ()
            for smaller in (*long_ago, *_nearer(value)):
                yield changed(command, **{field.name: smaller})
    if isinstance(command, v.Submit) and not command.sync:
        yield changed(command, sync=True)


def _nearer(number: int) -> Iterator[int]:
    """Nearer to 0; in steps that halve, so that the least which will do is found in few."""
    sign, size = (1 if number > 0 else -1), abs(number)
    for smaller in dict.fromkeys((1, 2, size // MS * MS, *(size - (size >> halved) for halved in range(1, size.bit_length())))):
        if 0 < smaller < size:
            yield sign * smaller


def smaller_gaps(commands: Sequence[Any], i: int) -> Iterator[list[Any]]:
    """Less time, or none, before command `i`; and what is said of a time after that is as far ahead of it as it was, or is left as it is."""
    for fewer in simpler.smaller_gaps(commands, i):
        gone = commands[i].at - fewer[i].at
        yield [*fewer[:i], *(changed(command, due=max(0, due - gone)) if (due := getattr(command, "due", None)) else command for command in fewer[i:])]
        yield fewer


def simpler_setups(profile: v.Profile, setup: v.Setup) -> Iterator[tuple[v.Profile, v.Setup]]:
    plain = v.PROFILES.get(profile.name)
    if plain is not None and plain != profile:
        yield plain, setup
        for field in fields(type(profile.discipline)):
            own = getattr(plain.discipline, field.name)
            if getattr(profile.discipline, field.name) != own:
                yield changed(profile, discipline=changed(profile.discipline, **{field.name: own})), setup
    for value in (0, *_nearer(setup.hint)) if setup.hint else ():
        yield profile, changed(setup, hint=value)


def together(commands: Sequence[Any]) -> list[frozenset[int]]:
    """The indices of commands that make sense only together, the last first: a pump, its request's answer and the pages of that; all that is said of one operation."""
    found: list[frozenset[int]] = []
    answers: set[int] = set()
    for i in range(len(commands) - 1, -1, -1):
        if isinstance(commands[i], v.Respond | v.Page | v.Fail):
            answers.add(i)
        elif isinstance(commands[i], v.Pump) and answers:
            found.append(frozenset(answers | {i}))
            answers = set()
    names = dict.fromkeys(id for command in commands if (id := getattr(command, "id", None)) is not None)
    found += [frozenset(i for i, command in enumerate(commands) if getattr(command, "id", None) == id) for id in reversed(names)]
    return [indices for indices in found if len(indices) > 1 and len(indices) < len(commands)]


def simpler_names(commands: Sequence[Any]) -> tuple[list[Any], dict[str, str]] | None:
    """Operations a, b, c in order; owners are left as they are. None if they are named so already."""
    ids: dict[str, str] = {}
    for command in commands:
        for name in _names(command):
            ids.setdefault(name, chr(ord("a") + len(ids)) if len(ids) < 26 else f"o{len(ids)}")
    if all(old == new for old, new in ids.items()):
        return None
    return [_renamed(command, ids) for command in commands], ids


def _names(command: Any) -> Iterator[str]:
    for name in (getattr(command, "id", None), getattr(command, "parent", None), *getattr(command, "done", ())):
        if name is not None:
            yield name


def _renamed(command: Any, ids: dict[str, str]) -> Any:
    given = {name: ids[value] for name in ("id", "parent") if (value := getattr(command, name, None)) is not None}
    if getattr(command, "done", ()):
        return changed(command, done=tuple(ids[name] for name in command.done))
    return changed(command, **given) if given else command
