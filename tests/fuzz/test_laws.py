"""Every law has teeth: a few steps that break it and it alone, and the same steps with the fault put right, which break none."""
from __future__ import annotations

from typing import Any

import pytest

from slotwise.spec import vocabulary as v
from slotwise.spec.judge import Judge
from slotwise.spec.laws import KNOWN_HAZARDS, LAWS
from slotwise.spec.vocabulary import Claim, Command, Discard, DiscardWhere, Enqueue, Explain, Group, Pump, Release, Select, Task

Steps = list[tuple[Command, list[Any]]]
ONE = {"r": 1}


def come(*ids: str, needs: dict[str, int] = ONE, group: Group | None = None, at: int = 0) -> Enqueue:
    return Enqueue(tasks=tuple(Task(id, id[0], needs) for id in ids), groups=() if group is None else (group,), at=at)


def accepted(*ids: str) -> list[Any]:
    return [("accepted", id) for id in ids]


def started(lease: int, id: str, needs: dict[str, int] = ONE) -> tuple[Any, ...]:
    return ("started", lease, id, needs)


def starved(rounds: int, turns: bool) -> Steps:
    """Group b waits while a is served; or (`turns`) they are served by turns."""
    tasks = [f"a{i}" for i in range(rounds)]
    steps: Steps = [(come(*tasks, "b0"), accepted(*tasks, "b0"))]
    order = [tasks[0], "b0", *tasks[1:]] if turns else tasks
    for lease, id in enumerate(order, 1):
        last = lease == len(order) and turns
        steps.append((Pump(at_most=1, at=lease), [started(lease, id), ("drained",) if last else ("full",)]))
        steps.append((Release(lease=lease, at=lease + 1), [("released", lease)]))
    return steps


