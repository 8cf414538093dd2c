"""The shrinker: a shorter list of commands that fails in the same way (same kind; same rule or law).

It works on commands. First commands go, then tasks (`shrink_passes`); then arguments, times, capacity, profile and names become simpler; again,
until nothing more does.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz import shrink_passes
from slotwise.fuzz.judges import Finding, judge
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.report import Failure
from slotwise.fuzz.searches import set_up
from slotwise.fuzz.shrink_case import Case, Failing, Op, leaning
from slotwise.fuzz.target import Target
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.trace import Trace

#: Rounds of all passes in which numbers may still fall, but no command goes.
ROUNDS = 8
#: Seconds in which a trace must be short, if nothing else is said. It usually takes less than one.
SECONDS = 20.0


class Shrinker(Failing):
    """Makes the case smaller, pass by pass."""

    def run(self) -> Finding:
        idle = 0
        while not self.late and idle < ROUNDS:
            before = len(self.case.ops)
            if not self.once():
                break
            idle = idle + 1 if len(self.case.ops) == before else 0
        return self.finding

    def once(self) -> bool:
        """Every pass. True: something became smaller."""
        passes: list[Callable[[], bool]] = [self.coarse, *(partial(getattr(shrink_passes, name), self) for name in self.search.passes)]
        passes.insert(0 if self.key[0] == "law" else len(passes), self.loosen)
        gained = [self.surely(step) for step in (*passes, self.simplify, self.set_up, self.times, self.names)]
        return any(gained)

    # passes for every mechanism: each goes on as long as it gains, and says whether it did
    def loosen(self) -> bool:
        """Releases mean the oldest that runs, so that others may run in the place of those that go."""
        ops = [Op(op.command, oldest=True) if op.lease_of is not None else op for op in self.case.ops]
        return ops != self.case.ops and self.attempt(ops)

    def coarse(self) -> bool:
        """Simpler times and capacities, at one go: what is left has less to lean on."""
        ops = self.case.ops
        gained = any(self.attempt(_with(ops, commands)) for commands in self.search.simpler.simpler_times([op.command for op in ops]))
        return self.set_up() or gained

    def simplify(self) -> bool:
        gained = False
        for at in range(len(self.case.ops)):
            number = 0
            while at < len(self.case.ops) and not self.late:
                op = self.case.ops[at]
                variant = next(islice(self.search.simpler.variants(op.command), number, None), None)
                if variant is None:
                    break
                if self.swap(at, replace(op, command=variant)):
                    gained = True
                else:
                    number += 1
            if at < len(self.case.ops) and (op := self.case.ops[at]).lease_of is not None:
                gained |= self.swap(at, Op(changed(op.command, lease=0)))        # any lease will do
        return gained

    def set_up(self) -> bool:
        gained = False
        while any(self.fails(replace(self.case, profile=profile, setup=setup)) for profile, setup in self.search.simpler.simpler_setups(self.case.profile, self.case.setup)):
            gained = True
        return gained

    def times(self) -> bool:
        gained = False
        for at in range(len(self.case.ops)):
            commands = [op.command for op in self.case.ops]
            for fewer in self.search.simpler.smaller_gaps(commands, at):
                if self.attempt(_with(self.case.ops, fewer)):
                    gained = True
                    break
        return gained

    def names(self) -> bool:
        found = self.search.simpler.simpler_names([op.command for op in self.case.ops])
        if found is None:
            return False
        commands, ids = found
        return self.attempt([replace(op, command=command, lease_of=ids.get(op.lease_of or "", op.lease_of)) for op, command in zip(self.case.ops, commands, strict=True)])


def _with(ops: Sequence[Op], commands: Sequence[Any]) -> list[Op]:
    return [replace(op, command=command) for op, command in zip(ops, commands, strict=True)]


def shrink(target: Target, failure: Failure, *, seconds: float = SECONDS) -> Failure:
    """The same failure on a shorter list of commands; the given one if that cannot be had (nondeterminism can't)."""
    if failure.kind == "nondeterminism":
        return failure
    case = Case(failure.profile, failure.setup, leaning(failure.full.steps, failure.setup))
    shrinker = Shrinker(target, failure.finding, case, seconds)
    finding = shrinker.run()
    profile, setup = shrinker.case.profile, shrinker.case.setup
    trace = recorded(target, profile, setup, finding.commands, seed=failure.seed)
    return replace(failure, finding=finding, profile=profile, setup=setup, trace=trace)


def shrink_trace(target: Target, trace: Trace, *, seconds: float = SECONDS) -> Failure | None:
    """Shrink a trace that fails on a target; None if it does not fail there."""
    profile, setup = set_up(trace)
    hazards = mechanism_of(profile).hazards(profile)
    finding = judge(target, profile, setup, trace.commands, state_every=1, hazards=hazards)
    if finding is None:
        return None
    full = recorded(target, profile, setup, finding.commands, seed=trace.header.seed)
    return shrink(target, Failure(finding, profile, setup, target.name, trace.header.seed, full, full), seconds=seconds)
