# ruff: noqa: PT018, SIM300 - one assertion says which numbers are meant, and lower bounds stand to the left
"""Contracts on single steps of rules, for CrossHair to prove: what must hold for *every* number, not for those that were tried.

A contract is a function of plain numbers. Its first assertion says which numbers are meant; the later ones, after the rule was asked,
what it promises. (Assertions that directly follow the first would be read as part of it.)
It builds at most one small scheduler, since sequences of commands are for the search. The name of a contract begins with its rule's
id. `slotwise.fuzz.symbolic` runs them, and keeps a verdict on each.

Tasks and groups are stand-ins here: symbolic execution cannot make instances of compiled classes.
"""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from slotwise.spec import admission as a
from slotwise.spec import bounded_borrow, slot_time, strict
from slotwise.spec import fair_queue as q
from slotwise.spec.vocabulary import LATEST, MOST, PROFILES, SlotTime, Strict

STRICT, SLOT_TIME = Strict(), SlotTime()


def _group(weight: float = 1.0, share_limit: int | None = None, running_limit: int | None = None) -> Any:
    return SimpleNamespace(weight=weight, share_limit=share_limit, running_limit=running_limit)


def _needs(units: int, group: str = "g", id: str = "t") -> Any:
    return SimpleNamespace(id=id, group=group, needs={"r": units})


def _ledger(capacity: int, *held: tuple[str, int]) -> a.Ledger:
    """One resource `r`; each (group, units) holds a lease on it."""
    leases = {number: a.Lease(_needs(units, group, f"l{number}"), 0) for number, (group, units) in enumerate(held, 1)}
    return a.Ledger({"r": capacity}, leases, len(held))


def _borrowing(debt: int = 0, ceiling: int | None = None) -> bounded_borrow.Discipline:
    parameters: Any = SimpleNamespace(reserve_fraction=0.0, reserve_at_least=0, reserve_at_most=8, default_ceiling=ceiling, ceilings=(), repay=True)
    return bounded_borrow.Discipline(parameters, q.FairQueue(PROFILES["data-designer-0.9"]), _ledger(8), {("g", "r"): debt})


def _slot_time(capacity: int, *held: tuple[str, int], **fields: Any) -> slot_time.Discipline:
    queue = q.FairQueue(PROFILES["slotwise"], {"g": _group(), "p": _group()})
    accounts = {"g": slot_time.Account(1024), "p": slot_time.Account(1024)}
    return slot_time.Discipline(SLOT_TIME, queue, _ledger(capacity, *held), accounts, **fields)


def que_3_turns_only_grow(turns: int, other: int) -> None:
    assert 0 <= other <= turns
    queue = q.FairQueue(PROFILES["slotwise"], turn={"g": other}, turns=turns)
    q.take_turn(queue, "p")
    assert queue.turn["p"] > queue.turn["g"] and queue.turns == turns + 1


def que_4_places_then_turns(place: int, other: int, turn: int, later: int) -> None:
    assert turn != later
    queue = q.FairQueue(PROFILES["slotwise"], turn={"g": turn, "p": later})
    first = q.order(queue, {"g": place, "p": other})[0]
    assert (first == "g") == ((place, turn) < (other, later))


def que_9_a_newcomer_comes_at_the_virtual_time(virtual_time: int, tag: int, served: bool) -> None:
    assert 0 <= virtual_time <= LATEST and 0 <= tag <= LATEST
    queue = q.FairQueue(PROFILES["strict"], tag={"g": tag}, served={"g"} if served else set(), virtual_time=virtual_time)
    q.bring_tag(queue, "g")
    assert queue.tag["g"] == (tag if served else virtual_time)


def que_10_virtual_time_never_falls(virtual_time: int, tag: int) -> None:
    """Whole numbers stand for the doubles: symbolic doubles would be reals."""
    assert 0 <= virtual_time <= MOST and 0 <= tag <= MOST
    queue = q.FairQueue(PROFILES["strict"], {"g": _group()}, tag={"g": tag}, virtual_time=virtual_time)
    q.move_tag(queue, "g")
    assert queue.virtual_time == max(virtual_time, tag)


def que_11_any_move_is_stale(version: int, seen: int) -> None:
    assert 0 <= version <= MOST
    queue = q.FairQueue(PROFILES["slotwise"], version=version)
    queue.fifo["g"] = [(_needs(1), _group())]
    queue.live["t"] = queue.fifo["g"][0]
    assert (q.stale(queue, "t", seen) is None) == (version == seen)


def adm_1_fits_or_not(capacity: int, held: int, units: int) -> None:
    assert 1 <= capacity <= MOST and 0 <= held <= capacity and 1 <= units <= MOST
    refusal = a.no_capacity(_ledger(capacity, ("p", held)), _needs(units))
    assert (refusal is None) == (held + units <= capacity)


