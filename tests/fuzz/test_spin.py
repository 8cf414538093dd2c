"""The same search for spinning: the generator draws what matters, the judges find mistakes, the shrinker makes them short, and a test comes of it."""
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
from tests.fuzz.broken_spin import MISTAKES, SHOWS, broken

from slotwise.fuzz import blame_spin, exits, floors, generate_spin, reference, targets, walker
from slotwise.fuzz.emit import emit_test, spelled
from slotwise.fuzz.explain import explain, said
from slotwise.fuzz.generate_spin_window import TEN
from slotwise.fuzz.judges import judge
from slotwise.fuzz.machine import machine
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.replay import Rejected, replay
from slotwise.fuzz.report import Report
from slotwise.fuzz.searches import SEARCHES
from slotwise.fuzz.shrink import shrink_trace
from slotwise.fuzz.simpler_spin import merged, simpler_names, together
from slotwise.fuzz.swarm import TILTS, Swarm, seed_of
from slotwise.fuzz.target import Target
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.spin_laws import KNOWN_HAZARDS, LAWS
from slotwise.spec.spin_vocabulary import PROFILES

ROOT = Path(__file__).parents[2]
SLOTWISE = PROFILES["slotwise"]
SPIN = MECHANISMS["spin"]


def find(target: Target, profile: str, **more: Any) -> Report:
    return walker.campaign(target, PROFILES[profile], steps=more.pop("steps", 60_000), **more)


# The generator -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_every_rule_is_reached_and_has_a_floor(profile: str) -> None:
    report = find(reference.TARGET, profile, steps=floors.ENOUGH, seed=11)
    assert not report.failures
    assert report.hazards.keys() <= KNOWN_HAZARDS[profile]
    assert report.floors_missed == []
    assert report.rules.keys() == {rule.id for rule in floors.rules_of(PROFILES[profile])} == floors.floors_of(profile, "spin").keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_rules_break_no_law_but_those_listed_with_other_parameters_either(profile: str) -> None:
    report = find(reference.TARGET, profile, steps=6_000, seed=3, vary=True)
    assert not report.failures, explain(report.failures[0])


CORNERS: dict[str, Callable[[Any], bool]] = {
    "a task that panics": lambda c: isinstance(c, v.End) and c.panics,
    "no tasks": lambda c: isinstance(c, v.Dispatch) and c.total == 0,
    "a worker that dispatches": lambda c: isinstance(c, v.Dispatch) and c.actor == "w0",
    "many steps": lambda c: isinstance(c, v.Go) and c.times > 20,
    "the builder": lambda c: isinstance(c, v.Go) and c.actor == v.BUILDER,
    "nobody": lambda c: isinstance(c, v.Go | v.End) and c.actor == "nobody",
    "a costly first yield": lambda c: isinstance(c, v.Wait) and c.first_yield is not None and c.first_yield > c.window,
    "published and shut down at once": lambda c: isinstance(c, v.Wait | v.Script) and c.publish is not None and c.publish == c.shutdown,
    "one of the ten windows": lambda c: isinstance(c, v.Wait) and c.window in TEN,
    "a pause of any cost": lambda c: isinstance(c, v.Wait) and c.pause not in (31, 1, 2, 47, 150),
    "a reading at the end": lambda c: isinstance(c, v.Script) and c.window in c.readings,
    "a nanosecond beyond": lambda c: isinstance(c, v.Script) and c.window + 1 in c.readings,
    "a window of nothing": lambda c: isinstance(c, v.Wait | v.Script) and c.window == 0,
    "a gap without a task": lambda c: isinstance(c, v.Gap) and not c.ran,
}  # fmt: skip


def test_corners_are_drawn_and_every_word_is_seen() -> None:
    words: set[str] = set()
    told: set[str] = set()
    drawn: set[str] = set()
    for seed in range(500):
        for profile in (SLOTWISE, PROFILES["ep-cpu-orig"]):
            episode = walker.play(reference.TARGET, profile, seed_of(seed * 7919 % TILTS, seed), hazards=frozenset(LAWS))
            words |= {str(seen[0]) for saw in episode.seen for seen in saw}
            told |= {str(seen[2]) for saw in episode.seen for seen in saw if seen[0] in ("declined", "idle")}
            drawn |= {name for name, drawn_by in CORNERS.items() for command in episode.commands if drawn_by(command)}
    assert drawn == CORNERS.keys()
    assert words == set(v.SEEN)
    assert told >= {"nested", "not_a_dispatcher", "busy", "building", "no_workers", "shutdown", "slots", "running", "parked", "gone", "built", "unknown", "no_task", "not_parked"}


