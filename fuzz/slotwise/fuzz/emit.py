"""A failure as a pytest file, its commands spelled out: red while the target fails so, green when it does not."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from slotwise.fuzz.report import Failure
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Claim, Command, Group, Observation, Profile, Task

WIDTH = 160


def emit_test(failure: Failure, target: str | None = None) -> str:
    """The source of a test of `target` (default: that of the failure). It compares what is seen, then state and laws, with what the rules say."""
    return "\n".join(_lines(failure, target or failure.target)) + "\n"


def test_name(failure: Failure) -> str:
    return f"test_{failure.rule}_{failure.profile.name}".lower().replace("-", "_").replace(".", "_")


def _lines(failure: Failure, target: str) -> Iterator[str]:
    steps = failure.trace.steps
    commands = [step.command for step in steps]
    used = sorted({type(command).__name__ for command in commands} | {"Task"} & _inside(commands, Task) | {"Group"} & _inside(commands, Group) | {"Claim"} & _inside(commands, Claim))
    plain = v.PROFILES.get(failure.profile.name) == failure.profile
    profile = f"PROFILES[{_text(failure.profile.name)}]" if plain else spelled(failure.profile)
    names = [*used, "Command", "PROFILES"] if plain else [*used, "Command", "Profile", type(failure.profile.discipline).__name__, *(["Ceiling"] if _ceilings(failure.profile) else [])]
    sentence = f"{failure.rule}: {failure.sentence}" if failure.sentence else failure.message
    yield f'"""{sentence.replace(chr(34) * 3, chr(39) * 3)}"""'
    yield "from slotwise.fuzz import targets"
    yield "from slotwise.fuzz.judges import judge"
    if failure.kind == "law":
        yield "from slotwise.spec.laws import LAWS"
    yield f"from slotwise.spec.vocabulary import {', '.join(sorted(set(names), key=_import_order))}"
    yield ""
    yield f"PROFILE = {profile}"
    yield f"CAPACITY = {_value(failure.capacity)}"
    yield "COMMANDS: list[Command] = ["
    for step in steps:
        if step.saw:
            yield f"    # {_said(step.saw)}"
        yield from _broken(f"    {spelled(step.command)},")
    yield "]"
    yield ""
    yield ""
    yield f"def {test_name(failure)}() -> None:"
    only = f", hazards=frozenset(LAWS) - {{{_text(failure.rule)}}}" if failure.kind == "law" else ""
    yield f"    finding = judge(targets.load({_text(target)}), PROFILE, CAPACITY, COMMANDS, state_every=1{only})"
    yield "    assert finding is None, finding.message"


def _said(saw: Iterable[Observation]) -> str:
    text = ", ".join(" ".join(str(part) for part in observation) for observation in saw)
    return text if len(text) < WIDTH - 6 else text[: WIDTH - 10] + " ..."


def _import_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1, name)


def _inside(commands: Iterable[Command], kind: type) -> set[str]:
    return {kind.__name__} if any(_has(command, kind) for command in commands) else set()


def _has(command: Command, kind: type) -> bool:
    match command:
        case v.Enqueue():
            return kind is Task or (kind is Group and bool(command.groups))
        case v.Release():
            return kind is Claim and command.claim is not None
        case _:
            return False


def _ceilings(profile: Profile) -> bool:
    return isinstance(profile.discipline, v.BoundedBorrow) and bool(profile.discipline.ceilings)


def spelled(record: object) -> str:
    """A record as the Python that makes it; what is by default is left out."""
    positional = isinstance(record, (Task, Group, v.Ceiling))
    parts = []
    for field in msgspec.structs.fields(type(record)):                     # type: ignore[arg-type]
        value = getattr(record, field.name)
        if value == field.default and field.default is not msgspec.NODEFAULT:
            continue
        parts.append(_value(value) if positional and field.required else f"{field.name}={_value(value)}")
    return f"{type(record).__name__}({', '.join(parts)})"


def _value(value: object) -> str:
    if isinstance(value, msgspec.Struct):
        return spelled(value)
    if isinstance(value, tuple):
        inner = ", ".join(map(_value, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {units}" for key, units in value.items()) + "}"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(text: str) -> str:
    """In double quotes."""
    return msgspec.json.encode(text).decode() if text.isprintable() else repr(text)


def _broken(line: str) -> Iterator[str]:
    """A long line in several, broken before tasks."""
    if len(line) <= WIDTH:
        yield line
        return
    first, *rest = re.split(r"(?<=, )(?=Task\(|Group\(|groups=|at=)", line)
    yield first.rstrip()
    current = "        "
    for part in rest:
        if len(current) + len(part) > WIDTH and current.strip():
            yield current.rstrip()
            current = "        "
        current += part
    yield current.rstrip()
