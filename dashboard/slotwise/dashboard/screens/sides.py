"""A trace on the rules and on a target, side by side: every step a line, the first difference marked, and the cursor on it."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from textual import events, on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from slotwise.dashboard.observe import sides as told
from slotwise.dashboard.observe.sides import Sides
from slotwise.dashboard.observe.words import escape, harmless
from slotwise.dashboard.screens import export, keys
from slotwise.dashboard.screens.look import Line, Look
from slotwise.dashboard.screens.page import Page, cut
from slotwise.dashboard.screens.sides_parts import Foot, Selected, SidesHead, Steps, beside

#: id in keys.toml (the same key's of the other screens; n and N have none), keys, action, what it does, whether the last line shows it
KEYS = (
    ("quit", "q", "app.quit", "Quit", True), ("help", "question_mark,f1", "help", "Help", True), (None, "n", "difference(True)", "Next difference", True), (None, "N", "difference(False)", "Previous", True),
    ("drill", "enter", "whole", "Whole step", True), ("filter", "slash", "filter", "Filter", True), ("copy", "c", "copy", "Copy the command", True), ("export", "e", "export", "Export", True),
    ("down", "down,j", "move(1)", "Down", False), ("up", "up,k", "move(-1)", "Up", False), ("page_down", "pagedown", "page(1)", "Page down", False), ("page_up", "pageup", "page(-1)", "Page up", False),
    ("first", "home", "end(False)", "First step", False), ("last", "end", "end(True)", "Last step", False), ("back", "escape", "back", "All steps again", False),
)  # fmt: skip
CSS = """
Lines { height: 1; width: 1fr; }
Comparison, Whole, SidesHelp { layout: vertical; }
#head { height: 3; background: $panel; }
#steps { height: 1fr; }
#selected { background: $panel-darken-1; }
#typed { display: none; height: 1; }
#page { height: 1fr; }
#keys { background: $panel; }
.-tiny #head { height: 1; }
Toast { padding: 0 1; margin-top: 0; max-width: 100%; }
.-tiny Toast { max-height: 2; }
"""


def told_keys(id: str | None, given: str, mapped: Mapping[str, str]) -> list[str]:
    return [keys.word(key) for key in mapped.get(id or "", given).split(",")]


class Comparison(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding(given, action, words, show=shown, id=id) for id, given, action, words, shown in KEYS]

    def __init__(self, look: Look, sides: Sides, mapped: Mapping[str, str]) -> None:
        super().__init__()
        self.look, self.sides, self.mapped = look, sides, mapped
        self.steps = Steps(look, sides)

    def compose(self) -> ComposeResult:
        yield SidesHead(self.look, self.sides)
        yield self.steps
        yield Selected(self.look, self.steps)
        yield Input(id="typed", compact=True, select_on_focus=False, placeholder="words that are in the step; enter keeps them, esc shows all")
        yield Foot(self.look, [(told_keys(id, given, self.mapped)[0], words) for id, given, _, words, shown in KEYS if shown])

    def on_mount(self) -> None:
        self.steps.focus()

    def on_resize(self, event: events.Resize) -> None:
        """A short trace leaves its room to the step under the cursor."""
        height = event.size.height
        least, room = (11, height - 4) if height >= 32 else (7, height - 4) if height >= 14 else (3, height - 2)
        self.query_one("#selected").styles.height = max(least, room - len(self.sides.rows) - 1) if room > least else 0

    def tell(self, words: str) -> None:
        self.app.clear_notifications()
        self.app.notify(words, timeout=8 if words.startswith(("written", "not written")) else max(2.5, len(words) / 15), markup=False)

    def action_move(self, by: int) -> None:
        self.steps.go(self.steps.at + by)

    def action_page(self, by: int) -> None:
        self.steps.go(self.steps.at + by * self.steps.room)

    def action_end(self, last: bool) -> None:
        self.steps.go(len(self.steps.places) - 1 if last else 0)

    def action_difference(self, forward: bool) -> None:
        if not self.steps.difference(forward):
            self.tell(f"no {'later' if forward else 'earlier'} difference")

    def action_whole(self) -> None:
        if (place := self.steps.place) is not None:
            self.app.push_screen(Whole(self.look, self.sides, place))

    def action_help(self) -> None:
        self.app.push_screen(SidesHelp(self.look, self.mapped))

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self.sides.again)
        self.tell(f"copied: {harmless(self.sides.again)}")

    def action_export(self) -> None:
        try:
            path = export.write(self.app.folder if isinstance(self.app, SidesApp) else Path(), Path(self.sides.trace).name, "txt", told.as_text(self.sides, whole=True))
        except OSError as error:
            self.tell(f"not written: {error}")
        else:
            self.tell(f"written: {path}")

    def action_filter(self) -> None:
        typed = self.query_one("#typed", Input)
        typed.display = True
        self.set_focus(typed)            # at once: the next key may be there already

    def action_back(self) -> None:
        typed = self.query_one("#typed", Input)
        typed.value, typed.display = "", False
        self.steps.filter("")
        self.steps.focus()

    @on(Input.Changed, "#typed")
    def typing(self, message: Input.Changed) -> None:
        self.steps.filter(message.value)

    @on(Input.Submitted, "#typed")
    def typed(self) -> None:
        self.query_one("#typed", Input).display = False
        self.steps.focus()


class Paged(Screen[None]):
    """Lines to read, and back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "app.quit", "Quit"), Binding("escape,enter,question_mark,f1", "app.pop_screen", "Back"),
        Binding("down,j", "scroll(1)", "Down"), Binding("up,k", "scroll(-1)", "Up"), Binding("pagedown,space", "scroll(10)", "Page down"), Binding("pageup", "scroll(-10)", "Page up"),
    ]  # fmt: skip

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look

    def compose(self) -> ComposeResult:
        yield Page(self.look, self.content)
        yield Foot(self.look, [("esc", "Back"), ("down", "More"), ("q", "Quit")])

    def content(self, width: int) -> list[Line]:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.query_one(Page).focus()

    def action_scroll(self, lines: int) -> None:
        self.query_one(Page).scroll_by(lines)


