"""A target behind a pipe: a program in any language that reads JSON lines and answers each with one.

    we send      {"slotwise":1,"mechanism":"admission","profile":{...},"setup":{"capacity":{"r":2}}}
    it answers   {"slotwise":1,"commands":["enqueue","pump","release"],"profiles":[]}
    we send      {"do":"pump","at_most":99,"at":7}
    it answers   [["started",1,"a1",{"r":1}],["blocked"]]

A header line starts afresh, at any time. `profiles` names those that it follows exactly (none: it is judged by laws alone). What it writes on
stderr is its own affair. A program of another mechanism greets with a field `mechanism`, as the header has it. A program that dies, is silent too long, or answers with anything else is a `TargetError`.
"""
from __future__ import annotations

import selectors
import shlex
import subprocess
from contextlib import suppress
from typing import IO, Any

import msgspec

from slotwise.fuzz.searches import SEARCHES, search_of
from slotwise.fuzz.target import Target, TargetError
from slotwise.spec import trace
from slotwise.spec.mechanisms import MECHANISMS, mechanism_of
from slotwise.spec.trace import Trace
from slotwise.spec.vocabulary import PROFILES, Observation

PREFIX = "pipe:"
#: Seconds for an answer.
PATIENCE = 10.0
LONGEST_LINE = 1 << 24


class Program:
    """One process, used for one scheduler after another."""

    def __init__(self, name: str, patience: float = PATIENCE) -> None:
        self.name, self.patience = name, patience
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""

    def ask(self, line: bytes) -> bytes:
        """Send a line and return the answer's. Raises TargetError."""
        process = self._started()
        with suppress(OSError):                          # it has ended; what it said before that says more
            _pipe(process.stdin).write(line + b"\n")
            _pipe(process.stdin).flush()
        return self._line(process)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            try:
                words = shlex.split(self.name.removeprefix(PREFIX))
            except ValueError as error:
                raise TargetError(f"target {self.name}: {error}") from None
            if not words:
                raise TargetError(f"target {self.name}: no command")
            try:
                self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            except OSError as error:
                raise TargetError(f"target {self.name}: {words[0]}: {error.strerror}") from None
            self._rest = b""
        return self._process

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        out = _pipe(process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(self.patience):
                    raise self.ended(f"no answer within {self.patience:g} s")
                more = out.read1(1 << 16)  # type: ignore[attr-defined]
                if not more:
                    raise self.ended("it has ended", self.patience)
                self._rest += more
                if len(self._rest) > LONGEST_LINE:
                    raise self.ended("its line has no end")
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def ended(self, why: str, within: float = 0.2) -> TargetError:
        """Something is wrong with it: it is stopped, unless it ends within so many seconds; and the next question starts it again."""
        process, self._process = self._process, None
        code = ""
        if process is not None:
            try:
                code = f" (exit code {process.wait(within)})"
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    _pipe(stream).close()
        return TargetError(f"target {self.name}: {why}{code}")

    def close(self) -> None:
        if self._process is not None:
            self.ended("")


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


class Piped:
    """A scheduler in a program. Making a new one ends the one before it."""

    def __init__(self, program: Program, profile: Any, setup: Any) -> None:
        self._program = program
        self._answer: Any = list[mechanism_of(profile).observation]  # type: ignore[misc]
        self.greeting = greeting(program, trace.encode(Trace(trace.header(profile, setup))).rstrip())

    def step(self, command: Any) -> list[Observation]:
        line = self._program.ask(trace.encode_command(command))
        try:
            return list(msgspec.json.decode(line, type=self._answer))
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._program.ended(f"expected a JSON list of observations, found {line.decode(errors='replace')!r:.200}") from None


def greeting(program: Program, header: bytes) -> dict[str, Any]:
    line = program.ask(header)
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = None
    if not isinstance(found, dict) or found.get("slotwise") != trace.FORMAT:
        raise program.ended(f'expected {{"slotwise":{trace.FORMAT},"commands":[...],"profiles":[...]}} in answer to the header, found {line.decode(errors="replace")!r:.200}')
    return found


def pipe_target(name: str) -> Target:
    """`name` is "pipe:" and a command line. The program is started and asked what it knows. Raises TargetError."""
    program = Program(name)
    try:
        said = Piped(program, PROFILES["slotwise"], {"r": 1}).greeting
        mechanism, commands, profiles = said.get("mechanism", "admission"), said.get("commands"), said.get("profiles", [])
        if mechanism not in SEARCHES:
            raise TargetError(f"target {name}: field `mechanism`: expected {' or '.join(SEARCHES)}, found {mechanism!r:.200}")
        words, names = MECHANISMS[mechanism].commands, MECHANISMS[mechanism].profiles
        if not isinstance(commands, list) or not commands or not set(map(str, commands)) <= words.keys():
            raise TargetError(f"target {name}: field `commands`: expected some of {', '.join(words)}, found {commands!r:.200}")
        if not isinstance(profiles, list) or not set(map(str, profiles)) <= names.keys():
            raise TargetError(f"target {name}: field `profiles`: expected some of {', '.join(names)}, found {profiles!r:.200}")
    except TargetError:
        program.close()
        raise
    claimed = frozenset(profiles)
    return Target(name, lambda profile, setup: Piped(program, profile, setup), frozenset(commands), lambda profile: profile.name in claimed and search_of(profile).known(profile), (mechanism,))