@pytest.mark.parametrize("known", [{"dispatch", "go"}, {"go"}, {"dispatch", "go", "end"}, {"wait", "script"}, {"gap"}, {"stir", "counters"}], ids=lambda known: " ".join(sorted(known)))
def test_only_known_commands_are_drawn(known: set[str]) -> None:
    for seed in range(60):
        episode = walker.play(Target("some", Reference, frozenset(known), mechanisms=("spin",)), SLOTWISE, seed_of(seed, seed))
        assert {str(type(command).__struct_config__.tag) for command in episode.commands} <= known


def test_numbers_are_shrunk_and_parameters_vary() -> None:
    for profile in PROFILES.values():
        shrunk = {generate_spin.begin(profile, v.COMMANDS, Swarm(seed)).profile for seed in range(60)}
        assert len(shrunk) > 20
        assert all(SEARCHES["spin"].known(one) for one in shrunk)
        varied = {generate_spin.begin(profile, v.COMMANDS, Swarm(seed), vary=True).profile.discipline for seed in range(60)}
        assert len({type(discipline) for discipline in varied}) == (2 if profile is SLOTWISE else 5)
    assert {generate_spin.begin(SLOTWISE, v.COMMANDS, Swarm(seed), plain=True).profile for seed in range(40)} == {SLOTWISE}
    assert not SEARCHES["spin"].known(generate_spin.switched(SLOTWISE, Swarm(4)))


def test_an_episode_that_is_drained_ends_with_everybody_gone() -> None:
    ended = 0
    for seed in range(80):
        episode = walker.play(reference.TARGET, SLOTWISE, seed_of(seed, seed))
        model = Reference(episode.profile, episode.setup)
        for command in episode.commands:
            model.step(command)
        ended += all(worker.at == "gone" for worker in model.model.workers.values()) and not any(d.at for d in model.model.dispatchers.values())
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
    assert (report.mechanism, report.equality) == ("spin", True)
    assert failure.at == len(failure.trace.steps) - 1 <= 14
    assert failure.sentence
    assert failure.rule in SPIN.rule_book
    assert judge(reference.TARGET, failure.profile, failure.setup, failure.trace.commands, hazards=frozenset(LAWS)) is None
    again = shrink_trace(broken(mistake), failure.full)
    assert again is not None
    assert again.finding.key == failure.finding.key


def test_a_failure_names_a_seed_that_fails_alone(reports: dict[str, Report]) -> None:
    failure = reports["parks_anyway"].failures[0]
    assert failure.seed is not None
    alone = walker.run_episode(broken("parks_anyway"), SLOTWISE, failure.seed)
    assert alone is not None
    assert (alone.rule, alone.full) == (failure.rule, failure.full)


class Forgets(Reference):
    """Tells the first that is seen, and forgets the others."""

    def step(self, command: Any) -> list[Any]:
        return super().step(command)[:1]


def test_a_stranger_is_judged_by_laws() -> None:
    report = find(Target("forgets", Forgets, claims=lambda profile: False, mechanisms=("spin",)), "slotwise")
    assert (report.exit, report.equality, report.failures[0].kind) == (exits.INVARIANT, False, "law")
    assert report.failures[0].rule in LAWS
    assert report.failures[0].profile == SLOTWISE


def test_same_seed_same_everything() -> None:
    first, second, other = (find(reference.TARGET, "slotwise", steps=2_000, seed=seed) for seed in (5, 5, 6))
    assert (first.digest, first.rules, first.steps) == (second.digest, second.rules, second.steps)
    assert first.digest != other.digest


def test_the_blame_names_rules_that_there_are() -> None:
    tables = [*blame_spin.GIVES.values(), *blame_spin.WRITES.values(), blame_spin.POLICY, tuple(blame_spin.SHOULD_NOT.values())]
    assert {rule for table in tables for rule in table} <= SPIN.rule_book.keys()
    assert blame_spin.WRITES.keys() == set(blame_spin.FIRST)
    assert blame_spin.GIVES.keys() | {"outcome", "waited"} == set(v.SEEN)


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


def test_a_trace_is_no_trio_program(reports: dict[str, Report]) -> None:
    trace = reports["parks_anyway"].failures[0].trace
    assert replay(trace, targets.load("reference")).exit == exits.CLEAN
    with pytest.raises(Rejected, match="line 1: mechanism spin: trio does not know it"):
        replay(trace, targets.load("trio"))
    assert not targets.load("trio").follows(SLOTWISE)


