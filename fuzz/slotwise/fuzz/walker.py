"""The walker: many short seeded episodes against a target, judged step by step, leaning to the rule that has decided least.

Same target, profile, seed and steps: same everything, and the same digest. (With `seconds`, only how far it gets varies.)
"""
from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

from slotwise.fuzz import floors
from slotwise.fuzz.judges import Finding, compared, described, first_difference, judge
from slotwise.fuzz.lean import Lean
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.report import Failure, Report
from slotwise.fuzz.searches import search_of
from slotwise.fuzz.shrink import shrink as shrunk
from slotwise.fuzz.swarm import HALF, Swarm, seed_of
from slotwise.fuzz.target import Stepper, Target, gives_audit, gives_state, wants_close
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.vocabulary import Observation

#: Steps of an episode, before it is drained (three times as many where an episode is to be long). Measured on seeded faults: 10 to 30 find
#: one in 570 steps on average, 15 to 240 in 890, 120 to 480 in 1,800; but some rules need a past.
LENGTHS = (10, 15, 15, 20, 20, 30, 30, 45, 60, 120)
DRAIN_AT_MOST = 150
STATE_EVERY = 64
TWICE_EVERY = 20                 # episodes: one is played twice


@dataclass(slots=True)
class Episode:
    """One episode, played."""

    seed: int
    profile: Any
    setup: Any
    commands: list[Any] = field(default_factory=list)
    seen: list[list[Observation]] = field(default_factory=list)
    decided: list[str] = field(default_factory=list)              # rules, in order
    broken: list[str] = field(default_factory=list)               # laws
    suspect: bool = False                                         # something is wrong with the last step: `judge` says what

    @property
    def capacity(self) -> dict[str, int]:
        """Of admission."""
        assert isinstance(self.setup, dict)
        return self.setup


def play(target: Target, profile: Any, seed: int, *, vary: bool = False, hazards: frozenset[str] = frozenset()) -> Episode:
    """Play one episode. It ends at the first thing that looks wrong."""
    choose, search = Swarm(seed), search_of(profile)
    model = search.generate.begin(profile, target.commands, choose, vary=vary, plain=not target.follows(profile))
    profile, setup = model.profile, model.setup
    times = 3 if model.long else 1
    length, drains = times * choose.one_of(LENGTHS, "length"), choose.one_of((True, True, False), "drain")
    episode = Episode(seed, profile, setup)
    laws = search.mechanism.new_judge(profile if target.follows(profile) else None, setup)
    if not search.own_book:
        model.book = laws.book
    draw, drain, follow = search.generate.draw, search.generate.drain, model.book.update if search.own_book else None
    reference = Reference(profile, setup) if compared(target, profile) else None
    stepper = target.make(profile, setup)
    try:
        recorder = reference or (stepper if isinstance(stepper, Reference) else None)
        decided: list[str] = recorder.decided if recorder is not None else []
        for number in range(1, length + (DRAIN_AT_MOST if drains else 0) + 1):
            command = draw(model, choose) if number <= length else drain(model)
            if command is None:
                break
            if not _step(episode, command, reference, stepper, laws, hazards, decided):
                return episode
            if follow is not None:
                follow(command, episode.seen[-1])
            if number % STATE_EVERY == 0 and not _same_inside(reference, stepper):
                break
        episode.suspect = not _same_inside(reference, stepper)
    finally:
        if wants_close(stepper):
            stepper.close()
    return episode


def _step(episode: Episode, command: Any, reference: Reference | None, stepper: Stepper, laws: Any, hazards: frozenset[str], decided: list[str]) -> bool:
    """Do one step of an episode. False: it ends here."""
    episode.commands.append(command)
    if reference is not None:
        expected = reference.step(command)
        episode.decided += decided
    try:
        found = stepper.step(command)
    except Exception as error:
        episode.seen.append([(described(error),)])
        episode.suspect = True
        return False
    if reference is None:
        episode.decided += decided
    elif expected != found:
        episode.seen.append(found)
        episode.suspect = True
        return False
    episode.seen.append(found)
    for broken in laws.step(command, found):
        episode.broken.append(broken.law)
        if broken.law not in hazards:
            episode.suspect = True
            return False
    return True


def _same_inside(reference: Reference | None, stepper: Stepper) -> bool:
    if reference is not None and gives_state(stepper):
        theirs = stepper.state()
        if any(key in theirs and theirs[key] != value for key, value in reference.state().items()):
            return False
    return not (gives_audit(stepper) and stepper.audit())


def again(target: Target, episode: Episode) -> Finding | None:
    """Play its commands on a fresh target: is the same seen?"""
    stepper = target.make(episode.profile, episode.setup)
    try:
        for number, (command, before) in enumerate(zip(episode.commands, episode.seen, strict=True)):
            try:
                found = stepper.step(command)
            except Exception as error:
                found = [(described(error),)]
            if found != before:
                message = f"played twice, not the same was seen: {first_difference(before, found)}"
                return Finding("nondeterminism", "nondeterminism", number, tuple(episode.commands[: number + 1]), before, found, message)
    finally:
        if wants_close(stepper):
            stepper.close()
    return None


