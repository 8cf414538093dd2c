"""The lines around the tables: the tabs, and the history."""
from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from textual import events
from textual.message import Message

from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, resampled

ASIDE = 26                               # cells that are left for what is special


class Tabs(Lines):
    """The panes by name, where one is shown at a time."""

    class Chosen(Message):
        def __init__(self, table: str) -> None:
            super().__init__()
            self.table = table

    def pieces(self) -> list[tuple[str, str]]:
        screens = self.screens
        found = []
        for name in screens.overview.tables:
            words = hints.SHORT.get(name) or name.capitalize()
            digit = hints.DIGITS.get(name, "")
            count = f" {len(screens.heard)}" if name == "alarms" and screens.heard else ""
            found.append((name, f" {digit}{' ' if digit else ''}{words}{count} "))
        return found

    def shown(self, width: int) -> list[tuple[str, str]]:
        """Those that fit, the current one among them. What is special about its rows needs room too."""
        board, pieces = self.screens.overview, self.pieces()
        all_, room = len(pieces), width - (min(len(board.below()) + 1, ASIDE) if board.special else 0)
        while len(pieces) > 1 and sum(len(words) for _, words in pieces) > room - 4 * (len(pieces) < all_):
            place = next((i for i, (name, _) in enumerate(pieces) if name == board.current), 0)
            del pieces[0 if place > len(pieces) // 2 else -1]
        return [*pieces, ("", f" +{all_ - len(pieces)}")] if len(pieces) < all_ else pieces

    def draw(self, width: int, height: int) -> Iterable[Line]:
        board, pieces = self.screens.overview, self.shown(width)
        below, left = board.below(), width - sum(len(words) for _, words in pieces)
        said: Line = [(self.look.fit(f" {below}", left, right=True), "text")] if below and (left > len(below) or board.special) else []
        yield [*((words, "selected" if name == board.current else "dim") for name, words in pieces), *said]

    def on_click(self, event: events.Click) -> None:
        at, left = event.get_content_offset(self), 0
        for name, words in self.shown(self.size.width):
            left += len(words)
            if name and at is not None and at.x < left:
                self.post_message(self.Chosen(name))
                return


class HistoryLine(Lines):
    """How busy it was, with a mark where things went wrong."""

    LEAD = 11

    class Sought(Message):
        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def draw(self, width: int, height: int) -> Iterable[Line]:
        session, look = self.screens.session, self.look
        cells = max(1, width - self.LEAD - 1)
        top = float(session.frame.head.capacity) if session.frame else 0.0
        series = "busy" if top else "events"         # a search has no slots: how fast it is
        marks = list(look.spark(session.series(series), cells, top))
        statuses = resampled(session.series("status"), cells)
        styles, before = ["spark"] * cells, 0.0 if session.replay or not statuses[0] > 0 else statuses[0]     # what was so a minute ago did not begin then
        for place, status in enumerate(statuses):
            if not isnan(status):
                if status > before:
                    name = "alarm" if status > 1 else "warn"
                    marks[place], styles[place] = look.status[name], name  # type: ignore[index]
                before = status
        marked = self.screens.marked
        kept = session.where(marked.frame.window.now) if marked is not None else None
        if kept is not None:
            place = min(cells - 1, round(kept * (cells - 1)))
            marks[place], styles[place] = "M", "strong"
        here = session.here()
        if here is not None:
            place = min(cells - 1, round(here * (cells - 1)))
            marks[place], styles[place] = look.here, "strong"
        yield [(f" {'log scale' if look.log else 'timeline' if session.replay else f'{series} 60s':<{self.LEAD - 1}}", "dim"), *zip(marks, styles, strict=True)]
        if height > 1:
            first, last = session.ends()
            middle = f"of {top:,.0f} slots{', log scale: its lowest is 1/1000' if look.log else ''}" if top else ""
            yield [(" " * self.LEAD + first + middle.center(max(0, cells - len(first) - len(last))) + last, "dim")]

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and at.x >= self.LEAD:
            self.post_message(self.Sought((at.x - self.LEAD) / max(1, self.size.width - self.LEAD - 2)))
