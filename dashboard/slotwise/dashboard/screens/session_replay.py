"""A recording, any moment of which can be looked at; or a trace, or a log."""
from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from math import isnan, nan

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.history import SERIES, numbers
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.lints import Alarm, Watch
from slotwise.dashboard.observe.sources.source import Source
from slotwise.dashboard.observe.window import another_run
from slotwise.dashboard.screens.session_base import LINTS_SEE, Session
from slotwise.dashboard.screens.times import SECOND, clock_of
from slotwise.impl.snapshot import Snapshot

MOST = 20_000                            # snapshots of a recording; of a longer one each second, fourth, … is kept
SLOWEST, FASTEST = -10, 6                # powers of two
SHOWN_FOR = 15                           # seconds that a short recording is stretched to


class Playback(Session):
    replay = True

    def __init__(self, source: Source, limits: Limits | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(source, limits, clock)
        self.window = 0 if not source.live else LINTS_SEE
        self.shots: list[Snapshot] = []
        self.times: list[int] = []
        self.told: list[tuple[Alarm, ...]] = []
        self.numbers = {name: array("d") for name in SERIES}
        self.marks: list[int] = []               # times at which an alarm appears that was not there, or a verdict gets worse
        self.at, self.speed, self.playing = 0.0, 0, True
        self._ticked: int | None = None
        self._suited = False                     # the speed has been chosen
        self._series: dict[str, tuple[int, list[float]]] = {}
        self._watch, self._stride, self._count = Watch(self.limits), 1, 0

    def take(self, snapshot: Snapshot) -> None:
        self._count += 1
        if self._count % self._stride:
            return
        before = self._before(snapshot, LINTS_SEE)
        seen = derive(before, snapshot, limits=self.limits, coarse=self.source.coarse)
        alarms = self._watch.look(seen)
        known = {(alarm.code, alarm.entity) for alarm in self.told[-1]} if self.told else set()
        told = numbers(seen)
        worse = told["status"] > (self.numbers["status"][-1] if self.shots else 0.0)
        if worse or any((alarm.code, alarm.entity) not in known for alarm in alarms):
            self.marks.append(snapshot.now)
        if not self.shots:
            self.at = float(snapshot.now)
        self.shots.append(snapshot)
        self.times.append(snapshot.now)
        self.told.append(alarms)
        for name, value in told.items():
            self.numbers[name].append(value)
        self._dirty = True
        if len(self.shots) > MOST:
            self._thin()

    def _thin(self) -> None:
        self._stride *= 2
        del self.shots[::2], self.times[::2], self.told[::2]
        for values in self.numbers.values():
            del values[::2]

    def _before(self, shot: Snapshot, window: int) -> Snapshot | None:
        """The beginning of a window that ends at this snapshot; None: the recording's own beginning."""
        if not window:
            return None
        place = bisect_right(self.times, shot.now - window) - 1
        return self.shots[place] if place >= 0 and not another_run(self.shots[place], shot) else None

    @property
    def place(self) -> int:
        return max(0, bisect_right(self.times, self.at) - 1)

    @property
    def began(self) -> int:
        """When the program started, if the recording began soon after; else its first snapshot."""
        if not self.times:
            return 0
        started, first, last = self.shots[0].started, self.times[0], self.times[-1]
        return started if first - started <= last - first or first == last else first

    @property
    def length(self) -> int:
        return self.times[-1] - self.began if self.times else 0

    def look(self) -> bool:
        now = self.clock()
        if self.over and self.times and self.playing:        # it plays when all of it was read
            if not self._suited:
                self.suit()
            elif self._ticked is not None:
                self.at = min(self.at + (now - self._ticked) * 2.0**self.speed, float(self.times[-1]))
            if self.at >= self.times[-1]:
                self.playing, self._dirty = False, True
        self._ticked = now
        if not self.shots:
            changed, self._dirty = self._dirty, False
            return changed
        place = self.place
        if not self._dirty and self.frame is not None and self.frame.window.after is self.shots[place]:
            return False
        self._dirty = False
        shot = self.shots[place]
        self.frame = derive(self._before(shot, self.window), shot, limits=self.limits, coarse=self.source.coarse)
        self.alarms = self.told[place]
        return True

    def suit(self) -> None:
        """A recording of less than a few seconds, as those in virtual time are, is played more slowly."""
        self._suited = True
        played = self.times[-1] - self.times[0]
        while self.speed > SLOWEST and 0 < played < SHOWN_FOR * SECOND * 2.0**self.speed / 1.5:
            self.speed -= 1

    # what the keys do ---------------------------------------------------------------------------------------------------------------

    def seek(self, at: float) -> None:
        """To a time of the recording; it stands still then."""
        if self.times:
            self.at, self.playing, self._dirty = min(max(at, float(self.times[0])), float(self.times[-1])), False, True

    def step(self, count: int) -> None:
        if self.times:
            self.seek(self.times[min(max(self.place + count, 0), len(self.times) - 1)])

    def mark(self, forward: bool) -> bool:
        """To the next or previous time at which an alarm appeared; False if there is none."""
        here = self.times[self.place] if self.times else 0
        place = bisect_right(self.marks, here) if forward else bisect_left(self.marks, here) - 1
        if not 0 <= place < len(self.marks):
            return False
        self.seek(self.marks[place])
        return True

    def faster(self, by: int) -> None:
        self._suited = True
        self.speed = min(max(self.speed + by, SLOWEST), FASTEST)
        self._dirty = True

    def play(self) -> None:
        """Or stand still. From its end it begins anew."""
        self.playing = not self.playing
        if self.playing and self.times and self.at >= self.times[-1]:
            self.at = float(self.times[0])
        self._dirty = True

    def to_end(self) -> None:
        if self.times:
            self.seek(self.times[-1])

    # what is said of it -------------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        if not self.shots:
            return "LOST" if self.wrong else "LOADING"
        return "REPLAY" if self.playing else "STILL"

    @property
    def trouble(self) -> str:
        if self.wrong:
            return f"BROKEN OFF  {self.wrong}"
        return "" if self.over else f"LOADING  {len(self.shots):,} looks so far"

    @property
    def speed_words(self) -> str:
        return f"x{2**self.speed}" if self.speed >= 0 else f"x1/{2**-self.speed}"

    def series(self, name: str) -> list[float]:
        """By time, not by snapshot."""
        known = self._series.get(name)
        if known is None or known[0] != len(self.times):
            known = self._series[name] = len(self.times), self._by_time(self.numbers[name], 600)
        return known[1]

    def _by_time(self, values: array[float], count: int) -> list[float]:
        if len(self.times) < 2:
            return list(values)
        found, span = [nan] * count, max(1, self.length)
        for at, value in zip(self.times, values, strict=True):
            place = min(count - 1, (at - self.began) * count // span)
            if isnan(found[place]) or value > found[place]:
                found[place] = value
        for place in range(1, count):            # between two snapshots nothing changed
            if isnan(found[place]):
                found[place] = found[place - 1]
        return found

    def ends(self) -> tuple[str, str]:
        return clock_of(0), clock_of(self.length)

    def here(self) -> float | None:
        return self.position / self.length if self.length else 1.0

    def where(self, now: int) -> float | None:
        return min(1.0, max(0.0, (now - self.began) / self.length)) if self.length else None

    @property
    def position(self) -> int:
        """ns since the recording's beginning."""
        return self.times[self.place] - self.began if self.times else 0
