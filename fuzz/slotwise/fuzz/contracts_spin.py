# ruff: noqa: PT018, SIM300 - one assertion says which numbers are meant, and lower bounds stand to the left
"""Contracts on the arithmetic of spinning, as `contracts` has them for admission: for *every* number, not for those that were tried."""
from __future__ import annotations

from slotwise.spec import spin_dispatcher as dispatcher
from slotwise.spec import spin_policy as policy
from slotwise.spec import spin_pool as pool
from slotwise.spec import spin_window as window

MANY = 1 << 20
LONG = 10**9


def spn_3_passes_are_counted_and_wrap(n: int) -> None:
    assert 0 <= n < 1 << 32
    after = window.next_pass(n)
    assert after == n + 1 < 1 << 32 or (after, n) == (0, (1 << 32) - 1)


def spn_5_over_at_its_end_and_not_before(elapsed: int, length: int) -> None:
    assert 0 <= elapsed and 0 <= length
    over = window.is_over(elapsed, length)
    assert over == (elapsed - length >= 0)


def spn_6_the_first_is_due_at_once(elapsed: int) -> None:
    assert 0 <= elapsed
    due = window.is_due(elapsed, window.Window(1).q)
    assert due


def spn_6_due_an_interval_after_the_reading_before(elapsed: int, later: int, interval: int) -> None:
    assert 0 <= elapsed <= later and 1 <= interval
    due = window.is_due(later, window.next_yield(elapsed, interval))
    assert due == (later - elapsed >= interval)


def spn_6_a_yield_takes_one_of_the_bound(length: int, elapsed: int, later: int) -> None:
    assert 0 <= elapsed < length <= LONG and elapsed + 10_000 <= later <= 2 * LONG
    most, left = window.most_yields(length, elapsed, 10_000), window.most_yields(length, later, 10_000)
    assert 1 + left <= most


def spn_6_none_fits_after_the_end(length: int, elapsed: int, interval: int) -> None:
    assert 0 <= length <= elapsed and 1 <= interval
    most = window.most_yields(length, elapsed, interval)
    assert most == 0


def spn_10_doubles_up_to_the_cap(length: int, cap: int) -> None:
    assert 1 <= length <= cap
    after = policy.doubled(length, cap)
    assert length <= after <= cap and (after == 2 * length or after == cap)


