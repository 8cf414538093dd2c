"""The golden vectors of the collector: each script, played on the specification under each profile, sends and tells what was recorded.

The published packages 2.0.0 and 3.0.0 were recorded in virtual time with a round trip of 30 ms, `slotwise` by its prototype. Not compared:
the order of settlements within one instant, and which refreshes were on a request of the packages (they do not say).
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.spec import batching_vocabulary as v
from slotwise.spec import rules
from slotwise.spec.batching_player import Played, Service, play
from slotwise.spec.collector import collector, step
from slotwise.spec.vocabulary import Observation

VECTORS = [json.loads(line) for line in (Path(__file__).parents[1] / "golden" / "checkpoint" / "collector.jsonl").read_text("utf-8").splitlines()]
UNCOUNTED = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(counted=False))
PROFILES = {**v.PROFILES, "slotwise, uncounted": UNCOUNTED}
#: What a producer is told when it is refused, by reason: the recordings tell only the kind of error.
KIND = {"stopped": "orphaned", "completed": "orphaned", "orphaned": "orphaned", "revoked": "suspended", "failed": "failed"}
CASES = [(vector["id"], profile) for vector in VECTORS for profile in vector["seen"]]


def played(vector: dict[str, Any], profile: v.Profile, published: bool, met: set[str] | None = None) -> Played:
    def see(command: v.Command) -> list[Observation]:
        saw = step(model, command)
        if met is not None:
            met.update(rules.decided)
        return saw

    model = collector(profile, v.Setup())
    script = msgspec.convert(vector["script"], list[v.Command])
    fates = {int(number): fate for number, fate in vector["fates"].items()}
    return play(see, script, Service(fates=fates), horizon=(30 if published else 60) * v.SECOND)


@pytest.mark.parametrize(("id", "name"), CASES)
def test_vector(id: str, name: str) -> None:
    vector = next(vector for vector in VECTORS if vector["id"] == id)
    published, seen = name.startswith("aws"), vector["seen"][name]
    found = played(vector, PROFILES[name], published)
    sends = [[at, updates] if published else [at, updates, refreshes] for at, updates, refreshes in found.sends]
    assert sends == seen["sends"]
    assert sorted(found.settled) == sorted((at, id, outcome) for at, outcome, ids in seen["settled"] for id in ids)
    if published:
        assert [[at, id, KIND[why]] for at, id, why in found.rejected] == seen["rejected"]
        assert found.exit == seen["exit"]
    else:
        assert [[id, why] for _, id, why in found.rejected] == seen["rejected"]


CUT_SHORT = {"id": "V37", "fates": {}, "script": [{"do": "submit", "id": "a", "sync": False}, {"do": "refresh", "id": "r", "due": 50 * v.MILLISECOND}, {"do": "cancel", "id": "r", "at": 20 * v.MILLISECOND}]}
#: vector -> what sealed its batches, in order.
SEALS = {
    "V01": ["AWS-26"], "V02": ["AWS-27"], "V07": ["AWS-25", "AWS-27"], "V09": ["AWS-23", "AWS-23", "AWS-27"], "V12": ["AWS-24", "AWS-26"], "V15": ["AWS-24", "AWS-26"],
    "V20": ["AWS-26"], "V35": ["AWS-28"], "V37": ["AWS-29"],
}  # fmt: skip


@pytest.mark.parametrize("id", SEALS)
def test_what_sealed_the_batch_is_named(id: str) -> None:
    vector = next((vector for vector in VECTORS if vector["id"] == id), CUT_SHORT)
    model = collector(v.PROFILES["aws-durable-3.0.0"], v.Setup())
    sealed: list[str] = []

    def see(command: v.Command) -> list[Observation]:
        saw = step(model, command)
        sealed.extend(rule for rule in rules.decided if "AWS-23" <= rule <= "AWS-29" and saw[-1][0] == "send")
        return saw

    play(see, msgspec.convert(vector["script"], list[v.Command]), horizon=4 * v.SECOND)
    assert sealed == SEALS[id]


#: Rules of the published collector, each with a vector that it decides in.
DECIDE = {
    "V01": "AWS-8 AWS-18 AWS-19 AWS-20 AWS-22 AWS-30 AWS-32 AWS-34", "V05": "AWS-13", "V14": "AWS-15", "V20": "AWS-9 AWS-10 AWS-16 AWS-21", "V28": "AWS-11 AWS-17",
    "V34": "AWS-6 AWS-38", "V40": "AWS-4 AWS-12 AWS-36 AWS-37", "V41": "AWS-31", "V44": "AWS-33",
}  # fmt: skip


@pytest.mark.parametrize("id", DECIDE)
def test_what_decides_in_a_vector(id: str) -> None:
    vector = next(vector for vector in VECTORS if vector["id"] == id)
    met: set[str] = set()
    played(vector, v.PROFILES["aws-durable-3.0.0"], True, met)
    assert set(DECIDE[id].split()) <= met


def test_every_vector_is_there() -> None:
    assert len(VECTORS) == 37
    assert [sum(profile in vector["seen"] for vector in VECTORS) for profile in PROFILES] == [19, 37, 32, 32]
