"""Help, and the choice of an export."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen

from slotwise.dashboard.observe.panes import Column
from slotwise.dashboard.screens import hints, keys
from slotwise.dashboard.screens.export import KINDS, SLICE
from slotwise.dashboard.screens.head import Keys
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look
from slotwise.dashboard.screens.page import Page, wrapped


class Help(Screen[None]):
    """The keys as they are now, and what the columns of the pane mean."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit", id="quit"), Binding("escape,question_mark,f1,enter", "app.pop_screen", "Back"),
        Binding("down,j", "scroll(1)", "Down", id="down"), Binding("up,k", "scroll(-1)", "Up", id="up"), Binding("pagedown,space", "scroll(10)", "Page down", id="page_down"), Binding("pageup", "scroll(-10)", "Page up", id="page_up"),
    ]  # fmt: skip
    SHOWN = ("quit",)

    def __init__(self, look: Look, table: str, columns: Sequence[Column], mapped: dict[str, str]) -> None:
        super().__init__()
        self.look, self.table, self.columns, self.mapped = look, table, columns, mapped

    def compose(self) -> ComposeResult:
        yield Page(self.look, self.content)
        yield Keys(self.look, id="keys")

    def on_mount(self) -> None:
        self.query_one(Page).focus()

    def repaint(self, new: bool) -> None:
        pass

    def content(self, width: int) -> list[Line]:
        lines: list[Line] = [[(" Keys", "strong"), (f"   (other keys: {keys.said()}, by id)" if width >= 80 else "", "dim")]]
        told = [(" ".join(keys.word(key) for key in self.mapped.get(id, given).split(",")), words, id) for id, given, _, words, _ in keys.KEYS]
        told += [("ctrl+p", "Palette: panes, themes", ""), ("ctrl+q", "Quit", "")]
        wide, ids = width >= 80, width >= 120
        cells: list[Line] = [[(f"  {key:<12}", "strong"), (self.look.fit(words, 26), "text"), (f" {id:<15}" if ids else "", "dim")] for key, words, id in told]
        half = -(-len(cells) // 2)
        lines += [[*left, *right] for left, right in zip(cells[:half], [*cells[half:], *[[]] * (2 * half - len(cells))], strict=True)] if wide else cells
        lines += [[], [(" Filter", "strong"), ("   words that are in the row;  !word for those that are not;  oldest>5s got<10 flag=… by a column's id", "dim")]]
        for title, words in (
            ("Views", "   ".join(f"{name}: {', '.join(tables)}" if tables else name for name, tables in hints.PRESETS.items())),
            ("Counters", "each as it is defined; /s per second; sum in the window; of all: its share of all rows"),
        ):
            lines += [[], *wrapped(self.look, f" {title}   {words}", width, "text")]
        lines += [[], [(f" {hints.SHORT.get(self.table, self.table.capitalize())}", "strong")]]
        for column in self.columns:
            lines.append([(f"  {column.id:<16}", "strong"), (f"{'' if column.unit == 'sentence' else column.unit:<12}", "dim"), (f"{column.help}", "text")])
        look = self.look
        lines += [[], [(" Marks", "strong"), (f"   {look.status['ok']} ok   {look.status['warn']} warning   {look.status['alarm']} alarm   {look.status['unknown']} not enough data", "text")]]
        return lines

    def action_scroll(self, lines: int) -> None:
        self.query_one(Page).scroll_by(lines)


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
