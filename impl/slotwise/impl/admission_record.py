"""The engine's methods that the live scheduler calls, each written down as a line of a trace, or compared with the specification at once, or both."""
from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from slotwise.impl._native import Admission
from slotwise.impl.checkpoint_record import Sink
from slotwise.impl.errors import Divergence
from slotwise.spec import trace
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Observation, State

log = logging.getLogger(__name__)

#: States are compared at every so many commands, observations at every one.
STATES = 64


class Recorded:
    """`sink` is written to as the scheduler goes on; what is written replays equal on the specification. `diverged` is called at the first
    difference, after which nothing is compared any more."""

    def __init__(
        self, profile: v.Profile, capacity: dict[str, int], sink: Sink | None = None, diverged: Callable[[Divergence], None] | None = None, engine: Any = None, seed: int | None = None
    ) -> None:
        self._engine = Admission(profile, capacity) if engine is None else engine
        self._sink, self._diverged, self.steps = sink, diverged, 0
        self._header = trace.header(profile, v.Setup(capacity), seed=seed)
        if sink is not None:
            sink.write(trace.encode(trace.Trace(self._header)))
        if diverged is not None:
            from slotwise.spec import admission, rules

            self._spec, self._decided, self._model = admission, rules.decided, admission.admission(profile, capacity)

    def step(self, command: v.Command) -> list[Observation]:
        saw: list[Observation] = self._engine.step(command)
        self.steps += 1
        if self._sink is not None:
            self._write(trace.encode(trace.Trace(self._header, [trace.Step(command, saw)])).split(trace.NEWLINE, 1)[1])
        if self._diverged is not None:
            self._compare(command, saw)
        return saw

    def _write(self, line: bytes) -> None:
        """Whoever is recorded does not suffer if it cannot be written."""
        assert self._sink is not None
        try:
            self._sink.write(line)
        except Exception as error:
            self._sink = None
            log.error("nothing is recorded any more after step %d: %s: %s", self.steps - 1, type(error).__name__, error)

    def _compare(self, command: v.Command, saw: list[Observation]) -> None:
        expected = self._spec.step(self._model, command)
        rule = self._decided[-1] if self._decided else "no rule decided"
        detail = ""
        if expected != saw:
            i = next((i for i, (a, b) in enumerate(zip(expected, saw, strict=False)) if a != b), min(len(expected), len(saw)))
            detail = f"{type(command).__name__}: observation {i + 1}: expected {expected[i:i + 1]}, found {saw[i:i + 1]}"
        elif self.steps % STATES == 0 and (theirs := self._spec.state(self._model)) != (ours := self._engine.state()):
            key = next(key for key in theirs if theirs[key] != ours.get(key))
            detail = f"state `{key}`: expected {theirs[key]}, found {ours.get(key)}"
        if detail and (diverged := self._diverged):
            self._diverged = None
            diverged(Divergence(self.steps, rule, detail))

    def enqueue(self, tasks: Iterable[v.Task], groups: Iterable[v.Group] | None = None, *, at: int) -> list[Observation]:
        return self.step(v.Enqueue(tasks=tuple(tasks), groups=tuple(groups or ()), at=at))

    def discard(self, task: str, *, at: int) -> list[Observation]:
        return self.step(v.Discard(task=task, at=at))

    def discard_where(self, *, group: str | None = None, prefix: str = "", at: int) -> list[Observation]:
        return self.step(v.DiscardWhere(group=group, prefix=prefix, at=at))

    def pump(self, *, at: int) -> list[Observation]:
        return self.step(v.Pump(at_most=v.MOST, at=at))

    def release(self, lease: int, *, at: int) -> list[Observation]:
        return self.step(v.Release(lease=lease, at=at))

    def state(self) -> State:
        state: State = self._engine.state()
        return state

    def debts(self) -> dict[str, dict[str, int]]:
        debts: dict[str, dict[str, int]] = self._engine.debts()
        return debts
