"""What a frame says: every number by its formula, the verdicts at their limits, panes as data."""
from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.frames import Frame, derive
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.panes import Pane
from slotwise.dashboard.observe.tables import why
from slotwise.dashboard.observe.verdicts import Verdict
from slotwise.dashboard.observe.words import amount, escape, text
from slotwise.impl import snapshot as s

from .samples import SECOND, batch, batcher, durations, group, resource, snapshot, wave, worker


def row(pane: Pane, key: str) -> dict[str, Any]:
    (found,) = [row for row in pane.rows if row.key == key]
    return {column.id: cell.value for column, cell in zip(pane.columns, found.cells, strict=True)}


def verdict(frame: Frame, name: str) -> Verdict:
    (found,) = [one for one in frame.verdicts if one.name == name]
    return found


def test_resources() -> None:
    before = snapshot(10, resources=(resource(busy_time=100 * SECOND, idle_waiting=SECOND, hold=durations((1, 5))),))
    after = snapshot(20, resources=(resource(busy=6, lent=2, waiting=7, eligible=5, busy_time=160 * SECOND, idle_waiting=5 * SECOND, idle_waiting_longest=4 * SECOND, hold=durations((1, 5), (0.04, 100))),))
    found = row(derive(before, after).pane("resources"), "gpu")
    assert found.pop("hold_p50") == found.pop("hold_p99") == pytest.approx(0.04, rel=1 / 16)
    assert found == {"resource": "gpu", "busy": 6, "capacity": 8, "own": 4, "lent": 2, "waiting": 7, "eligible": 5, "idle": 2, "lost": 0.4, "lost_share": 5.0, "longest": 4.0, "used": 75.0}


def test_groups() -> None:
    before = snapshot(10, groups=(group("a", service=10 * SECOND), group("b", weight=3.0)))
    after = snapshot(20, groups=(
        group("a", service=40 * SECOND, running=3, submitted=9, started=7),
        group("b", weight=3.0, service=10 * SECOND, waiting=4, backing_off=2, oldest=2 * SECOND, limit=5, wait=durations((0.1, 50)), started=50, blocked_by="capacity gpu"),
    ))  # fmt: skip
    found = row(derive(before, after).pane("groups"), "b")
    assert found.pop("p50") == found.pop("p99") == pytest.approx(0.1, rel=1 / 16)
    assert found == {"group": "b", "running": 0, "got": 25.0, "due": 75.0, "lag": -50.0, "waiting": 4, "backing_off": 2, "oldest": 18.0, "n": 50, "debt": None, "overdue": 0, "weight": 3.0, "limit": 5, "flag": "STARVE"}
    owing = derive(None, snapshot(1, groups=(group(debt={"gpu": 2, "io": 1}, overdue=4),)))
    assert {name: row(owing.pane("groups"), "a")[name] for name in ("debt", "overdue")} == {"debt": 3, "overdue": 4}
    facts = {one.cells[0].value: one.cells[1].value for one in owing.drill("a")[2].rows}
    assert (facts["told to end, and running"], facts["owes"]) == (4, "gpu=2 io=1")
    assert row(derive(before, after).pane("groups"), "a")["flag"] == ""
    assert row(derive(None, before).pane("groups"), "b") | {"flag": 0} == {
        "group": "b", "running": 0, "got": 0.0, "due": 75.0, "lag": -75.0, "waiting": 0, "backing_off": 0, "oldest": None, "n": 0, "debt": None, "overdue": 0, "weight": 3.0, "limit": None, "p50": None, "p99": None, "flag": 0,
    }  # fmt: skip


def test_a_percentile_of_few_is_marked() -> None:
    pane = derive(None, snapshot(1, groups=(group(wait=durations((0.1, 50))),))).pane("groups")
    cells = dict(zip([column.id for column in pane.columns], pane.rows[0].cells, strict=True))
    assert (cells["p50"].note, cells["p99"].note) == ("", "few")


