"""What all sources have in common, and which of them a name on the command line means."""
from __future__ import annotations

import os
import stat
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from slotwise.dashboard.observe.words import escape
from slotwise.impl.snapshot import Snapshot


class SourceError(Exception):
    """There is nothing to see, or no more; the message is one line that names the source and says why."""

    def __init__(self, source: str, why: str) -> None:
        super().__init__(f"{escape(source)}: {why}")


class Source(Protocol):
    """Read once, from its beginning."""

    name: str
    live: bool                               # its clock is this machine's monotonic clock, and it has no end of its own
    coarse: bool                             # its numbers are rounded or sampled, not the scheduler's own

    def snapshots(self) -> AsyncIterator[Snapshot]:
        """In the order of their time. Raises SourceError."""
        ...


class Moments(Protocol):
    """Any instant between the snapshots of a source that knows what happened. Not for two threads at once; all raise SourceError."""

    def at(self, t_ns: int) -> Snapshot:
        """Everything that had happened then."""
        ...

    def hop(self, t_ns: int, by: int) -> int:
        """So many instants with events on, or back; the last there is, if there are fewer."""
        ...


def hopped(times: Sequence[int], t_ns: int, by: int) -> int:
    """That, where all instants with events are known: ascending, each once."""
    if not by or not times or (t_ns >= times[-1] if by > 0 else t_ns <= times[0]):
        return t_ns
    place = bisect_right(times, t_ns) + by - 1 if by > 0 else bisect_left(times, t_ns) + by
    return times[min(max(place, 0), len(times) - 1)]


@runtime_checkable
class Exact(Protocol):
    """A source that may have them."""

    def moments(self) -> Moments | None: ...


URLS = ("http://", "https://")
RECORDINGS = (".arrow", ".arrows", ".parquet")


def find(where: str) -> Source:
    """The source of a socket's path, a URL or a file. Raises SourceError."""
    if where.startswith(URLS):
        from slotwise.dashboard.observe.sources.prometheus import Endpoint

        return Endpoint(where)
    if not where:
        raise SourceError("''", "expected a socket, a file or a URL")
    path = Path(where)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise SourceError(where, (getattr(error, "strerror", None) or "no such file or socket") + _hint(where)) from None
    if stat.S_ISSOCK(mode):
        from slotwise.dashboard.observe.sources.socket import Socket

        return Socket(where)
    if not stat.S_ISREG(mode):
        raise SourceError(where, "a folder, expected a socket, a file or a URL" if stat.S_ISDIR(mode) else "neither a socket nor a file")
    if path.suffix in RECORDINGS:
        from slotwise.dashboard.observe.sources.recording import RecordingFile

        return RecordingFile(where)
    return _of_file(path)


def _hint(where: str) -> str:
    """A recording is closed into Parquet when its program ends; until then, or if that was killed, the stream is there."""
    if where.endswith(".parquet") and os.path.exists(stream := where.removesuffix(".parquet") + ".arrows"):
        return f"; its stream is there and can be watched, {escape(stream)}; if its program is gone, `slotwise record -o {escape(where)} {escape(stream)}` closes it"
    return ""


def _of_file(path: Path) -> Source:
    """By its first line: traces and event logs say what they are."""
    from slotwise.dashboard.observe.sources import campaign, event_log, trace

    try:
        with path.open("rb") as file:
            first = file.readline(1 << 20)
    except OSError as error:
        raise SourceError(str(path), error.strerror or "cannot be read") from None
    if not first:
        raise SourceError(str(path), "an empty file")
    for kind, is_one in ((trace.TraceFile, trace.is_one), (event_log.EventLog, event_log.is_one), (campaign.CampaignReport, campaign.is_one)):
        if is_one(first):
            return kind(str(path))
    raise SourceError(str(path), "neither a slotwise trace, nor a scheduler's event log, nor a report of slotwise fuzz")
