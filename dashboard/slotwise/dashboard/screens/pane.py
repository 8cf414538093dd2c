"""A table of the frame, to move in, sort, filter and follow. What is selected is a row's id, not its place."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from textual import events
from textual.message import Message

from slotwise.dashboard.observe import lints
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.panes import Column, Listing, Row, worst
from slotwise.dashboard.observe.words import showing
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.filters import FilterError, parse
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look

ALARMS = "alarms"


class TablePane(Lines, can_focus=True):
    class Entered(Message):
        """Enter, or a click on the selected row."""

        def __init__(self, pane: TablePane) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, look: Look, name: str) -> None:
        super().__init__(look, id=f"pane-{name}", classes="pane")
        self.table = name
        self.sort: str | None = None             # None: the table's own
        self.typed, self.problems, self.follow = "", False, False
        self.selected: str | None = None         # None: the first
        self.place = self.top = 0                # of the selected row, of the first that is shown
        self.total = 0
        self.wrong = ""                          # with the filter
        self._grid: Grid | None = None
        self._listed: tuple[Frame | None, tuple[Alarm, ...], str | None, Listing[Any] | None] | None = None
        self._shown: tuple[Row, ...] = ()

    # what is shown ------------------------------------------------------------------------------------------------------------------

    def listing(self) -> Listing[Any] | None:
        """Put in order once for each frame."""
        screens = self.screens
        if self._listed is None or self._listed[0] is not screens.frame or self._listed[1:3] != (screens.alarms, self.sort):
            self._listed = screens.frame, screens.alarms, self.sort, self._listing()
        return self._listed[3]

    def _listing(self) -> Listing[Any] | None:
        frame = self.screens.frame
        if frame is None:
            return None
        if self.table == ALARMS:
            return lints.listing(self.screens.alarms, frame.window.now, self.sort)
        return frame.listing(self.table, self.sort) if self.table in frame.names else None

    def troubled(self) -> dict[str, str]:
        """What open lints say of rows here."""
        found: dict[str, str] = {}
        for alarm in self.screens.alarms:
            if hints.SPEAKS_OF.get(alarm.code.rstrip("0123456789"), self.table) == self.table:
                found[alarm.entity] = worst((alarm.status, found.get(alarm.entity, "ok")))  # type: ignore[arg-type]
        return found

    def keep(self, columns: tuple[Column, ...]) -> Callable[[Row], bool] | None:
        self.wrong = ""
        try:
            matches = parse(self.typed, columns) if self.typed else None
        except FilterError as error:
            self.wrong, matches = str(error), None
        if not self.problems:
            return matches
        troubled = self.troubled()

        def bad(row: Row) -> bool:
            return (row.key in troubled or row.status in ("warn", "alarm") or any(cell.status in ("warn", "alarm") for cell in row.cells)) and (matches is None or matches(row))

        return bad

    def gather(self, height: int) -> tuple[Listing[Any], tuple[Row, ...]] | None:
        """The rows that fit, and where the selected one stands."""
        listing = self.listing()
        if listing is None:
            return None
        keep = self.keep(listing.columns)
        kept = None if keep is None else [row for row in listing.rows() if keep(row)]
        self.total = len(listing) if kept is None else len(kept)
        if self.selected is not None:
            found = listing.find(self.selected) if kept is None else next((i for i, row in enumerate(kept) if row.key == self.selected), None)
            self.place = min(self.place, max(0, self.total - 1)) if found is None else found
        else:
            self.place = 0
        if self.follow:
            self.reveal(height)
        self.top = max(0, min(self.top, self.total - height))
        return listing, listing.rows(self.top, self.top + height) if kept is None else tuple(kept[self.top : self.top + height])

    def reveal(self, height: int) -> None:
        self.top = min(max(self.top, self.place - height + 1), self.place)

    @property
    def room(self) -> int:
        return max(1, self.size.height - self.headed(self.size.height))

    def headed(self, height: int) -> bool:
        return height > 1 and self.table not in hints.HEADLESS

    def draw(self, width: int, height: int) -> Iterable[Line]:
        headed = self.headed(height)
        found = self.gather(height - headed)
        if found is None:
            self._grid = None
            yield [(" nothing known yet", "dim")]
            return
        listing, self._shown = found
        grid = self._grid = Grid(self.look, self.table, listing.columns, self._shown, width, sort=listing.sort)
        troubled = self.troubled()
        if headed:
            yield grid.header()
        for i, row in enumerate(self._shown):
            status = worst((row.status, troubled.get(row.key, "ok")))  # type: ignore[arg-type]
            yield grid.line(i, selected=self.has_focus and self.top + i == self.place, focus=self.has_focus, status=status)
        if not self._shown:
            yield [("  " + self.why_empty(len(listing)), "dim")]
        elif (legend := grid.legend()) and len(self._shown) < height - headed:
            yield [("  ", "dim"), *legend]

    def why_empty(self, all_: int) -> str:
        if self.wrong:
            return self.wrong
        if all_:
            return f"none of {all_:,} " + ("has a problem" if self.problems and not self.typed else "is like that; esc shows all")
        return "no alarm is open" if self.table == ALARMS else "none"

    def update(self) -> None:
        super().update()
        if self.size.height and self.display:
            self.frame_with(self.title, self.below())

    @property
    def title(self) -> str:
        listing = self.listing()
        words = listing.title if listing is not None else self.table
        return f"{hints.DIGITS[self.table]} {words}" if self.table in hints.DIGITS else words

    def below(self) -> str:
        """What is special about what is shown."""
        words = [self.wrong] if self.wrong else []
        if self.typed:
            words.append(f"/{self.typed}")
        if self.problems:
            words.append("problems only")
        if self.follow:
            words.append("follows")
        if len(self._shown) < self.total:
            words.append(f"{self.top + 1:,}-{self.top + len(self._shown):,} of {self.total:,}" if self.top else showing(len(self._shown), self.total))
        return "  ".join(words)

    # what keys and the mouse do -----------------------------------------------------------------------------------------------------

    def move(self, by: int) -> None:
        self.go(self.place + by)

    def go(self, place: int) -> None:
        self.gather(self.room)
        self.place = max(0, min(place, self.total - 1))
        self.selected = None
        row = self._at(self.place)
        if row is not None:
            self.selected = row.key
        self.reveal(self.room)
        self.update()

    def _at(self, place: int) -> Row | None:
        listing = self.listing()
        if listing is None:
            return None
        keep = self.keep(listing.columns)
        rows = listing.rows(place, place + 1) if keep is None else [row for row in listing.rows() if keep(row)][place : place + 1]
        return rows[0] if rows else None

    @property
    def row(self) -> Row | None:
        """The selected one."""
        self.gather(self.room)
        return self._at(self.place)

    def sort_next(self) -> str:
        listing = self.listing()
        if listing is None:
            return ""
        shown = [listing.columns[i].id for i in self._grid.order] if self._grid else [column.id for column in listing.columns]
        now = listing.sort.removeprefix("-")
        column = shown[(shown.index(now) + 1) % len(shown)] if now in shown else shown[0]
        return self.sort_by(column)

    def sort_by(self, column: str) -> str:
        """The greatest first where that is a number; again: the other way round."""
        listing = self.listing()
        if listing is None:
            return ""
        place = next(i for i, one in enumerate(listing.columns) if one.id == column)
        number = bool(self._shown) and isinstance(next((row.cells[place].value for row in self._shown if row.cells[place].value is not None), None), int | float)
        self.sort = ("-" if number else "") + column
        self.update()
        return self.sort

    def reverse(self) -> str:
        listing = self.listing()
        if listing is None:
            return ""
        now = listing.sort or listing.columns[0].id
        self.sort = now.removeprefix("-") if now.startswith("-") else f"-{now}"
        self.update()
        return self.sort

    def on_focus(self) -> None:
        self.update()

    def on_blur(self) -> None:
        self.update()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.top += 3
        self.update()
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.top = max(0, self.top - 3)
        self.update()
        event.stop()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:
            return
        headed = self.headed(self.size.height)
        if at.y == 0 and self._grid is not None and headed:
            column = self._grid.column_at(at.x)
            if column is not None:
                listing = self.listing()
                if listing is not None and listing.sort.removeprefix("-") == column:
                    self.reverse()
                else:
                    self.sort_by(column)
            return
        place = self.top + at.y - headed
        if 0 <= place < self.total:
            again = self.selected is not None and place == self.place
            self.go(place)
            if again:
                self.post_message(self.Entered(self))