def test_batchers_batches_waves_workers_checks_and_divergences() -> None:
    before = snapshot(0, batchers=(batcher(requests=5, updates=100, seals={"full": 5}),), workers=(worker(parked=SECOND),))
    after = snapshot(10, batchers=(batcher(
        requests=15, updates=580, seals={"full": 12, "timer": 3}, needless=SECOND, open_time=6 * SECOND, commit=durations((0.4, 10)), failures=1, waiting=2, refreshes=9, joined=8, late=1,
        batches=(batch(14, opened=SECOND, sealed=2 * SECOND, done=3 * SECOND, outcome="ok"), batch(15, sealed=9 * SECOND)), waves=(wave(2, refreshes=40, joined=38, late=2, latest=SECOND),),
    ),), workers=(worker(state="spin", running=5 * SECOND, spinning=3 * SECOND, yielding=SECOND, parked=2 * SECOND, hits=1, misses=9, wasted=2 * SECOND, window=50_000),),
        checks=(s.Check("LAW-1", True, 5, 9 * SECOND), s.Check("LAW-2", False, 5, 9 * SECOND, "two leases")), divergences=(s.Divergence("D1", 7, 12, "ADM-1", "x", 8 * SECOND, "slotwise replay x"),),
    )  # fmt: skip
    frame = derive(before, after)
    assert row(frame.pane("batchers"), "ckpt") == {
        "batcher": "ckpt", "requests": 10, "updates": 480, "fill": 75.0, "seals": "full 70% timer 30%", "needless": 0.1, "needless_share": 10.0, "commit_p50": None, "commit_p99": None,
        "waiting": 2, "failures": 1, "refreshes": 9, "joined": 8, "late": 1,
    }  # fmt: skip
    assert [one.key for one in frame.pane("batches").rows] == ["ckpt#15", "ckpt#14"]
    assert row(frame.pane("batches"), "ckpt#14") == {"batcher": "ckpt", "batch": 14, "updates": 32, "most": 64, "fill": 50.0, "size": 100, "seal": "full", "open": 1.0, "commit": 1.0, "outcome": "ok"}
    assert row(frame.pane("batches"), "ckpt#15")["commit"] is None
    assert row(frame.pane("waves"), "ckpt#2") == {"batcher": "ckpt", "wave": 2, "due": 40, "joined": 38, "late": 2, "latest": 1.0}
    assert row(frame.pane("workers"), "w0") == {"worker": "w0", "state": "spin", "run": 50.0, "spin": 30.0, "yield": 10.0, "park": 10.0, "hit": 10.0, "save": 0.2, "wake": None, "window": 5e-5}
    assert row(frame.pane("checks"), "LAW-2") == {"check": "LAW-2", "holds": "NO", "checked": 5, "age": 1.0, "detail": "two leases"}
    assert row(frame.pane("divergences"), "D1") == {"divergence": "D1", "seed": 7, "step": 12, "rule": "ADM-1", "detail": "x", "age": 2.0, "repro": "slotwise replay x", "trace": ""}
    assert (frame.head.holding, frame.head.checks, frame.head.divergences) == (1, 2, 1)
    assert [verdict(frame, name).status for name in ("invariants", "divergence", "checkpoint-wait")] == ["alarm", "alarm", "warn"]
    assert verdict(frame, "spin-burn").text == "0.30 cores, 30% of worker time, hit 10%"


def test_every_column_has_its_formula_and_its_table() -> None:
    frame = derive(None, snapshot(1))
    assert frame.names == ("resources", "groups", "batchers", "batches", "waves", "workers", "checks", "divergences")
    for name in frame.names:
        pane = frame.pane(name)
        assert pane.columns
        assert all(column.id and column.help for column in pane.columns)
        assert pane.rows == ()