#: Law -> capacity, steps that break it, and the answers of the last step that would have been right.
BREAKS: dict[str, list[tuple[dict[str, int], Steps, list[Any]]]] = {
    "LAW-1": [
        (ONE, [(Pump(at_most=1), [("finished",)])], [("drained",)]),
        (ONE, [(Pump(at_most=1), [])], [("drained",)]),
        (ONE, [(Pump(at_most=1), [("drained", 1)])], [("drained",)]),
        (ONE, [(Release(lease=1), [("unknown_lease", 2)])], [("unknown_lease", 1)]),
        (ONE, [(come("a1", "a2"), accepted("a1"))], accepted("a1", "a2")),
        (ONE, [(come("a1", needs={"r": 2}), [("refused", "a1", "too_big")])], [("refused", "a1", "never_fits")]),
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1")])], [started(1, "a1"), ("drained",)]),
    ],
    "LAW-2": [
        (ONE, [(Pump(at_most=1, at=5), [("drained",)]), (Pump(at_most=1, at=4), [("drained",)])], [("time_reversed", 5)]),
        (ONE, [(Pump(at_most=1, at=5), [("drained",)]), (Pump(at_most=1, at=5), [("time_reversed", 5)])], [("drained",)]),
        (ONE, [(Pump(at_most=1, at=5), [("drained",)]), (Pump(at_most=1, at=4), [("time_reversed", 4)])], [("time_reversed", 5)]),
    ],
    "LAW-3": [(ONE, [(come("a1", "a2"), accepted("a1", "a2")), (Pump(at_most=9), [started(1, "a1"), started(2, "a2"), ("drained",)])], [started(1, "a1"), ("blocked",)])],
    "LAW-4": [({"r": 2}, [(come("a1", "a2", group=Group("a", running_limit=1)), accepted("a1", "a2")), (Pump(at_most=9), [started(1, "a1"), started(2, "a2"), ("drained",)])],
               [started(1, "a1"), ("blocked",)])],
    "LAW-5": [
        (ONE, [(come("a1", "a2"), accepted("a1", "a2")), (Pump(at_most=1), [started(1, "a2"), ("full",)])], [started(1, "a1"), ("full",)]),
        (ONE, [(come("a1", "a2"), accepted("a1", "a2")), (Discard(task="a1"), [("discarded", "a1")]), (come("a1"), accepted("a1")), (Select(), [("selected", "a1", 4)])],
         [("selected", "a2", 4)]),
        (ONE, [(come("a1", "a2"), accepted("a1", "a2")), (Explain(), [("startable", "a2")])], [("startable", "a1")]),
    ],
    "LAW-6": [
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a2"), ("full",)])], [started(1, "a1"), ("drained",)]),
        ({"r": 2}, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1", {"r": 2}), ("drained",)])], [started(1, "a1"), ("drained",)]),
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(2, "a1"), ("drained",)])], [started(1, "a1"), ("drained",)]),
        ({"r": 2}, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1"), ("drained",)]), (Pump(at_most=1), [started(2, "a1"), ("drained",)])], [("drained",)]),
    ],
    "LAW-7": [
        (ONE, [(Release(lease=1), [("released", 1)])], [("unknown_lease", 1)]),
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1"), ("drained",)]), (Release(lease=1), [("duplicate", 1)])], [("released", 1)]),
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1"), ("drained",)]), (Release(lease=1), [("released", 1)]), (Release(lease=1), [("released", 1)])],
         [("duplicate", 1)]),
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1"), ("drained",)]), (Release(lease=1, claim=Claim("b")), [("released", 1)])], [("stale_lease", 1)]),
        (ONE, [(Release(lease=1, claim=Claim(generation=1)), [("unknown_lease", 1)])], [("wrong_controller_generation", 1)]),
    ],
    "LAW-8": [
        (ONE, [(come("a1"), accepted("a1")), (come("a1"), accepted("a1"))], [("duplicate", "a1")]),
        (ONE, [(come("a1"), [("duplicate", "a1")])], accepted("a1")),
        (ONE, [(come("a1"), accepted("a1")), (Discard(task="a1"), [("unknown_task", "a1")])], [("discarded", "a1")]),
        (ONE, [(Discard(task="a1"), [("discarded", "a1")])], [("unknown_task", "a1")]),
    ],
    "LAW-9": [
        (ONE, [(come("a1", "a2"), accepted("a1", "a2")), (DiscardWhere(group="a"), [("discarded", "a2"), ("discarded", "a1")])], [("discarded", "a1"), ("discarded", "a2")]),
        (ONE, [(come("a1", "b1"), accepted("a1", "b1")), (DiscardWhere(prefix="a"), [])], [("discarded", "a1")]),
    ],
    "LAW-10": [(ONE, [(come("a1", "b1"), accepted("a1", "b1")), (Explain(), [("startable", "a1")])], [("startable", "b1"), ("startable", "a1")])],
    "LAW-11": [
        ({"r": 2}, [(come("a1", "a2"), accepted("a1", "a2")), (Pump(at_most=9), [started(1, "a1"), ("blocked",)])], [started(1, "a1"), started(2, "a2"), ("drained",)]),
        ({"r": 2}, [(come("a1", "a2"), accepted("a1", "a2")), (Pump(at_most=1), [started(1, "a1"), ("full",)]), (Select(), [("blocked",)])], [("selected", "a2", 2)]),
    ],
    "LAW-12": [(ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [("blocked",)])], [started(1, "a1"), ("drained",)])],
    "LAW-13": [
        (ONE, [(come("a1", "a2"), accepted("a1", "a2")), (Pump(at_most=1), [started(1, "a1"), ("blocked",)])], [started(1, "a1"), ("full",)]),
        (ONE, [(come("a1"), accepted("a1")), (Pump(at_most=1), [("drained",)])], [started(1, "a1"), ("drained",)]),
        (ONE, [(Pump(at_most=0), [("full",)])], [("drained",)]),
        (ONE, [(come("a1"), accepted("a1")), (Select(), [("drained",)])], [("selected", "a1", 1)]),
    ],
    "LAW-15": [
        (ONE, [(come("a1", needs={"r": 2}), accepted("a1"))], [("refused", "a1", "never_fits")]),
        (ONE, [(come("a1", needs={"x": 1}), accepted("a1"))], [("refused", "a1", "never_fits")]),
        (ONE, [(come("a1"), [("refused", "a1", "never_fits")])], accepted("a1")),
        (ONE, [(come("a1"), [("refused", "a1", "no_weight")])], accepted("a1")),
    ],
    "LAW-17": [(ONE, [(come("a1", "b1"), accepted("a1", "b1")), (Select(), [("selected", "a1", 7)]), (Discard(task="b1"), [("discarded", "b1")]),
                      (v.Commit(task="a1", version=7), [started(1, "a1")])], [("stale_selection", "a1")])],
    "LAW-18": [
        (ONE, [(come("a1"), accepted("a1")), (Explain(), [("startable", "b1")])], [("startable", "a1")]),
        (ONE, [(come("a1"), accepted("a1")), (Explain(), [("refused", "a1", "no_capacity")])], [("startable", "a1")]),
        (ONE, [(come("a1", "a2"), accepted("a1", "a2")), (Pump(at_most=1), [started(1, "a1"), ("full",)]), (Explain(), [("startable", "a2")])], [("refused", "a2", "no_capacity")]),
        (ONE, [(come("a1"), accepted("a1")), (Explain(), [("refused", "a1", "running_limit")])], [("startable", "a1")]),
    ],
}  # fmt: skip
CASES = [(law, *case) for law, cases in BREAKS.items() for case in cases]


