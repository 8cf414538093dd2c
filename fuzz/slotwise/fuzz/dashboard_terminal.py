"""`slotwise watch` in a pseudo-terminal, with keys: what it paints, when, and what it costs."""
from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from slotwise.fuzz.dashboard_load import resident

COLUMNS, LINES = 120, 36
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 60.0                          # seconds: what is painted later hangs
KEPT = 1 << 20                           # bytes of its output
#: What a viewer says of itself in its first line.
METER = re.compile(rb"(\d+)fps (\d+)%cpu")


class Late(Exception):
    """What was expected was not painted in time."""


class Viewer:
    """The process, and all that it has written. A context manager."""

    def __init__(self, arguments: Sequence[str], folder: Path) -> None:
        self.leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "XDG_CONFIG_HOME": str(folder)}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "TEXTUAL"):
            environment.pop(name, None)
        self.begun = time.monotonic()
        self.process = subprocess.Popen([sys.executable, "-m", "slotwise.cli.start", "watch", *arguments], stdin=follower, stdout=follower, stderr=follower, env=environment, cwd=folder, start_new_session=True)
        os.close(follower)
        self.written = 0                     # bytes
        self._kept = bytearray()
        self._news = threading.Condition()
        self._gone = False
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.leader, 1 << 16)
            except OSError:
                data = b""
            at = time.monotonic()
            with self._news:
                self._kept += data
                del self._kept[:-KEPT]
                self.written += len(data)
                self._at, self._gone = at, not data
                self._news.notify_all()
            if not data:
                os.close(self.leader)
                return

    def since(self, place: int) -> bytes:
        """What was written after so many bytes, as far as it is kept."""
        return bytes(self._kept[max(0, len(self._kept) - (self.written - place)) :])

    def expect(self, words: bytes, place: int, patience: float = PATIENCE) -> float:
        """The instant at which these words had come, after so many bytes. Raises Late."""
        until = time.monotonic() + patience
        with self._news:
            while words not in self.since(place):
                left = until - time.monotonic()
                if left <= 0 or self._gone or not self._news.wait(left):
                    raise Late(f"{words.decode()!r} was not painted in {patience:g} s; the end of what was: {self.since(place)[-200:]!r}")
            return self._at

    def press(self, key: str) -> None:
        os.write(self.leader, key.encode())

    def key(self, key: str, words: bytes, patience: float = PATIENCE) -> float:
        """Seconds from a key to what it paints. Raises Late."""
        place, begun = self.written, time.monotonic()
        self.press(key)
        return self.expect(words, place, patience) - begun

    def cpu(self) -> float:
        """Seconds, of user and system."""
        return cpu_of(self.process.pid)

    def rss(self) -> int:
        return resident(self.process.pid)

    def said(self, place: int) -> list[int]:
        """Frames a second, as it says itself, each time that it said so after so many bytes."""
        with self._news:
            return [int(fps) for fps, _ in METER.findall(self.since(place))]


ECHO = """
import os, tty
tty.setraw(0)
os.write(1, b'!')
while data := os.read(0, 64):
    os.write(1, data)
"""


class Echo:
    """A program in a pseudo-terminal that writes what it reads: how long the machine takes for so little."""

    def __init__(self) -> None:
        self.leader, follower = pty.openpty()
        self.process = subprocess.Popen([sys.executable, "-c", ECHO], stdin=follower, stdout=follower, start_new_session=True)
        os.close(follower)
        while os.read(self.leader, 64) != b"!":
            pass

    def __enter__(self) -> Echo:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.leader)

    def key(self) -> float:
        begun = time.monotonic()
        os.write(self.leader, b"x")
        os.read(self.leader, 64)
        return time.monotonic() - begun


def cpu_of(process: int) -> float:
    """Seconds, of user and system."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
