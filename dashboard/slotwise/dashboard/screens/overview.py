"""The overview: four verdicts, the tables, the history. Where there is little room, one table at a time."""
from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.css.query import NoMatches
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widgets import Input

from slotwise.dashboard.screens import export, hints, keys
from slotwise.dashboard.screens.details import Detail, Exporting, Help
from slotwise.dashboard.screens.lines import Lines, screens_of
from slotwise.dashboard.screens.look import Look
from slotwise.dashboard.screens.pane import ALARMS, TablePane
from slotwise.dashboard.screens.parts import FOUR, Banner, Head, HistoryLine, Keys, Tabs, Verdicts
from slotwise.dashboard.screens.search import SearchLines, only_search
from slotwise.dashboard.screens.session import Playback, parse_time

if TYPE_CHECKING:
    from slotwise.dashboard.screens.app import Screens

MIDDLE = ("resources", "groups", "campaigns")
NOT_LIVE = "a running scheduler is only seen now; space pauses"


class Overview(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings()]
    SHOWN = keys.SHOWN

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look
        self.panes: dict[str, TablePane] = {}
        self.current, self.zoomed = "groups", False
        self.asking = ""                         # what is typed now: filter or time

    @property
    def screens(self) -> Screens:
        return screens_of(self)

    def compose(self) -> ComposeResult:
        look = self.look
        yield Head(look, id="head")
        yield Banner(look, id="banner")
        with Horizontal(id="cards"):
            for name in FOUR:
                yield Verdicts(look, name, id=f"card-{name}")
        yield Verdicts(look, None, id="verdicts")
        yield SearchLines(look, id="search")
        yield Tabs(look, id="tabs")
        with Vertical(id="body"):
            yield Horizontal(id="middle")
            yield Horizontal(id="lower")
            self.panes[ALARMS] = TablePane(look, ALARMS)
            yield self.panes[ALARMS]
        yield HistoryLine(look, id="history")
        yield Input(id="typed", compact=True, select_on_focus=False)
        yield Keys(look, id="keys")

    # painting -----------------------------------------------------------------------------------------------------------------------

    @property
    def tables(self) -> list[str]:
        """Those that have rows, in order; resources, groups and alarms always, but for a search alone; and the one that is shown."""
        frame = self.screens.frame
        always = () if only_search(frame) else MIDDLE
        names = [name for name in frame.names if name in always or frame.count(name) or name == self.current] if frame else []
        return [*names, ALARMS]

    @property
    def single(self) -> bool:
        return self.zoomed or any(self.has_class(name) for name in ("-narrow", "-low", "-tiny"))

    def repaint(self, new: bool) -> None:
        """`new`: the frame is another than before."""
        frame = self.screens.frame
        for name in frame.names if frame else ():
            if name not in self.panes:           # a table that was not there before finds its place
                self.panes[name] = pane = TablePane(self.look, name)
                self.query_one("#middle" if name in MIDDLE else "#lower", Horizontal).mount(pane)
                if name == self.current and not isinstance(self.focused, TablePane):
                    self.call_after_refresh(pane.focus)          # the first snapshot came after the screen was put up
        if only_search(frame) and self.current in ("resources", "groups"):
            self.show("campaigns")
        self.lay_out()
        for widget in self.query(Lines):
            if new or not isinstance(widget, TablePane):
                widget.update()

    def lay_out(self) -> None:
        banner, single = self.query_one("#banner"), self.single
        banner.display = bool(self.screens.session.trouble)
        self.set_class(single, "-single")
        self.set_class(only_search(self.screens.frame), "-search")
        self.set_class(self.zoomed, "-zoomed")
        shown = {self.current} if single else set(self.placed())
        for name, pane in self.panes.items():
            pane.display = name in shown
        middle = self.query_one("#middle")
        middle.display = bool(shown.intersection(MIDDLE))
        middle.styles.height = min(self.screens.frame.count("campaigns") + 3, 16) if only_search(self.screens.frame) and not single and self.screens.frame else None
        self.query_one("#lower").display = bool(shown.difference(MIDDLE, (ALARMS,)))

    def placed(self) -> list[str]:
        """What has a place where there is room for several."""
        tables = self.tables
        others = [name for name in tables if name not in MIDDLE and name != ALARMS]
        others.sort(key=lambda name: name in hints.LATER)
        if only_search(self.screens.frame):      # its checks say what its rules do
            others = [name for name in others if name != "checks" or name == self.current]
        most = 5 if self.size.width >= 160 else 3
        if self.current in others[most:]:
            others[most - 1] = self.current
        return [*(name for name in tables if name in MIDDLE), *others[:most], ALARMS]

    def show(self, table: str) -> None:
        """Puts it where it is seen, and the keys into it."""
        self.current = table
        self.lay_out()
        if table in self.panes:
            self.panes[table].focus()
        self.call_after_refresh(self.repaint, True)

    @property
    def pane(self) -> TablePane | None:
        return self.panes.get(self.current)

    @on(TablePane.Entered)
    def entered(self, message: TablePane.Entered) -> None:
        self.action_drill()

    @on(Tabs.Chosen)
    def chosen(self, message: Tabs.Chosen) -> None:
        self.show(message.table)

    @on(Verdicts.Asked)
    def asked(self, message: Verdicts.Asked) -> None:
        self.evidence(message.verdict)

    @on(HistoryLine.Sought)
    def sought(self, message: HistoryLine.Sought) -> None:
        if (replay := self.replay()) and replay.times:
            replay.seek(replay.began + message.share * replay.length)
            self.screens.tick()

    def on_descendant_focus(self) -> None:
        focused = self.focused
        if isinstance(focused, TablePane) and focused.table != self.current:
            self.current = focused.table

    def on_resize(self) -> None:
        self.call_after_refresh(self.repaint, True)

    def tell(self, words: str, severity: SeverityLevel = "information") -> None:
        self.app.notify(words, severity=severity, timeout=2.5, markup=False)

    # keys: where ----------------------------------------------------------------------------------------------------------------------

    def action_pane(self, by: int) -> None:
        tables = self.tables
        place = tables.index(self.current) if self.current in tables else 0
        self.show(tables[(place + by) % len(tables)] if isinstance(self.focused, TablePane) or self.single else tables[place])

    def action_digit(self, digit: str) -> None:
        table = next(name for name, one in hints.DIGITS.items() if one == digit)
        if table == self.current and isinstance(self.focused, TablePane) and self.focused.table == table:
            self.action_zoom()
        else:
            self.show(table)

    def action_verdict(self, place: int) -> None:
        if only_search(self.screens.frame):
            self.show("campaigns")
            return
        one = self.query_one("#verdicts", Verdicts)
        if one.display and one.size.height:
            one.choose(place)
            one.focus()
        else:
            self.query_one(f"#card-{FOUR[place]}", Verdicts).focus()

    def evidence(self, name: str) -> None:
        frame = self.screens.frame
        verdict = next((one for one in frame.verdicts if one.name == name), None) if frame else None
        if verdict is not None:
            self.show(verdict.evidence)

    def action_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.show(self.current)

    def action_back(self) -> None:
        pane = self.pane
        if self.asking:
            if self.asking == "filter" and pane is not None:
                pane.typed = ""
            self.close_typed()
        elif pane is not None and (pane.typed or pane.problems):
            pane.typed, pane.problems = "", False
            pane.update()
        elif self.zoomed:
            self.action_zoom()
        elif not isinstance(self.focused, TablePane):
            self.show(self.current)

    # keys: in a pane --------------------------------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        if isinstance(self.focused, Verdicts):
            self.action_verdict((self.focused.chosen + by) % 4)
        elif pane := self.pane:
            pane.move(by)

    def action_page(self, by: int) -> None:
        if pane := self.pane:
            pane.move(by * pane.room)

    def action_end(self, last: bool) -> None:
        if pane := self.pane:
            pane.go(pane.total - 1 if last else 0)

    def action_drill(self) -> None:
        if isinstance(self.focused, Verdicts):
            self.evidence(FOUR[self.focused.chosen])
            return
        pane = self.pane
        row = pane.row if pane else None
        if pane is None or row is None:
            return
        if pane.table == ALARMS:                 # its row, where there is one
            alarm = next((one for one in self.screens.alarms if f"{one.code} {one.entity}" == row.key), None)
            table = hints.SPEAKS_OF.get(alarm.code.rstrip("0123456789"), ALARMS) if alarm else ALARMS
            other = self.panes.get(table)
            listing = other.listing() if other else None
            if alarm is not None and listing is not None and listing.find(alarm.entity) is not None:
                self.app.push_screen(Detail(self.look, table, alarm.entity))
                return
        self.app.push_screen(Detail(self.look, pane.table, row.key))

    def action_problems(self) -> None:
        if pane := self.pane:
            pane.problems = not pane.problems
            pane.update()

    def action_sort(self) -> None:
        if pane := self.pane:
            pane.sort_next()

    def action_reverse(self) -> None:
        if pane := self.pane:
            pane.reverse()

    def action_follow(self) -> None:
        if pane := self.pane:
            row = pane.row
            if not pane.follow and row is not None:
                pane.selected = row.key
            pane.follow = not pane.follow
            pane.update()

    def action_copy(self) -> None:
        """The row; of what diverges, the command that shows it."""
        pane = self.pane
        row, listing = (pane.row, pane.listing()) if pane else (None, None)
        if row is None or listing is None:
            return
        words = {column.id: self.look.value(cell.value, column.unit) for column, cell in zip(listing.columns, row.cells, strict=True)}
        self.app.copy_to_clipboard(words.get("repro") or "  ".join(words.values()))
        self.tell("copied")

    # keys: what is typed ----------------------------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        if pane := self.pane:
            self.ask("filter", pane.typed, "words  !not  oldest>5s")

    def action_time(self) -> None:
        if self.replay():
            self.ask("time", "", "go to: 12.5  1:30  250ms, from the beginning")

    def ask(self, what: str, value: str, placeholder: str) -> None:
        self.asking = what
        typed = self.query_one("#typed", Input)
        typed.value, typed.placeholder = value, placeholder
        typed.display = True
        typed.focus()
        typed.cursor_position = len(value)

    def close_typed(self) -> None:
        self.asking = ""
        self.query_one("#typed", Input).display = False
        self.show(self.current)

    @on(Input.Changed, "#typed")
    def typing(self, message: Input.Changed) -> None:
        if self.asking == "filter" and (pane := self.pane):
            pane.typed = message.value.strip()
            pane.top = 0
            pane.update()

    @on(Input.Submitted, "#typed")
    def typed(self, message: Input.Submitted) -> None:
        replay = self.screens.session
        if self.asking == "time" and isinstance(replay, Playback) and replay.times:
            try:
                replay.seek(replay.began + parse_time(message.value))
            except (ValueError, OverflowError):
                self.tell(f"{message.value!r} is no time", severity="warning")
            self.screens.tick()
        self.close_typed()

    # keys: time -----------------------------------------------------------------------------------------------------------------------

    def replay(self) -> Playback | None:
        session = self.screens.session
        if isinstance(session, Playback):
            return session
        self.tell(NOT_LIVE, severity="warning")
        return None

    def action_pause(self) -> None:
        session = self.screens.session
        if isinstance(session, Playback):
            session.play()
        else:
            self.screens.paused = not self.screens.paused
        self.screens.tick()

    def action_window(self) -> None:
        self.screens.session.next_window()
        self.screens.tick(thaw=True)

    def action_step(self, by: int) -> None:
        if replay := self.replay():
            replay.step(by)
            self.screens.tick()

    def action_alarm(self, forward: bool) -> None:
        if replay := self.replay():
            if not replay.mark(forward):
                self.tell(f"no {'later' if forward else 'earlier'} alarm")
            self.screens.tick()

    def action_speed(self, by: int) -> None:
        if replay := self.replay():
            replay.faster(by)
            self.screens.tick()

    def action_live(self) -> None:
        session = self.screens.session
        if isinstance(session, Playback):
            session.to_end()
        self.screens.paused = False
        self.screens.tick()

    # keys: out --------------------------------------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        pane = self.pane
        listing = pane.listing() if pane else None
        self.app.push_screen(Help(self.look, self.current, listing.columns if listing is not None else (), self.screens.mapped))

    def action_export(self) -> None:
        self.app.push_screen(Exporting(self.look), self.exported)

    def exported(self, kind: str | None) -> None:
        if kind is not None:                     # after the choice has gone from the screen
            self.call_after_refresh(self.write, kind)

    def write(self, kind: str) -> None:
        screens = self.screens
        frame, pane = screens.frame, self.pane
        listing = pane.listing() if pane else None
        if frame is None or pane is None or listing is None:
            self.tell("there is nothing to export yet", severity="warning")
            return
        match kind:
            case "svg":
                content = screens.export_screenshot(title="slotwise watch")
            case "txt":
                content = export.screen_text(screens) + "\n"
            case "csv":
                keep = pane.keep(listing.columns)
                content = export.as_csv(listing.columns, tuple(row for row in listing.rows() if keep is None or keep(row)))
            case _:
                content = export.as_json(frame, screens.alarms)
        try:
            path = export.write(screens.folder, frame.head.program, kind, content)
        except OSError as error:
            self.tell(f"not written: {error}", severity="error")
        else:
            self.tell(f"written: {path}")

    def key_words(self) -> list[tuple[str, str]]:
        try:
            self.query_one("#typed", Input)
        except NoMatches:
            return []
        return [("enter", "done"), ("esc", "clear")] if self.asking else []
