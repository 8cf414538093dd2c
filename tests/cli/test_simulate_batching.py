"""`slotwise simulate` of durable work: profiles side by side, quoted figures marked as such, and what `--json` has."""
from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slotwise.fuzz import exits
from slotwise.spec import batching_scenarios, batching_vocabulary

Slotwise = Callable[..., Any]
#: wall and calls of 2.0.0, of 3.0.0, and ours.
BARS = {
    "steps-200": [(26.0, 200), (6.2, 200), (6.0, 200)], "fan-out-200": [(0.35, 5), (0.152, 5), (0.15, 5)], "fan-out-200-flat": [(0.29, 3), (0.092, 3), (0.09, 3)],
    "fan-out-200-mc50": [(1.17, 9), (0.279, 9), (0.27, 9)], "nested-waves": [(8.65, 8), (8.155, 8), (8.15, 8)],
}  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "trio", "native"])
@pytest.mark.parametrize("name", BARS)
def test_json_has_calls_and_resume_on_every_engine(slotwise: Slotwise, name: str, engine: str) -> None:
    if engine == "native":
        pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
    runs = json.loads(slotwise("simulate", name, "--engine", engine, "--json").out)["runs"]
    assert [run["profile"] for run in runs] == list(batching_vocabulary.PROFILES)
    assert [(run["wall_s"], run["calls"]) for run in runs] == BARS[name]
    assert [run["resume_after_due_s"] for run in runs] == ([0.145, 0.046, 0.0225] if name == "nested-waves" else [None] * 3)
    one = json.loads(slotwise("simulate", name, "--engine", engine, "--profile", "slotwise", "--json").out)
    assert one == runs[2]
    assert (one["scenario"], one["engine"], one["result"], one["tail_s"]) == (name, engine, "done", 0)


def test_every_engine_has_the_same_log(slotwise: Slotwise) -> None:
    pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
    digests = {engine: [run["digest"] for run in json.loads(slotwise("simulate", "F11", "--engine", engine, "--json").out)["runs"]] for engine in ("native", "trio", "reference")}
    assert digests["native"] == digests["trio"] == digests["reference"]
    assert len(set(digests["native"])) == 3


def test_the_fan_out_is_the_table_of_the_seed(slotwise: Slotwise) -> None:
    ended = slotwise("simulate", "fan-out-200", "--engine", "reference")
    assert ended.out == (
        "                  before (aws-durable-2.0.0)  after (aws-durable-3.0.0)  ours (slotwise)  JavaScript (quoted)  Java (quoted)\n"
        "checkpoint calls                           5                          5                5                    4              6\n"
        "handler time                          350 ms                     152 ms           150 ms               136 ms         320 ms\n"
        "calls in vain                              0                          0                0\n"
        "tail                                  100 ms                     100 ms             0 ms\n"
    )
    assert ended.err.startswith("fan-out-200: done; 30 ms round trip, 15 ms of it out; played by reference\n")
    assert "quoted: pull request 725" in ended.err


def test_what_hangs_is_said_to(slotwise: Slotwise) -> None:
    ended = slotwise("simulate", "F15", "--engine", "reference")
    assert "blocked                    blocked            60 ms" in ended.out
    assert "quoted" not in ended.out + ended.err


def test_what_the_engine_refuses_is_one_line(slotwise: Slotwise) -> None:
    pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
    Path("twice.json").write_text('{"name":"x","work":[],"earlier":[{"op":"a"},{"op":"a","end":1}]}')
    ended = slotwise("simulate", "twice.json", "--engine", "native")
    assert (ended.code, ended.line) == (exits.USAGE, 'slotwise: engine native: not a scenario: "a" is known twice from earlier, expected unique names')


def test_files_and_wrong_use(slotwise: Slotwise) -> None:
    Path("mine.json").write_bytes(batching_scenarios.encode(batching_scenarios.find("F10")))
    assert json.loads(slotwise("simulate", "mine.json", "--engine", "reference", "--profile", "slotwise", "--json").out)["result"] == "suspended"
    Path("bad.json").write_text('{"name":"x","work":[{"do":"step"}]}')
    for arguments, said in ((["bad.json"], "bad.json: Object missing required field `name` - at `$.work[0]`"), (["F02", "--profile", "strict"], "profile: found 'strict', expected aws-durable-2.0.0")):
        ended = slotwise("simulate", *arguments)
        assert ended.code == exits.USAGE
        assert said in ended.line
