"""Every golden trace on the engine, by both of its faces: command by command, and the whole trace in one call."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from slotwise.impl import Admission
from slotwise.spec.trace import SUFFIX, decode

GOLDEN = Path(__file__).parents[1] / "golden"
TRACES = sorted(GOLDEN.rglob(f"*{SUFFIX}"))
named = pytest.mark.parametrize("path", TRACES, ids=lambda path: str(path.relative_to(GOLDEN)).removesuffix(SUFFIX))


@named
def test_replays(path: Path) -> None:
    trace = decode(path.read_bytes(), path.name)
    engine = Admission(trace.header.profile, trace.header.setup.capacity)
    for number, step in enumerate(trace.steps, 2):
        assert engine.step(step.command) == step.saw, f"{path.name}: line {number}"
    assert engine.audit() == []


@named
def test_replays_in_one_call(path: Path) -> None:
    data = path.read_bytes()
    saw = [json.loads(line) for line in Admission.run(data).splitlines()]
    assert saw == [json.loads(line)["saw"] for line in data.splitlines()[1:]]
