"""The specification as a target: the one that the others are compared with. Any copy of the spec will do, a mutant's too."""
from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import Any

from slotwise.fuzz.target import Target
from slotwise.spec import admission
from slotwise.spec.vocabulary import Command, Observation, Profile, State


class Reference:
    """`spec` is the module `slotwise.spec.admission`, or a copy of it. Raises ValueError for a capacity below 1."""

    __slots__ = ("_spec", "decided", "model", "step_")

    def __init__(self, profile: Profile, capacity: dict[str, int], spec: ModuleType = admission) -> None:
        self._spec: Any = spec
        self.model = self._spec.admission(profile, capacity)
        self.step_ = self._spec.step
        self.decided: list[str] = self._spec.decided         # by the last step of any scheduler of this spec, in order

    def step(self, command: Command) -> list[Observation]:
        observations: list[Observation] = self.step_(self.model, command)
        return observations

    def state(self) -> State:
        state: State = self._spec.state(self.model)
        return state

    def clone(self) -> Reference:
        twin = object.__new__(Reference)
        twin._spec, twin.step_, twin.decided = self._spec, self.step_, self.decided
        queue, ledger = _copied(self.model.queue), _copied(self.model.ledger)
        discipline = _copied(self.model.discipline, queue=queue, ledger=ledger)
        twin.model = dataclasses.replace(self.model, queue=queue, ledger=ledger, discipline=discipline)
        return twin


def _copied(record: Any, **parts: Any) -> Any:
    """A record with its own containers, and with `parts` in place of its fields of those names."""
    for field in record.__dataclass_fields__:
        if field not in parts:
            parts[field] = _own(getattr(record, field))
    return type(record)(**parts)


def _own(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _own(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_own(inner) for inner in value]
    if isinstance(value, set):
        return set(value)
    parameters = getattr(value, "__dataclass_params__", None)
    return value if parameters is None or parameters.frozen else _copied(value)


TARGET = Target("reference", Reference)
