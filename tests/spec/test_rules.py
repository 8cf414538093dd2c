"""The rules one by one: how they are registered, and what each promises for all values (Hypothesis).

Further promises, on plain numbers, are contracts that CrossHair proves: `slotwise.fuzz.contracts`.
"""
from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from slotwise.fuzz import seeded, symbolic
from slotwise.spec import admission as a
from slotwise.spec import bounded_borrow, rules, slot_time, tagged
from slotwise.spec import fair_queue as q
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import PROFILES, Group, Profile, Task

#: Of admission; those of batching are in `test_batching_rules`.
RULES = {id: rule for id, rule in rules.RULES.items() if set(rule.disciplines) & set(rules.EVERY)}
MODULES = ("fair_queue", "admission", "strict", "bounded_borrow", "slot_time")
TESTS = Path(__file__).parents[1]

# How they are registered -------------------------------------------------------------------------------------------------------------


def function(id: str) -> Any:
    module, _, name = RULES[id].function.rpartition(".")
    return inspect.unwrap(getattr(import_module(module), name))


def trees() -> Iterator[ast.Module]:
    for module in MODULES:
        yield ast.parse(inspect.getsource(import_module(f"slotwise.spec.{module}")))


def functions() -> Iterator[ast.FunctionDef]:
    for tree in trees():
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("id", RULES)
def test_a_rule_is_one_short_function_with_a_sentence_and_a_source(id: str) -> None:
    rule = RULES[id]
    assert len(inspect.getsourcelines(function(id))[0]) <= 40
    assert rule.prose[0].isupper()
    assert rule.prose.rstrip(")").endswith(".")
    assert re.match(r"semantics \d|design \d", rule.source)
    assert rule.function.split(".")[2] in MODULES


def test_rules_are_numbered_without_gaps() -> None:
    for family in ("QUE", "ADM", "STR", "BOR", "SLT"):
        numbers = sorted(int(id.partition("-")[2]) for id in RULES if id.startswith(family))
        assert numbers == list(range(1, len(numbers) + 1)), family


def test_no_function_is_two_rules() -> None:
    assert len({rule.function for rule in RULES.values()}) == len(RULES)


def test_every_rule_is_the_subject_of_a_test() -> None:
    """A contract, a property below, or another test that names it."""
    named = {symbolic.rule_of(name) for name in symbolic.all_contracts()}
    for path in TESTS.rglob("test_*.py"):
        named |= set(re.findall(r"\b(?:QUE|ADM|STR|BOR|SLT)-\d+\b", path.read_text("utf-8")))
    assert RULES.keys() - named == set()


@pytest.mark.skipif(not seeded.catalogue(), reason="the faulty twin is not built")
def test_every_rule_has_a_seeded_fault_and_every_fault_a_rule() -> None:
    faulty = {fault.rule for fault in seeded.catalogue()}
    assert faulty - rules.RULES.keys() == set()
    assert RULES.keys() - faulty == set()


def attributes(function: ast.FunctionDef) -> set[str]:
    return {node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)}


def test_each_switch_is_read_in_exactly_one_rule() -> None:
    switches = set(Profile.__struct_fields__) - {"name", "discipline"}
    for switch in switches:
        readers = [function for function in functions() if switch in attributes(function)]
        assert len(readers) == 1, switch
        assert any(rule.function.endswith(f".{readers[0].name}") for rule in RULES.values()), switch
    assert {name for rule in RULES.values() for name in (rule.switch, rule.off) if name} <= switches


def test_every_parameter_of_a_discipline_is_read() -> None:
    read = set().union(*map(attributes, functions()))
    parameters = {name for kind in (v.Strict, v.BoundedBorrow, v.SlotTime) for name in kind.__struct_fields__}
    assert parameters - read == set()


