"""`slotwise watch --run` and `--demo`: the program is started, its scheduler found, its end told, and nothing is left of it."""
from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from slotwise.cli import main, run_program
from slotwise.cli import watch as look
from slotwise.dashboard.observe.program import Program
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.sources.started import Started
from slotwise.dashboard.screens.session import Live
from slotwise.impl.snapshot import Snapshot

LONG = 120                                   # seconds: what takes longer hangs
FOREVER = """
import anyio
from slotwise.impl.scheduler import Scheduler
async def main():
    print("it begins")
    async with Scheduler({"llm": 2}, name="mine") as it:
        for _ in range(5):
            it.submit(anyio.sleep, 600, forget=True)
anyio.run(main)
"""
SHORT = """
import anyio, sys, time
from slotwise.impl.scheduler import Scheduler
async def main(name):
    async with Scheduler({"llm": 2}, name=name) as it:
        while not it._tap.viewers:
            await anyio.sleep(0.01)
        await it.submit(anyio.sleep, 0)
for name in sys.argv[1:]:
    anyio.run(main, name)
sys.exit(7)
"""


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def watch(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ended]]:
    """It leaves no folder behind, and no log that is not named."""
    with tempfile.TemporaryDirectory(prefix="sw") as place:
        monkeypatch.setattr(tempfile, "tempdir", place)
        monkeypatch.setattr(look, "GRACE", LONG)         # a machine that does much else may be late with what is looked at
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))

        def call(*arguments: str) -> Ended:
            code = main.run(["watch", *arguments])
            found = Ended(code, *capfd.readouterr())
            logs = list(Path(place).iterdir())
            assert all(log.suffix == ".log" and str(log) in found.err for log in logs), (logs, found.err)
            for log in logs:
                log.rename(tmp_path / "log")
            return found

        yield call


def program(tmp_path: Path, code: str) -> str:
    (tmp_path / "prog.py").write_text(code)
    return f"{sys.executable} {tmp_path}/prog.py"


def test_one_look(watch: Callable[..., Ended], tmp_path: Path) -> None:
    ended = watch("--run", program(tmp_path, FOREVER), "--once", "--for", "0.3")
    assert ended.code == 0, ended
    assert ended.out.startswith("sched=mine state=running ")
    assert ended.err.startswith("slotwise: the program was stopped; its output is in ")
    assert ended.err.count("\n") == 1
    assert (tmp_path / "log").read_text() == "it begins\n"
    found = json.loads(watch("--run", program(tmp_path, FOREVER), "--once", "--for", "0.3", "--format", "json").out)
    assert found["head"]["program"] == "mine"


def test_the_program_is_stopped_after_the_look(watch: Callable[..., Ended], tmp_path: Path) -> None:
    pid = "import os\nprint(os.getpid(), flush=True)\n"
    watch("--run", program(tmp_path, pid + FOREVER), "--once", "--for", "0.1")
    with pytest.raises(ProcessLookupError):      # buried
        os.kill(int((tmp_path / "log").read_text().split()[0]), 0)


def test_a_program_that_ends_before_the_look_is_over(watch: Callable[..., Ended], tmp_path: Path) -> None:
    ended = watch("--run", f"{program(tmp_path, SHORT)} one", "--once", "--for", "60")
    assert ended.code == 0
    assert ended.out.startswith("sched=one state=ended: exit code 7 ")
    assert ended.err == "slotwise: the program had ended: exit code 7\n"
    assert not (tmp_path / "log").exists()       # it said nothing


WRONG = {
    "print('no scheduler\\x1b[2J here'); raise SystemExit(4)": "ended with exit code 4, and opened no scheduler; it last said: no scheduler\\x1b[2J here; its output is in ",
    "1 / 0": "ended with exit code 1, and opened no scheduler; it last said: ZeroDivisionError: division by zero; its output is in ",
    "": "ended with exit code 0, and opened no scheduler; it said nothing",
    "import os; os.abort()": "ended with killed by SIGABRT, and opened no scheduler; it said nothing",
    "import time; print('busy'); time.sleep(600)": "opened no scheduler within 1 s; it last said: busy; its output is in ",
    "import os, time; open(os.environ['SLOTWISE_TAP'], 'w'); time.sleep(600)": "cannot attach",
}


class Speaks(Started):
    """It takes its time until it has said something."""

    async def ready(self) -> None:
        while not self.program.lines():
            await anyio.sleep(0.01)
        await super().ready()


