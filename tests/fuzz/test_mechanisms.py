"""The same search for every mechanism but the first: what the generator, the judges, the shrinker and what comes of it must do in each."""
from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.fuzz import broken_batching, broken_spin

from slotwise.fuzz import exits, floors, reference, targets, walker
from slotwise.fuzz.emit import emit_test
from slotwise.fuzz.explain import explain
from slotwise.fuzz.judges import judge
from slotwise.fuzz.machine import machine
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.replay import Rejected, replay
from slotwise.fuzz.report import Report
from slotwise.fuzz.shrink import shrink_trace
from slotwise.fuzz.swarm import seed_of
from slotwise.fuzz.target import Target
from slotwise.spec import batching_laws, spin_laws
from slotwise.spec.mechanisms import MECHANISMS, Mechanism

ROOT = Path(__file__).parents[2]


class Of(NamedTuple):
    """A mechanism, and what of it is looked at."""

    name: str
    laws: Any
    mistakes: Mapping[str, str]
    shows: Mapping[str, str]             # under which profile each mistake is to be found
    broken: Callable[[str], Target]
    longest: int                         # commands of a shrunk trace, before the last
    one: str                             # a mistake whose rule and words are known
    rule: str
    words: tuple[str, ...]
    by_hypothesis: str                   # a mistake that its state machine finds
    varied: str                          # a profile under which deadline_later is found with other parameters too

    @property
    def mechanism(self) -> Mechanism:
        return MECHANISMS[self.name]

    @property
    def slotwise(self) -> Any:
        return self.mechanism.profiles["slotwise"]

    def target(self, name: str, make: Any, **more: Any) -> Target:
        return Target(name, make, mechanisms=(self.name,), **more)

    def find(self, target: Target, profile: str, **more: Any) -> Report:
        return walker.campaign(target, self.mechanism.profiles[profile], steps=more.pop("steps", 60_000), **more)


OF = (
    Of("batching", batching_laws, broken_batching.MISTAKES, broken_batching.SHOWS, broken_batching.broken, 8, "no_slack", "REF-10",
       ("target broken/no_slack, profile slotwise, first token token-0", "respond (token t", "again"), "stop_forgets", "aws-durable-3.0.0"),
    Of("spin", spin_laws, broken_spin.MISTAKES, broken_spin.SHOWS, broken_spin.broken, 14, "parks_anyway", "SPN-42",
       ("target broken/parks_anyway, profile slotwise, width", "goes on"), "deadline_later", "ep-cpu-before"),
)  # fmt: skip
each = pytest.mark.parametrize("of", OF, ids=[one.name for one in OF])
each_profile = pytest.mark.parametrize(("of", "profile"), [pytest.param(one, name, id=f"{one.name}-{name}") for one in OF for name in one.mechanism.profiles])
each_mistake = pytest.mark.parametrize(("of", "mistake"), [pytest.param(one, name, id=f"{one.name}-{name}") for one in OF for name in one.mistakes])


# The generator -----------------------------------------------------------------------------------------------------------------------


@each_profile
def test_every_rule_is_reached_and_has_a_floor(of: Of, profile: str) -> None:
    report = of.find(reference.TARGET, profile, steps=floors.ENOUGH, seed=11)
    assert not report.failures
    assert report.hazards.keys() <= of.laws.KNOWN_HAZARDS[profile]
    assert report.floors_missed == []
    assert report.rules.keys() == {rule.id for rule in floors.rules_of(of.mechanism.profiles[profile])} == floors.floors_of(profile, of.name).keys()


@each_profile
def test_the_rules_break_no_law_but_those_listed_with_other_parameters_either(of: Of, profile: str) -> None:
    report = of.find(reference.TARGET, profile, steps=6_000, seed=3, vary=True)
    assert not report.failures, explain(report.failures[0])


KNOWN = {
    "batching": ("submit pump", "pump", "submit refresh pump respond", "credit page"), "spin": ("dispatch go", "go", "dispatch go end", "wait script", "gap", "stir counters"),
}  # fmt: skip


@pytest.mark.parametrize(("of", "known"), [pytest.param(one, words, id=f"{one.name}-{words}") for one in OF for words in KNOWN[one.name]])
def test_only_known_commands_are_drawn(of: Of, known: str) -> None:
    some = of.target("some", Reference, commands=frozenset(known.split()))
    for seed in range(60):
        episode = walker.play(some, of.slotwise, seed_of(seed, seed))
        assert {str(type(command).__struct_config__.tag) for command in episode.commands} <= some.commands


@each
def test_same_seed_same_everything(of: Of) -> None:
    first, second, other = (of.find(reference.TARGET, "slotwise", steps=2_000, seed=seed) for seed in (5, 5, 6))
    assert (first.digest, first.rules, first.steps) == (second.digest, second.rules, second.steps)
    assert first.digest != other.digest


@each
def test_a_clone_goes_its_own_way(of: Of) -> None:
    for profile in of.mechanism.profiles.values():
        episode = walker.play(reference.TARGET, profile, seed_of(1, 9), hazards=frozenset(of.laws.LAWS))
        first = Reference(episode.profile, episode.setup)
        half = len(episode.commands) // 2
        for command in episode.commands[:half]:
            first.step(command)
        before, twin = first.state(), first.clone()
        answers = [twin.step(command) for command in episode.commands[half:]]
        assert first.state() == before
        assert [first.step(command) for command in episode.commands[half:]] == answers


