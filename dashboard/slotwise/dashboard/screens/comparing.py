"""What has changed since the mark."""
from __future__ import annotations

from dataclasses import dataclass

from slotwise.dashboard.observe.difference import difference
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.panes import Pane
from slotwise.dashboard.observe.words import escape, showing
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.look import Line, Look
from slotwise.dashboard.screens.page import Over
from slotwise.dashboard.screens.times import SECOND

OFTEN = SECOND // 2


@dataclass(frozen=True, eq=False)
class Marked:
    """A frame that was looked at, with its alarms."""

    frame: Frame
    alarms: tuple[Alarm, ...]


class Difference(Over):
    SHOWN = ("quit", "help", "back", "down", "pause", "mark")

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self._known: tuple[Frame, Frame, list[Pane]] | None = None

    def compared(self, before: Frame, after: Frame) -> list[Pane]:
        """Worked out once for each frame; of a running scheduler at most twice a second."""
        known = self._known
        if known is not None and known[0] is before and (known[1] is after or (not self.screens.session.replay and 0 <= after.window.now - known[1].window.now < OFTEN)):
            return known[2]
        self._known = before, after, difference(before, after)
        return self._known[2]

    def content(self, width: int) -> list[Line]:
        screens = self.screens
        marked, frame = screens.marked, screens.frame
        if marked is None or frame is None:
            return [[(" there is no mark", "dim")]]
        between, *panes = self.compared(marked.frame, frame)
        before, after = f"before: the mark, {screens.when(marked.frame)};", f"after: {screens.when(frame) if screens.session.replay else 'now'}"
        lines: list[Line] = [[(" Difference ", "reverse"), (f"  {before}  {after}", "text")]] if width >= 60 else [[(f" {before}", "reverse")], [(f" {after}", "reverse")]]
        lines += [*self.facts(between, width), []]
        for pane in panes:
            lines.append([(f" {pane.title}", "strong"), (f"  {showing(len(pane.rows), pane.total) or ('' if pane.rows else 'nothing has changed')}", "dim")])
            if pane.rows:
                grid = Grid(self.look, pane.name, pane.columns, pane.rows, min(width, 100))
                lines += [grid.header(), *(grid.line(place) for place in range(len(pane.rows)))]
            lines.append([])
        return lines

    def facts(self, pane: Pane, width: int) -> list[Line]:
        """As many to a line as there is room for; what is 0 is left out."""
        words = []
        for fact, value, unit in (row.cells for row in pane.rows):
            if value.value or fact.value in ("passed", "events"):
                more = "" if unit.value in ("", "s", "tasks", fact.value) else f" {unit.value}"
                words.append(f"{fact.value} {self.look.value(value.value, str(unit.value))}{more}" if fact.value != "another run" else f"another run: {escape(str(value.value))}")
        lines, line = [], ""
        for word in words:
            if line and len(line) + len(word) + 3 > width:
                lines.append(line)
                line = ""
            line += f"   {word}" if line else f" {word}"
        return [[(self.look.fit(line, width), "dim")] for line in (*lines, line)]