def _two_heads(capacity: int, units: int, other: int, tag: int, later: int) -> a.Admission:
    """`g` and `p`, in the order of their turns, with a head each."""
    admission = a.admission(PROFILES["strict"], {"r": 1})
    admission.ledger.capacity["r"] = capacity
    for turn, (group, amount, place) in enumerate((("g", units, tag), ("p", other, later)), 1):
        head = (_needs(amount, group, group), _group())
        admission.queue.groups[group] = head[1]
        admission.queue.fifo[group] = [head]
        admission.queue.live[group] = head
        admission.queue.turn[group] = turn
        admission.queue.tag[group] = place
    return admission


def adm_2_numbers_leases_in_order(granted: int, units: int, at: int) -> None:
    assert 0 <= granted <= MOST and 1 <= units <= MOST and 0 <= at <= LATEST
    admission = _two_heads(units, units, 1, 0, 0)
    admission.ledger.granted = granted
    saw = a.grant(admission, "g", {}, [], at)
    assert saw == ("started", granted + 1, "g", {"r": units})
    assert admission.ledger.free("r") == 0 and list(admission.queue.live) == ["p"]


def adm_3_the_first_that_fits(capacity: int, units: int, other: int, tag: int, later: int) -> None:
    assert 1 <= capacity <= MOST and 1 <= units <= MOST and 1 <= other <= MOST and 0 <= tag <= MOST and 0 <= later <= MOST
    order = [("g", units), ("p", other)] if tag <= later else [("p", other), ("g", units)]
    fits = [group for group, amount in order if amount <= capacity]
    found = a.round(_two_heads(capacity, units, other, tag, later), 0)
    assert (found[0] if found else None) == (fits[0] if fits else None)


def adm_4_frees_what_was_held(capacity: int, units: int, other: int) -> None:
    assert 1 <= units and 1 <= other and units + other <= capacity <= MOST
    admission = a.admission(PROFILES["strict"], {"r": 1})
    admission.ledger = ledger = _ledger(capacity, ("g", units), ("p", other))
    before = ledger.free("r")
    a.free_units(admission, 1, 0)
    assert ledger.free("r") == before + units and ledger.held("p", "r") == other and ledger.released == [1]


def adm_5_only_generation_0_is_ours(generation: int) -> None:
    assert 0 <= generation <= MOST
    claim: Any = SimpleNamespace(generation=generation)
    assert (a.of_another_scheduler(claim) is None) == (generation == 0)


def adm_6_remembered_for_a_while(number: int, memory: int) -> None:
    assert 0 <= memory <= 4
    admission = a.admission(PROFILES["strict"], {"r": 1})
    admission.queue.profile = SimpleNamespace(released_memory=memory)  # type: ignore[assignment]
    admission.ledger = a.Ledger({"r": 1}, granted=3, released=[2, 1, 3])
    known = [2, 1, 3][max(0, 3 - memory):]
    assert (a.already_released(admission, number) == "duplicate") == (number in known)


def adm_7_known_only_while_running(number: int) -> None:
    assert 0 <= number <= MOST
    admission = a.admission(PROFILES["strict"], {"r": 1})
    admission.ledger = _ledger(3, ("g", 1), ("p", 1))
    assert (a.not_running(admission, number) is None) == (number in (1, 2))


def adm_8_another_tasks_lease_stays(task: str | None) -> None:
    assert task is None or len(task) <= 3
    admission = a.admission(PROFILES["strict"], {"r": 1})
    admission.ledger = _ledger(3, ("g", 1))
    claim: Any = SimpleNamespace(task=task)
    assert (a.of_another_task(admission, 1, claim) is None) == (task is None or task == "l1")
    assert 1 in admission.ledger.leases


def adm_9_refuses_what_never_fits(capacity: int, units: int) -> None:
    assert 1 <= capacity <= MOST and 1 <= units <= MOST
    admission = a.admission(PROFILES["slotwise"], {"r": 1})
    admission.ledger = _ledger(capacity)
    assert (a.impossible(admission, _needs(units), _group()) == "never_fits") == (units > capacity)


def adm_9_refuses_limit_0(limit: int) -> None:
    assert 0 <= limit <= MOST
    admission = a.admission(PROFILES["slotwise"], {"r": 1})
    assert (a.impossible(admission, _needs(1), _group(running_limit=limit)) == "limit_below_one") == (limit == 0)


def adm_10_time_never_goes_back(now: int, at: int) -> None:
    assert 0 <= now <= LATEST
    refusal = a.time_reversed(SimpleNamespace(now=now), at)  # type: ignore[arg-type]
    assert (refusal is None) == (at >= now)


