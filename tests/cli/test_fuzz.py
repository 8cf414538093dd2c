"""`fuzz`, and what it hands on: a trace file that replays, shrinks and becomes a test."""
from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.cli import fuzz
from slotwise.fuzz import exits, seeded
from slotwise.fuzz.floors import Missed
from slotwise.fuzz.report import Report
from slotwise.spec import trace
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import PROFILES

from .conftest import Slotwise

FAULT = "native:faults/debt_not_charged"
EVERY = [(mechanism.name, profile) for mechanism in MECHANISMS.values() for profile in mechanism.profiles]
KEYS = ["mechanism", "target", "profile", "seed", "steps", "seconds", "steps_per_s", "rules", "divergences", "floors_missed"]

pytest.importorskip("slotwise.impl._native", reason="the engine is not built")


def test_without_arguments_it_runs_every_profile_and_ends_in_one_table(slotwise: Slotwise) -> None:
    ended = slotwise("fuzz", "--steps", "500")
    assert ended.code == exits.CLEAN
    head, *rows = ended.out.splitlines()
    assert head.split() == ["mechanism", "profile", "target", "steps", "steps/s", "rules", "floors", "result"]
    assert [tuple(row.split()[:2]) for row in rows] == EVERY
    for row in rows:
        assert re.fullmatch(r"(admission|batching |spin     ) +\S+ +native +[\d,]+ +[\d,]+ +\d+/\d+ +- +no divergence", row), row
    assert ended.err.splitlines()[0] == "11 profiles on native, 500 steps each, seed 0"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_with_a_mechanism_it_runs_the_default_profile(slotwise: Slotwise, mechanism: str) -> None:
    run = json.loads(slotwise("fuzz", mechanism, "--steps", "200", "--json").out)
    assert (run["mechanism"], run["profile"]) == (mechanism, "slotwise")


def test_a_profile_tells_the_mechanism(slotwise: Slotwise) -> None:
    run = json.loads(slotwise("fuzz", "--profile", "aws-durable-3.0.0", "--steps", "200", "--json").out)
    assert (run["mechanism"], run["profile"]) == ("batching", "aws-durable-3.0.0")
    both = json.loads(slotwise("fuzz", "--profile", "slotwise", "--steps", "200", "--json").out)["runs"]
    assert [(run["mechanism"], run["profile"]) for run in both] == [("admission", "slotwise"), ("batching", "slotwise"), ("spin", "slotwise")]
    Path("mine.json").write_text('{"name": "mine", "discipline": {"type": "look-ahead", "hold": 0}}')
    own = json.loads(slotwise("fuzz", "--profile", "mine.json", "--steps", "200", "--json").out)
    assert (own["mechanism"], own["profile"]) == ("batching", "mine")
    Path("mine.json").write_text('{"name": "mine", "discipline": {"type": "average"}, "wakes_all": true}')
    own = json.loads(slotwise("fuzz", "--profile", "mine.json", "--steps", "200", "--json").out)
    assert (own["mechanism"], own["profile"]) == ("spin", "mine")


@pytest.mark.parametrize(("fault", "rule", "most"), [("panic_not_raised", "SPN-63", 8), ("due_after_equality", "SPN-6", 4), ("guard_ignored", "SPN-19", 60)])
def test_a_failure_of_spinning_goes_on_through_every_command_too(slotwise: Slotwise, fault: str, rule: str, most: int) -> None:
    target = f"native:faults/{fault}"
    ended = slotwise("fuzz", "--target", target, "--profile", "slotwise", "--steps", "60000")
    assert ended.code == exits.DIVERGENCE
    assert ended.out.startswith(f"{rule}: the target differs from the rules\n")
    (kept,) = Path(".slotwise").glob("*.slotwise.jsonl")
    assert trace.read(kept).header.mechanism == "spin"
    assert slotwise("replay", str(kept), "--target", target).code == exits.DIVERGENCE
    assert slotwise("replay", str(kept)).code == exits.CLEAN
    assert slotwise("shrink", str(kept), "--target", target, "-o", "short.slotwise.jsonl").code == exits.DIVERGENCE
    assert len(trace.read(Path("short.slotwise.jsonl")).steps) <= len(trace.read(kept).steps) <= most
    rejected = slotwise("replay", str(kept), "--target", "trio")
    assert (rejected.code, "line 1: mechanism spin: trio does not know it" in rejected.line) == (exits.TRACE_REJECTED, True)
    for played, code in ((target, 1), ("native", 0)):
        Path("test_it.py").write_text(slotwise("emit-test", str(kept), "--target", played).out)
        ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout


