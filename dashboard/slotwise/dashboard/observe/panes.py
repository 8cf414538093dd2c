"""Panes are data: a name, columns with units, rows of cells. Whoever shows them knows neither groups nor batches, so that what a later
mechanism has to tell finds its place as one more table."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, TypeVar

import msgspec

from slotwise.dashboard.observe.words import Value, showing

T = TypeVar("T")
Status = Literal["ok", "warn", "alarm", "unknown"]
MOST = 200                               # rows of a pane, unless more are asked for


class Column(msgspec.Struct, frozen=True):
    id: str
    title: str
    unit: str                            # "" for words
    help: str                            # what it is, by formula


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    value: Value
    status: Status = "ok"
    note: str = ""                       # "few": too little was counted to be sure


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    key: str                             # the same in every frame
    cells: tuple[Cell, ...]
    status: Status = "ok"


class Pane(msgspec.Struct, frozen=True):
    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    total: int                           # rows there are
    sort: str = ""                       # the column, "-" before it if the greatest comes first

    @property
    def showing(self) -> str:
        """"showing 200 of 10,000"; empty if all are there."""
        return showing(len(self.rows), self.total)


class Field(Generic[T]):
    """A column with the way to its value; the way may give a whole cell."""

    __slots__ = ("column", "get")

    def __init__(self, id: str, title: str, unit: str, help: str, get: Callable[[T], Value | Cell]) -> None:
        self.column, self.get = Column(id, title, unit, help), get


class Table(Generic[T]):
    """How things become a pane. Only the rows that are shown are worked out."""

    def __init__(self, name: str, title: str, key: Callable[[T], str], fields: Sequence[Field[T]], sort: str = "", status: Callable[[T], Status] | None = None) -> None:
        self.name, self.title, self.key, self.fields, self.sort, self.status = name, title, key, fields, sort, status
        self.columns = tuple(field.column for field in fields)

    def pane(self, things: Iterable[T], *, sort: str | None = None, most: int | None = MOST, keep: Callable[[Row], bool] | None = None) -> Pane:
        """`sort` names a column, "-" before it for the greatest first; `keep` is a filter; `most` None is all. Raises ValueError for an unknown column."""
        order = self.sort if sort is None else sort
        found = list(things)
        if order:
            found = self._sorted(found, order)
        rows = list(map(self.row, found[:most] if keep is None else found))
        if keep is not None:
            rows = [row for row in rows if keep(row)]
        return Pane(self.name, self.title, self.columns, tuple(rows[:most]), len(found) if keep is None else len(rows), order)

    def listing(self, things: Iterable[T], sort: str | None = None) -> Listing[T]:
        """All of them in order, of which rows are worked out when they are asked for. Raises ValueError for an unknown column."""
        order = self.sort if sort is None else sort
        found = list(things)
        return Listing(self, self._sorted(found, order) if order else found, order)

    def row(self, thing: T) -> Row:
        cells = tuple(cell if isinstance(cell := field.get(thing), Cell) else Cell(cell) for field in self.fields)
        return Row(self.key(thing), cells, self.status(thing) if self.status else "ok")

    def _sorted(self, things: list[T], order: str) -> list[T]:
        field = next((field for field in self.fields if field.column.id == order.removeprefix("-")), None)
        if field is None:
            raise ValueError(f"no column {order.removeprefix('-')!r} in {self.name}; there are {', '.join(column.id for column in self.columns)}")
        values: list[tuple[Any, T]] = [(value.value if isinstance(value := field.get(thing), Cell) else value, thing) for thing in things]
        known = sorted((pair for pair in values if pair[0] is not None), key=lambda pair: pair[0], reverse=order.startswith("-"))
        return [thing for _, thing in known] + [thing for value, thing in values if value is None]


class Listing(Generic[T]):
    """The rows of a table, of which a screen shows a few."""

    __slots__ = ("_table", "_things", "sort")

    def __init__(self, table: Table[T], things: list[T], sort: str) -> None:
        self._table, self._things, self.sort = table, things, sort

    @property
    def name(self) -> str:
        """Of its table."""
        return self._table.name

    @property
    def title(self) -> str:
        return self._table.title

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._table.columns

    def __len__(self) -> int:
        return len(self._things)

    def rows(self, first: int = 0, beyond: int | None = None) -> tuple[Row, ...]:
        return tuple(map(self._table.row, self._things[first:beyond]))

    def find(self, key: str) -> int | None:
        """Where the row with this key stands."""
        return next((place for place, thing in enumerate(self._things) if self._table.key(thing) == key), None)


def worst(statuses: Iterable[Status]) -> Status:
    """Unknown is no trouble, and not ok either."""
    return max(statuses, key=("ok", "unknown", "warn", "alarm").index, default="unknown")
