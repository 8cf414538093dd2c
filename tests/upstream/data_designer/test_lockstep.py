"""The published package and the reference, step by step: the same answers and the same state, under every policy that the package has."""
from __future__ import annotations

import subprocess
import sys
from collections import Counter

import msgspec
import pytest

from slotwise.fuzz import walker
from slotwise.fuzz.upstream.data_designer import BEFORE, TARGET, DataDesigner, claims
from slotwise.spec import admission as a
from slotwise.spec import vocabulary as v
from slotwise.spec.laws import LAWS

OWN = v.PROFILES["data-designer-0.8" if BEFORE else "data-designer-0.9"]
LEAST = int(BEFORE)
DISCIPLINES: dict[str, v.Strict | v.BoundedBorrow] = {
    "strict": v.Strict(),
    "default": v.BoundedBorrow(0.125 * LEAST, LEAST),
    "floor": v.BoundedBorrow(0.125 * LEAST, LEAST, share_rounding="floor"),
    "reserve": v.BoundedBorrow(0.5, LEAST, 2),
    "reserve all": v.BoundedBorrow(1.0, LEAST),
    "no borrowing": v.BoundedBorrow(0.0, LEAST, default_ceiling=0),
    "ceilings": v.BoundedBorrow(0.0, LEAST, 1, "ceil", 1, (v.Ceiling("a", "r", 3), v.Ceiling("b", "r", 0), v.Ceiling("a", "r", 1), v.Ceiling("a", "llm", 2))),
    "no repayment": v.BoundedBorrow(0.0, LEAST, repay=False),
    "no repayment, floor": v.BoundedBorrow(0.25, LEAST, 8, "floor", 3, repay=False),
}
EPISODES = 150


def profile_of(discipline: v.Strict | v.BoundedBorrow) -> v.Profile:
    return msgspec.structs.replace(OWN, discipline=discipline)


@pytest.mark.parametrize("name", DISCIPLINES)
def test_lockstep(name: str) -> None:
    profile = profile_of(DISCIPLINES[name])
    assert claims(profile)
    steps, words = 0, Counter[str]()
    for seed in range(EPISODES):
        episode = walker.play(TARGET, profile, seed, hazards=frozenset(LAWS))          # laws are not the matter here
        assert not episode.suspect, walker.run_episode(TARGET, profile, seed)
        steps += len(episode.commands)
        words.update(str(word[2 if word[0] == "refused" else 0]) for saw in episode.seen for word in saw)
    assert steps > 7000
    assert words.keys() >= v.SEEN.keys() - {"refused"} | {"no_capacity"} | ({"group_cap"} if name == "strict" else {"group_cap", "borrow_debt"})


def both(profile: v.Profile, capacity: dict[str, int], *commands: v.Command) -> list[list[v.Observation]]:
    package, reference, seen = TARGET.make(profile, capacity), a.admission(profile, capacity), []
    for command in commands:
        seen.append(package.step(command))
        assert seen[-1] == a.step(reference, command), command
    return seen


def test_the_oldest_release_is_forgotten() -> None:
    """The package remembers 8,192."""
    package, reference = DataDesigner(OWN, {"r": 1}), a.admission(OWN, {"r": 1})
    for lease in range(1, 8194):
        for command in (v.Enqueue(tasks=(v.Task(f"t{lease}", "g", {"r": 1}),)), v.Pump(at_most=1), v.Release(lease=lease)):
            assert package.step(command) == a.step(reference, command)
        if BEFORE:
            package.queue._heap.clear()          # nothing but history, which it would walk through at every start
    for lease, word in ((1, "unknown_lease"), (2, "duplicate")):
        assert package.step(v.Release(lease=lease)) == a.step(reference, v.Release(lease=lease)) == [(word, lease)]


def test_who_asks_for_submission_where_there_is_none_never_starts() -> None:
    """The package insists on that resource; the target takes it away again."""
    tasks = (v.Task("a0", "a", {"submission": 1}), v.Task("b0", "b", {"r": 1, "submission": 1}), v.Task("c0", "c", {"r": 1}))
    *_, last = both(OWN, {"r": 2}, v.Enqueue(tasks=tasks), v.Pump(at_most=9), v.Explain())
    assert last == [("refused", "a0", "no_capacity"), ("refused", "b0", "no_capacity")]


@pytest.mark.parametrize("needs", [{"submission": 1}, {"submission": 1, "r": 1}])
def test_submission_alone_counts_as_pressure_only_where_nothing_else_is_needed(needs: dict[str, int]) -> None:
    limited, local = v.Group("a", 1.0, 1), v.Group("b")
    both(profile_of(v.Strict()), {"submission": 4, "r": 4},
         v.Enqueue(tasks=tuple(v.Task(f"a{i}", "a", needs) for i in range(3)), groups=(limited,)), v.Pump(at_most=1),
         v.Enqueue(tasks=(v.Task("b0", "b", {"submission": 1}),), groups=(local,)), v.Explain(), v.Pump(at_most=9))  # fmt: skip


def test_a_profile_is_claimed_only_with_the_defects_of_the_installed_version() -> None:
    others = [
        msgspec.structs.replace(OWN, released_memory=None), msgspec.structs.replace(OWN, released_memory=8191), msgspec.structs.replace(OWN, accepts_the_impossible=False),
        msgspec.structs.replace(OWN, discarded_task_lingers=False), msgspec.structs.replace(OWN, idle_group_keeps_place=not BEFORE),
        profile_of(v.BoundedBorrow(0.125, 1 - LEAST)), v.PROFILES["slotwise"],
    ]  # fmt: skip
    assert claims(OWN)
    assert not any(map(claims, others))


def test_without_the_package_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['data_designer'] = None; import slotwise.fuzz.upstream.data_designer"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "slotwise.fuzz.target.TargetError: data-designer cannot be loaded" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("install slotwise[upstream]")