def test_a_failure_of_batching_goes_on_through_every_command_too(slotwise: Slotwise) -> None:
    fault = "native:faults/asked_again_after_the_longest_pause"
    ended = slotwise("fuzz", "--target", fault, "--steps", "40000")
    assert ended.code == exits.DIVERGENCE
    assert ended.out.startswith("REF-14: the target differs from the rules\n")
    (kept,) = Path(".slotwise").glob("*.slotwise.jsonl")
    assert slotwise("replay", str(kept), "--target", fault).code == exits.DIVERGENCE
    assert slotwise("replay", str(kept)).code == exits.CLEAN
    assert slotwise("shrink", str(kept), "--target", fault, "-o", "short.slotwise.jsonl").code == exits.DIVERGENCE
    assert len(trace.read(Path("short.slotwise.jsonl")).steps) <= len(trace.read(kept).steps) <= 6
    rejected = slotwise("replay", str(kept), "--target", "trio")
    assert (rejected.code, "line 1: mechanism batching: trio does not know it" in rejected.line) == (exits.TRACE_REJECTED, True)
    for target, code in ((fault, 1), ("native", 0)):
        Path("test_it.py").write_text(slotwise("emit-test", str(kept), "--target", target).out)
        ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout


def test_json_is_one_object_of_the_agreed_shape(slotwise: Slotwise) -> None:
    one = json.loads(slotwise("fuzz", "--profile", "strict", "--steps", "300", "--seed", "7", "--json").out)
    assert [key for key in KEYS if key not in one] == []
    assert (one["mechanism"], one["target"], one["profile"], one["seed"], one["divergences"], one["floors_missed"]) == ("admission", "native", "strict", 7, [], [])
    assert one["steps"] >= 300
    assert one["rules"]["QUE-1"] > 0
    several = json.loads(slotwise("fuzz", "--steps", "100", "--json").out)
    assert [(run["mechanism"], run["profile"]) for run in several["runs"]] == EVERY


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_same_seed_same_run(slotwise: Slotwise, mechanism: str) -> None:
    arguments = ("fuzz", mechanism, "--profile", "slotwise", "--steps", "400", "--json")
    first, second, other = (json.loads(slotwise(*arguments, "--seed", seed).out) for seed in ("3", "3", "4"))
    assert (first["digest"], first["rules"], first["steps"]) == (second["digest"], second["rules"], second["steps"])
    assert first["digest"] != other["digest"]


def test_workers_share_the_steps(slotwise: Slotwise) -> None:
    one = json.loads(slotwise("fuzz", "--profile", "strict", "--steps", "601", "--workers", "2", "--json").out)
    assert 601 <= one["steps"] < 1500
    assert [fuzz.share(7, 3, shard) for shard in range(3)] == [3, 2, 2]
    assert fuzz.share(None, 3, 0) is None


