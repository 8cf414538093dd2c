"""What the search for spinning has of its own: its corners, its numbers, its words. What all have in common is in test_mechanisms."""
from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from slotwise.fuzz import blame_spin, generate_spin, reference, walker
from slotwise.fuzz.emit import spelled
from slotwise.fuzz.explain import said
from slotwise.fuzz.generate_spin_window import TEN
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.searches import SEARCHES
from slotwise.fuzz.simpler_spin import merged, simpler_names, together
from slotwise.fuzz.swarm import TILTS, Swarm, seed_of
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.spin_laws import LAWS
from slotwise.spec.spin_vocabulary import PROFILES

SLOTWISE = PROFILES["slotwise"]
SPIN = MECHANISMS["spin"]


# The generator -----------------------------------------------------------------------------------------------------------------------


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


def test_the_blame_names_rules_that_there_are() -> None:
    tables = [*blame_spin.GIVES.values(), *blame_spin.WRITES.values(), blame_spin.POLICY, tuple(blame_spin.SHOULD_NOT.values())]
    assert {rule for table in tables for rule in table} <= SPIN.rule_book.keys()
    assert blame_spin.WRITES.keys() == set(blame_spin.FIRST)
    assert blame_spin.GIVES.keys() | {"outcome", "waited"} == set(v.SEEN)


# Words -------------------------------------------------------------------------------------------------------------------------------


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
