"""Help, and the choice of an export."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen

from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.panes import Column
from slotwise.dashboard.observe.words import SAFE
from slotwise.dashboard.screens import glossary, hints, keys
from slotwise.dashboard.screens.cards import TITLES
from slotwise.dashboard.screens.export import KINDS, SLICE
from slotwise.dashboard.screens.head import Keys
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look, width_of
from slotwise.dashboard.screens.page import Page, hanging

#: Keys that are told together where there is no room for each with its id: what they do, and their ids.
TOGETHER = (
    ("move", ("down", "up", "page_down", "page_up", "first", "last"), ""), ("verdicts", ("verdict_1", "verdict_2", "verdict_3", "verdict_4"), "; enter: the table that shows it"),
    ("tables", tuple(f"pane_{digit}" for digit in hints.DIGITS.values()), f" {', '.join(hints.DIGITS)}; again: the whole screen"),
    ("in a recording", ("step_back", "step", "leap_back", "leap"), " a step, ten steps"), ("", ("previous_event", "next_event"), " the event before, the next"), ("", ("previous_alarm", "next_alarm"), " where an alarm begins"), ("", ("slower", "faster"), " speed"), ("", ("time",), " go to a time"),
)  # fmt: skip
SCROLL = "tab goes on to the next part"


class Help(Screen[None]):
    """The keys as they are now, what the columns of the pane mean, and all other numbers of the screen; in parts, between which tab goes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit", id="quit"), Binding("escape,question_mark,f1,enter", "app.pop_screen", "Back"), Binding("tab", "part(1)", "Next part", id="next_pane"), Binding("shift+tab", "part(-1)", "Previous part", id="previous_pane"),
        Binding("down,j", "scroll(1)", "Down", id="down"), Binding("up,k", "scroll(-1)", "Up", id="up"), Binding("pagedown,space", "scroll(10)", "Page down", id="page_down"), Binding("pageup", "scroll(-10)", "Page up", id="page_up"),
        Binding("home", "scroll(-1000000)", "Top", id="first"), Binding("end", "scroll(1000000)", "Bottom", id="last"),
    ]  # fmt: skip
    SHOWN = ("quit",)

    def __init__(self, look: Look, table: str, title: str, columns: Sequence[Column], mapped: dict[str, str], limits: Limits, cards: bool = True) -> None:
        """`cards`: the four verdicts are seen, so that they are told too."""
        super().__init__()
        self.look, self.table, self.title_, self.columns, self.mapped, self.limits, self.cards = look, table, title, columns, mapped, limits, cards
        self.begins: list[int] = []              # of the parts, in lines

    def compose(self) -> ComposeResult:
        yield Page(self.look, self.content)
        yield Keys(self.look, id="keys")

    def on_mount(self) -> None:
        self.query_one(Page).focus()

    def repaint(self, new: bool) -> None:
        pass

    def content(self, width: int) -> list[Line]:
        look = self.look
        named = hints.SHORT.get(self.table, "")
        parts: list[list[Line]] = [self.keys(width)]
        parts.append([[(f" {self.title_}", "strong"), (f"   {named}" if named and named != self.title_ else "", "dim")], *self.told([(column.title or column.id, "" if column.unit == SAFE else column.unit, column.help + (f"  ({column.id})" if column.title and column.title != column.id else "")) for column in self.columns], width)])
        if self.cards:
            for name, entries in glossary.CARDS.items():
                parts.append([[(f" {TITLES[name][0]}", "strong")], *self.told(entries, width)])
            parts.append([[(" Why a group waits", "strong"), ("   each waiter's time is charged to one cause" if width >= 60 else "", "dim")], *self.told(glossary.causes(), width)])
        parts.append([[(" The first line, and the history", "strong")], *self.told((*glossary.HEAD, *glossary.HISTORY), width)])
        parts.append([[(" Alarms and lints", "strong")], *self.told(glossary.lints(self.limits), width)])
        marks = [(look.status["ok"], "", "ok"), (look.status["warn"], "", "warning; in the history: it began"), (look.status["alarm"], "", "alarm; in the history: it began"), (look.status["unknown"], "", "not enough data")]
        marks += [("-", "", "not known, or fewer than 20 to tell a percentile from"), ("dim number", "", "to be taken with care: a p99 of fewer than 100, a bound, rounded"), (look.here, "", "in the history: the moment that is seen; M: the mark"), (">", "", "the selected row")]
        parts.append([[(" Marks", "strong")], *self.told(marks, width)])
        parts.append([[(" Filter, views, counters", "strong")], *self.told([
            ("/ word", "", "rows that have it; !word: that do not; oldest>5s got<10 flag=...: by a column's name; all of them at once"),
            *((name, "", f"view: {', '.join(tables) or 'all tables, each in its place'}") for name, tables in hints.PRESETS.items()),
            ("/s, sum, /all", "", "counters: per second, in the window, of all rows"),
        ], width)])
        lines: list[Line] = []
        self.begins = []
        for part in parts:
            self.begins.append(len(lines))
            lines += [*part, []]
        return lines[:-1]

    def keys(self, width: int) -> list[Line]:
        """In two columns where there is room; with their ids where there is more, and then each by itself."""
        more = f"   {SCROLL}   (other keys: {keys.said()}, by id)" if width >= 110 else f"   {SCROLL}" if width >= 50 else ""
        lines: list[Line] = [[(" Keys", "strong"), (self.look.fit(more, width - 6).rstrip(), "dim")]]
        wide, ids = width >= 80, width >= 120
        together = () if ids else tuple(id for _, several, _ in TOGETHER for id in several)
        found = [(self.given(id), words, id) for id, _, _, words, _ in keys.KEYS if id not in together]
        found += [("ctrl+p", "Palette: tables, views, themes", ""), ("ctrl+q", "Quit", "")]
        cells: list[Line] = [[(f"  {key:<12}", "strong"), (self.look.fit(words, 26), "text"), (f" {id:<15}" if ids else "", "dim")] for key, words, id in found]
        half = -(-len(cells) // 2)
        lines += [[*left, *right] for left, right in zip(cells[:half], [*cells[half:], *[[]] * (2 * half - len(cells))], strict=True)] if wide else cells
        if not ids:
            for name, several, words in TOGETHER:
                told = " ".join(self.given(id) for id in several)
                lines += hanging([(f"  {name:<15}", "dim")], 17, f"{told}{words}", width) if wide or not name else [[(f"  {name}", "dim")], *hanging([("    ", "text")], 4, f"{told}{words}", width)]
        return lines

    def given(self, id: str) -> str:
        """The keys of an action, as they are now."""
        return " ".join(keys.word(key) for key in self.mapped.get(id, next(given for one, given, *_ in keys.KEYS if one == id)).split(","))

    def told(self, entries: Iterable[glossary.Entry], width: int) -> list[Line]:
        """A name, its unit, what it is: nothing is cut."""
        lines: list[Line] = []
        for name, unit, words in entries:
            head: Line = [(f"  {name:<15} ", "strong"), (f"{unit:<{27 - max(16, len(name) + 1)}} ", "dim")]
            if width >= 70:
                lines += hanging(head, width_of(head), words, width)
            else:
                lines += [[(f"  {name}", "strong"), (f"  {unit}" if unit else "", "dim")], *hanging([("    ", "text")], 4, words, width)]
        return lines

    def action_scroll(self, lines: int) -> None:
        self.query_one(Page).scroll_by(lines)

    def action_part(self, by: int) -> None:
        """The next part to the top; after the last the first."""
        page = self.query_one(Page)
        ahead = [line for line in (self.begins if by > 0 else reversed(self.begins)) if (line > page.top if by > 0 else line < page.top)]
        before, page.top = page.top, ahead[0] if ahead else 0 if by > 0 else self.begins[-1]
        page.update()
        if page.top == before:                   # the last page shows it already
            page.scroll_by(-before)


class Choice(Lines, can_focus=True):
    def __init__(self, look: Look, kinds: Mapping[str, str]) -> None:
        super().__init__(look)
        self.kinds = kinds

    def draw(self, width: int, height: int) -> Iterable[Line]:
        yield [(" Export into the current folder", "strong")]
        for kind, words in self.kinds.items():
            yield [(f"  {kind[0]} ", "strong"), (f" {kind:<8}{words}", "text")]
        yield [(" esc  nothing", "dim")]


class Exporting(ModalScreen[str | None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "choose('')", "Nothing"), *(Binding(kind[0], f"choose('{kind}')", kind) for kind in {**KINDS, **SLICE})]
    SHOWN = ()

    def __init__(self, look: Look, kinds: Mapping[str, str]) -> None:
        super().__init__()
        self.look, self.kinds = look, kinds

    def compose(self) -> ComposeResult:
        with Vertical(id="choice"):
            yield Choice(self.look, self.kinds)

    def on_mount(self) -> None:
        self.query_one(Choice).focus()

    def repaint(self, new: bool) -> None:
        pass

    def action_choose(self, kind: str) -> None:
        if not kind or kind in self.kinds:
            self.dismiss(kind or None)
