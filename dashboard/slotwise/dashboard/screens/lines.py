"""A widget that is lines of styled pieces, drawn only where they changed. Every segment has a style: without one NO_COLOR fails."""
from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from slotwise.dashboard.screens.look import Line, Look

if TYPE_CHECKING:
    from slotwise.dashboard.screens.app import Screens


def screens_of(node: DOMNode) -> Screens:
    from slotwise.dashboard.screens.app import Screens

    assert isinstance(node.app, Screens)
    return node.app


class Lines(Widget):
    """Subclasses say `draw`; `update` asks for it and repaints the lines that differ."""

    def __init__(self, look: Look, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.look = look
        self._lines: list[Line] = []
        self._drawn = (0, 0)
        self._framed = ("", "")
        self._base = Style.null()

    @property
    def screens(self) -> Screens:
        return screens_of(self)

    def draw(self, width: int, height: int) -> Iterable[Line]:
        raise NotImplementedError

    def update(self) -> None:
        """Nothing is worked out for what nobody sees."""
        width, height = self.size
        if not width or not height or not self.display:
            return
        before, size = self._lines, self._drawn
        self._lines, self._drawn = list(self.draw(width, height))[:height], (width, height)
        if size != self._drawn:
            self.refresh()
            return
        changed = [Region(0, y, width, 1) for y in range(height) if (before[y : y + 1]) != (self._lines[y : y + 1])]
        if changed:
            self.refresh(*changed)

    def frame_with(self, title: str, below: str) -> None:
        """The border's words; the same again cost nothing. Names in them are no markup."""
        if self._framed != (title, below):
            self._framed = title, below
            self.border_title, self.border_subtitle = Content(self.look.safe(title)), Content(self.look.safe(below))

    def on_resize(self) -> None:
        self.update()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._base = self.rich_style         # worked out from all it stands in, once for all lines
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        if self._drawn != tuple(self.size):
            width, height = self.size
            self._lines, self._drawn = list(self.draw(width, height))[:height], (width, height)
        base, width = self._base, self.size.width
        if y >= len(self._lines):
            return Strip.blank(width, base)
        styles, merged = self.look.styles, []
        for style, pieces in groupby(self._lines[y], key=lambda piece: piece[1]):        # a segment costs, whatever its length
            merged.append(Segment(self.look.safe("".join(words for words, _ in pieces)), base + styles[style]))
        return Strip(segment for segment in merged if segment.text).adjust_cell_length(width, base)
