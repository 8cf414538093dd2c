"""Things of a table that have something in common, put together with their numbers summed."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from slotwise.dashboard.observe.panes import Field, Table

T = TypeVar("T")


class Sums(NamedTuple):
    """Things that have something in common."""

    what: str
    of: Sequence[Any]


class View(NamedTuple):
    """One way to put a table's rows together; `gather` makes them of the table's own things."""

    by: str                              # as it is said on the screen
    table: Table[Any]
    gather: Callable[[Sequence[Any]], list[Any]]


def by(things: Iterable[T], key: Callable[[T], str]) -> list[Sums]:
    found: defaultdict[str, list[T]] = defaultdict(list)
    for thing in things:
        found[key(thing)].append(thing)
    return [Sums(what, of) for what, of in found.items()]


def count(of: str, unit: str = "") -> Field[Sums]:
    return Field("count", of, unit or of, f"how many {of}", lambda one: len(one.of))


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
