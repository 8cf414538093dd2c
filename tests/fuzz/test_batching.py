"""What the search for batching has of its own: its corners, its numbers, its words. What all have in common is in test_mechanisms."""
from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slotwise.fuzz import blame_batching, exits, generate_batching, reference, targets, walker
from slotwise.fuzz.emit import spelled
from slotwise.fuzz.explain import said
from slotwise.fuzz.searches import SEARCHES
from slotwise.fuzz.swarm import TILTS, Swarm, seed_of
from slotwise.fuzz.target import TargetError
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_laws import LAWS
from slotwise.spec.batching_vocabulary import PROFILES
from slotwise.spec.mechanisms import MECHANISMS

SLOTWISE = PROFILES["slotwise"]
BATCHING = MECHANISMS["batching"]


# The generator -----------------------------------------------------------------------------------------------------------------------


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


def test_the_blame_names_rules_that_there_are() -> None:
    tables = [*blame_batching.GIVES.values(), *blame_batching.WRITES.values(), blame_batching.ENDS_THE_WAIT, blame_batching.LIMITS, blame_batching.DUE, blame_batching.SHOWS]
    assert {rule for table in tables for rule in table} <= BATCHING.rule_book.keys()
    assert blame_batching.WRITES.keys() == set(blame_batching.FIRST)


# Targets -----------------------------------------------------------------------------------------------------------------------------


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
    assert walker.campaign(target, SLOTWISE, steps=60_000, shrink=False).exit == exits.DIVERGENCE
    with pytest.raises(TargetError, match="field `mechanism`: found 'cooking'; expected admission or batching"):
        targets.load("batcher:Odd")


# Words -------------------------------------------------------------------------------------------------------------------------------


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
