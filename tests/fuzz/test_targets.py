"""Targets by name: ours, a user's own, and programs behind a pipe; and one clear line for each that cannot be had."""
from __future__ import annotations

import sys
from pathlib import Path

import pytest

from slotwise.fuzz import exits, targets
from slotwise.fuzz.pipe import Piped, Program
from slotwise.fuzz.target import HasClose, TargetError
from slotwise.fuzz.walker import campaign
from slotwise.spec.laws import LAWS
from slotwise.spec.vocabulary import PROFILES, Enqueue, Pump, Release, Task

SAMPLE = f"pipe:{sys.executable} -m slotwise.fuzz.sample.round_robin"
SLOTWISE = PROFILES["slotwise"]
LONG = 120.0                                 # seconds: what takes longer hangs
A1 = Enqueue(tasks=(Task("a1", "a", {"r": 1}),))

OWN = '''
from slotwise.spec.vocabulary import Command


class Own:
    commands = ("enqueue", "pump")
    profiles = ("strict",)

    def __init__(self, profile, capacity):
        self.closed = False

    def step(self, command):
        return [["drained"]]

    def close(self):
        self.closed = True


class Refuses:
    def __init__(self, profile, capacity):
        raise ValueError("not today")


class Mumbles(Own):
    def step(self, command):
        return "drained"


def stepless(profile, capacity):
    return object()


class Strange(Own):
    commands = ("dance",)
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "owner.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "owner", raising=False)
    return "owner"


def test_a_users_own(own: str) -> None:
    target = targets.load(f"{own}:Own")
    assert (target.commands, target.claims(PROFILES["strict"]), target.claims(SLOTWISE)) == (frozenset({"enqueue", "pump"}), True, False)
    stepper = target.make(SLOTWISE, {"r": 1})
    assert stepper.step(Pump(at_most=1)) == [("drained",)]
    assert isinstance(stepper, HasClose)


@pytest.mark.parametrize(("name", "says"), [
    ("nonsense", "no such target; there are reference, native"),
    ("own er:Own", "no such target"),
    ("owner:Nobody", "has no attribute 'Nobody'"),
    ("nowhere:Own", "No module named 'nowhere'"),
    ("owner:Strange", "field `commands`: found dance; expected some of enqueue, discard"),
    ("pipe:", "no command"),
    ("pipe:/nowhere/at/all", "No such file or directory"),
    ("pipe:true", "it has ended"),
    (f"pipe:{sys.executable} -c \"print('hello')\"", "in answer to the header, found 'hello'"),
    (f"pipe:{sys.executable} -c \"print('{{}}')\"", "in answer to the header, found '{}'"),
    (f"pipe:{sys.executable} -c \"import json; print(json.dumps(dict(slotwise=1, commands=['dance'])))\"", "field `commands`: expected some of"),
    (f"pipe:{sys.executable} -c \"import json; print(json.dumps(dict(slotwise=1, commands=['pump'], profiles=['mine'])))\"", "field `profiles`: expected some of strict"),
])  # fmt: skip
def test_one_line_for_what_cannot_be_loaded(own: str, name: str, says: str) -> None:
    with pytest.raises(TargetError) as caught:
        targets.load(name)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"target {name}")


@pytest.mark.parametrize(("factory", "says"), [("Refuses", "cannot be set up: ValueError: not today"), ("stepless", "object has no step(command)")])
def test_one_line_for_what_cannot_be_set_up(own: str, factory: str, says: str) -> None:
    with pytest.raises(TargetError, match="owner") as caught:
        targets.load(f"{own}:{factory}").make(SLOTWISE, {"r": 1})
    assert says in str(caught.value)


def test_an_answer_that_is_none(own: str) -> None:
    with pytest.raises(TargetError, match="expected a list of observations, found 'drained'"):
        targets.load(f"{own}:Mumbles").make(SLOTWISE, {"r": 1}).step(Pump(at_most=1))


def program(tmp_path: Path, body: str, patience: float = LONG) -> Program:
    """A program that greets, and then does `body` with each `line`."""
    path = tmp_path / "program.py"
    path.write_text(f'''
import sys, time
for line in sys.stdin:
    if "slotwise" in line:
        print('{{"slotwise":1,"commands":["pump"]}}', flush=True)
        continue
    {body}
''')
    return Program(f"pipe:{sys.executable} {path}", patience)


@pytest.mark.parametrize(("body", "says"), [
    ("sys.exit(3)", r"it has ended \(exit code 3\)"),
    ("print('[[', flush=True)", r"expected a JSON list of observations, found '\[\['"),
    ("print('[[1.5]]', flush=True)", "expected a JSON list of observations"),
    ("print('[[\"started\", 1, \"a1\", {\"r\": \"x\"}]]', flush=True)", "expected a JSON list of observations"),
    ("time.sleep(60)", r"no answer within 0\.3 s"),
])  # fmt: skip
def test_programs_that_fail(tmp_path: Path, body: str, says: str) -> None:
    process = program(tmp_path, body)
    piped = Piped(process, SLOTWISE, {"r": 1})
    process.patience = 0.3 if "sleep" in body else LONG
    with pytest.raises(TargetError, match=says) as caught:
        piped.step(Pump(at_most=1))
    assert "\n" not in str(caught.value)
    process.patience = LONG
    assert Piped(process, SLOTWISE, {"r": 1}).greeting["commands"] == ["pump"]       # it is started again
    process.close()


def test_answers_in_pieces(tmp_path: Path) -> None:
    process = program(tmp_path, "[(sys.stdout.write(c), sys.stdout.flush()) for c in '[[\"drained\"]]\\n']")
    assert Piped(process, SLOTWISE, {"r": 1}).step(Pump(at_most=1)) == [("drained",)]
    process.close()


def test_the_sample_speaks() -> None:
    target = targets.load(SAMPLE)
    assert target.commands == {"enqueue", "discard", "pump", "release"}
    stepper = target.make(SLOTWISE, {"r": 1})
    assert stepper.step(A1) == [("accepted", "a1")]
    assert stepper.step(Pump(at_most=1)) == [("started", 1, "a1", {"r": 1}), ("drained",)]
    assert target.make(SLOTWISE, {"r": 1}).step(Release(lease=1)) == [("unknown_lease", 1)]       # a header starts afresh


def test_the_samples_bug_is_named_by_the_law_of_waits() -> None:
    report = campaign(targets.load(SAMPLE), SLOTWISE, steps=60_000, seed=1)
    assert (report.exit, report.equality) == (exits.INVARIANT, False)
    failure = report.failures[0]
    assert failure.rule == "LAW-14"
    assert failure.sentence == LAWS["LAW-14"].prose
    assert len(failure.trace.steps) <= 25


def test_the_fixed_sample_is_clean() -> None:
    assert campaign(targets.load(f"{SAMPLE} fixed"), SLOTWISE, steps=12_000, seed=1).exit == exits.CLEAN


def test_the_sample_is_short() -> None:
    from slotwise.fuzz.sample import round_robin

    assert len(Path(str(round_robin.__file__)).read_text().splitlines()) <= 60
