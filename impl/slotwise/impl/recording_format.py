"""What a recording is made of, as a stream (`*.arrows`) and closed (`*.parquet`).

Rows in the order of their time, in the columns of COLUMNS. `kind` is one of the tape's (slotwise.impl.tape), with the tape's data, or

    keyframe    the meter's whole state, and what else a snapshot shows (`Keyframe`); each second, after each gap, first and last
    rows        what else a snapshot shows (`Besides`), where it has changed
    dropped     from here to the next keyframe the tape was full: so many events are missing (an integer)
    snapshot    in a recording of snapshots, which has nothing else (`Snapshot`)

`data` is MessagePack. The schema's metadata has a `Header` in JSON under `slotwise`, and for human readers its parts.
"""
from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from slotwise.impl import snapshot as s
from slotwise.impl.meter_state import MeterState

SCHEMA = 1                               # of the columns, and of what is in `data`; a reader refuses a newer one
COLUMNS = (("number", "int64"), ("t_ns", "int64"), ("kind", "string"), ("job", "string"), ("group", "string"), ("lease", "int64"), ("data", "binary"))
#: number: of the event since the scheduler's start, 0: it is none. t_ns: the program's monotonic clock. lease: 0: none.
SUFFIX, STREAM = ".parquet", ".arrows"
KEYFRAMES = 10**9                        # ns between two keyframes, at most
ROWS, BYTES = 100_000, 8 * 2**20         # after so many a row group ends, with the next keyframe


class RecordingError(Exception):
    """A file that is no recording, or no more of it; one line: the file and what is wrong; `why` is without the file."""

    def __init__(self, path: Path | str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path, self.why = str(path), why


class Header(msgspec.Struct, frozen=True):
    program: str
    pid: int
    started: int                 # ns of the program's monotonic clock
    slo: int                     # ns
    of: Literal["events", "snapshots"] = "events"
    schema: int = SCHEMA
    snapshot: int = s.VERSION
    slotwise: str = ""           # the version that wrote it


class Besides(msgspec.Struct, frozen=True):
    """What a snapshot shows that no meter counts."""

    state: str = "running"
    batchers: tuple[s.Batcher, ...] = ()
    workers: tuple[s.Worker, ...] = ()
    checks: tuple[s.Check, ...] = ()
    divergences: tuple[s.Divergence, ...] = ()
    campaigns: tuple[s.Campaign, ...] = ()
    debts: dict[str, dict[str, int]] = {}        # of groups, units by resource: the engine's own


class Keyframe(msgspec.Struct, frozen=True):
    meter: MeterState
    besides: Besides
    dropped: int                 # events, since the start


class _Newer(msgspec.Struct):
    schema: int
    snapshot: int


def arrow() -> Any:
    """pyarrow, which only recordings need. Raises ModuleNotFoundError that says how to get it."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("recordings need pyarrow: pip install 'slotwise[record]'", name=error.name) from None
    return pyarrow


def schema(header: Header) -> Any:
    pa = arrow()
    told = {
        "slotwise": msgspec.json.encode(header), "schema_version": str(header.schema), "snapshot_version": str(header.snapshot),
        "slotwise_version": header.slotwise, "program": header.program,
    }  # fmt: skip
    return pa.schema([pa.field(name, getattr(pa, of)()) for name, of in COLUMNS], metadata=told)


def header_of(found: Any, path: Path) -> Header:
    """Of a schema that was read. Raises RecordingError if that is not ours."""
    told: bytes | None = (found.metadata or {}).get(b"slotwise")
    if told is None:
        raise RecordingError(path, "an Arrow file, but no recording of slotwise (its metadata says nothing of it)")
    try:
        newer = msgspec.json.decode(told, type=_Newer)
        if newer.schema > SCHEMA:
            raise RecordingError(path, f"a recording of version {newer.schema}, newer than this reader's {SCHEMA}")
        if newer.snapshot != s.VERSION:
            raise RecordingError(path, f"it has version {newer.snapshot} of the snapshot, this reader version {s.VERSION}")
        header = msgspec.json.decode(told, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(path, f"its header cannot be read: {error}") from None
    wanted = schema(header)
    if found.names != wanted.names or any(found.field(name).type != wanted.field(name).type for name in wanted.names):
        raise RecordingError(path, f"its columns are {', '.join(f'{name} {found.field(i).type}' for i, name in enumerate(found.names[:12]))}; expected {', '.join(' '.join(c) for c in COLUMNS)}")
    return header


def places(path: Path | str) -> tuple[Path, Path]:
    """The stream and the closed file of a recording that is to be made there. Raises ValueError."""
    path = Path(path)
    if path.suffix not in (SUFFIX, STREAM):
        raise ValueError(f"recording: {path} must end with {SUFFIX}")
    return path.with_suffix(STREAM), path.with_suffix(SUFFIX)
