"""Which way of choosing reaches which rule best; the rule that has decided least is gone after."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from random import Random

from slotwise.fuzz.swarm import TILTS

#: Of the episodes: they go after the rarest rule. Of the others, a few choose without any tilt.
SHARE, LEVEL = 0.4, 0.1
#: Tilts remembered for each rule.
KEPT = 4
BURST = 3


@dataclass(slots=True, eq=False)
class Tried:
    """How well a tilt reaches a rule."""

    tilt: int
    hits: int
    steps: int
    rate: float = field(init=False)

    def __post_init__(self) -> None:
        self.again(0, 0)

    def again(self, hits: int, steps: int) -> None:
        self.hits += hits
        self.steps += steps
        self.rate = self.hits / (self.steps + 30)              # a few lucky steps are no rate


_rate = attrgetter("rate")


class Lean:
    """Starts with tilts known to be good, by rule. Of each rule it keeps a few that it has tried; one that was only lucky loses its place."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.tried = {rule: [Tried(tilt, 3, 30)] for rule, tilt in (known or {}).items()}
        self._known: dict[int, dict[str, Tried]] = {}          # tilt -> rule -> the same
        for rule, [one] in self.tried.items():
            self._known.setdefault(one.tilt, {})[rule] = one

    def tilt(self, hits: Mapping[str, int], random: Random) -> int:
        """For the next episode, when rules have decided so often."""
        if hits and random.random() < SHARE:
            best = self.best(min(hits, key=hits.__getitem__))
            if best is not None:
                return best
        return random.randrange(TILTS) if random.random() > LEVEL else 0

    def best(self, rule: str) -> int | None:
        tried = self.tried.get(rule)
        return max(tried, key=_rate).tilt if tried else None

    def learn(self, tilt: int, hits: Mapping[str, int], steps: int) -> None:
        """What an episode with that tilt reached. A burst counts for little: what is wanted are episodes that reach the rule."""
        hits = {rule: min(count, BURST) for rule, count in hits.items()}
        known = self._known.setdefault(tilt, {})
        for rule, one in known.items():
            one.again(hits.get(rule, 0), steps)
        for rule, count in hits.items():
            if rule in known:
                continue
            tried = self.tried.setdefault(rule, [])
            if len(tried) < KEPT:
                tried.append(new := Tried(tilt, count, steps))
            else:
                worst = min(tried, key=_rate)
                if count <= worst.rate * (steps + 30):
                    continue
                tried[tried.index(worst)] = new = Tried(tilt, count, steps)
                del self._known[worst.tilt][rule]
                if not self._known[worst.tilt]:
                    del self._known[worst.tilt]
            known[rule] = new
        if not known:
            del self._known[tilt]
