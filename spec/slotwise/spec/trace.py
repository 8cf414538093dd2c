"""The trace file, `*.slotwise.jsonl`: one header line, then one command per line with what was seen and the rules that decided.

UTF-8 JSON lines, each ended by a newline. Readable without the tool; recording a trace again gives the same bytes. Whatever is wrong
with a file is refused with its line and field (`TraceError`), never guessed at.
"""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from slotwise.spec.mechanisms import MECHANISMS, Mechanism, mechanism_of
from slotwise.spec.vocabulary import Observation

FORMAT = 1
NEWLINE = b"\n"
SUFFIX = ".slotwise.jsonl"


class TraceError(ValueError):
    """A trace that cannot be read. The message names file, line and field, what was found and what was expected."""


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The first line. `slotwise` is the version of the format; profile and setup are the mechanism's."""

    slotwise: int
    mechanism: str
    profile: Any
    setup: Any
    seed: int | None = None
    targets: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    command: Any                                 # of the trace's mechanism
    saw: list[Observation] | None = None       # None: not recorded
    rules: list[str] | None = None               # by the reference, in order of first decision


@dataclass(frozen=True, slots=True)
class Trace:
    header: Header
    steps: list[Step] = field(default_factory=list)

    @property
    def commands(self) -> list[Any]:
        return [step.command for step in self.steps]


def header(profile: Any, setup: Any, *, seed: int | None = None, targets: Iterable[str] = (), note: str = "") -> Header:
    """The profile tells the mechanism. `setup` may be the only field of the mechanism's setup: of admission, the capacity."""
    mechanism = mechanism_of(profile)
    return Header(FORMAT, mechanism.name, profile, mechanism.set_up(setup), seed, tuple(targets), note)


_encode = msgspec.json.Encoder().encode


def encode_command(command: Any) -> bytes:
    """One command as a line without its newline."""
    return _encode(command)


def encode(trace: Trace) -> bytes:
    """The whole file."""
    lines = [_encode(trace.header)]
    for step in trace.steps:
        line: dict[str, object] = msgspec.to_builtins(step.command)
        if step.saw is not None:
            line["saw"] = step.saw
        if step.rules is not None:
            line["rules"] = list(dict.fromkeys(step.rules))
        lines.append(_encode(line))
    return b"\n".join([*lines, b""])


def decode(data: bytes, name: str = "trace") -> Trace:
    """Read a whole file; `name` is what its errors call it. Raises TraceError."""
    if not data:
        raise TraceError(f"{name}: line 1: the file is empty, expected a header")
    if not data.endswith(b"\n"):
        if b"\n" in data:                   # what is no trace at all is not called truncated
            _header(data.partition(b"\n")[0], name)
        raise TraceError(f"{name}: line {data.count(NEWLINE) + 1}: the file ends within a line; it is truncated")
    first, *rest = data[:-1].split(b"\n")
    header = _header(first, name)
    mechanism = MECHANISMS[header.mechanism]
    return Trace(header, [_step(mechanism, line, name, number) for number, line in enumerate(rest, 2)])


def read(path: Path) -> Trace:
    """Read a trace file. Raises TraceError, also for a file that cannot be opened."""
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None


def write(path: Path, trace: Trace) -> None:
    path.write_bytes(encode(trace))


def _object(line: bytes, name: str, number: int) -> dict[str, object]:
    try:
        return msgspec.json.decode(line, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(f"{name}: line {number}: not a JSON object: {error}") from None


def _convert(value: object, type: Any, name: str, number: int) -> Any:
    try:
        return msgspec.convert(value, type=type)
    except msgspec.ValidationError as error:
        raise TraceError(f"{name}: line {number}: {error}") from None


def _header(line: bytes, name: str) -> Header:
    found = _object(line, name, 1)
    version = found.get("slotwise")
    if version is None:
        raise TraceError(f"{name}: line 1: field `slotwise` is missing: this is not a slotwise trace")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise TraceError(f"{name}: line 1: field `slotwise`: expected a format version, found {version!r}")
    if version > FORMAT:
        raise TraceError(f"{name}: line 1: field `slotwise`: format {version} was written by a newer slotwise; this one reads up to {FORMAT}")
    mechanism = _convert(found, _Mechanism, name, 1).mechanism
    return Header(**msgspec.structs.asdict(_convert(found, _typed_header(MECHANISMS[mechanism]), name, 1)))


class _Mechanism(msgspec.Struct):
    mechanism: Literal[tuple(MECHANISMS)]    # type: ignore[valid-type]


@cache
def _typed_header(mechanism: Mechanism) -> type[Any]:
    """A header whose profile and setup are the mechanism's."""
    types = {"profile": mechanism.profile, "setup": mechanism.setup}
    fields = [(f.name, types.get(f.name, f.type), f.default) for f in msgspec.structs.fields(Header)]
    return msgspec.defstruct("Header", fields, forbid_unknown_fields=True)


def _step(mechanism: Mechanism, line: bytes, name: str, number: int) -> Step:
    found = _object(line, name, number)
    saw = _convert(found.pop("saw", None), list[mechanism.observation] | None, name, number)    # type: ignore[name-defined]
    rules = _convert(found.pop("rules", None), list[str] | None, name, number)
    return Step(_convert(found, mechanism.command, name, number), saw, rules)
