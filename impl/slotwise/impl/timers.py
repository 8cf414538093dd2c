"""Instants at which the scheduler has something to do: ends of back-offs, deadlines. One task sleeps until the earliest."""
from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import anyio


class Timer:
    __slots__ = ("action", "at")

    def __init__(self, at: int, action: Callable[[], None]) -> None:
        self.at = at
        self.action: Callable[[], None] | None = action      # None: nobody wants it any more


class Timers:
    """`now` in nanoseconds. Actions are called in order of instant, then of addition; they must not raise."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._heap: list[tuple[int, int, Timer]] = []
        self._added = self._dead = 0
        self._bell: anyio.Event | None = None

    def __len__(self) -> int:
        return len(self._heap) - self._dead

    def add(self, at: int, action: Callable[[], None]) -> Timer:
        timer = Timer(at, action)
        self._added += 1
        heappush(self._heap, (at, self._added, timer))
        if self._bell is not None and self._heap[0][2] is timer:
            self._bell.set()
        return timer

    def drop(self, timer: Timer) -> None:
        """One that was dropped, or has fired, is let be."""
        if timer.action is None:
            return
        timer.action = None
        self._dead += 1
        if self._dead > 64 and 2 * self._dead > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].action is not None]
            heapify(self._heap)
            self._dead = 0

    def fire(self, at: int) -> None:
        while self._heap and self._heap[0][0] <= at:
            timer = heappop(self._heap)[2]
            action, timer.action = timer.action, None
            if action is None:
                self._dead -= 1
            else:
                action()

    async def run(self) -> None:
        """Without end."""
        while True:
            now = self._now()
            self.fire(now)
            self._bell = anyio.Event()
            wait = (self._heap[0][0] - now) / 1e9 if self._heap else float("inf")
            with anyio.move_on_after(max(wait, 1e-9)):
                await self._bell.wait()
