"""The collector of the engine: every golden vector, by both of its faces, its state beside the specification's, and wrong use."""
from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.impl import Batcher
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector as spec
from slotwise.spec.batching_player import Service, play
from slotwise.spec.vocabulary import LATEST, Observation

VECTORS = [json.loads(line) for line in (Path(__file__).parents[1] / "golden" / "checkpoint" / "collector.jsonl").read_text("utf-8").splitlines()]
UNCOUNTED = msgspec.structs.replace(v.PROFILES["slotwise"], discipline=v.LookAhead(counted=False))
PROFILES = {**v.PROFILES, "slotwise, uncounted": UNCOUNTED}
CASES = [(vector["id"], profile) for vector in VECTORS for profile in vector["seen"]]


@pytest.mark.parametrize(("id", "name"), CASES)
def test_vector(id: str, name: str) -> None:
    """Each command of the played script answers as in the specification, and leaves the same state; so does the whole trace in one call."""
    vector = next(vector for vector in VECTORS if vector["id"] == id)
    profile, setup = PROFILES[name], v.Setup()
    model, engine = spec.collector(profile, setup), Batcher(profile)

    def step(command: v.Command) -> list[Observation]:
        saw = engine.step(command)
        assert saw == spec.step(model, command), command
        return saw

    fates = {int(number): fate for number, fate in vector["fates"].items()}
    played = play(step, msgspec.convert(vector["script"], list[v.Command]), Service(fates=fates))
    assert engine.state() == spec.state(model)
    assert engine.audit() == []
    header = {"slotwise": 1, "mechanism": "batching", "profile": profile, "setup": setup}
    lines = Batcher.run(b"\n".join([*map(msgspec.json.encode, [header, *played.commands]), b""])).splitlines()
    assert lines == [msgspec.json.encode(saw) for saw in played.saw]


def test_typed_methods() -> None:
    """A method for each command, with the specification's defaults."""
    engine = Batcher("slotwise", token="t0", hint=-5)
    assert engine.credit(1, at=0) == []
    assert engine.submit("a", 100, parent="p", at=0) == [("accepted", "a")]
    assert engine.refresh("op", key=3_000_000_000, owner="o", index=2, at=0) == [("accepted", "op")]
    assert engine.pump(at=0) == [("send", ["a"], [], "t0")]
    other = engine.clone()
    assert engine.respond("t1", 17, ["op"], at=30) == [("settled", "a", "ok"), ("resumed", "o", 3_000_000_000, ["op"])]
    assert other.respond("t1", marker="m", at=30) == [("fetch", "m", "t1")]
    assert other.page(("op",), at=31)[1:] == [("resumed", "o", 3_000_000_000, ["op"])]
    assert other.cancel("op", at=31) == other.cancel(owner="o", at=31) == []
    assert other.stop(at=31) == []
    assert other.pump(at=31) == [("exit",)]
    assert engine.fail(at=31) == [("unexpected", "fail")]
    assert engine.examined() > 0


ENDS = (-v.FURTHEST, -1, 1_800_000_000 * v.SECOND, v.FURTHEST)


@pytest.mark.parametrize("name", v.PROFILES)
@pytest.mark.parametrize(("hint", "stamp"), list(itertools.product(ENDS, ENDS)))
def test_stamps_as_far_as_they_go(name: str, hint: int, stamp: int) -> None:
    """Nothing overflows, however far the clocks are apart: the engine still answers as the specification, by both of its faces."""
    setup = v.Setup(hint=hint)
    model, engine = spec.collector(v.PROFILES[name], setup), Batcher(name, hint=hint)
    last = LATEST
    keys: list[v.Command] = [v.Refresh(id=f"r{i}", key=key, owner="o", at=1) for i, key in enumerate(ENDS)]
    script: list[v.Command] = [
        v.Submit(id="a"), *keys, v.Pump(at=1), v.Respond(token="t", stamp=stamp, done=("r1",), at=2), v.Pump(at=3), v.Submit(id="b", at=3), v.Pump(at=v.SECOND),
        v.Respond(token="u", stamp=-stamp, at=last), v.Submit(id="c", at=last), v.Pump(at=last), v.Respond(token="w", stamp=stamp, at=last), v.Pump(at=last),
        v.Stop(at=last), v.Pump(at=last),
    ]  # fmt: skip
    saw = []
    for command in script:
        saw.append(spec.step(model, command))
        assert engine.step(command) == saw[-1], command
        assert engine.state() == spec.state(model), command
    assert engine.audit() == []
    header = {"slotwise": 1, "mechanism": "batching", "profile": v.PROFILES[name], "setup": setup}
    lines = Batcher.run(b"\n".join([*map(msgspec.json.encode, [header, *script]), b""])).splitlines()
    assert lines == [msgspec.json.encode(seen) for seen in saw]


BAD: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (ValueError, "an item's id must have 1 to 200 characters", lambda b: b.submit("", at=0)),
    (ValueError, "size must be 0 to 2147483647, found -1", lambda b: b.submit("a", -1, at=0)),
    (ValueError, "size must be 0 to 2147483647, found 1267650600228229401496703205376", lambda b: b.submit("a", 1 << 100, at=0)),
    (TypeError, "size must be an integer, found <class 'NoneType'>", lambda b: b.submit("a", None, at=0)),
    (ValueError, "at must be 0 to 1152921504606846976, found -1", lambda b: b.pump(at=-1)),
    (TypeError, "at must be an integer, found <class 'float'>", lambda b: b.pump(at=1.5)),
    (ValueError, "key must be -4611686018427387904 to 4611686018427387904, found 4611686018427387905", lambda b: b.refresh("r", key=(1 << 62) + 1, at=0)),
    (ValueError, "running must be -1048576 to 1048576, found 1048577", lambda b: b.credit(1048577, at=0)),
    (ValueError, "a token must have 1 to 200 characters", lambda b: b.respond("", at=0)),
    (TypeError, "done must be a list of ids, found a str", lambda b: b.respond("t", done="op", at=0)),
    (TypeError, "expected a command of the vocabulary, found <class 'int'>", lambda b: b.step(3)),
    (ValueError, "no profile is called \"none\"; there are aws-durable-2.0.0, aws-durable-3.0.0, slotwise", lambda _: Batcher("none")),
    (ValueError, "a token must have 1 to 200 characters", lambda _: Batcher("slotwise", token="")),
    (ValueError, "line 1: field `mechanism`: expected batching, found \"admission\"",
     lambda _: Batcher.run(b'{"slotwise":1,"mechanism":"admission","profile":{"name":"x","discipline":{"type":"look-ahead"}},"setup":{}}\n')),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "use"), BAD, ids=range(len(BAD)))
def test_wrong_use_is_refused_and_changes_nothing(error: type[Exception], message: str, use: Callable[[Any], Any]) -> None:
    engine = Batcher("slotwise")
    before = engine.state()
    with pytest.raises(error) as found:
        use(engine)
    assert str(found.value) == message
    assert engine.state() == before
