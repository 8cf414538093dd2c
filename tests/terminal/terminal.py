"""A real terminal, which is tmux's: a command in it, keys to it, what is seen. Conditions are waited for, times never."""
from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

PATIENCE = 60.0                             # seconds, for a machine that does much else
SLOTWISE = (sys.executable, "-m", "slotwise.cli.main")
ENDED = "the command ended with"


class Unseen(AssertionError):
    """What was waited for did not come; with what was there instead."""


def until(holds: Callable[[], bool], told: Callable[[], str]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise Unseen(told())
        time.sleep(0.05)


class Terminal:
    """One command in a shell in a window of tmux, which stays when the command has ended. Its server is its own."""

    def __init__(self, folder: Path, command: Sequence[str], environment: dict[str, str] | None = None, width: int = 120, height: int = 36) -> None:
        self._socket = folder / "tmux"
        self._socket.parent.mkdir(parents=True, exist_ok=True)
        clean = {name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR", "COLUMNS", "LINES")}
        # What it is started in: the terminal's own modes and the shell's line discipline, as they are left by the command, can be asked for afterwards.
        script = f"{shlex.join(command)}; echo {ENDED} $?; stty -a | grep -o -E ' -?(icanon|echo) ' | xargs echo modes; exec cat"
        variables = [part for name, value in {"COLORTERM": "truecolor", **(environment or {})}.items() for part in ("-e", f"{name}={value}")]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), *variables, "sh", "-c", script, env={**clean, "LANG": "C.UTF-8", "TERM": "xterm-256color"})
        self.pid = int(self.asked("#{pane_pid}"))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self._tmux("kill-server", check=False)

    def _tmux(self, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> str:
        ended = subprocess.run(["tmux", "-u", "-S", str(self._socket), *arguments], capture_output=True, text=True, env=env, timeout=PATIENCE)
        if check and ended.returncode:
            raise RuntimeError(f"tmux {arguments[0]}: {ended.stderr.strip()}")
        return ended.stdout

    def asked(self, format: str) -> str:
        return self._tmux("display-message", "-p", format).strip()

    def text(self, colours: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *["-e"] * colours)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    def type(self, words: str) -> None:
        self._tmux("send-keys", "-l", words)

    def resize(self, width: int, height: int) -> None:
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def sees(self, *words: str, but: Sequence[str] = (), where: Callable[[str], bool] = lambda text: True) -> str:
        """The text, as soon as it has all these words and none of the others."""
        text = ""

        def holds() -> bool:
            nonlocal text
            text = self.text()
            return all(word in text for word in words) and not any(word in text for word in but) and where(text)

        until(holds, lambda: f"{words} {f'without {but} ' if but else ''}did not come; the screen:\n{text}")
        return text

    def ended(self) -> int:
        """The command's exit code, when it has ended."""
        found = re.search(ENDED + r" (\d+)", self.sees(ENDED, "modes "))
        assert found is not None
        return int(found[1])

    def viewer(self) -> int:
        """The process of the command."""
        return int(Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0])


class Program:
    """The steered scheduler."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.process = subprocess.Popen([sys.executable, str(Path(__file__).with_name("program.py")), str(socket)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self._reads("ready")

    def _reads(self, begins: str) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        assert line.startswith(begins), line
        return line

    def tell(self, word: str) -> int:
        """How many jobs it had done then."""
        assert self.process.stdin is not None
        self.process.stdin.write(word + "\n")
        return int(self._reads(word).rpartition("=")[2])

    def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


@contextmanager
def steered(folder: Path) -> Iterator[Program]:
    program = Program(folder / "program.sock")
    try:
        yield program
    finally:
        program.process.kill()
        program.process.wait(PATIENCE)
        for stream in (program.process.stdin, program.process.stdout):
            if stream is not None:
                stream.close()
