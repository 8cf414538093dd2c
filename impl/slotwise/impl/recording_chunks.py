"""The pieces of a recording's file: batches of a stream, row groups of a Parquet file. An index by time is made when it is opened; rows are read by piece.

The file is not trusted: it is mapped, not read into what it claims to need, and each piece is validated before anything looks at it.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from slotwise.impl.recording_format import COLUMNS, Header, RecordingError, arrow, header_of

MESSAGE = 2**26                          # of a stream's message
HEAD = 2**20                             # of a message's description
END = b"\xff\xff\xff\xff\0\0\0\0"
KEYS = ("keyframe", "snapshot")          # rows from which one can go on
MAGIC = b"PAR1"


class Piece:
    __slots__ = ("first", "key", "last", "read", "rows")

    def __init__(self, first: int, last: int, key: int | None, rows: int, read: Callable[[], Any]) -> None:
        self.first, self.last, self.rows = first, last, rows
        self.key = key                   # when its first keyframe is, ns; None: it has none
        self.read = read                 # a record batch, or raises RecordingError


class Chunks:
    """Raises RecordingError where nothing can be read; `broken` says where a stream breaks off, or which piece is damaged."""

    def __init__(self, path: Path) -> None:
        self.path, self.broken, self._pa = path, "", arrow()
        self.pieces: list[Piece] = []
        self.wrong = (self._pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, MemoryError, OverflowError, UnicodeDecodeError)
        try:
            with path.open("rb") as file:
                first = file.read(8)
        except OSError as error:
            raise RecordingError(path, error.strerror or "cannot be read") from None
        if not first:
            raise RecordingError(path, "an empty file")
        self.size = path.stat().st_size
        try:
            self._map = self._pa.memory_map(str(path))
            self.header: Header = self._parquet() if first.startswith(MAGIC) else self._stream(first)
        except RecordingError:
            raise
        except self.wrong as error:
            what = "Parquet file, or one that breaks off" if first.startswith(MAGIC) else "Arrow stream"
            raise RecordingError(path, f"no {what}: {one_line(error)}") from None
        if any(a.last > b.first for a, b in zip(self.pieces, self.pieces[1:], strict=False)):
            raise RecordingError(path, "its times do not ascend")

    def close(self) -> None:
        self._map.close()

    # a stream ------------------------------------------------------------------------------------------------------------
    def _stream(self, first: bytes) -> Header:
        if first[:4] != END[:4]:
            raise RecordingError(self.path, f"neither an Arrow stream nor a Parquet file: it begins with {first!r}")
        ipc = self._pa.ipc
        if not self._fits(0):
            raise RecordingError(self.path, "no Arrow stream: it breaks off, or describes something too large, at its beginning")
        schema = ipc.read_schema(self._map)
        header = header_of(schema, self.path)
        while (offset := self._map.tell()) < self.size:
            self._map.seek(offset)
            if self._map.read(8) == END:
                break
            if not self._fits(offset):
                self.broken = f"it breaks off within a batch; whole before that: {len(self.pieces):,}"
                break
            self._map.seek(offset)
            try:
                message = ipc.read_message(self._map)
            except (EOFError, *self.wrong) as error:
                self.broken = f"it breaks off within a batch; whole before that: {len(self.pieces):,} ({one_line(error)})"
                break
            after = self._map.tell()
            try:
                self._index(partial(self._batch, offset, schema))
            except RecordingError as error:
                self.broken = self.broken or error.why
                self._gap(partial(self._batch, offset, schema))
            del message
            self._map.seek(after)
        return header

    def _fits(self, offset: int) -> bool:
        self._map.seek(offset)
        head = self._map.read(8)
        self._map.seek(offset)
        return len(head) == 8 and head[:4] == END[:4] and 0 < int.from_bytes(head[4:], "little", signed=True) <= min(HEAD, self.size - offset)

    def _batch(self, offset: int, schema: Any) -> Any:
        try:
            self._map.seek(offset)
            message = self._pa.ipc.read_message(self._map)
            if message.body is not None and message.body.size > MESSAGE:
                raise RecordingError(self.path, f"a batch of {message.body.size:,} bytes, more than {MESSAGE:,}: refused")
            return self._sound(self._pa.ipc.read_record_batch(message, schema))
        except RecordingError:
            raise
        except (EOFError, *self.wrong) as error:
            raise RecordingError(self.path, f"the batch at byte {offset:,} cannot be read: {one_line(error)}") from None

    def _index(self, read: Callable[[], Any]) -> None:
        batch = read()
        if batch.num_rows:
            key = self._keys(batch)
            times = batch.column(1)
            self.pieces.append(Piece(times[0].as_py(), times[-1].as_py(), times[key[0].as_py()].as_py() if len(key) else None, batch.num_rows, read))

    def _gap(self, read: Callable[[], Any]) -> None:
        """A piece that cannot be read: until the next keyframe nothing is known."""
        if self.pieces:
            last = self.pieces[-1].last
            self.pieces.append(Piece(last, last, None, 0, read))

    def _keys(self, batch: Any) -> Any:
        """Rows, ascending."""
        pc, pa = self._pc, self._pa
        return pc.indices_nonzero(pc.is_in(batch.column(2), value_set=pa.array(KEYS)))

    @property
    def _pc(self) -> Any:
        import pyarrow.compute

        return pyarrow.compute

    def key_before(self, batch: Any, at: int) -> int | None:
        """The row of the last keyframe at that time or before it."""
        times, found = batch.column(1), None
        for row in self._keys(batch).to_pylist():
            if times[row].as_py() > at:
                break
            found = row
        return found

    # Parquet --------------------------------------------------------------------------------------------------------------
    def _parquet(self) -> Header:
        file = self._pa.parquet.ParquetFile(self._map)
        header = header_of(file.schema_arrow, self.path)
        for i in range(file.metadata.num_row_groups):
            # not from the statistics: asked for damaged ones, pyarrow aborts the program
            try:
                times = file.read_row_group(i, columns=["t_ns"], use_threads=False).column(0)
            except self.wrong as error:
                self.broken = self.broken or f"row group {i} cannot be read: {one_line(error)}"
                self._gap(partial(self._row_group, file, i))
                continue
            if len(times):
                first, last = times[0].as_py(), times[-1].as_py()
                if first is None or last is None:
                    raise RecordingError(self.path, f"row group {i} does not say from when it is")
                self.pieces.append(Piece(first, last, first, len(times), partial(self._row_group, file, i)))
        return header

    def _row_group(self, file: Any, i: int) -> Any:
        try:
            table = file.read_row_group(i, columns=[name for name, _ in COLUMNS], use_threads=False).combine_chunks()
            batches = table.to_batches()
            if len(batches) != 1:
                raise RecordingError(self.path, f"row group {i} is in {len(batches)} pieces")
            batch = self._sound(batches[0])
            if batch.column(2)[0].as_py() not in KEYS:
                raise RecordingError(self.path, f"row group {i} does not begin with a keyframe")
            return batch
        except RecordingError:
            raise
        except self.wrong as error:
            raise RecordingError(self.path, f"row group {i} cannot be read: {one_line(error)}") from None

    def _sound(self, batch: Any) -> Any:
        batch.validate(full=True)
        if any(batch.column(i).null_count for i, (name, _) in enumerate(COLUMNS) if name != "data"):
            raise RecordingError(self.path, "a value is missing")
        if batch.num_rows > 1 and self._pc.min(self._pc.pairwise_diff(batch.column(1))).as_py() < 0:
            raise RecordingError(self.path, "its times do not ascend")
        return batch


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
