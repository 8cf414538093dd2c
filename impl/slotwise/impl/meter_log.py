"""What happens in a live scheduler is noted at once, and folded into the meter a little later, many at a time: before anybody looks.

Who comes straight from waiting for the loop finds the processor's caches cold, and folding costs three times as much there; to note down costs
little. What comes of it is exactly the same: each note has its instant, and notes are folded in order.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slotwise.impl.meter import Meter
from slotwise.impl.meter_rows import GroupRow, Shape
from slotwise.spec.vocabulary import Group

if TYPE_CHECKING:
    from slotwise.impl.jobs import Job

WAITS, STARTS, ENDS, TURNS, LEAVES, TOLD, BACKS_OFF = range(7)
WIDTH = 7                                # values of a note: kind, instant, group, shape, the job's id, a number, and what `due` is then, or None: as it was
MOST = 512 * WIDTH                       # values that are kept, but for starts: each of those ends; folding so many takes half a millisecond


class MeterLog:
    """The methods are the meter's, of the same names. Nothing of a job is kept but its id."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._notes: list[Any] = []          # one note's values after another's: no objects that the collector must look at

    def shape(self, needs: dict[str, int]) -> Shape:
        """For a job that waits before the log is folded, or it may be forgotten."""
        return self._meter.shape(needs)

    def group(self, spec: Group) -> GroupRow:
        return self._meter.group(spec)

    def waits(self, job: Job[Any], at: int, due: bool | None = None) -> None:
        notes = self._notes
        notes += (WAITS, at, job._row, job._shape, job.id, 0, due)
        if len(notes) > MOST:
            self.folded()

    def starts(self, job: Job[Any], at: int, due: bool | None = None) -> None:
        self._notes += (STARTS, at, job._row, None, job.id, 0, due)

    def ends(self, job: Job[Any], at: int, due: bool | None = None) -> None:
        notes = self._notes
        notes += (ENDS, at, job._row, job._shape, job.id, job._since, due)
        if len(notes) > MOST:
            self.folded()

    def leaves(self, job: Job[Any], at: int) -> None:
        notes = self._notes
        notes += (LEAVES, at, job._row, job._shape, job.id, 0, None)
        if len(notes) > MOST:
            self.folded()

    def told(self, job: Job[Any], at: int) -> None:
        self._notes += (TOLD, at, job._row, None, job.id, 0, None)

    def backs_off(self, row: GroupRow, at: int, jobs: int) -> None:
        self._notes += (BACKS_OFF, at, row, None, "", jobs, None)

    def turns(self, at: int, due: bool) -> None:
        """Something could be started, or all that could be has been; nothing else happens."""
        self._notes += (TURNS, at, None, None, "", 0, due)

    def folded(self) -> Meter:
        """The meter, with all that has happened."""
        meter, notes = self._meter, self._notes
        if not notes:
            return meter
        waits, starts, ends = meter.waits, meter.starts, meter.ends
        values = iter(notes)
        for kind, at, row, shape, id, number, due in zip(values, values, values, values, values, values, values, strict=True):
            if at != meter.at:
                meter.advance(at)
            if kind == WAITS:
                waits(row, shape, id)
            elif kind == STARTS:
                starts(row, id)
            elif kind == ENDS:
                ends(row, shape, id, number)
            elif kind == LEAVES:
                meter.leaves(row, shape, id)
            elif kind == TOLD:
                meter.told(row, id)
            elif kind == BACKS_OFF:
                meter.backs_off(row, number)
            if due is not None:
                meter.due = due
        notes.clear()
        meter.forget()
        return meter
