"""A program that a viewer starts: its output is kept and bounded, its end is known, and nothing of it outlives the viewer."""
from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotwise.dashboard.observe import program as p
from slotwise.dashboard.observe.program import Program

LONG = 120                                   # seconds: what takes longer hangs


@contextmanager
def started(tmp_path: Path, code: str, *arguments: str, **env: str) -> Iterator[Program]:
    it = Program([sys.executable, "-c", code, *arguments], tmp_path / "log", env)
    it.start()
    try:
        yield it
    finally:
        it.stop()


def until(what: Callable[[], object]) -> None:
    end = time.monotonic() + LONG
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def ended(it: Program) -> Program:
    until(lambda: it.code is not None)
    it.wait_for_output(LONG)
    return it


def gone(pid: int) -> bool:
    """Or dead, and not buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_stdout_and_stderr_in_their_order(tmp_path: Path) -> None:
    with started(tmp_path, "import sys\nfor i in range(50): print(i); print(f'e{i}', file=sys.stderr)\nsys.exit(3)") as it:
        ended(it)
        assert it.lines() == [line for i in range(50) for line in (str(i), f"e{i}")]
        assert it.lines(3) == ["e48", "49", "e49"]
        assert it.lines(0) == []
        assert (it.code, it.ending, it.dropped, it.unlogged) == (3, "exit code 3", 0, "")
        assert it.log.read_text().splitlines() == it.lines()
        assert stat.S_IMODE(it.log.stat().st_mode) == 0o600
    assert it.code == 3


def test_it_has_the_environment_and_no_terminal(tmp_path: Path) -> None:
    with started(tmp_path, "import os, sys; print(os.environ['MINE'], repr(sys.stdin.read()), os.getsid(0) == os.getpid())", MINE="yes") as it:
        assert ended(it).lines() == ["yes '' True"]


def test_a_full_pipe_blocks_nobody_and_memory_is_bounded(tmp_path: Path) -> None:
    with started(tmp_path, "import sys\nfor i in range(12_000): sys.stdout.write(f'{i} {\"x\" * 500}\\n')") as it:
        ended(it)
        assert (len(it.lines()), it.dropped) == (p.LINES, 7_000)
        assert it.lines(1)[0].startswith("11999 ")
        assert it.lines()[0].startswith("7000 ")
        assert it.log.stat().st_size == sum(len(f"{i} ") + 501 for i in range(12_000))


def test_long_lines_are_cut_and_bad_bytes_replaced(tmp_path: Path) -> None:
    code = "import sys; w = sys.stdout.buffer.write\nw(b'a' * 10**6 + b'\\n'); w('€'.encode() * 2000 + b'\\n'); w('€'.encode() * 2001 + b'\\n'); w(b'\\xff\\x1b[2J\\r\\n'); w(b'b' * 10**6)"
    with started(tmp_path, code) as it:
        ended(it)
        cut, whole, longer, bad, open_ = it.lines()
    assert cut == "a" * (p.LONGEST - 1) + "…"
    assert (whole, longer) == ("€" * 2000, "€" * 1999 + "…")
    assert bad == "\ufffd\x1b[2J"                   # to be escaped by whoever shows it
    assert open_ == "b" * (p.LONGEST - 1) + "…"


def test_an_unfinished_line_is_seen_as_it_grows(tmp_path: Path) -> None:
    code = "import sys, time\nfor word in ('one', ' two'):\n    sys.stdout.write(word); sys.stdout.flush(); open(sys.argv[1] + word.strip(), 'w').close()\n    while word == 'one' and not __import__('os').path.exists(sys.argv[1] + 'go'): time.sleep(0.01)"
    with started(tmp_path, code, str(tmp_path / "f")) as it:
        until(lambda: it.lines() == ["one"])
        (tmp_path / "fgo").touch()
        assert ended(it).lines() == ["one two"]


def test_it_is_told_to_end_and_then_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p, "GRACE", LONG)
    with started(tmp_path, "import time; print('here'); time.sleep(600)") as it:
        until(it.lines)
        assert (it.code, it.ending) == (None, "")
        it.stop()
        assert (it.code, it.ending) == (-signal.SIGTERM, "killed by SIGTERM")
    monkeypatch.setattr(p, "GRACE", 0.2)
    with started(tmp_path, "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('here'); time.sleep(600)") as it:
        until(it.lines)
        it.stop()
        assert it.ending == "killed by SIGKILL"
        it.stop()                                   # again


def test_what_it_has_started_ends_with_it(tmp_path: Path) -> None:
    code = "import subprocess, sys, time\nsys.stdout.write('%d\\n' % subprocess.Popen([sys.executable, '-c', r'import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); sys.stdout.write(\"1\\n\"); time.sleep(600)']).pid)"
    with started(tmp_path, code + "\ntime.sleep(600)") as it:
        until(lambda: len(it.lines()) == 2)
    until(lambda: gone(int(max(it.lines(), key=len))))
    with started(tmp_path, code) as it:             # it has gone before, and left it alone
        until(lambda: len(it.lines()) == 2 and it.code is not None)
    until(lambda: gone(int(max(it.lines(), key=len))))


VIEWER = """
import os, signal, sys, time
from pathlib import Path
from slotwise.dashboard.observe.program import Program
it = Program([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1); time.sleep(600)"], Path(sys.argv[1]))
it.start()
while not it.lines():
    time.sleep(0.01)
print(it.pid, it._guard.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_does_not_outlive_a_viewer_that_is_killed(tmp_path: Path) -> None:
    viewer = subprocess.run([sys.executable, "-c", VIEWER, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True, timeout=LONG)
    assert viewer.returncode == -signal.SIGKILL
    until(lambda: all(gone(int(pid)) for pid in viewer.stdout.split()))


def test_the_guard_goes_with_the_program(tmp_path: Path) -> None:
    with started(tmp_path, "") as it:
        assert it._guard is not None
    assert it._guard.returncode is not None
    assert it._reader is not None
    assert not it._reader.is_alive()


def test_what_cannot_be_started_says_why(tmp_path: Path) -> None:
    for command, place, wrong in ((["/nowhere/at-all"], "log", FileNotFoundError), ([str(tmp_path)], "log", PermissionError), ([sys.executable], "none/log", FileNotFoundError)):
        it = Program(command, tmp_path / place)
        with pytest.raises(wrong):
            it.start()
        assert (it.code, it.lines(), it.pid) == (None, [], None)
        it.stop()


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        Program([sys.executable, "-c", ""], tmp_path / "log").start()
    assert not (tmp_path / "other").exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full device")
def test_a_full_disk_stops_the_log_and_not_the_program(tmp_path: Path) -> None:
    it = Program([sys.executable, "-c", "print('a' * 10**6); print('b')"], Path("/dev/full"))
    it.start()
    assert ended(it).lines(1) == ["b"]
    assert (it.code, it.unlogged) == (0, "No space left on device")
    it.stop()


def test_exit_codes_in_words() -> None:
    assert [p.said(code) for code in (0, 3, -9, -100)] == ["exit code 0", "exit code 3", "killed by SIGKILL", "killed by signal 100"]
