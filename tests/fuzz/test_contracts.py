"""The contracts that CrossHair proves hold for small numbers too, and each has a kept verdict. (The proofs are run by CI.)"""
from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
import traceback
from collections.abc import Callable

import pytest

from slotwise.fuzz import contracts, contracts_batching, contracts_spin, mutants, symbolic
from slotwise.fuzz.symbolic import CONFIRMED, RULES, all_contracts, drift, kept, rule_of
from slotwise.spec.mechanisms import MECHANISMS

SOME = {int: (0, 1, 2, 3, 11 * 1024, 1024, 5000), bool: (False, True), int | None: (None, 0, 1, 3, 1024), str | None: (None, "", "l1", "x")}


def preconditions(contract: Callable[..., None]) -> set[int]:
    """The lines of the leading assertions."""
    source, first = inspect.getsourcelines(contract)
    body = ast.parse(textwrap.dedent("".join(source))).body[0]
    assert isinstance(body, ast.FunctionDef)
    statements = itertools.dropwhile(lambda statement: isinstance(statement, ast.Expr), body.body)
    leading = itertools.takewhile(lambda statement: isinstance(statement, ast.Assert), statements)
    return {first - 1 + statement.lineno for statement in leading}


def meant(contract: Callable[..., None], arguments: tuple[object, ...]) -> bool:
    """Call it. False: these numbers are not meant. Raises AssertionError where it promises too much."""
    try:
        contract(*arguments)
    except AssertionError as error:
        frame = next(frame for frame in traceback.extract_tb(error.__traceback__) if frame.name == contract.__name__)
        if frame.lineno in preconditions(contract):
            return False
        raise
    return True


def tried(contract: Callable[..., None]) -> int:
    kinds = inspect.get_annotations(contract, eval_str=True)
    choices = [SOME[kinds[name]] for name in inspect.signature(contract).parameters]
    return sum(meant(contract, arguments) for arguments in itertools.islice(itertools.product(*choices), 5000))


@pytest.mark.parametrize("name", all_contracts())
def test_it_holds_for_small_numbers(name: str) -> None:
    assert tried(all_contracts()[name]) > 0, "none of the numbers tried is meant"


@pytest.mark.parametrize("name", all_contracts())
def test_what_it_promises_is_not_taken_for_what_is_meant(name: str) -> None:
    assert symbolic.is_contract(all_contracts()[name])


def test_every_contract_has_a_kept_verdict_and_names_a_rule() -> None:
    assert list(kept()) == list(all_contracts())
    assert set(kept().values()) == {CONFIRMED}


def test_most_rules_are_proved() -> None:
    named = {rule_of(name) for name in kept()}
    assert len(named & MECHANISMS["admission"].rule_book.keys()) >= 0.8 * len(MECHANISMS["admission"].rule_book)
    assert len(named & MECHANISMS["batching"].rule_book.keys()) >= 0.3 * len(MECHANISMS["batching"].rule_book), "the others are about lists and names, not numbers"
    assert len(named & MECHANISMS["spin"].rule_book.keys()) >= 0.2 * len(MECHANISMS["spin"].rule_book), "the others are steps of a pool, not numbers"
    assert named <= RULES.keys()
    with pytest.raises(ValueError, match="no rule SLT-99"):
        rule_of("slt_99_nothing")


def test_drift_is_named() -> None:
    assert drift({"a": CONFIRMED}, {"a": CONFIRMED}) == []
    assert drift({"a": CONFIRMED}, {"a": "cannot_confirm: no time"}) == []
    assert drift({"a": "post_fail: 3"}, {"a": CONFIRMED}) == ["a: kept confirmed, now post_fail: 3"]
    assert drift({"a": CONFIRMED}, {}) == ["a: no verdict is kept (now confirmed)"]
    assert drift({}, {"a": CONFIRMED}) == ["a: kept, but there is no such contract"]


WRONG = {
    "bounded_borrow.ceiling_of: return max(0, max(0, capacity - reserve) - share) -> return max(0, max(0, capacity + reserve) - share)": "bor_3_a_ceiling_leaves_share_and_reserve",
    "admission.no_capacity: if ledger.free(resource) < units: -> if ledger.free(resource) <= units:": "adm_1_fits_or_not",
    "slot_time.running_limit: return 'running_limit' if discipline.limited(group) else None -> return None": "slt_9_never_more_than_its_limit",
    "batching_hold.last_hold: return min(opened + trips * round_trip - 1, latest) -> return max(opened + trips * round_trip - 1, latest)": "bat_19_no_hold_lasts_so_many_round_trips",
    "batching_answers.mean_after: return mean + (trip - mean) // 8 -> return mean - (trip - mean) // 8": "bat_25_the_mean_moves_towards_a_round_trip",
    "refresh.contradicts: return ahead or behind -> return behind": "ref_4_a_clock_that_was_set_far_enough_is_noticed",
    "refresh.guarded: return (min(quarter, others[0] - quickest) if others else quarter) - quickest -> return (max(quarter, others[0] - quickest) if others else quarter) - quickest":
        "ref_2_a_guard_is_at_most_a_quarter_of_a_round_trip",
    "aws_durable_batch.has_enough: return updates + empties >= most -> return updates + empties > most": "aws_23_all_empties_count_for_one",
    "spin_window.is_due: return elapsed >= due -> return elapsed > due": "spn_6_due_an_interval_after_the_reading_before",
    "spin_policy.halved: return max(window // 2, floor) -> return max(window // 3, floor)": "spn_11_halves_down_to_the_floor",
    "spin_policy.is_guarded: return guard > 8 * park -> return guard < 8 * park": "spn_17_never_beyond_eleven_parks",
    "spin_policy.next_guard: return max(-16 * park, guard + paid - even - (even >> 3)) -> return max(-16 * park, guard + paid - even - (even >> 2))":
        "spn_17_what_is_paid_is_nine_eighths_and_what_the_guard_gains",
    "spin_dispatcher.needed: return min(total - 1, sleepers) -> return min(total - 0, sleepers)": "spn_57_one_for_every_task_but_one",
}
#: The names by which the contracts call the rule modules.
CALLED = {
    contracts: {"a": "admission", "q": "fair_queue", "bounded_borrow": "bounded_borrow", "slot_time": "slot_time", "strict": "strict"},
    contracts_batching: {"hold": "batching_hold", "line": "batching_line", "plans": "batching_plan", "state": "batching_state", "b": "batching", **{
        module: module for module in ("refresh", "batching_answers", "aws_durable_state", "aws_durable_batch", "aws_durable_heap", "aws_durable_thread", "collector")}},
    contracts_spin: {"dispatcher": "spin_dispatcher", "policy": "spin_policy", "pool": "spin_pool", "window": "spin_window"},
}  # fmt: skip


@pytest.mark.parametrize("key", WRONG)
def test_a_wrong_rule_breaks_its_contract(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = key.partition(".")[0]
    copy = mutants.load(next(mutant for mutant in mutants.mutants((module,)) if mutant.key == key))
    contract = all_contracts()[WRONG[key]]
    book = next(book for book in CALLED if book.__name__ == contract.__module__)
    for name, called in CALLED[book].items():
        monkeypatch.setattr(book, name, copy.modules[called])
    with pytest.raises(AssertionError):
        tried(contract)
    crosshair = pytest.importorskip("crosshair")
    assert crosshair
    assert "AssertionError" in symbolic.verdict(contract)
