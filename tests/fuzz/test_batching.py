"""The same search for batching: the generator draws what matters, the judges find mistakes, the shrinker makes them short, and a test comes of it."""
from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.fuzz.broken_batching import MISTAKES, SHOWS, broken

from slotwise.fuzz import blame_batching, exits, floors, generate_batching, reference, targets, walker
from slotwise.fuzz.emit import emit_test, spelled
from slotwise.fuzz.explain import explain, said
from slotwise.fuzz.judges import judge
from slotwise.fuzz.machine import machine
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.replay import Rejected, replay
from slotwise.fuzz.report import Report
from slotwise.fuzz.searches import SEARCHES
from slotwise.fuzz.shrink import shrink_trace
from slotwise.fuzz.swarm import TILTS, Swarm, seed_of
from slotwise.fuzz.target import Target, TargetError
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_laws import KNOWN_HAZARDS, LAWS
from slotwise.spec.batching_vocabulary import PROFILES
from slotwise.spec.mechanisms import MECHANISMS

ROOT = Path(__file__).parents[2]
SLOTWISE = PROFILES["slotwise"]
BATCHING = MECHANISMS["batching"]


def find(target: Target, profile: str, **more: Any) -> Report:
    return walker.campaign(target, PROFILES[profile], steps=more.pop("steps", 60_000), **more)


# The generator -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_every_rule_is_reached_and_has_a_floor(profile: str) -> None:
    report = find(reference.TARGET, profile, steps=floors.ENOUGH, seed=11)
    assert not report.failures
    assert report.hazards.keys() <= KNOWN_HAZARDS[profile]
    assert report.floors_missed == []
    assert report.rules.keys() == {rule.id for rule in floors.rules_of(PROFILES[profile])} == floors.floors_of(profile, "batching").keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_rules_break_no_law_but_those_listed_with_other_parameters_either(profile: str) -> None:
    report = find(reference.TARGET, profile, steps=6_000, seed=3, vary=True)
    assert not report.failures, explain(report.failures[0])


CORNERS: dict[str, Callable[[Any], bool]] = {
    "an empty item": lambda c: isinstance(c, v.Submit) and c.empty,
    "an update without bytes": lambda c: isinstance(c, v.Submit) and c.size == 0 and not c.empty,
    "the end of a context": lambda c: isinstance(c, v.Submit) and c.ends,
    "the final update": lambda c: isinstance(c, v.Submit) and c.final,
    "a context above itself": lambda c: isinstance(c, v.Submit) and c.parent == c.id,
    "key and due": lambda c: isinstance(c, v.Refresh) and c.key is not None and c.due is not None,
    "neither": lambda c: isinstance(c, v.Refresh) and c.key is None and c.due is None,
    "cancelled by owner": lambda c: isinstance(c, v.Cancel) and c.id is None,
    "cancelled by id": lambda c: isinstance(c, v.Cancel) and c.id is not None,
    "a credit too many": lambda c: isinstance(c, v.Credit) and c.running < 0,
    "no token": lambda c: isinstance(c, v.Respond) and c.token is None,
    "no stamp": lambda c: isinstance(c, v.Respond) and c.stamp is None,
    "pages": lambda c: isinstance(c, v.Respond) and c.marker is not None,
    "shown done": lambda c: isinstance(c, v.Page) and bool(c.done),
}  # fmt: skip


def test_corners_are_drawn_and_every_word_is_seen() -> None:
    words: set[str] = set()
    told: set[str] = set()
    drawn: set[str] = set()
    for seed in range(400):
        for profile in (SLOTWISE, PROFILES["aws-durable-2.0.0"]):
            episode = walker.play(reference.TARGET, profile, seed_of(seed * 7919 % TILTS, seed), hazards=frozenset(LAWS))
            words |= {str(seen[0]) for saw in episode.seen for seen in saw}
            told |= {str(seen[2]) for saw in episode.seen for seen in saw if seen[0] in ("settled", "rejected")}
            drawn |= {name for name, drawn_by in CORNERS.items() for command in episode.commands if drawn_by(command)}
    assert drawn == CORNERS.keys()
    assert words == set(v.SEEN)
    assert told >= {"ok", "orphaned", "suspended", "failed", "cancelled", "completed", "revoked", "stopped", "duplicate", "no_refresh"}


@pytest.mark.parametrize("known", [{"submit", "pump"}, {"pump"}, {"submit", "refresh", "pump", "respond"}, {"credit", "page"}], ids=lambda known: " ".join(sorted(known)))
def test_only_known_commands_are_drawn(known: set[str]) -> None:
    for seed in range(60):
        episode = walker.play(Target("some", Reference, frozenset(known), mechanisms=("batching",)), SLOTWISE, seed_of(seed, seed))
        assert {str(type(command).__struct_config__.tag) for command in episode.commands} <= known


