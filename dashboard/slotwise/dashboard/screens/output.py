"""What the program that was started from here has written: its newest lines, and its exit code."""
from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar, Protocol

from slotwise.dashboard.observe.words import escape, harmless
from slotwise.dashboard.screens.look import Line, Look
from slotwise.dashboard.screens.page import Over, Page

MOST = 5_000                             # lines that are kept
COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
NONE = "no program was started from here"


class Program(Protocol):
    """A child program, as this screen needs it."""

    log: Path
    dropped: int                         # lines that are only in the log
    unlogged: str                        # why the log is not whole; "" if it is

    @property
    def code(self) -> int | None: ...    # exit code; None: it runs
    @property
    def ending(self) -> str: ...         # that in words

    def lines(self, count: int) -> list[str]:
        """The newest, as they are."""
        ...


class Output(Over):
    """Follows the end; once it is scrolled up it stands still, until the end is reached again."""

    SHOWN: ClassVar[tuple[str, ...]] = ("quit", "back", "up", "last")
    WORDS: ClassVar[dict[str, str]] = {"back": "Back", "last": "Newest"}

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.still: list[str] | None = None      # what is looked at, if it is not the end

    @property
    def page(self) -> Page:
        return self.query_one(Page)

    def content(self, width: int) -> list[Line]:
        program = self.screens.program
        if program is None:
            return [[(f" {NONE}", "dim")], [(" slotwise watch --run PROGRAM starts one", "dim")]]
        height = self.page.size.height
        state = program.ending or "runs"
        first: Line = [(" Output ", "reverse"), (f"  {state}", "text" if not program.code else "alarm"), (f"  {program.dropped:,} older lines are only in the log" if program.dropped else "", "dim"), (f"  {escape(str(program.log))}{f': not whole, {escape(program.unlogged)}' if program.unlogged else ''}", "dim")]
        found = program.lines(height) if self.still is None else self.still
        lines: list[Line] = [[(row, "text")] for words in found for row in rows(words, width)]
        if not lines:
            lines = [[(" nothing yet" if program.code is None else " nothing", "dim")]]
        room = max(1, height - 1)
        if self.still is None:
            return [first, *lines[-room:]]
        self.page.back = min(self.page.back, max(0, len(lines) - room))
        last = len(lines) - self.page.back
        more: list[Line] = [[(f" {self.look.more} {self.page.back:,} more below; end goes on with the newest", "dim")]] if self.page.back else []
        return [first, *lines[max(0, last - room) : last - len(more)], *more]

    def action_scroll(self, lines: int) -> None:
        page, program = self.page, self.screens.program
        if program is None:
            return
        if self.still is None and lines < 0:
            self.still, page.back = program.lines(MOST), 0
        page.back = max(0, page.back - lines)
        if not page.back:
            self.still = None
        page.update()


def rows(words: str, width: int) -> list[str]:
    """A line of output as it is shown: nothing in it acts, colours are left out, what is too long goes on below."""
    from rich.cells import chop_cells

    return chop_cells(harmless(COLOURS.sub("", words).expandtabs(8)), max(1, width)) or [""]
