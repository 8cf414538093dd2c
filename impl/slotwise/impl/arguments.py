"""What a user of the live runtime gives it, looked at before anything happens: what is wrong is said in one line that names the argument."""
from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from slotwise.impl.retries import Retry
from slotwise.spec.vocabulary import Group


def wrong(argument: str, expected: str, found: object) -> TypeError:
    return TypeError(f"{argument} must be {expected}, found {found!r:.100}")


def capacity(given: object) -> dict[str, int]:
    """Units by resource; how many there may be is the engine's affair. Raises TypeError, ValueError."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise wrong("capacity", 'units by resource, as {"llm": 8}', given)
    if not given:
        raise ValueError("capacity names no resource")
    return dict(given)


def specifications(given: object) -> list[Group]:
    """Raises TypeError; ValueError for a group that makes no sense."""
    if isinstance(given, str | Mapping | Group) or not isinstance(given, Iterable):
        raise wrong("groups", 'Groups in a list, as [Group("chat", weight=3.0)]', given)
    return [sound(group) for group in given]


def sound(group: object) -> Group:
    """Raises TypeError, ValueError."""
    if not isinstance(group, Group):
        raise wrong("group", 'a Group, as Group("chat")', group)
    try:
        return msgspec.convert(msgspec.to_builtins(group), Group)
    except msgspec.ValidationError as error:
        raise ValueError(f"group {group.name!s:.200}: {error}") from None


def seconds(argument: str, given: object, *, positive: bool = False) -> int:
    """In nanoseconds. Raises TypeError, ValueError."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise wrong(argument, "a number of seconds", given)
    if not math.isfinite(given * 1e9) or (positive and given <= 0):
        raise ValueError(f"{argument} must be a finite number of seconds{' above 0' if positive else ''}, found {given}")
    return round(given * 1e9)


def one_of(argument: str, given: object, choices: Iterable[object]) -> None:
    """Raises ValueError."""
    known = list(choices)
    if not any(given is choice or (isinstance(given, str) and given == choice) for choice in known):
        raise ValueError(f"{argument} must be {' or '.join(map(repr, known))}, found {given!r:.100}")


def retrying(given: object) -> None:
    """Raises TypeError."""
    if given is not None and not isinstance(given, Retry):
        raise wrong("retry", "a Retry, as Retry(on=(ConnectionError,))", given)


def scheduler(*, seed: object, name: object, lost: object, check: object, record: object, tap: object, tape: object, recording: object, clock: object, retry: object) -> None:
    """The rest of what a Scheduler is given. Raises TypeError, ValueError."""
    retrying(retry)
    one_of("lost", lost, ("raise", "ignore"))
    one_of("check", check, ("raise", "note", True, False))
    path = (str, os.PathLike)
    for argument, given, fits, expected in (
        ("seed", seed, isinstance(seed, int), "an integer"), ("name", name, isinstance(name, str), "a string"),
        ("record", record, record is None or isinstance(record, path) or hasattr(record, "write"), "a file's path, or what has `write`"),
        ("tap", tap, tap is None or isinstance(tap, (bool, *path)), "a socket's path, True, False or None"),
        ("tape", tape, tape is None or hasattr(tape, "add"), "a Tape"), ("recording", recording, recording is None or isinstance(recording, path), "a file's path"),
        ("clock", clock, clock is None or callable(clock), "a function that gives nanoseconds"),
    ):  # fmt: skip
        if not fits:
            raise wrong(argument, expected, given)


def function_of(given: object) -> TypeError:
    """Why it cannot be called."""
    if inspect.iscoroutine(given):
        given.close()
        return TypeError(f"function must be an async function, and not be called yet: found a coroutine of {given.__qualname__}; its arguments go after it: submit({given.__name__}, …)")
    return wrong("function", "an async function", given)


def needs_of(given: object) -> TypeError:
    return wrong("needs", 'a resource, or units by resource, as {"llm": 2}', given)


def noted(error: Exception, function: Any, job: str) -> None:
    """What failed in the call itself, and not within it, says of which function: it takes other arguments, or is not async."""
    if isinstance(error, TypeError) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
        error.add_note(f"job {job} calls {getattr(function, '__qualname__', function)!s:.100}: submit takes an async function and the arguments for it")
