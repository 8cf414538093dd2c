"""`rules`, `simulate`, `mutate`, `ci`, `bench`: what they print, and how they end."""
from __future__ import annotations

import json
import re
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from slotwise.cli import ci
from slotwise.cli.ci import Check
from slotwise.cli.junit import write
from slotwise.fuzz import exits, seeded, targets
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import PROFILES

from .conftest import Slotwise

RULES = [rule for mechanism in MECHANISMS.values() for rule in mechanism.rule_book]
LAWS = [law for mechanism in MECHANISMS.values() for law in mechanism.law_book.LAWS]
GOLDEN = Path(__file__).parents[1] / "golden"
native = pytest.mark.skipif(not seeded.catalogue(), reason="the engine is not built")


def test_rules_lists_every_rule_and_law_once(slotwise: Slotwise) -> None:
    ended = slotwise("rules")
    ids = re.findall(r"^([A-Z]+-\d+) ", ended.out, re.MULTILINE)
    assert sorted(ids) == sorted([*RULES, *LAWS])
    assert ids[:3] == ["QUE-1", "QUE-2", "QUE-3"]
    assert "        Under pressure, a group in debt starts nothing.\n" in ended.out
    assert "No campaign was run here yet" in ended.err
    of_batching = slotwise("rules", "batching")
    assert re.findall(r"^([A-Z]+-\d+) ", of_batching.out, re.MULTILINE)[:3] == ["COL-1", "COL-2", "BAT-1"]
    told = json.loads(slotwise("rules", "batching", "--json").out)
    assert told["mechanism"] == "batching"
    of_the_program = [rule for rule in told["rules"] if rule["where"] == "program"]
    assert {rule["id"].split("-")[0] for rule in of_the_program} == {"SDK"}
    assert all(rule["decided"] for rule in of_the_program), "no campaign was run: they are counted in the scenarios"
    assert re.search(r"^SDK-17  batching_coordinator\.resume_wave +decided +\d+  in the scenarios$", of_batching.out, re.MULTILINE)
    assert json.loads(slotwise("rules", "--json").out)["mechanisms"] == [*MECHANISMS]
    assert re.findall(r"^([A-Z]+-\d+) ", slotwise("rules", "spin").out, re.MULTILINE)[:3] == ["SPN-1", "SPN-2", "SPN-3"]


@native
def test_rules_counts_the_last_campaign(slotwise: Slotwise) -> None:
    ran = json.loads(slotwise("fuzz", "--profile", "strict", "--steps", "300", "--json").out)
    told = json.loads(slotwise("rules", "admission", "--json").out)
    by_id = {rule["id"]: rule for rule in told["rules"]}
    assert {id: rule["decided"] for id, rule in by_id.items() if rule["decided"]} == {id: hits for id, hits in ran["rules"].items() if hits}
    assert list(by_id["BOR-1"]) == ["id", "prose", "source", "disciplines", "switch", "off", "where", "function", "line", "decided", "faults"]
    assert sum(rule["faults"]["total"] for rule in told["rules"]) == sum(fault.mechanism == "admission" for fault in seeded.catalogue())
    assert f"decided {ran['rules']['QUE-1']:>9,}" in slotwise("rules").out


def test_a_broken_record_of_the_last_campaign_is_no_record(slotwise: Slotwise) -> None:
    Path(".slotwise").mkdir()
    Path(".slotwise/last-campaign.json").write_text("{broken")
    assert "No campaign was run here yet" in slotwise("rules").err


def test_the_rule_book_has_an_anchor_for_every_rule(slotwise: Slotwise) -> None:
    ended = slotwise("rules", "--html", "book")
    assert (ended.code, ended.out) == (exits.CLEAN, "")
    page = Path("book/rules.html").read_text()
    for id in [*RULES, *LAWS]:
        assert page.count(f'<h3 id="{id}">') == 1
        assert f'<a href="#{id}">{id}</a>' in page
    assert "def make_way(debt: int)" in page
    assert "<script" not in page
    assert len(set(re.findall(r' id="([^"]+)"', page))) == len(re.findall(r' id="([^"]+)"', page))


@native
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_heavy_root_is_the_table_of_the_seed(slotwise: Slotwise, engine: str) -> None:
    ended = slotwise("simulate", "heavy-root", "--engine", engine)
    assert ended.out == (
        "profile            wall s  utilization  idle slot-s  hot p95 s  peer p95 s  column idle s\n"
        "strict              33.60      100.00%         0.00      30.75       33.45          26.85\n"
        "data-designer-0.8   36.85       91.18%        26.00      34.50       12.10          24.05\n"
        "data-designer-0.9   34.00       98.82%         3.20      31.55       12.50          21.25\n"
        "slotwise            33.75       99.56%         1.20      31.75        7.30          26.45\n"
    )
    assert ended.err.startswith(f"heavy-root: 768 tasks in 2 groups; submission 8, llm_wait 8; played by {engine}\n")


