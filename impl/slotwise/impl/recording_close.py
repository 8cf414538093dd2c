"""Closing a recording: Parquet of whole pieces, in row groups that begin with a keyframe. The file is there when it is complete, or not at all."""
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from slotwise.impl.recording_chunks import KEYS, Chunks, Piece
from slotwise.impl.recording_format import BYTES, COLUMNS, ROWS, Header, RecordingError, arrow, schema


class ParquetOut:
    """Rows in their order; what is before the first keyframe is left out. Leaving it without an error puts the file into its place. Raises OSError."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path, self._new = path, path.with_name(f"{path.name}.{os.getpid()}.new")
        self._pa, self._schema = arrow(), schema(header)
        self._rows: list[Any] = []           # batches of the row group that grows
        self._count = self._bytes = 0

    def __enter__(self) -> ParquetOut:
        self._writer = self._pa.parquet.ParquetWriter(
            str(self._new), self._schema, compression="zstd", use_dictionary=["kind", "group"], write_statistics=[name for name, _ in COLUMNS if name != "data"], store_schema=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        try:
            if error is None:
                self._group()
            self._writer.close()
            if error is None:
                with self._new.open("rb") as file:
                    os.fsync(file.fileno())
                self._new.replace(self.path)
        finally:
            self._new.unlink(missing_ok=True)

    def add(self, batch: Any) -> None:
        import pyarrow.compute as pc

        begun = 0
        for row in pc.indices_nonzero(pc.is_in(batch.column(2), value_set=self._pa.array(KEYS))).to_pylist():
            self._append(batch.slice(begun, row - begun))
            begun = row
            if self._count >= ROWS or self._bytes >= BYTES:
                self._group()
        self._append(batch.slice(begun))

    def _append(self, batch: Any) -> None:
        if batch.num_rows:
            if not self._count and batch.column(2)[0].as_py() not in KEYS:
                return                       # nothing can be said of what is before the first
            self._rows.append(batch)
            self._count += batch.num_rows
            self._bytes += batch.nbytes

    def _group(self) -> None:
        if self._count:
            self._writer.write_table(self._pa.Table.from_batches(self._rows, self._schema), row_group_size=self._count)
            self._rows, self._count, self._bytes = [], 0, 0


def to_parquet(stream: Path, path: Path) -> str:
    """Of all that can be read of a recording; what cannot is said. Raises RecordingError or OSError."""
    chunks = Chunks(stream)
    try:
        if not any(piece.key is not None for piece in chunks.pieces):
            raise RecordingError(stream, f"there is nothing in it that can be read{f': {chunks.broken}' if chunks.broken else ''}")
        with ParquetOut(path, chunks.header) as out:
            for batch in sound(chunks, chunks.pieces):
                out.add(batch)
        return chunks.broken
    finally:
        chunks.close()


def sound(chunks: Chunks, pieces: Iterable[Piece]) -> Iterator[Any]:
    """The pieces that can be read, one after the other; instead of others a row that says that something is missing."""
    for piece in pieces:
        try:
            yield piece.read()
        except RecordingError as error:
            chunks.broken = chunks.broken or error.why
            if chunks.header.of == "events":
                row = (0, piece.first, "dropped", "", "", 0, msgspec.msgpack.encode(0))
                yield arrow().record_batch([[value] for value in row], schema=schema(chunks.header))
