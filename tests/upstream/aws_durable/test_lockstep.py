"""The published collector and the reference, step by step: the same answers and the same state, with any limits."""
from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import msgspec
import pytest
from aws_durable_execution_sdk_python import state as package

from slotwise.fuzz import exits, walker
from slotwise.fuzz.upstream.aws_durable import BEFORE, OWN, TARGET, Collector, claims
from slotwise.fuzz.upstream.virtual import Seconds
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_laws import KNOWN_HAZARDS, LAWS

MS = v.MILLISECOND
#: Of a collection; smaller limits of bytes and of updates are drawn anyway.
COLLECTIONS = {"none": 0, "short": 20 * MS, "a quarter": 250 * MS}
#: Laws that it takes a long life to break.
RARE = {"LAW-53"}


def profile_of(**parameters: Any) -> v.Profile:
    return msgspec.structs.replace(OWN, discipline=msgspec.structs.replace(OWN.discipline, **parameters))


def test_lockstep() -> None:
    """In some 700 scripts every rule decides, and the package breaks the laws that its profile lists, and no others."""
    report = walker.campaign(TARGET, OWN, steps=40_000, seed=1, hazards=frozenset(LAWS), floors_count=False)
    assert (report.equality, report.failures) == (True, [])
    assert report.episodes > 600
    assert [rule for rule, hits in report.rules.items() if not hits] == []
    assert KNOWN_HAZARDS[OWN.name] - RARE <= set(report.hazards) <= KNOWN_HAZARDS[OWN.name]


@pytest.mark.parametrize("name", COLLECTIONS)
def test_lockstep_with_another_limit(name: str) -> None:
    profile = profile_of(collection=COLLECTIONS[name])
    assert claims(profile)
    report = walker.campaign(TARGET, profile, steps=10_000, hazards=frozenset(LAWS), floors_count=False)       # laws are not the matter here
    assert (report.equality, report.failures) == (True, [])


def found(monkeypatch: pytest.MonkeyPatch, *break_it: Any) -> bool:
    monkeypatch.setattr(*break_it)
    return walker.campaign(TARGET, OWN, steps=60_000, hazards=frozenset(LAWS), floors_count=False, shrink=False).exit == exits.DIVERGENCE


BATCH = getattr(package, "_BatchAccumulator", None)
BROKEN: dict[str, tuple[Any, str, Any]] = {
    "orphans forgotten": (package.ExecutionState, "_mark_orphans", lambda self, context: None),
    "completion not settled": (package.ExecutionState, "_settle_after_execution_completed", lambda self: self.stop_checkpointing()),
    "nothing left to drain": (package.ExecutionState, "_drain_unsent_operations", lambda self: []),
    "another poll": (package, "_STOP_SIGNAL_POLL_SECONDS", 0.1 + 1e-9),
    "another window": (package, "_BLOCKED_CALLER_WAIT_SECONDS", 0.001 + 1e-9),
    "all is full": (BATCH, "is_full", lambda self: self.effective_count > self._config.max_batch_operations),
    "less fits": (BATCH, "fits", lambda self, size: self.total_size + size < self._config.max_batch_size_bytes),
    "wakes for ever": (package.ExecutionState, "_consume_refresh_wake", lambda self: None),
    "cancelled refreshes stay": (package.ExecutionState, "_settle_cancelled_refresh", staticmethod(lambda refresh: None)),
    "refreshes lost at the exit": (package.ExecutionState, "_drain_pending_refreshes", lambda self: []),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, (where, what, _) in BROKEN.items() if hasattr(where, what)])
def test_a_package_that_differs_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(monkeypatch, *BROKEN[name])


def test_enough_of_it_is_broken() -> None:
    assert sum(hasattr(where, what) for where, what, _ in BROKEN.values()) == (2 if BEFORE else len(BROKEN))


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    walker.campaign(TARGET, OWN, steps=2000, floors_count=False)
    assert threading.active_count() == before


def test_the_package_measures_an_update_by_its_text() -> None:
    """Which the target does not ask for."""
    update = package.OperationUpdate("an id", package.OperationType.STEP, package.OperationAction.SUCCEED, payload="é" * 100)
    text = '{"Id": "an id", "Type": "STEP", "Action": "SUCCEED", "Payload": "' + "\\u00e9" * 100 + '"}'
    assert package.ExecutionState._calculate_operation_size(package.QueuedOperation(update)) == len(text)
    assert package.ExecutionState._calculate_operation_size(package.QueuedOperation(None)) == 0


def test_an_update_may_end_a_context_and_the_execution() -> None:
    collector = Collector(OWN, v.Setup())
    for command in (v.Submit(id="below", parent="context", sync=False), v.Submit(id="context", ends=True, final=True), v.Pump()):
        collector.step(command)
    assert collector.step(v.Submit(id="below")) == [("rejected", "below", "orphaned")]
    assert collector.step(v.Pump(at=v.SECOND)) == [("send", ["below", "context"], [], "token-0")]
    assert collector.step(v.Respond(at=v.SECOND)) == [("settled", "context", "ok")]
    assert collector.step(v.Submit(id="more", at=v.SECOND)) == [("rejected", "more", "completed")]
    collector.close()


def test_seconds_are_exact() -> None:
    """Where doubles are not: after 0.1 s and 0.2 s it is not 0.3 s by them."""
    assert Seconds(100 * MS) + 0.2 == Seconds(300 * MS) == 0.3
    assert Seconds(300 * MS) - Seconds(100 * MS) == 0.2
    assert min(Seconds(100 * MS), 0.1, Seconds(100 * MS + 1)) == 0.1
    assert max(0.0, Seconds(-1)) == 0
    with pytest.raises(TypeError):
        Seconds(1) * 2  # type: ignore[operator]


def test_a_profile_is_claimed_only_with_the_switches_of_the_installed_version() -> None:
    switches = {name: not getattr(OWN, name) for name in msgspec.structs.asdict(OWN) if name not in ("name", "discipline")}
    others = [
        *(msgspec.structs.replace(OWN, **{name: value}) for name, value in switches.items()), *(one for one in v.PROFILES.values() if one != OWN), profile_of(quiet=99 * MS),
        profile_of(heap=BEFORE), profile_of(revokes=BEFORE), profile_of(weighs_empties=BEFORE), profile_of(blocked_window=5),
    ]  # fmt: skip
    assert claims(OWN)
    assert not any(map(claims, others))


def test_without_the_package_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['aws_durable_execution_sdk_python'] = None; import slotwise.fuzz.upstream.aws_durable"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "slotwise.fuzz.target.TargetError: aws-durable cannot be loaded" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("install slotwise[upstream]")
