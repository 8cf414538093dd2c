"""A trace on reference and target side by side: what is compared, what is wrong first, how it is told, how it ends."""
from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from slotwise.cli import main, sides
from slotwise.dashboard.observe.sides import Side, Sides, as_object, as_text
from slotwise.fuzz import pipe, targets
from slotwise.fuzz.recording import record
from slotwise.fuzz.replay import replay
from slotwise.spec import trace
from slotwise.spec.trace import Trace
from slotwise.spec.vocabulary import PROFILES, Enqueue, Group, Pump, Release, Task

pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
FAULT = "native:faults/running_limit_off_by_one"
GOLDEN = sorted((Path(__file__).parents[2] / "tests/golden").rglob("*.slotwise.jsonl"))
ONE = {"r": 1}
COMMANDS = [
    Enqueue(tasks=(Task("a1", "a", ONE), Task("a2", "a", ONE)), groups=(Group("a", running_limit=1),)), Pump(at_most=1), Pump(at_most=1), Release(lease=1, at=5), Pump(at_most=9, at=5), Pump(at_most=9, at=6),
]  # fmt: skip


def recorded(profile: str = "slotwise", commands: Sequence[Any] = COMMANDS) -> Trace:
    return record(PROFILES[profile], {"r": 2}, commands)


def compared(target: str, read: Trace | None = None) -> Sides:
    return sides.compare(read or recorded(), targets.load(target), "t.slotwise.jsonl")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "t.slotwise.jsonl"
    trace.write(path, recorded())
    return path


def test_no_difference() -> None:
    found = compared("native")
    assert (found.first, found.different, found.states, found.exit, found.kind) == (None, (), None, 0, "")
    assert found.verdict == "no difference in 6 steps"
    assert [(side.number, side.differs, side.word) for side in found.rows] == [(n, False, "") for n in range(1, 7)]
    assert found.rows[1] == Side(2, "pump at most 1", ("started 1 a1 (1 r)", "full"), ("started 1 a1 (1 r)", "full"), tuple(recorded().steps[1].rules or ()), False)


def test_the_first_difference() -> None:
    found = compared(FAULT)
    assert (found.kind, found.rule, found.first, found.exit) == ("divergence", "SLT-9", 2, 1)
    assert found.message == "expected blocked, found started 2 a2 1 r"
    assert found.sentence == "A group never runs more tasks than its limit."
    assert found.states is not None
    assert ("granted", "1", "2") in found.states
    side = found.rows[2]
    assert (side.word, side.expected, side.found, side.same) == ("DIFFERS", ("blocked",), ("started 2 a2 (1 r)", "drained"), 0)
    assert side.wrong == "LAW-4: a already ran 1 tasks, its limit"
    assert found.rows[5].found is not None, "it goes on after the first"


def test_what_differs_later_is_found_from_anywhere() -> None:
    found = compared(FAULT)
    assert found.different[0] == 2
    assert len(found.different) > 1
    assert [found.next(place, True) for place in (0, 1)] == [2, 2]
    assert found.next(2, False) is None
    assert found.next(found.different[-1], True) is None
    assert found.next(len(found.rows), False) == found.different[-1]


@pytest.mark.parametrize("target", ["native", "reference", FAULT, "native:faults/debt_not_charged"])
def test_it_ends_as_replay_does(target: str) -> None:
    for path in GOLDEN[::9]:
        read, loaded = trace.read(path), targets.load(target)
        outcome, found = replay(read, loaded), sides.compare(read, loaded, str(path))
        assert found.exit == outcome.exit, path
        assert (found.kind, found.rule) == ((outcome.failure.kind, outcome.failure.rule) if outcome.failure else ("recording" if outcome.change else "", "")), path
        if outcome.failure:
            assert (found.first, found.message) == (outcome.failure.at, outcome.failure.message)


def test_a_recording_that_says_something_else() -> None:
    read = recorded()
    read.steps[1] = trace.Step(read.steps[1].command, [("started", 1, "a2", ONE), ("full",)], read.steps[1].rules)
    found = compared("native", read)
    assert (found.kind, found.first, found.exit, found.rows[1].word) == ("recording", 1, 1, "WRONG")
    assert found.message == "recorded: started 1 a2 1 r, found started 1 a1 1 r"


# targets of a user's own -----------------------------------------------------------------------------------------------------------------


