"""A recording, any moment of which can be looked at; or a trace, or a log. It is read once, by looks at it; what was between two of them is
found when it is asked for, if the source knows what happened."""
from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.sources.source import Source
from slotwise.dashboard.screens.session_base import LINTS_SEE
from slotwise.dashboard.screens.session_exact import Seeker, Wish
from slotwise.dashboard.screens.session_looks import Looks
from slotwise.dashboard.screens.times import SECOND
from slotwise.impl.snapshot import Snapshot

SLOWEST, FASTEST = -10, 6                # powers of two
FRAME = SECOND // 10                     # of the watcher's time, a step at less than the speed of looks
SHOWN_FOR = 15                           # seconds that a short recording is stretched to


class Playback(Looks):
    def __init__(self, source: Source, limits: Limits | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(source, limits, clock)
        self.window = 0 if not source.live else LINTS_SEE
        self.at, self.speed, self.playing = 0, 0, True
        self.seeker, self._hops = Seeker(source), 0
        self._ticked: int | None = None
        self._suited = False                     # the speed has been chosen
        self._wrong: set[str] = set()            # what was told of it

    async def attend(self) -> None:
        await self.seeker.attend()

    def take(self, snapshot: Snapshot) -> None:
        super().take(snapshot)
        if len(self.times) == 1:
            self.at = snapshot.now

    @property
    def place(self) -> int:
        return max(0, bisect_right(self.times, self.at) - 1)

    @property
    def now(self) -> int:
        """Of what is looked at: the exact instant, if that was found already; else that of the look before it."""
        looked, answer = self.times[self.place], self.seeker.answer
        return answer.snapshot.now if answer is not None and answer.snapshot is not None and looked <= answer.snapshot.now <= self.at else looked

    @property
    def exact(self) -> bool:
        """It is between two looks."""
        return bool(self.times) and self.now != self.times[self.place]

    @property
    def shown(self) -> Snapshot:
        answer = self.seeker.answer
        return answer.snapshot if answer is not None and answer.snapshot is not None and self.exact else self.shots[self.place]

    @property
    def slow(self) -> bool:
        """A frame of the watcher's is less than the time between two looks, and the source knows what was there."""
        return self.seeker.there and len(self.times) > 1 and FRAME * 2.0**self.speed < (self.times[-1] - self.times[0]) / (len(self.times) - 1)

    def look(self) -> bool:
        now = self.clock()
        if self.over and self.times and self.playing:        # it plays when all of it was read
            if not self._suited:
                self.suit()
            elif self._ticked is not None:
                self.at = min(self.at + round((now - self._ticked) * 2.0**self.speed), self.times[-1])
            if self.at >= self.times[-1]:
                self.playing, self._dirty = False, True
        self._ticked = now
        if not self.times:
            changed, self._dirty = self._dirty, False
            return changed
        self._between()
        if not self._dirty and self.frame is not None and self.frame.window.now == self.now:
            return False
        self._dirty = False
        self.frame = derive(self.before(self.shown, self.window), self.shown, limits=self.limits, coarse=self.source.coarse)
        self.alarms = self.told[self.place]      # of the look before: how long something lasts is only judged there
        return True

    def _between(self) -> None:
        """Asks for what no look has, and goes where that was found."""
        if self._hops and (hopped := self.seeker.hopped(self.at)):
            self.at, self._hops = min(max(hopped.at, self.times[0]), self.times[-1]), self._hops - hopped.wish.hops
            if hopped.at == hopped.wish.at:
                self._hops = 0
                self.news.append(f"no {'later' if hopped.wish.hops > 0 else 'earlier'} event")
        answer = self.seeker.answer
        if answer is not None and answer.why and answer.why not in self._wrong:
            self._wrong.add(answer.why)
            self.news.append(answer.why)
        if self._hops or (self.at != self.times[self.place] and (self.slow or not self.playing)):
            self.seeker.ask(Wish(self.at, self._hops))

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
            self.at, self.playing, self._dirty, self._hops = min(max(round(at), self.times[0]), self.times[-1]), False, True, 0

    def step(self, count: int) -> None:
        """By looks; where it is played so slowly that more than one frame is between two of them, by frames."""
        if not self.times:
            return
        if self.slow:
            self.seek(self.at + max(1, round(FRAME * 2.0**self.speed)) * count)
            return
        back = count < 0 and self.seeker.there and self.at > self.times[self.place]      # the look before it is the first step back
        self.seek(self.times[min(max(self.place + count + back, 0), len(self.times) - 1)])

    def hop(self, count: int) -> bool:
        """So many instants with events on, or back; False if the source does not know them."""
        if not self.seeker.there:
            return False
        if self.times:
            hops = self._hops + count
            self.seek(self.at)
            self._hops = hops
        return True

    def mark(self, forward: bool) -> bool:
        """To the next or previous look at which an alarm begins; False if there is none."""
        here = self.at if forward or self.seeker.there or not self.times else self.times[self.place]
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
            self.at = self.times[0]
        self._dirty = True

    def to_end(self) -> None:
        if self.times:
            self.seek(self.times[-1])

    # what is said of it -------------------------------------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        if not self.times:
            return "LOST" if self.wrong else "LOADING"
        return "REPLAY" if self.playing else "END" if self.over and self.at >= self.times[-1] else "STILL"

    @property
    def trouble(self) -> str:
        if self.wrong:
            return f"BROKEN OFF  {self.wrong}"
        return "" if self.over else f"LOADING  {len(self.times):,} looks so far"

    @property
    def speed_words(self) -> str:
        return f"x{2**self.speed}" if self.speed >= 0 else f"x1/{2**-self.speed}"

    def here(self) -> float | None:
        return self.position / self.length if self.length else 1.0

    @property
    def position(self) -> int:
        """ns since the recording's beginning."""
        return self.now - self.began if self.times else 0
