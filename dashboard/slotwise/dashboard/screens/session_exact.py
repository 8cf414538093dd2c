"""The exact state between two looks of a recording, found in a thread while the screen goes on with the look before it."""
from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import anyio
import anyio.to_thread

from slotwise.dashboard.observe.sources.source import Exact, Moments, Source, SourceError
from slotwise.impl.snapshot import Snapshot


class Wish(NamedTuple):
    at: int                              # ns of the program's clock
    hops: int = 0                        # so many instants with events on from there, or back


class Answer(NamedTuple):
    wish: Wish
    at: int
    snapshot: Snapshot | None            # None: it cannot be had, and `why`
    why: str = ""


class Seeker:
    """Of several wishes only the latest counts. All of it is used in one event loop."""

    def __init__(self, source: Source) -> None:
        self._source = source if isinstance(source, Exact) else None
        self._moments: Moments | None = None
        self._wish: Wish | None = None       # that nobody works on yet
        self._asked: Wish | None = None      # the latest
        self._bell = anyio.Event()
        self.answer: Answer | None = None    # the latest

    @property
    def there(self) -> bool:
        """The source knows what is between looks, as far as it is known yet."""
        return self._source is not None

    @property
    def busy(self) -> bool:
        return self._asked is not None and (self.answer is None or self.answer.wish != self._asked)

    def ask(self, wish: Wish) -> None:
        if self.there and wish != self._asked:
            self._asked = self._wish = wish
            self._bell.set()

    def hopped(self, at: int) -> Answer | None:
        """Where hops from there led, once."""
        answer = self.answer
        if answer is None or answer.wish.at != at or not answer.wish.hops:
            return None
        if self._asked == answer.wish:
            self._asked = Wish(answer.at)
        self.answer = answer._replace(wish=Wish(answer.at))
        return answer

    async def attend(self) -> None:
        """Fulfils wishes. Without end, unless the source has nothing between its looks."""
        if self._source is None:
            return
        with suppress(SourceError):          # whoever reads it says why
            self._moments = await anyio.to_thread.run_sync(self._source.moments)
        while self._moments is not None:
            await self._bell.wait()
            self._bell = anyio.Event()
            if self._wish is not None:
                wish, self._wish = self._wish, None
                self.answer = await anyio.to_thread.run_sync(self._fulfilled, self._moments, wish)
        self._source = None

    @staticmethod
    def _fulfilled(moments: Moments, wish: Wish) -> Answer:
        at = wish.at
        try:
            at = moments.hop(wish.at, wish.hops) if wish.hops else wish.at
            return Answer(wish, at, moments.at(at))
        except SourceError as error:
            return Answer(wish, at, None, str(error))
        except Exception as error:           # a defect of a source must not take the screen away
            return Answer(wish, at, None, f"{type(error).__name__}: {error}")
