"""The lines of an event log of the data-designer scheduler: one JSON object each, with its kind, the time, the task, and a view of all resources.

Of the last line only a whole one counts: the log may still grow.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from slotwise.dashboard.observe.sources.source import SourceError

SECOND = 10**9
TOGETHER = 500                               # lines read at once
LONGEST = 1 << 20                            # bytes of a line; longer ones are skipped, and counted
WRONG = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class View(msgspec.Struct):
    resource_limits: dict[str, int] = {}
    policy_debt_by_group_resource: dict[str, Any] = {}       # each key is a group and a resource, as Python writes them


class Event(msgspec.Struct):
    event_kind: str
    captured_at_monotonic: float
    sequence: int
    task_id: str | None = None
    task_lease_id: str | None = None
    reason_or_result: str | None = None
    captured_correlation: dict[str, Any] | None = None
    snapshot: View | None = None
    diagnostics: dict[str, Any] = {}


_decode = msgspec.json.Decoder(Event).decode


def is_one(first: bytes) -> bool:
    try:
        return bool(_decode(first))
    except WRONG:
        return False


class Lines:
    def __init__(self, name: str) -> None:
        self.name = name
        self.skipped = 0                     # lines too long to be read

    def __iter__(self) -> Iterator[list[tuple[int, Event]]]:
        """Some events at a time, each with its instant, ns, never before an earlier one's. Raises SourceError after those that were before what is wrong."""
        now = number = 0
        try:
            with open(self.name, "rb") as file:
                while lines := self._some(file):
                    found = list[tuple[int, Event]]()
                    for line in lines:
                        number += 1
                        if not line:
                            continue
                        try:
                            event = _decode(line)
                        except WRONG as error:
                            yield found
                            raise SourceError(self.name, f"line {number}: not an event of a scheduler: {error}") from None
                        now = max(now, round(event.captured_at_monotonic * SECOND))
                        found.append((now, event))
                    yield found
        except OSError as error:
            raise SourceError(self.name, error.strerror or "cannot be read") from None

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