def test_limits_are_shrunk_and_parameters_vary() -> None:
    shrunk = {generate_batching.begin(SLOTWISE, v.COMMANDS, Swarm(seed)).profile for seed in range(60)}
    assert len(shrunk) > 6
    assert all(SEARCHES["batching"].known(profile) for profile in shrunk)
    assert {profile.discipline.pause for profile in shrunk} == {v.SECOND}                                      # type: ignore[union-attr]
    for profile in PROFILES.values():
        varied = {generate_batching.begin(profile, v.COMMANDS, Swarm(seed), vary=True).profile for seed in range(40)}
        assert len(varied) > 20
    assert {generate_batching.begin(SLOTWISE, v.COMMANDS, Swarm(seed), plain=True).profile for seed in range(40)} == {SLOTWISE}


def test_an_episode_that_is_drained_ends() -> None:
    ended = 0
    for seed in range(60):
        episode = walker.play(reference.TARGET, SLOTWISE, seed_of(seed, seed))
        ended += episode.seen[-1] == [("exit",)]
    assert ended > 30


# The judges --------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {mistake: find(broken(mistake), SHOWS[mistake], seed=1) for mistake in MISTAKES}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_finds_every_mistake_and_makes_it_short(reports: dict[str, Report], mistake: str) -> None:
    report = reports[mistake]
    assert report.exit in (exits.DIVERGENCE, exits.INVARIANT)
    failure = report.failures[0]
    assert (report.mechanism, report.equality) == ("batching", True)
    assert failure.at == len(failure.trace.steps) - 1 <= 8
    assert failure.sentence
    assert failure.rule in BATCHING.rule_book
    assert judge(reference.TARGET, failure.profile, failure.setup, failure.trace.commands, hazards=frozenset(LAWS)) is None
    again = shrink_trace(broken(mistake), failure.full)
    assert again is not None
    assert again.finding.key == failure.finding.key


def test_a_failure_names_a_seed_that_fails_alone(reports: dict[str, Report]) -> None:
    failure = reports["no_slack"].failures[0]
    assert failure.seed is not None
    alone = walker.run_episode(broken("no_slack"), SLOTWISE, failure.seed)
    assert alone is not None
    assert (alone.rule, alone.full) == (failure.rule, failure.full)


class Forgets(Reference):
    """Tells the first who waits, and forgets the others."""

    def step(self, command: Any) -> list[Any]:
        return super().step(command)[:1]


def test_a_stranger_is_judged_by_laws() -> None:
    report = find(Target("forgets", Forgets, claims=lambda profile: False, mechanisms=("batching",)), "slotwise")
    assert (report.exit, report.equality, report.failures[0].kind) == (exits.INVARIANT, False, "law")
    assert report.failures[0].rule in LAWS
    assert report.failures[0].profile == SLOTWISE


def test_same_seed_same_everything() -> None:
    first, second, other = (find(reference.TARGET, "slotwise", steps=2_000, seed=seed) for seed in (5, 5, 6))
    assert (first.digest, first.rules, first.steps) == (second.digest, second.rules, second.steps)
    assert first.digest != other.digest


def test_the_blame_names_rules_that_there_are() -> None:
    tables = [*blame_batching.GIVES.values(), *blame_batching.WRITES.values(), blame_batching.ENDS_THE_WAIT, blame_batching.LIMITS, blame_batching.DUE, blame_batching.SHOWS]
    assert {rule for table in tables for rule in table} <= BATCHING.rule_book.keys()
    assert blame_batching.WRITES.keys() == set(blame_batching.FIRST)


def test_a_clone_goes_its_own_way() -> None:
    for profile in PROFILES.values():
        episode = walker.play(reference.TARGET, profile, seed_of(1, 9), hazards=frozenset(LAWS))
        first = Reference(episode.profile, episode.setup)
        half = len(episode.commands) // 2
        for command in episode.commands[:half]:
            first.step(command)
        before, twin = first.state(), first.clone()
        answers = [twin.step(command) for command in episode.commands[half:]]
        assert first.state() == before
        assert [first.step(command) for command in episode.commands[half:]] == answers


# Targets -----------------------------------------------------------------------------------------------------------------------------


def test_a_target_of_one_mechanism_rejects_the_other(reports: dict[str, Report]) -> None:
    trace = reports["no_slack"].failures[0].trace
    assert replay(trace, targets.load("reference")).exit == exits.CLEAN
    with pytest.raises(Rejected, match="line 1: mechanism batching: trio does not know it"):
        replay(trace, targets.load("trio"))
    assert not targets.load("trio").follows(SLOTWISE)


OWN = '''
class Own:
    mechanism = "batching"
    profiles = ("slotwise",)

    def __init__(self, profile, setup):
        self.token = setup.token

    def step(self, command):
        return []


class Odd(Own):
    mechanism = "cooking"
'''