def test_simulate_json_is_of_the_agreed_shape_on_every_engine(slotwise: Slotwise) -> None:
    runs = [json.loads(slotwise("simulate", "neutral", "--profile", "slotwise", "--engine", engine, "--json").out) for engine in ("reference", "trio", "native")]
    for run, engine in zip(runs, ("reference", "trio", "native"), strict=True):
        assert list(run)[:8] == ["scenario", "profile", "engine", "wall_s", "utilization", "idle_slot_s", "waits", "digest"]
        assert (run["scenario"], run["profile"], run["engine"], run["wall_s"], run["utilization"]) == ("neutral", "slotwise", engine, 6.4, 1.0)
        assert set(run["waits"]) == {"hot", "peer"}
        assert set(run["waits"]["hot"]) == {"p50_s", "p95_s", "max_s"}
    assert len({run["digest"] for run in runs}) == 1
    several = json.loads(slotwise("simulate", "neutral", "--engine", "reference", "--json").out)
    assert [run["profile"] for run in several["runs"]] == list(PROFILES)


def test_ci_passes_on_a_sound_target_and_says_what_it_did(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ci, "PROFILES", [PROFILES["strict"]])
    monkeypatch.setattr(ci, "CANARIES", ())
    ended = slotwise("ci", "--steps", "1000", "--golden", str(GOLDEN / "hazards"), "--junit", "out/ci.xml", "--target", "native")
    assert ended.code == exits.CLEAN, ended
    lines = ended.out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == ["check", "lockstep", "floors", "golden"]
    assert re.fullmatch(r"\d+ passed, 0 failed", lines[-1])
    suite = xml.parse("out/ci.xml").getroot()
    assert suite.get("failures") == "0"
    assert len(suite.findall("./testsuite/testcase")) == int(str(suite.get("tests")))


@native
def test_ci_reports_what_fails(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ci, "PROFILES", [PROFILES["data-designer-0.9"]])
    Path("golden").mkdir()
    Path("golden/bad.slotwise.jsonl").write_text("{}\n")
    ended = slotwise("ci", "--steps", "4000", "--golden", "golden", "--junit", "ci.xml", "--target", "native:faults/debt_not_charged")
    assert ended.code == exits.DIVERGENCE
    assert "FAIL lockstep admission, data-designer-0.9: divergence at BOR-4 in the episode of seed " in ended.err
    assert "FAIL golden golden/bad.slotwise.jsonl on reference: golden/bad.slotwise.jsonl: line 1: " in ended.err
    failures = xml.parse("ci.xml").getroot().findall("./testsuite/testcase/failure")
    assert {failure.get("type") for failure in failures} == {"exit 1", "exit 6"}
    assert "BOR-4: the target differs from the rules" in str(failures[0].text)


@native
def test_the_canaries_die_and_one_that_lives_breaks_the_campaign(monkeypatch: pytest.MonkeyPatch) -> None:
    disciplines = {type(MECHANISMS[mechanism].profiles[name].discipline) for mechanism, name, _ in ci.CANARIES}
    assert disciplines == {type(profile.discipline) for profile in ci.PROFILES}
    for canary in ci.CANARIES:
        assert ci.canary(*canary).code == exits.CLEAN
    monkeypatch.setattr(ci, "CANARY_STEPS", 200)
    sound = targets.load("native")
    monkeypatch.setattr("slotwise.cli.ci.targets.load", lambda name: sound)
    alive = ci.canary("admission", "strict", "strict_limit_off_by_one")
    assert alive.code == exits.MUTATION_FLOOR
    assert "the search is broken" in alive.said


def test_junit_says_each_check(tmp_path: Path) -> None:
    write(tmp_path / "a/b.xml", [Check("lockstep", "one", 0, "fine"), Check("canary", "two <&>", 5, "lives", "the story")])
    root = xml.parse(tmp_path / "a/b.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "0")
    failed = root.find("./testsuite/testcase[@name='two <&>']/failure")
    assert failed is not None
    assert (failed.get("message"), failed.get("type"), failed.text) == ("lives", "exit 5", "the story")


@native
def test_mutate_native_kills_what_it_is_given_and_remembers(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = [fault for fault in seeded.catalogue() if fault.name in ("debt_not_charged", "pump_one_too_many")]
    monkeypatch.setattr("slotwise.cli.mutate.seeded.search", lambda faults, workers: (seeded.find(*run) for run in seeded.runs(chosen)))
    ended = slotwise("mutate")
    assert ended.code == exits.CLEAN
    assert re.search(r"^6/6 found \(fault and profile\); median [\d.]+ s, slowest [\d.]+ s", ended.out, re.MULTILINE)
    rules = {rule["id"]: rule["faults"] for rule in json.loads(slotwise("rules", "--json").out)["rules"]}
    assert rules["BOR-4"]["killed"] == 1
    assert rules["ADM-11"]["killed"] == 1


@native
def test_mutate_native_fails_when_a_fault_is_not_found(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = seeded.catalogue()[0]
    monkeypatch.setattr("slotwise.cli.mutate.seeded.search", lambda faults, workers: iter([seeded.Found(fault, "strict", False, 30.0, 99)]))
    ended = slotwise("mutate", "--json")
    assert ended.code == exits.MUTATION_FLOOR
    assert json.loads(ended.out)["score"] == 0.0
    assert f"not found: {fault.name} under strict" in slotwise("mutate").err


def test_bench_prints_figures_with_the_command_that_measures_them(slotwise: Slotwise) -> None:
    ended = slotwise("bench", "call", "--json")
    assert ended.code == exits.CLEAN
    figures = json.loads(ended.out)["figures"]
    assert figures
    assert all(figure["command"] == "slotwise bench call" for figure in figures)
    assert slotwise("bench", "call").out.startswith("figure")