def diagnose(target: Target, episode: Episode, hazards: frozenset[str]) -> Finding:
    """What is wrong with a suspect episode: the first thing, looking at states after every step, and within the last one if it can be taken apart."""
    finding = judge(target, episode.profile, episode.setup, episode.commands, state_every=1, hazards=hazards)
    if finding is None:
        at = len(episode.commands) - 1
        return again(target, episode) or Finding("nondeterminism", "nondeterminism", at, tuple(episode.commands), None, episode.seen[-1],
                                                 "something was wrong at this step, and nothing is when it is played again")
    finer = search_of(episode.profile).blame.in_finer_steps(finding) if finding.kind == "divergence" and finding.expected and finding.found else None
    if finer is not None:
        earlier = judge(target, episode.profile, episode.setup, finer, state_every=1, hazards=hazards)
        if earlier is not None and earlier.kind == "divergence" and earlier.at < len(finer) - 1:
            return earlier
    return finding


def failure_of(target: Target, episode: Episode, finding: Finding) -> Failure:
    trace = recorded(target, episode.profile, episode.setup, finding.commands, seed=episode.seed)
    return Failure(finding, episode.profile, episode.setup, target.name, episode.seed, trace, trace)


def run_episode(target: Target, profile: Any, seed: int, *, vary: bool = False) -> Failure | None:
    """Play one episode alone, by the seed that a failure names."""
    hazards = mechanism_of(profile).hazards(profile)
    episode = play(target, profile, seed, vary=vary, hazards=hazards)
    return failure_of(target, episode, diagnose(target, episode, hazards)) if episode.suspect else None


def campaign(target: Target, profile: Any, *, steps: int | None = None, seconds: float | None = None, seed: int = 0, vary: bool = False,
             shrink: bool = True, most: int = 1, floors_count: bool = True, hazards: frozenset[str] | None = None,
             lean: Lean | None = None, progress: Callable[[Report], None] | None = None) -> Report:
    """Play episodes until so many steps or seconds are done, or so many (`most`) different failures are found.
    Laws in `hazards` (default: those the profile is known to break) are counted and are no failures. `lean` knows how to reach rare rules. `progress` is called some ten times a second.
    Raises ValueError without steps or seconds."""
    if steps is None and seconds is None:
        raise ValueError("how long? give steps or seconds")
    mechanism = mechanism_of(profile)
    hazards = mechanism.hazards(profile) if hazards is None else hazards
    report = Report(target.name, profile.name, seed, compared(target, profile), mechanism.name)
    claimed = report.equality or target.name == "reference"
    hits: Counter[str] = Counter({rule.id: 0 for rule in floors.rules_of(profile)} if claimed else {})
    lean, random, digest = lean or Lean(floors.tilts_of(profile.name, mechanism.name)), Random(f"{seed}/{profile.name}"), sha256()
    keys: set[tuple[str, str]] = set()
    begun = told = time.perf_counter()
    while (steps is None or report.steps < steps) and (seconds is None or report.seconds < seconds) and len(keys) < most:
        tilt = lean.tilt(hits, random)
        episode = play(target, profile, seed_of(tilt, random.randrange(HALF)), vary=vary, hazards=hazards)
        report.episodes += 1
        report.steps += len(episode.commands)
        report.hazards.update(law for law in episode.broken if law in hazards)
        reached = Counter(episode.decided)
        if any(not hits[rule] for rule in reached):
            report.new_at = report.steps
        hits.update(reached)
        lean.learn(tilt, reached, len(episode.commands))
        digest.update(repr(episode.seen).encode())
        finding = diagnose(target, episode, hazards) if episode.suspect else again(target, episode) if report.episodes % TWICE_EVERY == 1 else None
        if finding is not None and finding.key not in keys:
            keys.add(finding.key)
            report.new_at = report.steps
            failure = failure_of(target, episode, finding)
            report.failures.append(shrunk(target, failure) if shrink else failure)
        now = time.perf_counter()
        report.seconds = now - begun
        if progress is not None and now - told > 0.1:
            told = now
            report.rules = _of_profile(hits, profile)
            progress(report)
    report.rules, report.digest = _of_profile(hits, profile), digest.hexdigest()
    if floors_count and claimed and not report.failures and not vary:
        report.floors_missed = floors.missed(profile, report.rules, report.steps)
    return report


def _of_profile(hits: Counter[str], profile: Any) -> dict[str, int]:
    return {rule.id: hits[rule.id] for rule in floors.rules_of(profile) if rule.id in hits}