# The judges --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports() -> Callable[[Of, str], Report]:
    """Of a mistake, searched for once."""
    found: dict[tuple[str, str], Report] = {}

    def report(of: Of, mistake: str) -> Report:
        if (of.name, mistake) not in found:
            found[of.name, mistake] = of.find(of.broken(mistake), of.shows[mistake], seed=1)
        return found[of.name, mistake]

    return report


Reports = Callable[[Of, str], Report]


@each_mistake
def test_finds_every_mistake_and_makes_it_short(reports: Reports, of: Of, mistake: str) -> None:
    report = reports(of, mistake)
    assert report.exit in (exits.DIVERGENCE, exits.INVARIANT)
    failure = report.failures[0]
    assert (report.mechanism, report.equality) == (of.name, True)
    assert failure.at == len(failure.trace.steps) - 1 <= of.longest
    assert failure.sentence
    assert failure.rule in of.mechanism.rule_book
    assert judge(reference.TARGET, failure.profile, failure.setup, failure.trace.commands, hazards=frozenset(of.laws.LAWS)) is None
    again = shrink_trace(of.broken(mistake), failure.full)
    assert again is not None
    assert again.finding.key == failure.finding.key


@each
def test_a_failure_names_a_seed_that_fails_alone(reports: Reports, of: Of) -> None:
    failure = reports(of, of.one).failures[0]
    assert failure.seed is not None
    alone = walker.run_episode(of.broken(of.one), of.slotwise, failure.seed)
    assert alone is not None
    assert (alone.rule, alone.full) == (failure.rule, failure.full)


class Forgets(Reference):
    """Tells the first that is seen, and forgets the others."""

    def step(self, command: Any) -> list[Any]:
        return super().step(command)[:1]


@each
def test_a_stranger_is_judged_by_laws(of: Of) -> None:
    report = of.find(of.target("forgets", Forgets, claims=lambda profile: False), "slotwise")
    assert (report.exit, report.equality, report.failures[0].kind) == (exits.INVARIANT, False, "law")
    assert report.failures[0].rule in of.laws.LAWS
    assert report.failures[0].profile == of.slotwise


# What comes of it --------------------------------------------------------------------------------------------------------------------


@each
def test_a_target_of_one_mechanism_rejects_the_other(reports: Reports, of: Of) -> None:
    trace = reports(of, of.one).failures[0].trace
    assert replay(trace, targets.load("reference")).exit == exits.CLEAN
    with pytest.raises(Rejected, match=f"line 1: mechanism {of.name}: trio does not know it"):
        replay(trace, targets.load("trio"))
    assert not targets.load("trio").follows(of.slotwise)


@each
def test_a_failure_is_explained(reports: Reports, of: Of) -> None:
    text = explain(reports(of, of.one).failures[0])
    assert text.startswith(f"{of.rule}: the target differs from the rules\n")
    for words in of.words:
        assert words in text


@each_mistake
def test_red_on_the_fault_green_without(reports: Reports, monkeypatch: pytest.MonkeyPatch, of: Of, mistake: str) -> None:
    namespace: dict[str, Any] = {}
    exec(compile(emit_test(reports(of, mistake).failures[0]), "emitted", "exec"), namespace)
    (test,) = (made for name, made in namespace.items() if name.startswith("test_"))
    wrong, right = of.broken(mistake), of.target("right", Reference)
    monkeypatch.setattr("slotwise.fuzz.targets.load", lambda name: wrong)
    with pytest.raises(AssertionError, match=r"expected|states differ|failed"):
        test()
    monkeypatch.setattr("slotwise.fuzz.targets.load", lambda name: right)
    test()


def test_clean_under_ruff_and_mypy(tmp_path: Path, reports: Reports) -> None:
    ruff, mypy = (shutil.which(tool, path=str(Path(sys.executable).parent)) for tool in ("ruff", "mypy"))
    if ruff is None or mypy is None:
        pytest.skip("ruff and mypy are not installed")
    for of in OF:
        for mistake in of.mistakes:
            (tmp_path / f"test_{of.name}_{mistake}.py").write_text(emit_test(reports(of, mistake).failures[0]))
        varied = of.find(of.broken("deadline_later"), of.varied, seed=4, vary=True, shrink=False).failures[0]
        (tmp_path / f"test_{of.name}_varied.py").write_text(emit_test(varied))
    files = [str(path) for path in sorted(tmp_path.glob("test_*.py"))]
    for command in ([ruff, "check", "--config", str(ROOT / "pyproject.toml"), *files], [mypy, "--config-file", str(ROOT / "pyproject.toml"), "--strict", *files]):
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr


# By Hypothesis -----------------------------------------------------------------------------------------------------------------------

QUICK = settings(max_examples=60, stateful_step_count=30, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@each_profile
def test_the_same_search_as_a_state_machine(of: Of, profile: str) -> None:
    run_state_machine_as_test(machine(of.target("copy", Reference), of.mechanism.profiles[profile]), settings=QUICK)


@each
def test_the_state_machine_finds_a_mistake(of: Of) -> None:
    with pytest.raises(AssertionError, match=r"expected|states differ"):
        run_state_machine_as_test(machine(of.broken(of.by_hypothesis), of.slotwise), settings=settings(QUICK, max_examples=400))