@pytest.mark.parametrize(("lost", "status"), [(0.0, "ok"), (0.05, "ok"), (0.5, "warn"), (0.79, "warn"), (0.9, "alarm")])
def test_idle_while_waiting(lost: float, status: str) -> None:
    """Slots lost of eight: over 1% is worth a word, over 10% an alarm."""
    frame = derive(snapshot(0, resources=(resource(),)), snapshot(10, resources=(resource(busy=6, eligible=9, waiting=9, idle_waiting=round(lost * 10 * SECOND), idle_waiting_longest=SECOND),)))
    found = verdict(frame, "idle-while-waiting")
    assert found.status == status
    assert found.text.startswith("2 slots idle, 9 eligible waiters, lost ")
    assert found.numbers["lost_percent"] == pytest.approx(lost / 8 * 100)


def test_starving() -> None:
    def asked(oldest: float, service: int = 50) -> Verdict:
        groups = (group("a", service=50 * SECOND), group("b", waiting=1, oldest=round((20 - oldest) * SECOND), service=service * SECOND, causes={"capacity gpu": 40 * SECOND}))
        return verdict(derive(snapshot(0, groups=(group("a"), group("b"))), snapshot(20, groups=groups)), "starving")

    assert asked(4.9).status == "ok"
    assert (asked(5.1).status, asked(5.1).numbers["over_slo_groups"]) == ("alarm", 1)
    assert asked(5.1).text == "b oldest 5.1s (SLO 5s), got 50.0% of 50.0% due"
    assert (asked(1, service=10).status, asked(1, service=10).numbers["behind_groups"]) == ("warn", 1)
    assert verdict(derive(None, snapshot(1, groups=(group(),))), "starving").text == "nobody waits"
    limited = verdict(derive(None, snapshot(60, groups=(group(waiting=1, oldest=0, blocked_by="limit"),))), "starving")
    assert (limited.status, limited.text) == ("ok", "nobody waits for others")


def test_what_there_is_not_is_unknown_and_says_so() -> None:
    frame = derive(None, snapshot(0, resources=(resource(),), batchers=(batcher(),), workers=(worker(),)))
    assert [(one.status, one.text) for one in frame.verdicts[:4]] == [("unknown", "not enough data"), ("unknown", "no groups"), ("unknown", "not enough data"), ("unknown", "not enough data")]
    assert [one.text for one in derive(None, snapshot(1)).verdicts[:4]] == ["no resources", "no groups", "no checkpoint batcher", "no spinning workers"]


def test_another_run_is_a_window_of_its_own() -> None:
    frame = derive(snapshot(50, events=1000), snapshot(3, pid=8, events=9))
    assert (frame.head.restarted, frame.head.window_s, frame.head.events) == (True, 3.0, 9)
    assert derive(snapshot(1, events=5), snapshot(3, events=9)).head.restarted is False
    for other in (snapshot(3, events=4), snapshot(0.5, events=9), snapshot(3, events=9, program="x"), snapshot(3, events=9, started=1)):
        assert derive(snapshot(1, events=5), other).head.restarted


def test_why_a_group_waits_sums_to_100() -> None:
    before = group("c", causes={"capacity io": 5 * SECOND, "lent gpu": SECOND})
    after = group("c", waiting=3, causes={"capacity io": 43 * SECOND, "capacity db": 23 * SECOND, "lent gpu": 28 * SECOND, "limit": 9 * SECOND, "scheduler": 3 * SECOND, "kept": 0}, needs={"gpu": 2}, blocked_by="capacity gpu", wait=durations((0.5, 30)))
    causes, decades, facts = derive(snapshot(0, groups=(before,)), snapshot(10, groups=(after,))).drill("c")
    assert [(one.cells[0].value, one.cells[1].value) for one in causes.rows] == [("no free slot", 61.0), ("slot lent out", 27.0), ("own limit reached", 9.0), ("scheduler gap", 3.0)]
    assert sum(float(one.cells[1].value or 0) for one in causes.rows) == 100
    assert [one.cells[3].value for one in causes.rows] == ["io 38% db 23%", "gpu 27%", "", ""]
    assert row(decades, "0.1 - 1 s")["n"] == 30
    assert row(facts, "and waits for")["value"] == "no free slot: gpu"
    assert row(facts, "first waiting task needs")["value"] == "gpu=2"
    with pytest.raises(KeyError):
        derive(None, snapshot(1)).drill("c")


