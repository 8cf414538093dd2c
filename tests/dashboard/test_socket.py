"""The socket's reader, against a scheduler that behaves and many that do not: one clear line each, and it never hangs."""
from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import anyio.abc
import anyio.to_thread
import msgspec
import pytest

from slotwise.dashboard.observe.sources.in_process import InProcess
from slotwise.dashboard.observe.sources.socket import LARGEST, Socket
from slotwise.dashboard.observe.sources.source import Source, SourceError, find
from slotwise.impl.snapshot import VERSION, Snapshot

from .samples import group, snapshot

LONG = 120                                   # seconds: what takes longer hangs
HELLO = b"SLOTWISE" + VERSION.to_bytes(2, "big")
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def shot(number: int) -> bytes:
    return framed(msgspec.msgpack.encode(snapshot(number, number=number, groups=(group("g"),))))


Peer = Callable[[socket.socket], None]


@contextmanager
def serving(path: Path, peer: Peer) -> Iterator[None]:
    """One connection, handled by `peer` in a thread."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)
    listener.settimeout(LONG)

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(BrokenPipeError):      # a reader that has seen enough
            peer(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        listener.close()


def read(source: Source, backend: str) -> list[Snapshot]:
    async def main() -> list[Snapshot]:
        with anyio.fail_after(LONG):
            return [one async for one in source.snapshots()]

    return anyio.run(main, backend=backend)


def sends(*parts: bytes, then: threading.Event | None = None) -> Peer:
    def peer(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
        if then is not None:
            assert then.wait(LONG)

    return peer


@BACKENDS
def test_it_reads_what_a_scheduler_sends(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s.sock"
    whole = HELLO + shot(1) + shot(2) + shot(3)
    with serving(path, sends(*[whole[i : i + 7] for i in range(0, len(whole), 7)])):
        found = find(str(path))
        assert found.live
        assert [one.number for one in read(found, backend)] == [1, 2, 3]


newer = msgspec.msgpack.encode({"version": VERSION + 1, "something": "else"})
also_newer = msgspec.msgpack.encode(msgspec.structs.replace(snapshot(1), version=VERSION + 1))
HOSTILE = {
    "nothing": (b"", "closed within the greeting, after 0 of 8 bytes"),
    "half a greeting": (b"SLOT", "closed within the greeting, after 4 of 8 bytes"),
    "another protocol": (b"HTTP/1.1 400 Bad Request", "not a slotwise socket: it began with b'HTTP/1.1'"),
    "wrong version": (b"SLOTWISE\x00\x63", f"it speaks version 99 of the snapshot, this viewer version {VERSION}"),
    "half a length": (HELLO + b"\x00\x00", "closed within a frame's length, after 2 of 4 bytes"),
    "half a frame": (HELLO + shot(1)[:40], "closed within a frame, after 36 of "),
    "a huge frame": (HELLO + (LARGEST + 1).to_bytes(4, "big"), "a frame of 16,777,217 bytes, more than 16,777,216: refused"),
    "the hugest frame": (HELLO + b"\xff" * 99, "a frame of 4,294,967,295 bytes"),
    "no MessagePack": (HELLO + framed(b"\xc1\xc1\xc1"), "a frame is not a snapshot"),
    "an empty frame": (HELLO + framed(b""), "a frame is not a snapshot"),
    "another object": (HELLO + framed(msgspec.msgpack.encode([1, 2])), "a frame is not a snapshot"),
    "a field of another type": (HELLO + framed(msgspec.msgpack.encode({"version": VERSION, "program": 7})), "a frame is not a snapshot"),
    "bad UTF-8": (HELLO + framed(b"\x82\xa7version" + bytes([VERSION]) + b"\xa7program\xa2\xff\xfe"), "a frame is not a snapshot"),
    "nested without end": (HELLO + framed(b"\x91" * 100_000), "a frame is not a snapshot"),
    "a newer snapshot": (HELLO + framed(newer), f"it speaks version {VERSION + 1} of the snapshot"),
    "a newer snapshot that looks like ours": (HELLO + framed(also_newer), f"it speaks version {VERSION + 1} of the snapshot"),
}


@BACKENDS
@pytest.mark.parametrize("what", HOSTILE)
def test_it_refuses(tmp_path: Path, what: str, backend: str) -> None:
    path, (sent, why) = tmp_path / "s.sock", HOSTILE[what]
    with serving(path, sends(sent)), pytest.raises(SourceError) as raised:
        read(Socket(str(path)), backend)
    assert str(raised.value).startswith(f"{path}: {why}")
    assert "\n" not in str(raised.value)


class Impatient(Socket):
    """It waits for 0.05 s; but the first time, for as long as the peer takes to begin."""

    def __init__(self, path: Path, begun: threading.Event) -> None:
        super().__init__(str(path), patience=0.05)
        self.begun = begun

    async def _greet(self, stream: anyio.abc.SocketStream) -> None:
        assert await anyio.to_thread.run_sync(self.begun.wait, LONG)
        await super()._greet(stream)


@BACKENDS
@pytest.mark.parametrize(("sent", "why"), [(b"", "the greeting: 0 of 8 bytes"), (HELLO + b"\x00", "a frame's length: 1 of 4 bytes"), (HELLO + shot(1) + shot(2)[:40], "a frame: 36 of ")])
def test_a_stalled_peer_is_named(tmp_path: Path, sent: bytes, why: str, backend: str) -> None:
    path, begun, over = tmp_path / "s.sock", threading.Event(), threading.Event()

    def peer(connection: socket.socket) -> None:
        connection.sendall(sent)
        begun.set()
        assert over.wait(LONG)

    with serving(path, peer):
        with pytest.raises(SourceError) as raised:
            read(Impatient(path, begun), backend)
        over.set()
    assert str(raised.value).startswith(f"{path}: stalled within {why}")
    assert str(raised.value).endswith("then nothing for 0.05 s")


@BACKENDS
def test_between_frames_it_waits_as_long_as_it_takes(tmp_path: Path, backend: str) -> None:
    path, begun = tmp_path / "s.sock", threading.Event()

    def peer(connection: socket.socket) -> None:
        connection.sendall(HELLO + shot(1))
        begun.set()
        time.sleep(0.3)
        connection.sendall(shot(2))

    with serving(path, peer):
        assert [one.number for one in read(Impatient(path, begun), backend)] == [1, 2]


@BACKENDS
def test_a_socket_that_vanishes_is_named(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "s.sock"

    def peer(connection: socket.socket) -> None:
        connection.sendall(HELLO + shot(1) + b"\x00\x00\x01\x00")
        connection.shutdown(socket.SHUT_RDWR)

    with serving(path, peer), pytest.raises(SourceError, match="closed within a frame, after 0 of 256 bytes"):
        read(Socket(str(path)), backend)
    for gone in (path, tmp_path / "never.sock"):
        with pytest.raises(SourceError, match="cannot attach: "):
            read(Socket(str(gone)), backend)
    with pytest.raises(SourceError, match=r"never\.sock: No such file or directory"):
        find(str(tmp_path / "never.sock"))


@BACKENDS
def test_a_program_shows_itself(backend: str) -> None:
    states = iter(["running", "draining", "ended"])
    source = InProcess(lambda: snapshot(1, state=next(states)), interval=0.001)
    assert [one.state for one in read(source, backend)] == ["running", "draining", "ended"]