def adm_11_full_only_when_all_were_started(started: int, at_most: int) -> None:
    assert 0 <= started <= at_most
    admission = a.admission(PROFILES["slotwise"], {"r": 1})
    admission.queue.live["t"] = (_needs(1), _group())
    assert (a.closing_word(admission, started, at_most) == ("full",)) == (started == at_most)


def str_1_makes_way_at_its_limit(limit: int) -> None:
    assert 0 <= limit <= MOST
    discipline = strict.Discipline(STRICT, q.FairQueue(PROFILES["strict"]), _ledger(9, ("g", 1), ("g", 1)))
    head, peer = (_needs(1), _group(share_limit=limit)), (_needs(1, "p"), _group())
    assert (strict.at_its_limit(discipline, head, [peer, head]) is None) == (limit > 2)
    assert strict.at_its_limit(discipline, head, [head]) is None


def bor_1_debt_makes_way(debt: int) -> None:
    assert 0 <= debt <= MOST
    refusal = bounded_borrow.make_way(debt)
    assert (refusal is None) == (debt <= 0)


def bor_2_held_to_share(beyond: int) -> None:
    assert -MOST <= beyond <= MOST
    refusal = bounded_borrow.held_to_share(beyond)
    assert (refusal is None) == (beyond <= 0)


def bor_2_a_share_is_within_capacity(capacity: int, weight: int, rivals: int, round_up: bool) -> None:
    assert 0 <= capacity <= MOST and 1024 <= weight and 0 <= rivals
    share = bounded_borrow.share_of(capacity, weight, rivals, round_up)
    assert min(1, capacity) <= share <= capacity


def bor_2_rounding_up_gives_at_most_one_more(capacity: int, weight: int, rivals: int) -> None:
    assert 0 <= capacity <= 64 and 1024 <= weight <= 8192 and 0 <= rivals <= 8192
    up, down = bounded_borrow.share_of(capacity, weight, rivals, True), bounded_borrow.share_of(capacity, weight, rivals, False)
    assert down <= up <= down + 1


def bor_2_alone_it_has_half(capacity: int, weight: int) -> None:
    assert 2 <= capacity <= MOST and 1024 <= weight <= 8192
    share = bounded_borrow.share_of(capacity, weight, 0, False)
    assert share == capacity // 2


def bor_3_a_ceiling_leaves_share_and_reserve(capacity: int, share: int, reserve: int) -> None:
    assert 0 <= share <= capacity and 0 <= reserve
    ceiling = bounded_borrow.ceiling_of(capacity, share, reserve)
    assert 0 <= ceiling <= capacity - share and (ceiling == 0 or ceiling + share + reserve == capacity)


def bor_3_never_beyond_the_ceiling(ceiling: int, debt: int, more: int) -> None:
    assert 0 <= ceiling <= MOST and 0 <= debt <= MOST and 0 <= more <= MOST
    discipline = _borrowing(ceiling=ceiling)
    allowed = bounded_borrow.borrow_ceiling(discipline, "g", "r", 4, debt, more) is None
    assert allowed == (more == 0 or debt + more <= ceiling)


def bor_4_owes_what_it_borrowed(debt: int, borrowed: int) -> None:
    assert 0 <= debt and 0 <= borrowed
    discipline = _borrowing(debt)
    bounded_borrow.take_on_debt(discipline, _needs(1), {"r": borrowed})
    assert discipline.debt["g", "r"] == debt + borrowed


def bor_5_repays_and_never_below_nothing(debt: int, units: int) -> None:
    assert 0 <= debt and 1 <= units
    discipline = _borrowing(debt)
    bounded_borrow.repay(discipline, _needs(units))
    assert discipline.debt["g", "r"] == max(0, debt - units)


def slt_1_a_new_weight_moves_no_level(level: int, at: int) -> None:
    assert 0 <= level and 0 <= at <= LATEST
    discipline = _slot_time(4, ("g", 1))
    discipline.accounts["g"].level = level
    discipline.queue.groups["g"] = _group(3.0)
    before = discipline.level("g", at)
    slot_time.reweigh(discipline, "g", at)
    assert discipline.level("g", at) == before and discipline.accounts["g"].weight == 3072


def slt_2_settling_moves_no_level(level: int, at: int) -> None:
    assert 0 <= level and 0 <= at <= LATEST
    discipline = _slot_time(4, ("g", 1), ("g", 2))
    discipline.accounts["g"].level = level
    before = discipline.level("g", at)
    lease = discipline.ledger.leases.pop(1)
    slot_time.settle(discipline, lease, at)
    assert discipline.level("g", at) == before


