"""`slotwise record`: the snapshots of a running scheduler as a recording; or a recording that its program could not close."""
from __future__ import annotations

import signal
from pathlib import Path

import anyio
import anyio.abc

from slotwise.cli.output import Stop, data, plural, say
from slotwise.dashboard.observe.sources.socket import Socket
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.words import escape
from slotwise.fuzz import exits
from slotwise.impl.recording import SnapshotWriter
from slotwise.impl.recording_close import to_parquet
from slotwise.impl.recording_format import SUFFIX, RecordingError
from slotwise.impl.recording_stream import written

GRACE = 1.0                                  # seconds beyond --for in which the last snapshot may come


def run(broken: Path | None, output: Path, attach: str | None, seconds: float | None) -> int:
    if (broken is None) == (attach is None):
        raise Stop("record: expected --attach SOCKET, or a recording that is to be closed" + ("" if broken is None else ", not both"))
    if output.suffix != SUFFIX:
        raise Stop(f"record: {escape(str(output))} must end with {SUFFIX}")
    try:
        return close(broken, output) if broken is not None else follow(attach or "", output, seconds)
    except ModuleNotFoundError as error:
        raise Stop(f"record: {error}") from None


def close(broken: Path, output: Path) -> int:
    """Into Parquet. What is read stays as it is."""
    try:
        if written(broken):
            raise Stop(f"{escape(str(broken))}: its program still records; it closes the recording itself when it ends")
        missing = to_parquet(broken, output)
    except RecordingError as error:
        raise Stop(escape(str(error)), exits.TRACE_REJECTED) from None
    if missing:
        say(f"{escape(str(broken))}: {escape(missing)}; all else was kept")
    data(escape(str(output)))
    return exits.CLEAN


def follow(attach: str, output: Path, seconds: float | None) -> int:
    """Until the scheduler ends, or the time is over, or Ctrl-C."""
    writer = SnapshotWriter(output)
    try:
        wrong = anyio.run(_follow, Socket(attach), writer, seconds)
    finally:
        why = writer.close()
    if wrong and not writer.written:
        raise Stop(wrong)
    if why:
        raise Stop(f"{escape(str(output))}: {escape(why)}")
    data(f"{escape(str(output))}: {plural(writer.written, 'snapshot')}")
    if wrong:
        raise Stop(wrong)
    return exits.CLEAN


async def _follow(source: Socket, writer: SnapshotWriter, seconds: float | None) -> str:
    wrong, began = "", None
    async with anyio.create_task_group() as tasks:
        await tasks.start(_until_signal, tasks.cancel_scope)
        with anyio.move_on_after(None if seconds is None else seconds + GRACE):
            try:
                async for snapshot in source.snapshots():
                    writer.put(snapshot)
                    began = snapshot.now if began is None else began
                    if seconds is not None and snapshot.now - began >= seconds * 1e9:
                        break
            except SourceError as error:
                wrong = str(error)
            except OSError as error:         # the recording's
                wrong = f"{escape(str(writer.path))}: {error.strerror}"
        tasks.cancel_scope.cancel()
    return wrong


async def _until_signal(scope: anyio.CancelScope, *, task_status: anyio.abc.TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            scope.cancel()
            return
