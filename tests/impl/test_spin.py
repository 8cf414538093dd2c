"""The model's pool of the engine: golden windows and random lives by both of its faces, its state beside the specification's, and wrong use."""
from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.impl import Spinner
from slotwise.spec import spin
from slotwise.spec import spin_vocabulary as v

GOLDEN = Path(__file__).parents[1] / "golden" / "spin"
replace = msgspec.structs.replace


def agree(profile: v.Profile, setup: v.Setup, commands: list[v.Command]) -> None:
    """Each command answers as in the specification, and leaves the same state; so does the whole trace in one call."""
    model, engine, told = spin.pool(profile, setup), Spinner(profile, setup), []
    for command in commands:
        told.append(spin.step(model, command))
        assert engine.step(command) == told[-1], command
        assert engine.state() == spin.state(model), command
        assert engine.audit() == [], command
    header = {"slotwise": 1, "mechanism": "spin", "profile": profile, "setup": setup}
    lines = Spinner.run(b"\n".join([*map(msgspec.json.encode, [header, *commands]), b""])).splitlines()
    assert lines == [msgspec.json.encode(saw) for saw in told]


@pytest.mark.parametrize("profile", v.PROFILES.values(), ids=lambda profile: profile.name)
def test_whole_windows(profile: v.Profile) -> None:
    vectors = json.loads((GOLDEN / "costed.json").read_text("utf-8"))
    costed: list[v.Command] = [v.Wait(window=vector["window"], **vector["costs"]) for vector in vectors if vector["window"] < v.MILLISECOND]
    scripted: list[v.Command] = [
        v.Script(window=500_000, readings=(*range(2032, 128_017, 2032), *range(130_000, 600_000, step)), publish=publish, shutdown=shutdown)
        for step in (25, 5000, 9999, 10_000, 11_000_000) for publish, shutdown in ((None, None), (4000, None), (4100, None), (70, 70), (None, 4101))
    ]  # fmt: skip
    agree(profile, v.Setup(), costed + scripted)


def life(pick: random.Random, workers: int) -> Iterator[v.Command]:
    names = [*(f"w{number}" for number in range(workers)), "d", "d", "e", v.BUILDER, "w77"]
    at, pace = 0, pick.choice([1, 30, 50_000])
    for _ in range(120):
        at += pick.choice([0, 0, 1, 3, 10]) * pace
        name, kind = pick.choice(names), pick.random()
        if kind < 0.08:
            yield v.Dispatch(actor=pick.choice(["d", "e", "f", name]), total=pick.choice([0, 1, 2, 3, 6]), at=at)
        elif kind < 0.25:
            yield v.End(actor=name, panics=pick.random() < 0.2, at=at)
        elif kind < 0.35:
            others: list[v.Command] = [
                v.Counters(at=at), v.Stir(actor=name, at=at), v.Gap(gap=pick.choice([0, 7, 300, 70_000]), ran=pick.random() < 0.7, at=at),
                v.Go(actor=name, at=max(0, at - 1)), v.Wait(window=pick.choice([0, 50, 2000]), pause=3, publish=pick.choice([None, 40]), at=at),
            ]  # fmt: skip
            yield pick.choice(others)
        elif kind < 0.355:
            yield v.Shutdown(at=at)
        else:
            yield v.Go(actor=name, times=pick.choice([1, 1, 2, 3, 10, 100]), at=at)


def drawn(pick: random.Random) -> tuple[v.Profile, v.Setup]:
    profile = pick.choice(list(v.PROFILES.values()))
    discipline = pick.choice([profile.discipline, v.Ratchet(20, 100), v.Fixed(pick.choice([0, 30])), v.BreakEven(pick.choice([0, 2048])), v.Average(5, 60), v.Guarded(1024)])
    switches = {name: pick.random() < 0.5 for name in ("deadline_strided", "yields_unbounded", "barrier_unbounded", "wakes_all", "empty_catch_counts")} if pick.random() < 0.3 else {}
    profile = replace(profile, discipline=discipline, budget=pick.choice([1, 6, 20]), stride=pick.choice([1, 3, 4]), yield_interval=pick.choice([1, 10, 300]),
                      slots=pick.choice([1, 2, 8]), straggler_stride=pick.choice([1, 3]), ready_within=pick.choice([0, 100, 10**6]), **switches)
    width = pick.choice([1, 2, 3, 5])
    return profile, v.Setup(width, pick.choice([None, max(0, width - 2)]), pick.random() < 0.7, park=pick.choice([8, 60, 68_300]))


