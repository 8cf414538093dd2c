"""The mutants of the spec: which there are, that each is a copy of its own, and that a mistake is noticed and an endless one not called so."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from slotwise.fuzz import exits, mutants, mutation, reference
from slotwise.fuzz.mutants import Mutant
from slotwise.fuzz.mutation import Episode, Outcome, Report
from slotwise.fuzz.target import Target, TargetError
from slotwise.spec import rules as real_rules
from slotwise.spec import vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS


@pytest.fixture(scope="module")
def every() -> dict[str, Mutant]:
    return {mutant.key: mutant for mutant in mutants.mutants()}


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    return mutation.corpus(reference.TARGET, 40)


def test_the_list_is_the_same_every_time_and_names_each_once(every: dict[str, Mutant]) -> None:
    assert list(every) == [mutant.key for mutant in mutants.mutants()]
    assert len(every) > 500
    assert {mutant.module for mutant in every.values()} == set(mutants.MUTATED)


def test_every_rule_has_a_mutant(every: dict[str, Mutant]) -> None:
    returns_only = {"QUE-2"}                    # its one statement decides and is recorded
    assert MECHANISMS["admission"].rule_book.keys() - {mutant.rule for mutant in every.values()} - returns_only == set()


def test_what_cannot_matter_is_left_alone(every: dict[str, Mutant]) -> None:
    places = {(mutant.module, mutant.function) for mutant in every.values()}
    assert not any(function.endswith(("state", "bits")) for _, function in places)
    assert not any('"""' in mutant.was or mutant.was.startswith("'") for mutant in every.values())
    assert not any(mutant.function == "take_turn" and mutant.was.startswith("return") for mutant in every.values()), "nobody reads what it returns"
    assert all(mutant.was != mutant.now for mutant in every.values())


def test_each_can_be_loaded(every: dict[str, Mutant]) -> None:
    for mutant in list(every.values())[::13]:
        assert mutants.load(mutant).modules["admission"].step


def test_a_copy_is_a_world_of_its_own() -> None:
    copy, other = mutants.load(), mutants.load()
    assert copy.modules["rules"].RULES.keys() == MECHANISMS["admission"].rule_book.keys()
    assert copy.modules["rules"].RULES is not real_rules.RULES
    assert copy.modules["fair_queue"].FairQueue is not other.modules["fair_queue"].FairQueue
    real_rules.decided.clear()
    scheduler = copy.admission(v.PROFILES["strict"], {"r": 1})
    copy.step(scheduler, v.Enqueue(tasks=(v.Task("a", "g", {"r": 1}),)))
    assert copy.modules["rules"].decided
    assert real_rules.decided == []
    assert other.modules["rules"].decided == []


def test_the_unchanged_copy_answers_as_recorded(episodes: list[Episode]) -> None:
    unchanged = mutants.load()
    assert all(mutation.lockstep(unchanged, episode) is None for episode in episodes)
    assert {episode.profile.name for episode in episodes} == set(v.PROFILES)
    assert any(episode.profile != v.PROFILES[episode.profile.name] for episode in episodes), "parameters are varied in some"


KILLED = {
    "bounded_borrow.make_way: return 'borrow_debt' if debt > 0 else None -> return 'borrow_debt' if debt >= 0 else None": "observations",
    "fair_queue.take_turn: queue.turns += 1 -> pass": "state",
    "fair_queue.stale: return True -> pass": "raised KeyError",
    "admission.admission: if units < 1: -> if units < 0:": "observations",
}


@pytest.mark.parametrize("key", KILLED)
def test_a_mistake_is_noticed(every: dict[str, Mutant], episodes: list[Episode], key: str) -> None:
    outcome = mutation.judge(every[key], episodes)
    assert outcome.verdict == "killed"
    assert outcome.by == KILLED[key]


