"""Two frames beside each other: before, after, and by how much it changed. Pure; what is compared are the numbers of the two windows, and
counts per second, so that windows of any two lengths can be compared, and those of two runs."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slotwise.dashboard.observe import units
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.panes import Cell, Column, Field, Pane, Row, Table
from slotwise.dashboard.observe.window import SECOND, by_name
from slotwise.dashboard.observe.words import SAFE, Value, text

TABLES = ("resources", "groups", "batchers", "workers")
ORDERED = ("groups",)                    # the greatest change first; the others as they come
MOST = 400                               # changes of one pane
COUNTED = ("events", "submitted", "started", "finished", "failed", "cancelled", "retried", "timed_out")
#: Numbers of verdicts: their unit by the last part of their name, if that is one.
UNITS = {"s": "s", "percent": "%"}


class Change(NamedTuple):
    of: str                              # whose number it is
    what: str
    unit: str
    before: Value
    after: Value
    much: float                          # 0 to 1: the change, of the greatest number of this kind anywhere in the pane
    note: str = ""                       # "new", "gone"

    @property
    def by(self) -> float | None:
        """By how much; None if it is no number, or only one is known."""
        return self.after - self.before if _is_number(self.before) and _is_number(self.after) else None  # type: ignore[operator]


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float)


def _by(one: Change) -> str:
    if one.note:
        return one.note
    if one.by is None:
        return ""
    unit = "points" if one.unit in ("%", "points") else one.unit
    words = text(abs(one.by) if unit != "points" else one.by, unit if isinstance(one.by, int) or unit in ("s", "points") else "")
    return words if unit == "points" else ("-" if one.by < 0 else "+") + words


def _times(one: Change) -> Value:
    """after / before"""
    if one.by is None or not one.before or not one.after or one.unit == "points":
        return None
    factor = one.after / one.before  # type: ignore[operator]
    if factor <= 0:
        return None
    return f"x{factor:.3g}" if factor >= 1 else f"/{1 / factor:.3g}"


TABLE: Table[Change] = Table("difference", "", lambda one: f"{one.of} {one.what}", [
    Field("of", "", "", "whose number it is", lambda one: one.of),
    Field("what", "what", "", "its name, as in the tables", lambda one: one.what),
    Field("before", "before", SAFE, "at the mark", lambda one: Cell(text(one.before, one.unit))),
    Field("after", "after", SAFE, "now", lambda one: Cell(text(one.after, one.unit))),
    Field("change", "change", SAFE, "after - before; new: it was not there; gone: it is not there now", lambda one: _by(one)),
    Field("times", "times", SAFE, "after / before", _times),
    Field("unit", "unit", "", "of the numbers", lambda one: "" if one.unit in ("s", "%", SAFE) else one.unit),
])  # fmt: skip


def difference(before: Frame, after: Frame) -> list[Pane]:
    """What lies between them, then what the verdicts say, then each table that either has: only what changed."""
    panes = [between(before, after), _pane("verdicts", "Verdicts", _verdicts(before, after), False)]
    for name in TABLES:
        changes = list(_table(name, before, after))
        if changes or name in before.names or name in after.names:
            title = (after if name in after.names else before).table(name)[0].title
            panes.append(_pane(name, title, changes, name in ORDERED))
    return panes


def another(before: Frame, after: Frame) -> bool:
    """They are of two runs: what has been counted since the start cannot be subtracted."""
    a, b = before.window.after, after.window.after
    return (a.program, a.pid, a.started) != (b.program, b.pid, b.started)


def between(before: Frame, after: Frame) -> Pane:
    """Time passed, and everything that was counted in it, exactly; of another run, nothing was counted together."""
    a, b = before.window.after, after.window.after
    rows: list[tuple[str, Value, str]] = []
    if another(before, after):
        rows.append(("another run", f"{a.program} pid {a.pid}, now {b.program} pid {b.pid}", ""))
    else:
        known = by_name(a.groups)
        rows.append(("passed", (b.now - a.now) / SECOND, "s"))
        for what in COUNTED:
            total = b.events - a.events if what == "events" else sum(getattr(group, what) - getattr(known.get(group.name), what, 0) for group in b.groups)
            rows.append((what, total, "events" if what == "events" else "tasks"))
    rows += [("window then", before.head.window_s, "s"), ("window now", after.head.window_s, "s")]
    columns = (Column("fact", "fact", "", "what"), Column("value", "value", "", "in the unit named"), Column("unit", "unit", "", "of the value"))
    return Pane("between", "Between", columns, tuple(Row(what, (Cell(what), Cell(value), Cell(unit))) for what, value, unit in rows), len(rows))


def _pane(name: str, title: str, changes: Iterable[Change], ordered: bool) -> Pane:
    found = list(changes)
    if ordered:
        most: dict[str, float] = {}
        for one in found:
            most[one.of] = max(most.get(one.of, 0.0), one.much)
        found.sort(key=lambda one: (-most[one.of], one.of, -one.much))
    rows = tuple(map(TABLE.row, found[:MOST]))
    return Pane(name, title, TABLE.columns, rows, len(found))


def _verdicts(before: Frame, after: Frame) -> Iterable[Change]:
    known = {verdict.name: verdict for verdict in before.verdicts}
    for verdict in after.verdicts:
        then = known[verdict.name]
        if then.status != verdict.status:
            yield Change(verdict.name, "status", "", then.status, verdict.status, 0.0)
        for what in dict.fromkeys((*then.numbers, *verdict.numbers)):
            old, new = then.numbers.get(what), verdict.numbers.get(what)
            words, _, unit = what.rpartition("_")
            if text(old, UNITS.get(unit, "")) != text(new, UNITS.get(unit, "")):
                yield Change(verdict.name, (words if unit in UNITS else what).replace("_", " "), UNITS.get(unit, ""), old, new, 0.0)


def _rows(frame: Frame, name: str) -> tuple[Sequence[Column], dict[str, Row]]:
    if name not in frame.names:
        return (), {}
    table, things = frame.table(name)
    table = units.told(table, things, "rate", frame.window.length).table
    return table.columns, {(row := table.row(thing)).key: row for thing in things}


def _kind(unit: str) -> str:
    """Numbers that can be compared with each other, such as all that are counted per second."""
    return "/s" if unit.endswith("/s") else unit


def _table(name: str, before: Frame, after: Frame) -> Iterable[Change]:
    columns, now = _rows(after, name)
    older, then = _rows(before, name)
    columns = columns or older
    kinds = [_kind(column.unit) for column in columns]
    greatest = dict.fromkeys(kinds, 0.0)
    for row in (*then.values(), *now.values()):
        for kind, cell in zip(kinds, row.cells, strict=True):
            if isinstance(cell.value, int | float):
                greatest[kind] = max(greatest[kind], abs(cell.value))
    for key in dict.fromkeys((*now, *then)):
        old, new = then.get(key), now.get(key)
        note = "new" if old is None else "gone" if new is None else ""
        for i, column in enumerate(columns):
            if column.unit == "points":          # the difference of two others
                continue
            was, is_ = old.cells[i].value if old else None, new.cells[i].value if new else None
            if text(was, column.unit) == text(is_, column.unit) or (i == 0 and note) or (note and not (was or is_)):
                continue
            whole, worse = greatest[kinds[i]], old is not None and new is not None and old.status != new.status
            yield Change(key, column.title.strip() or column.id, column.unit, was, is_, _much(was, is_, whole, note, worse), note)


def _much(was: Value, is_: Value, whole: float, note: str, worse: bool) -> float:
    """Words count where the row's state is another. A number that was not known before, or is not now, counts half."""
    number = [value for value in (was, is_) if isinstance(value, int | float)]
    if not number:
        return float(worse)
    if not whole:
        return 0.0
    return abs(number[1] - number[0]) / whole if len(number) == 2 else abs(number[0]) / whole / (1 if note else 2)