class Own:
    """The engine, but for what `wrong` does at the third step."""

    def __init__(self, profile: Any, capacity: Any, wrong: Callable[[], Any], hides: bool) -> None:
        from slotwise.impl import Admission

        self.inner, self.count, self.wrong = Admission(profile, capacity), 0, wrong
        if not hides:
            self.state = self.inner.state

    def step(self, command: Any) -> Any:
        self.count += 1
        seen = self.inner.step(command)
        return self.wrong() if self.count == 3 else seen


def own(monkeypatch: pytest.MonkeyPatch, wrong: Callable[[], Any], profiles: tuple[str, ...] = ("slotwise",), hides: bool = False) -> str:
    def make(profile: Any, capacity: Any) -> Own:
        return Own(profile, capacity, wrong, hides)

    make.profiles = profiles                 # type: ignore[attr-defined]
    monkeypatch.setattr(sys.modules[__name__], "make", make, raising=False)
    return f"{__name__}:make"


def crashes() -> Any:
    raise RuntimeError("out of\nmemory \x1b[2J")


def test_a_target_that_crashes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(own(monkeypatch, crashes))
    assert (found.kind, found.first, found.exit) == ("crash", 2, 1)
    assert [side.word for side in found.rows] == ["", "", "FAILED", "", "", ""]
    assert [side.found is None for side in found.rows] == [False, False, True, True, True, True]
    text = as_text(found)
    assert "crash at step 3 of 6: the target failed: RuntimeError: out of memory" in text
    assert "(no answer)" in text
    assert "(not played)" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("answer", [None, 7, ["drained"], [[1]], "drained"])
def test_a_target_that_answers_nonsense(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    found = compared(own(monkeypatch, lambda: answer))
    assert (found.kind, found.first, found.rows[2].word) == ("crash", 2, "FAILED")
    assert "expected a list of observations" in found.rows[2].wrong


def test_without_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(own(monkeypatch, lambda: [("drained",)], hides=True))
    assert (found.kind, found.first, found.states) == ("divergence", 2, None)
    assert "the target does not give its state" in as_text(found)


def test_a_stranger_is_judged_by_laws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It claims nothing, so that another answer is no fault: here, one that no law forbids."""
    found = compared(own(monkeypatch, lambda: [("full",)], profiles=()))
    assert not found.claims
    if not found.kind:
        assert (found.exit, found.first) == (0, 2)
    assert "only laws judge it" in found.verdict
    broken = compared(own(monkeypatch, lambda: [("started", 1, "a1", ONE), ("full",)], profiles=()))
    assert (broken.kind, broken.exit, broken.first) == ("law", 2, 2)
    assert broken.rule.startswith("LAW-")
    assert broken.sentence


def test_the_same_is_seen_and_the_states_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found at the step after which it is so."""

    class Secret:
        profiles = ("slotwise",)

        def __init__(self, profile: Any, capacity: Any) -> None:
            from slotwise.impl import Admission

            self.inner, self.count = Admission(profile, capacity), 0

        def step(self, command: Any) -> Any:
            self.count += 1
            return self.inner.step(command)

        def state(self) -> Any:
            return {**self.inner.state(), **({"granted": 99} if self.count >= 70 else {})}

    monkeypatch.setattr(sys.modules[__name__], "make", Secret, raising=False)
    found = compared(f"{__name__}:make", recorded(commands=[Pump(at_most=1, at=at) for at in range(200)]))
    assert (found.kind, found.first, found.states) == ("divergence", 69, (("granted", "0", "99"),))
    assert (found.rows[69].word, found.rows[69].wrong) == ("WRONG", "the same was seen, but the states differ in granted")


ANSWERS = '''
import json, sys, time
step = 0
for line in sys.stdin:
    if "slotwise" in json.loads(line):
        step = 0
        print(json.dumps({"slotwise": 1, "commands": ["enqueue", "pump", "release"], "profiles": ["slotwise"]}), flush=True)
        continue
    step += 1
    if step == 2:
        WRONG
    print(json.dumps([["accepted", "a1"], ["accepted", "a2"]]), flush=True)
'''


@pytest.mark.parametrize(("wrong", "says"), [("sys.exit(7)", "it has ended (exit code 7)"), ("print('hello', flush=True); continue", "found 'hello'"), ("time.sleep(60)", "no answer within 0.3 s")])
def test_a_program_behind_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str, says: str) -> None:
    program = tmp_path / "answers.py"
    program.write_text(ANSWERS.replace("WRONG", wrong))
    steps, ask = [0], pipe.Program.ask

    def patient(self: pipe.Program, line: bytes) -> bytes:
        """It may take long to start; but not to answer when it is asked for the second time."""
        steps[0] = 0 if b"slotwise" in line else steps[0] + 1
        self.patience = 0.3 if "sleep" in wrong and steps[0] == 2 else 120
        return ask(self, line)

    monkeypatch.setattr(pipe.Program, "ask", patient)
    found = compared(f"pipe:{sys.executable} {program}")
    assert (found.kind, found.first, [side.word for side in found.rows[:3]]) == ("crash", 1, ["", "FAILED", ""])
    assert says in found.message


