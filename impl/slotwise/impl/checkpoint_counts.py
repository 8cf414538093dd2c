"""What a checkpoint batcher does, counted from its commands and what was seen: alike where it runs, and where its trace is played."""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec

from slotwise.impl import snapshot as s
from slotwise.impl.meter_rows import Durations
from slotwise.spec.batching_line import is_full
from slotwise.spec.batching_vocabulary import LookAhead, Shipped


def sealed_by(limits: LookAhead | Shipped, stopped: bool, put_off: bool, left: int, updates: int, size: int) -> str:
    """Why a request was sent: `stop`; `full` (it leaves something over, or has as many updates or bytes as it may); `refresh` (no update in
    it); `timer` (it had been put off until now); or else `at once`. A test holds this against the rules that decide in the specification,
    for the look-ahead discipline; what the published collectors do in between no observation tells, so there it is as good as it gets."""
    full = is_full(left, updates, size, limits) if isinstance(limits, LookAhead) else left > 0 or updates >= limits.updates
    return "stop" if stopped else "full" if full else "refresh" if not updates else "timer" if put_off else "at once"


class Counts:
    """Of one batcher, whose `latest` batches and waves are kept. Instants are those of its commands, and never fall."""

    def __init__(self, limits: LookAhead | Shipped, latest: int) -> None:
        self.requests = self.updates = self.refreshes = self.failures = self.waiting = self.needless = self.open_time = self.joined = self.late = 0
        self.seals: dict[str, int] = {}
        self.commit = Durations()
        self._limits = limits
        self._queued: deque[int] = deque()   # sizes of updates that are in no request yet, in their order
        self._opened: int | None = None
        self._last = self._free = 0          # the last item came; nothing has been in flight since
        self._until: int | None = None
        self._stopped = False
        self._due: dict[str, int] = {}
        self._flying: s.Batch | None = None
        self._batches: deque[s.Batch] = deque(maxlen=latest)
        self._waves: deque[s.Wave] = deque(maxlen=latest)
        self._wave = 0

    # commands, each with what was seen ---------------------------------------------------------------------------------------
    def submitted(self, size: int, empty: bool, saw: Sequence[Any], at: int) -> None:
        if saw and saw[0][0] == "accepted":
            if not empty:
                self._queued.append(size)
                self.waiting += 1
            if self._opened is None:
                self._opened = at
            self._last = at

    def refreshed(self, id: str, key: int | None, due: int | None, saw: Sequence[Any], at: int) -> None:
        if saw and saw[0][0] == "accepted":
            self._due[id] = at if key is None and due is None else due if due is not None else key or 0
        self.seen(saw, at)

    def stopped(self) -> None:
        self._stopped = True

    def pumped(self, saw: Sequence[Any], at: int) -> None:
        self.seen(saw, at)
        if saw and saw[-1][0] == "send":
            self._seal(saw[-1][1], at)
        self._until = saw[-1][1] if saw and saw[-1][0] == "sleep" else None

    def answered(self, saw: Sequence[Any], at: int, outcome: str) -> None:
        """By a whole answer, or its last page ("ok"), or an error ("failed"); or one of these that nobody waited for."""
        self.failures += outcome == "failed"
        if saw and saw[0][0] in ("fetch", "unexpected"):
            return
        if (batch := self._flying) is not None:
            self.commit.add(at - batch.sealed)
            self._batches.append(msgspec.structs.replace(batch, done=at, outcome=outcome))
            self.waiting -= batch.updates
            if outcome == "failed":          # what was not sent is lost too
                self.waiting -= len(self._queued)
                self._queued.clear()
                self._opened = None
        self.seen(saw, at)
        self._flying, self._free = None, at

    def seen(self, saw: Sequence[Any], at: int) -> None:
        """Of one answer, all refreshes that go on are one wave; late is more than that request's round trip after they were due."""
        ids = [id for word in saw if word[0] == "resumed" for id in word[3]]
        due = [self._due.pop(id, at) for id in ids]
        for word in saw:
            if word[0] == "settled":
                self._due.pop(word[1], None)
        if not ids:
            return
        trip = at - self._flying.sealed if self._flying is not None else 0
        joined = len(ids) - (self._flying is not None and not self._flying.updates)      # one of them is what the request was sent for
        late = sum(at - instant > trip for instant in due)
        self._wave += 1
        self._waves.append(s.Wave(self._wave, min(due), at, len(ids), joined, late, max(0, at - min(due))))
        self.refreshes += len(ids)
        self.joined += joined
        self.late += late

    def _seal(self, updates: Sequence[str], at: int) -> None:
        opened = at if self._opened is None else self._opened
        size = sum(self._queued.popleft() for _ in updates if self._queued)        # what was queued before is not known
        left = len(self._queued)
        reason = sealed_by(self._limits, self._stopped, self._until is not None and self._until <= at, left, len(updates), size)
        self.seals[reason] = self.seals.get(reason, 0) + 1
        self.requests += 1
        self.updates += len(updates)
        if self._opened is not None:
            self.open_time += at - opened
            self.needless += max(0, at - max(self._last, self._free))
        self._flying = s.Batch(self.requests, len(updates), self._limits.updates, size, reason, opened, max(opened, min(self._last, at)), at, None)
        self._opened = at if left > 0 else None

    # what it tells -----------------------------------------------------------------------------------------------------------
    def row(self, name: str, offset: int = 0) -> s.Batcher:
        """`offset` is added to instants, to make them another clock's."""
        batches = [self._moved(batch, offset) for batch in (*self._batches, *([self._flying] if self._flying else []))]
        waves = [msgspec.structs.replace(wave, due=wave.due + offset, at=wave.at + offset) for wave in self._waves]
        return s.Batcher(name, self.requests, self.updates, self.refreshes, self.failures, dict(self.seals), self.waiting, self.needless, self.open_time,
                         self.commit.frozen(), self.joined, self.late, tuple(batches), tuple(waves))  # fmt: skip

    @staticmethod
    def _moved(batch: s.Batch, by: int) -> s.Batch:
        return msgspec.structs.replace(batch, opened=batch.opened + by, last=batch.last + by, sealed=batch.sealed + by, done=None if batch.done is None else batch.done + by)
