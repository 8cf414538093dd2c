"""What is kept of a recording, a trace or a log that is read once: its looks, packed; and of each its numbers and its alarms."""
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
from slotwise.dashboard.observe.packed import Packed
from slotwise.dashboard.observe.sources.source import Source
from slotwise.dashboard.observe.window import another_run
from slotwise.dashboard.screens.session_base import LINTS_SEE, Session
from slotwise.dashboard.screens.times import clock_of
from slotwise.impl.snapshot import Snapshot

MOST = 20_000                            # looks; of a longer recording each second, fourth, … is kept


class Looks(Session):
    replay = True

    def __init__(self, source: Source, limits: Limits | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(source, limits, clock)
        self.shots = Packed()
        self.times: list[int] = []
        self.told: list[tuple[Alarm, ...]] = []
        self.numbers = {name: array("d") for name in SERIES}
        self.marks: list[int] = []               # looks at which there is an alarm that was not there before
        self._started = 0                        # the program, as its first look says
        self._series: dict[str, tuple[int, list[float]]] = {}
        self._watch, self._stride, self._count = Watch(self.limits), 1, 0

    def take(self, snapshot: Snapshot) -> None:
        self._count += 1
        if self._count % self._stride:
            return
        before = self.before(snapshot, LINTS_SEE)
        seen = derive(before, snapshot, limits=self.limits, coarse=self.source.coarse)
        alarms = self._watch.look(seen)
        known = {(alarm.code, alarm.entity) for alarm in self.told[-1]} if self.told else set()
        if any((alarm.code, alarm.entity) not in known for alarm in alarms):
            self.marks.append(snapshot.now)
        if not self.times:
            self._started = snapshot.started
        self.shots.append(snapshot)
        self.times.append(snapshot.now)
        self.told.append(alarms)
        for name, value in numbers(seen).items():
            self.numbers[name].append(value)
        self._dirty = True
        if len(self.times) > MOST:
            self._thin()

    def _thin(self) -> None:
        self._stride *= 2
        self.shots.thin()
        del self.times[::2], self.told[::2]
        self.marks = list(dict.fromkeys(self.times[min(bisect_left(self.times, mark), len(self.times) - 1)] for mark in self.marks))
        for values in self.numbers.values():
            del values[::2]

    def before(self, shot: Snapshot, window: int) -> Snapshot | None:
        """The beginning of a window that ends at this snapshot; None: the recording's own beginning."""
        if not window:
            return None
        place = bisect_right(self.times, shot.now - window) - 1
        return self.shots[place] if place >= 0 and not another_run(self.shots[place], shot) else None

    @property
    def began(self) -> int:
        """When the program started, if the recording began soon after; else its first snapshot."""
        if not self.times:
            return 0
        started, first, last = self._started, self.times[0], self.times[-1]
        return started if first - started <= last - first or first == last else first

    @property
    def length(self) -> int:
        return self.times[-1] - self.began if self.times else 0

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
        return clock_of(0, self.length), clock_of(self.length)

    def where(self, now: int) -> float | None:
        return min(1.0, max(0.0, (now - self.began) / self.length)) if self.length else None
