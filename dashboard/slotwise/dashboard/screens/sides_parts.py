"""The parts of the screen that shows a trace side by side: its head, the steps, the step under the cursor, the keys."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path

from textual import events

from slotwise.dashboard.observe import sides as told
from slotwise.dashboard.observe.panes import Status
from slotwise.dashboard.observe.sides import WIDEST, Side, Sides, joined
from slotwise.dashboard.observe.words import escape, harmless
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look, width_of
from slotwise.dashboard.screens.page import cut


class SidesHead(Lines):
    def __init__(self, look: Look, sides: Sides) -> None:
        super().__init__(look, id="head")
        self.sides = sides

    def draw(self, width: int, height: int) -> Iterable[Line]:
        sides, look = self.sides, self.look
        wrong = sides.first is not None
        status: Status = "alarm" if sides.exit else "warn" if wrong else "ok"
        about = f"  {sides.mechanism}, {escape(sides.profile)}, {harmless(sides.setting)}"
        name = look.fit(f" {escape(Path(sides.trace).name)}", max(12, width - 7 - len(about))).rstrip()
        line: Line = [(" SIDES ", "reverse"), (name, "strong"), (look.fit(about, max(0, width - 7 - width_of([(name, "")]))), "text")]
        if height == 1:
            line = [(f" {look.status[status]} ", status), (look.fit(harmless(sides.verdict), width - 3), status if wrong else "text")]
        yield line
        yield [(f" {look.status[status]} ", status), (look.fit(harmless(sides.verdict), width - 3), status if wrong else "text")]
        yield [(look.fit(f"   {harmless(f'{sides.rule}: {sides.sentence}')}" if sides.sentence else f"   target {harmless(sides.target)}", width), "dim")]


class Steps(Lines, can_focus=True):
    """The steps, or those that a filter leaves. Only what is seen is put into words."""

    def __init__(self, look: Look, sides: Sides) -> None:
        super().__init__(look, id="steps")
        self.sides = sides
        self.places: Sequence[int] = range(len(sides.rows))
        self.at, self.top = sides.first or 0, 0          # in places
        self._texts: list[str] | None = None

    @property
    def place(self) -> int | None:
        """The row under the cursor."""
        return self.places[self.at] if self.places else None

    @property
    def room(self) -> int:
        return max(1, self.size.height - self.headed)

    @property
    def headed(self) -> bool:
        """Where that hides no step, or there is room for some."""
        return self.size.height > min(3, max(1, len(self.places)))

    def go(self, at: int) -> None:
        self.at = max(0, min(at, len(self.places) - 1))
        self.update()

    def filter(self, words: str) -> None:
        place, wanted = self.place, words.casefold().split()
        if not wanted:
            self.places = range(len(self.sides.rows))
        else:
            self._texts = self._texts or [f"{side.command} {joined(side.expected)} {joined(side.found)} {' '.join(side.rules)} {side.word} {side.wrong}".casefold() for side in self.sides.rows]
            self.places = [i for i, text in enumerate(self._texts) if all(word in text for word in wanted)]
        self.go(bisect_left(self.places, place) if place is not None else 0)

    def difference(self, forward: bool) -> bool:
        place = self.place
        while place is not None and (place := self.sides.next(place, forward)) is not None:
            at = bisect_left(self.places, place)
            if at < len(self.places) and self.places[at] == place:
                self.go(at)
                return True
        return False

    def draw(self, width: int, height: int) -> Iterable[Line]:
        room = self.room
        if not self.top - 1 <= self.at <= self.top + room:       # from afar, into the middle
            self.top = self.at - room // 2
        self.top = max(0, min(min(max(self.top, self.at - room + 1), self.at), len(self.places) - room))
        digits = len(str(len(self.sides.rows)))
        worded, ruled = width >= 60, width >= 110
        left = width - digits - 3 - (WIDEST + 1) * worded
        rules = 20 if ruled else 0
        command, expected = (left - rules) * 38 // 100, (left - rules) * 31 // 100 if worded else 0
        found = left - rules - command - expected
        wide = (command, expected, found, rules)
        if self.headed:
            names = ("command", "reference", f"{escape(self.sides.target)}", "decided")
            yield [(" " * (width - sum(wide)) + "".join(self.column(name, size) for name, size in zip(names, wide, strict=True)), "dim")]
        for at in range(self.top, min(self.top + room, len(self.places))):
            place = self.places[at]
            yield self.line(self.sides.rows[place], place == self.sides.first, at == self.at, digits, wide, worded)
        if not self.places:
            yield [("  none is like that; esc shows all" if self.sides.rows else "  the trace has no steps", "dim")]

    def column(self, words: str, width: int) -> str:
        return self.look.fit(words, width - 1) + " " if width else ""

    def line(self, side: Side, first: bool, selected: bool, digits: int, wide: tuple[int, ...], worded: bool) -> Line:
        look = self.look
        loud = "bad" if first else "alarm" if side.word else "text"
        line: Line = [(">" if selected else " ", "strong"), (look.status["alarm"] if side.word else " ", "alarm" if side.word else "text"), (f"{side.number:>{digits}} ", "strong" if selected else "dim")]
        if worded:
            line += [(side.word, loud), (" " * (WIDEST + 1 - len(side.word)), "text")]
        line.append((self.column(harmless(side.command), wide[0]), "strong" if selected else "text"))
        ours, theirs = self.seen(side)
        line.append((self.column(ours, wide[1]), "text"))
        equal = not side.differs and side.found is not None
        line.append((self.column("=" if equal and (not wide[3] or side.wrong) else theirs, wide[2]), "dim" if equal or side.found is None else "alarm"))
        line.append((self.column(" ".join(side.rules), wide[3]), "dim"))
        return line

    @staticmethod
    def seen(side: Side) -> tuple[str, str]:
        """From the first difference on, where there is one."""
        if not side.differs or not side.same:
            return harmless(joined(side.expected)), harmless(side.wrong if side.word == "FAILED" else joined(side.found))
        begins = f"({side.same} same) "
        return begins + harmless(joined(side.expected[side.same :])), begins + harmless(joined((side.found or ())[side.same :]))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and at.y >= self.headed:
            self.go(self.top + at.y - self.headed)

    def on_mouse_scroll_down(self) -> None:
        self.go(self.at + 3)

    def on_mouse_scroll_up(self) -> None:
        self.go(self.at - 3)

    def update(self) -> None:
        super().update()
        if self.is_attached:
            for other in self.screen.query(Selected):
                other.update()


class Selected(Lines):
    """The step under the cursor, with more room; and at the first difference what the states are."""

    def __init__(self, look: Look, steps: Steps) -> None:
        super().__init__(look, id="selected")
        self.steps = steps

    def draw(self, width: int, height: int) -> Iterable[Line]:
        place, sides = self.steps.place, self.steps.sides
        if place is None:
            return
        side = sides.rows[place]
        ours, theirs = self.steps.seen(side)
        lines: list[Line] = []
        if height > 3:
            lines.append([(f" step {side.number}  ", "strong"), (" ".join(side.rules), "dim")])
        for label, words, style in (("command", harmless(side.command), "text"), ("reference", ours, "text"), ("target", theirs, "alarm" if side.differs or side.found is None else "text")):
            parts = cut(words, width - 13)
            parts = parts if len(parts) <= (2 if height > 6 else 1) else [self.look.fit(" ".join(parts), width - 13)] if height <= 6 else [parts[0], self.look.fit(parts[1] + self.look.more, width - 13)]
            lines += [[(f" {label if i == 0 else '':<11}", "dim"), (part, style)] for i, part in enumerate(parts)]
        if side.wrong and side.found is not None:
            lines += [[(f" {'wrong':<11}", "dim"), (self.look.fit(harmless(side.wrong), width - 13), "alarm")]]
        if place == sides.first:
            lines += beside(self.look, sides, width)
        if len(lines) > height:
            lines[height - 1 :] = [[(f" {self.look.more} enter shows all", "dim")]] if height > 3 else lines[height - 1 : height]
        yield from lines


def beside(look: Look, sides: Sides, width: int) -> list[Line]:
    """The two states where they differ, in three columns."""
    if not sides.states:
        return [[(f" {told.no_states(sides)}", "dim")]]
    key = min(24, width // 4, max(12, *(len(row[0]) + 2 for row in sides.states)))
    each = (width - key - 1) // 2
    lines: list[Line] = [[(f" {look.fit('state', key)}{look.fit('reference', each)}{look.fit('target', each)}", "dim")]]
    for name, ours, theirs in sides.states:
        lines.append([(f" {look.fit(harmless(name), key - 1)} ", "strong"), (look.fit(harmless(ours), each - 1) + " ", "text"), (look.fit(harmless(theirs), each - 1), "alarm")])
    return lines


class Foot(Lines):
    def __init__(self, look: Look, shown: Sequence[tuple[str, str]]) -> None:
        super().__init__(look, id="keys")
        self.shown = shown

    def draw(self, width: int, height: int) -> Iterable[Line]:
        line: Line = []
        for key, words in self.shown:
            piece: Line = [(f" {key} ", "strong"), (words, "dim")]
            if width_of(line) + width_of(piece) > width:
                break
            line += piece
        yield line
