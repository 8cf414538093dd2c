"""A failure as a pytest file, its commands spelled out: red while the target fails so, green when it does not."""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from slotwise.fuzz.report import Failure
from slotwise.spec import vocabulary as v
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.vocabulary import Group, Observation, Task

WIDTH = 160


def emit_test(failure: Failure, target: str | None = None) -> str:
    """The source of a test of `target` (default: that of the failure). It compares what is seen, then state and laws, with what the rules say."""
    return "\n".join(_lines(failure, target or failure.target)) + "\n"


def test_name(failure: Failure) -> str:
    return f"test_{failure.rule}_{failure.profile.name}".lower().replace("-", "_").replace(".", "_")


def _lines(failure: Failure, target: str) -> Iterator[str]:
    steps = failure.trace.steps
    commands = [step.command for step in steps]
    mechanism = mechanism_of(failure.profile)
    plain = mechanism.profiles.get(failure.profile.name) == failure.profile
    given = failure.setup if isinstance(failure.setup, msgspec.Struct) else None            # else a capacity
    spelled_out = [*commands, *([] if plain else [failure.profile]), *([] if given is None else [given])]
    names = {kind.__name__ for record in spelled_out for kind in _kinds(record)} | {"Command"} | ({"PROFILES"} if plain else set())
    profile = f"PROFILES[{_text(failure.profile.name)}]" if plain else spelled(failure.profile)
    setup = "CAPACITY" if given is None else "SETUP"
    sentence = f"{failure.rule}: {failure.sentence}" if failure.sentence else failure.message
    yield f'"""{sentence.replace(chr(34) * 3, chr(39) * 3)}"""'
    yield "from slotwise.fuzz import targets"
    yield "from slotwise.fuzz.judges import judge"
    imports = [(next(iter(mechanism.commands.values())).__module__, sorted(names, key=_import_order)), *([(mechanism.law_book.__name__, ["LAWS"])] if failure.kind == "law" else [])]
    for module, imported in sorted(imports):
        yield f"from {module} import {', '.join(imported)}"
    yield ""
    yield f"PROFILE = {profile}"
    yield f"{setup} = {_value(failure.setup)}"
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
    yield f"    finding = judge(targets.load({_text(target)}), PROFILE, {setup}, COMMANDS, state_every=1{only})"
    yield "    assert finding is None, finding.message"


def _said(saw: Iterable[Observation]) -> str:
    text = ", ".join(" ".join(str(part) for part in observation) for observation in saw)
    return text if len(text) < WIDTH - 6 else text[: WIDTH - 10] + " ..."


def _import_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1, name)


def _kinds(record: object) -> Iterator[type]:
    """The records in a record, itself the first; those by default are left out, as they are where it is spelled."""
    if isinstance(record, msgspec.Struct):
        yield type(record)
        for field in msgspec.structs.fields(type(record)):
            value = getattr(record, field.name)
            if field.default is msgspec.NODEFAULT or value != field.default:
                yield from _kinds(value)
    elif isinstance(record, tuple):
        for part in record:
            yield from _kinds(part)


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
