"""What is simpler than a command of spinning, a time, a setup, a name: candidates for the shrinker, the simplest first."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import fields
from msgspec.structs import replace as changed

from slotwise.fuzz import simpler
from slotwise.spec import spin_vocabulary as v

smaller_gaps, simpler_times = simpler.smaller_gaps, simpler.simpler_times
NUMBERS = ("budget", "stride", "yield_interval", "slots", "straggler_stride", "ready_within")


def variants(command: Any) -> Iterator[Any]:
    """Simpler commands of the same kind: fields as they are by default, then smaller numbers."""
    for field in fields(type(command)):
        value = getattr(command, field.name)
        if field.name in ("at", "actor") or value == field.default:
            continue
        if not field.required:
            yield changed(command, **{field.name: field.default})
        if isinstance(value, tuple):
            for i in range(len(value) - 1, -1, -1):
                yield changed(command, **{field.name: value[:i] + value[i + 1 :]})
            for i, reading in enumerate(value):
                for smaller in _fewer(reading):
                    yield changed(command, **{field.name: (*value[:i], smaller, *value[i + 1 :])})
        elif isinstance(value, int) and not isinstance(value, bool):
            least = 0 if field.name in ("window", "gap", "total") or (field.name in ("publish", "shutdown") and isinstance(command, v.Wait)) else 1
            for smaller in _fewer(value):
                if smaller >= least:
                    yield changed(command, **{field.name: smaller})


def _fewer(number: int) -> Iterator[int]:
    for smaller in dict.fromkeys((0, 1, 2, number // v.MICROSECOND, number // 10, number // 2, number - 1)):
        if 0 <= smaller < number:
            yield smaller


def simpler_setups(profile: v.Profile, setup: v.Setup) -> Iterator[tuple[v.Profile, v.Setup]]:
    """The profile by its name alone is the simplest; but with small numbers a trace is shorter than that is simple, so those are tried first."""
    plain = v.PROFILES.get(profile.name)
    if plain is not None and plain != profile:
        yield plain, setup
        for name in NUMBERS:
            if getattr(profile, name) != getattr(plain, name):
                yield changed(profile, **{name: getattr(plain, name)}), setup
        if profile.discipline != plain.discipline and isinstance(profile.discipline, type(plain.discipline)):
            yield changed(profile, discipline=plain.discipline), setup
    for field in fields(v.Setup):
        value = getattr(setup, field.name)
        if value != field.default and field.name != "width":
            yield profile, changed(setup, **{field.name: field.default})
    if setup.spawned is None:
        for width in range(1, setup.width):
            yield profile, changed(setup, width=width)


def together(commands: Sequence[Any]) -> list[frozenset[int]]:
    """The indices of commands that make sense only together, the last first: all of one actor; from a dispatch to its actor's next."""
    actors = dict.fromkeys(actor for command in commands if (actor := getattr(command, "actor", None)) is not None)
    found = [frozenset(i for i, command in enumerate(commands) if getattr(command, "actor", None) == actor) for actor in reversed(actors)]
    for start in range(len(commands) - 1, -1, -1):
        if isinstance(commands[start], v.Dispatch):
            later = [i for i in range(start + 1, len(commands)) if isinstance(commands[i], v.Dispatch) and commands[i].actor == commands[start].actor]
            end = later[0] if later else len(commands)
            found.append(frozenset(i for i in range(start, end) if getattr(commands[i], "actor", None) == commands[start].actor))
    return [indices for indices in found if 1 < len(indices) < len(commands)]


def merged(commands: Sequence[Any]) -> Iterator[list[Any]]:
    """Two goes of one actor, with nothing of its own between them, as one, in the place and at the time of either."""
    for late in range(len(commands) - 1, 0, -1):
        second = commands[late]
        early = next((i for i in range(late - 1, -1, -1) if getattr(commands[i], "actor", None) == getattr(second, "actor", "")), None)
        if early is None or not isinstance(second, v.Go) or not isinstance(first := commands[early], v.Go):
            continue
        times = first.times + second.times
        yield [*commands[:early], *commands[early + 1 : late], changed(second, times=times), *commands[late + 1 :]]
        yield [*commands[:early], changed(first, times=times), *commands[early + 1 : late], *commands[late + 1 :]]
        if late == early + 1:
            yield [*commands[:early], changed(first, times=times, at=second.at), *commands[late + 1 :]]


def simpler_names(commands: Sequence[Any]) -> tuple[list[Any], dict[str, str]] | None:
    """Dispatchers d, e, f in order; workers keep their numbers. None if they are named so already."""
    names: dict[str, str] = {}
    for command in commands:
        actor = getattr(command, "actor", None)
        if isinstance(actor, str) and actor != v.BUILDER and not (actor[0] == "w" and actor[1:].isdigit()):
            names.setdefault(actor, chr(ord("d") + len(names)) if len(names) < 8 else f"d{len(names)}")
    if all(old == new for old, new in names.items()):
        return None
    return [changed(command, actor=names[command.actor]) if getattr(command, "actor", None) in names else command for command in commands], names
