"""Properties of single rules of batching and refresh (slotwise), and what they reach together in small closed loops."""
from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotwise.spec import batching_line, batching_plan, batching_state, refresh, rules
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_judge import Judge
from slotwise.spec.collector import collector, state, step
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.vocabulary import Observation

from .batching_walk import MS, Life

SLOTWISE = v.PROFILES["slotwise"]
R = 30 * MS


def with_parameters(**parameters: Any) -> v.Profile:
    return msgspec.structs.replace(SLOTWISE, discipline=v.LookAhead(**parameters))


def model(**parameters: Any) -> batching_state.Collector:
    return batching_state.collector(with_parameters(**parameters), v.Setup("t0"))


#: The rules that have decided since a test of `decides` began.
MET: set[str] = set()


def tell(c: Any, *commands: v.Command) -> list[Observation]:
    """What the last of them was answered."""
    saw: list[Observation] = []
    for command in commands:
        saw = step(c, command)
        MET.update(rules.decided)
    return saw


def decides(*ids: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """These are the subject of the test: they must decide in it."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def marked(*args: Any, **kwargs: Any) -> None:
            MET.clear()
            test(*args, **kwargs)
            assert set(ids) - MET == set()

        return marked

    return mark


# how they are registered -------------------------------------------------------------------------------------------------
RULES = MECHANISMS["batching"].rule_book
MODULES = (*MECHANISMS["batching"].rules[1:], *MECHANISMS["batching"].program)
TREES = {module: ast.parse(inspect.getsource(import_module(f"slotwise.spec.{module}"))) for module in MODULES}
FUNCTIONS = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("id", RULES)
def test_a_rule_is_one_short_function_with_a_sentence_and_a_source(id: str) -> None:
    rule = RULES[id]
    module, _, name = rule.function.rpartition(".")
    assert len(inspect.getsourcelines(inspect.unwrap(getattr(import_module(module), name)))[0]) <= 40
    assert rule.prose[0].isupper()
    assert rule.prose.endswith(".")
    assert re.match(r"(semantics|design) \d|discipline (BAT|REF)-\d", rule.source)
    assert module.split(".")[2] in MODULES


def test_rules_are_numbered_without_gaps_and_each_is_one_function() -> None:
    for family in ("BAT", "REF", "AWS", "COL", "SDK"):
        numbers = sorted(int(id.partition("-")[2]) for id in RULES if id.startswith(family))
        assert numbers == list(range(1, len(numbers) + 1)), family
    assert len({rule.function for rule in RULES.values()}) == len(RULES)


def test_every_rule_is_the_subject_of_a_test() -> None:
    texts = [path.read_text("utf-8") for path in Path(__file__).parent.glob("test_batching_*.py")]
    assert RULES.keys() - {id for text in texts for id in re.findall(r"\b(?:BAT|REF|AWS|COL|SDK)-\d+\b", text)} == set()


def readers(name: str) -> list[str]:
    return [function.name for function in FUNCTIONS if any(isinstance(node, ast.Attribute) and node.attr == name for node in ast.walk(function))]


def test_each_switch_is_read_in_exactly_one_rule_and_every_parameter_is_read() -> None:
    for switch in set(v.Profile.__struct_fields__) - {"name", "discipline"}:
        (reader,) = readers(switch)
        assert any(rule.function.endswith(f".{reader}") for rule in RULES.values()), switch
    for kind in (v.LookAhead, v.Shipped):
        assert all(readers(parameter) for parameter in kind.__struct_fields__)
    names = {*v.Profile.__struct_fields__, *v.Shipped.__struct_fields__}
    assert {name for rule in RULES.values() for name in (rule.switch, rule.off) if name} <= names


def test_words_and_reasons_are_those_of_the_vocabulary() -> None:
    texts = {node.value for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert v.SEEN.keys() <= texts
    assert set(get_args(v.Why)) | set(get_args(v.Outcome)) <= texts


# the plan --------------------------------------------------------------------------------------------------------------
known_dues = st.dictionaries(st.integers(1, 12), st.integers(1, 3), max_size=4).map(lambda dues: tuple(sorted(dues.items())))


def least_waiting(now: int, blocked: int, limit: int, trip: int, known: tuple[tuple[int, int], ...]) -> int:
    """Of all schedules whatever, in whole nanoseconds, that begin now or at a due time by the limit."""

    def rest(left: tuple[tuple[int, int], ...], free: int) -> int:
        if not left:
            return 0
        return min(after(left, at) for at in range(max(free, left[0][0]), max(free, left[-1][0]) + 1))

    def after(left: tuple[tuple[int, int], ...], at: int) -> int:
        return sum(count * (at - due) for due, count in left if due <= at) + rest(tuple(one for one in left if one[0] > at), at + trip)

    return min(blocked * (at - now) + after(known, at) for at in [now, *(due for due, _ in known if due <= limit)])


@given(known_dues, st.integers(0, 3), st.integers(0, 12), st.integers(1, 5))
def test_the_plan_has_the_least_waiting_of_all(known: tuple[tuple[int, int], ...], blocked: int, limit: int, trip: int) -> None:
    first = batching_plan.plan(0, blocked, limit, trip, known)
    assert first == 0 or (first <= limit and first in dict(known))
    best = least_waiting(0, blocked, limit, trip, known)
    assert blocked * first + least_waiting(first, 0, first, trip, tuple((due, n) for due, n in known if due > first)) + sum(n * (first - due) for due, n in known if due <= first) == best


def test_a_plan_looks_beyond_the_next_due() -> None:
    """Dues at 0, 10 and a hundred more at 16 ms: to wait for the next only would be worse than not to wait (report, 1)."""
    assert batching_plan.plan(0, 1, R - 1, R, ((10 * MS, 1), (16 * MS, 100))) == 16 * MS
    assert batching_plan.plan(0, 5, R - 1, R, ((20 * MS, 5),)) == 0
    assert batching_plan.plan(0, 5, R - 1, R, ((10 * MS, 5),)) == 10 * MS


# what a request carries ------------------------------------------------------------------------------------------------
items = st.lists(st.tuples(st.integers(0, 12), st.booleans(), st.booleans()), max_size=8)


@given(items, st.integers(0, 20), st.integers(1, 4))
def test_a_request_takes_the_longest_prefix_within_the_limits(sizes: list[tuple[int, bool, bool]], most_bytes: int, most_updates: int) -> None:
    c = model(bytes=most_bytes, updates=most_updates)
    for n, (size, sync, empty) in enumerate(sizes):
        tell(c, v.Submit(id=f"o{n}", size=size, sync=sync, empty=empty))

    def fits(prefix: list[batching_state.Item]) -> bool:
        updates = [item for item in prefix if not item.empty]
        return len(updates) <= most_updates and (len(updates) <= 1 or sum(item.size for item in updates) <= most_bytes)

    taken = batching_line.prefix(c)
    assert taken == c.queue[: len(taken)]
    assert fits(taken)
    assert len(taken) == len(c.queue) or not fits(c.queue[: len(taken) + 1])
    assert taken or not c.queue


@decides("BAT-9", "BAT-10", "BAT-21", "BAT-23")
def test_full_is_sent_at_once_and_an_update_that_is_too_large_goes_alone() -> None:
    c = model(updates=2, bytes=100)
    tell(c, v.Submit(id="a", size=1, sync=False))
    assert tell(c, v.Pump()) == [("sleep", 100 * MS)]
    tell(c, v.Submit(id="huge", size=101, sync=False))
    assert tell(c, v.Pump()) == [("send", ["a"], [], "t0")]
    assert tell(c, v.Respond(token="t1", at=R), v.Pump(at=R)) == [("send", ["huge"], [], "t1")]


@decides("BAT-4", "BAT-14")
def test_items_that_block_nobody_wait_for_silence_but_no_longer_than_a_collection() -> None:
    c = model()
    for at in range(0, 1000, 90):
        assert tell(c, v.Submit(id=f"o{at}", sync=False, at=at * MS), v.Pump(at=at * MS)) == [("sleep", min(at + 100, 1000) * MS)]
    assert tell(c, v.Pump(at=1000 * MS))[0][0] == "send"


# holding ---------------------------------------------------------------------------------------------------------------
@decides("BAT-6")
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), max_size=12))
def test_credits_never_fall_below_0(changes: list[tuple[int, int]]) -> None:
    c = model()
    for running, outside in changes:
        before = c.running, c.outside
        tell(c, v.Submit(id="a"), v.Credit(running=running, outside=outside), v.Pump())
        assert c.running == max(0, max(0, before[0] - 1) + running)
        assert c.outside == max(0, before[1] + outside)
        assert 0 <= c.stale <= c.running


def blocked_with(running: int, outside: int = 0, **parameters: Any) -> list[Observation]:
    c = model(**parameters)
    return tell(c, v.Credit(running=running + 1, outside=outside), v.Submit(id="a"), v.Pump())


@decides("BAT-16", "BAT-17", "BAT-18", "BAT-19")
def test_a_request_waits_for_those_that_certainly_come_and_briefly_for_those_that_may() -> None:
    assert blocked_with(0)[0][0] == "send"
    assert blocked_with(1) == [("sleep", MS)]
    assert blocked_with(2) == [("sleep", R // 8)]
    assert blocked_with(0, outside=1) == [("sleep", MS)]
    assert blocked_with(2, counted=False) == [("sleep", MS)]
    assert blocked_with(2, will_come=1, hold=50) == [("sleep", R)]
    assert blocked_with(2, will_come=1) == [("sleep", R - 1)], "never as long as a round trip"


@decides("BAT-7", "BAT-20")
def test_those_that_were_waited_for_in_vain_are_not_waited_for_again_until_they_move() -> None:
    c = model()
    tell(c, v.Credit(running=3), v.Submit(id="a"))
    assert tell(c, v.Pump()) == [("sleep", R // 8)]
    assert tell(c, v.Pump(at=R // 8)) == [("send", ["a"], [], "t0")]
    assert c.stale == 2
    tell(c, v.Respond(token="t1", at=R), v.Submit(id="b", at=R))
    assert tell(c, v.Pump(at=R)) == [("send", ["b"], [], "t1")]
    tell(c, v.Respond(token="t2", at=2 * R), v.Credit(running=-2, at=2 * R), v.Credit(running=1, at=2 * R), v.Submit(id="c", at=2 * R))
    assert c.stale == 0
    assert tell(c, v.Pump(at=2 * R)) == [("sleep", 2 * R + MS)]


@decides("REF-8")
def test_what_was_known_to_come_is_not_held_for_those_outside() -> None:
    known, late = model(), model()
    tell(known, v.Credit(outside=1), v.Refresh(id="r", due=R))
    assert tell(known, v.Pump(at=R)) == [("send", [], ["r"], "t0")]
    tell(late, v.Credit(outside=1), v.Refresh(id="r", due=0, at=R))
    assert tell(late, v.Pump(at=R)) == [("sleep", R + MS)]


@decides("BAT-19")
def test_a_blocked_refresh_is_not_held_for_an_item_that_came_later() -> None:
    """The longest collection counts from whatever waits the longest (here, unlike in the page, also from a refresh)."""
    c = model(hold=1000, will_come=1, collection=R)
    tell(c, v.Credit(running=2), v.Refresh(id="r"))
    assert tell(c, v.Pump()) == [("sleep", R)]
    assert tell(c, v.Submit(id="a", sync=False, at=R - 1), v.Pump(at=R - 1)) == [("sleep", R)]


# clocks ----------------------------------------------------------------------------------------------------------------
pairs = st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 40)), min_size=1, max_size=8)


@given(pairs, st.integers(0, 30), st.integers(-100, 100))
def test_a_refresh_that_is_as_quick_as_the_quickest_never_comes_before_its_stamp(ring: list[tuple[int, int]], slack: int, key: int) -> None:
    c = model()
    c.ring, c.slack = ring, slack
    when = refresh.when(c, refresh.Waiter("r", "", 0, key, None, 1))
    quickest = min(offset for offset, _ in ring)
    assert key <= when + quickest <= key + slack + min(trip for _, trip in ring) // 4


@given(pairs, st.integers(1, 3))
def test_only_offsets_that_agree_are_remembered(told: list[tuple[int, int]], remembered: int) -> None:
    """A way out takes between nothing and the round trip, so each offset leaves an interval for the true one; while all meet, all are kept."""
    c = model(remembered=remembered)
    for offset, trip in told:
        kept = c.ring
        refresh.learn(c, offset, trip)
        agree = not kept or (max(o - t for o, t in kept) <= offset and offset - trip <= min(o for o, _ in kept))
        assert c.ring == ([*kept, (offset, trip)] if agree else [(offset, trip)])[-remembered:]


@decides("REF-1", "REF-7")
def test_before_the_first_stamp_the_wall_clock_is_taken() -> None:
    c = batching_state.collector(SLOTWISE, v.Setup("t0", hint=1000 * MS))
    tell(c, v.Refresh(id="r", key=1050 * MS))
    assert tell(c, v.Pump()) == [("sleep", 50 * MS)]


def answered_in_vain(times: int, trip: int, **parameters: Any) -> tuple[batching_state.Collector, list[int]]:
    """The pauses after each answer that does not show it done."""
    c, now, pauses = model(**parameters), 0, []
    tell(c, v.Refresh(id="r", key=0))
    for n in range(times):
        assert tell(c, v.Pump(at=now)) == [("send", [], ["r"], f"t{n}")]
        now += trip
        ((word, id, due),) = tell(c, v.Respond(token=f"t{n + 1}", at=now))
        assert (word, id) == ("again", "r")
        assert isinstance(due, int)
        pauses.append(due - now)
        now = due
    return c, pauses


@decides("REF-14", "REF-10")
def test_what_is_not_done_yet_is_asked_for_again_after_longer_and_longer_pauses() -> None:
    _, pauses = answered_in_vain(9, R)
    assert pauses[0] <= 4 * R, "at once, but for the slack"
    assert pauses[1:] == [R, 2 * R, 4 * R, 8 * R, 16 * R, 32 * R, 1000 * MS, 1000 * MS]
    _, pauses = answered_in_vain(6, 0)
    assert pauses[1:] == [1, 2, 4, 8, 16], "a round trip of no time does not ask for ever in one instant"


@decides("REF-11")
def test_slack_grows_once_per_operation_and_falls_away() -> None:
    c, _ = answered_in_vain(5, R)
    assert c.slack == R // 4
    c.waiters, slack = [], c.slack
    for n in range(200):
        at = c.now + R
        tell(c, v.Refresh(id=f"s{n}", key=0, at=at))
        assert tell(c, v.Pump(at=at))[0][0] == "send"
        tell(c, v.Respond(token="t", done=(f"s{n}",), at=at), v.Credit(running=-1, at=at))
        slack -= -(-slack // 32)
        assert c.slack == slack
    assert slack < R // 4 // 100


# answers ---------------------------------------------------------------------------------------------------------------
@decides("REF-15")
def test_waves_go_by_instant_and_owner_in_order_of_index() -> None:
    c = model()
    for id, owner, index, key in (("d", "b", 0, None), ("a", "x", 2, 7), ("b", "x", 1, 7), ("c", "y", 0, 7), ("e", "x", 0, 5)):
        tell(c, v.Refresh(id=id, owner=owner, index=index, key=key))
    assert tell(c, v.Pump(at=8)) == [("send", [], ["d", "e", "a", "b", "c"], "t0")]
    saw = tell(c, v.Respond(token="t1", done=("a", "b", "c", "d", "e"), at=9))
    assert saw == [("resumed", "x", 5, ["e"]), ("resumed", "x", 7, ["b", "a"]), ("resumed", "y", 7, ["c"]), ("resumed", "b", None, ["d"])]
    assert c.running == 4


@decides("REF-6", "REF-12")
def test_no_completion_is_lost() -> None:
    c = model()
    tell(c, v.Submit(id="a"), v.Refresh(id="far", key=10**12, owner="o"), v.Pump())
    assert tell(c, v.Respond(token="t1", done=("far", "w"), at=1)) == [("settled", "a", "ok"), ("resumed", "o", 10**12, ["far"])]
    assert tell(c, v.Refresh(id="w", key=5, owner="o", at=2)) == [("resumed", "o", 5, ["w"])], "shown between the look and the question"


@decides("REF-9")
def test_cancelled_on_the_way() -> None:
    c = model()
    tell(c, v.Refresh(id="r", owner="o"), v.Refresh(id="s", owner="o", due=9 * R), v.Refresh(id="other", owner="p", due=9 * R), v.Pump())
    assert tell(c, v.Cancel(owner="o")) == [("settled", "r", "cancelled"), ("settled", "s", "cancelled")]
    assert tell(c, v.Respond(token="t1", at=5)) == []
    assert tell(c, v.Pump(at=5)) == [("sleep", 9 * R)]


@decides("BAT-24", "BAT-25", "BAT-26", "COL-2")
def test_nobody_is_told_before_the_last_page() -> None:
    c = model()
    tell(c, v.Submit(id="a"), v.Refresh(id="r"), v.Pump())
    assert tell(c, v.Respond(token="t1", marker="m1", done=("x",), at=1)) == [("fetch", "m1", "t1")]
    assert tell(c, v.Respond(token="t9", at=1)) == [("unexpected", "respond")]
    assert tell(c, v.Page(marker="m2", at=2)) == [("fetch", "m2", "t1")]
    assert tell(c, v.Page(done=("y",), at=3)) == [("settled", "a", "ok"), ("resumed", "", None, ["r"])]
    assert (c.known, c.round_trip) == ({"x", "y"}, 3)
    assert tell(c, v.Page(at=4)) == [("unexpected", "page")]
    assert tell(c, v.Fail(at=4)) == [("unexpected", "fail")]


@decides("BAT-2", "BAT-11", "BAT-27")
@pytest.mark.parametrize(("final", "answer", "on_it", "others", "why"), [
    (True, v.Respond(at=5), "ok", "orphaned", "completed"), (False, v.Respond(at=5), "suspended", "suspended", "revoked"), (True, v.Fail(at=5), "failed", "failed", "failed"),
])  # fmt: skip
def test_every_end_tells_everybody(final: bool, answer: v.Command, on_it: str, others: str, why: str) -> None:
    c = model()
    tell(c, v.Submit(id="a", final=final), v.Refresh(id="r"), v.Pump(), v.Submit(id="q"), v.Submit(id="async", sync=False), v.Refresh(id="s", due=9), v.Refresh(id="t", due=8))
    assert tell(c, answer) == [("settled", "a", on_it), *(("settled", id, others) for id in ("r", "q", "t", "s"))]
    assert tell(c, v.Pump(at=5)) == [("exit",)]
    assert tell(c, v.Submit(id="late", at=6)) == [("rejected", "late", why)]
    assert tell(c, v.Refresh(id="late", at=6)) == [("rejected", "late", why)]


def test_an_empty_item_does_not_end_the_execution() -> None:
    for profile in v.PROFILES.values():
        c = collector(profile, v.Setup("t0"))
        for command in (v.Submit(id="e", empty=True, final=True), v.Pump(), v.Pump(at=R * 4)):
            step(c, command)
        outcome = "failed" if profile.name == "aws-durable-2.0.0" else "suspended"
        assert step(c, v.Respond(at=R * 5)) == [("settled", "e", outcome)]


@decides("BAT-3", "BAT-8", "BAT-12", "BAT-13", "BAT-28")
def test_the_stop_sends_what_is_left_at_once() -> None:
    c = model(updates=1)
    tell(c, v.Submit(id="a"), v.Pump(), v.Submit(id="b", sync=False), v.Submit(id="c"), v.Refresh(id="r", due=9))
    assert tell(c, v.Stop()) == [("settled", "r", "orphaned")]
    assert tell(c, v.Submit(id="late")) == [("rejected", "late", "stopped")]
    assert tell(c, v.Pump()) == [("sleep", None)]
    assert tell(c, v.Respond(token="t1", at=1), v.Pump(at=1)) == [("send", ["b"], [], "t1")]
    assert tell(c, v.Respond(token="t2", at=2), v.Pump(at=2)) == [("send", ["c"], [], "t2")]
    assert tell(c, v.Respond(token="t3", at=3)) == [("settled", "c", "ok")]
    assert tell(c, v.Pump(at=3)) == [("exit",)]


@decides("BAT-1", "BAT-5")
def test_orphans_also_below_what_comes_later_and_in_a_ring() -> None:
    c = model()
    tell(c, v.Submit(id="child", parent="context"), v.Submit(id="context", ends=True))
    assert tell(c, v.Submit(id="new", parent="child")) == [("rejected", "new", "orphaned")]
    assert tell(c, v.Submit(id="context", parent="root")) == [("accepted", "context")]
    tell(c, v.Submit(id="x", parent="y"), v.Submit(id="y", parent="x"))
    assert tell(c, v.Submit(id="z", parent="x")) == [("accepted", "z")]
    assert tell(c, v.Submit(id="x", ends=True), v.Submit(id="z", parent="y")) == [("rejected", "z", "orphaned")]


@decides("REF-5")
def test_an_operation_is_asked_for_once_at_a_time() -> None:
    c = model()
    tell(c, v.Refresh(id="r"), v.Pump())
    assert tell(c, v.Refresh(id="r")) == [("rejected", "r", "duplicate")]
    assert tell(c, v.Cancel(id="r"), v.Refresh(id="r")) == [("accepted", "r")]


@decides("REF-13")
def test_what_is_not_done_at_the_stop_is_orphaned() -> None:
    c = model()
    tell(c, v.Refresh(id="r", key=0), v.Pump(), v.Stop())
    assert tell(c, v.Respond(token="t1", at=R)) == [("settled", "r", "orphaned")]
    assert tell(c, v.Pump(at=R)) == [("exit",)]


@decides("REF-2", "REF-3", "REF-4")
def test_a_refresh_comes_in_a_quarter_of_a_round_trip_after_its_stamp_and_a_set_clock_is_noticed() -> None:
    c = model()
    tell(c, v.Submit(id="a"), v.Pump(), v.Respond(token="t1", stamp=1000 * MS + R // 2, at=R), v.Credit(running=-1, at=R))
    tell(c, v.Refresh(id="r", key=1100 * MS, at=R))
    assert tell(c, v.Pump(at=R)) == [("sleep", 100 * MS - R // 2 + R // 4)]
    tell(c, v.Submit(id="b", at=R), v.Pump(at=R), v.Respond(token="t2", stamp=1050 * MS + R // 2 + R, at=2 * R))
    assert c.ring == [(1050 * MS + R // 2, R)]


@decides("BAT-15")
def test_a_request_waits_for_what_is_known_to_come_soon() -> None:
    c = model()
    tell(c, v.Refresh(id="r", due=10 * MS), v.Refresh(id="s", due=10 * MS), v.Submit(id="a"))
    assert tell(c, v.Pump()) == [("sleep", 10 * MS)]
    assert tell(c, v.Pump(at=10 * MS)) == [("send", ["a"], ["r", "s"], "t0")]


@decides("BAT-22", "BAT-29")
def test_the_end_comes_by_an_answer_or_by_an_error() -> None:
    for answer, outcome in ((v.Respond(at=1), "suspended"), (v.Fail(at=1), "failed")):
        assert tell(model(), v.Submit(id="a"), v.Pump(), answer) == [("settled", "a", outcome)]


# the published collector -----------------------------------------------------------------------------------------------
@decides("AWS-1", "AWS-2", "AWS-3")
def test_published_orphans_are_those_known_when_their_context_ends() -> None:
    for name in ("aws-durable-2.0.0", "aws-durable-3.0.0"):
        c = collector(v.PROFILES[name], v.Setup())
        for command in (v.Submit(id="child", parent="context"), v.Submit(id="grandchild", parent="child"), v.Submit(id="other", parent="elsewhere"), v.Submit(id="context", ends=True)):
            assert tell(c, command) == [("accepted", command.id)]
        for id, why in (("child", "rejected"), ("grandchild", "rejected"), ("other", "accepted"), ("new", "accepted"), ("context", "accepted")):
            assert tell(c, v.Submit(id=id, parent="child" if id == "new" else None))[0][0] == why
        assert tell(c, v.Submit(id="child", empty=True)) == [("accepted", "child")], "an empty item is nobody's"


@decides("AWS-5", "AWS-6", "AWS-7", "AWS-14")
def test_published_refusals() -> None:
    before, after = (collector(v.PROFILES[f"aws-durable-{version}.0.0"], v.Setup()) for version in (2, 3))
    mended = collector(msgspec.structs.replace(v.PROFILES["aws-durable-3.0.0"], accepts_after_stop=False, stop_waits_for_poll=False), v.Setup())
    assert tell(before, v.Refresh(id="r")) == [("rejected", "r", "no_refresh")]
    assert tell(after, v.Pump(), v.Stop(), v.Refresh(id="r")) == [("rejected", "r", "stopped")]
    assert tell(after, v.Submit(id="lost"), v.Pump()) == [("send", ["lost"], [], "token-0")]
    assert tell(mended, v.Pump(), v.Stop(), v.Submit(id="a")) == [("rejected", "a", "stopped")]
    assert tell(mended, v.Pump()) == [("exit",)]


@decides("AWS-35")
def test_the_other_sdk_settles_by_an_older_request() -> None:
    c = collector(msgspec.structs.replace(v.PROFILES["aws-durable-3.0.0"], settles_by_older=True), v.Setup())
    tell(c, v.Submit(id="a"), v.Refresh(id="r", due=10 * MS), v.Refresh(id="s", due=2 * R), v.Pump(), v.Pump(at=MS))
    assert tell(c, v.Respond(token="t", at=R)) == [("settled", "a", "ok"), ("settled", "r", "ok")]


@decides("AWS-11", "AWS-17")
def test_published_cancelled_refreshes_are_settled_when_they_are_met() -> None:
    c = collector(v.PROFILES["aws-durable-3.0.0"], v.Setup())
    assert tell(c, v.Refresh(id="near", due=5), v.Refresh(id="far", due=9 * R, owner="o"), v.Pump(), v.Cancel(owner="o"), v.Cancel(id="near", at=1)) == []
    assert tell(c, v.Pump(at=5)) == [("settled", "near", "ok"), ("settled", "far", "ok"), ("sleep", 5 + 100 * MS)]


# all commands ----------------------------------------------------------------------------------------------------------
def lived(name: str, seeds: int, see: Callable[[Any, v.Command, list[Observation]], None]) -> None:
    """`see` is told the model, too."""
    for seed in range(seeds):
        life = Life(v.PROFILES[name], seed, lambda command, saw: see(life.model, command, saw))    # noqa: B023
        life.live(30)


@pytest.mark.parametrize("name", v.PROFILES)
def test_pumping_again_changes_nothing(name: str) -> None:
    """A pump that answers sleep may be repeated at the same instant."""

    def see(c: Any, command: v.Command, saw: list[Observation]) -> None:
        if isinstance(command, v.Pump) and saw[-1][0] in ("sleep", "exit"):
            before = state(c)
            assert step(c, command) == saw[-1:]
            assert state(c) == before

    lived(name, 60, see)


def plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and plain(inner) for key, inner in value.items())
    return all(map(plain, value)) if isinstance(value, list) else isinstance(value, str | int) and not isinstance(value, bool)


@pytest.mark.parametrize("name", v.PROFILES)
def test_states_are_strings_and_integers_and_looking_changes_nothing(name: str) -> None:
    def see(c: Any, command: v.Command, saw: list[Observation]) -> None:
        decided = list(rules.decided)
        assert plain(state(c))
        assert state(c) == state(c)
        assert rules.decided == decided

    lived(name, 10, see)


@decides("COL-1")
@given(st.integers(0, 9), st.integers(0, 9))
def test_time_never_goes_back(first: int, second: int) -> None:
    for profile in v.PROFILES.values():
        c = collector(profile, v.Setup())
        step(c, v.Stop(at=first))
        before = state(c)
        saw = tell(c, v.Pump(at=second))
        assert (saw == [("time_reversed", first)]) == (second < first)
        assert second >= first or state(c) == before


# small closed loops ----------------------------------------------------------------------------------------------------
Goes_on = Callable[[str], list[v.Command]]


def run(c: batching_state.Collector, begin: list[v.Command], goes_on: Goes_on) -> tuple[int, list[tuple[int, int]]]:
    """When the last producer went on, and the sends (when, updates). `goes_on`: what a producer does once its item is durable."""
    judge, sends, now, last = Judge(SLOTWISE, v.Setup("t0")), [], 0, 0
    todo, answer, wake = begin, None, None
    while True:
        while todo:
            command = msgspec.structs.replace(todo.pop(0), at=now)
            saw = step(c, command)
            assert judge.step(command, saw) == []
            for seen in saw:
                if seen[0] == "settled":
                    last = now
                    todo += goes_on(str(seen[1]))
        pump = v.Pump(at=now)
        (seen,) = step(c, pump)
        assert judge.step(pump, [seen]) == []
        if seen[0] == "send":
            assert isinstance(seen[1], list)
            sends.append((now, len(seen[1])))
            answer = now + R
        wake = seen[1] if seen[0] == "sleep" else None
        if answer is None and not isinstance(wake, int):
            return last, sends
        now = answer if answer is not None else wake    # type: ignore[assignment]
        if answer is not None:
            answer, todo = None, [v.Respond(token=f"t{len(sends)}")]


def test_200_steps_one_after_another_take_200_round_trips() -> None:
    def one(n: int) -> list[v.Command]:
        return [v.Submit(id=f"s{n}", sync=False), v.Submit(id=f"s{n}")] if n < 200 else [v.Credit(running=-1)]

    last, sends = run(model(), [v.Credit(running=1), *one(0)], lambda id: one(int(id[1:]) + 1))
    assert (last, len(sends)) == (200 * R, 200)


@pytest.mark.parametrize(("nested", "calls"), [(True, [250, 250, 250, 51, 1]), (False, [250, 151, 1])])
def test_200_branches_at_once(nested: bool, calls: list[int]) -> None:
    """802 (nested) or 402 updates; the last can only come when all others are durable."""
    left = set(range(200))
    begin: list[v.Command] = [v.Credit(running=1), v.Submit(id="all", sync=False), v.Credit(running=200), v.Credit(running=-1)]
    for n in left:
        begin += [v.Submit(id=f"context-{n}", sync=False)] * nested + [v.Submit(id=f"step-{n}", sync=False), v.Submit(id=f"step-{n}")]

    def goes_on(id: str) -> list[v.Command]:
        if id == "all":
            return [v.Credit(running=-1)]
        kind, n = id.split("-")
        if nested and kind == "step":
            return [v.Submit(id=f"context-{n}", ends=True)]
        left.remove(int(n))
        return [v.Credit(running=-1)] if left else [v.Submit(id="all", ends=True)]

    last, sends = run(model(), begin, goes_on)
    assert [updates for _, updates in sends] == calls
    assert last == len(calls) * R
    assert all(after - before == R for (before, _), (after, _) in pairwise(sends))
