"""Keys that choose a table, and act in it."""
from __future__ import annotations

from textual import on
from textual.events import Key
from textual.widgets import Input

from slotwise.dashboard.observe import regroup
from slotwise.dashboard.observe.words import harmless
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.board import Board
from slotwise.dashboard.screens.cards import FOUR, Verdicts
from slotwise.dashboard.screens.details import Detail
from slotwise.dashboard.screens.pane import ALARMS, TablePane
from slotwise.dashboard.screens.search import only_search
from slotwise.dashboard.screens.session import Playback, parse_time


class PaneKeys(Board):
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
            who = verdict.numbers.get("group")   # that starves, whatever the order of the rows is
            if isinstance(who, str) and (pane := self.pane) and pane.put_together is None:
                pane.select(who)

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

    def action_preset(self, by: int) -> None:
        """Those that have nothing to show are left out."""
        names = [name for name in hints.PRESETS if name == "overview" or name == self.preset or self.preset_tables(name)]
        self.choose_preset(names[(names.index(self.preset) + by) % len(names)])

    def choose_preset(self, preset: str) -> None:
        self.preset, self.zoomed = preset, False
        shown = self.preset_tables(self.preset)
        self.tell(f"view {self.preset}" + (f": {', '.join(shown)}" if shown else ""))
        self.show(shown[0] if shown else "groups")

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
            table = hints.table_of(alarm.code, ALARMS) if alarm else ALARMS
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
        self.set_focus(typed)                    # at once: the next key may be there already
        typed.cursor_position = len(value)

    def typed_before(self, key: Key) -> bool:
        """It came together with the key that asks, and so went to where that went."""
        if not self.asking or key.character is None or not key.is_printable:
            return False
        self.query_one("#typed", Input).insert_text_at_cursor(key.character)
        return True

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

    # keys: alarms, and how rows are put together ----------------------------------------------------------------------------------------

    def action_acknowledge(self) -> None:
        pane = self.pane
        row = pane.row if pane else None
        if pane is None or row is None:
            self.tell("there is no alarm")
        elif pane.put_together is not None and pane.table != ALARMS:
            self.tell("of one row only: g shows them one by one again")
        else:
            self.acknowledge(pane.table, row.key)

    def acknowledge(self, table: str, key: str) -> None:
        """The alarms that a row shows, or that speak of it; if all of them were, none is any more."""
        screens = self.screens
        view = self.panes[table].put_together if table == ALARMS else None
        if view is not None:
            found = [one for one in screens.alarms if key in (one.code, one.entity)]
        elif table == ALARMS:
            found = [one for one in screens.alarms if f"{one.code} {one.entity}" == key]
        else:
            found = [one for one in screens.alarms if one.entity == key and hints.table_of(one.code, table) == table]
        if not found:
            self.tell("no open alarm speaks of it")
            return
        done = screens.session.acknowledged.toggle(found)
        self.tell(f"{'acknowledged' if done else 'not acknowledged any more'}: {'  '.join(f'{one.code} {harmless(one.entity)}'.strip() for one in found)}")
        screens.paint()

    def action_acknowledged(self) -> None:
        self.screens.hides = not self.screens.hides
        self.tell("acknowledged alarms are " + ("hidden" if self.screens.hides else "shown"))
        self.screens.paint()

    def action_group(self) -> None:
        pane = self.pane
        if pane is None:
            self.tell("nothing is known yet")
        elif pane.table not in regroup.VIEWS:
            self.tell(f"the rows of {pane.table} have nothing in common")
        else:
            view = pane.next_view()
            self.tell(f"by {view.by}" if view else "each row by itself")
            self.screens.paint()