#: Since when there were so many idle and eligible slots: instants and slots, one after the other.
idles = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2)), min_size=1, max_size=12)


@settings(deadline=None, max_examples=500)
@given(idles, st.integers(0, 50), st.integers(0, 50))
def test_the_longest_stretch_of_a_window_is_exact_or_none_was_longer(pieces: list[tuple[int, int]], one: int, other: int) -> None:
    slots = [n for length, n in pieces for _ in range(length)]
    began, now = sorted((min(one, len(slots)), min(other, len(slots))))

    def at(instant: int) -> s.Snapshot:
        stretches, since = longest_of(slots[:instant]), instant
        while since and slots[since - 1]:
            since -= 1
        goes_on = slots[instant] if instant < len(slots) else since < instant
        return snapshot(instant / SECOND, resources=(resource(idle_waiting=sum(slots[:instant]), idle_waiting_longest=stretches, idle_since=since if goes_on else None),))

    value, exact = derive(at(began), at(now)).window.resources[0].longest
    truth = longest_of(slots[began:now])
    assert value == truth if exact else value >= truth
    assert value <= now - began or value == truth == 0
    assert derive(None, at(now)).window.resources[0].longest == (longest_of(slots[:now]), True)


def longest_of(slots: list[int]) -> int:
    found = run = 0
    for n in slots:
        run = run + 1 if n else 0
        found = max(found, run)
    return found


def test_when_the_longest_is_known() -> None:
    """It is of the window: an old record does not stay for ever."""
    def told(before: dict[str, Any], after: dict[str, Any]) -> tuple[float, bool]:
        frame = derive(snapshot(10, resources=(resource(**before),)), snapshot(20, resources=(resource(**after),)))
        value, exact = frame.window.resources[0].longest
        note = frame.pane("resources").rows[0].cells[10].note
        assert ("at most" in verdict(frame, "idle-while-waiting").text) == (note == "at most") == (not exact)
        return value / SECOND, exact

    s1 = SECOND
    old = {"idle_waiting": 9 * s1, "idle_waiting_longest": 7 * s1}
    assert told(old, old) == (0, True)                                                                   # nothing was idle
    assert told(old, old | {"idle_waiting": 12 * s1}) == (3, False)                                      # at most all that was lost
    assert told(old, old | {"idle_waiting": 12 * s1, "idle_since": 17 * s1}) == (3, True)                # the present one is all of it
    assert told(old, {"idle_waiting": 19 * s1, "idle_waiting_longest": 8 * s1}) == (8, True)             # a new record
    assert told(old | {"idle_since": 3 * s1}, {"idle_waiting": 30 * s1, "idle_waiting_longest": 15 * s1}) == (8, True)      # longer than the window: it began before
    assert told(old | {"idle_since": 3 * s1}, {"idle_waiting": 99 * s1, "idle_waiting_longest": 17 * s1, "idle_since": 3 * s1}) == (10, True)


# lists --------------------------------------------------------------------------------------------------------------------------------


def test_ten_thousand_groups_are_cut_and_say_so() -> None:
    frame = derive(None, snapshot(100, groups=tuple(group(f"g{i}", waiting=1, oldest=(i * 7919 % 10_000) * 10**6) for i in range(10_000))))
    pane = frame.pane("groups")
    assert (len(pane.rows), pane.total, pane.showing) == (200, 10_000, "showing 200 of 10,000")
    ages = [one.cells[[column.id for column in pane.columns].index("oldest")].value for one in pane.rows]
    assert ages == sorted(ages, key=lambda age: -float(age or 0))
    assert ages[0] == 100.0
    assert len(frame.pane("groups", most=None).rows) == 10_000
    assert len(frame.pane("groups", most=3, sort="group").rows) == 3
    one = frame.pane("groups", keep=lambda row: row.key == "g4321")
    assert ([row.key for row in one.rows], one.total, one.showing) == (["g4321"], 1, "")


