"""Is the spec's every mistake noticed? Each mutant of the rules is run in lockstep with the engine until their answers differ.

The engine's answers depend on the commands alone, so they are recorded once: a *corpus* of episodes at fixed seeds, under every
profile, half of them with varied parameters (of some mechanisms, switches too). A mutant that answers otherwise, whose state differs, or that raises, is *killed*. No law
has to be asked besides: the engine's answers keep all of them, so whoever breaks one differs. Time never kills: a mutant that goes
round a loop without end is *endless*, and counted apart.
"""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from slotwise.fuzz import exits, mutants, targets
from slotwise.fuzz.mutants import Copy, Endless, Mutant
from slotwise.fuzz.processes import side_by_side
from slotwise.fuzz.searches import search_of
from slotwise.fuzz.swarm import HALF, Swarm, seed_of
from slotwise.fuzz.target import Target, TargetError
from slotwise.spec.batching_vocabulary import LookAhead, Shipped
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import PROFILES, BoundedBorrow, Observation, SlotTime, State, Strict

EQUIVALENTS = Path(__file__).with_name("equivalents.json")
FLOOR = 0.90
MOST_EQUIVALENT = 0.10
#: For each profile.
EPISODES = 500
STEPS = 60
STATE_EVERY = 8

#: The disciplines that run a module's code; of other modules, all.
REACHED: dict[str, tuple[type, ...]] = {
    "strict": (Strict, BoundedBorrow), "bounded_borrow": (BoundedBorrow,), "slot_time": (SlotTime,),
    **{module: (Shipped,) if module.startswith("aws_durable") else (LookAhead,) for module in MECHANISMS["batching"].rules[1:-1]},
}  # fmt: skip


@dataclass(slots=True)
class Episode:
    profile: Any
    setup: Any
    commands: list[Any] = field(default_factory=list)
    saw: list[list[Observation]] = field(default_factory=list)
    states: dict[int, State] = field(default_factory=dict)       # after the step of that number


@dataclass(frozen=True, slots=True)
class Outcome:
    mutant: Mutant
    verdict: str                 # killed, survived, endless; unviable: it cannot even be loaded
    by: str = ""                 # what gave it away
    steps: int = 0               # until then


def corpus(target: Target, episodes: int = EPISODES, seed: int = 1, mechanism: str = "admission") -> list[Episode]:
    """What the target answers: so many episodes for each profile, turn by turn. Raises TargetError if the rules as they are answer otherwise."""
    random = Random(seed)
    found = [record(target, profile, seed_of(random.randrange(HALF), number), vary=number % 2 == 1) for number in range(episodes) for profile in MECHANISMS[mechanism].profiles.values()]
    unchanged = mutants.load(mechanism=mechanism)
    for episode in found:
        if difference := lockstep(unchanged, episode):
            raise TargetError(f"{target.name} and the rules as they are differ under {episode.profile.name}, in the {difference[1]}: nothing can be said of mutants")
    return found


def record(target: Target, profile: Any, seed: int, *, vary: bool) -> Episode:
    choose, search = Swarm(seed), search_of(profile)
    if vary and hasattr(search.generate, "switched"):
        profile = search.generate.switched(profile, choose)
    model = search.generate.begin(profile, search.mechanism.commands, choose, vary=vary)
    episode = Episode(model.profile, model.setup)
    scheduler: Any = target.make(episode.profile, episode.setup)
    for number in range(STEPS):
        command = search.generate.draw(model, choose)
        saw = scheduler.step(command)
        model.book.update(command, saw)
        episode.commands.append(command)
        episode.saw.append(saw)
        if number % STATE_EVERY == 0 or number == STEPS - 1:
            episode.states[number] = scheduler.state()
    return episode


def lockstep(rules: Copy, episode: Episode) -> tuple[int, str] | None:
    """The first step at which a copy of the rules differs from what was recorded, and how. Raises Endless."""
    number = -1
    try:
        scheduler = rules.model(episode.profile, episode.setup)
        for number, command in enumerate(episode.commands):
            if rules.step(scheduler, command) != episode.saw[number]:
                return number, "observations"
            if number in episode.states and rules.state(scheduler) != episode.states[number]:
                return number, "state"
    except Endless:
        raise
    except Exception as error:
        return max(number, 0), f"raised {type(error).__name__}"
    return None


def refuses_no_capacity(rules: Copy) -> bool:
    """A capacity below 1 is refused when a scheduler is made; no episode has one."""
    for units in (0, -1):
        try:
            rules.admission(PROFILES["slotwise"], {"r": units})
        except ValueError:
            continue
        return False
    return True


