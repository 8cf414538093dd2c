"""Every golden trace on the engine, by both of its faces: command by command, and the whole trace in one call."""
from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from slotwise.impl import Admission, Batcher, Spinner
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.trace import SUFFIX, Header, decode

GOLDEN = Path(__file__).parents[1] / "golden"
TRACES = sorted(GOLDEN.rglob(f"*{SUFFIX}"))
Engine = Admission | Batcher | Spinner
ENGINES: dict[str, type[Engine]] = {"admission": Admission, "batching": Batcher, "spin": Spinner}
named = pytest.mark.parametrize("path", TRACES, ids=lambda path: str(path.relative_to(GOLDEN)).removesuffix(SUFFIX))


def engine_of(header: Header) -> Engine:
    profile, setup = header.profile, header.setup
    match header.mechanism:
        case "batching":
            return Batcher(profile, token=setup.token, hint=setup.hint)
        case "spin":
            return Spinner(profile, setup)
        case _:
            return Admission(profile, setup.capacity)


@named
def test_replays(path: Path) -> None:
    trace = decode(path.read_bytes(), path.name)
    engine = engine_of(trace.header)
    for number, step in enumerate(trace.steps, 2):
        assert engine.step(step.command) == step.saw, f"{path.name}: line {number}"
    assert engine.audit() == []


@named
def test_replays_in_one_call(path: Path) -> None:
    data = path.read_bytes()
    saw = [json.loads(line) for line in ENGINES[decode(data).header.mechanism].run(data).splitlines()]
    assert saw == [json.loads(line)["saw"] for line in data.splitlines()[1:]]


@pytest.mark.parametrize("path", [path for path in TRACES if path.parent.name == "hazards"], ids=lambda path: path.name.removesuffix(SUFFIX))
def test_slotwise_breaks_no_law_where_others_do(path: Path) -> None:
    trace = decode(path.read_bytes(), path.name)
    mechanism = MECHANISMS[trace.header.mechanism]
    ours = mechanism.profiles["slotwise"]
    engine, judge = engine_of(msgspec.structs.replace(trace.header, profile=ours)), mechanism.new_judge(ours, trace.header.setup)
    assert [one for command in trace.commands for one in judge.step(command, engine.step(command))] == []
