"""What is typed after `/`: words that must be found, `!word` that must not, and `column>5s`; all of them at once."""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence

from slotwise.dashboard.observe.panes import Column, Row
from slotwise.dashboard.observe.words import text

OPERATORS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq}
SCALES = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "m": 60.0, "%": 1.0, "k": 1e3, "M": 1e6}
_COMPARISON = re.compile(r"(?P<column>[\w%]+)(?P<operator>>=|<=|>|<|=)(?P<value>-?[\d.]+)(?P<unit>[a-zA-Z%]*)$")


class FilterError(ValueError):
    """What was typed means nothing here; the message says why."""


def parse(typed: str, columns: Sequence[Column]) -> Callable[[Row], bool]:
    """Raises FilterError."""
    tests = [_term(term, columns) for term in typed.split()]
    return lambda row: all(test(row) for test in tests)


def _term(term: str, columns: Sequence[Column]) -> Callable[[Row], bool]:
    if term.startswith("!") and len(term) > 1:
        positive = _term(term[1:], columns)
        return lambda row: not positive(row)
    found = _COMPARISON.match(term)
    return _compared(found, columns) if found else _contained(term.lower(), columns)


def _contained(word: str, columns: Sequence[Column]) -> Callable[[Row], bool]:
    def test(row: Row) -> bool:
        if word in row.key.lower():
            return True
        return any(word in text(cell.value, column.unit).lower() for cell, column in zip(row.cells, columns, strict=True))

    return test


def _compared(found: re.Match[str], columns: Sequence[Column]) -> Callable[[Row], bool]:
    name, unit = found["column"], found["unit"]
    place = next((i for i, column in enumerate(columns) if name in (column.id, column.title)), None)
    if place is None:
        raise FilterError(f"no column {name}; there are {' '.join(column.id for column in columns)}")
    if unit not in SCALES:
        raise FilterError(f"no unit {unit}; there are {' '.join(one for one in SCALES if one)}")
    try:
        limit = float(found["value"]) * SCALES[unit]
    except ValueError:
        raise FilterError(f"{found['value']} is no number") from None
    compare = OPERATORS[found["operator"]]

    def test(row: Row) -> bool:
        value = row.cells[place].value
        return isinstance(value, int | float) and compare(value, limit)

    return test