def judge(mutant: Mutant, episodes: Sequence[Episode]) -> Outcome:
    try:
        rules = mutants.load(mutant)
    except Exception as error:
        return Outcome(mutant, "unviable", type(error).__name__)
    steps = 0
    try:
        if rules.mechanism.name == "admission" and not refuses_no_capacity(rules):
            return Outcome(mutant, "killed", "observations")
        for episode in episodes:
            if isinstance(episode.profile.discipline, REACHED.get(mutant.module, (object,))):
                if difference := lockstep(rules, episode):
                    return Outcome(mutant, "killed", difference[1], steps + difference[0] + 1)
                steps += len(episode.commands)
    except Endless:
        return Outcome(mutant, "endless", steps=steps)
    return Outcome(mutant, "survived", steps=steps)


_corpus: list[Episode] = []                  # of a worker process


def _begin(target: str, episodes: int, mechanism: str) -> None:
    _corpus.extend(corpus(targets.load(target), episodes, mechanism=mechanism))


def _judge(mutant: Mutant) -> Outcome:
    return judge(mutant, _corpus)


def outcomes(chosen: Sequence[Mutant], target: str = "native", *, workers: int = 2, episodes: int = EPISODES, mechanism: str = "admission") -> Iterator[Outcome]:
    """Every mutant's, in order. What comes does not depend on the number of workers."""
    yield from side_by_side(_judge, chosen, workers, _begin, (target, episodes, mechanism))


@dataclass(slots=True)
class Report:
    """How many mutants were noticed. `score` leaves out those that are listed as equivalent, and those that cannot be loaded."""

    outcomes: list[Outcome]
    equivalents: dict[str, str]                          # key -> reason
    whole: bool                                          # all mutants were run, not a sample
    mechanism: str = "admission"

    def of(self, verdict: str) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.verdict == verdict]

    @property
    def survivors(self) -> list[Outcome]:
        """Those not listed, the endless ones included: nobody has noticed them."""
        return [outcome for outcome in self.of("survived") + self.of("endless") if outcome.mutant.key not in self.equivalents]

    @property
    def score(self) -> float:
        killed = len(self.of("killed"))
        return killed / (killed + len(self.survivors)) if self.outcomes else 0.0

    @property
    def exit(self) -> int:
        return exits.MUTATION_FLOOR if self.score < FLOOR or self.wrong() else exits.CLEAN

    def to_json(self) -> dict[str, object]:
        return {
            "mechanism": self.mechanism, "side": "spec", "mutants": len(self.outcomes), "killed": len(self.of("killed")), "equivalent": len(self.equivalents),
            "endless": len(self.of("endless")), "unviable": len(self.of("unviable")), "score": round(self.score, 4), "floor": FLOOR,
            "rules": {rule: {"killed": killed, "of": counted} for rule, (killed, counted) in self.by_rule().items()},
            "survivors": [outcome.mutant.key for outcome in self.survivors], "wrong": self.wrong(),
        }  # fmt: skip

    def by_rule(self) -> dict[str, tuple[int, int]]:
        """rule, or helper function -> killed, and counted."""
        killed = Counter(outcome.mutant.rule for outcome in self.of("killed"))
        counted = killed + Counter(outcome.mutant.rule for outcome in self.survivors)
        return {rule: (killed[rule], counted[rule]) for rule in dict.fromkeys(outcome.mutant.rule for outcome in self.outcomes)}

    def wrong(self) -> list[str]:
        """What is wrong with the list of equivalents, a line each."""
        keys = {outcome.mutant.key for outcome in self.outcomes}
        lines = [f"listed as equivalent, but killed: {o.mutant.key}" for o in self.of("killed") if o.mutant.key in self.equivalents]
        lines += [f"listed as equivalent without a reason: {key}" for key, reason in self.equivalents.items() if not reason.strip()]
        if self.whole:
            lines += [f"listed as equivalent, but there is no such mutant: {key}" for key in self.equivalents if key not in keys]
            if len(self.equivalents) > MOST_EQUIVALENT * len(self.outcomes):
                lines.append(f"{len(self.equivalents)} of {len(self.outcomes)} mutants are listed as equivalent, more than {MOST_EQUIVALENT:.0%}")
        return lines


def equivalents(mechanism: str = "admission") -> dict[str, str]:
    found: dict[str, str] = json.loads(EQUIVALENTS.read_text("utf-8"))
    return {key: reason for key, reason in found.items() if key.split(".")[0] in MECHANISMS[mechanism].rules}


def run(target: str = "native", *, every: int = 1, workers: int = 2, episodes: int = EPISODES, progress: Callable[[int, int], None] | None = None,
        mechanism: str = "admission") -> Report:
    """All mutants, or each `every`-th. Raises TargetError."""
    corpus(targets.load(target), 1, mechanism=mechanism)
    chosen = mutants.mutants(MECHANISMS[mechanism].rules[1:])[::every]
    found: list[Outcome] = []
    for outcome in outcomes(chosen, target, workers=workers, episodes=episodes, mechanism=mechanism):
        found.append(outcome)
        if progress is not None:
            progress(len(found), len(chosen))
    return Report(found, equivalents(mechanism), every == 1, mechanism)
