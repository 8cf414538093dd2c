"""The event log of the data-designer scheduler (one JSON object per line, as its own JSONL sink writes them), played into snapshots.

Each event has its kind, the time, the task, and a view of all resources. Of the last line only a whole one counts: the log may still grow.
"""
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, BinaryIO

import msgspec

from slotwise.dashboard.observe.sources.fold import Fold
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.impl.snapshot import Snapshot

SECOND = 10**9
INTERVAL = SECOND // 10
TOGETHER = 500                               # lines read at once
MOST = 100                                   # snapshots that are held at once
LONGEST = 1 << 20                            # bytes of a line; longer ones are skipped, and counted
WRONG = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
OUTCOMES = {"retry_deferred": "retried", "non_retryable_dropped": "failed", "cancelled": "cancelled"}


class _View(msgspec.Struct):
    resource_limits: dict[str, int] = {}


class _Event(msgspec.Struct):
    event_kind: str
    captured_at_monotonic: float
    sequence: int
    task_id: str | None = None
    task_lease_id: str | None = None
    reason_or_result: str | None = None
    captured_correlation: dict[str, Any] | None = None
    snapshot: _View | None = None
    diagnostics: dict[str, Any] = {}


_decode = msgspec.json.Decoder(_Event).decode


def is_one(first: bytes) -> bool:
    try:
        return bool(_decode(first))
    except WRONG:
        return False


class EventLog:
    live, coarse = False, False

    def __init__(self, name: str) -> None:
        self.name = name
        self.fold: Fold | None = None
        self.outcomes: dict[str, str] = {}
        self.skipped = 0                     # lines too long to be read

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        """One each 100 ms of the log's time, and one at its end."""
        import anyio.to_thread

        play = self._play()
        while (some := await anyio.to_thread.run_sync(next, play, None)) is not None:
            for snapshot in some:
                yield snapshot

    def played(self) -> Iterator[Snapshot]:
        """The same without an event loop."""
        for some in self._play():
            yield from some

    def _play(self) -> Iterator[list[Snapshot]]:
        """Those of some lines at a time."""
        due = number = 0
        try:
            with open(self.name, "rb") as file:
                while lines := self._some(file):
                    found = list[Snapshot]()
                    for line in lines:
                        number += 1
                        try:
                            event = self._event(line, number) if line else None
                        except SourceError:
                            yield found          # what was seen before it broke off
                            raise
                        if event is None:
                            continue
                        at = round(event.captured_at_monotonic * SECOND)
                        if self.fold is None:
                            self.fold, due = Fold(self._program(event), {}, at), at + INTERVAL
                        while due <= at:
                            found.append(self._taken(due))
                            if len(found) == MOST:
                                yield found
                                found = []
                            due = max(due + INTERVAL, at - 600 * INTERVAL)       # of an hour without events, the last minute is enough
                        self._happens(self.fold, event, at)
                    yield found
        except OSError as error:
            raise SourceError(self.name, error.strerror or "cannot be read") from None
        if self.fold is None:
            raise SourceError(self.name, "no whole event in it")
        yield [self._taken(self.fold.now)]

    def _some(self, file: BinaryIO) -> list[bytes]:
        """Some lines more, empty for those that are too long. A last one that is not whole yet is left out."""
        found: list[bytes] = []
        while len(found) < TOGETHER and (line := file.readline(LONGEST)):
            if line.endswith(b"\n"):
                found.append(line)
                continue
            if len(line) < LONGEST:
                break
            self.skipped += 1
            found.append(b"")
            while line and not line.endswith(b"\n"):
                line = file.readline(LONGEST)
        return found

    def _taken(self, at: int) -> Snapshot:
        assert self.fold is not None
        return msgspec.structs.replace(self.fold.snapshot(at), dropped=self.skipped)

    def _event(self, line: bytes, number: int) -> _Event:
        try:
            return _decode(line)
        except WRONG as error:
            raise SourceError(self.name, f"line {number}: not an event of a scheduler: {error}") from None

    @staticmethod
    def _program(event: _Event) -> str:
        return f"data-designer {(event.captured_correlation or {}).get('run_id') or ''}".strip()

    def _happens(self, fold: Fold, event: _Event, at: int) -> None:
        fold.pass_to(at)
        fold.events += 1
        for name, units in (event.snapshot.resource_limits if event.snapshot else {}).items():
            fold.has(name, units, at)
        task, lease, needs = event.task_id, event.task_lease_id, event.diagnostics.get("resource_request")
        match event.event_kind:
            case "ready_enqueued" if task:
                fold.waits(task, group_of(event), {str(name): int(units) for name, units in needs.items()} if isinstance(needs, dict) else {}, at)
            case "task_lease_acquired" if task and lease:
                fold.starts(task, lease, at)
            case "admission_denied" if task:
                fold.refused(task, event.reason_or_result or "", at)
            case "retry_deferred" | "non_retryable_dropped" | "cancelled" if lease:
                self.outcomes[lease] = OUTCOMES[event.event_kind]
            case "task_lease_released" | "stale_selection" if lease:
                fold.ends(lease, at, self.outcomes.pop(lease, "finished"))
            case "admission_blocked" | "group_capped":
                blocked(fold, event.diagnostics.get("reasons"))
            case "scheduler_job_completed":
                fold.state = f"ended: {event.reason_or_result or 'no result'}"
            case _:
                pass


def group_of(event: _Event) -> str:
    """local/default/column, as the scheduler names it."""
    key = event.diagnostics.get("task_group_key")
    if isinstance(key, dict) and isinstance(key.get("identity"), list):
        return "/".join(map(str, key["identity"])) or "?"
    return str((event.captured_correlation or {}).get("task_column") or "?")


def blocked(fold: Fold, reasons: object) -> None:
    """A summary over all heads: it tells something of each only if there is one reason."""
    if isinstance(reasons, dict) and len(reasons) == 1:
        for row in fold.groups.values():
            row.refused = str(next(iter(reasons)))
