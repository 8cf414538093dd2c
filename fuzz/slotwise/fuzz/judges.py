"""The two judges over a fixed list of commands. Equality: the reference under the same profile sees and becomes the same. Laws: always.

`judge` plays the list and says what is wrong first, which rule or law it comes down to, and where.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slotwise.fuzz.reference import Reference
from slotwise.fuzz.searches import Search, search_of
from slotwise.fuzz.target import Stepper, Target, TargetError, gives_audit, gives_state, wants_close
from slotwise.spec.vocabulary import Observation, State

#: A command that depends on what was seen so far, by the book; None: nothing to do.
Later = Callable[[Any], Any]
KINDS = ("divergence", "law", "audit", "crash", "nondeterminism")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong first in a list of commands."""

    kind: str                                      # one of KINDS
    rule: str                                      # the rule or law that it comes down to
    at: int                                        # index of the command
    commands: tuple[Any, ...]                      # up to and with that one
    expected: list[Observation] | None             # by the reference, where there is one
    found: list[Observation] | None                # None: it did not answer
    message: str                                   # one line
    states: tuple[State, State] | None = None      # the reference's and the target's, after that command

    @property
    def key(self) -> tuple[str, str]:
        """Two findings of one key are the same failure. A crash is a crash, and an audit an audit, whatever the rule."""
        return (self.kind, self.rule if self.kind in ("divergence", "law") else "")


def compared(target: Target, profile: Any) -> bool:
    """Is the target judged by equality? The reference is not compared with itself."""
    return target.name != "reference" and target.follows(profile)


def judge(target: Target, profile: Any, setup: Any, commands: Iterable[Any], *,
          state_every: int = 64, hazards: frozenset[str] = frozenset(), laws: bool = True, blame: bool = True) -> Finding | None:
    """Play `commands` and return what is wrong first, or None. Laws in `hazards` may break. `state_every` 0: states at the end only.
    Without `blame` the rule behind a divergence is not looked for."""
    reference = Reference(profile, setup) if compared(target, profile) else None
    search = search_of(profile)
    stepper = target.make(profile, setup)
    try:
        finding = _play(stepper, reference, search, search.mechanism.new_judge(profile if target.follows(profile) else None, setup), commands, state_every, hazards, laws)
    finally:
        if wants_close(stepper):
            stepper.close()
    if blame and finding is not None and finding.kind == "divergence" and not finding.rule:
        return replace(finding, rule=search.blame.blamed(target, profile, setup, finding.commands, finding.expected or (), finding.found or ()))
    return finding


def _play(stepper: Stepper, reference: Reference | None, search: Search, laws: Any,
          commands: Iterable[Any], state_every: int, hazards: frozenset[str], judged: bool) -> Finding | None:
    done: list[Any] = []
    book = laws.book
    for planned in commands:
        command = planned(book) if callable(planned) else planned
        if command is None:
            continue
        done.append(command)
        expected = reference.step(command) if reference is not None else None
        decided = list(reference.decided) if reference is not None else []
        try:
            found = stepper.step(command)
        except Exception as error:
            rule = decided[-1] if decided else "crash"
            return Finding("crash", rule, len(done) - 1, tuple(done), expected, None, f"the target failed: {described(error)}")
        if expected is not None and expected != found:
            return Finding("divergence", "", len(done) - 1, tuple(done), expected, found, first_difference(expected, found), _states(reference, stepper))
        if judged:
            for broken in laws.step(command, found):
                if broken.law not in hazards:
                    return Finding("law", broken.law, len(done) - 1, tuple(done), expected, found, broken.message, _states(reference, stepper))
        elif not search.own_book:
            book.update(command, found)
        if state_every and len(done) % state_every == 0:
            wrong = inside(search, reference, stepper, decided, done, expected, found)
            if wrong is not None:
                return wrong
    return inside(search, reference, stepper, decided, done, expected, found) if done else None


def inside(search: Search, reference: Reference | None, stepper: Stepper, decided: Sequence[str], done: Sequence[Any],
           expected: list[Observation] | None, found: list[Observation]) -> Finding | None:
    """Compare states, in the keys that both give, and audit."""
    if reference is not None and gives_state(stepper):
        ours, theirs = reference.state(), stepper.state()
        keys = [key for key in ours if key in theirs and ours[key] != theirs[key]]
        if keys:
            message = f"the same was seen, but the states differ in {', '.join(keys)}"
            return Finding("divergence", search.blame.blamed_for_state(keys, decided), len(done) - 1, tuple(done), expected, found, message, (ours, theirs))
    wrong = stepper.audit() if gives_audit(stepper) else []
    if wrong:
        return Finding("audit", decided[-1] if decided else "audit", len(done) - 1, tuple(done), expected, found, f"audit: {wrong[0]}", _states(reference, stepper))
    return None


def _states(reference: Reference | None, stepper: Stepper) -> tuple[State, State] | None:
    return (reference.state(), stepper.state()) if reference is not None and gives_state(stepper) else None


def described(error: Exception) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, TargetError) else f"{type(error).__name__}: {text}"


def first_difference(expected: Sequence[Observation], found: Sequence[Observation]) -> str:
    number = different_at(expected, found)
    return f"expected {_word(expected, number)}, found {_word(found, number)}"


def different_at(expected: Sequence[Observation], found: Sequence[Observation]) -> int:
    """The index of the first observation that differs."""
    return next((i for i, (one, other) in enumerate(zip(expected, found, strict=False)) if one != other), min(len(expected), len(found)))


def _word(saw: Sequence[Observation], number: int) -> str:
    if number >= len(saw):
        return "nothing more"
    word, *rest = saw[number]
    return " ".join([str(word), *(" ".join(f"{units} {resource}" for resource, units in part.items()) if isinstance(part, dict) else plainly(part) for part in rest)])


def plainly(part: object) -> str:
    """A name, a number, a list of names, or none."""
    if isinstance(part, list | tuple):
        return f"[{' '.join(map(plainly, part))}]"
    return "none" if part is None else str(part)
