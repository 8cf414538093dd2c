"""The rows of a table: which of them are shown, in which order, put together or not. What is selected is a row's id, not its place."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from slotwise.dashboard.observe import alarms, regroup, units
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.panes import Column, Listing, Row, Table, worst
from slotwise.dashboard.observe.words import showing
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.filters import FilterError, parse
from slotwise.dashboard.screens.grid import Grid
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look
from slotwise.dashboard.screens.page import cut

ALARMS = "alarms"


class Rows(Lines, can_focus=True):
    """Which rows are shown, and how."""

    def __init__(self, look: Look, name: str) -> None:
        super().__init__(look, id=f"pane-{name}" if name.isidentifier() else None, classes="pane")
        self.table = name
        self.view = -1                           # how its rows are put together: a place in `regroup.VIEWS`; -1: they are not
        self.changed: tuple[str, ...] = ()       # columns whose counters are told in another way
        self.sort: str | None = None             # None: the table's own
        self.typed, self.problems, self.follow = "", False, False
        self.selected: str | None = None         # None: the first
        self.place = self.top = 0                # of the selected row, of the first that is shown
        self.total = 0
        self.wrong = ""                          # with the filter
        self._grid: Grid | None = None
        self._listed: tuple[Frame | None, tuple[object, ...], Listing[Any] | None] | None = None
        self._troubled: tuple[tuple[Alarm, ...] | None, dict[str, str]] = None, {}
        self._shown: tuple[Row, ...] = ()
        self._wide: tuple[object, dict[str, int]] = None, {}       # how wide columns were, as long as they are these and have as much room

    # what is shown ------------------------------------------------------------------------------------------------------------------

    def listing(self) -> Listing[Any] | None:
        """Put in order once for each frame."""
        screens = self.screens
        asked = (screens.alarms, screens.heard, screens.hides, screens.unit, self.view, self.sort)
        if self._listed is None or self._listed[0] is not screens.frame or self._listed[1] != asked:
            self._listed = screens.frame, asked, self._listing()
        return self._listed[2]

    def _listing(self) -> Listing[Any] | None:
        frame, screens = self.screens.frame, self.screens
        self.changed = ()
        found: tuple[Table[Any], Sequence[Any]] | None = None
        if frame is not None and self.table == ALARMS:
            found = alarms.TABLE, alarms.opened(screens.alarms, frame.window.now, screens.session.acknowledged, screens.hides)
        elif frame is not None:
            found = regroup.things(frame, self.table)
        if frame is None or found is None:
            return None
        table, things = found
        if view := self.put_together:
            table, things = view.table, view.gather(things)
        table, self.changed = units.told(table, things, screens.unit, frame.window.length)
        sort = self.sort if self.sort and any(column.id == self.sort.removeprefix("-") for column in table.columns) else None
        return table.listing(things, sort)

    @property
    def put_together(self) -> regroup.View | None:
        views = regroup.VIEWS.get(self.table, ())
        return views[self.view] if 0 <= self.view < len(views) else None

    def troubled(self) -> dict[str, str]:
        """What open lints say of rows here; worked out once for each frame's alarms."""
        if self.put_together is not None:
            return {}
        heard = self.screens.heard
        if self._troubled[0] is heard:
            return self._troubled[1]
        found: dict[str, str] = {}
        for alarm in heard:
            if hints.table_of(alarm.code, self.table) == self.table:
                found[alarm.entity] = worst((alarm.status, found.get(alarm.entity, "ok")))  # type: ignore[arg-type]
        self._troubled = heard, found
        return found

    def keep(self, columns: tuple[Column, ...]) -> Callable[[Row], bool] | None:
        self.wrong = ""
        try:
            matches = parse(self.typed, columns) if self.typed else None
        except FilterError as error:
            self.wrong, matches = str(error), None
        if not self.problems:
            return matches
        troubled = self.troubled()

        def bad(row: Row) -> bool:
            return (row.key in troubled or row.status in ("warn", "alarm") or any(cell.status in ("warn", "alarm") for cell in row.cells)) and (matches is None or matches(row))

        return bad

    def gather(self, height: int) -> tuple[Listing[Any], tuple[Row, ...]] | None:
        """The rows that fit, and where the selected one stands."""
        listing = self.listing()
        if listing is None:
            return None
        keep = self.keep(listing.columns)
        kept = None if keep is None else [row for row in listing.rows() if keep(row)]
        self.total = len(listing) if kept is None else len(kept)
        if self.selected is not None:
            found = listing.find(self.selected) if kept is None else next((i for i, row in enumerate(kept) if row.key == self.selected), None)
            self.place = min(self.place, max(0, self.total - 1)) if found is None else found
        else:
            self.place = 0
        if self.follow:
            self.reveal(height)
        self.top = max(0, min(self.top, self.total - height))
        return listing, listing.rows(self.top, self.top + height) if kept is None else tuple(kept[self.top : self.top + height])

    def reveal(self, height: int) -> None:
        self.top = min(max(self.top, self.place - height + 1), self.place)

    @property
    def room(self) -> int:
        return max(1, self.size.height - self.headed(self.size.height))

    @property
    def bar(self) -> bool:
        """Its bars need a line that says what they are."""
        known = hints.BARS.get(self.table)
        return known is not None and bool(known.legend)

    def headed(self, height: int) -> bool:
        return height > 1 and (self.table not in hints.HEADLESS or self.put_together is not None)

    def draw(self, width: int, height: int) -> Iterable[Line]:
        headed = self.headed(height)
        found = self.gather(height - headed)
        if found is None:
            self._grid = None
            yield [(" nothing known yet", "dim")]
            return
        listing, self._shown = found
        if self._wide[0] != (room := (listing.columns, width)):
            self._wide = room, {}
        grid = self._grid = Grid(self.look, listing.name, listing.columns, self._shown, width, sort=listing.sort, early=self.changed, known=self._wide[1])
        troubled = self.troubled()
        if headed:
            yield grid.header()
        for i, row in enumerate(self._shown):
            status = worst((row.status, troubled.get(row.key, "ok")))  # type: ignore[arg-type]
            yield grid.line(i, selected=self.has_focus and self.top + i == self.place, focus=self.has_focus, status=status)
        if not self._shown:
            yield [("  " + self.why_empty(len(listing)), "dim")]
        elif self.has_focus and 0 <= self.place - self.top < len(self._shown) and (sentence := grid.cut_off(self.place - self.top)):
            lines = cut(sentence, width - 3)     # of the selected row, below all others, if there is room
            if len(lines) < height - headed - len(self._shown):
                yield from ([("", "text")], *([(f"  {line}", "text")] for line in lines))
        elif (legend := grid.legend()) and len(self._shown) < height - headed:
            yield [("  ", "dim"), *legend]

    def why_empty(self, all_: int) -> str:
        if self.wrong:
            return self.wrong
        if all_:
            return f"none of {all_:,} " + ("has a problem" if self.problems and not self.typed else "is like that; esc shows all")
        if self.table == ALARMS:
            return "no alarm is open" + (", but for those that are acknowledged; A shows them" if self.screens.alarms else "")
        return "none"

    def update(self) -> None:
        super().update()
        if self.size.height and self.display:
            self.frame_with(self.title, self.below())

    @property
    def title(self) -> str:
        listing = self.listing()
        words = (listing.title if listing is not None else self.table) + (f"  {units.WORDS[self.screens.unit]}" if self.changed else "")
        return f"{hints.DIGITS[self.table]} {words}" if self.table in hints.DIGITS else words

    def below(self) -> str:
        """What is special about what is shown."""
        words = [self.wrong] if self.wrong else []
        if self.table == ALARMS:
            heard, all_ = len(self.screens.heard), len(self.screens.alarms)
            words.append(f"{heard} open  {all_ - heard} acked" + ("" if self.screens.hides else ", shown"))
        if self.typed:
            words.append(f"/{self.typed}")
        if self.problems:
            words.append("problems only")
        if self.follow:
            words.append("follows")
        if len(self._shown) < self.total:
            words.append(f"{self.top + 1:,}-{self.top + len(self._shown):,} of {self.total:,}" if self.top else showing(len(self._shown), self.total))
        return "  ".join(words)

    def _at(self, place: int) -> Row | None:
        listing = self.listing()
        if listing is None:
            return None
        keep = self.keep(listing.columns)
        rows = listing.rows(place, place + 1) if keep is None else [row for row in listing.rows() if keep(row)][place : place + 1]
        return rows[0] if rows else None

    @property
    def row(self) -> Row | None:
        """The selected one."""
        self.gather(self.room)
        return self._at(self.place)
