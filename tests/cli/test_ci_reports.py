"""`slotwise ci --sarif --html`: what failed, by rule and law, and where the trace is that shows it."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from slotwise.cli import ci
from slotwise.cli.ci import Check
from slotwise.cli.ci_page import render
from slotwise.cli.sarif import log
from slotwise.fuzz import exits, seeded
from slotwise.spec import trace
from slotwise.spec.rules import RULES
from slotwise.spec.vocabulary import PROFILES

from .conftest import Slotwise

native = pytest.mark.skipif(not seeded.catalogue(), reason="the engine is not built")


def sound(found: Any) -> list[dict[str, Any]]:
    """The results of a log, which is of the form that SARIF 2.1.0 asks for."""
    assert list(found) == ["$schema", "version", "runs"]
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "slotwise"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    results: list[dict[str, Any]] = run["results"]
    for result in results:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert (result["level"], bool(result["message"]["text"])) == ("error", True)
        assert all(location["physicalLocation"]["region"]["startLine"] >= 1 for location in result["locations"])
        assert not any(location["physicalLocation"]["artifactLocation"]["uri"].startswith("/") for location in result["locations"])
    assert len({result["partialFingerprints"]["slotwise/v1"] for result in results}) == len(results)
    return results


def place(result: dict[str, Any]) -> tuple[str, int]:
    (location,) = result["locations"]
    return location["physicalLocation"]["artifactLocation"]["uri"], location["physicalLocation"]["region"]["startLine"]


@native
def test_a_divergence_is_at_the_last_line_of_the_kept_trace(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ci, "PROFILES", [PROFILES["data-designer-0.9"]])
    Path("golden").mkdir()
    Path("golden/bad.slotwise.jsonl").write_text("{}\n")
    ended = slotwise("ci", "--steps", "4000", "--golden", "golden", "--sarif", "out/ci.sarif", "--html", "out/page", "--target", "native:faults/debt_not_charged")
    assert ended.code == exits.DIVERGENCE
    results = sound(json.loads(Path("out/ci.sarif").read_text()))
    assert {result["ruleId"] for result in results} == {"BOR-4", "golden"}
    for result in results:
        path, line = place(result)
        assert Path(path).is_file()
        if result["ruleId"] == "BOR-4":
            assert line == len(trace.read(Path(path)).steps) + 1
            assert "BOR-4: the target differs from the rules" in result["message"]["text"]
    page = Path("out/page/ci.html").read_text()
    assert f"<b>BOR-4</b> {RULES['BOR-4'].prose.replace(chr(39), '&#x27;')}" in page.replace("'", "&#x27;")
    assert page.count('class="fail"') == len({result["partialFingerprints"]["slotwise/v1"] for result in results})
    assert "golden/bad.slotwise.jsonl" in page


def test_nothing_failed(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ci, "PROFILES", [PROFILES["strict"]])
    assert slotwise("ci", "--steps", "1000", "--target", "reference", "--sarif", "ci.sarif", "--html", ".").code == exits.CLEAN
    assert sound(json.loads(Path("ci.sarif").read_text())) == []
    page = Path("ci.html").read_text()
    assert re.search(r"<h1>slotwise ci: \d+ checks passed</h1>", page)
    assert "<script" not in page
    assert "http" not in page, "it needs nothing else"


FLOORS = Check("floors", "admission, strict", exits.FLOOR, "2 of 4 rules kept theirs", "QUE-1 3 times (its floor is 9.0)\nQUE-2 0 times (its floor is 4.0)", rules=("QUE-1", "QUE-2"))
LAW = Check("lockstep", "admission, strict", exits.INVARIANT, "law at LAW-14", "the story", rules=("LAW-14",))
CANARY = Check("canary", "admission, strict, <b>fault</b>\x1b", exits.MUTATION_FLOOR, "not found")


def test_each_missed_floor_is_a_result_at_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(ci.__file__).parents[3])
    results = sound(log([FLOORS, Check("golden", "fine", 0, "fine"), LAW, CANARY]))
    assert [result["ruleId"] for result in results] == ["QUE-1", "QUE-2", "LAW-14", "canary"]
    assert results[1]["message"]["text"] == "floors admission, strict: QUE-2 0 times (its floor is 4.0)"
    assert results[3]["locations"] == []


def test_a_rule_of_this_tree_is_at_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    import slotwise.spec.rules as spec

    here = Path(spec.__file__).parents[3]
    monkeypatch.chdir(here)
    (first, *_) = sound(log([FLOORS]))
    path, line = place(first)
    name = RULES["QUE-1"].function.rpartition(".")[2]
    written = (here / path).read_text().splitlines()[line - 1 :]
    assert any(f"def {name}(" in text for text in written[:6])


def test_the_page_escapes_what_it_is_told() -> None:
    page = render([FLOORS, CANARY], "pipe:<script>", 1000)
    assert "<script" not in page
    assert "<b>fault" not in page
    assert "\x1b" not in page
    assert '<a class="fail" href="#failed-2">' in page
    assert '<h3 id="failed-2">canary' in page
