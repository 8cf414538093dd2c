"""Glyphs and styles. No state is told by colour alone: each has a glyph, and a word where there is room. Colours are Okabe and Ito's."""
from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.style import Style

from slotwise.dashboard.observe.panes import Status
from slotwise.dashboard.observe.words import Value, text

Piece = tuple[str, str]                  # text, and the name of its style
Line = list[Piece]

COLOURS = {
    "text": "", "dim": "dim", "strong": "bold", "reverse": "reverse", "ok": "#56b4e9", "warn": "bold #e69f00", "alarm": "bold #d55e00", "unknown": "dim", "spark": "#56b4e9",
    "own": "#56b4e9", "lent": "#cc79a7", "missed": "bold #d55e00", "run": "#56b4e9", "spin": "#e69f00", "yield": "#009e73", "selected": "bold reverse", "banner": "bold reverse #e69f00", "bad": "bold reverse #d55e00",
}  # fmt: skip
#: On a light ground the same hues, darker; the blue is theirs too.
LIGHT = {"ok": "#0072b2", "warn": "bold #8f5f00", "alarm": "bold #b04300", "spark": "#0072b2", "own": "#0072b2", "lent": "#a3497c", "missed": "bold #b04300", "run": "#0072b2", "spin": "#8f5f00", "yield": "#00654a", "banner": "bold reverse #8f5f00", "bad": "bold reverse #b04300"}
#: Without colours an alarm would be the dimmest of all, so it is the loudest.
PLAIN = {"warn": "bold", "alarm": "bold reverse", "missed": "bold reverse", "banner": "bold reverse", "bad": "bold reverse"}
DECADES = 3                              # of a logarithmic scale
KEPT = ("bold", "dim", "reverse")
PART = re.compile(r"(?<=[ =(])[\d.,]+$")


class Look:
    def __init__(self, ascii: bool = False, colour: bool = True) -> None:
        self.ascii, self.colour, self.log = ascii, colour, False
        self.lighten(False)
        self.blocks = " .:-=+*#@" if ascii else " ▁▂▃▄▅▆▇█"
        self.status: dict[Status, str] = {"ok": "o", "warn": "!", "alarm": "X", "unknown": "?"} if ascii else {"ok": "●", "warn": "▲", "alarm": "✖", "unknown": "?"}
        self.full, self.part, self.third, self.open, self.missed = ("#", "+", "~", ".", "!") if ascii else ("█", "▓", "▒", "·", "!")
        self.down, self.up, self.here, self.more = ("v", "^", "|", "~") if ascii else ("▼", "▲", "┃", "…")

    def lighten(self, light: bool) -> None:
        """Whether the ground is light."""
        coloured = {**COLOURS, **(LIGHT if light else {})}
        words = coloured if self.colour else {name: PLAIN.get(name, " ".join(word for word in style.split() if word in KEPT)) for name, style in COLOURS.items()}
        self.styles = {name: Style.parse(style) for name, style in words.items()}

    def fit(self, words: str, width: int, right: bool = False) -> str:
        """Exactly so many cells; what does not fit ends with a mark."""
        size = cell_len(words)
        if size > width:
            if width <= 0:
                return ""
            kept = set_cell_size(words, width - 1)
            if kept[-1:].isdigit() and words[len(kept) : len(kept) + 1] != " ":      # the rest of a number: 10 of 100% is another one
                kept = PART.sub("", kept)
            return kept + self.more + " " * (width - 1 - cell_len(kept))
        return " " * (width - size) + words if right else words + " " * (width - size)

    def whole(self, parts: Iterable[str], width: int, gap: int = 1) -> str:
        """Those that fit, each whole, up to the first that does not; the first is cut if it must be."""
        said = ""
        for part in parts:
            if said and cell_len(said) + gap + cell_len(part) > width:
                break
            said += " " * gap + part if said else part
        return self.fit(said.rstrip(","), width).rstrip()

    def safe(self, words: str) -> str:
        """With --ascii nothing else is sent, and the width stays."""
        return words if not self.ascii or words.isascii() else "".join(c if c.isascii() else "?" * cell_len(c) for c in words)

    def value(self, value: Value, unit: str) -> str:
        return self.safe(text(value, unit))

    def spark(self, values: Sequence[float], width: int, top: float = 0.0) -> str:
        """The greatest of each stretch; nothing where nothing is known. Full height is the greatest of all, or `top`. With `log` the lowest
        height is a thousandth of it."""
        found = resampled(values, width)
        most = max((value for value in found if not math.isnan(value)), default=0.0)
        most = max(most, top) or 1.0
        return "".join(" " if math.isnan(value) else self.blocks[0 if value <= 0 else min(8, 1 + int(self.height(value / most) * 7.999))] for value in found)

    def height(self, share: float) -> float:
        return max(0.0, 1 + math.log10(share) / DECADES) if self.log else share

    def bar(self, parts: Iterable[tuple[float, str, str]], whole: float, width: int, rest: str | None = None) -> Line:
        """Parts of a whole, each with a glyph and a style; what is there at all gets at least one cell, if there is room."""
        line, left = [], width
        for amount, glyph, style in parts:
            cells = min(left, max(1, round(amount / whole * width))) if amount > 0 and whole > 0 else 0
            line.append((glyph * cells, style))
            left -= cells
        return [*line, ((self.open if rest is None else rest) * left, "dim")]


def resampled(values: Sequence[float], width: int) -> list[float]:
    """So many values: of each stretch the greatest that is known."""
    if width <= 0 or not values:
        return [math.nan] * max(0, width)
    found = []
    for place in range(width):
        first = place * len(values) // width
        stretch = values[first : max(first + 1, (place + 1) * len(values) // width)]
        found.append(max([value for value in stretch if value == value], default=math.nan))        # nan is not itself
    return found


def width_of(line: Line) -> int:
    return sum(cell_len(words) for words, _ in line)
