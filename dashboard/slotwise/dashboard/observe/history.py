"""What was, in memory that does not grow: the last minute by 100 ms, the last hour by seconds; and the few snapshots that windows need."""
from __future__ import annotations

from array import array
from collections import deque
from math import isnan, nan

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.window import another_run
from slotwise.impl.snapshot import Snapshot

SECOND = 10**9
RINGS = ((600, SECOND // 10), (3600, SECOND))
#: What is remembered of a frame, each with its unit.
SERIES = {
    "lost": "slot-s/s", "oldest": "s", "needless": "%", "spin": "cores", "events": "1/s", "busy": "slots", "waiting": "waiters", "status": "",
}  # fmt: skip
COARSE = 3 * SECOND                      # between two looks at a coarse source is no gap yet
STATUS_NUMBERS = {"unknown": 0.0, "ok": 0.0, "warn": 1.0, "alarm": 2.0}


class Ring:
    """The last `size` periods of one number: of each period the greatest value, so that no peak is lost; nan where there was none."""

    __slots__ = ("_latest", "_values", "period", "size")

    def __init__(self, size: int, period: int) -> None:
        self.size, self.period = size, period
        self._values = array("d", [nan]) * size
        self._latest = -1                    # number of the latest period

    def put(self, at: int, value: float, bridge: int = 0) -> None:
        """What is older than the ring is long is ignored. If it is `bridge` ns at most since the latest, that one has gone on until now."""
        number = at // self.period
        if self._latest < 0:
            self._latest = number
        if number <= self._latest - self.size:
            return
        between = self._values[self._latest % self.size] if (number - self._latest) * self.period <= bridge else nan
        for skipped in range(max(self._latest + 1, number - self.size + 1), number):
            self._values[skipped % self.size] = between
        if number > self._latest:
            self._values[number % self.size] = nan
        self._latest = max(self._latest, number)
        place = number % self.size
        if not isnan(value) and (isnan(self._values[place]) or value > self._values[place]):
            self._values[place] = value

    def last(self, count: int | None = None) -> list[float]:
        """Oldest first, nan for periods without a value."""
        count = self.size if count is None else min(count, self.size)
        oldest = (self._latest + 1) % self.size
        values = self._values[oldest:] + self._values[:oldest]
        return values.tolist()[self.size - count :]


def numbers(frame: Frame) -> dict[str, float]:
    """What is remembered of it, by series; nan if it is not known."""
    told = {verdict.name: verdict.numbers for verdict in frame.verdicts}
    values = {
        "lost": told["idle-while-waiting"].get("lost_slots"), "oldest": told["starving"].get("oldest_s"), "needless": told["checkpoint-wait"].get("needless_percent"),
        "spin": told["spin-burn"].get("spin_cores"), "events": frame.head.events_per_s,
        "busy": frame.head.busy, "waiting": frame.head.waiting, "status": STATUS_NUMBERS[frame.status],
    }  # fmt: skip
    return {name: float(value) if isinstance(value, int | float) else nan for name, value in values.items()}


class History:
    """The numbers of frames, by time."""

    def __init__(self) -> None:
        self.rings = {period: {name: Ring(size, period) for name in SERIES} for size, period in RINGS}

    def put(self, frame: Frame) -> None:
        values, bridge = numbers(frame), max(COARSE if frame.coarse else SECOND, 3 * frame.window.after.every)
        for rings in self.rings.values():
            for name, value in values.items():
                rings[name].put(frame.window.now, value, bridge)

    def last(self, series: str, period: int = SECOND // 10, count: int | None = None) -> list[float]:
        return self.rings[period][series].last(count)


class Past:
    """Enough snapshots for windows of 1, 10 and 60 s, and no more, since those of many groups are large. A window begins at most a quarter earlier."""

    STEPS = ((SECOND // 4, 6), (2 * SECOND, 7), (10 * SECOND, 8))

    def __init__(self) -> None:
        self._kept = [(step, deque[Snapshot](maxlen=most)) for step, most in self.STEPS]

    def put(self, snapshot: Snapshot) -> None:
        """Those of another run are forgotten."""
        for step, kept in self._kept:
            if kept and another_run(kept[-1], snapshot):
                kept.clear()
            if not kept or snapshot.now // step > kept[-1].now // step:
                kept.append(snapshot)

    def before(self, now: int, window: int) -> Snapshot | None:
        """The snapshot at the beginning of a window that ends now: the last that is at least so old, or else the oldest; never one of now or later."""
        found = [one for _, kept in self._kept for one in kept if one.now < now]
        old = [one for one in found if one.now <= now - window]
        return max(old, key=lambda one: one.now, default=None) or min(found, key=lambda one: one.now, default=None)

    def __len__(self) -> int:
        return sum(len(kept) for _, kept in self._kept)
