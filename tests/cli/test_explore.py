"""`explore`: a table of scopes and one of schedules, a failure told as elsewhere, and a schedule that never ends."""
from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slotwise.fuzz import exits
from slotwise.spec import trace
from slotwise.spec.mechanisms import MECHANISMS

from .conftest import Slotwise

pytest.importorskip("slotwise.impl._native", reason="the engine is not built")


def test_every_profile_of_a_mechanism(slotwise: Slotwise) -> None:
    ended = slotwise("explore", "batching")
    assert ended.code == exits.CLEAN
    head, *rows = ended.out.splitlines()
    assert head.split() == ["mechanism", "profile", "target", "scope", "states", "steps", "depth", "closed", "result"]
    assert [row.split()[1] for row in rows] == [*MECHANISMS["batching"].profiles]
    for row in rows:
        assert re.fullmatch(r"batching +\S+ +native +tiny +\d+ +\d+ +\d+ +yes +no divergence", row), row
    assert "aws-durable-2.0.0 is known to break LAW-54, and did" in ended.err


def test_spinning_has_schedules_too(slotwise: Slotwise) -> None:
    ended = slotwise("explore", "spin", "--depth", "4")
    assert ended.code == exits.CLEAN
    assert ended.out.startswith("LIVELOCK in build on 1 processor, ep-cpu-orig, native: w0, w1 could run and do not\n")
    assert "  and then for ever\n    pool  steps              waits_ready 1 0\n" in ended.out
    assert re.search(r"^ep-cpu-orig +native +build +1 +\d+ +yes +livelock, as is known$", ended.out, re.MULTILINE)
    assert len(re.findall(r"^\S+ +native +\S+ +[12] +[\d,]+ +yes +clean$", ended.out, re.MULTILINE)) == 15
    assert len(re.findall(r"^spin +\S+ +native +tiny +\d+ +\d+ +4 +no +no divergence$", ended.out, re.MULTILINE)) == 4


@pytest.mark.parametrize(("fault", "scene"), [("barrier_never_yields", "build"), ("stragglers_get_no_core", "fan-out")])
def test_a_wait_that_never_yields_is_a_livelock(slotwise: Slotwise, fault: str, scene: str) -> None:
    ended = slotwise("explore", "spin", "--target", f"native:faults/{fault}", "--profile", "slotwise", "--depth", "2", "--json")
    assert ended.code == exits.INVARIANT
    told = json.loads(ended.out)
    assert told["mechanism"] == "spin"
    assert [(one["scene"], one["processors"], one["verdict"]) for one in told["schedules"] if one["verdict"] != "clean"] == [(scene, 1, "livelock")]
    livelock = next(one for one in told["schedules"] if one["verdict"] == "livelock")
    assert livelock["round"]
    assert "w0" in livelock["starved"]


def test_a_failure_is_kept_as_a_trace(slotwise: Slotwise) -> None:
    fault = "native:faults/one_wake_too_few"
    ended = slotwise("explore", "spin", "--target", fault, "--profile", "slotwise", "--scope", "small")
    assert ended.code == exits.DIVERGENCE
    assert ended.out.startswith("SPN-57: the target differs from the rules\n")
    (kept,) = Path(".slotwise").glob("*.slotwise.jsonl")
    assert len(trace.read(kept).steps) <= 16
    assert slotwise("replay", str(kept), "--target", fault).code == exits.DIVERGENCE
    assert slotwise("replay", str(kept)).code == exits.CLEAN