def test_the_reasons_to_refuse_are_those_of_the_vocabulary() -> None:
    given = set()
    for function in functions():
        if function.returns is not None and ast.unparse(function.returns) == "Refusal | None":
            body = function.body[1:]                      # without the sentence
            given |= {node.value for statement in body for node in ast.walk(statement) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert given - {"submission"} == set(get_args(v.Refusal))


def test_the_words_seen_are_those_of_the_vocabulary() -> None:
    texts = {node.value for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert v.SEEN.keys() - texts == set()


# What they promise -------------------------------------------------------------------------------------------------------------------

NAMES = some.sampled_from("abcd")
UNITS = some.integers(1, 9)
NEEDS = some.dictionaries(some.sampled_from(["r", "s", "t"]), UNITS, min_size=1)
WEIGHTS = some.integers(1, 1 << 14).map(lambda weight: weight / 1024)


def queue_of(profile: str, *tasks: Task) -> q.FairQueue:
    queue = q.FairQueue(PROFILES[profile])
    for task in tasks:
        q.accept(queue, task, Group(task.group))
        q.take_turn(queue, task.group)
    return queue


@some.composite
def waiting(draw: some.DrawFn) -> list[Task]:
    return [Task(f"{draw(some.sampled_from('xy'))}{i}", draw(NAMES), {"r": 1}) for i in range(draw(some.integers(1, 8)))]


@given(waiting())
def test_que_1_2_who_is_accepted_waits_last_and_once(tasks: list[Task]) -> None:
    """QUE-1, QUE-2."""
    queue = queue_of("slotwise", *tasks)
    for group in "abcd":
        assert [task.id for task, _ in queue.fifo.get(group, [])] == [task.id for task in tasks if task.group == group]
    assert all(q.already_waits(queue, task) for task in tasks)
    assert q.already_waits(queue, Task("new", "a", {"r": 1})) is None


@given(some.dictionaries(NAMES, some.tuples(some.integers(0, 3), some.integers(0, 99)), min_size=1))
def test_que_4_order_goes_by_place_then_turn_whoever_came_first(places: dict[str, tuple[int, int]]) -> None:
    """QUE-4."""
    queue = q.FairQueue(PROFILES["slotwise"], turn={group: turn * 4 + ord(group) - 97 for group, (_, turn) in places.items()})
    ordered = q.order(queue, {group: place for group, (place, _) in places.items()})
    keys = [(places[group][0], queue.turn[group]) for group in ordered]
    assert all(one < other for one, other in pairwise(keys))
    queue.turn = dict(reversed(queue.turn.items()))
    assert q.order(queue, {group: place for group, (place, _) in places.items()}) == ordered


@given(waiting(), some.data(), some.sampled_from(["slotwise", "strict"]))
def test_que_5_6_a_discarded_task_waits_no_longer(tasks: list[Task], data: some.DataObject, profile: str) -> None:
    """QUE-5, QUE-6."""
    queue = queue_of(profile, *tasks)
    gone = data.draw(some.sampled_from(tasks))
    version = queue.version
    assert q.not_waiting(queue, gone.id) is None
    q.discard(queue, gone.id)
    assert q.not_waiting(queue, gone.id)
    assert queue.version == version + 1
    lingers = queue.profile.discarded_task_lingers
    assert [task.id for task, _ in queue.fifo[gone.group] if lingers or task.id != gone.id] == [task.id for task in tasks if task.group == gone.group and (lingers or task.id != gone.id)]
    assert sum(len(fifo) for fifo in queue.fifo.values()) == len(tasks) - (not lingers)


@given(waiting(), some.data())
def test_que_7_a_place_is_given_up_with_the_last_task(tasks: list[Task], data: some.DataObject) -> None:
    """QUE-7."""
    queue = queue_of("slotwise", *tasks)
    gone = data.draw(some.sampled_from(tasks))
    q.discard(queue, gone.id)
    q.give_up_place(queue, gone.group)
    assert (gone.group in queue.turn) == any(task.group == gone.group for task in tasks if task.id != gone.id)


@given(waiting(), some.data())
def test_que_8_ghosts_at_the_head_leave_and_nobody_else(tasks: list[Task], data: some.DataObject) -> None:
    """QUE-8."""
    queue = queue_of("strict", *tasks)
    for task in data.draw(some.lists(some.sampled_from(tasks), unique_by=lambda task: task.id)):
        q.discard(queue, task.id)
    for group in queue.fifo:
        q.forget_ghosts(queue, group)
        assert q.forget_ghosts(queue, group) is None
        fifo = [task.id for task, _ in queue.fifo[group]]
        assert not fifo or fifo[0] in queue.live
        assert [id for id in fifo if id in queue.live] == [task.id for task in tasks if task.group == group and task.id in queue.live]


@given(some.lists(WEIGHTS, min_size=1, max_size=20))
def test_que_9_10_tags_move_on_by_one_over_weight_and_no_group_gains_by_leaving(weights: list[float]) -> None:
    """QUE-9, QUE-10."""
    queue = queue_of("strict", Task("a", "g", {"r": 1}))
    q.bring_tag(queue, "g")
    for weight in weights:
        queue.groups["g"] = Group("g", weight)
        before, tag = queue.virtual_time, queue.tag["g"]
        q.move_tag(queue, "g")
        assert queue.virtual_time == max(before, tag)
        assert queue.tag["g"] == queue.virtual_time + 1.0 / max(1.0, weight)
        tag = queue.tag["g"]
        q.bring_tag(queue, "g")
        assert queue.tag["g"] == tag
    q.bring_tag(queue, "newcomer")
    assert queue.tag["newcomer"] == queue.virtual_time


@given(waiting(), some.none() | NAMES, some.sampled_from(["", "x", "y", "x1", "none"]))
def test_que_12_discards_by_condition_in_order_of_arrival(tasks: list[Task], group: str | None, prefix: str) -> None:
    """QUE-12."""
    queue = queue_of("slotwise", *tasks)
    found = q.matching(queue, v.DiscardWhere(group=group, prefix=prefix)) or []
    assert found == [task.id for task in tasks if group in (None, task.group) and task.id.startswith(prefix)]


def ledger_of(capacity: dict[str, int], *held: tuple[str, dict[str, int]]) -> a.Ledger:
    leases = {number: a.Lease(Task(f"l{number}", group, needs), 0) for number, (group, needs) in enumerate(held, 1)}
    return a.Ledger(capacity, leases, len(held))


@given(some.dictionaries(some.sampled_from(["r", "s"]), UNITS, min_size=1), some.lists(NEEDS, max_size=3), NEEDS)
def test_adm_1_a_task_fits_if_each_of_its_resources_does(capacity: dict[str, int], held: list[dict[str, int]], needs: dict[str, int]) -> None:
    """ADM-1."""
    ledger = ledger_of(capacity, *(("g", one) for one in held))
    free = {r: capacity.get(r, 0) - sum(one.get(r, 0) for one in held) for r in needs}
    assert (a.no_capacity(ledger, Task("t", "g", needs)) is None) == all(units <= free[r] for r, units in needs.items())


@given(NEEDS, WEIGHTS | some.just(0.0), some.none() | some.integers(0, 2), some.booleans())
def test_adm_9_what_can_never_start_is_refused_unless_the_profile_takes_it(needs: dict[str, int], weight: float, limit: int | None, accepts: bool) -> None:
    """ADM-9."""
    admission = a.admission(Profile("p", v.Strict(), accepts_the_impossible=accepts), {"r": 5, "s": 9})
    never = any(units > {"r": 5, "s": 9}.get(r, 0) for r, units in needs.items())
    refusal = a.impossible(admission, Task("t", "g", needs), Group("g", weight, running_limit=limit))
    expected = "never_fits" if never else "no_weight" if weight == 0 else "limit_below_one" if limit == 0 else None
    assert refusal == (None if accepts else expected)


@given(NEEDS, NEEDS)
def test_str_1_pressure_is_a_need_shared_with_another_group(mine: dict[str, int], theirs: dict[str, int]) -> None:
    """STR-1 and the bounded-borrow rules ask this."""
    me, peer = (Task("t", "g", mine), Group("g")), (Task("u", "p", theirs), Group("p"))
    assert tagged.pressed(me[0], [me, peer]) == mine.keys() & theirs.keys()
    assert tagged.pressed(me[0], [me]) == set()
    with_submission = Task("t", "g", {"submission": 1, **mine})
    assert "submission" not in tagged.pressed(with_submission, [(Task("u", "p", {"submission": 1}), Group("p"))])
    assert tagged.pressed(Task("t", "g", {"submission": 1}), [(Task("u", "p", {"submission": 1}), Group("p"))]) == {"submission"}


@given(some.integers(0, 64), some.lists(some.integers(1024, 9000), min_size=2, max_size=5))
def test_bor_2_shares_of_those_who_compete_fill_the_resource(capacity: int, weights: list[int]) -> None:
    """BOR-2: rounded up they cover it; rounded down they exceed it only by the unit that each has at least."""
    up = [bounded_borrow.share_of(capacity, weight, sum(weights) - weight, True) for weight in weights]
    down = [bounded_borrow.share_of(capacity, weight, sum(weights) - weight, False) for weight in weights]
    assert sum(up) >= capacity
    assert sum(share for share in down if share > 1) <= capacity
    assert all(one <= other for one, other in zip(down, up, strict=True))
    heavy = sorted(zip(weights, up, strict=True))
    assert all(one[1] <= other[1] for one, other in pairwise(heavy))


@given(some.lists(some.tuples(some.sampled_from(["borrow", "release"]), UNITS), max_size=20))
def test_bor_4_5_debt_is_what_was_borrowed_less_what_came_back_never_below_nothing(events: list[tuple[str, int]]) -> None:
    """BOR-4, BOR-5."""
    discipline = bounded_borrow.Discipline(v.BoundedBorrow(), q.FairQueue(PROFILES["data-designer-0.9"]), ledger_of({"r": 99}))
    owed = 0
    for event, units in events:
        task = Task("t", "g", {"r": units})
        if event == "borrow":
            assert bounded_borrow.take_on_debt(discipline, task, {"r": units}) is True
            owed += units
        else:
            assert bounded_borrow.repay(discipline, task) == (True if owed else None)
            owed = max(0, owed - units)
        assert discipline.debt.get(("g", "r"), 0) == owed
        assert discipline.debt.get(("p", "r"), 0) == 0


@given(some.integers(0, 1 << 40), some.integers(1, 1 << 40), some.integers(1, 1 << 32), some.integers(1, 64))
def test_slt_3_the_horizon_moves_towards_each_service_and_not_past_it(horizon: int, service: int, share: int, memory: int) -> None:
    """SLT-3."""
    after = slot_time.horizon_after(horizon, service, share, memory)
    assert after == service or min(horizon, service) <= after <= max(horizon, service)
    assert horizon or after == service


@given(UNITS, some.integers(1, 16), some.integers(1, 16), some.integers(1, 16))
def test_slt_2_a_rate_is_exact_for_small_numbers(units: int, capacity: int, weight: int, times: int) -> None:
    """SLT-2, SLT-4: where capacity and weight are at most 16, levels are whole shares; heavier is slower in proportion."""
    assume(units <= capacity)
    assert slot_time.rate_of(units, capacity, weight * 1024) * capacity * weight == units * slot_time.RATE
    assert slot_time.rate_of(units, capacity, 1024) == times * slot_time.rate_of(units, capacity, 1024 * times)


@given(some.lists(some.tuples(NEEDS, some.booleans()), min_size=1, max_size=3), NEEDS)
def test_slt_10_what_patient_heads_need_is_kept(earlier: list[tuple[dict[str, int], bool]], needs: dict[str, int]) -> None:
    """SLT-5, SLT-10: patient are those overtaken an instant ago or more, with nothing in their way."""
    queue = q.FairQueue(PROFILES["slotwise"])
    discipline = slot_time.Discipline(v.SlotTime(), queue, ledger_of({"r": 9, "s": 9, "t": 9}))
    heads = [(Task(f"w{i}", f"w{i}", wants), Group(f"w{i}")) for i, (wants, _) in enumerate(earlier)]
    for head, (_, patient) in zip(heads, earlier, strict=True):
        q.accept(queue, *head)
        if patient:
            discipline.overtaken[head[0].id] = 3
    kept = {r: sum(wants.get(r, 0) for wants, patient in earlier if patient) for r in "rst"}
    refusal = slot_time.kept_units(discipline, Task("t", "g", needs), heads, 4)
    assert (refusal is None) == all(kept[r] + units <= 9 for r, units in needs.items())
    assert slot_time.kept_units(discipline, Task("t", "g", needs), [], 4) is None


@given(some.lists(some.tuples(UNITS, some.integers(5, 9)), min_size=1, max_size=6))
def test_slt_11_the_first_overtaking_stays(starts: list[tuple[int, int]]) -> None:
    """SLT-11."""
    queue = q.FairQueue(PROFILES["slotwise"])
    discipline = slot_time.Discipline(v.SlotTime(), queue, ledger_of({"r": 9}))
    wide = (Task("w", "p", {"r": 9}), Group("p"))
    q.accept(queue, *wide)
    for number, (units, at) in enumerate(starts, 1):
        task = Task(f"t{number}", "g", {"r": units})
        discipline.ledger.leases = {1: a.Lease(task, at)}
        slot_time.note_overtaken(discipline, task, [wide], at)
        assert discipline.overtaken == {"w": starts[0][1]}


@given(some.integers(0, 99), some.integers(0, 99), some.integers(0, 5))
def test_slt_1_6_7_8_levels_and_virtual_times_never_fall(at: int, later: int, weight: int) -> None:
    """SLT-1, SLT-6, SLT-7, SLT-8, SLT-9."""
    assume(later >= at)
    queue = queue_of("slotwise", Task("a", "g", {"r": 1}), Task("b", "p", {"r": 1}))
    queue.groups["g"] = Group("g", 1.0, running_limit=2)
    discipline = slot_time.Discipline(v.SlotTime(), queue, ledger_of({"r": 4}, ("g", {"r": 1})))
    for group in ("g", "p"):
        discipline.come(group, 0)
    before = discipline.level("g", at)
    queue.groups["g"] = Group("g", weight + 0.5, running_limit=2)
    slot_time.reweigh(discipline, "g", at)
    assert discipline.level("g", at) == before
    slot_time.raise_virtual_time(discipline, Task("a", "g", {"r": 1}), at)
    assert discipline.virtual.get("r", 0) == before
    slot_time.come_back(discipline, "p", later)
    assert discipline.level("p", later) >= discipline.virtual.get("r", 0)
    slot_time.forget_arrears(discipline, "g", later)
    assert discipline.level("g", later) >= before
    assert slot_time.running_limit(discipline, "g") is None
    discipline.ledger.leases[2] = a.Lease(Task("l2", "g", {"r": 1}), at)
    assert slot_time.running_limit(discipline, "g") == "running_limit"


def test_a_rule_is_called_as_its_function_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its own parameters, whatever they are called, and their defaults; it is recorded by its id, and only when it decides."""
    monkeypatch.setattr(rules, "RULES", {})
    rules.decided.clear()

    @rules.rule("TST-1", source="test")
    def made(result: int, id: str, function: int = 2) -> tuple[int, str, int] | None:
        """One that says what it was given."""
        return (result, id, function) if result else None

    assert made(0, "a") is None
    assert rules.decided == []
    assert made(1, "a") == (1, "a", 2)
    assert made(1, function=3, id="b") == (1, "b", 3)
    assert rules.decided == ["TST-1", "TST-1"]
    rules.decided.clear()
