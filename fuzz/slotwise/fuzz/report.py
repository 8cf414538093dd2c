"""What a campaign found: failures, what was reached, what it took."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from slotwise.fuzz import exits
from slotwise.fuzz.floors import Missed
from slotwise.fuzz.judges import Finding
from slotwise.spec import trace
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.rules import RULES
from slotwise.spec.trace import Trace
from slotwise.spec.vocabulary import Observation, State

EXITS = {"divergence": exits.DIVERGENCE, "crash": exits.DIVERGENCE, "law": exits.INVARIANT, "audit": exits.INVARIANT, "nondeterminism": exits.NONDETERMINISM}


@dataclass(frozen=True, slots=True)
class Failure:
    """A finding with everything needed to play it again."""

    finding: Finding
    profile: Any
    setup: Any                             # as targets are given it; of admission, the capacity
    target: str
    seed: int | None                       # of its episode; None: it does not come from a search
    trace: Trace                           # up to the failing step; as the reference sees it, else as the target does
    full: Trace                            # as found, before shrinking

    @property
    def kind(self) -> str:
        return self.finding.kind

    @property
    def rule(self) -> str:
        return self.finding.rule

    @property
    def at(self) -> int:
        return self.finding.at

    @property
    def message(self) -> str:
        return self.finding.message

    @property
    def expected(self) -> list[Observation] | None:
        return self.finding.expected

    @property
    def found(self) -> list[Observation] | None:
        return self.finding.found

    @property
    def states(self) -> tuple[State, State] | None:
        return self.finding.states

    @property
    def capacity(self) -> dict[str, int]:
        """Of admission."""
        assert isinstance(self.setup, dict)
        return self.setup

    @property
    def sentence(self) -> str:
        """Of the rule or law; empty where there is none."""
        known = mechanism_of(self.profile).law_book.LAWS.get(self.rule) or RULES.get(self.rule)
        return known.prose if known else ""

    @property
    def exit(self) -> int:
        return EXITS[self.kind]

    def to_json(self) -> dict[str, object]:
        return {"kind": self.kind, "rule": self.rule, "seed": self.seed, "message": self.message, "trace": trace.encode(self.trace).decode()}


@dataclass(slots=True)
class Report:
    target: str
    profile: str
    seed: int
    equality: bool                                                   # judged by the reference too
    mechanism: str = "admission"
    episodes: int = 0
    steps: int = 0
    seconds: float = 0.0
    new_at: int = 0                                                  # its steps when a rule last decided for the first time, or something was found
    rules: dict[str, int] = field(default_factory=dict)              # rule of the profile -> times decided
    failures: list[Failure] = field(default_factory=list)
    hazards: Counter[str] = field(default_factory=Counter)           # law that the profile is known to break -> episodes
    floors_missed: list[Missed] = field(default_factory=list)
    digest: str = ""                                                 # SHA-256 of all that was seen

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.seconds if self.seconds else 0.0

    @property
    def exit(self) -> int:
        """That of the first failure, else of a missed floor, else clean."""
        if self.failures:
            return self.failures[0].exit
        return exits.FLOOR if self.floors_missed else exits.CLEAN

    def to_json(self) -> dict[str, object]:
        return {
            "mechanism": self.mechanism, "target": self.target, "profile": self.profile, "seed": self.seed,
            "episodes": self.episodes, "steps": self.steps, "seconds": round(self.seconds, 3), "steps_per_s": round(self.steps_per_s),
            "rules": dict(self.rules), "divergences": [failure.to_json() for failure in self.failures], "hazards": dict(sorted(self.hazards.items())),
            "floors_missed": [{"rule": m.rule, "hits": m.hits, "floor": m.floor} for m in self.floors_missed], "equality": self.equality, "digest": self.digest, "new_at": self.new_at,
        }  # fmt: skip