def test_a_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "batcher.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "batcher", raising=False)
    target = targets.load("batcher:Own")
    assert (target.mechanisms, target.commands, target.follows(SLOTWISE)) == (("batching",), frozenset(v.COMMANDS), True)
    assert not target.follows(MECHANISMS["admission"].profiles["slotwise"])
    assert not target.follows(PROFILES["aws-durable-3.0.0"])
    assert find(target, "slotwise", shrink=False).exit == exits.DIVERGENCE
    with pytest.raises(TargetError, match="field `mechanism`: found 'cooking'; expected admission or batching"):
        targets.load("batcher:Odd")


QUICK = settings(max_examples=60, stateful_step_count=30, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_search_as_a_state_machine(profile: str) -> None:
    run_state_machine_as_test(machine(Target("copy", Reference, mechanisms=("batching",)), PROFILES[profile]), settings=QUICK)


def test_the_state_machine_finds_a_mistake() -> None:
    with pytest.raises(AssertionError, match=r"expected|states differ"):
        run_state_machine_as_test(machine(broken("stop_forgets"), SLOTWISE), settings=settings(QUICK, max_examples=400))


# Words -------------------------------------------------------------------------------------------------------------------------------


def test_red_on_the_fault_green_without(reports: dict[str, Report], monkeypatch: pytest.MonkeyPatch) -> None:
    for mistake in MISTAKES:
        failure = reports[mistake].failures[0]
        namespace: dict[str, Any] = {}
        exec(compile(emit_test(failure), "emitted", "exec"), namespace)
        (test,) = (made for name, made in namespace.items() if name.startswith("test_"))
        wrong, right = broken(mistake), Target("right", Reference, mechanisms=("batching",))
        monkeypatch.setattr("slotwise.fuzz.targets.load", lambda name, wrong=wrong: wrong)
        with pytest.raises(AssertionError, match=r"expected|states differ|failed"):
            test()
        monkeypatch.setattr("slotwise.fuzz.targets.load", lambda name, right=right: right)
        test()


def test_clean_under_ruff_and_mypy(tmp_path: Path, reports: dict[str, Report]) -> None:
    ruff, mypy = (shutil.which(tool, path=str(Path(sys.executable).parent)) for tool in ("ruff", "mypy"))
    if ruff is None or mypy is None:
        pytest.skip("ruff and mypy are not installed")
    for mistake, report in reports.items():
        (tmp_path / f"test_{mistake}.py").write_text(emit_test(report.failures[0]))
    varied = find(broken("deadline_later"), "aws-durable-3.0.0", seed=4, vary=True, shrink=False).failures[0]
    (tmp_path / "test_varied.py").write_text(emit_test(varied))
    files = [str(path) for path in sorted(tmp_path.glob("test_*.py"))]
    for command in ([ruff, "check", "--config", str(ROOT / "pyproject.toml"), *files], [mypy, "--config-file", str(ROOT / "pyproject.toml"), "--strict", *files]):
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_failure_is_explained(reports: dict[str, Report]) -> None:
    text = explain(reports["no_slack"].failures[0])
    assert text.startswith("REF-10: the target differs from the rules\n")
    assert "target broken/no_slack, profile slotwise, first token token-0" in text
    assert "respond (token t" in text
    assert "again" in text


@pytest.mark.parametrize(("command", "words"), [
    (v.Submit(id="a"), "submit update of a"),
    (v.Submit(id="a", size=9, sync=False, parent="p", ends=True, final=True, at=5), "submit async update of a (9 bytes, below p, ends its context, ends the execution) at 5"),
    (v.Submit(id="a", empty=True), "submit empty item of a"),
    (v.Refresh(id="a", key=-4, due=3, owner="o", index=2), "refresh a (by stamp -4, due at 3, owner o, index 2)"),
    (v.Refresh(id="a"), "refresh a"),
    (v.Cancel(id="a"), "cancel a"),
    (v.Cancel(owner="o"), "cancel all of owner o"),
    (v.Credit(running=-1, outside=2), "credit, running -1, outside +2"),
    (v.Stop(at=1), "stop at 1"),
    (v.Pump(), "pump"),
    (v.Respond(token="t", stamp=-3, done=("a", "b"), marker="m"), "respond (token t, stamp -3, done: a b, more at m)"),
    (v.Respond(), "respond (no token)"),
    (v.Page(done=("a",)), "page (done: a)"),
    (v.Page(), "page"),
    (v.Fail(), "fail"),
], ids=lambda value: "" if isinstance(value, str) else type(value).__name__)  # fmt: skip
def test_every_command_in_words(command: v.Command, words: str) -> None:
    assert said(command) == words
    assert eval(spelled(command), vars(v)) == command
