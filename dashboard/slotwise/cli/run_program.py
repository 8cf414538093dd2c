"""`slotwise watch --run COMMAND` and `--demo`: a program that is started for the viewer, and ends with it."""
from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from slotwise.cli.output import Stop, say
from slotwise.dashboard.observe import report
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.program import Program
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.observe.sources.started import Started
from slotwise.dashboard.observe.words import escape
from slotwise.impl.tap import WANTED

if TYPE_CHECKING:
    from slotwise.cli.watch import Wanted

PATIENCE = 60.0                          # seconds that a look waits for the program's scheduler
SECOND = 10**9


def run(wanted: Wanted, limits: Limits) -> int:
    from slotwise.cli import watch

    if sum((wanted.where is not None, wanted.attach is not None, wanted.program is not None, wanted.demo)) > 1:
        raise Stop("watch: expected one of FILE or URL, --attach, --run and --demo, not several")
    if not wanted.once:
        watch.needs_terminal()
    command, env = demo(wanted.once) if wanted.demo else (words(wanted.program or ""), {})
    with started(command, env, quiet=wanted.demo) as (program, path):
        if not wanted.once:
            return watch.show(Started(program, path), limits, wanted.ascii, program)
        source = Started(program, path, PATIENCE)
        try:
            anyio.run(source.ready)
        except SourceError as error:
            raise Stop(str(error), report.CANNOT_ATTACH) from None
        return watch.look(source, limits, round(wanted.seconds * SECOND), wanted.format, wanted.fail_on)


def words(command: str) -> list[str]:
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise Stop(f"--run {command!r}: {error}") from None
    if not found:
        raise Stop("--run: expected a command")
    return found


def demo(once: bool) -> tuple[list[str], dict[str, str]]:
    """Its command, and what its environment needs. Raises Stop if what it needs is not installed."""
    missing = [name for name in ("httpx", "uvicorn", *(() if once else ("textual",))) if importlib.util.find_spec(name) is None]
    if missing:
        raise Stop(f"watch: --demo needs {' and '.join(missing)}: pip install 'slotwise[demo]'")
    return [sys.executable, "-m", "slotwise.fuzz.demo"], {"PYTHONPATH": os.pathsep.join(sys.path)}


@contextmanager
def started(command: list[str], env: dict[str, str], quiet: bool = False) -> Iterator[tuple[Program, Path]]:
    """The program and its socket's path. In the end it is stopped, and its output is named, if there was any. `quiet`: not if it was we who ended it."""
    folder = Path(tempfile.mkdtemp(prefix="slotwise-"))
    descriptor, log = tempfile.mkstemp(prefix="slotwise-", suffix=".log")
    os.close(descriptor)
    program, path = Program(command, Path(log), {**env, WANTED: str(folder / "tap.sock")}), folder / "tap.sock"
    told = ""
    try:
        try:
            program.start()
        except OSError as error:
            raise Stop(f"--run {escape(command[0])}: {error.strerror}") from None
        try:
            yield program, path
        finally:
            told = f"the program had ended: {program.ending}" if program.ending else "" if quiet else "the program was stopped"
            program.stop()
    except Stop as stop:                     # one line says it all
        told = f"{stop}{output(program)}"
        raise Stop(told, stop.code) from None
    except BaseException:
        tell(told, program)
        raise
    else:
        tell(told, program)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not (told and program.log.stat().st_size):
            program.log.unlink()


def tell(told: str, program: Program) -> None:
    if told:
        say(f"slotwise: {told}{output(program)}")


def output(program: Program) -> str:
    if not program.log.stat().st_size:
        return ""
    return f"; its output is in {program.log}" + (f", but not all of it: {program.unlogged}" if program.unlogged else "")
