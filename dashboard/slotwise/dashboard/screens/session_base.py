"""What a source told, and the frame that is looked at now: what a running scheduler and a recording have in common."""
from __future__ import annotations

import time
from collections.abc import Callable

from slotwise.dashboard.observe.alarms import Acknowledged
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.sources.source import Source, SourceError
from slotwise.dashboard.observe.words import escape
from slotwise.dashboard.screens.times import SECOND
from slotwise.impl.snapshot import Snapshot

LINTS_SEE = 10 * SECOND                  # the window of the lints
WINDOWS = (SECOND, 10 * SECOND, 60 * SECOND, 0)      # 0: the whole run


class Session:
    """What both kinds have in common. `follow` reads the source; `look` is asked at each tick and says whether there is something new."""

    replay = False

    def __init__(self, source: Source, limits: Limits | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.source, self.limits, self.clock = source, limits or Limits(), clock
        self.window = LINTS_SEE
        self.frame: Frame | None = None
        self.alarms: tuple[Alarm, ...] = ()
        self.acknowledged = Acknowledged(lasting=self.replay)
        self.over, self.wrong = False, ""        # nothing more comes; and why, unless it just ended
        self.news: list[str] = []                # to be told once
        self.put: Callable[[Snapshot], None] | None = None       # where else what is seen goes
        self._dirty = False

    async def follow(self) -> None:
        """Never raises because of the source."""
        self.wrong = await self.read()
        self.over = self._dirty = True

    async def attend(self) -> None:
        """Finds what is asked for besides what the source gives by itself."""

    async def read(self) -> str:
        """All that the source gives now. Says why it broke off; nothing, if it ended."""
        try:
            async for snapshot in self.source.snapshots():
                self.take(snapshot)
        except SourceError as error:
            return str(error)
        except Exception as error:               # a defect of a source must not take the last state from the screen
            return f"{escape(self.source.name)}: {type(error).__name__}: {escape(str(error))}"
        return ""

    def take(self, snapshot: Snapshot) -> None:
        raise NotImplementedError

    def look(self) -> bool:
        raise NotImplementedError

    def next_window(self) -> None:
        self.window = WINDOWS[(WINDOWS.index(self.window) + 1) % len(WINDOWS)]
        self._dirty = True

    @property
    def age(self) -> int | None:
        """Of the latest snapshot, ns; None if that says nothing."""
        return None

    @property
    def stalled(self) -> bool:
        return self.age is not None and self.age > max(self.limits["LOOP01"] * SECOND, 3 * self.every)

    @property
    def every(self) -> int:
        """ns from the latest snapshot to the next."""
        return self.frame.window.after.every if self.frame is not None else 0

    @property
    def state(self) -> str:
        """One word in capitals."""
        raise NotImplementedError

    @property
    def trouble(self) -> str:
        """A line about what is special now; empty if nothing is."""
        return ""

    def series(self, name: str) -> list[float]:
        """Oldest first, over the stretch of time that the history shows."""
        raise NotImplementedError

    def ends(self) -> tuple[str, str]:
        """What the history's two ends are called."""
        raise NotImplementedError

    def here(self) -> float | None:
        """Where in the history the frame stands, from 0 to 1."""
        return None

    def where(self, now: int) -> float | None:
        """Where in the history a moment of the program's clock stands, from 0 to 1; None if it is not there."""
        raise NotImplementedError
