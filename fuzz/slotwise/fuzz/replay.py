"""Replay: a trace played on a target, and judged three times: by what the file says was seen, by the reference, by the laws."""
from __future__ import annotations

from dataclasses import dataclass

from slotwise.fuzz import exits
from slotwise.fuzz.judges import Finding, different_at, first_difference, judge
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.report import EXITS, Failure
from slotwise.fuzz.searches import set_up
from slotwise.fuzz.target import Target
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.trace import Trace, TraceError
from slotwise.spec.vocabulary import Observation


class Rejected(TraceError):
    """The target cannot run this trace: it does not know one of its commands."""


@dataclass(frozen=True, slots=True)
class Change:
    """The first step at which the target sees something else than the file says."""

    at: int                              # index of the step; its line in the file is `at + 2`
    recorded: list[Observation]
    found: list[Observation]

    @property
    def message(self) -> str:
        return f"line {self.at + 2}: recorded: {first_difference(self.recorded, self.found).replace('expected ', '', 1)}"


@dataclass(frozen=True, slots=True)
class Outcome:
    trace: Trace
    target: str
    steps: int
    failure: Failure | None              # by the reference or a law
    change: Change | None                # from the recording
    hazards: frozenset[str]              # laws broken that the profile is known to break

    @property
    def exit(self) -> int:
        if self.failure is not None:
            return EXITS[self.failure.kind]
        return exits.DIVERGENCE if self.change is not None else exits.CLEAN


def check(trace: Trace, target: Target, name: str = "trace") -> None:
    """Raises Rejected, naming line and mechanism or command, if the target does not know it, or one of the commands."""
    if trace.header.mechanism not in target.mechanisms:
        raise Rejected(f"{name}: line 1: mechanism {trace.header.mechanism}: {target.name} does not know it; it knows {', '.join(target.mechanisms)}")
    for line, command in enumerate(trace.commands, 2):
        word = str(type(command).__struct_config__.tag)
        if word not in target.commands:
            raise Rejected(f"{name}: line {line}: {word}: {target.name} does not know this command; it knows {', '.join(sorted(target.commands))}")


def replay(trace: Trace, target: Target, name: str = "trace") -> Outcome:
    """Play it. Raises Rejected; TargetError if the target cannot be set up."""
    check(trace, target, name)
    profile, setup = set_up(trace)
    mechanism = mechanism_of(profile)
    hazards = mechanism.hazards(profile)
    finding = judge(target, profile, setup, trace.commands, state_every=1, hazards=hazards)
    played = recorded(target, profile, setup, trace.commands, seed=trace.header.seed, own=True)
    laws, change = mechanism.new_judge(profile if target.follows(profile) else None, setup), None
    for at, (was, now) in enumerate(zip(trace.steps, played.steps, strict=True)):
        if now.saw is None:
            break
        laws.step(was.command, now.saw)
        if change is None and was.saw is not None and different(was.saw, now.saw):
            change = Change(at, was.saw, now.saw)
    failure = None if finding is None else _failure(trace, target, finding)
    return Outcome(trace, target.name, len(trace.steps), failure, change, hazards & laws.broken.keys())


def different(was: list[Observation], now: list[Observation]) -> bool:
    return different_at(was, now) < max(len(was), len(now))


def _failure(trace: Trace, target: Target, finding: Finding) -> Failure:
    profile, setup = set_up(trace)
    short = recorded(target, profile, setup, finding.commands, seed=trace.header.seed)
    return Failure(finding, profile, setup, target.name, trace.header.seed, short, short)
