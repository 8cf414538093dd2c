"""The socket of a live scheduler, with viewers of all sorts."""
from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import pytest

from slotwise.impl import tap as t
from slotwise.impl.scheduler import Group, Scheduler
from slotwise.impl.snapshot import VERSION, Snapshot

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])
LONG = 120                                   # seconds: what takes longer hangs


class Viewer:
    """Reads as it likes, in threads."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LONG)
        self.socket.connect(str(path))

    def exactly(self, n: int, piece: int = 65536) -> bytes:
        data = b""
        while len(data) < n:
            got = self.socket.recv(min(piece, n - len(data)))
            if not got:
                raise EOFError(data)
            data += got
        return data

    def hello(self) -> bytes:
        return self.exactly(10)

    def frame(self, piece: int = 65536) -> Snapshot:
        length = int.from_bytes(self.exactly(4, piece), "big")
        return msgspec.msgpack.decode(self.exactly(length, piece), type=Snapshot)

    def rest(self) -> list[Snapshot]:
        """All whole frames until the other side has closed."""
        seen = []
        try:
            while True:
                seen.append(self.frame())
        except EOFError:
            return seen

    async def hello_and_frame(self, piece: int = 65536) -> Snapshot:
        hello = await anyio.to_thread.run_sync(self.hello)
        assert hello == b"SLOTWISE" + VERSION.to_bytes(2, "big")
        return await anyio.to_thread.run_sync(self.frame, piece)


@both
def test_a_viewer_sees_snapshots_of_the_running_scheduler(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "it.sock"

    async def main() -> None:
        async with Scheduler({"llm": 2}, [Group("a", weight=2.0)], check=True, tap=path, name="shown") as it:
            assert it.socket == path
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            one = Viewer(path)
            first = await one.hello_and_frame()
            assert (first.program, first.pid, first.state, first.leases) == ("shown", os.getpid(), "running", 0)
            over = anyio.Event()
            job = it.submit(over.wait, group="a")
            two = Viewer(path)
            await two.hello_and_frame(piece=1)                   # a byte at a time
            while not (seen := await anyio.to_thread.run_sync(one.frame)).leases:
                pass
            later = await anyio.to_thread.run_sync(one.frame)
            assert later.number > seen.number
            assert later.now > seen.now
            assert later.resources[0].busy == 1
            two.socket.close()                                   # vanishes
            over.set()
            await job
        last = one.rest()[-1]
        assert (last.state, last.groups[0].finished) == ("ended", 1)
        assert not path.exists()

    anyio.run(main, backend=backend)


def test_a_crash_is_told_to_viewers(tmp_path: Path) -> None:
    path = tmp_path / "it.sock"

    async def main() -> list[Snapshot]:
        try:
            async with Scheduler({"llm": 2}, tap=path):
                viewer = Viewer(path)
                await viewer.hello_and_frame()
                raise ZeroDivisionError
        except ZeroDivisionError:
            return viewer.rest()

    assert anyio.run(main)[-1].state == "crashed: ZeroDivisionError"


@contextmanager
def tapped(path: Path, size: int = 10) -> Iterator[tuple[t.Tap, list[float]]]:
    """A tap that is driven by hand, whose snapshots are so large."""
    clock = [0.0]
    number = 0

    def snapshot() -> Snapshot:
        nonlocal number
        number += 1
        return Snapshot(VERSION, "x" * size, 1, 0, 0, number, 0, 0, 0)

    tap = t.Tap(snapshot, path, clock=lambda: clock[0])
    try:
        yield tap, clock
    finally:
        tap.close()


def test_a_viewer_that_does_not_read_is_skipped_and_then_left(tmp_path: Path) -> None:
    with tapped(tmp_path / "s", size=2**20) as (tap, clock):
        stalled, reading = Viewer(tap.path), Viewer(tap.path)
        tap.accept()
        assert (tap.viewers, reading.hello()) == (2, stalled.hello())
        seen = []
        for _ in range(49):
            tap.show()                       # waits for nobody: else the test would hang
            taken = b""
            while len(taken) < 2**20 + 100:
                reading.socket.setblocking(False)
                try:
                    taken += reading.socket.recv(2**21)
                except BlockingIOError:
                    tap.show()
                    if not tap._viewers[-1].kept:
                        break
            seen.append(taken)
            clock[0] += 0.1
        assert tap.viewers == 2
        assert len(tap._viewers[0].kept) < 2**20 + 100           # one frame at most is kept for it
        clock[0] += 0.2
        tap.show()
        assert tap.viewers == 1
        assert [seen.number for seen in stalled.rest()] in ([], [1])     # it ends in the middle of a frame


def test_a_viewer_that_takes_a_little_is_not_left(tmp_path: Path) -> None:
    with tapped(tmp_path / "s", size=2**22) as (tap, clock):
        slow = Viewer(tap.path)
        tap.accept()
        slow.hello()
        for _ in range(8):
            tap.show()
            clock[0] += 4.0
            slow.exactly(2**16)
        assert tap.viewers == 1


def test_a_vanished_viewer_is_left_at_once_and_harms_nobody(tmp_path: Path) -> None:
    with tapped(tmp_path / "s") as (tap, _):
        gone, here = Viewer(tap.path), Viewer(tap.path)
        gone.socket.close()
        tap.accept()
        tap.show()
        tap.show()
        assert tap.viewers == 1
        here.hello()
        assert here.frame().number == 1


def test_too_large_a_snapshot_is_not_sent(tmp_path: Path) -> None:
    with tapped(tmp_path / "s", size=2**24) as (tap, _):
        viewer = Viewer(tap.path)
        tap.accept()
        tap.show()
        assert (tap.too_large, viewer.hello()[:8]) == (1, t.HELLO)
        tap.close()
        with pytest.raises(EOFError):
            viewer.exactly(1)


def test_a_source_that_fails_harms_nobody(tmp_path: Path) -> None:
    class Broken:
        def rows(self) -> list[Any]:
            raise ZeroDivisionError

    async def main() -> None:
        async with Scheduler({"llm": 1}, tap=tmp_path / "s") as it:
            it.attach(Broken())
            viewer = Viewer(tmp_path / "s")
            await anyio.to_thread.run_sync(viewer.hello)
            await it.submit(anyio.sleep, 0)
            assert it._tap
            with anyio.fail_after(LONG):
                while not it._tap.failed:
                    await anyio.sleep(0.01)
            it._sources.clear()
            assert (await anyio.to_thread.run_sync(viewer.frame)).groups[0].finished == 1

    anyio.run(main)


def test_too_many_viewers_are_sent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(t, "VIEWERS", 2)
    with tapped(tmp_path / "s") as (tap, _):
        viewers = [Viewer(tap.path) for _ in range(3)]
        tap.accept()
        assert tap.viewers == 2
        with pytest.raises(EOFError):
            viewers[2].hello()


def test_what_a_viewer_writes_is_ignored(tmp_path: Path) -> None:
    with tapped(tmp_path / "s") as (tap, _):
        viewer = Viewer(tap.path)
        tap.accept()
        viewer.socket.sendall(b"stop everything")
        tap.show()
        viewer.hello()
        assert viewer.frame().number == 1
        assert tap.viewers == 1


def test_a_socket_is_private_from_its_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modes: list[int] = []
    bind = t._bind

    def watched(listener: socket.socket, path: Path) -> None:
        bind(listener, path)
        modes.append(stat.S_IMODE(path.stat().st_mode))

    monkeypatch.setattr(t, "_bind", watched)
    before = os.umask(0)
    try:
        t.bound(tmp_path / "s").close()
        assert (modes, os.umask(0)) == ([0o600], 0)
    finally:
        os.umask(before)


def test_only_a_socket_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    t.bound(path).close()                    # left behind
    with tapped(path) as (tap, _):
        with pytest.raises(OSError, match="in use"):
            t.bound(path)
        path.unlink()
        other = t.bound(path)                # another's now
        tap.close()
        assert path.exists()
        other.close()
    path.unlink()
    path.write_text("a file")
    with pytest.raises(OSError, match="in use"):
        t.bound(path)
    assert path.read_text() == "a file"


def test_the_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert t.default_path() == tmp_path / f"slotwise-{os.getpid()}.sock"

    async def main() -> Any:
        async with Scheduler({"llm": 1}, tap=True) as it:
            return it.socket

    assert anyio.run(main) == t.default_path()
    assert not t.default_path().exists()