def spn_11_halves_down_to_the_floor(length: int, floor: int) -> None:
    assert 1 <= floor <= length
    after = policy.halved(length, floor)
    assert floor <= after <= length and (after == length // 2 or after == floor)


def spn_11_a_task_undoes_a_park(length: int, floor: int, cap: int) -> None:
    assert 1 <= floor and 2 * floor <= length <= cap
    after = policy.doubled(policy.halved(length, floor), cap)
    assert length - 1 <= after <= length


def spn_13_no_stretch_costs_more_than_twice(gap: int, park: int) -> None:
    assert 0 <= gap and 8 <= park
    paid = policy.cost(gap, park, park)
    assert paid <= 2 * min(gap, park)


def spn_13_latency_makes_no_park_cheaper(park: int, latency: int, wake: int, catch: int) -> None:
    assert 8 <= park and 0 <= latency <= 4096 and 0 <= wake <= LONG and 0 <= catch <= LONG
    price = policy.price_of_a_park(park, wake, catch, latency)
    assert park <= price and (price == park or catch < wake)


def spn_14_the_average_moves_towards_a_gap(average: int, gap: int) -> None:
    assert 0 <= average and 0 <= gap
    after = policy.next_average(average, gap)
    assert min(average, gap) <= after <= max(average, gap)


def spn_14_who_parked_sees_no_further(gap: int, used: int, park: int) -> None:
    assert 0 <= gap and 0 <= used and 8 <= park
    seen = policy.seen(gap, used, park)
    assert seen <= gap and seen <= used + park and (gap > used or seen == gap)


def spn_15_within_its_bounds(average: int, floor: int, cap: int) -> None:
    assert 0 <= average and 1 <= floor <= cap
    length = policy.within(2 * average, floor, cap)
    assert floor <= length <= cap


def spn_16_a_ledger_is_bounded(ledger: int, cost: int, most: int) -> None:
    assert 0 <= cost <= most and 0 <= ledger <= 64 * most + 63
    after = policy.next_ledger(ledger, cost)
    assert cost <= after <= 64 * most + 63


def spn_16_candidates_are_in_order(park: int) -> None:
    assert 8 <= park
    none, eighth, quarter, half, whole, double = policy.candidates(park)
    assert none == 0 < eighth <= quarter <= half <= whole == park and double == 2 * park and 8 * eighth <= park < 8 * (eighth + 1)


def spn_16_a_longer_window_costs_more_only_once_over(gap: int, length: int, longer: int, park: int) -> None:
    assert 0 <= gap and 0 <= length <= longer and 8 <= park
    paid, more = policy.cost(gap, length, park), policy.cost(gap, longer, park)
    assert paid <= more or length < gap <= longer


def spn_17_never_beyond_eleven_parks(guard: int, gap: int, used: int, park: int) -> None:
    assert 8 <= park and -16 * park <= guard <= 11 * park and 0 <= gap and 0 <= used <= 2 * park
    length = park if policy.is_guarded(guard, park) else used
    after = policy.next_guard(guard, policy.cost(gap, length, park), policy.cost(gap, park, park), park)
    assert -16 * park <= after <= 11 * park


def spn_17_what_is_paid_is_nine_eighths_and_what_the_guard_gains(guard: int, gap: int, used: int, park: int) -> None:
    assert 8 <= park and -16 * park <= guard <= 11 * park and 0 <= gap and 0 <= used <= 2 * park
    paid, even = policy.cost(gap, used, park), policy.cost(gap, park, park)
    gained = policy.next_guard(guard, paid, even, park) - guard
    assert 8 * paid <= 9 * even + 8 * gained


def spn_19_a_guarded_step_gains_nothing(guard: int, gap: int, park: int) -> None:
    assert 8 <= park and 8 * park < guard <= 11 * park and 0 <= gap
    guarded, even = policy.is_guarded(guard, park), policy.cost(gap, park, park)
    assert guarded and policy.next_guard(guard, even, even, park) <= guard


def spn_18_cold_before_anything_is_known(one: int, other: int, park: int) -> None:
    assert 0 <= one and 0 <= other and 8 <= park
    cold = policy.cold(policy.Memory(ledgers=[0, one, 0, 0, other, 0]), park)
    assert cold == (None if one or other else park)


def spn_20_the_cheapest_and_of_equals_the_first(one: int, other: int, third: int) -> None:
    assert 0 <= one and 0 <= other and 0 <= third
    ledgers = [one, other, third]
    chosen = policy.least(ledgers)
    assert ledgers[chosen] == min(one, other, third) and all(ledgers[i] > ledgers[chosen] for i in range(chosen))


def spn_53_the_first_free_one_from_the_hint(zero: bool, one: bool, two: bool, hint: int) -> None:
    assert 0 <= hint < 3
    free = [zero, one, two]
    slot = dispatcher.free_slot(zero + 2 * one + 4 * two, hint, 3)
    assert slot == next((i for i in (hint, (hint + 1) % 3, (hint + 2) % 3) if free[i]), None)


def spn_55_the_epoch_moves(epoch: int) -> None:
    assert 0 <= epoch < pool.EPOCHS
    after = pool.next_epoch(epoch)
    assert after != epoch and 0 <= after < pool.EPOCHS


def spn_57_one_for_every_task_but_one(total: int, sleepers: int) -> None:
    assert 1 <= total <= MANY and 0 <= sleepers
    number = dispatcher.needed(total, sleepers)
    assert 0 <= number <= sleepers and number < total and (number == sleepers or number == total - 1)
