"""A program that a viewer has started: its output, kept, and its end, with the viewer's at the latest."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

LINES, LONGEST = 5_000, 2_000            # kept: so many lines, of so many characters
AT_ONCE = 2**16                          # bytes
GRACE = 2.0                              # seconds between being told to end and being killed
OTHERS = 0.1                             # seconds that others of its group have, once it has ended
#: Outlives the viewer, if that is killed, and then ends the program and all in its group.
GUARD = f"""
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
while os.read(0, 1):
    pass
for what, pause in ((signal.SIGTERM, {GRACE}), (signal.SIGKILL, 0)):
    try:
        os.killpg(int(sys.argv[1]), what)
    except OSError:
        break
    time.sleep(pause)
"""


class Program:
    """`command` is started with `start`, in a process group of its own and without a terminal. All that it writes, stdout and stderr as they come,
    goes to `log` (mode 0600), and the newest lines are kept. Whoever reads them escapes them: they are the program's own.
    `env` is added to ours. Programs in Python are told not to hold their output back."""

    def __init__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.command, self.log = tuple(command), log
        self.dropped = 0                     # lines that are not kept any more
        self.unlogged = ""                   # why the log is not whole; "" if it is
        self._env = {"PYTHONUNBUFFERED": "1", **os.environ, **(env or {})}
        self._lines: deque[str] = deque(maxlen=LINES)
        self._open, self._open_bytes = b"", 0    # a line whose end has not come: its beginning, and its whole length
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._code: int | None = None

    def start(self) -> None:
        """Raises OSError, where there is no such program or no place for its log."""
        log = os.fdopen(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb", buffering=0)
        try:
            self._process = subprocess.Popen(self.command, env=self._env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, bufsize=0)
        except BaseException:
            log.close()
            raise
        self._reader = threading.Thread(target=self._read, args=(log,), daemon=True, name="output of the program")
        self._reader.start()
        try:                                 # the guard's input ends when this process does, however that ends
            self._guard = subprocess.Popen([sys.executable, "-I", "-S", "-c", GUARD, str(self._process.pid)], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @property
    def code(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        if self._code is None and self._process is not None:
            with suppress(ChildProcessError):
                # It is not buried before `stop`: so long its number is nobody else's, and is its group's.
                found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is not None:
                    self._code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
        return self._code

    @property
    def ending(self) -> str:
        """In words; empty while it runs."""
        return "" if (code := self.code) is None else said(code)

    def lines(self, count: int = LINES) -> list[str]:
        """The newest, oldest first; the last may not be whole yet."""
        with self._lock:
            kept = [*self._lines, *([_text(self._open, self._open_bytes)] if self._open_bytes else [])]
        return kept[-count:] if count > 0 else []

    def wait_for_output(self, seconds: float = 1.0) -> None:
        """Of a program that has ended: until its last line has been read, unless somebody else holds its output open."""
        if self._reader is not None:
            self._reader.join(seconds)

    def stop(self) -> None:
        """Tell it to end, and kill it if it does not; with all that it has started and that has not left its group."""
        process, guard = self._process, self._guard
        if process is None or process.returncode is not None:
            return
        for what in (signal.SIGTERM, signal.SIGKILL):
            with suppress(OSError):
                os.killpg(process.pid, what)
            end = time.monotonic() + GRACE
            while self.code is None and time.monotonic() < end:
                time.sleep(0.01)
            if self.code is not None and what == signal.SIGTERM:
                time.sleep(OTHERS)
        process.wait()
        if guard is not None:
            guard.kill()
            guard.communicate()
        self.wait_for_output()

    def _read(self, log: BinaryIO) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with log, self._process.stdout as output:
            while data := os.read(output.fileno(), AT_ONCE):
                if not self.unlogged:
                    try:
                        log.write(data)
                    except OSError as error:     # the program goes on all the same
                        self.unlogged = error.strerror or "cannot be written"
                self._take(data)

    def _take(self, data: bytes) -> None:
        with self._lock:
            *whole, rest = data.split(b"\n")
            for piece in whole:
                self._add(piece)
                if len(self._lines) == LINES:
                    self.dropped += 1
                self._lines.append(_text(self._open, self._open_bytes))
                self._open, self._open_bytes = b"", 0
            self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._open += piece[: max(0, 4 * LONGEST - len(self._open))]         # a character has four bytes at most
        self._open_bytes += len(piece)


def _text(beginning: bytes, length: int) -> str:
    text = beginning.decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= LONGEST and len(beginning) == length else text[: LONGEST - 1] + "…"


def said(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
