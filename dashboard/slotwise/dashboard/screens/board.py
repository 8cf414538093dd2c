"""What stands where on the overview. Where there is little room, one table at a time."""
from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.css.scalar import Scalar
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from slotwise.dashboard.observe import regroup
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.cards import FOUR, Verdicts
from slotwise.dashboard.screens.head import Banner, Head, Keys
from slotwise.dashboard.screens.lines import Lines, screens_of
from slotwise.dashboard.screens.look import Look
from slotwise.dashboard.screens.pane import ALARMS, TablePane
from slotwise.dashboard.screens.parts import HistoryLine, Tabs
from slotwise.dashboard.screens.search import SearchLines, only_search
from slotwise.dashboard.screens.session import Playback

if TYPE_CHECKING:
    from slotwise.dashboard.screens.app import Screens

NOT_LIVE = "only a recording goes back in time: R makes one; m marks this moment"
LASTING = 8.0                                # seconds that an error, or the name of a file, stays
MIDDLE = ("resources", "groups", "campaigns")
#: What is looked at first: of these the first that has rows.
BEST = ("campaigns", "groups", "batchers", "workers", "resources")
ABOVE = (*MIDDLE, *regroup.ASKED)


def resize(widget: Widget, share: int | None) -> None:
    """Its height as a share; None: as the style sheet has it."""
    wanted = None if share is None else Scalar.parse(f"{share}fr")
    if widget.styles.inline.height != wanted:
        widget.styles.height = wanted


def cap(widget: Widget, height: int | None) -> None:
    """Its greatest height in lines; None: none."""
    wanted = None if height is None else Scalar.from_number(height)
    if widget.styles.inline.max_height != wanted:
        widget.styles.max_height = wanted