@pytest.mark.parametrize("code", WRONG)
def test_a_program_without_a_scheduler(code: str, watch: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "busy" in code:
        monkeypatch.setattr(run_program, "PATIENCE", 1.0)
        monkeypatch.setattr(run_program, "Started", Speaks)
    ended = watch("--run", program(tmp_path, code), "--once", "--for", "5")
    assert (ended.code, ended.out) == (2, "")
    assert WRONG[code] in ended.err
    assert ended.err.count("\n") == 1


def test_an_interrupt_ends_the_program_too(watch: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(look, "look", interrupt)
    ended = watch("--run", program(tmp_path, "import os\nprint(os.getpid(), flush=True)\n" + FOREVER), "--once")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.startswith("slotwise: the program was stopped; its output is in ")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "log").read_text().split()[0]), 0)


USAGE = {
    ("--run", "nowhere/at-all", "--once"): "--run nowhere/at-all: No such file or directory",
    ("--run", "", "--once"): "--run: expected a command",
    ("--run", "a 'b", "--once"): "--run \"a 'b\": No closing quotation",
    ("--run", "a", "--demo", "--once"): "expected one of FILE or URL, --attach, --run and --demo, not several",
    ("x", "--demo", "--once"): "not several",
    ("--attach", "x", "--run", "a", "--once"): "not several",
    ("--run", "a"): "the screen needs a terminal; --once shows one look",
    ("--demo",): "the screen needs a terminal; --once shows one look",
}


@pytest.mark.parametrize("arguments", USAGE)
def test_wrong_use(arguments: tuple[str, ...], watch: Callable[..., Ended]) -> None:
    ended = watch(*arguments)
    assert (ended.code, ended.out) == (64, "")
    assert USAGE[arguments] in ended.err
    assert ended.err.count("\n") == 1


def test_the_demo(watch: Callable[..., Ended]) -> None:
    pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    ended = watch("--demo", "--once", "--for", "1", "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert found["head"]["program"] == "demo"
    status = {verdict["name"]: verdict["status"] for verdict in found["verdicts"]}
    assert (status["invariants"], status["divergence"]) == ("ok", "ok")


def test_what_the_demo_needs_is_said(watch: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("httpx", "textual") else object())
    ended = watch("--demo", "--once")
    assert (ended.code, ended.out, ended.err) == (64, "", "slotwise: watch: --demo needs httpx: pip install 'slotwise[demo]'\n")
    with pytest.raises(Exception, match="--demo needs httpx and textual: pip"):
        run_program.demo(once=False)


# the source --------------------------------------------------------------------------------------------------------------------------


@contextmanager
def running(code: str, *arguments: str) -> Iterator[Started]:
    with tempfile.TemporaryDirectory(prefix="sw") as place:
        it = Program([sys.executable, "-c", code, *arguments], Path(place) / "log", {"SLOTWISE_TAP": f"{place}/tap.sock", "PYTHONPATH": os.pathsep.join(sys.path)})
        it.start()
        try:
            yield Started(it, Path(place) / "tap.sock")
        finally:
            it.stop()


def all_of(source: Started) -> list[Snapshot]:
    async def read() -> list[Snapshot]:
        with anyio.fail_after(LONG):
            return [snapshot async for snapshot in source.snapshots()]

    return anyio.run(read)


def test_one_scheduler_after_another_and_then_the_end() -> None:
    with running(SHORT, "one", "two") as source:
        seen = all_of(source)
    assert list(dict.fromkeys(shot.program for shot in seen)) == ["one", "two"]
    assert [shot.state for shot in seen if shot.state.startswith("ended")] == ["ended", "ended", "ended: exit code 7"]
    assert seen[-1].groups[0].finished == 1


def test_a_program_that_is_killed() -> None:
    with running(FOREVER) as source:
        session = Live(source)

        async def kill() -> None:
            while session.latest is None:                # it is seen first
                await anyio.sleep(0.01)
            assert source.program.pid
            os.kill(source.program.pid, signal.SIGKILL)

        async def follow() -> None:
            with anyio.fail_after(LONG):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(kill)
                    await session.follow()

        anyio.run(follow)
        session.look()
    assert (session.state, session.wrong, session.over) == ("ENDED", "", True)
    assert session.trouble.startswith("ENDED: killed by SIGKILL  ")


def test_a_crash_keeps_its_name() -> None:
    code = SHORT.replace("await it.submit(anyio.sleep, 0)", "raise LookupError")
    with running(code, "one") as source:
        assert all_of(source)[-1].state == "crashed: LookupError, exit code 1"


def test_a_program_that_shows_nothing() -> None:
    """Its socket comes, and it is gone before anything was seen."""
    code = "import os, socket, sys\nit = socket.socket(socket.AF_UNIX); it.bind(os.environ['SLOTWISE_TAP']); it.listen(); it.accept()[0].sendall(b'SLOT'); print('bye'); os._exit(5)"
    with running(code) as source, pytest.raises(SourceError, match="ended with exit code 5, and showed nothing; it last said: bye"):
        all_of(source)
