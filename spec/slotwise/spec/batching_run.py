"""What came of a scenario of durable work: its requests, when user code went on, and all commands with what they showed."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256

import msgspec

from slotwise.spec import batching_vocabulary as v
from slotwise.spec import trace
from slotwise.spec.batching_scenarios import Scenario


@dataclass(slots=True)
class Call:
    """A request."""

    at: int
    updates: int
    refreshes: int
    in_vain: bool = False        # nothing but refreshes, and nothing was done


@dataclass(slots=True)
class Run:
    """What came of a scenario. Times are nanoseconds of the local clock."""

    scenario: Scenario
    profile: v.Profile
    engine: str
    calls: list[Call] = field(default_factory=list)
    result: str = "blocked"                      # of the handler: done, failed, refused: why, suspended; blocked if it hangs
    until: int | None = None                     # suspended until: the service's stamp, or a local time
    handler: int | None = None                   # when it returned
    exit: int | None = None                      # when the collector ended
    reached: dict[str, int] = field(default_factory=dict)        # when user code first went on with an attempt ("op#tries")
    ends: dict[str, int] = field(default_factory=dict)           # the service's stamp of each attempt's scheduled end
    steps: list[trace.Step] = field(default_factory=list)        # all commands, and what was seen
    rules: Counter[str] = field(default_factory=Counter)         # that decide in the program: how often each did

    @property
    def resumes(self) -> dict[str, int]:
        """By attempt: from its scheduled end until it went on."""
        return {attempt: self.reached[attempt] + self.scenario.service.ahead - end for attempt, end in self.ends.items() if attempt in self.reached}

    @property
    def tail(self) -> int | None:
        """From the handler's return to the collector's end."""
        return None if self.handler is None or self.exit is None else max(0, self.exit - self.handler)

    def lines(self) -> list[bytes]:
        return [msgspec.json.encode([step.command, step.saw]) for step in self.steps]

    @property
    def digest(self) -> str:
        return sha256(b"\n".join(self.lines())).hexdigest()

    def as_json(self) -> dict[str, object]:
        resumes = self.resumes.values()
        return {
            "scenario": self.scenario.name, "profile": self.profile.name, "engine": self.engine, "result": self.result,
            "wall_s": None if self.handler is None else self.handler / v.SECOND, "calls": len(self.calls), "updates": sum(call.updates for call in self.calls),
            "calls_in_vain": sum(call.in_vain for call in self.calls), "resume_after_due_s": max(resumes) / v.SECOND if resumes else None,
            "tail_s": None if self.tail is None else self.tail / v.SECOND, "digest": self.digest,
        }  # fmt: skip

    def trace(self) -> trace.Trace:
        setup = v.Setup(hint=self.scenario.service.hint)
        return trace.Trace(trace.header(self.profile, setup, targets=(self.engine,), note=f"scenario {self.scenario.name}"), list(self.steps))
