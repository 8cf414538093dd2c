"""The growing file of a recording: an Arrow IPC stream, of which each batch is whole, whatever becomes of the program."""
from __future__ import annotations

import errno
import fcntl
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slotwise.impl.recording_format import Header, arrow, schema

Row = tuple[int, int, str, str, str, int, "bytes | None"]


class Stream:
    """Raises OSError, with the file's name, where it cannot be made, or another program writes it. One that was left there is renamed."""

    def __init__(self, path: Path) -> None:
        self.path, self._pa = path, arrow()
        aside(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._sink = io.BytesIO()
        self._schema: Any = None
        self._writer: Any = None
        self._good = 0                       # bytes of whole batches

    @property
    def begun(self) -> bool:
        return self._writer is not None

    def begin(self, header: Header) -> None:
        self._schema = schema(header)
        self._writer = self._pa.ipc.new_stream(self._sink, self._schema, options=self._pa.ipc.IpcWriteOptions(compression="zstd"))
        self._flush()

    def write(self, rows: Sequence[Row], columns: Sequence[Sequence[Any]] = ()) -> None:
        """One batch: first what is in columns already, then rows. Raises OSError (whatever had got into the file is taken back), or what Arrow raises."""
        pa, parts = self._pa, [part for part in (columns, list(zip(*rows, strict=True))) if part]
        if parts:
            arrays = [[pa.array(values, field.type) for values, field in zip(part, self._schema, strict=True)] for part in parts]
            self._writer.write_batch(pa.record_batch([pa.concat_arrays(of) for of in zip(*arrays, strict=True)], schema=self._schema))
            self._flush()

    def _flush(self) -> None:
        data, written = self._sink.getvalue(), 0
        self._sink.seek(0)
        self._sink.truncate()
        try:
            while written < len(data):
                written += os.write(self._file, data[written:])
        except OSError as error:
            os.ftruncate(self._file, self._good)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self._good += len(data)

    def end(self, whole: bool = True) -> None:
        """Say that this was all, if it was; then the file is closed."""
        try:
            if whole and self._writer is not None:
                self._writer.close()
                self._flush()
        finally:
            os.close(self._file)


def aside(path: Path) -> None:
    """A stream that a program left there when it was killed is kept, under the next free name: run.1.arrows."""
    if path.exists():
        if not path.is_file():
            raise OSError(errno.EEXIST, "there is something else", str(path))
        if written(path):
            raise OSError(errno.EBUSY, "another program is recording there", str(path))
        number = 1
        while (kept := path.with_suffix(f".{number}{path.suffix}")).exists():
            number += 1
        path.rename(kept)


def written(path: Path) -> bool:
    """Is it being written now? Raises OSError."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
