"""A frame: everything one look at a scheduler has to say, from two of its snapshots. `derive` is pure."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from slotwise.dashboard.observe import campaigns, tables
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.panes import MOST, Listing, Pane, Row, Status, Table, worst
from slotwise.dashboard.observe.verdicts import Verdict, verdicts
from slotwise.dashboard.observe.window import SECOND, Window
from slotwise.impl.snapshot import Snapshot


class Head(msgspec.Struct, frozen=True):
    """The first line."""

    program: str
    pid: int
    state: str
    up_s: float
    window_s: float
    events: int                              # in the window
    events_per_s: float | None
    dropped: int                             # of the tape, since the start; counters are unaffected
    age_s: float | None                      # of the snapshot, when it was looked at; None: not live
    leases: int
    busy: int
    capacity: int
    waiting: int
    holding: int                             # invariants
    checks: int
    divergences: int
    coarse: bool                             # the source's numbers are rounded, or sampled
    restarted: bool                          # since the snapshot before; the window is the new run


@dataclass(frozen=True)
class Frame:
    """Only what is asked for is worked out, once: whoever plays a recording looks at thousands of frames, and shows one."""

    window: Window
    limits: Limits
    age: int | None = None                   # of the snapshot when it was looked at, ns
    coarse: bool = False

    @cached_property
    def head(self) -> Head:
        return head(self.window, self.age, self.coarse)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The four, then invariants and divergences; then that of a search."""
        search = campaigns.verdict(self.window)
        return verdicts(self.window, self.limits) + ((search,) if search else ())

    @cached_property
    def _tables(self) -> dict[str, tuple[Table[Any], list[Any]]]:
        return {table.name: (table, things) for table, things in campaigns.tables(self.window)} | tables.panes(self.window, self.limits)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the panes."""
        return tuple(self._tables)

    @property
    def status(self) -> Status:
        return worst(verdict.status for verdict in self.verdicts)

    def table(self, name: str) -> tuple[Table[Any], Sequence[Any]]:
        """As it is made, with its things. Raises KeyError."""
        return self._tables[name]

    def pane(self, name: str, *, sort: str | None = None, most: int | None = MOST, keep: Callable[[Row], bool] | None = None) -> Pane:
        """Worked out when it is asked for. Raises KeyError for an unknown pane, ValueError for an unknown column."""
        table, things = self._tables[name]
        return table.pane(things, sort=sort, most=most, keep=keep)

    def listing(self, name: str, sort: str | None = None) -> Listing[Any]:
        """A pane of which only the rows that are asked for are worked out. Raises as `pane` does."""
        table, things = self._tables[name]
        return table.listing(things, sort)

    def count(self, name: str) -> int:
        """Of a pane's rows."""
        return len(self._tables[name][1])

    def drill(self, group: str) -> list[Pane]:
        """Why a group waits, in the window. Raises KeyError if it is not there."""
        for one in self.window.groups:
            if one.after.name == group:
                return tables.drill(one, self.limits)
        raise KeyError(group)


def derive(previous: Snapshot | None, current: Snapshot, *, limits: Limits | None = None, age: int | None = None, coarse: bool = False) -> Frame:
    """The frame of the window between two snapshots; of the whole run, if there is no previous one or it is of another run. `age` is that
    of the current snapshot when it is looked at, ns."""
    return Frame(Window(previous, current), limits or Limits(), age, coarse)


def head(window: Window, age: int | None, coarse: bool) -> Head:
    after = window.after
    return Head(
        after.program, after.pid, after.state, (after.now - after.started) / SECOND, window.length / SECOND, window.events,
        window.events * SECOND / window.length if window.length > 0 else None, after.dropped, None if age is None else age / SECOND, after.leases,
        sum(r.busy for r in after.resources), window.capacity, sum(g.waiting for g in after.groups),
        sum(check.holds for check in after.checks), len(after.checks), len(after.divergences), coarse, window.restarted,
    )  # fmt: skip
