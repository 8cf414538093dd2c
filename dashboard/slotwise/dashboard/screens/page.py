"""A page of lines that may be more than fit, and what screens over the overview have in common."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from slotwise.dashboard.screens import keys
from slotwise.dashboard.screens.head import Banner, Head, Keys
from slotwise.dashboard.screens.lines import Lines, screens_of
from slotwise.dashboard.screens.look import Line, Look

if TYPE_CHECKING:
    from slotwise.dashboard.screens.app import Screens


class Page(Lines, can_focus=True):
    """Lines that may be more than fit."""

    def __init__(self, look: Look, content: Callable[[int], list[Line]]) -> None:
        super().__init__(look, id="page", classes="bare")
        self.content, self.top = content, 0
        self.back = 0                        # lines from the end, where those that are asked for end

    def draw(self, width: int, height: int) -> Iterable[Line]:
        lines = self.content(width)
        self.top = max(0, min(self.top, len(lines) - height))
        shown = lines[self.top : self.top + height]
        if self.top + height < len(lines):
            shown[-1:] = [[(f" {self.look.more} {len(lines) - self.top - height + 1} more lines, down shows them", "dim")]]
        return shown

    def scroll_by(self, lines: int) -> None:
        self.top = max(0, self.top + lines)
        self.update()

    def on_mouse_scroll_down(self) -> None:
        self.scroll_by(3)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_by(-3)


#: Keys of the overview that do the same on any screen over it.
SAME = ("help", "pause", "window", "export", "step", "step_back", "leap", "leap_back", "next_event", "previous_event", "next_alarm", "previous_alarm", "slower", "faster", "live", "mark", "to_mark", "unit", "theme", "record")


def overviews(id: str) -> Binding:
    """The key of the overview, which does there what it does."""
    given, action, words = next((given, action, words) for one, given, action, words, _ in keys.KEYS if one == id)
    name, _, arguments = action.partition("(")
    return Binding(given, f"overview('{name}'{', ' + arguments.removesuffix(')') if arguments else ''})", words, show=False, id=id)


class Over(Screen[None]):
    """A page that goes on with the frames. Subclasses say its `content`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit", id="quit"), Binding("escape", "back", "Back", id="back"), Binding("enter", "back", "Back", show=False),
        Binding("down,j", "scroll(1)", "Down", id="down"), Binding("up,k", "scroll(-1)", "Up", id="up"), Binding("pagedown", "scroll(10)", "Page down", id="page_down"), Binding("pageup", "scroll(-10)", "Page up", id="page_up"),
        Binding("home", "scroll(-1000000)", "Top", id="first"), Binding("end", "scroll(1000000)", "Bottom", id="last"), *map(overviews, SAME),
    ]  # fmt: skip
    SHOWN: ClassVar[tuple[str, ...]] = ("quit", "help", "back", "down", "pause", "window")
    WORDS: ClassVar[dict[str, str]] = {"back": "Back"}

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look

    @property
    def screens(self) -> Screens:
        return screens_of(self)

    def compose(self) -> ComposeResult:
        yield Head(self.look, id="head")
        yield Banner(self.look, id="banner")
        yield Page(self.look, self.content)
        yield Keys(self.look, id="keys")

    def on_mount(self) -> None:
        self.query_one(Page).focus()

    def content(self, width: int) -> list[Line]:
        raise NotImplementedError

    def repaint(self, new: bool) -> None:
        self.query_one(Banner).display = bool(self.screens.trouble)
        for widget in self.query(Lines):
            widget.update()

    def action_back(self) -> None:
        self.dismiss()

    def action_scroll(self, lines: int) -> None:
        self.query_one(Page).scroll_by(lines)

    async def action_overview(self, action: str, *arguments: object) -> None:
        getattr(self.screens.overview, f"action_{action}")(*arguments)


def cut(words: str, width: int) -> list[str]:
    """Into lines, between words where that can be."""
    lines, rest = [], words
    while len(rest) > width > 0:
        place = rest.rfind(" ", width // 2, width + 1)
        place = place if place > 0 else width
        lines.append(rest[:place])
        rest = rest[place:].lstrip()
    return [*lines, rest]


def hanging(head: Line, indent: int, words: str, width: int, style: str = "text") -> list[Line]:
    """Words after a head, their other lines below each other."""
    lines: list[Line] = []
    for place, part in enumerate(cut(words, max(10, width - indent - 1))):
        lines.append([*(head if place == 0 else [(" " * indent, "text")]), (part, style)])
    return lines


def wrapped(look: Look, words: str, width: int, style: str) -> list[Line]:
    lines: list[Line] = []
    indent = " " * (len(words) - len(words.lstrip()))
    current = indent
    for word in words.split():
        if len(current) + len(word) + 1 > width and current.strip():
            lines.append([(current, style)])
            current = indent + "  "
        current += word + " "
    return [*lines, [(current.rstrip(), style)]]
