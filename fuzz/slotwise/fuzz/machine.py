"""The same search as a Hypothesis state machine: for those who live in pytest, and as a second opinion.

    TestNative = machine(targets.load("native"), PROFILES["slotwise"]).TestCase
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from slotwise.fuzz import generate
from slotwise.fuzz.judges import inside
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import HasClose, Target
from slotwise.spec.laws import KNOWN_HAZARDS, Judge
from slotwise.spec.vocabulary import Command, Observation, Profile

T = TypeVar("T")


class Drawn:
    """Hypothesis chooses."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def one_of(self, options: Sequence[T], label: str) -> T:
        return options[self.data.draw(st.integers(0, len(options) - 1), label=label or None)]

    def integer(self, lo: int, hi: int) -> int:
        return self.data.draw(st.integers(lo, hi))


class Lockstep(RuleBasedStateMachine):
    """Filled in by `machine`."""

    target: Target
    profile: Profile
    model: generate.Model | None = None

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        claims = self.target.claims(self.profile)
        self.model = generate.begin(self.profile, self.target.commands, Drawn(data), plain=not claims)
        self.laws = Judge(self.profile if claims else None, self.model.capacity)
        self.model.book = self.laws.book
        self.reference = Reference(self.profile, self.model.capacity) if claims else None
        self.stepper = self.target.make(self.profile, self.model.capacity)
        self.hazards = KNOWN_HAZARDS.get(self.profile.name, frozenset())
        self.done: list[Command] = []

    def do(self, kind: str, data: st.DataObject) -> None:
        assert self.model is not None
        self.model.then.clear()
        command = generate.DRAW[kind](self.model, Drawn(data))
        self.done.append(command)
        expected: list[Observation] | None = self.reference.step(command) if self.reference else None
        found = self.stepper.step(command)
        assert expected is None or expected == found, f"{command}: expected {expected}, found {found}"
        broken = [one for one in self.laws.step(command, found) if one.law not in self.hazards]
        assert not broken, f"{command}: {broken[0].law}: {broken[0].message}"
        wrong = inside(self.reference, self.stepper, self.reference.decided if self.reference else [], self.done, expected, found)
        assert wrong is None, f"{command}: {wrong.rule}: {wrong.message}"

    def teardown(self) -> None:
        if self.model is not None and isinstance(self.stepper, HasClose):
            self.stepper.close()


def machine(target: Target, profile: Profile) -> type[RuleBasedStateMachine]:
    """One rule per command that the target knows, drawn as the walker draws it, and judged by both judges after every step."""

    def step_of(kind: str) -> Any:
        def step(self: Lockstep, data: st.DataObject) -> None:
            self.do(kind, data)

        step.__name__ = kind
        return precondition(lambda self: self.model is not None)(rule(data=st.data())(step))

    steps = {kind: step_of(kind) for kind in generate.DRAW if kind in target.commands}
    return type(f"Lockstep_{profile.name}", (Lockstep,), {"target": target, "profile": profile, **steps})
