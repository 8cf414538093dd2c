"""`slotwise emit-test`: a trace as a pytest file, red while its target fails, green once it does not."""
from __future__ import annotations

from pathlib import Path

from slotwise.cli import choices
from slotwise.cli.output import Stop, raw, say
from slotwise.fuzz.emit import emit_test
from slotwise.fuzz.judges import Finding
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.replay import replay
from slotwise.fuzz.report import Failure
from slotwise.fuzz.searches import set_up
from slotwise.fuzz.target import Target
from slotwise.spec.trace import Trace


def run(file: Path, target: str) -> int:
    loaded, read = choices.target(target), choices.read_trace(file)
    if not read.steps:
        raise Stop(f"{file}: line 2: expected a command, found the end of the file: there is nothing to test")
    failure = replay(read, loaded, str(file)).failure
    if failure is None:
        say(f"{file}: nothing fails on {target}: the test says that it stays so")
    raw(emit_test(failure or passing(loaded, read), target))
    return 0


def passing(target: Target, read: Trace) -> Failure:
    """A trace on which nothing fails, in the form of what a search finds; it is named after the last rule that decides."""
    profile, setup = set_up(read)
    played = recorded(target, profile, setup, read.commands, seed=read.header.seed)
    rules = [rule for step in played.steps for rule in step.rules or ()]
    finding = Finding("divergence", rules[-1] if rules else "trace", len(read.steps) - 1, tuple(read.commands), None, None, read.header.note or "a recorded trace")
    return Failure(finding, profile, setup, target.name, read.header.seed, played, played)