@pytest.mark.parametrize("seed", range(60))
def test_random_lives(seed: int) -> None:
    pick = random.Random(seed)
    profile, setup = drawn(pick)
    agree(profile, setup, list(life(pick, setup.workers)))


def test_typed_methods() -> None:
    """A method for each command, with the specification's defaults; `at` is by default the time of the last command."""
    pool = Spinner("slotwise", v.Setup(width=2))
    assert pool.dispatch("d", 2, at=5) == [("held", "d", 0)]
    assert pool.go("d", 3) == [("wrote", "d", 0, "remaining"), ("wrote", "d", 0, "stamp"), ("wrote", "d", 0, "claim")]
    other = pool.clone()
    assert pool.go("d", times=5)[-1] == ("took", "d", 0, 1)
    assert other.go("d") == [("wrote", "d", 0, "active")]
    assert pool.end("d", panics=True) == [("ended", "d", 0)]
    assert pool.stir("w0") == [("idle", "w0", "not_parked")]
    assert pool.counters()[0][:5] == ("counters", "dispatches", 1, "tasks", 1)
    assert pool.shutdown(at=9) == [("shut_down", 2)]
    assert pool.counters(at=8) == [("time_reversed", 9)]
    assert pool.wait(500_000) == [("outcome", "expired", 10646, 38, 6614, 500_997)]
    assert pool.wait(500_000, first_yield=11_000_000, publish=140_000) == [("outcome", "caught", 4096, 1, 64, 11_128_225)]
    assert pool.script(20_000, [19_999, 20_000]) == [("outcome", "expired", 128, 0, 2, 20_000)]
    assert pool.script(20_000, publish=1) == [("outcome", "caught", 0, 0, 0, 0)]
    assert pool.gap(300_000) == [("waited", 68_300, "parked", 0)]
    assert pool.examined() == 8


BAD: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (ValueError, "an actor must have 1 to 200 characters", lambda p: p.go("")),
    (ValueError, "times must be 1 to 1048576, found 0", lambda p: p.go("w0", 0)),
    (ValueError, "total must be 0 to 1048576, found -1", lambda p: p.dispatch("d", -1)),
    (TypeError, "total must be an integer, found <class 'float'>", lambda p: p.dispatch("d", 1.5)),
    (ValueError, "pause must be 1 to 1000000000, found -3", lambda p: p.wait(5, pause=-3)),
    (ValueError, "at must be 0 to 1152921504606846976, found -1", lambda p: p.counters(at=-1)),
    (TypeError, "expected a command of the vocabulary, found <class 'int'>", lambda p: p.step(3)),
    (ValueError, "no profile is called \"none\"; there are ep-cpu-orig, ep-cpu-before, ep-cpu-after, slotwise", lambda _: Spinner("none")),
    (ValueError, "profile x: floor 30 is above cap 20", lambda _: Spinner(b'{"name":"x","discipline":{"type":"ratchet","floor":30,"cap":20}}')),
    (ValueError, "setup: width must be 1 to 64, found 0", lambda _: Spinner("slotwise", b'{"width":0}')),
    (ValueError, "spawned 3 of width 3: at most width - 1", lambda _: Spinner("slotwise", b'{"spawned":3}')),
    (ValueError, "line 1: field `mechanism`: expected spin, found \"admission\"",
     lambda _: Spinner.run(b'{"slotwise":1,"mechanism":"admission","profile":{"name":"x","discipline":{"type":"fixed"}},"setup":{}}\n')),
]  # fmt: skip


@pytest.mark.parametrize(("error", "message", "use"), BAD, ids=range(len(BAD)))
def test_wrong_use_is_refused_and_changes_nothing(error: type[Exception], message: str, use: Callable[[Any], Any]) -> None:
    pool = Spinner("slotwise")
    before = pool.state()
    with pytest.raises(error) as found:
        use(pool)
    assert str(found.value) == message
    assert pool.state() == before
