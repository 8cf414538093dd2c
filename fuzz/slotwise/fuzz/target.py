"""A target is anything that can be stepped: ours, a published package, or a user's own scheduler, in process or behind a pipe."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from slotwise.spec.vocabulary import COMMANDS, Command, Observation, Profile, State


class Stepper(Protocol):
    """One scheduler, set up and ready. `step` does one command and says what was seen, in the words of `vocabulary.SEEN`."""

    def step(self, command: Command, /) -> list[Observation]: ...


@runtime_checkable
class HasState(Protocol):
    """Its state, canonical; it may give only some of the keys that the reference has. Looking must not change the scheduler."""

    def state(self) -> State: ...


@runtime_checkable
class HasAudit(Protocol):
    """What is wrong inside, a line each: an entry left behind, an aggregate that is not the sum of its parts. Empty: nothing."""

    def audit(self) -> list[str]: ...


@runtime_checkable
class HasClone(Protocol):
    def clone(self) -> Stepper: ...


@runtime_checkable
class HasClose(Protocol):
    def close(self) -> None: ...


Factory = Callable[[Profile, dict[str, int]], Stepper]


@dataclass(frozen=True, slots=True)
class Target:
    """How to set one up (profile, capacity), the commands that it knows, and the profiles whose rules it claims to follow exactly."""

    name: str
    make: Factory
    commands: frozenset[str] = frozenset(COMMANDS)
    claims: Callable[[Profile], bool] = lambda profile: True


class TargetError(RuntimeError):
    """A target that cannot be loaded, set up or reached, or that answered with something that is no list of observations."""
