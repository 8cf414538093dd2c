"""The golden traces and the scenarios on the published package itself; the facts beside them were found by driving it directly."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from slotwise.fuzz.upstream.data_designer import BEFORE, TARGET, DataDesigner, claims
from slotwise.spec import scenarios
from slotwise.spec import vocabulary as v
from slotwise.spec.simulation import play
from slotwise.spec.trace import SUFFIX, read

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
TRACES = [path for path in sorted(GOLDEN.rglob(f"*{SUFFIX}")) if TARGET.follows(read(path).header.profile)]
PROFILES = [profile for profile in v.PROFILES.values() if claims(profile)]


def test_enough_is_claimed() -> None:
    """So that a wrong claim cannot empty the tests below."""
    assert len([path for path in TRACES if path.parent.name == "admission"]) >= (8 if BEFORE else 53)
    assert [profile.name for profile in PROFILES] == (["data-designer-0.8"] if BEFORE else ["strict", "data-designer-0.9"])


@pytest.mark.parametrize("path", TRACES, ids=lambda path: str(path.relative_to(GOLDEN)).removesuffix(SUFFIX))
def test_replays(path: Path) -> None:
    trace = read(path)
    package = TARGET.make(trace.header.profile, trace.header.setup.capacity)
    for number, step in enumerate(trace.steps, 2):
        assert package.step(step.command) == step.saw, f"{path.name}: line {number}"


def test_recording_again_changes_nothing() -> None:
    """And every vector still gives its facts: dispatch order, debt, verdicts, codes, tags."""
    done = subprocess.run([sys.executable, "-m", "tests.golden.record", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{53} vectors agree" in done.stdout


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_scenarios(profile: v.Profile, name: str) -> None:
    """Start by start as on the reference; nothing is left running or owed."""
    scenario = scenarios.find(name)
    package = DataDesigner(profile, scenario.capacity)
    run = play(scenario, package.step, profile=profile.name, engine="data-designer")
    assert run.digest == json.loads((GOLDEN / "admission" / "digests.json").read_text())[name][profile.name]
    assert (package.state()["leases"], package.state()["debt"]) == ({}, {})
