"""Debts, and who holds what is lent, where a trace or a log does not say so itself."""
from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.sources.event_log import EventLog
from slotwise.dashboard.observe.sources.event_log_fold import debts_of
from slotwise.dashboard.observe.sources.trace import TraceFile, looks, play_of
from slotwise.impl.snapshot import Snapshot
from slotwise.spec import admission, trace
from slotwise.spec import vocabulary as v

from .samples import SECOND, group, resource, snapshot

LOG = Path(__file__).parent / "data-designer-0.9.7.events.jsonl"
GROUPS = tuple(v.Group(name, weight, share_limit=limit) for name, weight, limit in (("a", 1.0, 4), ("b", 2.0, 8), ("c", 1.0, None)))


def episode(seed: int, profile: str) -> tuple[trace.Trace, list[Any]]:
    """A trace, and what is owed after each of its commands, by the rules."""
    dice, capacity, owed = Random(seed), {"x": 6, "y": 3}, []
    model = admission.admission(v.PROFILES[profile], capacity)
    found = trace.Trace(trace.header(v.PROFILES[profile], v.Setup(capacity)), [])
    for i in range(dice.randrange(1, 60)):
        choices: list[v.Command] = [
            v.Enqueue(tasks=(v.Task(f"t{i}", dice.choice("abc"), dice.choice([{"x": 1}, {"x": 2}, {"y": 1}, {"x": 1, "y": 1}])),), groups=GROUPS, at=i), v.Pump(at_most=9, at=i),
            v.Release(lease=dice.randrange(1, 20), at=i),
        ]  # fmt: skip
        command = dice.choice(choices)
        found.steps.append(trace.Step(command, admission.step(model, command)))
        owed.append(admission.state(model).get("debt", {}))
    return found, owed


def debts(shot: Snapshot) -> dict[str, dict[str, int]]:
    return {one.name: one.debt for one in shot.groups if one.debt}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 32), st.sampled_from(["data-designer-0.9", "data-designer-0.8", "slotwise"]))
def test_debts_of_a_trace_are_those_of_the_rules(seed: int, profile: str) -> None:
    read, owed = episode(seed, profile)
    shots = list(looks(play_of(read, "x"), read, 1))
    for shot in shots:
        done = [i for i, step in enumerate(read.steps) if step.command.at <= shot.now]
        assert debts(shot) == (owed[done[-1]] if done else {})


def test_some_groups_owe() -> None:
    traces = [episode(seed, "data-designer-0.9")[0] for seed in range(20)]
    assert any(debts(shot) for read in traces for shot in looks(play_of(read, "x"), read, 1))


def test_of_a_trace_that_is_not_the_engines_nothing_is_known_from_there() -> None:
    read, owed = next(one for one in (episode(seed, "data-designer-0.9") for seed in range(100)) if len([debt for debt in one[1] if debt]) > 5)
    place = next(i for i, debt in enumerate(owed) if debt) + 2
    read.steps[place] = trace.Step(read.steps[place].command, [("drained",), ("drained",)])
    shots = list(looks(play_of(read, "x"), read, 1))
    assert any(debts(shot) for shot in shots)
    assert not any(debts(shot) for shot in shots if shot.now >= read.steps[place].command.at)


def borrowed(tmp_path: Path) -> Snapshot:
    """`batch` alone took all four; then `chat` came, to which two are due."""
    command: list[v.Command] = [
        v.Enqueue(tasks=tuple(v.Task(f"b{i}", "batch", {"llm": 1}) for i in range(4)), groups=(v.Group("batch", share_limit=4), v.Group("chat", share_limit=4))), v.Pump(at_most=9),
        v.Enqueue(tasks=(v.Task("c", "chat", {"llm": 1}),), groups=(v.Group("chat", share_limit=4),), at=SECOND), v.Pump(at_most=9, at=SECOND), v.Explain(at=3 * SECOND),
    ]  # fmt: skip
    model = admission.admission(v.PROFILES["data-designer-0.9"], {"llm": 4})
    path = tmp_path / "lent.slotwise.jsonl"
    trace.write(path, trace.Trace(trace.header(v.PROFILES["data-designer-0.9"], v.Setup({"llm": 4})), [trace.Step(one, admission.step(model, one)) for one in command]))
    return list(TraceFile(str(path)).played())[-1]


