"""Which way of choosing reaches which rule best; the rule that has decided least is gone after."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from slotwise.fuzz.swarm import TILTS

#: Of the episodes: they go after the rarest rule. Of the others, a few choose without any tilt.
SHARE, LEVEL = 0.4, 0.1
#: Tilts remembered for each rule.
KEPT = 4
BURST = 3


@dataclass(slots=True)
class Tried:
    """How well a tilt reaches a rule."""

    tilt: int
    hits: int
    steps: int

    @property
    def rate(self) -> float:
        return self.hits / (self.steps + 30)                   # a few lucky steps are no rate


class Lean:
    """Starts with tilts known to be good, by rule. Of each rule it keeps a few that it has tried; one that was only lucky loses its place."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self.tried = {rule: [Tried(tilt, 3, 30)] for rule, tilt in (known or {}).items()}

    def tilt(self, hits: Mapping[str, int], random: Random) -> int:
        """For the next episode, when rules have decided so often."""
        if hits and random.random() < SHARE:
            best = self.best(min(hits, key=hits.__getitem__))
            if best is not None:
                return best
        return random.randrange(TILTS) if random.random() > LEVEL else 0

    def best(self, rule: str) -> int | None:
        tried = self.tried.get(rule)
        return max(tried, key=lambda one: one.rate).tilt if tried else None

    def learn(self, tilt: int, hits: Mapping[str, int], steps: int) -> None:
        """What an episode with that tilt reached. A burst counts for little: what is wanted are episodes that reach the rule."""
        hits = {rule: min(count, BURST) for rule, count in hits.items()}
        for rule, tried in self.tried.items():
            for one in tried:
                if one.tilt == tilt:
                    one.hits += hits.get(rule, 0)
                    one.steps += steps
        for rule, count in hits.items():
            tried = self.tried.setdefault(rule, [])
            if any(one.tilt == tilt for one in tried):
                continue
            if len(tried) < KEPT:
                tried.append(Tried(tilt, count, steps))
            else:
                worst = min(range(KEPT), key=lambda i: tried[i].rate)
                if count > tried[worst].rate * (steps + 30):
                    tried[worst] = Tried(tilt, count, steps)
