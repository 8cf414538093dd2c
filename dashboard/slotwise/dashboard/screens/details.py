"""All that is known of a row; of a group, why it waits."""
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from slotwise.dashboard.observe import shrunk
from slotwise.dashboard.observe.panes import Column, Pane, Row
from slotwise.dashboard.observe.words import escape, harmless
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.look import Line, Look, width_of
from slotwise.dashboard.screens.page import Over, Page, hanging, overviews, wrapped


class Detail(Over):
    """Of one row; of a group, why it waits. Goes on with the frames; pause and the replay's keys work here too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        overviews("copy"), Binding("a", "acknowledge", "Acknowledge", id="acknowledge"),
        Binding("tab", "neighbour(1)", "Next row", id="next_pane"), Binding("shift+tab", "neighbour(-1)", "Previous row", id="previous_pane"),
    ]  # fmt: skip
    SHOWN = ("quit", "help", "back", "pause", "window", "export", "next_pane")
    WORDS: ClassVar[dict[str, str]] = {"next_pane": "Next row", "back": "Back"}

    def __init__(self, look: Look, table: str, key: str) -> None:
        super().__init__(look)
        self.table, self.key = table, key
        self._told: tuple[tuple[str, int], list[str]] = ("", 0), []      # of a divergence: its trace, read once

    # content ------------------------------------------------------------------------------------------------------------------------

    def found(self) -> tuple[Row, Sequence[Column]] | None:
        pane = self.screens.overview.panes.get(self.table)
        listing = pane.listing() if pane else None
        place = listing.find(self.key) if listing is not None else None
        return None if listing is None or place is None else (listing.rows(place, place + 1)[0], listing.columns)

    def content(self, width: int) -> list[Line]:
        frame, found, look = self.screens.frame, self.found(), self.look
        if frame is None or found is None:
            return [[(f" {escape(self.key)} ", "reverse"), ("  is not there now; esc goes back", "dim")]]
        row, columns = found
        spoken: list[Line] = []
        for alarm in self.screens.alarms:
            if alarm.entity == self.key and hints.table_of(alarm.code, self.table) == self.table:
                known = self.screens.session.acknowledged.holds(alarm)
                spoken += wrapped(look, f" {look.status[alarm.status]} {alarm.sentence}{'  (acknowledged)' if known else ''}", width, "dim" if known else alarm.status)
        if spoken:
            spoken.append([])
        if self.table == "groups" and self.screens.overview.panes["groups"].put_together is None:
            return [*self.first(row, columns, width), [], *spoken, *self.why(frame.drill(self.key), width)]
        return [self.named(width, [(f"  {self.title_of_table}", "dim")]), [], *(self.trace(row, columns, width) or spoken), *self.every(row, columns, width)]

    @property
    def title_of_table(self) -> str:
        listing = self.screens.overview.panes[self.table].listing()
        return listing.title if listing is not None else self.table

    def trace(self, row: Row, columns: Sequence[Column], width: int) -> list[Line]:
        """Of what diverges, the shrunk trace, in place of an alarm that says what the row does."""
        known = {column.id: str(cell.value or "") for column, cell in zip(columns, row.cells, strict=True)} if self.table == "divergences" else {}
        if "trace" not in known:
            return []
        if self._told[0] != (self.key, width):
            self._told = (self.key, width), [harmless(known["detail"]), *shrunk.told(known["trace"], known["rule"], self.screens.words, width - 2)]
        return [*(piece for line in self._told[1] for piece in ([[(f"  {line}", "text")]] if len(line) + 2 <= width else wrapped(self.look, f"  {line}", width, "text"))), []]

    def every(self, row: Row, columns: Sequence[Column], width: int) -> list[Line]:
        names = max(len(column.title or column.id) for column in columns) + 2
        lines: list[Line] = []
        for cell, column in zip(row.cells, columns, strict=True):
            value = self.look.value(cell.value, column.unit)
            unit = "" if column.unit in ("", "s", "%", "sentence") else "/s" if column.unit == "1/s" else f" {column.unit}"
            if len(value) > 24:
                lines += [[(f"  {column.title or column.id}", "dim")], *wrapped(self.look, f"    {value}", width, "text")]
                continue
            head: Line = [(f"  {column.title or column.id:<{names}}", "dim"), (f"{value}{unit:<{max(0, 24 - len(value))}}", "strong" if cell.value is not None else "dim")]
            if (at := width_of(head) + 2) + 24 <= width:
                lines += hanging([*head, ("  ", "dim")], at, column.help, width, "dim")
            else:
                lines += [head, *hanging([("    ", "dim")], 4, column.help, width, "dim")]
        return lines

    def named(self, width: int, more: Line) -> Line:
        """The row's name, of which as much is left out as must be."""
        return [(self.look.fit(f" {escape(self.key) or '-'}", max(12, width - width_of(more) - 1)).rstrip() + " ", "reverse"), *more]

    def first(self, row: Row, columns: Sequence[Column], width: int) -> list[Line]:
        said = {column.id: self.look.value(cell.value, column.unit) for cell, column in zip(row.cells, columns, strict=True)}
        state: Line = [(f"  {said['flag']}", row.status if row.status in ("warn", "alarm") else "text")] if said.get("flag") else []
        line = self.named(width - 24 if width >= 50 else width - width_of(state), state)
        parts = [part.format_map(said) for part in ("oldest {oldest}", "got {got} of {due} due", "waiting {waiting}", "busy {running}", "weight {weight}")]
        words = self.look.whole(parts, room, 2) if (room := width - width_of(line) - 2) >= len(parts[0]) else ""
        return [[*line, (f"  {words}", "text")]]

    def why(self, panes: list[Pane], width: int) -> list[Line]:
        """Tables beside each other where there is room; then the facts."""
        tables = [pane for pane in panes if not is_facts(pane)]
        beside = width >= 110
        each = width // 2 - 2 if beside else min(width, 78)
        blocks = [self.block(pane, each) for pane in tables]
        lines: list[Line] = []
        while blocks:
            left, right = blocks.pop(0), blocks.pop(0) if beside and blocks else []
            for place in range(max(len(left), len(right))):
                one = left[place] if place < len(left) else []
                other = right[place] if place < len(right) else []
                lines.append([*one, (" " * max(0, each + 2 - width_of(one)), "text"), *other] if other else one)
            lines.append([])
        for pane in panes:
            if is_facts(pane):
                lines += self.facts(pane, width)
        return lines

    def block(self, pane: Pane, width: int) -> list[Line]:
        lines: list[Line] = [[(f" {pane.title}", "strong"), (f"  over {self.screens.window_said}", "dim")]]
        if not pane.rows:
            return [*lines, [("   nothing: nobody waited", "dim")]]
        grid = Grid(self.look, pane.name, pane.columns, pane.rows, width)
        return [*lines, grid.header(), *(grid.line(place) for place in range(len(pane.rows)))]

    def facts(self, pane: Pane, width: int) -> list[Line]:
        """Two to a line where there is room."""
        found = []
        for fact, value, unit in (row.cells for row in pane.rows):
            words = self.look.value(value.value, str(unit.value))
            more = "" if value.value is None or unit.value in ("", "s", "%") else f" {unit.value}"
            found.append([(f"   {fact.value:<26}", "dim"), (self.look.fit(words + more, max(10, min(26, width - 29))), "dim" if value.value is None else "text")])
        lines: list[Line] = [[(f" {pane.title}", "strong")]]
        if width < 110:
            return [*lines, *found, []]
        half = -(-len(found) // 2)
        return [*lines, *([*left, *right] for left, right in zip(found[:half], [*found[half:], *[[]] * (2 * half - len(found))], strict=True)), []]

    # keys ---------------------------------------------------------------------------------------------------------------------------

    def action_acknowledge(self) -> None:
        self.screens.overview.acknowledge(self.table, self.key)

    def action_neighbour(self, by: int) -> None:
        pane = self.screens.overview.panes[self.table]
        pane.move(by)
        if pane.selected is not None:
            self.key = pane.selected
            self.query_one(Page).top = 0
        self.repaint(True)


def is_facts(pane: Pane) -> bool:
    """Each row has a unit of its own."""
    return [column.id for column in pane.columns] == ["fact", "value", "unit"]
