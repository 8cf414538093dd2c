"""A running scheduler. Of one that has vanished the last state stays, and it is attached to again when it can be."""
from __future__ import annotations

import time
from collections.abc import Callable

import anyio

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.history import History, Past
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.lints import Watch
from slotwise.dashboard.observe.sources.source import Source
from slotwise.dashboard.observe.window import another_run
from slotwise.dashboard.observe.words import escape, harmless, seconds
from slotwise.dashboard.screens.session_base import LINTS_SEE, Session
from slotwise.dashboard.screens.times import SECOND
from slotwise.impl.snapshot import Snapshot

PAUSES = (1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 5.0)         # seconds between attempts; then the last again and again
HISTORY = 60 * SECOND                    # that is shown
GONE = ("ended", "crashed")              # states after which nothing more is expected of a program


class Live(Session):
    """If the source can be attached to `again`, that is tried for as long as the program did not say that it has ended; after that, once for
    each time that it is asked for."""

    pauses: tuple[float, ...] = PAUSES

    def __init__(self, source: Source, limits: Limits | None = None, clock: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(source, limits, clock)
        self.past, self.history, self.watch = Past(), History(), Watch(self.limits)
        self.latest: Snapshot | None = None
        self.attempts, self.retrying = 0, False
        self._lost_at: int | None = None
        self._looked = -SECOND
        self._asked: anyio.Event | None = None   # while it pauses

    def take(self, snapshot: Snapshot) -> None:
        before, lost = self.latest, self._lost_at
        if before is not None and another_run(before, snapshot):
            self.news.append(f"another run: {harmless(snapshot.program)} pid {snapshot.pid}, after pid {before.pid}")
            if snapshot.now < before.now:        # by another clock
                self.history = History()
        if before is not None and lost is not None:
            self.news.append(f"attached again after {seconds(max(0, self.clock() - lost) / SECOND)}")
        self.over, self.wrong, self._lost_at, self.attempts, self.retrying = False, "", None, 0, False
        self.latest, self._dirty = snapshot, True
        if self.put is not None:
            self.put(snapshot)

    async def follow(self) -> None:
        """Also when it is over, it waits to be asked for one more attempt; unless there never was anything, or the source cannot."""
        while True:
            wrong = await self.read()
            if self._lost_at is None:            # it had been there
                self.wrong, self._lost_at = wrong, self.clock()
            elif wrong and not self.retrying:    # one attempt that was asked for
                self.news.append(wrong)
            self.over = self._dirty = True
            again = getattr(self.source, "again", None)
            if again is None or self.latest is None:
                return
            await self._pause()
            self.source = again()
            self.attempts += 1

    async def _pause(self) -> None:
        """Until the next attempt."""
        self.retrying = self.latest is not None and self.latest.state.partition(":")[0] not in GONE
        pause = self.pauses[min(self.attempts, len(self.pauses) - 1)] if self.retrying else None
        self._asked = anyio.Event()
        with anyio.move_on_after(pause):
            await self._asked.wait()
        self._asked = None

    def attach_again(self) -> bool:
        """Now. False if that makes no sense."""
        if self._asked is None:
            return False
        self._asked.set()
        return True

    @property
    def age(self) -> int | None:
        return None if self.latest is None or self.over or self.source.coarse or not self.source.live else max(0, self.clock() - self.latest.now)

    def look(self) -> bool:
        latest, now = self.latest, self.clock()
        if latest is None or not (self._dirty or (self.stalled and now - self._looked >= SECOND // 2)):
            return False
        self._dirty, self._looked = False, now
        seen = derive(self.past.before(latest.now, LINTS_SEE), latest, limits=self.limits, age=self.age, coarse=self.source.coarse)
        self.alarms = self.watch.look(seen)
        self.acknowledged.seen(self.alarms)
        self.history.put(seen)
        if self.window == LINTS_SEE:
            self.frame = seen
        else:
            before = self.past.before(latest.now, self.window) if self.window else None
            self.frame = derive(before, latest, limits=self.limits, age=self.age, coarse=self.source.coarse)
        self.past.put(latest)
        return True

    @property
    def state(self) -> str:
        if self.latest is None:
            return "LOST" if self.wrong else "ENDED" if self.over else "ATTACHING"
        if self.latest.state not in ("running", "draining"):
            return self.latest.state.partition(":")[0].upper()
        if self.over:
            return "LOST"
        return "STALLED" if self.stalled else "DRAINING" if self.latest.state == "draining" else "COARSE" if self.source.coarse else "LIVE"

    @property
    def trouble(self) -> str:
        why = self.latest.state.partition(":")[2].strip() if self.latest else ""
        match self.state:
            case "ENDED" | "CRASHED" as state:
                more = "; L attaches to the next" if hasattr(self.source, "again") and self.over else ""
                return f"{state}{': ' if why else ''}{escape(why)}  the program is gone; this is its last state{more}"
            case "LOST":
                tries = "" if not self.retrying else f"tries to attach again ({self.attempts} so far); " if self.attempts else "tries to attach again; "
                return f"LOST  {tries}{self.wrong or escape(self.source.name) + ': vanished without a last word'}; this is the last that was seen"
            case "STALLED":
                return f"STALLED  no snapshot for {(self.age or 0) / SECOND:.1f} s: something blocks the scheduler's loop"
            case "ATTACHING":
                return f"ATTACHING  to {escape(self.source.name)}"
            case _:
                return ""

    def series(self, name: str) -> list[float]:
        return self.history.last(name)

    def ends(self) -> tuple[str, str]:
        return "-60s", "now"

    def where(self, now: int) -> float | None:
        back = self.latest.now - now if self.latest is not None else 0
        return 1 - back / HISTORY if 0 <= back < HISTORY else None
