"""What was counted, told in another way: per second of the window, as a total of the window, or as a share of all rows. Only columns that
add up are changed; everything else stays as it is."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from slotwise.dashboard.observe.panes import Cell, Column, Field, Table
from slotwise.dashboard.observe.window import SECOND, GroupWindow
from slotwise.dashboard.observe.words import Value

T = TypeVar("T")
Unit = Literal["own", "rate", "total", "percent"]
UNITS: tuple[Unit, ...] = ("own", "rate", "total", "percent")
WORDS: dict[Unit, str] = {"own": "", "rate": "per second", "total": "in the window", "percent": "of all rows"}
#: Columns that add up, by table; and what they are by themselves.
COUNTERS: dict[str, dict[str, Literal["total", "rate"]]] = {
    "resources": {"lost": "rate"},
    "groups": {"n": "total", "finished": "total", "failed": "total", "retried": "total"},
    "batchers": dict.fromkeys(("requests", "updates", "failures", "refreshes", "joined", "late"), "total"),
    "workers": {"save": "rate"},
    "waits": {"waiters": "rate"}, "waits_by_cause": {"waiters": "rate"}, "waits_by_resource": {"waiters": "rate"},
}  # fmt: skip


def _counted(what: str, title: str, help: str) -> Field[GroupWindow]:
    return Field(what, title, "tasks", help, lambda g: g.count(what))


#: Counters that have no column of their own otherwise.
MORE: dict[str, list[Field[Any]]] = {
    "groups": [_counted("finished", "done", "tasks that finished in the window"), _counted("failed", "failed", "tasks that failed in the window"), _counted("retried", "retried", "tries after the first, in the window")],
}
#: By what a rate's unit becomes when it is no rate any more.
TOTALS = {"slot-s/s": "slot-s", "waiter-s/s": "waiter-s", "cores": "core-s"}


class Told(NamedTuple):
    """A table whose counters are told in one way, and which columns these are."""

    table: Table[Any]
    changed: tuple[str, ...]


def told(table: Table[T], things: Sequence[T], unit: Unit, length: int) -> Told:
    """`length` is that of the window, ns; without one there are no rates. Titles get "/s", "sum" or "/all"."""
    counters = COUNTERS.get(table.name, {})
    if unit == "own" or not counters:
        return Told(table, ())
    fields: list[Field[Any]] = []
    for field in (*table.fields, *(one for one in MORE.get(table.name, ()) if one.column.id in counters)):
        kind = counters.get(field.column.id)
        fields.append(field if kind is None else _field(field, kind, unit, things, length / SECOND))
    return Told(Table(table.name, table.title, table.key, fields, table.sort, table.status), tuple(one for one in counters if any(field.column.id == one for field in fields)))


def _field(field: Field[T], kind: str, unit: Unit, things: Sequence[T], seconds: float) -> Field[T]:
    column = _column(field.column, kind, unit)
    if unit == "percent":
        return Field(column.id, column.title, column.unit, column.help, _share(field.get, things))
    if unit == kind:
        return Field(column.id, column.title, column.unit, column.help, field.get)
    factor = seconds if unit == "total" else 1 / seconds if seconds > 0 else 0.0

    def get(thing: T) -> Value:
        value = _number(field.get(thing))
        return None if value is None or seconds <= 0 else value * factor

    return Field(column.id, column.title, column.unit, column.help, get)


def _share(get: Callable[[T], Value | Cell], things: Sequence[T]) -> Callable[[T], Value]:
    """The sum is worked out when the first row is."""
    known: list[float] = []

    def share(thing: T) -> Value:
        if not known:
            known.append(sum(_number(get(one)) or 0.0 for one in things))
        value = _number(get(thing))
        return None if value is None or not known[0] else 100 * value / known[0]

    return share


def _number(found: Value | Cell) -> float | None:
    value = found.value if isinstance(found, Cell) else found
    return float(value) if isinstance(value, int | float) else None


def _column(column: Column, kind: str, unit: Unit) -> Column:
    title, base = column.title or column.id, column.unit
    match unit:
        case "rate":
            return Column(column.id, f"{title}/s" if kind == "total" else title, f"{base}/s" if kind == "total" else base, column.help + (", per second" if kind == "total" else ""))
        case "total":
            return Column(column.id, f"{title} sum", TOTALS.get(base, base), column.help if kind == "total" else column.help.removesuffix(" / window") + ", over the window")
        case _:
            return Column(column.id, f"{title}/all", "%", f"{column.help}; its share of all rows")
