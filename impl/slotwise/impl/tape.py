"""A bounded tape of all that a meter is told, for whoever records it. The counters do not depend on it: what it drops, it counts.

Whoever plays a tape into another meter, from a keyframe on, gets the same numbers (slotwise.impl.meter_fold):

    group       a group is there; data is its specification
    specified   a group has another specification from now on
    waits       a job was submitted; data are its needs
    again       a job waits again, after a back-off
    starts      with its lease, which ends with
    told        a running job is to end, and may hold its units for a while yet
    released    its units are given back; how the job ended comes separately
    discarded   a waiting job waits no longer, and has not started
    backs_off   a try failed, another will come; the pause ends with
    goes_on     a back-off is over
    due         work could be started, if the scheduler came to it; it came:
    pumped
    finished, failed, cancelled, timed_out      how a job ended
"""
from __future__ import annotations

from typing import Any, NamedTuple

from slotwise.spec.vocabulary import Group

Data = dict[str, int] | Group | None
WIDTH = 6                                # values of an event, without its number


class Event(NamedTuple):
    number: int          # of all events since the start; what is missing was dropped
    at: int              # ns since the scheduler began
    kind: str
    job: str             # its id, or empty
    group: str
    lease: int           # 0: none
    data: Data           # needs, or a specification; not to be changed


class Tape:
    """Holds at most so many events; while it is full, new ones are dropped."""

    def __init__(self, most: int = 100_000) -> None:
        if most < 1:
            raise ValueError(f"most must be at least 1, found {most}")
        self._most = WIDTH * most
        self._kept: list[Any] = []           # one event's values after another's: this makes no objects that the collector must look at
        self._number = 0                     # of the last that was taken, or dropped before what is kept
        self._later: list[tuple[int, int]] = []          # so many more are kept, and so many were dropped after those
        self._lost = self._lost_from = 0     # dropped since it was last taken from, and when the first of those happened
        self._dropped = 0                    # before that

    def __len__(self) -> int:
        return len(self._kept) // WIDTH

    @property
    def events(self) -> int:
        """Since the start."""
        return self._number + len(self) + sum(lost for _, lost in self._later) + self._lost

    @property
    def dropped(self) -> int:
        return self._dropped + self._lost

    def add(self, at: int, kind: str, job: str, group: str, lease: int = 0, data: Data = None) -> None:
        kept = self._kept
        if len(kept) < self._most:
            kept += (at, kind, job, group, lease, data)
            return
        if not self._lost:
            self._lost_from = at
        self._lost += 1

    def take(self, most: int | None = None) -> list[Event]:
        """The oldest, and no more than so many; they are on the tape no longer."""
        n = len(self) if most is None else min(most, len(self))
        if self._lost:
            self._later.append((len(self) - sum(kept for kept, _ in self._later), self._lost))
            self._dropped += self._lost
            self._lost = 0
        found = []
        for i in range(0, WIDTH * n, WIDTH):
            self._pass()
            self._number += 1
            found.append(Event(self._number, *self._kept[i : i + WIDTH]))
            if self._later:
                self._later[0] = (self._later[0][0] - 1, self._later[0][1])
        self._pass()
        del self._kept[: WIDTH * n]
        return found

    def _pass(self) -> None:
        """By what was dropped here."""
        while self._later and not self._later[0][0]:
            self._number += self._later.pop(0)[1]

    def taken(self) -> Taken:
        """All at once."""
        found = Taken(self._number, self._kept, self._lost, self._lost_from)
        self._number += len(self) + self._lost
        self._dropped += self._lost
        self._kept, self._lost = [], 0
        return found

    def stop(self, more: int = 0) -> None:
        """Nobody takes any more: whatever comes is dropped, and so many as were taken last."""
        self._most = 0
        self._dropped += more + len(self)
        self._number += len(self)
        self._kept = []


class Taken(NamedTuple):
    before: int          # the number of the last event before these
    values: list[Any]
    lost: int            # so many were dropped after them …
    lost_from: int       # … and the first of those happened then

    def columns(self) -> list[list[Any]]:
        """Of at, kind, job, group, lease, data."""
        return [self.values[i::WIDTH] for i in range(WIDTH)]

    def __len__(self) -> int:
        return len(self.values) // WIDTH