def judged(capacity: dict[str, int], steps: Steps, profile: v.Profile | None = None) -> list[str]:
    judge = Judge(profile, capacity)
    return [broken.law for command, saw in steps for broken in judge.step(command, saw)]


@pytest.mark.parametrize(("law", "capacity", "steps", "right"), CASES, ids=[f"{law}-{i}" for i, (law, *_) in enumerate(CASES)])
def test_broken_alone(law: str, capacity: dict[str, int], steps: Steps, right: list[Any]) -> None:
    assert judged(capacity, steps) == [law]
    assert judged(capacity, [*steps[:-1], (steps[-1][0], right)]) == []


def test_waits_are_bounded() -> None:
    """LAW-14. Nine services of one group before a head that fits are too many, for equal weights; eight are not."""
    assert judged(ONE, starved(12, turns=False)) == ["LAW-14"]
    assert judged(ONE, starved(8, turns=False)) == []
    assert judged(ONE, starved(40, turns=True)) == []


@pytest.mark.parametrize(("fits", "laws"), [(False, []), (True, ["LAW-14"])])
def test_only_waits_of_a_head_that_fits_are_bounded(fits: bool, laws: list[str]) -> None:
    """Of two units one is always taken, so that `b0` does not fit if it needs both."""
    tasks = [f"a{i}" for i in range(60)]
    steps: Steps = [(come(*tasks), accepted(*tasks)), (Pump(at_most=1), [started(1, "a0"), ("full",)]), (come("b0", needs={"r": 1 if fits else 2}), accepted("b0"))]
    for at, id in enumerate(tasks[1:], 1):
        steps += [(Pump(at_most=1, at=at), [started(at + 1, id), ("full",)]), (Release(lease=at, at=at), [("released", at)])]
    assert judged({"r": 2}, steps) == laws


def test_everything_drains() -> None:
    """LAW-16: a task that could run is left behind one that cannot. (That one should never have been accepted: LAW-15.)"""
    steps: Steps = [(come("a1", needs={"r": 2}), accepted("a1")), (come("a2"), accepted("a2")), (Pump(at_most=9), [("blocked",)])]
    assert judged(ONE, steps) == ["LAW-15", "LAW-16"]
    assert judged(ONE, [(come("a2"), accepted("a2")), (Pump(at_most=9), [started(1, "a2"), ("drained",)])]) == []


def test_units_may_be_kept() -> None:
    """LAW-11 lets units be kept for a head that does not fit, and for one that waits for kept units itself."""
    steps: Steps = [
        (come("a1"), accepted("a1")), (Pump(at_most=1), [started(1, "a1"), ("drained",)]),
        (Enqueue(tasks=(Task("b1", "b", {"r": 2}), Task("c1", "c", {"r": 1, "s": 1}), Task("d1", "d", {"s": 1}))), accepted("b1", "c1", "d1")), (Pump(at_most=9), [("blocked",)]),
    ]  # fmt: skip
    assert judged({"r": 2, "s": 1}, steps) == []
    alone: Steps = [*steps[:2], (Enqueue(tasks=(Task("b1", "b", {"r": 2}), Task("d1", "d", {"s": 1}))), accepted("b1", "d1")), (Pump(at_most=9), [("blocked",)])]
    assert judged({"r": 2, "s": 1}, alone) == ["LAW-11"]


def test_running_limits_bind_only_slot_time_and_strangers() -> None:
    steps = BREAKS["LAW-4"][0][1]
    assert judged({"r": 2}, steps, v.PROFILES["slotwise"]) == ["LAW-4"]
    assert judged({"r": 2}, steps, v.PROFILES["strict"]) == []


def test_each_law_once_and_none_in_doubt() -> None:
    """A law is told once; after a break that leaves the book in doubt the judge is silent."""
    late: Steps = [(come("a1"), accepted("a1")), (Pump(at_most=1), [("blocked",)]), (Pump(at_most=1), [("blocked",)])]
    assert judged(ONE, late) == ["LAW-12"]
    assert judged(ONE, [(Discard(task="a1"), [("discarded", "a1")]), *late]) == ["LAW-8"]


def test_every_law_is_tested_and_says_what_it_is() -> None:
    assert set(BREAKS) | {"LAW-14", "LAW-16"} == set(LAWS)
    assert all(law.prose.endswith(".") and law.source for law in LAWS.values())
    assert set(KNOWN_HAZARDS) == set(v.PROFILES)
    assert all(hazards <= set(LAWS) for hazards in KNOWN_HAZARDS.values())
