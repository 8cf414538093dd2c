"""The golden traces and vectors on the published collector itself. The vectors were recorded by driving it in another way: a loop that plays whole scripts."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from slotwise.fuzz.upstream.aws_durable import BEFORE, OWN, TARGET, VERSION, Collector
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_player import Service, play
from slotwise.spec.trace import SUFFIX, read

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
TRACES = [path for path in sorted(GOLDEN.rglob(f"*{SUFFIX}")) if TARGET.follows(read(path).header.profile)]
VECTORS = {vector["id"]: vector for line in (GOLDEN / "checkpoint" / "collector.jsonl").read_text("utf-8").splitlines() if OWN.name in (vector := json.loads(line))["seen"]}
#: What a producer is told when it is refused, by reason: the recordings tell only the kind of error.
KIND = {"stopped": "orphaned", "completed": "orphaned", "orphaned": "orphaned", "revoked": "suspended", "failed": "failed"}


def test_enough_is_claimed() -> None:
    """So that a wrong claim cannot empty the tests below."""
    assert [profile.name for profile in v.PROFILES.values() if TARGET.follows(profile)] == [f"aws-durable-{VERSION}"]
    assert (len(TRACES), len(VECTORS)) == ((2, 19) if BEFORE else (9, 37))


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_replays(path: Path) -> None:
    trace = read(path)
    package = Collector(trace.header.profile, trace.header.setup)
    for number, step in enumerate(trace.steps, 2):
        assert package.step(step.command) == step.saw, f"{path.name}: line {number}"
    package.close()


def test_recording_again_changes_nothing() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.golden.collector_hazards", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{VERSION}: {len(TRACES)} hazards, 0 changed" in done.stdout


@pytest.mark.parametrize("id", VECTORS)
def test_vector(id: str) -> None:
    vector, package = VECTORS[id], Collector(OWN, v.Setup())
    fates = {int(number): fate for number, fate in vector["fates"].items()}
    found, seen = play(package.step, msgspec.convert(vector["script"], list[v.Command]), Service(fates=fates), horizon=30 * v.SECOND), vector["seen"][OWN.name]
    package.close()
    assert [[at, updates] for at, updates, _ in found.sends] == seen["sends"]
    assert sorted(found.settled) == sorted((at, id, outcome) for at, outcome, ids in seen["settled"] for id in ids)
    assert [[at, id, KIND[why]] for at, id, why in found.rejected] == seen["rejected"]
    assert found.exit == seen["exit"]
