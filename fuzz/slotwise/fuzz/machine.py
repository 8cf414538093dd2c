"""The same search as a Hypothesis state machine: for those who live in pytest, and as a second opinion.

    TestNative = machine(targets.load("native"), PROFILES["slotwise"]).TestCase
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from slotwise.fuzz.judges import inside
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.searches import search_of
from slotwise.fuzz.target import Target, wants_close
from slotwise.spec.vocabulary import Observation

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
    profile: Any
    model: Any = None

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        follows, self.search = self.target.follows(self.profile), search_of(self.profile)
        self.model = self.search.generate.begin(self.profile, self.target.commands, Drawn(data), plain=not follows)
        profile, setup = self.model.profile, self.model.setup
        self.laws = self.search.mechanism.new_judge(profile if follows else None, setup)
        if not self.search.own_book:
            self.model.book = self.laws.book
        self.reference = Reference(profile, setup) if follows else None
        self.stepper = self.target.make(profile, setup)
        self.hazards = self.search.mechanism.hazards(profile)
        self.done: list[Any] = []

    def do(self, kind: str, data: st.DataObject) -> None:
        assert self.model is not None
        self.model.then.clear()
        command = self.search.generate.DRAW[kind](self.model, Drawn(data))
        self.done.append(command)
        expected: list[Observation] | None = self.reference.step(command) if self.reference else None
        found = self.stepper.step(command)
        if self.search.own_book:
            self.model.book.update(command, found)
        assert expected is None or expected == found, f"{command}: expected {expected}, found {found}"
        broken = [one for one in self.laws.step(command, found) if one.law not in self.hazards]
        assert not broken, f"{command}: {broken[0].law}: {broken[0].message}"
        wrong = inside(self.search, self.reference, self.stepper, self.reference.decided if self.reference else [], self.done, expected, found)
        assert wrong is None, f"{command}: {wrong.rule}: {wrong.message}"

    def teardown(self) -> None:
        if self.model is not None and wants_close(self.stepper):
            self.stepper.close()


def machine(target: Target, profile: Any) -> type[RuleBasedStateMachine]:
    """One rule per command that the target knows, drawn as the walker draws it, and judged by both judges after every step."""

    def step_of(kind: str) -> Any:
        def step(self: Lockstep, data: st.DataObject) -> None:
            self.do(kind, data)

        step.__name__ = kind
        return precondition(lambda self: self.model is not None)(rule(data=st.data())(step))

    steps = {kind: step_of(kind) for kind in search_of(profile).generate.DRAW if kind in target.commands}
    return type(f"Lockstep_{profile.name}", (Lockstep,), {"target": target, "profile": profile, **steps})
