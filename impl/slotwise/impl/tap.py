"""The socket on which a live scheduler shows itself: a snapshot every 100 ms to every viewer that can take it, or less often, so that making
them takes no more than a fiftieth of the loop's time. Each says when the next one comes.

A stream of bytes: `HELLO`, the version of the snapshot (two bytes, big-endian), then frames, each its length (four bytes, big-endian) and a
`Snapshot` in MessagePack. Only the owner of the process can connect (mode 0600). Nothing ever waits for a viewer: what it does not
take at once is kept, one frame at most; until that is gone it is skipped, and after five seconds disconnected. Viewers write nothing.
"""
from __future__ import annotations

import errno
import logging
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec

from slotwise.impl.snapshot import VERSION, Snapshot

log = logging.getLogger(__name__)

HELLO = b"SLOTWISE"
LARGEST = 16 * 2**20                     # bytes of a frame, without its length
INTERVAL = 0.1                           # seconds
SHARE = 0.02                             # of the loop's time that snapshots may take
LONGEST = 2.0                            # seconds between two, whatever they cost
STALLED = 5.0                            # seconds in which a viewer takes nothing of what is kept for it
VIEWERS = 64                             # at once; more are sent away
WANTED = "SLOTWISE_TAP"                  # in the environment: the path of a scheduler's socket that was told nothing about one
MOST_TAPS = 99                           # of schedulers that live at once, by that path


def default_path() -> Path:
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / f"slotwise-{os.getpid()}.sock"


def wanted_tap(snapshot: Callable[[], Snapshot]) -> Tap | None:
    """At the path that `SLOTWISE_TAP` names; where a scheduler lives there already, run.sock becomes run-2.sock, run-3.sock, …  None if it names
    none, or if none can be made there: who watches from outside is not to break a program."""
    given = os.environ.get(WANTED)
    if not given:
        return None
    base = Path(given)
    for number in range(1, MOST_TAPS + 1):
        try:
            return Tap(snapshot, base if number == 1 else base.with_name(f"{base.stem}-{number}{base.suffix}"))
        except (OSError, ValueError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                continue
            log.warning("%s=%s: no socket can be made there: %s", WANTED, given, getattr(error, "strerror", None) or error)
            return None
    log.warning("%s=%s: %d schedulers live there already", WANTED, given, MOST_TAPS)
    return None


class Viewer:
    __slots__ = ("kept", "since", "socket")

    def __init__(self, connection: socket.socket, at: float) -> None:
        self.socket, self.since = connection, at
        self.kept = memoryview(HELLO + VERSION.to_bytes(2, "big"))

    def push(self, at: float) -> bool:
        """Give it what is kept, as far as it takes it. False: it is to be disconnected."""
        while self.kept:
            try:
                taken = self.socket.send(self.kept)
            except (BlockingIOError, InterruptedError):
                return at - self.since < STALLED
            except OSError:
                return False
            self.kept, self.since = self.kept[taken:], at
        self.since = at
        return True


class Tap:
    """`snapshot` is called between two steps of the scheduler, once for all viewers. Raises OSError where the socket cannot be made."""

    def __init__(
        self, snapshot: Callable[[], Snapshot], path: Path | None = None, interval: float = INTERVAL, clock: Callable[[], float] = time.monotonic, cpu: Callable[[], float] = time.thread_time
    ) -> None:
        self.path = default_path() if path is None else path
        self.too_large = self.failed = 0     # snapshots that no reader would take, and those that could not be made
        self.cost = 0.0                      # CPU seconds that the last snapshot took
        self._snapshot, self._interval, self._clock, self._cpu = snapshot, interval, clock, cpu
        self._viewers: list[Viewer] = []
        self._socket = bound(self.path)
        self._inode = os.stat(self.path).st_ino

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    @property
    def interval(self) -> float:
        """Seconds from one snapshot to the next."""
        return max(self._interval, min(LONGEST, self.cost / SHARE))

    async def run(self) -> None:
        """Without end."""
        due = 0.0
        while True:
            with anyio.move_on_after(max(0.0, due - self._clock()) if self._viewers else None):
                await anyio.wait_readable(self._socket)
                self.accept()
            if self._clock() >= due:
                begun = self._clock()
                self.show()
                due = begun + self.interval
            await anyio.lowlevel.checkpoint()

    def accept(self) -> None:
        """All that knock."""
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:                  # nobody, or nobody any more, or no descriptor left
                return
            connection.setblocking(False)
            if len(self._viewers) >= VIEWERS:
                connection.close()
                continue
            viewer = Viewer(connection, self._clock())
            if viewer.push(self._clock()):
                self._viewers.append(viewer)
            else:
                connection.close()

    def show(self) -> None:
        """One snapshot to every viewer that has taken the one before."""
        if not self._viewers:
            return
        at = self._clock()
        alive = [viewer for viewer in self._viewers if viewer.push(at)]
        ready = [viewer for viewer in alive if not viewer.kept]
        if ready and (data := self._frame()):
            for viewer in ready:
                viewer.kept = memoryview(data)
            alive = [viewer for viewer in alive if viewer.push(at)]
        for viewer in self._viewers:
            if viewer not in alive:
                viewer.socket.close()
        self._viewers = alive

    def _frame(self) -> bytes:
        begun = self._cpu()
        try:
            data = msgspec.msgpack.encode(msgspec.structs.replace(self._snapshot(), every=round(1e9 * self.interval)))
        except Exception:                    # a source's, or a name that is no text: who is watched is not to suffer
            self.failed += 1
            if self.failed == 1:
                log.exception("no snapshot could be made")
            return b""
        self.cost = self._cpu() - begun
        if len(data) > LARGEST:
            self.too_large += 1
            if self.too_large == 1:
                log.warning("a snapshot of %d bytes is too large for the socket", len(data))
            return b""
        return len(data).to_bytes(4, "big") + data

    def close(self) -> None:
        for viewer in self._viewers:
            viewer.socket.close()
        self._viewers = []
        self._socket.close()
        with suppress(OSError):
            if os.stat(self.path).st_ino == self._inode:
                self.path.unlink()


def bound(path: Path) -> socket.socket:
    """A listening socket there, of mode 0600 from its first moment. One that nobody listens on any more is replaced."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        mask = os.umask(0o177)
        try:
            _bind(listener, path)
        finally:
            os.umask(mask)
        listener.setblocking(False)
        listener.listen(16)
    except OSError as error:
        listener.close()
        raise OSError(error.errno or errno.EINVAL, error.strerror or str(error), str(path)) from None
    except BaseException:
        listener.close()
        raise
    return listener


def _bind(listener: socket.socket, path: Path) -> None:
    try:
        listener.bind(str(path))
    except OSError as error:
        if error.errno != errno.EADDRINUSE or not stat.S_ISSOCK(os.lstat(path).st_mode) or _is_listened_on(path):
            raise
        path.unlink()
        listener.bind(str(path))


def _is_listened_on(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            return True                      # its queue is full, or it is not ours
        return True
