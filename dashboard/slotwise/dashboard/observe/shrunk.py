"""A divergence's shrunk trace, read when somebody looks at it, and told step by step. Bounded: a trace of a search is short."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slotwise.dashboard.observe.campaigns import sentence
from slotwise.dashboard.observe.words import escape, harmless

LARGEST = 2**20                          # bytes of a trace
REPORT = 64 * 2**20                      # bytes of a report that has it
MOST = 200                               # steps that are told


class Words(NamedTuple):
    """How a command and an observation are told; by default plainly, by their fields."""

    said: Callable[[Any], str]
    seen: Callable[[Any], str]


def plainly(value: Any) -> str:
    match value:
        case dict():
            return " ".join(f"{key} {plainly(one)}" for key, one in value.items())
        case list() | tuple():
            return ", ".join(f"({plainly(one)})" if isinstance(one, dict | list | tuple) else plainly(one) for one in value)
        case _:
            return "none" if value is None else str(value)


def command_words(command: Any) -> str:
    known = command.__struct_defaults__
    fields = command.__struct_fields__
    usual = dict(zip(fields[len(fields) - len(known) :], known, strict=True))
    told = [f"{name} {plainly(msgspec.to_builtins(value))}" for name in fields if (value := getattr(command, name)) != usual.get(name, ...) and value not in ((), {}, None)]
    return " ".join([str(command.__struct_config__.tag), *told])


PLAIN = Words(command_words, lambda saw: " ".join(map(plainly, saw)))


def read(reference: str) -> bytes:
    """A file's content; of `REPORT#2.0`, the trace of the first divergence of the report's third run. Raises ValueError, with why."""
    path, _, place = reference.rpartition("#")
    run, _, number = place.partition(".")
    if path and run.isdecimal() and number.isdecimal():
        try:
            found: Any = msgspec.json.decode(_bytes(Path(path), REPORT))
            return str(found.get("runs", [found])[int(run)]["divergences"][int(number)]["trace"]).encode()
        except (AttributeError, KeyError, IndexError, TypeError, msgspec.DecodeError):
            raise ValueError("it is not in the report any more") from None
    return _bytes(Path(reference), LARGEST)


def _bytes(path: Path, most: int) -> bytes:
    try:
        if not path.is_file():               # nothing that could be waited for
            raise ValueError("there is no such file" if not path.exists() else "it is no file")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise ValueError(error.strerror or "it cannot be read") from None
    if len(data) > most:
        raise ValueError(f"it is larger than {most:,} bytes")
    return data


def told(reference: str, rule: str, words: Words = PLAIN, width: int = 120) -> list[str]:
    """Lines, safe to show: what the rule says, and every step of the trace with what the rules expect. One line, if it cannot be read.
    What is seen stands beside the commands if all of it fits, else below each."""
    from slotwise.spec import trace

    if not reference:
        return ["no trace was kept"]
    where = escape(reference)
    try:
        found = trace.decode(read(reference), Path(reference).name)
    except (ValueError, RecursionError) as error:        # a TraceError is one
        return [f"the trace {where}: {escape(str(error))}"]
    header, steps = found.header, found.steps
    says = sentence(header.mechanism, rule)
    lines = [f"{escape(rule)}: {says}", ""] if says else []
    lines += [f"the shrunk trace, {len(steps)} steps under {escape(header.profile.name)}: {where}", ""]
    rows = [(f"{number}", harmless(words.said(step.command)), "; ".join(harmless(words.seen(saw)) for saw in step.saw) if step.saw else "-") for number, step in enumerate(steps[:MOST], 1)]
    wide = max((len(row[1]) for row in rows), default=0)
    beside = all(wide + len(saw) + 8 <= width for _, _, saw in rows)
    for number, said, saw in rows:
        lines += [f"{number:>4}  {said:{wide}}  {saw}"] if beside else [f"{number:>4}  {said}", f"      {saw}"]
    return [*lines, *[f"      {len(steps) - MOST:,} more steps"] * (len(steps) > MOST)]