class Whole(Paged):
    """One step with nothing left out."""

    def __init__(self, look: Look, sides: Sides, place: int) -> None:
        super().__init__(look)
        self.sides, self.place = sides, place

    def content(self, width: int) -> list[Line]:
        sides, side, look = self.sides, self.sides.rows[self.place], self.look
        lines: list[Line] = [[(f" step {side.number} ", "reverse"), (f"  {look.status['alarm']} {side.word}" if side.word else "  the same is seen", "alarm" if side.word else "dim")], []]
        lines += [[(f"  {part}", "strong")] for part in cut(harmless(side.command, 20_000), width - 3)]
        lines += [[], [("  decided  ", "dim"), (" ".join(side.rules) or "-", "text")], []]
        if side.wrong:
            lines += [*([(f"  {part}", "alarm")] for part in cut(harmless(side.wrong), width - 3)), []]
        each = (width - 8) // 2
        lines.append([(f"      {look.fit('reference', each)} {look.fit(escape(sides.target), each)}", "dim")])
        found = side.found or ()
        for i in range(max(len(side.expected), len(found), 1)):
            ours, theirs = (harmless(seen[i], 20_000) if i < len(seen) else "-" for seen in (side.expected, found if side.found is not None else ("(not played)",)))
            differs = side.differs and ours != theirs
            left, right = cut(ours, each - 1), cut(theirs, each - 1)
            for j in range(max(len(left), len(right))):
                one, other = left[j] if j < len(left) else "", right[j] if j < len(right) else ""
                lines.append([(f" {look.status['alarm'] if differs and not j else ' '}{i + 1 if not j else '':>3} ", "alarm" if differs else "dim"), (look.fit(one, each) + " ", "text"), (other, "alarm" if differs else "text")])
        if self.place == sides.first:
            lines += [[], *beside(look, sides, width)]
        elif sides.first is not None:
            lines += [[], [(f"  the states are known where it first differs, at step {sides.first + 1}", "dim")]]
        return lines


class SidesHelp(Paged):
    def __init__(self, look: Look, mapped: Mapping[str, str]) -> None:
        super().__init__(look)
        self.mapped = mapped

    def content(self, width: int) -> list[Line]:
        lines: list[Line] = [[(" Keys", "strong")]]
        lines += [[(f"  {' '.join(told_keys(id, given, self.mapped)):<12}", "strong"), (words, "text")] for id, given, _, words, _ in KEYS]
        lines += [[], [(" Columns", "strong")], *([(f"  {name:<12}", "strong"), (says, "text")] for name, says in (
            ("command", "what the step asks for, and its time in the trace's ns"), ("reference", "what the rules answer"), ("(target)", "what the target, called as it is, answers"), ("decided", "rules that decided the step"),
            ("state", "below, at the first difference: parts of the state that differ, as both have them")))]  # fmt: skip
        mark = self.look.status["alarm"]
        return [*lines, [], [(" Marks", "strong")], *([(f"  {mark} {word:<9}", "alarm"), (says, "text")] for word, says in (
            ("DIFFERS", "the target sees something else than the rules do"), ("WRONG", "the same, but a law, its state or the recording says no"), ("FAILED", "it raised, hung or answered nonsense; it is not asked again"))),
            [("    =        ", "dim"), ("the same is seen", "text")]]  # fmt: skip


class SidesApp(App[None]):
    """`slotwise watch FILE --against T`."""

    TITLE = "slotwise watch"
    CSS = CSS
    ENABLE_COMMAND_PALETTE = False
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (14, "-low"), (32, "-tall")]             # noqa: RUF012 - as its base class has it

    def __init__(self, sides: Sides, *, ascii: bool = False, folder: Path | None = None, mapped: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.sides, self.folder, self.mapped = sides, folder or Path(), dict(mapped or {})
        self.look = Look(ascii, not self.no_color)

    def on_mount(self) -> None:
        self.set_keymap(self.mapped)
        self.push_screen(Comparison(self.look, self.sides, self.mapped))