def facts(shot: Snapshot, of: str) -> dict[str, Any]:
    pane = next(pane for pane in derive(None, shot).drill(of) if pane.name == "facts")
    return {str(row.cells[0].value): row.cells[1].value for row in pane.rows}


def test_the_drill_down_says_to_whom_it_is_lent(tmp_path: Path) -> None:
    shot = borrowed(tmp_path)
    assert (shot.resources[0].lent, shot.resources[0].lent_to) == (2, {"batch": 2})
    assert debts(shot) == {"batch": {"llm": 2}}
    chat, batch = facts(shot, "chat"), facts(shot, "batch")
    assert (chat["and waits for"], chat["which is lent to"], chat["owes"]) == ("slot lent out: llm", "batch=2 (owes 2)", "-")
    assert ("which is lent to" in batch, batch["owes"]) == (False, "llm=2")


def test_only_of_what_it_waits_for() -> None:
    gpu, cpu = resource("gpu", lent=6, lent_to={"a": 3, "b": 2, "me": 1}), resource("cpu", lent=1, lent_to={"c": 1})
    groups = (group("me", waiting=1, needs={"gpu": 1, "cpu": 1}, blocked_by="lent gpu"), group("a"), group("b", debt={"gpu": 7, "cpu": 9}), group("c"))
    assert facts(snapshot(1, resources=(gpu, cpu), groups=groups), "me")["which is lent to"] == "a=3 b=2 (owes 7)"
    waits = msgspec.structs.replace(groups[0], blocked_by="capacity gpu")
    assert "which is lent to" not in facts(snapshot(1, resources=(gpu, cpu), groups=(waits, *groups[1:])), "me")


# event logs --------------------------------------------------------------------------------------------------------------------------

#: As data-designer-engine 0.9.7 writes a group and a resource.
KEY = "[{'kind': 'model', 'identity': ['model', 'nim', \"o'x\"]}, 'llm_wait']"


def test_an_event_log_says_what_is_owed(tmp_path: Path) -> None:
    lines = [msgspec.json.decode(line) for line in LOG.read_bytes().splitlines()[:8]]
    for line, owed in zip(lines[3:], ({KEY: 1}, {KEY: 2, "[{'kind': 'local', 'identity': ['local', 'default', 's']}, 'submission']": 3}, None, {}, {KEY: 1}), strict=True):
        if owed is None:
            line["snapshot"] = None
        else:
            line["snapshot"]["policy_debt_by_group_resource"] = owed
    found = []
    for count in range(4, 9):
        path = tmp_path / f"{count}.jsonl"
        path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines[:count]))
        found.append(debts(list(EventLog(str(path)).played())[-1]))
    assert found == [{}, {"local/default/s": {"submission": 3}}, {"local/default/s": {"submission": 3}}, {}, {}], "of groups that have been seen; the latest that was told"


@pytest.mark.parametrize("key", ["", "x", "[", "[1, 2]", "[{}, 'x']", "(" * 1000, "[{'identity': 3}, 'x']", "[{'identity': ['a']}, 3]", "[{'identity': ['a']}, 'x', 1]", "__import__('os')", "9" * 5000, "['a'" + "," * 3000, "[{'identity': ['" + "a" * 3000 + "']}, 'x']"])
def test_what_is_told_otherwise_is_left_out(key: str) -> None:
    assert debts_of({key: 1, KEY: 2}) == {"model/nim/o'x": {"llm_wait": 2}}


@pytest.mark.parametrize("units", ["1", None, -1, 0, 1.5, [1]])
def test_units_that_are_none_are_left_out(units: Any) -> None:
    assert debts_of({KEY: units}) == {}
