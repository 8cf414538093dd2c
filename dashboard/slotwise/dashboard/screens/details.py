"""Screens over the overview: why a group waits, all that is known of a row, help, and the choice of an export."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, Screen

from slotwise.dashboard.observe import shrunk
from slotwise.dashboard.observe.panes import Column, Pane, Row
from slotwise.dashboard.observe.shrunk import harmless
from slotwise.dashboard.observe.words import escape
from slotwise.dashboard.screens import hints, keys
from slotwise.dashboard.screens.export import KINDS
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.lines import Lines, screens_of
from slotwise.dashboard.screens.look import Line, Look, width_of
from slotwise.dashboard.screens.parts import Banner, Head, Keys

if TYPE_CHECKING:
    from slotwise.dashboard.screens.app import Screens


class Page(Lines, can_focus=True):
    """Lines that may be more than fit."""

    def __init__(self, look: Look, content: Callable[[int], list[Line]]) -> None:
        super().__init__(look, id="page", classes="bare")
        self.content, self.top = content, 0

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


class Detail(Screen[None]):
    """Of one row; of a group, why it waits. Goes on with the frames; pause and the replay's keys work here too."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit", id="quit"), Binding("escape", "back", "Back", id="back"), Binding("enter", "back", "Back", show=False),
        Binding("down,j", "scroll(1)", "Down", id="down"), Binding("up,k", "scroll(-1)", "Up", id="up"), Binding("pagedown", "scroll(10)", "Page down", id="page_down"), Binding("pageup", "scroll(-10)", "Page up", id="page_up"),
        Binding("space", "overview('pause')", "Pause", id="pause"), Binding("w", "overview('window')", "Window", id="window"), Binding("e", "overview('export')", "Export", id="export"), Binding("c", "overview('copy')", "Copy", id="copy"),
        Binding("right", "overview('step', 1)", "Step", id="step"), Binding("left", "overview('step', -1)", "Step back", id="step_back"),
        Binding("right_square_bracket", "overview('alarm', True)", "Next alarm", id="next_alarm"), Binding("left_square_bracket", "overview('alarm', False)", "Previous alarm", id="previous_alarm"),
        Binding("tab", "neighbour(1)", "Next row", id="next_pane"), Binding("shift+tab", "neighbour(-1)", "Previous row", id="previous_pane"),
    ]  # fmt: skip
    SHOWN = ("quit", "back", "pause", "window", "export", "next_pane")

    def __init__(self, look: Look, table: str, key: str) -> None:
        super().__init__()
        self.look, self.table, self.key = look, table, key
        self._told: tuple[tuple[str, int], list[str]] = ("", 0), []      # of a divergence: its trace, read once

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

    def repaint(self, new: bool) -> None:
        banner = self.query_one(Banner)
        banner.display = bool(self.screens.session.trouble)
        for widget in self.query(Lines):
            widget.update()

    # content ------------------------------------------------------------------------------------------------------------------------

    def found(self) -> tuple[Row, Sequence[Column]] | None:
        pane = self.screens.overview.panes.get(self.table)
        listing = pane.listing() if pane else None
        place = listing.find(self.key) if listing is not None else None
        return None if listing is None or place is None else (listing.rows(place, place + 1)[0], listing.columns)

    def content(self, width: int) -> list[Line]:
        frame, found, look = self.screens.frame, self.found(), self.look
        if frame is None or found is None:
            return [[(f" {escape(self.key)} ", "reverse"), ("  is not there now; esc goes back", "dim")]]
        row, columns = found
        spoken: list[Line] = []
        for alarm in self.screens.alarms:
            if alarm.entity == self.key and hints.SPEAKS_OF.get(alarm.code.rstrip("0123456789"), self.table) == self.table:
                spoken += wrapped(look, f" {look.status[alarm.status]} {alarm.sentence}", width, alarm.status)
        if spoken:
            spoken.append([])
        if self.table == "groups":
            return [*self.first(row, columns), [], *spoken, *self.why(frame.drill(self.key), width)]
        return [[(f" {escape(self.key)} ", "reverse"), (f"  {self.table}", "dim")], [], *(self.trace(row, columns, width) or spoken), *self.every(row, columns, width)]

    def trace(self, row: Row, columns: Sequence[Column], width: int) -> list[Line]:
        """Of what diverges, the shrunk trace, in place of an alarm that says what the row does."""
        known = {column.id: str(cell.value or "") for column, cell in zip(columns, row.cells, strict=True)} if self.table == "divergences" else {}
        if "trace" not in known:
            return []
        if self._told[0] != (self.key, width):
            self._told = (self.key, width), [harmless(known["detail"]), *shrunk.told(known["trace"], known["rule"], self.screens.words, width - 2)]
        return [*(piece for line in self._told[1] for piece in ([[(f"  {line}", "text")]] if len(line) + 2 <= width else wrapped(self.look, f"  {line}", width, "text"))), []]

    def every(self, row: Row, columns: Sequence[Column], width: int) -> list[Line]:
        names = max(len(column.title or column.id) for column in columns) + 2
        lines: list[Line] = []
        for cell, column in zip(row.cells, columns, strict=True):
            value = self.look.value(cell.value, column.unit)
            unit = "" if column.unit in ("", "s", "%", "sentence") else f" {column.unit}"
            if len(value) > 24:
                lines += [[(f"  {column.title or column.id}", "dim")], *wrapped(self.look, f"    {value}", width, "text")]
                continue
            lines.append([(f"  {column.title or column.id:<{names}}", "dim"), (f"{value}{unit:<{max(0, 24 - len(value))}}", "strong" if cell.value is not None else "dim"), (f"  {column.help}", "dim")])
        return lines

    def first(self, row: Row, columns: Sequence[Column]) -> list[Line]:
        said = {column.id: self.look.value(cell.value, column.unit) for cell, column in zip(row.cells, columns, strict=True)}
        state: Line = [(f"  {said['flag']}", row.status if row.status in ("warn", "alarm") else "text")] if said.get("flag") else []
        return [[(f" {escape(self.key)} ", "reverse"), *state, ("  oldest {oldest}  got {got} of {due} due  waiting {waiting}  busy {running}  weight {weight}".format_map(said), "text")]]

    def why(self, panes: list[Pane], width: int) -> list[Line]:
        """Tables beside each other where there is room; then the facts."""
        tables = [pane for pane in panes if not is_facts(pane)]
        beside = width >= 110
        each = width // 2 - 2 if beside else min(width, 78)
        blocks = [self.block(pane, each) for pane in tables]
        lines: list[Line] = []
        while blocks:
            left, right = blocks.pop(0), blocks.pop(0) if beside and blocks else []
            for place in range(max(len(left), len(right))):
                one = left[place] if place < len(left) else []
                other = right[place] if place < len(right) else []
                lines.append([*one, (" " * max(0, each + 2 - width_of(one)), "text"), *other] if other else one)
            lines.append([])
        for pane in panes:
            if is_facts(pane):
                lines += self.facts(pane, width)
        return lines

    def block(self, pane: Pane, width: int) -> list[Line]:
        lines: list[Line] = [[(f" {pane.title}", "strong"), (f"  over {self.screens.window_said}", "dim")]]
        if not pane.rows:
            return [*lines, [("   nothing: nobody waited", "dim")]]
        grid = Grid(self.look, pane.name, pane.columns, pane.rows, width)
        return [*lines, grid.header(), *(grid.line(place) for place in range(len(pane.rows)))]

    def facts(self, pane: Pane, width: int) -> list[Line]:
        """Two to a line where there is room."""
        found = []
        for fact, value, unit in (row.cells for row in pane.rows):
            words = self.look.value(value.value, str(unit.value))
            more = "" if value.value is None or unit.value in ("", "s", "%") else f" {unit.value}"
            found.append([(f"   {fact.value:<26}", "dim"), (self.look.fit(words + more, max(10, min(26, width - 29))), "dim" if value.value is None else "text")])
        lines: list[Line] = [[(f" {pane.title}", "strong")]]
        if width < 110:
            return [*lines, *found, []]
        half = -(-len(found) // 2)
        return [*lines, *([*left, *right] for left, right in zip(found[:half], [*found[half:], *[[]] * (2 * half - len(found))], strict=True)), []]

    # keys ---------------------------------------------------------------------------------------------------------------------------

    def action_back(self) -> None:
        self.dismiss()

    def action_scroll(self, lines: int) -> None:
        self.query_one(Page).scroll_by(lines)

    async def action_overview(self, action: str, *arguments: object) -> None:
        getattr(self.screens.overview, f"action_{action}")(*arguments)

    def action_neighbour(self, by: int) -> None:
        pane = self.screens.overview.panes[self.table]
        pane.move(by)
        if pane.selected is not None:
            self.key = pane.selected
            self.query_one(Page).top = 0
        self.repaint(True)


def is_facts(pane: Pane) -> bool:
    """Each row has a unit of its own."""
    return [column.id for column in pane.columns] == ["fact", "value", "unit"]


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
        lines += [[], [(f" {hints.SHORT.get(self.table, self.table.capitalize())}", "strong")]]
        for column in self.columns:
            lines.append([(f"  {column.id:<16}", "strong"), (f"{'' if column.unit == 'sentence' else column.unit:<12}", "dim"), (f"{column.help}", "text")])
        look = self.look
        lines += [[], [(" Marks", "strong"), (f"   {look.status['ok']} ok   {look.status['warn']} warning   {look.status['alarm']} alarm   {look.status['unknown']} not enough data", "text")]]
        return lines

    def action_scroll(self, lines: int) -> None:
        self.query_one(Page).scroll_by(lines)


class Choice(Lines, can_focus=True):
    def draw(self, width: int, height: int) -> Iterable[Line]:
        yield [(" Export into the current folder", "strong")]
        for kind, words in KINDS.items():
            yield [(f"  {kind[0]} ", "strong"), (f" {kind:<5}{words}", "text")]
        yield [(" esc  nothing", "dim")]


class Exporting(ModalScreen[str | None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "choose('')", "Nothing"), *(Binding(kind[0], f"choose('{kind}')", kind) for kind in KINDS)]
    SHOWN = ()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look

    def compose(self) -> ComposeResult:
        with Vertical(id="choice"):
            yield Choice(self.look)

    def on_mount(self) -> None:
        self.query_one(Choice).focus()

    def repaint(self, new: bool) -> None:
        pass

    def action_choose(self, kind: str) -> None:
        self.dismiss(kind or None)
