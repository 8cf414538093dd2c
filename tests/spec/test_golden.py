"""Every golden trace replays on the reference: what was seen, the rules that decided, and the file byte for byte."""
from __future__ import annotations

from pathlib import Path

import pytest

from slotwise.spec import rules
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.trace import SUFFIX, Step, Trace, decode, encode

GOLDEN = Path(__file__).parents[1] / "golden"
TRACES = sorted(GOLDEN.rglob(f"*{SUFFIX}"))


def test_there_are_golden_traces() -> None:
    names = {path.name.removesuffix(SUFFIX) for path in TRACES}
    assert {"A1", "A1-0.8", "A12", "Q1", "Q5", "Q5-0.8", "Q14", "H1-bounded", "H8", "collector-H1-never-sent"} <= names


@pytest.mark.parametrize("path", TRACES, ids=lambda path: str(path.relative_to(GOLDEN)).removesuffix(SUFFIX))
def test_replays(path: Path) -> None:
    data = path.read_bytes()
    trace = decode(data, path.name)
    mechanism = MECHANISMS[trace.header.mechanism]
    model = mechanism.model(trace.header.profile, trace.header.setup)
    again = []
    for number, step in enumerate(trace.steps, 2):
        saw = mechanism.spec.step(model, step.command)
        decided = list(dict.fromkeys(rules.decided))
        assert saw == step.saw, f"{path.name}: line {number}"
        assert decided == step.rules, f"{path.name}: line {number}"
        again.append(Step(step.command, saw, decided))
    assert encode(Trace(trace.header, again)) == data
