# ruff: noqa: PT018, SIM300 - one assertion says which numbers are meant, and lower bounds stand to the left
"""Contracts on single steps of the batching rules, as `contracts` has them for admission: for *every* number, not for those that were tried.

Commands and parameters are stand-ins: symbolic execution cannot make instances of compiled classes.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from slotwise.spec import aws_durable_batch, aws_durable_heap, aws_durable_state, aws_durable_thread, batching_answers, batching_sdk, collector, refresh
from slotwise.spec import batching as b
from slotwise.spec import batching_coordinator as coordinator
from slotwise.spec import batching_hold as hold
from slotwise.spec import batching_line as line
from slotwise.spec import batching_plan as plans
from slotwise.spec import batching_state as state
from slotwise.spec.batching_host import Ended
from slotwise.spec.batching_vocabulary import FURTHEST
from slotwise.spec.vocabulary import LATEST, MOST

MANY = 1 << 20


def _some(**parameters: Any) -> Any:
    return SimpleNamespace(**parameters)


def _collector(parameters: Any = None, **fields: Any) -> state.Collector:
    return state.Collector(_some(), parameters, "t", **{"hint": 0, **fields})


def _item(id: str = "a", size: int = 0, sync: bool = True, at: int = 0) -> state.Item:
    return state.Item(id, size, sync, False, False, at)


def _waiter(key: int | None, due: int | None = None, id: str = "r", index: int = 0, seq: int = 1, tries: int = 0) -> refresh.Waiter:
    return refresh.Waiter(id, "o", index, key, due, seq, tries=tries)


def _published(parameters: Any = None, **fields: Any) -> aws_durable_state.Collector:
    return aws_durable_state.Collector(_some(wakes_extend=False), parameters, "t", **{"hint": 0, **fields})


def col_1_time_never_goes_back(now: int, at: int) -> None:
    assert 0 <= now <= LATEST
    refused = collector.time_reversed(_collector(now=now), at)
    assert (refused is None) == (at >= now)


# credits -------------------------------------------------------------------------------------------------------------
def bat_6_no_count_falls_below_nothing(running: int, outside: int, change: int, other: int) -> None:
    assert 0 <= running <= MOST and 0 <= outside <= MOST
    c = _collector(running=running, outside=outside, now=7)
    hold.change_credits(c, change, other)
    assert (c.running, c.outside) == (max(0, running + change), max(0, outside + other)) and c.fell == (7 if change < 0 else 0)


def bat_7_those_that_move_are_waited_for_again(running: int, stale: int) -> None:
    assert 0 <= running and 0 <= stale
    c = _collector(running=running, stale=stale)
    hold.count_again(c)
    assert c.stale == (0 if running < stale else stale)


def bat_20_a_hold_that_ends_was_in_vain_for_all_that_run(running: int, stale: int) -> None:
    assert 0 <= running and 0 <= stale
    c = _collector(running=running, stale=stale)
    hold.give_up(c)
    assert c.stale == max(running, stale)


# what a request carries ----------------------------------------------------------------------------------------------
def bat_8_at_most_so_many_updates(most: int, updates: int) -> None:
    assert 1 <= most <= MANY and 0 <= updates <= most
    refusal = line.too_many(_some(updates=most), updates)
    assert (refusal is None) == (updates + 1 <= most)


def bat_9_at_most_so_many_bytes_but_for_the_first(most: int, updates: int, size: int) -> None:
    assert 0 <= most <= MOST and 0 <= updates
    refusal = line.too_large(_some(bytes=most), updates, size)
    assert (refusal is None) == (updates == 0 or size <= most)


def bat_9_two_that_fit_together_go_together(most: int, one: int, other: int) -> None:
    assert 0 <= most <= MOST and 0 <= one <= MOST and 0 <= other <= MOST
    c = _collector(_some(updates=2, bytes=most), queue=[_item("a", one), _item("b", other)])
    taken = line.prefix(c)
    assert [item.id for item in taken] == (["a", "b"] if one + other <= most else ["a"])


def bat_10_full_if_nothing_more_could_go(most: int, updates: int, size: int, left: int) -> None:
    assert 1 <= most <= MANY and 0 <= updates <= most and 0 <= size and 0 <= left
    full = line.is_full(left, updates, size, _some(updates=most, bytes=1000))
    assert full == (left > 0 or updates >= most or size >= 1000)


# when it is sent -----------------------------------------------------------------------------------------------------
def bat_14_opens_at_silence_or_after_a_collection(first: int, last: int, collection: int, quiet: int) -> None:
    assert 0 <= first <= last <= LATEST and 0 <= collection <= LATEST and 0 <= quiet <= LATEST
    gate = b.opens(first, last, _some(collection=collection, quiet=quiet))
    assert first <= gate <= first + collection and gate <= last + quiet and gate in (first + collection, last + quiet)


def bat_14_sleeps_until_the_gate_or_a_due_time(now: int, gate: int, due: int) -> None:
    assert 0 <= now < due <= LATEST and now <= gate <= LATEST
    found = b.nobody_blocked(_collector(now=now, queue=[_item()]), state.Moment([due], [], False, 0, gate))
    assert found == (None if gate <= now else ("sleep", min(gate, due)))


def bat_15_begins_within_a_round_trip(opened: int, round_trip: int, latest: int) -> None:
    assert 0 <= opened <= LATEST and 1 <= round_trip <= LATEST and opened <= latest
    last = plans.last_begin(opened, round_trip, latest)
    assert opened <= last <= latest and last < opened + round_trip


def bat_15_waits_for_one_due_time_if_that_is_less_waiting(due: int, limit: int, round_trip: int, blocked: int, count: int) -> None:
    """Now is 0. Whoever is blocked waits until the due time, or the refreshes wait for the channel."""
    assert 1 <= due <= 40 and 0 <= limit <= 40 and 1 <= round_trip <= 40 and 0 <= blocked <= 3 and 1 <= count <= 3
    first = plans.plan(0, blocked, limit, round_trip, ((due, count),))
    assert first == (due if due <= limit and blocked * due <= count * max(0, round_trip - due) else 0)


def bat_16_a_silence_is_a_part_of_a_round_trip(may_come: int, round_trip: int, will_come: int) -> None:
    assert 0 <= may_come <= LATEST and 0 <= round_trip <= LATEST and 1 <= will_come <= 64
    silence = hold.silence(round_trip, _some(may_come=may_come, will_come=will_come))
    assert may_come <= silence <= max(may_come, round_trip) and will_come * silence >= round_trip - will_come + 1


def bat_17_one_that_comes_is_waited_for_a_little(last: int, now: int, may_come: int) -> None:
    assert 0 <= last <= now <= LATEST and 0 <= may_come <= LATEST
    c = _collector(_some(may_come=may_come, counted=True, hold=1, collection=4 * LATEST), now=now, running=1, open=last, round_trip=4 * LATEST)
    found = hold.one_comes(c, last)
    assert found == (("sleep", last + may_come) if now < last + may_come else None)


def bat_18_a_guess_is_for_those_outside_only(outside: int, now: int, may_come: int) -> None:
    assert 0 <= outside <= MOST and 0 <= now <= LATEST and 1 <= may_come <= LATEST
    c = _collector(_some(may_come=may_come, counted=True, hold=1, collection=4 * LATEST), now=now, outside=outside, open=now, round_trip=4 * LATEST, queue=[_item()])
    found = hold.somebody_may_come(c, now)
    assert found == (("sleep", now + may_come) if outside else None)


def bat_19_no_hold_lasts_so_many_round_trips(opened: int, round_trip: int, trips: int, latest: int) -> None:
    assert 0 <= opened <= LATEST and 1 <= round_trip <= LATEST and 0 <= trips <= 8 and opened <= latest
    last = hold.last_hold(opened, round_trip, trips, latest)
    assert last <= latest and last < opened + max(1, trips) * round_trip


# answers -------------------------------------------------------------------------------------------------------------
def bat_25_the_first_round_trip_is_taken_as_it_is(before: int, trip: int) -> None:
    assert 1 <= before <= LATEST and 0 <= trip <= LATEST
    c = _collector(round_trip=before)
    batching_answers.measure(c, trip)
    assert c.round_trip == trip and c.measured


def bat_25_the_mean_moves_towards_a_round_trip(mean: int, trip: int) -> None:
    assert 0 <= mean <= LATEST and 0 <= trip <= LATEST
    after = batching_answers.mean_after(mean, trip)
    assert min(mean, trip) <= after <= max(mean, trip) and abs(trip - after) <= abs(trip - mean)


# clocks --------------------------------------------------------------------------------------------------------------
def ref_1_until_then_the_hint_is_taken_for_the_clock(key: int, hint: int, resolution: int, slack: int) -> None:
    assert -FURTHEST <= key <= FURTHEST and -FURTHEST <= hint <= FURTHEST and 0 <= resolution <= LATEST and 0 <= slack <= LATEST
    c = _collector(_some(resolution=resolution), hint=hint, slack=slack)
    found = refresh.when(c, _waiter(key))
    assert found + hint == key + resolution + slack


def ref_2_a_guard_is_at_most_a_quarter_of_a_round_trip(offset: int, other: int, trip: int, its_trip: int) -> None:
    assert 0 <= trip <= LATEST and 0 <= its_trip <= LATEST
    guard = refresh.guarded([offset, other], [trip, its_trip]) + min(offset, other)
    assert 0 <= guard <= abs(offset - other) and 4 * guard <= min(trip, its_trip)


def ref_2_a_request_arrives_no_earlier_than_the_stamp(ahead: int, out: int, trip: int, key: int) -> None:
    """By a clock that is so far ahead, if it goes out as quickly as the one that was measured."""
    assert -FURTHEST <= ahead <= FURTHEST and 0 <= out <= trip <= LATEST and -FURTHEST <= key <= FURTHEST
    c = _collector(_some(resolution=0), ring=[(ahead + out, trip)])
    sent = refresh.when(c, _waiter(key))
    assert key <= sent + out + ahead and 4 * (sent + out + ahead - key) <= trip


def ref_3_the_last_few_are_remembered(remembered: int, offset: int, trip: int) -> None:
    assert 1 <= remembered <= 4 and 0 <= trip <= LATEST
    c = _collector(_some(remembered=remembered, resolution=0), ring=[(offset, trip), (offset, trip)])
    refresh.learn(c, offset, trip)
    assert c.ring == [(offset, trip)] * min(3, remembered)


def ref_4_a_clock_that_goes_on_contradicts_nothing(ahead: int, out: int, trip: int, other_out: int, other_trip: int, resolution: int, cut: int, other_cut: int) -> None:
    assert 0 <= out <= trip <= LATEST and 0 <= other_out <= other_trip <= LATEST and 0 <= cut <= resolution <= LATEST and 0 <= other_cut <= resolution
    was_set = refresh.contradicts(ahead + out - cut, trip, [(ahead + other_out - other_cut, other_trip)], resolution)
    assert not was_set


def ref_4_a_clock_that_was_set_far_enough_is_noticed(ahead: int, out: int, trip: int, other_out: int, other_trip: int, resolution: int, by: int) -> None:
    assert 0 <= out <= trip <= LATEST and 0 <= other_out <= other_trip <= LATEST and 0 <= resolution <= LATEST and abs(by) > trip + other_trip + resolution
    was_set = refresh.contradicts(ahead + by + out, trip, [(ahead + other_out, other_trip)], resolution)
    assert was_set


# asking --------------------------------------------------------------------------------------------------------------
def ref_7_without_a_time_it_is_due_at_once(at: int, key: int | None, due: int | None) -> None:
    assert 0 <= at <= LATEST and (due is None or at < due)
    c = _collector(_some(resolution=0), now=at)
    refresh.wait(c, _some(id="r", owner="o", index=0, key=key, due=due, at=at))
    assert (c.waiters[0].key, c.waiters[0].due, c.asked) == (key, at if key is None and due is None else due, 1)


def ref_8_late_if_it_is_due_already(now: int, due: int) -> None:
    assert 1 <= now <= LATEST
    c, waiter = _collector(now=now), _waiter(None, due)
    refresh.note_late(c, waiter)
    assert waiter.late == (due <= now) and c.moved == (now if due <= now else 0)


def ref_10_slack_grows_up_to_four_round_trips(slack: int, trip: int) -> None:
    assert 0 <= trip <= LATEST and 0 <= slack <= 4 * trip
    after = refresh.slack_after(slack, trip)
    assert slack <= after <= 4 * trip and after - slack <= trip // 4


def ref_11_slack_falls_to_nothing_and_not_below(slack: int) -> None:
    assert 1 <= slack <= 4 * LATEST
    after = refresh.slack_falls(slack)
    assert 0 <= after < slack and 32 * (slack - after) <= slack + 31


def ref_14_no_pause_after_the_first_and_none_beyond_the_longest(tries: int, trip: int, longest: int) -> None:
    assert 1 <= tries <= 6 and 0 <= trip <= LATEST and 0 <= longest <= LATEST
    pause = refresh.pause(tries, trip, longest)
    assert pause == (0 if tries == 1 else min(longest, max(1, trip) * 2 ** (tries - 2)))


def ref_14_never_before_its_stamp(key: int, hint: int, now: int, trip: int, longest: int) -> None:
    assert 0 <= now <= LATEST and 0 <= trip <= LATEST and 0 <= longest <= LATEST
    c = _collector(_some(resolution=0, pause=longest), now=now, hint=hint)
    waiter = _waiter(key, now, tries=1)
    refresh.not_yet(c, waiter, trip)
    assert waiter.due is not None and waiter.due >= key - hint and waiter.due >= now + min(max(1, trip), longest) and waiter.tries == 2


def ref_15_one_wave_for_one_instant_in_order_of_index(index: int, its_index: int) -> None:
    assert 0 <= index <= MOST and 0 <= its_index <= MOST
    found = refresh.resume(_collector(), [_waiter(5, None, "b", its_index, 2), _waiter(5, None, "a", index, 1)])
    assert found == [("resumed", "o", 5, ["a", "b"] if index <= its_index else ["b", "a"])]


# as published --------------------------------------------------------------------------------------------------------
def aws_9_waits_for_a_time_of_its_own_clock(due: int | None, key: int | None, at: int, hint: int) -> None:
    assert 0 <= at <= LATEST
    found = aws_durable_heap.local(due, key, at, hint)
    assert found == (at if due is None and key is None else due if due is not None else (key or 0) - hint)


def aws_16_joins_when_it_is_due(now: int, due: int) -> None:
    assert 0 <= now <= LATEST
    c = _published(now=now, heap=[aws_durable_state.Refresh("r", "o", due, 1)])
    aws_durable_heap.join_due(c, [])
    assert [item.id for item in c.batch] == (["r"] if due <= now else []) and len(c.heap) == (due > now)


def aws_18_a_read_ends_when_a_refresh_is_due_or_a_stop_would_be_seen(now: int, due: int, quiet: int) -> None:
    assert 0 <= now <= LATEST and 1 <= quiet <= LATEST
    c = _published(_some(quiet=quiet), now=now, heap=[aws_durable_state.Refresh("r", "o", due, 1)])
    aws_durable_thread.read_first(c, [])
    assert c.until == max(now, min(due, now + quiet))


def aws_19_a_collection_ends_so_long_after_it_began(now: int, collection: int) -> None:
    assert 0 <= now <= LATEST and 0 <= collection <= LATEST
    c = _published(_some(collection=collection), now=now, batch=[aws_durable_state.Item("a")])
    aws_durable_thread.begin_collection(c)
    assert (c.phase, c.deadline) == ("more", now + collection)


def aws_20_the_window_is_shorter_while_a_caller_is_blocked(quiet: int, blocked: int | None) -> None:
    assert 1 <= quiet <= LATEST and (blocked is None or 0 <= blocked <= LATEST)
    window = aws_durable_thread.window(quiet, blocked)
    assert window == (quiet if blocked is None or blocked > quiet else blocked)


def aws_23_all_empties_count_for_one(updates: int, empties: bool, most: int) -> None:
    assert 0 <= updates <= MANY and 1 <= most <= MANY
    full = aws_durable_batch.has_enough(updates, empties, most)
    assert full == (updates >= most or (empties and updates + 1 == most))


def aws_24_what_does_not_fit_goes_to_the_overflow(most: int, carried: int, size: int) -> None:
    assert 0 <= most <= MOST and 0 <= carried <= MOST and 0 <= size <= MOST
    item = aws_durable_state.Item("b", size, empty=False)
    c = _published(_some(bytes=most, weighs_empties=True), batch=[aws_durable_state.Item("a", carried, empty=False)])
    refused = aws_durable_batch.misfit(c, item)
    assert (refused is None) == (carried + size <= most) and c.overflow == ([] if refused is None else [item])


def aws_25_the_deadline_itself_is_too_late(now: int, deadline: int) -> None:
    assert 0 <= now <= LATEST and 0 <= deadline <= 2 * LATEST
    passed = aws_durable_thread.deadline_passed(_published(now=now, deadline=deadline))
    assert (passed is None) == (now < deadline)


# coordinators --------------------------------------------------------------------------------------------------------
def _coordinator(of: int, **fields: Any) -> Any:
    return _some(of=of, parallel=_some(needed=None, tolerated=0), **fields)


def sdk_5_tried_again_so_many_times(tries: int, retries: int) -> None:
    assert 0 <= tries and 0 <= retries <= MOST
    again = batching_sdk.tried_again(tries, retries)
    assert (again is None) == (tries >= retries)


def sdk_7_enough_is_never_more_than_all(of: int, needed: int | None, succeeded: int) -> None:
    assert 1 <= of <= MOST and (needed is None or 1 <= needed) and 0 <= succeeded <= of
    enough = coordinator.has_enough(of, needed, succeeded)
    assert enough == (succeeded == of or (needed is not None and succeeded >= needed))


def sdk_9_it_ends_at_the_latest_when_all_have(of: int, succeeded: int, failed: int) -> None:
    assert 0 <= succeeded and 0 <= failed and 1 <= of <= MOST and succeeded + failed <= of
    ended = coordinator.all_ended(_coordinator(of, succeeded=succeeded, failed=failed))
    assert (ended is None) == (succeeded + failed < of)


def sdk_12_one_that_ends_gives_one_slot_back(slots: int, running: int, failed: bool) -> None:
    assert 0 <= slots <= MOST and 1 <= running <= MOST
    k = _coordinator(9, slots=slots, running=running, succeeded=2, failed=3)
    coordinator.give_back(k, Ended() if failed else None)
    assert (k.slots, k.running, k.succeeded, k.failed) == (slots + 1, running - 1, 2 + (not failed), 3 + failed)