def test_lists_are_sorted_by_any_column_unknown_last() -> None:
    frame = derive(None, snapshot(10, groups=(group("a", limit=5), group("b"), group("c", limit=2))))
    assert [row.key for row in frame.pane("groups", sort="limit").rows] == ["c", "a", "b"]
    assert [row.key for row in frame.pane("groups", sort="-limit").rows] == ["a", "c", "b"]
    with pytest.raises(ValueError, match="no column 'shoe'"):
        frame.pane("groups", sort="shoe")


@pytest.mark.parametrize(("name", "shown"), [
    ("tenant-c/x.y 1", "tenant-c/x.y 1"), ("a\nb\x1b[31mred", "a\\x0ab\\x1b[31mred"), ("[b]bold[/b]", "[b]bold[/b]"), ("a\\nb", "a\\\\nb"),
    ("left\u202eright", "left\\u202eright"), ("a\u2028b\u00a0c", "a\\u2028b\\xa0c"), ("\ud800", "\\ud800"), ("größe 模型", "größe 模型"), ("x" * 500, "x" * 119 + "…"), ("\x7f\x9b", "\\x7f\\x9b"), ("\U000e0041", "\\U000e0041"),
])  # fmt: skip
def test_names_are_harmless(name: str, shown: str) -> None:
    assert escape(name) == shown
    frame = derive(None, snapshot(1, program=name, resources=(resource(name, idle_waiting=SECOND // 10),), groups=(group(name, waiting=1, oldest=0),)))
    assert shown in verdict(frame, "starving").text
    assert verdict(frame, "idle-while-waiting").more.startswith(shown)


@pytest.mark.parametrize(("value", "unit", "shown"), [
    (None, "s", "-"), (18.4, "s", "18.4s"), (0.31, "s", "310ms"), (84e-6, "s", "84us"), (0, "s", "0s"), (5e-9, "s", "5ns"), (1234.5, "s", "20m34s"), (5_400, "s", "1h30m"), (3_599.6, "s", "1h00m"), (-200_000, "s", "-2d07h"), (999.7, "s", "1,000s"), (0.9997, "s", "1,000ms"), (0.04, "%", "<0.1%"), (0, "%", "0.0%"), (98_400, "1/s", "98.4k"), (12.5, "%", "12.5%"),
    (-8.4, "points", "-8.4"), (8.4, "points", "+8.4"), (10_000, "slots", "10,000"), (0.4, "slot-s/s", "0.40"), ("[x\t", "", "[x\\x09"), ("[x\t", "sentence", "[x\t"),
])  # fmt: skip
def test_cells_as_text(value: Any, unit: str, shown: str) -> None:
    assert text(value, unit) == shown


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (3.3e-5, "<0.01"), (0.01, "0.01"), (1.84, "1.8"), (12.4, "12"), (1240.0, "1,240")])
def test_amounts_are_no_powers_of_ten(value: float, shown: str) -> None:
    assert amount(value) == shown


def test_hardly_any_seals_are_left_out() -> None:
    pane = derive(None, snapshot(60, batchers=(batcher(requests=1000, seals={"full": 989, "timer": 6, "flush": 5}),))).pane("batchers")
    assert [cell.value for cell, column in zip(pane.rows[0].cells, pane.columns, strict=True) if column.id == "seals"] == ["full 99% timer 1%"]


def test_what_was_hardly_lost_is_not_told_by_resource() -> None:
    found = verdict(derive(None, snapshot(1000, resources=(resource("gpu", idle_waiting=33_000_000), resource("cpu", idle_waiting=1230 * SECOND)))), "idle-while-waiting")
    assert (found.more, "e-" in found.text, "lost 1.2 slot-s/s" in found.text) == ("cpu=1.2", False, True)


# windows add up -----------------------------------------------------------------------------------------------------------------------

steps = st.lists(st.tuples(*[st.integers(0, 10**9)] * 12), min_size=1, max_size=8)


@settings(deadline=None)
@given(steps)
def test_consecutive_windows_sum_to_the_whole(changes: list[tuple[int, ...]]) -> None:
    """Counters and integrals that never fall, whatever they are: nothing is lost or counted twice between two frames."""
    total, shots = [0] * 12, [of([0] * 12, 0)]
    for i, change in enumerate(changes, 1):
        total = [have + more for have, more in zip(total, change, strict=True)]
        shots.append(of(total, i))
    parts = [amounts(derive(one, other)) for one, other in pairwise(shots)]
    whole = amounts(derive(shots[0], shots[-1]))
    assert {name: sum(part.get(name, 0) for part in parts) for name in whole} == whole
    assert amounts(derive(None, shots[-1])) == whole


def of(n: list[int], at: int) -> s.Snapshot:
    return snapshot(
        at, events=n[0], dropped=n[1], resources=(resource(idle_waiting=n[2], busy_time=n[3], hold=s.Histogram({40: n[4]}, n[4])),),
        groups=(group("a", service=n[5], causes={"capacity gpu": n[6], "lent gpu": n[7], "lent io": n[5]}, wait=s.Histogram({50: n[8], 51: n[9]}, n[8]), started=n[8]), group("b", service=n[9])),
        batchers=(batcher(requests=n[10], needless=n[11], seals={"full": n[10]}),), workers=(worker(spinning=n[3], wasted=n[2], hits=n[0]),),
    )  # fmt: skip


def amounts(frame: Frame) -> dict[str, int]:
    window = frame.window
    (r,), (a, b), (c,), (w,) = window.resources, window.groups, window.batchers, window.workers
    return {
        "length": window.length, "events": window.events, "dropped": window.dropped, "lost": r.lost, "busy": r.busy_time, "hold": sum(r.hold.counts.values()), "service": window.service, "b": b.service,
        "capacity": a.causes.get("capacity gpu", 0), "lent": a.causes.get("lent gpu", 0), "lent io": a.causes.get("lent io", 0), "shares": sum(one.charged for one in why(a)), "by resource": sum(sum(one.resources.values()) for one in why(a)), "wait": a.wait.counts.get(50, 0), "waited": a.wait.total, "started": a.count("started"),
        "requests": c.count("requests"), "needless": c.count("needless"), "full": c.seals.get("full", 0), "spun": w.count("spinning"), "wasted": w.count("wasted"), "hits": w.count("hits"),
    }  # fmt: skip


def test_limits_reach_the_verdicts() -> None:
    shot = snapshot(10, groups=(group(waiting=1, oldest=7 * SECOND),))
    assert verdict(derive(None, shot), "starving").status == "ok"
    assert verdict(derive(None, shot, limits=Limits({"FAIR01": 2})), "starving").status == "alarm"


def test_a_listing_is_the_pane_row_by_row() -> None:
    frame = derive(None, snapshot(9, groups=tuple(group(f"g{i:03}", waiting=1, oldest=(i * 37 % 100) * SECOND // 20) for i in range(100))))
    for sort in (None, "group", "-group", "waiting"):
        pane, listing = frame.pane("groups", sort=sort, most=None), frame.listing("groups", sort)
        assert (listing.title, listing.columns, listing.sort, len(listing), frame.count("groups")) == (pane.title, pane.columns, pane.sort, 100, 100)
        assert listing.rows() == pane.rows
        assert listing.rows(40, 50) == pane.rows[40:50]
        assert [listing.find(row.key) for row in pane.rows] == list(range(100))
    assert frame.listing("groups").find("nobody") is None
    with pytest.raises(ValueError, match="no column 'colour'"):
        frame.listing("groups", "colour")
