"""Which alarms somebody has seen already, and the table of those that are open."""
from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from slotwise.dashboard.observe.lints import ALARMS, Alarm
from slotwise.dashboard.observe.panes import Cell, Field, Listing, Table
from slotwise.dashboard.observe.words import Value


class Acknowledged:
    """Alarms by code and entity. One that goes away and comes back is another, and speaks again; but not in a recording (`lasting`), where
    one only moves about in time."""

    def __init__(self, lasting: bool = False) -> None:
        self.lasting = lasting
        self._since: dict[tuple[str, str], int] = {}

    def holds(self, alarm: Alarm) -> bool:
        since = self._since.get((alarm.code, alarm.entity))
        return since is not None and (self.lasting or since == alarm.since)

    def toggle(self, alarms: Iterable[Alarm]) -> bool:
        """All of them; if all were, none of them. Says whether they are now."""
        found = list(alarms)
        if all(map(self.holds, found)):
            for alarm in found:
                del self._since[alarm.code, alarm.entity]
            return False
        self._since |= {(alarm.code, alarm.entity): alarm.since for alarm in found}
        return True

    def seen(self, alarms: Iterable[Alarm]) -> None:
        """These are open now: what is gone is forgotten."""
        if self._since and not self.lasting:
            open_ = {(alarm.code, alarm.entity): alarm.since for alarm in alarms}
            self._since = {key: since for key, since in self._since.items() if open_.get(key) == since}

    def unheard(self, alarms: tuple[Alarm, ...]) -> tuple[Alarm, ...]:
        """Those that nobody has acknowledged."""
        return tuple(alarm for alarm in alarms if not self.holds(alarm)) if self._since else alarms


class Open(NamedTuple):
    alarm: Alarm
    now: int
    acknowledged: bool


def _of(field: Field[tuple[Alarm, int]]) -> Field[Open]:
    column = field.column

    def get(one: Open) -> Value | Cell:
        value = field.get((one.alarm, one.now))
        if column.id == "age" and isinstance(value, float):
            return int(value)                    # whole seconds: the rest only flickers
        return f"(acked) {value}" if one.acknowledged and column.id == "sentence" else value

    return Field(column.id, column.title, column.unit, column.help, get)


TABLE: Table[Open] = Table(ALARMS.name, ALARMS.title, lambda one: f"{one.alarm.code} {one.alarm.entity}", [
    *map(_of, ALARMS.fields), Field("acked", "acked", "", "yes: somebody has acknowledged it", lambda one: "yes" if one.acknowledged else ""),
], status=lambda one: "ok" if one.acknowledged else one.alarm.status)  # fmt: skip


def opened(alarms: Iterable[Alarm], now: int, known: Acknowledged, hidden: bool = True) -> list[Open]:
    """Those that were acknowledged come last, or not at all."""
    found = [Open(alarm, now, known.holds(alarm)) for alarm in alarms]
    return [one for one in found if not one.acknowledged] + ([] if hidden else [one for one in found if one.acknowledged])


def listing(alarms: Iterable[Alarm], now: int, known: Acknowledged, hidden: bool = True, sort: str | None = None) -> Listing[Open]:
    return TABLE.listing(opened(alarms, now, known, hidden), sort)
