"""Wrong use ends in one line that names what was found and the choices, and in a code of its own; never in a traceback."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.cli import main, output
from slotwise.fuzz import exits
from slotwise.spec import trace
from slotwise.spec import vocabulary as v

from .conftest import Slotwise

WRONG = {
    "bogus": ["No such command 'bogus'", "fuzz, replay, shrink, emit-test, rules, explore, mutate, simulate, bench, watch, record, ci"],
    "fuzz --sed 3": ["slotwise fuzz: No such option: --sed"],
    "fuzz rows": ["mechanism: found 'rows', expected admission or batching or spin"],
    "fuzz batching --profile strict": ["profile: found 'strict', expected aws-durable-2.0.0, aws-durable-3.0.0, slotwise"],
    "fuzz batching --target trio": ["target trio: it knows admission, not batching"],
    "fuzz spin --target trio": ["target trio: it knows admission, not spin"],
    "fuzz spin --profile strict": ["profile: found 'strict', expected ep-cpu-orig, ep-cpu-before, ep-cpu-after, slotwise"],
    "fuzz batching --target native:faults/guard_ignored": ["it is a fault of spin, not of batching"],
    "explore": ["slotwise explore: Missing argument 'MECHANISM'"],
    "explore rows": ["mechanism: found 'rows', expected admission or batching or spin"],
    "explore spin --scope huge": ["scope: found 'huge', expected tiny or small"],
    "explore spin --depth 0": ["slotwise explore: Invalid value for '--depth'"],
    "explore spin --target trio": ["target trio: it knows admission, not spin"],
    "fuzz admission --target native:faults/slack_never_shrinks": ["it is a fault of batching, not of admission"],
    "fuzz admission more": ["more"],
    "fuzz --profile mine": ["profile: found 'mine', expected strict, data-designer-0.8, data-designer-0.9, slotwise"],
    "fuzz --target mine": ["target mine: no such target", "reference, native"],
    "fuzz --target native:faults/debt_not": ["no such fault", "debt_not_charged"],
    "fuzz --target nowhere.to.be:found": ["target nowhere.to.be:found", "No module named"],
    "fuzz --seconds soon": ["slotwise fuzz: Invalid value for '--seconds'"],
    "fuzz --steps 0": ["slotwise fuzz: Invalid value for '--steps'"],
    "mutate --side both": ["side: found 'both', expected native or spec"],
    "simulate nothing": ["scenario: found 'nothing', expected one of heavy-root, neutral"],
    "simulate neutral --engine warp": ["engine: found 'warp', expected native, trio, reference"],
    "simulate neutral --profile mine": ["profile: found 'mine'"],
    "bench speed": ["benchmark: found 'speed', expected some of spec-core"],
    "replay": ["slotwise replay: Missing argument 'FILE'"],
    "replay none.slotwise.jsonl": ["none.slotwise.jsonl: no such file"],
    "shrink none.slotwise.jsonl": ["none.slotwise.jsonl: no such file"],
    "emit-test none.slotwise.jsonl": ["none.slotwise.jsonl: no such file"],
    "fuzz --profile none.json": ["none.json: No such file or directory"],
    "simulate none.json": ["none.json: No such file or directory"],
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_use(slotwise: Slotwise, arguments: str) -> None:
    ended = slotwise(*arguments.split())
    assert ended.code == exits.USAGE, ended
    assert all(part in ended.line for part in WRONG[arguments]), ended.line
    assert ended.out == ""


PROFILES = {
    '{"name": "mine",\n "discipline": {"type": "strict"},\n "typo": 1}': ["line 3", "typo"],
    '{"name": "mine",\n "discipline": {"type": "slot-time",\n  "patience": "long"}}': ["line 3", "patience"],
    '{"name": "mine",\n "discipline": {"type": "unheard-of"}}': ["line 2", "unheard-of"],
    '{"name": "mine",\n "discipline": {"type": "strict"},\n': ["line 3", "truncated"],
    '{"name": "mine"}': ["discipline"],
    '{"name": "mine",\n "discipline": {"type": "look-ahead",\n  "hold": -1}}': ["line 3", "hold"],
}


@pytest.mark.parametrize("text", PROFILES)
def test_a_bad_profile_is_named_by_file_line_and_field(slotwise: Slotwise, text: str) -> None:
    Path("mine.json").write_text(text)
    ended = slotwise("fuzz", "--profile", "mine.json")
    assert ended.code == exits.USAGE
    assert ended.line.startswith("slotwise: mine.json: line ")
    assert all(part in ended.line for part in PROFILES[text]), ended.line


def header() -> bytes:
    return trace.encode(trace.Trace(trace.header(v.PROFILES["strict"], {"r": 1})))


TRACES = {
    b"": ["line 1", "empty"],
    b"{}\n": ["line 1", "`slotwise`", "missing"],
    b"not json\n": ["line 1", "JSON"],
    b'{"slotwise":99}\n': ["line 1", "newer"],
    b'HEAD{"do":"pump","at_most":1': ["line 2", "truncated"],
    b'HEAD{"do":"pump","at_most":1}\n{"do":"pump","at_most":-1}\n': ["line 3", "at_most"],
    b'HEAD{"do":"fly"}\n': ["line 2", "fly"],
    b'HEAD{"do":"pump","at_most":1,"often":2}\n': ["line 2", "often"],
}


@pytest.mark.parametrize("data", TRACES)
@pytest.mark.parametrize("command", ["replay", "shrink", "emit-test"])
def test_a_bad_trace_is_named_by_file_line_and_field(slotwise: Slotwise, command: str, data: bytes) -> None:
    Path("bad.slotwise.jsonl").write_bytes(data.replace(b"HEAD", header()))
    ended = slotwise(command, "bad.slotwise.jsonl")
    assert ended.code == exits.TRACE_REJECTED
    assert ended.line.startswith("slotwise: bad.slotwise.jsonl: line ")
    assert all(part in ended.line for part in TRACES[data]), ended.line


def test_a_bad_scenario_is_named_by_file_and_field(slotwise: Slotwise) -> None:
    Path("two.json").write_text('{"name": "two", "capacity": {"r": 0}, "arrivals": []}')
    ended = slotwise("simulate", "two.json")
    assert ended.code == exits.USAGE
    assert ended.line.startswith("slotwise: two.json: ")
    assert "capacity" in ended.line


def test_an_internal_error_is_one_line_with_a_hint(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> int:
        raise KeyError("lost")

    monkeypatch.setattr("slotwise.cli.rules.run", broken)
    ended = slotwise("rules")
    assert ended.code == exits.INTERNAL
    assert ended.line == "slotwise: internal error: KeyError: 'lost' (slotwise --traceback rules shows where)"
    with pytest.raises(KeyError):
        slotwise("--traceback", "rules")
    with pytest.raises(KeyError):
        slotwise("rules", "--traceback")


def test_an_interrupt_is_one_line(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("slotwise.cli.rules.run", interrupted)
    ended = slotwise("rules")
    assert (ended.code, ended.line) == (130, "slotwise: interrupted")


def test_help_lists_what_there_is_and_nothing_else(slotwise: Slotwise) -> None:
    ended = slotwise()
    assert ended.code == exits.CLEAN
    assert slotwise("--help") == ended
    listed = [line.split()[0] for line in ended.out.partition("Commands:")[2].splitlines() if line.startswith("  ") and not line.startswith("   ")]
    assert listed[: len(main.COMMANDS)] == main.COMMANDS == ["fuzz", "replay", "shrink", "emit-test", "rules", "explore", "mutate", "simulate", "bench", "watch", "record", "ci"]
    for command in main.COMMANDS:
        assert slotwise(command, "--help").code == exits.CLEAN


def test_the_gravest_code_counts() -> None:
    assert output.worst([]) == exits.CLEAN
    assert output.worst([exits.CLEAN, exits.FLOOR, exits.DIVERGENCE, exits.INVARIANT]) == exits.DIVERGENCE
    assert output.worst([exits.FLOOR, exits.INVARIANT]) == exits.INVARIANT
    assert sorted(output.GRAVEST_FIRST) == [0, 1, 2, 3, 4, 5, 6, 64, 70]


def test_it_is_a_program() -> None:
    program = [sys.executable, "-m", "slotwise.cli.start"]
    ended = subprocess.run([*program, "fuzz", "rows"], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (exits.USAGE, "", "slotwise: mechanism: found 'rows', expected admission or batching or spin\n")
    reader = subprocess.run(f"{sys.executable} -m slotwise.cli.start rules | head -n 1", shell=True, capture_output=True, text=True)
    assert reader.stdout.startswith("QUE-1")
    assert "Error" not in reader.stderr
