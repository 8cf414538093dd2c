"""The trace file: what is written is read back byte for byte, and what is wrong is refused with its line and field."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.spec import batching_vocabulary as b
from slotwise.spec import spin_vocabulary as s
from slotwise.spec import trace as t
from slotwise.spec import vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS, mechanism_of

names = st.text(min_size=1, max_size=8)
needs = st.dictionaries(names, st.integers(1, v.MOST), min_size=1, max_size=3)
instants = st.integers(0, v.LATEST)
weights = st.integers(0, 65536 * 1024).map(lambda units: units / 1024)
limits = st.none() | st.integers(0, v.MOST)
COMMANDS = st.one_of(
    st.builds(v.Enqueue, tasks=st.lists(st.builds(v.Task, names, names, needs), max_size=3).map(tuple), groups=st.lists(st.builds(v.Group, names, weights, limits, limits), max_size=2).map(tuple), at=instants),
    st.builds(v.Discard, task=names, at=instants),
    st.builds(v.DiscardWhere, group=st.none() | names, prefix=st.text(max_size=4), at=instants),
    st.builds(v.Pump, at_most=st.integers(0, v.MOST), at=instants),
    st.builds(v.Select, at=instants),
    st.builds(v.Commit, task=names, version=st.integers(0, v.MOST), at=instants),
    st.builds(v.Release, lease=st.integers(0, v.MOST), claim=st.none() | st.builds(v.Claim, st.none() | names, st.none() | needs, st.integers(0, 2)), at=instants),
    st.builds(v.Explain, at=instants),
)  # fmt: skip
SAW = st.none() | st.lists(st.tuples(st.sampled_from(sorted(v.SEEN)), names | st.integers(0, 9) | needs), max_size=3)
STEPS = st.builds(t.Step, COMMANDS, SAW, st.none() | st.lists(st.sampled_from(["QUE-1", "ADM-2"]), unique=True))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(v.PROFILES.values())), needs, st.lists(STEPS, max_size=5), st.none() | st.integers())
def test_recording_again_gives_the_same_bytes(profile: v.Profile, capacity: dict[str, int], steps: list[t.Step], seed: int | None) -> None:
    trace = t.Trace(t.header(profile, capacity, seed=seed, targets=["reference"]), steps)
    data = t.encode(trace)
    again = t.decode(data)
    assert again == trace
    assert t.encode(again) == data


stamps = st.integers(-b.FURTHEST, b.FURTHEST)
changes = st.integers(-(1 << 20), 1 << 20)
done = st.lists(names, max_size=3).map(tuple)
BATCHING = st.one_of(
    st.builds(b.Submit, id=names, size=st.integers(0, v.MOST), sync=st.booleans(), empty=st.booleans(), parent=st.none() | names, ends=st.booleans(), final=st.booleans(), at=instants),
    st.builds(b.Refresh, id=names, key=st.none() | stamps, due=st.none() | instants, owner=st.text(max_size=3), index=st.integers(0, v.MOST), at=instants),
    st.builds(b.Cancel, id=st.none() | names, owner=st.text(max_size=3), at=instants),
    st.builds(b.Credit, running=changes, outside=changes, at=instants),
    st.builds(b.Stop, at=instants),
    st.builds(b.Pump, at=instants),
    st.builds(b.Respond, token=st.none() | names, stamp=st.none() | stamps, done=done, marker=st.none() | names, at=instants),
    st.builds(b.Page, done=done, marker=st.none() | names, at=instants),
    st.builds(b.Fail, at=instants),
)  # fmt: skip
B_SAW = st.none() | st.lists(st.tuples(st.sampled_from(sorted(b.SEEN)), names | stamps | st.none() | st.lists(names, max_size=2)), max_size=3)
B_STEPS = st.builds(t.Step, BATCHING, B_SAW, st.none() | st.lists(st.sampled_from(["BAT-1", "AWS-2"]), unique=True))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(b.PROFILES.values())), st.builds(b.Setup, names, stamps), st.lists(B_STEPS, max_size=5), st.none() | st.integers())
def test_recording_batching_again_gives_the_same_bytes(profile: b.Profile, setup: b.Setup, steps: list[t.Step], seed: int | None) -> None:
    trace = t.Trace(t.header(profile, setup, seed=seed, targets=["reference"]), steps)
    data = t.encode(trace)
    again = t.decode(data)
    assert again == trace
    assert t.encode(again) == data
    assert again.header.mechanism == "batching"


def test_every_kept_trace_is_written_as_it_was() -> None:
    kept = sorted((Path(__file__).parents[1] / "golden").rglob(f"*{t.SUFFIX}"))
    assert len(kept) > 50
    for path in kept:
        assert t.encode(t.read(path)) == path.read_bytes()


def test_every_mechanism_has_its_words_and_its_rules() -> None:
    for mechanism in MECHANISMS.values():
        assert all(mechanism_of(profile) is mechanism for profile in mechanism.profiles.values())
        assert set(mechanism.commands.values()) == set(mechanism.command.__args__)
        setup = v.Setup({"r": 1}) if mechanism.name == "admission" else mechanism.setup()
        for profile in mechanism.profiles.values():
            model, judge = mechanism.model(profile, setup), mechanism.new_judge(profile, setup)
            command = {"admission": v.Pump(at_most=1), "batching": b.Pump(), "spin": s.Go(actor="w0")}[mechanism.name]
            saw = mechanism.spec.step(model, command)
            assert saw
            assert all(seen[0] in mechanism.seen for seen in saw)
            assert judge.step(command, saw) == []
            assert mechanism.spec.state(model).get("now", 0) == 0      # of `spin`, what is 0 is left out
            assert mechanism.spec.decided


def test_every_parameter_of_the_profile_is_in_the_header() -> None:
    profiles: list[Any] = [*v.PROFILES.values(), *b.PROFILES.values()]
    for profile in profiles:
        found = msgspec.json.decode(t.encode(t.Trace(t.header(profile, {"r": 1} if isinstance(profile, v.Profile) else b.Setup()))))["profile"]
        assert set(found) == set(profile.__struct_fields__)
        assert set(found["discipline"]) == {"type", *profile.discipline.__struct_fields__}


GOOD = t.encode(t.Trace(t.header(v.PROFILES["slotwise"], {"r": 3}), [t.Step(v.Enqueue(tasks=(v.Task("a", "g", {"r": 1}),)), [("accepted", "a")], ["QUE-1"]), t.Step(v.Pump(at_most=1, at=5))]))
BAD = {
    "empty": (b"", "line 1: the file is empty"),
    "foreign": (b'{"event":"x"}\n', "line 1: field `slotwise` is missing"),
    "no JSON": (b"hello\n", "line 1: not a JSON object"),
    "an array": (b"[1]\n", "line 1: not a JSON object"),
    "no UTF-8": (GOOD.replace(b'"a"', b'"\xff"'), "line 2: not a JSON object"),
    "future": (GOOD.replace(b'"slotwise":1', b'"slotwise":2'), "line 1: field `slotwise`: format 2 was written by a newer slotwise"),
    "no version": (GOOD.replace(b'"slotwise":1', b'"slotwise":"1"'), "line 1: field `slotwise`: expected a format version, found '1'"),
    "truncated": (GOOD[:-9], "line 3: the file ends within a line; it is truncated"),
    "truncated at a line's end": (GOOD[:-1], "line 3: the file ends within a line; it is truncated"),
    "mechanism": (GOOD.replace(b'"admission"', b'"juggling"'), "line 1: .*juggling.*mechanism"),
    "discipline": (GOOD.replace(b'"slot-time"', b'"slot-tide"'), "line 1: .*slot-tide.*profile.discipline"),
    "parameter": (GOOD.replace(b'"patience":2', b'"patience":-2'), "line 1: .*profile.discipline.patience"),
    "unknown parameter": (GOOD.replace(b'"patience":2', b'"patients":2'), "line 1: .*unknown field `patients`.*profile.discipline"),
    "switch": (GOOD.replace(b'"idle_group_keeps_place":false', b'"idle_group_keeps_place":true'), "line 1: slot-time has no .*profile"),
    "capacity": (GOOD.replace(b'{"r":3}', b'{"r":0}'), "line 1: .*setup.capacity"),
    "command": (GOOD.replace(b'"pump"', b'"pimp"'), r"line 3: .*pimp.*\$.do"),
    "missing field": (GOOD.replace(b'"at_most":1,', b""), "line 3: .*missing required field `at_most`"),
    "negative units": (GOOD.replace(b'{"r":1}', b'{"r":-1}'), r"line 2: .*tasks\[0\].needs"),
    "no needs": (GOOD.replace(b'{"r":1}', b"{}"), r"line 2: .*tasks\[0\].needs"),
    "time": (GOOD.replace(b'"at":5', b'"at":-5'), r"line 3: .*\$.at"),
    "float in saw": (GOOD.replace(b'["accepted","a"]', b'["accepted",1.5]'), "line 2: .*float"),
    "another's profile": (GOOD.replace(b'"admission"', b'"batching"'), r"line 1: .*\$.profile"),
    "another's observation": (GOOD.replace(b'["accepted","a"]', b'["accepted",null]'), r"line 2: .*\$\[0\]\[1\]"),
    "not a list": (GOOD.replace(b'[["accepted","a"]]', b'"accepted"'), "line 2: Expected `array"),
}  # fmt: skip


OF_BATCHING = t.encode(t.Trace(t.header(b.PROFILES["slotwise"], b.Setup()), [t.Step(b.Submit(id="a", size=3), [("accepted", "a")], ["BAT-4"]), t.Step(b.Pump(at=5), [("sleep", None)])]))
BAD_BATCHING = {
    "mechanism": (OF_BATCHING.replace(b'"batching"', b'"admission"'), r"line 1: .*\$.profile"),
    "discipline": (OF_BATCHING.replace(b'"look-ahead"', b'"look-behind"'), "line 1: .*look-behind.*profile.discipline"),
    "parameter": (OF_BATCHING.replace(b'"updates":250', b'"updates":0'), "line 1: .*profile.discipline.updates"),
    "setup": (OF_BATCHING.replace(b'"hint":0', b'"hunt":0'), "line 1: .*unknown field `hunt`.*setup"),
    "command of another": (OF_BATCHING.replace(b'"do":"pump"', b'"do":"select"'), r"line 3: .*select.*\$.do"),
    "size": (OF_BATCHING.replace(b'"size":3', b'"size":-3'), r"line 2: .*\$.size"),
    "needs in saw": (OF_BATCHING.replace(b'["accepted","a"]', b'["accepted",{"r":1}]'), "line 2: .*object"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_BATCHING)
def test_what_is_wrong_with_batching_is_named_with_its_line(name: str) -> None:
    data, message = BAD_BATCHING[name]
    assert t.decode(OF_BATCHING).commands
    with pytest.raises(t.TraceError) as error:
        t.decode(data, "f.jsonl")
    assert re.search(f"^f.jsonl: {message}", str(error.value)), error.value


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_its_line(name: str) -> None:
    data, message = BAD[name]
    assert t.decode(GOOD).commands
    with pytest.raises(t.TraceError) as error:
        t.decode(data, "f.jsonl")
    assert re.search(f"^f.jsonl: {message}", str(error.value)), error.value
    assert "\n" not in str(error.value)


def test_a_weight_is_a_multiple_of_a_1024th() -> None:
    line = b'{"do":"enqueue","tasks":[],"groups":[{"name":"g","weight":0.3}]}\n'
    with pytest.raises(t.TraceError, match=r"line 4: .*multiple of.*groups\[0\].weight"):
        t.decode(GOOD + line)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(t.TraceError, match=r"nothing\.jsonl: No such file"):
        t.read(tmp_path / "nothing.jsonl")
    t.write(tmp_path / "it.jsonl", t.decode(GOOD))
    assert (tmp_path / "it.jsonl").read_bytes() == GOOD
