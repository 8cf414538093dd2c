"""The specification as a target: the one that the others are compared with. Any copy of the spec will do, a mutant's too."""
from __future__ import annotations

from copy import deepcopy
from types import ModuleType
from typing import Any

from slotwise.fuzz.target import Target
from slotwise.spec.mechanisms import MECHANISMS, mechanism_of
from slotwise.spec.vocabulary import Observation, State


class Reference:
    """`spec` is the last rule module of the profile's mechanism, or a copy of it. Raises ValueError for a capacity below 1."""

    __slots__ = ("_spec", "decided", "model", "step_")

    def __init__(self, profile: Any, setup: Any, spec: ModuleType | None = None) -> None:
        mechanism = mechanism_of(profile)
        self._spec: Any = spec or mechanism.spec
        self.model = mechanism.make(self._spec, profile, mechanism.set_up(setup))
        self.step_ = self._spec.step
        self.decided: list[str] = self._spec.decided         # by the last step of any model of this spec, in order

    @classmethod
    def of(cls, profile: Any, model: Any) -> Reference:
        """Around a model that there is already."""
        found = object.__new__(cls)
        found._spec = mechanism_of(profile).spec
        found.model, found.step_, found.decided = model, found._spec.step, found._spec.decided
        return found

    def step(self, command: Any) -> list[Observation]:
        observations: list[Observation] = self.step_(self.model, command)
        return observations

    def state(self) -> State:
        state: State = self._spec.state(self.model)
        return state

    def clone(self) -> Reference:
        twin = object.__new__(Reference)
        twin._spec, twin.step_, twin.decided = self._spec, self.step_, self.decided
        twin.model = deepcopy(self.model)
        return twin


TARGET = Target("reference", Reference, mechanisms=tuple(MECHANISMS))