def slt_2_a_rate_is_no_more_than_the_whole(units: int, capacity: int) -> None:
    assert 1 <= units <= capacity <= 64
    rate = slot_time.rate_of(units, capacity, 1024)
    assert 0 < rate <= slot_time.RATE


def slt_3_the_first_horizon_is_the_first_service(service: int, share: int, memory: int) -> None:
    assert 1 <= service <= LATEST and 1 <= memory <= 64
    horizon = slot_time.horizon_after(0, service, share, memory)
    assert horizon == service


def slt_3_the_horizon_moves_towards_the_service(horizon: int, service: int) -> None:
    assert 1 <= horizon <= LATEST and 1 <= service <= LATEST
    after = slot_time.horizon_after(horizon, service, 1 << 32, 8)
    assert min(horizon, service) <= after <= max(horizon, service)


def slt_4_looks_ahead_of_what_runs(level: int, horizon: int, at: int) -> None:
    assert 0 <= level and 1 <= horizon <= LATEST and 0 <= at <= LATEST
    discipline = _slot_time(4, ("g", 1), horizon=horizon)
    discipline.accounts["g"].level = level
    assert slot_time.look_ahead(discipline, "g", at) == (1, discipline.level("g", at) + 2 * horizon * slot_time.RATE // 4)


def slt_5_patient_after_twice_the_longest(since: int, started: int, at: int) -> None:
    assert 0 <= started <= since <= at
    discipline = _slot_time(1, overtaken={"t": since})
    discipline.ledger.leases[1] = a.Lease(_needs(1, "p", "l"), started)
    assert (slot_time.patience(discipline, _needs(1), at) is not None) == (at - since > 2 * (at - started))


def slt_5_patient_with_nothing_in_its_way(since: int, at: int) -> None:
    assert 0 <= since <= at
    discipline = _slot_time(1, overtaken={"t": since})
    assert slot_time.patience(discipline, _needs(1), at) == ((0, since) if at > since else None)


def slt_6_comes_back_no_lower_than_virtual_time(level: int, virtual: int, at: int) -> None:
    assert 0 <= level and 0 <= virtual and 0 <= at
    discipline = _slot_time(4, ("p", 1), virtual={"r": virtual})
    discipline.queue.fifo["g"] = [(_needs(1), _group())]
    discipline.accounts["g"].level = level
    slot_time.come_back(discipline, "g", at)
    assert discipline.level("g", at) == max(level, virtual)


def slt_7_arrears_are_bounded(level: int, virtual: int, horizon: int) -> None:
    assert 0 <= level and 0 <= virtual and 1 <= horizon <= LATEST
    discipline = _slot_time(4, ("p", 1), virtual={"r": virtual}, horizon=horizon)
    discipline.queue.fifo["g"] = [(_needs(1), _group())]
    discipline.accounts["g"].level = level
    slot_time.forget_arrears(discipline, "g", 0)
    assert discipline.level("g", 0) == max(level, virtual - 4 * horizon * slot_time.RATE)


def slt_8_virtual_time_never_falls(level: int, virtual: int) -> None:
    assert 0 <= level and 0 <= virtual
    discipline = _slot_time(4, virtual={"r": virtual})
    discipline.accounts["g"].level = level
    slot_time.raise_virtual_time(discipline, _needs(1), 0)
    assert discipline.virtual["r"] == max(level, virtual)


def slt_9_never_more_than_its_limit(limit: int) -> None:
    assert 1 <= limit <= MOST
    discipline = _slot_time(9, ("g", 1), ("g", 1))
    discipline.queue.groups["g"] = _group(running_limit=limit)
    assert (slot_time.running_limit(discipline, "g") is None) == (limit > 2)


def slt_10_units_are_kept_for_the_patient(capacity: int, wide: int, units: int) -> None:
    assert 1 <= wide <= capacity <= MOST and 1 <= units <= capacity
    discipline = _slot_time(capacity, overtaken={"w": 0})
    patient = (_needs(wide, "p", "w"), _group())
    q.accept(discipline.queue, *patient)
    assert (slot_time.kept_units(discipline, _needs(units), [patient], 1) is None) == (wide + units <= capacity)


def slt_11_overtaken_when_short_of_what_was_taken(capacity: int, held: int, wide: int, units: int) -> None:
    assert 1 <= units <= held <= capacity <= MOST and 1 <= wide <= capacity
    discipline = _slot_time(capacity, ("g", held))
    passed = (_needs(wide, "p", "w"), _group())
    q.accept(discipline.queue, *passed)
    slot_time.note_overtaken(discipline, _needs(units), [passed], 7)
    assert discipline.overtaken == ({"w": 7} if capacity - held < wide else {})