# text, JSON, exit codes -------------------------------------------------------------------------------------------------------------------


def test_as_text(written: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written.parent)
    assert main.run(["watch", written.name, "--against", FAULT, "--once"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"t.slotwise.jsonl: admission under slotwise, capacity 2 r, 6 steps, reference and {FAULT}"
    assert lines[1].startswith("SLT-9 at step 3 of 6: expected blocked, found started 2 a2 1 r; ")
    assert lines[2] == "SLT-9: A group never runs more tasks than its limit."
    assert next(line for line in lines if "DIFFERS" in line).split() == ["✖", "DIFFERS", "3", "pump", "at", "most", "1", "blocked", "started", "2", "a2", "(1", "r);", "drained"]
    assert "  granted    1          2" in lines
    assert lines[-1] == f"  again  slotwise replay t.slotwise.jsonl --target {FAULT}"


def test_long_words_are_cut_but_at_the_first_difference() -> None:
    many = tuple(Task(f"b{i}", "b", ONE) for i in range(40))
    read = record(PROFILES["slotwise"], {"r": 50}, [Enqueue(tasks=many), COMMANDS[0], Pump(at_most=99)])
    found = compared(FAULT, read)
    assert found.first == 2
    lines = as_text(found).splitlines()
    assert "…" in next(line for line in lines if " enqueue b0" in line)
    assert "b39 of b" in as_text(found, whole=True)
    ours = next(line for line in lines if "DIFFERS" in line)
    assert "…" not in ours
    assert "started 41 b39 (1 r)" in ours


def test_how_it_ends(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, code in (((FAULT,), 0), ((FAULT, "--fail-on", "alarm"), 1), ((FAULT, "--fail-on", "warn", "--format", "json"), 1), (("native", "--fail-on", "warn"), 0), (("nobody",), 64)):
        assert main.run(["watch", str(written), "--against", arguments[0], "--once", *arguments[1:]]) == code, arguments
    capsys.readouterr()
    bad = written.parent / "bad"
    bad.write_text("{}\n")
    for call, code, says in (
        (["--against", "native", "--once"], 64, "expected a trace"), ([str(bad), "--against", "native", "--once"], 6, "not a slotwise trace"), ([str(written), "--attach", "x", "--against", "native", "--once"], 64, "expected a trace"),
        (["nowhere", "--against", "native", "--once"], 64, "no such file"), ([str(written), "--against", "native"], 64, "the screen needs a terminal"),
    ):  # fmt: skip
        assert main.run(["watch", *call]) == code
        assert says in capsys.readouterr().err


def test_as_json(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["watch", str(written), "--against", FAULT, "--once", "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert (found["first"], found["rule"], found["total"], found["exit"], found["target"]) == (3, "SLT-9", 6, 1, FAULT)
    assert found["states"][0].keys() == {"key", "reference", "target"}
    assert [row["word"] for row in found["rows"]][:3] == ["", "", "DIFFERS"]


def test_a_long_trace_is_told_around_the_difference() -> None:
    played = [sides.Played([("drained",)], [("blocked",)] if at == 5000 else [("drained",)], ()) for at in range(10_000)]
    rows = sides.Rows([Pump(at_most=1)] * 10_000, played)
    found = Sides("t", "admission", "strict", "", "x", True, "divergence", "ADM-11", "", "m", 5000, (5000,), (), "again", 1, rows)
    lines = as_text(found).splitlines()
    assert len(lines) < 30
    assert "  (after 4,992 steps)" in lines
    assert "  (then 4,995 steps more)" in lines
    assert "  the states are the same" in lines
    told = as_object(found)
    assert (len(told["rows"]), told["total"]) == (200, 10_000)
    assert 5001 in [row["number"] for row in told["rows"]]
    assert rows._side.cache_info().currsize <= 250, "only what is told is put into words"
    assert len(as_text(found, whole=True).splitlines()) > 10_000


def test_hostile_names_are_harmless() -> None:
    read = recorded(commands=[Enqueue(tasks=(Task("a\x1b[2J\n\u202e", "[red]", ONE),)), Pump(at_most=9)])
    text = as_text(compared("native", read), whole=True)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[2J" in text
