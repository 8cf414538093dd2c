"""A table as lines: columns that fit, a bar where one is known, the row that is selected. Nothing here knows what the table is about."""
from __future__ import annotations

from collections.abc import Sequence

from slotwise.dashboard.observe.panes import Cell, Column, Row
from slotwise.dashboard.observe.words import SAFE
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.look import Line, Look, width_of

WIDEST = 24                              # cells of a column of words, but the last
BAR_MOST = 60


class Grid:
    """Chooses columns for a width, once for all rows that are shown."""

    def __init__(self, look: Look, name: str, columns: Sequence[Column], rows: Sequence[Row], width: int, *, marks: bool = True, sort: str = "", early: Sequence[str] = (), known: dict[str, int] | None = None) -> None:
        """`early` names columns that come right after the first, whatever else has room; `known` how wide columns were before, by id, which this goes on with:
        none gets narrower again, so that nothing moves about from frame to frame."""
        self.look, self.columns, self.sort = look, columns, sort
        self.lead = 2 if marks else 0            # selection and state
        self.words = [[look.value(cell.value, column.unit) for cell, column in zip(row.cells, columns, strict=True)] for row in rows]
        self.rows = rows
        self.places = {column.id: i for i, column in enumerate(columns)}
        self.bar = self._known_bar(name)
        self.right = [column.id in hints.RIGHT or any(isinstance(row.cells[i].value, int | float) for row in rows) or (column.unit not in ("", SAFE) and not any(isinstance(row.cells[i].value, str) for row in rows)) for i, column in enumerate(columns)]
        self._choose(name, width, early, {} if known is None else known)

    def _known_bar(self, name: str) -> hints.Bar | None:
        bar = hints.BARS.get(name)
        needed = [] if bar is None else [bar.after, *(part[0] for part in bar.parts)] + ([bar.whole] if bar.whole.isidentifier() and bar.whole != "max" else [])
        return bar if bar is not None and all(column in self.places for column in needed) else None

    def _title(self, i: int) -> str:
        column = self.columns[i]
        return column.title + ((self.look.down if self.sort.startswith("-") else self.look.up) if self.sort.removeprefix("-") == column.id else "")

    def _choose(self, name: str, width: int, early: Sequence[str], known: dict[str, int]) -> None:
        if self.bar and width < 36:                  # numbers first
            self.bar = None if width < 30 else self.bar._replace(least=6)
        first, never = self._first(name, known), hints.NEVER.get(name, ())
        order = [self.places[one] for one in dict.fromkeys((*first[:1], *early, *first[1:])) if one in self.places]
        order += [i for i, column in enumerate(self.columns) if i not in order and column.id not in never]
        natural = [max([len(self._title(i)), hints.LEAST.get(column.id, 0), known.get(column.id, 0), *(_cells(words[i]) for words in self.words)]) for i, column in enumerate(self.columns)]
        known.update((column.id, min(natural[i], WIDEST)) for i, column in enumerate(self.columns) if column.unit != SAFE)
        left = width - self.lead - (self.bar.least + 1 if self.bar else 0)
        self.widths: dict[int, int] = {}
        for i in order:
            wanted = natural[i]
            rest = self.columns[i].unit == SAFE
            if not self.right[i] and not rest:
                wanted = min(wanted, WIDEST)
            if rest:
                wanted = max(min(wanted, left - 9), 10)
            if wanted + 1 > left and self.widths:
                if rest or not self.right[i]:        # words may be cut
                    wanted = left - 1
                    if wanted < 6:
                        continue
                else:
                    continue
            self.widths[i] = wanted = max(1, min(wanted, left - 1))
            left -= wanted + 1
        self.bar_width = min(BAR_MOST, self.bar.least + max(0, left)) if self.bar else 0
        if not self.bar:                             # the last column of words may have what is left
            for i in sorted(self.widths, reverse=True):
                if not self.right[i] and left > 0:
                    self.widths[i] = min(natural[i], self.widths[i] + left) if i != max(self.widths) else self.widths[i] + left
                    break
        self.order = sorted(self.widths)

    def _first(self, name: str, known: dict[str, int]) -> tuple[str, ...]:
        """Columns by importance. One that once had something in it keeps its place."""
        seldom, first = hints.FILLED.get(name, ("", ()))
        if seldom in self.places and (f"{seldom} was filled" in known or any(row.cells[self.places[seldom]].value is not None for row in self.rows)):
            known[f"{seldom} was filled"] = 1
            return first
        return hints.FIRST.get(name, ())

    def header(self) -> Line:
        line: Line = [(" " * self.lead, "dim")]
        for i in self.order:
            line.append((self.look.fit(self._title(i), self.widths[i], self.right[i]) + " ", "strong" if self.sort.removeprefix("-") == self.columns[i].id else "dim"))
            if self.bar and self.columns[i].id == self.bar.after:
                line.append((self.look.fit(self.bar.title, self.bar_width) + " ", "dim"))
        return line

    def column_at(self, x: int) -> str | None:
        """The column under a click on the header."""
        left = self.lead
        for i in self.order:
            left += self.widths[i] + 1
            if x < left:
                return self.columns[i].id
            if self.bar and self.columns[i].id == self.bar.after:
                left += self.bar_width + 1
                if x < left:
                    return None
        return None

    def line(self, place: int, *, selected: bool = False, focus: bool = False, status: str = "ok") -> Line:
        row, words, look = self.rows[place], self.words[place], self.look
        line: Line = []
        if self.lead:
            mark = look.status[status] if status in ("warn", "alarm") else " "  # type: ignore[index]
            line += [(">" if selected else " ", "strong"), (mark, status if mark != " " else "text")]
        for number, i in enumerate(self.order):
            cell = row.cells[i]
            line.append((look.fit(words[i], self.widths[i], self.right[i]), self._style(cell, number == 0 or self.columns[i].id in hints.STATES, number == 0 and selected and focus, status)))
            line.append((" ", "text"))
            if self.bar and self.columns[i].id == self.bar.after:
                line += [*self._bar(row), (" ", "text")]
        return line

    @staticmethod
    def _style(cell: Cell, telling: bool, selected: bool, status: str) -> str:
        if selected:
            return "selected"
        if cell.status in ("warn", "alarm"):
            return cell.status
        if telling:
            return status if status in ("warn", "alarm") else "strong"
        return "dim" if cell.note or cell.value is None else "text"

    def _bar(self, row: Row) -> Line:
        assert self.bar is not None

        def number(column: str) -> float:
            value = row.cells[self.places[column]].value
            return float(value) if isinstance(value, int | float) else 0.0

        if self.bar.whole == "max":
            whole = max((float(value) for one in self.rows if isinstance(value := one.cells[self.places[self.bar.parts[0][0]]].value, int | float)), default=0.0)
        else:
            whole = number(self.bar.whole) if self.bar.whole.isidentifier() else float(self.bar.whole)
        return self.look.bar([(number(column), getattr(self.look, glyph), style) for column, glyph, style in self.bar.parts], whole, self.bar_width, self.bar.rest)

    def cut_off(self, place: int) -> str:
        """A row's sentence, if there is more of it than fits."""
        return next((self.words[place][i] for i in self.order if self.columns[i].unit == SAFE and _cells(self.words[place][i]) > self.widths[i]), "")

    def legend(self) -> Line:
        """What the bar's glyphs mean; empty if they need no words."""
        return [piece for glyph, style, word in self.bar.legend for piece in ((getattr(self.look, glyph), style), (f" {word}  ", "dim"))] if self.bar else []


def _cells(words: str) -> int:
    return len(words) if words.isascii() else width_of([(words, "")])
