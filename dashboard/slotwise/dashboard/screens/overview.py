"""The overview: four verdicts, the tables, the history; and all keys."""
from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.widgets import Input

from slotwise.dashboard.screens import keys
from slotwise.dashboard.screens.cards import Verdicts
from slotwise.dashboard.screens.keys_out import OutKeys
from slotwise.dashboard.screens.keys_panes import PaneKeys
from slotwise.dashboard.screens.keys_time import TimeKeys
from slotwise.dashboard.screens.pane import TablePane
from slotwise.dashboard.screens.parts import HistoryLine, Tabs


class Overview(PaneKeys, TimeKeys, OutKeys):
    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings()]
    SHOWN = keys.SHOWN

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

    def key_words(self) -> list[tuple[str, str]]:
        try:
            self.query_one("#typed", Input)
        except NoMatches:
            return []
        pane = self.pane
        if self.asking == "time":
            return [("t", "Go to a time"), ("enter", "Go"), ("esc", "Stay")]
        return [("/", f"Filter of {pane.title if pane else 'the table'}"), ("enter", "Keep it"), ("esc", "All rows")] if self.asking else []
