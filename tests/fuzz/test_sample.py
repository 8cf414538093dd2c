"""The worked example of the live scheduler runs as the README says, on both loops, and can be watched."""
from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from slotwise.fuzz import seeded

pytestmark = pytest.mark.skipif(not seeded.catalogue(), reason="the engine is not built")
WORK = [sys.executable, "-m", "slotwise.fuzz.sample.run_work"]


@pytest.mark.parametrize("words", [[], ["trio"], ["trio", "0.5"]], ids=" ".join)
def test_it_runs(words: list[str]) -> None:
    said = subprocess.run([*WORK, *words], capture_output=True, text=True, check=True).stdout.splitlines()
    rounds = re.match(r"(\d+)00 answers for the batch; chat was answered within [\d.]+ s, \d+ times not at all$", said[0])
    assert rounds
    counts = {line.split()[0]: [int(found) for found in re.findall(r"\d+", line)] for line in said[1:]}
    assert list(counts) == ["chat", "batch"]
    assert counts["batch"][:2] == [100 * int(rounds[1])] * 2
    assert counts["chat"][0] == 5 * int(rounds[1])


def test_it_can_be_watched() -> None:
    program = [sys.executable, "-m", "slotwise.cli.start", "watch", "--run", f"{sys.executable} -m slotwise.fuzz.sample.run_work 600", "--once", "--format", "json"]
    found = json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout)
    assert found["head"]["capacity"] == 8
    assert all(f"\"{name}\"" in json.dumps(found["panes"]["groups"]) for name in ("chat", "batch"))
