"""A trace played again: what was recorded, the reference and the laws all have their say, and nothing is skipped."""
from __future__ import annotations

import pytest
from tests.fuzz.broken import Mute, broken

from slotwise.fuzz import exits, reference
from slotwise.fuzz.recording import record, recorded
from slotwise.fuzz.replay import Rejected, replay
from slotwise.fuzz.shrink import shrink_trace
from slotwise.fuzz.target import Target
from slotwise.spec import trace
from slotwise.spec.trace import Step, Trace
from slotwise.spec.vocabulary import PROFILES, Command, Discard, Enqueue, Pump, Release, Select, Task

COMMANDS: list[Command] = [
    Enqueue(tasks=(Task("a1", "a", {"r": 1}), Task("b1", "b", {"r": 1}))), Discard(task="nobody"), Pump(at_most=9), Release(lease=1, at=2), Pump(at_most=9, at=2), Release(lease=1, at=3),
]  # fmt: skip
STRICT = PROFILES["strict"]


def test_the_same_again() -> None:
    written = record(STRICT, {"r": 1}, COMMANDS)
    again = trace.decode(trace.encode(written))
    outcome = replay(again, reference.TARGET)
    assert (outcome.exit, outcome.failure, outcome.change, outcome.steps) == (exits.CLEAN, None, None, 6)
    assert trace.encode(record(STRICT, {"r": 1}, again.commands)) == trace.encode(written)
    assert written.steps[2].rules is not None
    assert "ADM-2" in written.steps[2].rules


def test_a_target_that_differs_from_the_rules() -> None:
    outcome = replay(record(STRICT, {"r": 1}, COMMANDS), broken("second_release_unknown", state=False))
    assert outcome.failure is not None
    assert (outcome.exit, outcome.failure.rule, outcome.failure.at) == (exits.DIVERGENCE, "ADM-6", 5)
    assert outcome.change is not None
    assert outcome.change.message == "line 7: recorded: duplicate 1, found unknown_lease 1"


def test_a_recording_that_no_longer_holds() -> None:
    written = record(STRICT, {"r": 1}, COMMANDS)
    steps = [Step(step.command, [("drained",)] if at == 4 else step.saw) for at, step in enumerate(written.steps)]
    outcome = replay(Trace(written.header, steps), reference.TARGET)
    assert (outcome.failure, outcome.exit) == (None, exits.DIVERGENCE)
    assert outcome.change is not None
    assert outcome.change.at == 4


def test_without_a_recording_only_the_judges_speak() -> None:
    bare = Trace(trace.header(STRICT, {"r": 1}), [Step(command) for command in COMMANDS])
    assert replay(bare, reference.TARGET).exit == exits.CLEAN


def test_hazards_of_the_profile_are_told_and_are_no_failure() -> None:
    outcome = replay(record(STRICT, {"r": 1}, [Enqueue(tasks=(Task("a1", "a", {"r": 2}),))]), reference.TARGET)
    assert (outcome.exit, outcome.hazards) == (exits.CLEAN, frozenset({"LAW-15"}))


def test_an_unknown_command_is_rejected_by_line_and_name() -> None:
    target = Target("small", Mute, frozenset({"enqueue", "pump", "release", "discard"}))
    with pytest.raises(Rejected, match=r"^one\.jsonl: line 8: select: small does not know this command; it knows discard, enqueue, pump, release$"):
        replay(record(STRICT, {"r": 1}, [*COMMANDS, Select()]), target, "one.jsonl")


def test_shrinks_a_trace_from_a_file() -> None:
    written = record(STRICT, {"r": 1}, COMMANDS)
    failure = shrink_trace(broken("second_release_unknown"), written)
    assert failure is not None
    assert [type(command).__name__ for command in failure.trace.commands] == ["Enqueue", "Pump", "Release", "Release"]
    assert shrink_trace(reference.TARGET, written) is None


def test_records_what_a_stranger_sees() -> None:
    target = Target("stranger", Mute, claims=lambda profile: False)
    written = recorded(target, STRICT, {"r": 1}, COMMANDS)
    assert written.header.targets == ("stranger",)
    assert written.steps[0].saw == [("accepted", "a1"), ("accepted", "b1")]
    assert written.steps[0].rules is None


def test_whoever_failed_is_not_asked_again() -> None:
    asked: list[Command] = []

    class Fails(Mute):
        def step(self, command: Command) -> list[tuple[object, ...]]:
            asked.append(command)
            if isinstance(command, Pump):
                raise RuntimeError("no")
            return []

    written = recorded(Target("fails", Fails, claims=lambda profile: False), STRICT, {"r": 1}, COMMANDS)
    assert [step.saw for step in written.steps] == [[], [], None, None, None, None]
    assert asked == COMMANDS[:3]
