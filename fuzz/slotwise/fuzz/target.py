"""A target is anything that can be stepped: ours, a published package, or a user's own scheduler, in process or behind a pipe."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, runtime_checkable

from slotwise.spec.mechanisms import MECHANISMS, mechanism_of
from slotwise.spec.vocabulary import Observation, State


class Stepper(Protocol):
    """One scheduler or collector, set up and ready. `step` does one command and says what was seen, in the words of its mechanism."""

    def step(self, command: Any, /) -> list[Observation]: ...


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


# The same questions as `isinstance`, which takes as long for a protocol as several steps do.
def gives_state(stepper: Stepper) -> TypeGuard[HasState]:
    return callable(getattr(stepper, "state", None))


def gives_audit(stepper: Stepper) -> TypeGuard[HasAudit]:
    return callable(getattr(stepper, "audit", None))


def wants_close(stepper: Stepper) -> TypeGuard[HasClose]:
    return callable(getattr(stepper, "close", None))


#: Profile and setup; of admission, the capacity.
Factory = Callable[[Any, Any], Stepper]


@dataclass(frozen=True, slots=True)
class Target:
    """How to set one up, the commands that it knows, the profiles whose rules it claims to follow exactly, and the mechanisms that it is of."""

    name: str
    make: Factory
    commands: frozenset[str] = frozenset()           # none: all of its mechanisms
    claims: Callable[[Any], bool] = lambda profile: True
    mechanisms: tuple[str, ...] = ("admission",)

    def __post_init__(self) -> None:
        if not self.commands:
            object.__setattr__(self, "commands", frozenset(word for name in self.mechanisms for word in MECHANISMS[name].commands))

    def follows(self, profile: Any) -> bool:
        """Does it claim to follow the rules of this profile, of one of its mechanisms?"""
        return mechanism_of(profile).name in self.mechanisms and self.claims(profile)


class TargetError(RuntimeError):
    """A target that cannot be loaded, set up or reached, or that answered with something that is no list of observations."""