QUICK = settings(max_examples=60, stateful_step_count=30, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_search_as_a_state_machine(profile: str) -> None:
    run_state_machine_as_test(machine(Target("copy", Reference, mechanisms=("spin",)), PROFILES[profile]), settings=QUICK)


def test_the_state_machine_finds_a_mistake() -> None:
    with pytest.raises(AssertionError, match=r"expected|states differ"):
        run_state_machine_as_test(machine(broken("deadline_later"), SLOTWISE), settings=settings(QUICK, max_examples=400))


# Words -------------------------------------------------------------------------------------------------------------------------------


def test_red_on_the_fault_green_without(reports: dict[str, Report], monkeypatch: pytest.MonkeyPatch) -> None:
    for mistake in MISTAKES:
        failure = reports[mistake].failures[0]
        namespace: dict[str, Any] = {}
        exec(compile(emit_test(failure), "emitted", "exec"), namespace)
        (test,) = (made for name, made in namespace.items() if name.startswith("test_"))
        wrong, right = broken(mistake), Target("right", Reference, mechanisms=("spin",))
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
    varied = find(broken("deadline_later"), "ep-cpu-before", seed=4, vary=True, shrink=False).failures[0]
    (tmp_path / "test_varied.py").write_text(emit_test(varied))
    files = [str(path) for path in sorted(tmp_path.glob("test_*.py"))]
    for command in ([ruff, "check", "--config", str(ROOT / "pyproject.toml"), *files], [mypy, "--config-file", str(ROOT / "pyproject.toml"), "--strict", *files]):
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_failure_is_explained(reports: dict[str, Report]) -> None:
    text = explain(reports["parks_anyway"].failures[0])
    assert text.startswith("SPN-42: the target differs from the rules\n")
    assert "target broken/parks_anyway, profile slotwise, width" in text
    assert "goes on" in text


@pytest.mark.parametrize(("command", "words"), [
    (v.Dispatch(actor="d", total=1), "d dispatches 1 task"),
    (v.Dispatch(actor="d", total=3, at=5), "d dispatches 3 tasks at 5"),
    (v.Go(actor="w0"), "w0 goes on"),
    (v.Go(actor="w0", times=4), "w0 goes on, 4 steps"),
    (v.End(actor="w0"), "the task of w0 ends"),
    (v.End(actor="w0", panics=True), "the task of w0 panics"),
    (v.Stir(actor="w1"), "w1 is stirred"),
    (v.Shutdown(at=1), "shut down at 1"),
    (v.Counters(), "counters"),
    (v.Wait(window=9), "a window of 9 ns (pause 31, clock 20, yield 1050)"),
    (v.Wait(window=9, first_yield=7, publish=0, shutdown=8), "a window of 9 ns (pause 31, clock 20, yield 1050, the first yield 7), published at 0, shut down at 8"),
    (v.Script(window=9, readings=(1, 9), publish=2), "a window of 9 ns by the clock [1 9], published in pass 2"),
    (v.Gap(gap=4), "a gap of 4 ns"),
    (v.Gap(gap=4, ran=False), "a gap of 4 ns, and no task"),
], ids=lambda value: "" if isinstance(value, str) else type(value).__name__)  # fmt: skip
def test_every_command_in_words(command: v.Command, words: str) -> None:
    assert said(command) == words
    assert eval(spelled(command), vars(v)) == command


# The shrinker ------------------------------------------------------------------------------------------------------------------------


def test_steps_of_one_actor_become_one_command() -> None:
    go, other, later = v.Go(actor="a", times=2, at=1), v.Go(actor="b", at=2), v.Go(actor="a", times=3, at=4)
    assert list(merged([go, other, later])) == [[other, v.Go(actor="a", times=5, at=4)], [v.Go(actor="a", times=5, at=1), other]]
    assert list(merged([go, v.End(actor="a"), later])) == []
    assert [v.Go(actor="a", times=5, at=4)] in list(merged([go, later]))


def test_names_and_what_goes_together() -> None:
    commands = [v.Dispatch(actor="d3", total=1), v.Go(actor="d3"), v.Go(actor="w0"), v.Go(actor=v.BUILDER), v.Dispatch(actor="d0", total=1)]
    named = simpler_names(commands)
    assert named is not None
    assert [getattr(command, "actor", "") for command in named[0]] == ["d", "d", "w0", v.BUILDER, "e"]
    assert simpler_names(named[0]) is None
    assert frozenset({0, 1}) in together(commands)


def test_the_search_does_not_depend_on_who_imports_what_first() -> None:
    program = "{}from slotwise.fuzz import reference, walker; from slotwise.spec.spin_vocabulary import PROFILES; print(walker.campaign(reference.TARGET, PROFILES['slotwise'], steps=2000, seed=5).digest)"
    firsts = ("", "import slotwise.spec.spin_dispatcher; ", "import slotwise.spec.spin_worker; ")
    found = {subprocess.run([sys.executable, "-c", program.format(first)], capture_output=True, text=True, check=True).stdout for first in firsts}
    assert len(found) == 1