def test_a_failure_is_explained_kept_and_goes_on_through_every_command(slotwise: Slotwise) -> None:
    ended = slotwise("fuzz", "--target", FAULT, "--profile", "data-designer-0.9", "--steps", "20000")
    assert ended.code == exits.DIVERGENCE
    kept = Path(".slotwise/BOR-4-debt_not_charged-data-designer-0.9.slotwise.jsonl")
    assert ended.out.startswith("BOR-4: the target differs from the rules\n")
    assert f"  again    slotwise replay {kept} --target {FAULT}\n" in ended.out
    assert f"  as test  slotwise emit-test {kept} --target {FAULT}\n" in ended.out
    assert re.search(r"The episode of seed \d+, \d+ commands long, shrunk to \d", ended.out)
    assert ended.out.rstrip().endswith("DIVERGENCE at BOR-4")
    assert Path(".slotwise/.gitignore").read_text() == "*\n"
    assert len(trace.read(kept).steps) <= 5

    again = slotwise("replay", str(kept), "--target", FAULT)
    assert again.code == exits.DIVERGENCE
    assert re.search(r"\.jsonl: line \d: the same was seen, but the states differ in debt", again.out)
    assert "BOR-4: the target differs" in again.out
    assert json.loads(slotwise("replay", str(kept), "--target", FAULT, "--json").out)["divergences"][0]["rule"] == "BOR-4"
    healthy = slotwise("replay", str(kept))
    assert healthy.code == exits.CLEAN
    assert re.fullmatch(r"\S+: \d commands on native under data-designer-0.9: as recorded, as the reference, no law broken( \(.*\))?\n", healthy.out)

    shrunk = slotwise("shrink", str(kept), "--target", FAULT, "-o", "short.slotwise.jsonl")
    assert shrunk.code == exits.DIVERGENCE
    assert shrunk.out == ""
    assert len(trace.read(Path("short.slotwise.jsonl")).steps) <= len(trace.read(kept).steps)
    assert trace.decode(slotwise("shrink", str(kept), "--target", FAULT).out.encode()).steps == trace.read(Path("short.slotwise.jsonl")).steps
    nothing = slotwise("shrink", str(kept))
    assert (nothing.code, nothing.out) == (exits.CLEAN, "")
    assert "nothing fails on native" in nothing.line

    for target, code in ((FAULT, 1), ("native", 0)):
        Path("test_it.py").write_text(slotwise("emit-test", str(kept), "--target", target).out)
        ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"], capture_output=True, text=True)
        assert ran.returncode == code, ran.stdout


def test_a_changed_recording_is_named_by_its_line(slotwise: Slotwise) -> None:
    text = (trace.encode(trace.Trace(trace.header(PROFILES["strict"], {"r": 1})))).decode() + '{"do":"pump","at_most":1,"saw":[["full"]]}\n'
    Path("old.slotwise.jsonl").write_text(text)
    ended = slotwise("replay", "old.slotwise.jsonl", "--target", "reference")
    assert ended.code == exits.DIVERGENCE
    assert ended.out.startswith("old.slotwise.jsonl: line 2: ")
    assert "full" in ended.out
    assert "drained" in ended.out


def test_a_fault_is_searched_under_the_profiles_it_declares(slotwise: Slotwise) -> None:
    ended = slotwise("fuzz", "--target", "native:faults/strict_limit_off_by_one", "--steps", "20000", "--json")
    assert ended.code == exits.DIVERGENCE
    one = json.loads(ended.out)
    assert (one["profile"], one["divergences"][0]["rule"]) == ("strict", "STR-1")
    assert one["divergences"][0]["seed"] > 0
    assert trace.decode(one["divergences"][0]["trace"].encode()).steps


def test_a_profile_of_ones_own(slotwise: Slotwise) -> None:
    Path("mine.json").write_text('{"name": "mine", "discipline": {"type": "slot-time", "patience": 0}}')
    ended = slotwise("fuzz", "--profile", "mine.json", "--steps", "500", "--json")
    assert ended.code == exits.CLEAN
    assert json.loads(ended.out)["profile"] == "mine"


def test_missed_floors_are_named_and_have_their_code() -> None:
    report = Report("native", "strict", 0, True, steps=50_000, rules={"QUE-1": 3, "QUE-2": 9}, floors_missed=[Missed("QUE-1", 3, 12.5), Missed("QUE-9", 0, 0.0)])
    assert report.exit == exits.FLOOR
    assert fuzz.floors_kept(report) == "2 missed"
    assert [fuzz.floor_missed(missed) for missed in report.floors_missed] == ["QUE-1 3 times (its floor is 12.5)", "QUE-9 0 times (it has no floor)"]


def test_every_fault_of_the_catalogue_names_real_profiles() -> None:
    assert seeded.catalogue()
    assert {fault.mechanism for fault in seeded.catalogue()} == MECHANISMS.keys()
    assert all(fault.profiles and set(fault.profiles) <= MECHANISMS[fault.mechanism].profiles.keys() for fault in seeded.catalogue())
