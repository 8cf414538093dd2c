"""The walker finds what is wrong, says how, and does the same again."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.fuzz.broken import MISTAKES, Mute, broken

from slotwise.fuzz import exits, floors, generate, reference, walker
from slotwise.fuzz.judges import judge
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.report import Report
from slotwise.fuzz.swarm import HALF, TILTS, Swarm, seed_of
from slotwise.fuzz.target import Target
from slotwise.spec.laws import KNOWN_HAZARDS, LAWS
from slotwise.spec.vocabulary import COMMANDS, PROFILES, Command, Observation, Profile, Pump, Release

SLOTWISE = PROFILES["slotwise"]
#: Under which profile each mistake shows.
SHOWS = {
    "second_release_unknown": "strict", "debt_not_charged": "data-designer-0.9", "repays_one": "data-designer-0.9", "share_rounded_down": "data-designer-0.8",
    "stale_selection_taken": "slotwise", "place_kept": "data-designer-0.9", "overtaking_not_noted": "slotwise", "kept_units_given_away": "slotwise",
    "running_limit_one_more": "slotwise", "strict_limit_one_more": "strict",
}  # fmt: skip


def find(target: Target, profile: str, **more: Any) -> Report:
    return walker.campaign(target, PROFILES[profile], steps=more.pop("steps", 30_000), **more)


@pytest.mark.parametrize("state", [True, False], ids=["with state", "by answers alone"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_finds_every_mistake(mistake: str, state: bool) -> None:
    report = find(broken(mistake, state=state), SHOWS[mistake], seed=1, shrink=False)
    assert report.exit in (exits.DIVERGENCE, exits.INVARIANT)
    failure = report.failures[0]
    assert failure.kind in ("divergence", "crash")
    assert failure.at == len(failure.trace.steps) - 1
    assert failure.sentence


def test_nothing_is_wrong_with_a_true_copy() -> None:
    report = find(Target("copy", Reference), "data-designer-0.9", steps=3_000)
    assert (report.exit, report.failures, report.equality) == (exits.CLEAN, [], True)
    assert report.steps >= 3_000
    assert all(report.rules[rule] for rule in ("QUE-1", "BOR-2", "ADM-4"))
    assert not report.rules.keys() & {"SLT-1", "STR-1", "ADM-9"}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_rules_break_no_law_but_those_listed(profile: str) -> None:
    report = find(reference.TARGET, profile, steps=6_000, seed=3)
    assert not report.failures
    assert report.hazards.keys() <= KNOWN_HAZARDS[profile]
    assert not report.equality


def test_same_seed_same_everything() -> None:
    first, second, other = (find(reference.TARGET, "slotwise", steps=2_000, seed=seed) for seed in (5, 5, 6))
    assert (first.digest, first.rules, first.episodes, first.steps) == (second.digest, second.rules, second.episodes, second.steps)
    assert first.digest != other.digest


def test_a_failure_names_a_seed_that_fails_alone() -> None:
    target = broken("repays_one")
    failure = find(target, "data-designer-0.9", seed=2).failures[0]
    assert failure.seed is not None
    assert failure.seed < 1 << 53                              # exact for any reader of JSON
    alone = walker.run_episode(target, PROFILES["data-designer-0.9"], failure.seed)
    assert alone is not None
    assert (alone.rule, alone.full) == (failure.rule, failure.full)


def test_several_failures_are_different_ones() -> None:
    report = find(broken("share_rounded_down"), "data-designer-0.9", most=3, shrink=False)
    assert len({failure.finding.key for failure in report.failures}) == len(report.failures) > 1


def test_parameters_vary() -> None:
    seen = {generate.begin(SLOTWISE, COMMANDS, Swarm(seed), vary=True).profile for seed in range(40)}
    assert len(seen) > 20
    assert {profile.name for profile in seen} == {"slotwise"}
    assert find(reference.TARGET, "data-designer-0.8", steps=3_000, vary=True).exit == exits.CLEAN


def test_how_long_must_be_said() -> None:
    with pytest.raises(ValueError, match="how long"):
        walker.campaign(reference.TARGET, SLOTWISE)


def test_progress_is_told() -> None:
    told: list[int] = []
    walker.campaign(reference.TARGET, SLOTWISE, seconds=0.4, progress=lambda report: told.append(report.steps))
    assert told == sorted(told)
    assert told


class Moody(Mute):
    """Answers otherwise in every second scheduler."""

    made = 0

    def __init__(self, profile: Profile, capacity: dict[str, int]) -> None:
        super().__init__(profile, capacity)
        Moody.made += 1
        self.moody = Moody.made % 2 == 0

    def step(self, command: Command) -> list[Observation]:
        return [("drained",)] if self.moody and isinstance(command, Pump) else super().step(command)


def test_nondeterminism() -> None:
    report = find(Target("moody", Moody, claims=lambda profile: False), "slotwise", steps=500, shrink=False)
    assert report.exit in (exits.NONDETERMINISM, exits.INVARIANT)
    calm = Target("twice", Twice, claims=lambda profile: False)
    assert find(calm, "slotwise", steps=20_000).exit == exits.NONDETERMINISM


class Twice(Mute):
    """Names its first refusal differently the second time it is set up; no law speaks of that."""

    made = 0

    def __init__(self, profile: Profile, capacity: dict[str, int]) -> None:
        super().__init__(profile, capacity)
        Twice.made += 1
        self.word = "unknown_lease" if Twice.made % 2 else "duplicate"

    def step(self, command: Command) -> list[Observation]:
        saw = super().step(command)
        return [(self.word, *seen[1:]) if seen[0] == "duplicate" and isinstance(command, Release) else seen for seen in saw]


class Dies(Mute):
    def step(self, command: Command) -> list[Observation]:
        if isinstance(command, Release):
            raise ZeroDivisionError("no more")
        return super().step(command)


def test_a_crash_is_a_failure_and_not_ours() -> None:
    failure = find(Target("dies", Dies), "slotwise").failures[0]
    assert (failure.kind, failure.exit) == ("crash", exits.DIVERGENCE)
    assert "ZeroDivisionError: no more" in failure.message
    assert len(failure.trace.steps) <= 3


class Audited(Mute):
    def audit(self) -> list[str]:
        return ["a shape has no task"] if len(self.inner.model.ledger.leases) > 1 else []


def test_an_audit_is_an_invariant() -> None:
    failure = find(Target("audited", Audited), "slotwise").failures[0]
    assert (failure.kind, failure.exit) == ("audit", exits.INVARIANT)
    assert "a shape has no task" in failure.message
    assert len(failure.trace.steps) <= 3


class Half(Reference):
    """Gives a part of its state, and a key of its own."""

    def state(self) -> dict[str, object]:
        return {"granted": super().state()["granted"], "mood": 1}


def test_states_are_compared_in_what_both_give() -> None:
    assert find(Target("half", Half), "slotwise", steps=1_000).exit == exits.CLEAN


def test_states_differ_at_the_first_step_that_makes_them() -> None:
    failure = find(broken("debt_not_charged"), "data-designer-0.9", seed=1).failures[0]
    assert failure.rule == "BOR-4"
    assert failure.states is not None
    assert failure.states[0]["debt"] != failure.states[1]["debt"]


@pytest.mark.parametrize("known", [{"enqueue", "pump"}, {"pump"}, {"enqueue", "pump", "release"}, {"release", "select", "commit", "enqueue"}], ids=" ".join)
def test_only_known_commands_are_drawn(known: set[str]) -> None:
    for seed in range(60):
        episode = walker.play(Target("some", Mute, frozenset(known)), SLOTWISE, seed_of(seed, seed))
        assert {str(type(command).__struct_config__.tag) for command in episode.commands} <= known


def test_strangers_are_asked_neither_limits_nor_claims() -> None:
    for seed in range(40):
        episode = walker.play(Target("stranger", Mute, claims=lambda profile: False), SLOTWISE, seed_of(seed, seed), hazards=frozenset(LAWS))
        for command in episode.commands:
            assert getattr(command, "claim", None) is None
            assert all(group.running_limit is None and group.share_limit is None for group in getattr(command, "groups", ()))


CORNERS: dict[str, Callable[[Command], bool]] = {
    "nothing asked of a pump": lambda c: isinstance(c, Pump) and c.at_most == 0,
    "an unlisted resource": lambda c: any("elsewhere" in task.needs for task in getattr(c, "tasks", ())),
    "weight 0": lambda c: any(group.weight == 0 for group in getattr(c, "groups", ())),
    "a weight below 1": lambda c: any(0 < group.weight < 1 for group in getattr(c, "groups", ())),
    "limit 0": lambda c: any(group.running_limit == 0 for group in getattr(c, "groups", ())),
    "tampered needs": lambda c: isinstance(c, Release) and c.claim is not None and c.claim.needs is not None,
    "another scheduler": lambda c: isinstance(c, Release) and c.claim is not None and c.claim.generation == 1,
    "many at once": lambda c: len(getattr(c, "tasks", ())) >= 9,
}  # fmt: skip


def test_corners_are_drawn() -> None:
    words: set[str] = set()
    drawn: set[str] = set()
    for seed in range(250):
        episode = walker.play(reference.TARGET, PROFILES["data-designer-0.9"], seed_of(seed * 7919 % TILTS, seed), hazards=frozenset(LAWS))
        words |= {str(seen[0]) for saw in episode.seen for seen in saw}
        drawn |= {name for name, drawn_by in CORNERS.items() for command in episode.commands if drawn_by(command)}
    assert drawn == CORNERS.keys()
    assert words == set(reference_words())


def reference_words() -> list[str]:
    from slotwise.spec.vocabulary import SEEN

    return list(SEEN)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_rule_is_reached_and_has_a_floor(profile: str) -> None:
    report = find(reference.TARGET, profile, steps=floors.ENOUGH, seed=11)
    assert report.floors_missed == []
    assert report.rules.keys() == {rule.id for rule in floors.rules_of(PROFILES[profile])} == floors.floors_of(profile).keys()
    assert all(report.rules.values())


def test_a_missed_floor_fails_the_run() -> None:
    hits = {rule.id: 10**6 for rule in floors.rules_of(SLOTWISE)}
    assert floors.missed(SLOTWISE, hits, 100_000) == []
    assert [missed.rule for missed in floors.missed(SLOTWISE, {**hits, "SLT-7": 0}, 100_000)] == ["SLT-7"]
    assert [missed.rule for missed in floors.missed(SLOTWISE, {**hits, "SLT-11": 1}, 100_000)] == ["SLT-11"]
    assert floors.missed(SLOTWISE, {}, floors.ENOUGH - 1) == []
    renamed = Profile("nameless", SLOTWISE.discipline)
    assert {missed.rule for missed in floors.missed(renamed, hits, 100_000)} == hits.keys()
    report = find(Target("deaf", Mute, frozenset({"pump"})), "slotwise", steps=floors.ENOUGH)
    assert (report.exit, bool(report.floors_missed)) == (exits.FLOOR, True)


def test_an_episode_is_shaped_by_both_halves_of_its_seed() -> None:
    one = walker.play(reference.TARGET, SLOTWISE, seed_of(3, 4)).commands
    assert one == walker.play(reference.TARGET, SLOTWISE, 3 * HALF + 4).commands
    assert one != walker.play(reference.TARGET, SLOTWISE, seed_of(3, 5)).commands
    assert one != walker.play(reference.TARGET, SLOTWISE, seed_of(4, 4)).commands


def test_a_clone_goes_its_own_way() -> None:
    for profile in PROFILES.values():
        episode = walker.play(reference.TARGET, profile, seed_of(1, 9), hazards=frozenset(LAWS))
        first = Reference(profile, episode.capacity)
        for command in episode.commands[: len(episode.commands) // 2]:
            first.step(command)
        before = first.state()
        twin = first.clone()
        assert twin.state() == before
        answers = [twin.step(command) for command in episode.commands[len(episode.commands) // 2 :]]
        assert first.state() == before
        assert [first.step(command) for command in episode.commands[len(episode.commands) // 2 :]] == answers
        assert first.state() == twin.state()


def test_hazards_are_failures_when_told_so() -> None:
    report = find(reference.TARGET, "strict", hazards=frozenset(), shrink=False)
    assert report.exit == exits.INVARIANT
    failure = report.failures[0]
    assert failure.kind == "law"
    assert failure.rule in KNOWN_HAZARDS["strict"]
    assert judge(reference.TARGET, failure.profile, failure.capacity, failure.trace.commands) is not None