class Board(Screen[None]):
    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look
        self.panes: dict[str, TablePane] = {}
        self.current, self.zoomed = "groups", False
        self.picked = False                      # somebody has chosen which table is the current one
        self.preset = "overview"
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

    def there(self, name: str) -> bool:
        """It has rows. One that is only there when it is asked for has some, if the table that it is made of does."""
        frame = self.screens.frame
        base = regroup.ASKED[name][0] if name in regroup.ASKED else name
        return frame is not None and base in frame.names and frame.count(base) > 0

    def preset_tables(self, preset: str) -> list[str]:
        return [name for name in hints.PRESETS[preset] if self.there(name)]

    @property
    def tables(self) -> list[str]:
        """The preset's, then those that have rows, in order; and alarms, and the one that is shown. Resources and groups too, while nothing has."""
        frame = self.screens.frame
        always = MIDDLE if frame is None or not any(map(frame.count, frame.names)) else ()
        names = [name for name in (*frame.names, *regroup.ASKED) if name == self.current or name in always or (name not in regroup.ASKED and frame.count(name))] if frame else []
        return list(dict.fromkeys((*self.preset_tables(self.preset), *(name for name in names if name != ALARMS), ALARMS)))

    def named(self) -> dict[str, str]:
        """All tables that have rows, the one that is shown and alarms, as their borders call them."""
        frame = self.screens.frame
        names = dict.fromkeys((*(name for name in (*frame.names, *regroup.ASKED) if self.there(name) or name == self.current), ALARMS)) if frame else ()
        return {name: listing.title for name in names if name in self.panes and (listing := self.panes[name].listing()) is not None}

    @property
    def single(self) -> bool:
        return self.zoomed or any(self.has_class(name) for name in ("-narrow", "-low", "-tiny"))

    def repaint(self, new: bool) -> None:
        """`new`: the frame is another than before."""
        frame = self.screens.frame
        if frame is not None and not self.picked:      # a search or groups, as soon as there are some
            best = next(filter(self.there, BEST), "groups")
            self.picked = best in BEST[:2] and self.there(best)
            if best != self.current:
                self.show(best, picked=False)
        for name in (*frame.names, *regroup.ASKED) if frame else ():
            if name not in self.panes:           # a table that was not there before finds its place
                self.panes[name] = pane = TablePane(self.look, name)
                self.query_one("#middle" if name in ABOVE else "#lower", Horizontal).mount(pane)
                if name == self.current and not isinstance(self.focused, TablePane):
                    self.call_after_refresh(pane.focus)          # the first snapshot came after the screen was put up
        self.lay_out()
        for widget in self.query(Lines):
            if new or not isinstance(widget, TablePane):
                widget.update()

    def lay_out(self) -> None:
        single = self.single
        self.query_one("#banner").display = bool(self.screens.trouble)
        self.set_class(single, "-single")
        self.set_class(only_search(self.screens.frame), "-search")
        self.set_class(self.zoomed, "-zoomed")
        self.set_class(bool(hints.PRESETS[self.preset]) and not single, "-stacked")
        shown = {self.current} if single else set(self.placed())
        for name, pane in self.panes.items():
            pane.display = name in shown
        stacked = self.has_class("-stacked")
        tall = {name: self.height_of(name) for name in shown} if stacked else {}
        for name, pane in self.panes.items():
            resize(pane, tall.get(name))
        for id, parts in (("#middle", shown.intersection(ABOVE)), ("#lower", shown.difference(ABOVE, (ALARMS,)))):
            part = self.query_one(id)
            part.display = bool(parts)
            resize(part, sum(tall[name] for name in parts) if stacked and parts else None)
        frame, middle = self.screens.frame, self.query_one("#middle")
        if only_search(frame) and not single and not stacked and frame:
            middle.styles.height = min(frame.count("campaigns") + 3, 16)
        self.set_class(self.roomy and not single and not stacked and len(shown.difference(ABOVE, (ALARMS,))) > 4, "-grid")
        cap(self.panes[ALARMS], None if single or stacked else 2 + 6 * max(1, -(-len(self.screens.heard) // 6)))
        cap(middle, self.needed() if not single and not stacked and shown.difference(MIDDLE, (ALARMS,)) else None)

    @property
    def roomy(self) -> bool:
        """Enough for two rows of tables below the middle."""
        return self.has_class("-huge") and self.has_class("-lofty")

    def needed(self) -> int:
        """Lines that the tables in the middle need at most, in steps, so that it does not jump with each row."""
        rows = [pane.total + bool(pane.bar) for name, pane in self.panes.items() if name in MIDDLE and pane.display]
        return 3 + 4 * max(1, -(-max(rows, default=0) // 4))

    def height_of(self, name: str) -> int:
        """What share of the height a table gets below others: by its rows, in steps, so that it does not jump with each of them."""
        listing = self.panes[name].listing() if name in self.panes else None
        most = 1 if name == ALARMS else 4
        return 3 + 3 * min(most, -(-len(listing) // 3)) if listing is not None else 6

    def placed(self) -> list[str]:
        """What has a place where there is room for several."""
        if chosen := self.preset_tables(self.preset):
            return [*dict.fromkeys((*chosen, self.current, ALARMS))]
        tables = self.tables
        others = [name for name in tables if name not in MIDDLE and name != ALARMS]
        others.sort(key=lambda name: name in hints.LATER)
        if only_search(self.screens.frame):      # its checks say what its rules do
            others = [name for name in others if name != "checks" or name == self.current]
        most = 6 if self.roomy else 5 if self.size.width >= 160 else 3
        if self.current in others[most:]:
            others[most - 1] = self.current
        return [*(name for name in tables if name in MIDDLE), *others[:most], ALARMS]

    def below(self) -> str:
        """What a pane's border would say, where it has none."""
        pane = self.pane
        return pane.below() if pane is not None and self.single else ""

    @property
    def special(self) -> bool:
        """Some rows of the table are left out."""
        pane = self.pane
        return pane is not None and self.single and bool(pane.wrong or pane.typed or pane.problems)

    def show(self, table: str, picked: bool = True) -> None:
        """Puts it where it is seen, and the keys into it."""
        self.current, self.picked = table, self.picked or picked
        self.lay_out()
        if table in self.panes:
            self.panes[table].focus()
        self.call_after_refresh(self.repaint, True)

    @property
    def pane(self) -> TablePane | None:
        return self.panes.get(self.current)

    def on_resize(self) -> None:
        self.call_after_refresh(self.repaint, True)

    def tell(self, words: str, severity: SeverityLevel = "information", lasting: bool = False) -> None:
        """For a moment, and longer the more there is to read. Where there is little room, only the latest."""
        if self.has_class("-tiny"):
            self.app.clear_notifications()
        self.app.notify(words, severity=severity, timeout=LASTING if lasting or severity == "error" else max(2.5, len(words) / 15), markup=False)

    def replay(self) -> Playback | None:
        session = self.screens.session
        if isinstance(session, Playback):
            return session
        self.tell(NOT_LIVE, severity="warning")
        return None