def test_a_loop_without_end_is_no_kill(every: dict[str, Mutant], episodes: list[Episode]) -> None:
    outcome = mutation.judge(every["fair_queue.forget_ghosts: del fifo[0] -> pass"], episodes)
    assert outcome.verdict == "endless"


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_listed_equivalents_survive(mechanism: str) -> None:
    every = {mutant.key: mutant for mutant in mutants.mutants(MECHANISMS[mechanism].rules[1:])}
    episodes = mutation.corpus(reference.TARGET, 40, mechanism=mechanism)
    listed = mutation.equivalents(mechanism)
    assert listed
    assert [key for key in listed if key not in every] == []
    assert all(len(reason.split()) >= 5 for reason in listed.values())
    assert len(listed) <= mutation.MOST_EQUIVALENT * len(every)
    for key in listed:
        assert mutation.judge(every[key], episodes).verdict in ("survived", "endless"), key


def test_batching_has_mutants_too() -> None:
    modules = MECHANISMS["batching"].rules[1:]
    chosen = {mutant.key: mutant for mutant in mutants.mutants(modules)}
    assert {mutant.module for mutant in chosen.values()} == set(modules)
    rules = {id for id, rule in MECHANISMS["batching"].rule_book.items() if rule.where == "step"}
    assert rules == {mutant.rule for mutant in chosen.values()} & rules
    episodes = mutation.corpus(reference.TARGET, 40, mechanism="batching")
    some = "batching_line.too_many: return True if updates == parameters.updates else None -> return True if updates != parameters.updates else None"
    assert mutation.judge(chosen[some], episodes).verdict == "killed"


def test_nothing_is_said_where_target_and_rules_differ() -> None:
    class Forgetful(reference.Reference):
        def step(self, command: v.Command) -> list[v.Observation]:
            return super().step(command)[:1]

    with pytest.raises(TargetError, match="nothing can be said of mutants"):
        mutation.corpus(Target("forgetful", Forgetful), 5)


def report(*verdicts: str, listed: dict[str, str] | None = None) -> Report:
    made = [Outcome(Mutant("strict", "f", 1, "STR-1", "was", f"now {i}", 1, 0, 0), verdict) for i, verdict in enumerate(verdicts)]
    return Report(made, listed or {}, True)


def test_the_score_counts_neither_equivalents_nor_the_unviable() -> None:
    assert report("killed", "killed", "survived", "endless").score == 0.5
    assert report("killed", "unviable").score == 1.0
    assert report("killed", "survived", listed={"strict.f: was -> now 1": "it is the same"}).score == 1.0
    assert report("killed", "survived").by_rule() == {"STR-1": (1, 2)}
    assert report("killed", "survived").exit == exits.MUTATION_FLOOR
    assert report(*["killed"] * 9, "survived").exit == exits.CLEAN
    assert report().score == 0.0


def test_the_list_of_equivalents_is_checked() -> None:
    assert report("killed", listed={"strict.f: was -> now 0": "it is the same"}).wrong()[0].startswith("listed as equivalent, but killed")
    assert report(*["survived"] * 20, listed={"strict.f: was -> now 0": " "}).wrong() == ["listed as equivalent without a reason: strict.f: was -> now 0"]
    assert report(*["survived"] * 20, listed={"strict.g: gone -> by": "it is the same"}).wrong() == ["listed as equivalent, but there is no such mutant: strict.g: gone -> by"]
    assert "more than 10%" in report("survived", listed={"strict.f: was -> now 0": "it is the same"}).wrong()[0]


def test_the_whole_run_in_a_sample(tmp_path: Path) -> None:
    done: list[int] = []
    found = mutation.run("reference", every=50, workers=1, episodes=10, progress=lambda now, all: done.append(now))
    assert done == list(range(1, len(found.outcomes) + 1))
    assert found.score > 0.5
    assert json.loads(json.dumps(found.to_json()))["mutants"] == len(found.outcomes)
    assert [outcome.mutant for outcome in found.outcomes] == mutants.mutants()[::50]
