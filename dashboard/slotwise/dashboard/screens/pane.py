"""A table of the frame, to move in, sort, filter and follow."""
from __future__ import annotations

from textual import events
from textual.message import Message

from slotwise.dashboard.observe import regroup
from slotwise.dashboard.screens.rows import ALARMS, Rows

__all__ = ["ALARMS", "TablePane"]


class TablePane(Rows):
    class Entered(Message):
        """A double click."""

        def __init__(self, pane: TablePane) -> None:
            super().__init__()
            self.pane = pane

    hit = False                                  # the latest click was on a row

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

    def select(self, key: str) -> None:
        """The row, if it is there; and into sight."""
        listing = self.listing()
        if listing is not None and listing.find(key) is not None:
            self.selected = key
            self.gather(self.room)
            self.reveal(self.room)
            self.update()

    def next_view(self) -> regroup.View | None:
        """The next way to put the rows together; after the last one, not at all. The filter was for other columns."""
        self.view = self.view + 1 if self.view + 1 < len(regroup.VIEWS.get(self.table, ())) else -1
        self.typed, self.problems, self.follow, self.selected, self.sort = "", False, False, None, None
        self.place = self.top = 0
        self.update()
        return self.put_together

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
        if event.chain > 1:                      # the row of the first click, wherever it stands by now
            if self.hit:
                self.post_message(self.Entered(self))
            return
        place = self.top + at.y - headed
        self.hit = 0 <= place < self.total
        if self.hit:
            self.go(place)
