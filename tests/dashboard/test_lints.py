"""Every lint: it speaks above its limit and not below, only after its time, and falls silent at 80%."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

from slotwise.dashboard.observe import lints
from slotwise.dashboard.observe.frames import Frame, derive
from slotwise.dashboard.observe.limits import DEFAULTS, LimitError, Limits
from slotwise.dashboard.observe.lints import LINTS, Alarm, Watch
from slotwise.impl import snapshot as s

from .samples import SECOND, batch, batcher, durations, group, resource, snapshot, wave, worker

W = 10.0                                     # seconds of a window


class Case(NamedTuple):
    make: Callable[[float, float], tuple[s.Snapshot, s.Snapshot]]        # (how bad, now) -> the two snapshots of a window
    fires: float                             # just above the limit
    lingers: float                           # below it, and above 80% of it
    clears: float                            # below that
    says: str                                # in the sentence, when it fires


def between(now: float, before: dict[str, Any], after: dict[str, Any]) -> tuple[s.Snapshot, s.Snapshot]:
    return snapshot(now - W, **before), snapshot(now, **after)


def slots(idle: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"resources": (resource(busy=8 - int(idle), eligible=5),), "groups": (group("b", waiting=5, needs={"gpu": 1}, blocked_by="scheduler"),)})


def oldest(waited: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"groups": (group("b", waiting=1, oldest=round((now - waited) * SECOND), blocked_by="capacity gpu"),)})


def got(share: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    """Of what is due to b, which is a half."""
    before, part = {"groups": (group("a"), group("b"))}, round(share / 2 * 1000 * SECOND)
    return between(now, before, {"groups": (group("a", service=1000 * SECOND - part), group("b", service=part, waiting=1, oldest=round(now * SECOND), blocked_by="capacity gpu"))})


def owing(units: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    """Of gpu; and more of something that nobody waits for."""
    return between(now, {}, {"resources": (resource(busy=8),), "groups": (group("a", debt={"io": 9, "gpu": int(units)}, waiting=3, needs={"gpu": 1}), group("b", waiting=5, needs={"gpu": 1, "db": 1}, blocked_by="lent gpu"))})


def told(seconds: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"groups": (group("b", running=3, overdue=2, overdue_since=round((now - seconds) * SECOND)),)})


def needless(percent: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {"batchers": (batcher(),)}, {"batchers": (batcher(requests=1, needless=round(percent / 100 * SECOND), open_time=SECOND),)})


def timed(fill: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    """All by timer; how full, in percent."""
    return between(now, {}, {"batchers": (batcher(requests=100, updates=round(64 * fill), seals={"timer": 100}, batches=(batch(),), needless=SECOND // 10, open_time=SECOND),)})


def commits(times: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"batchers": (batcher(commit=durations((1, 98), (times, 2))),)})


def late(percent: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"batchers": (batcher(waves=(wave(3, at=round((now - 1) * SECOND), refreshes=1000, joined=1000, late=round(10 * percent), latest=SECOND),)),)})


def joined(percent: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {"batchers": (batcher(refreshes=500, joined=500),)}, {"batchers": (batcher(refreshes=1500, joined=500 + round(10 * percent)),)})


def hits(percent: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"workers": (worker(hits=round(10 * percent), misses=1000 - round(10 * percent), spinning=SECOND, running=SECOND),)})


def wakes(seconds: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"workers": (worker(parked=SECOND, wake=durations((seconds, 50))),)})


def tape(dropped: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {"dropped": 7}, {"dropped": 7 + int(dropped)})


def check(broken: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"checks": (s.Check("LAW-1", not broken, 1, 0, "two leases"), s.Check("LAW-2", True, 1, 0))})


def differs(number: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {"divergences": (s.Divergence("DIV-41", 7, 1182, "ADM-2", "EXPIRED, not HELD", 0, "slotwise replay x"),) * int(number)})


def quiet(age: float, now: float) -> tuple[s.Snapshot, s.Snapshot]:
    return between(now, {}, {})


#: Where a limit is 0, nothing lies between it and silence.
CASES = {
    "SCH001": Case(slots, 2, 2, 0, "SCH001 gpu: 2 of 8 slots idle with 5 eligible waiters; look at b (5: scheduler gap)"),
    "FAIR01": Case(oldest, 5.1, 4.5, 3.9, "FAIR01 b: its oldest task has waited 5.1s, the SLO is 5s; it waits for: no free slot: gpu"),
    "FAIR02": Case(got, 0.49, 0.6, 0.7, "FAIR02 b: got 24.5% of the 50.0% that are due"),
    "DEBT01": Case(owing, 3, 2, 1, "DEBT01 a: owes 3 of 8 units of gpu while b waits for it (5 waiting); "),
    "LEASE01": Case(told, 0.21, 0.17, 0.15, "LEASE01 b: 2 tasks were told to end (a deadline, or a cancellation) and still hold their units, the first for 210ms; "),
    "CKPT01": Case(needless, 10.5, 9, 7.5, "CKPT01 ckpt: 10% of the time"),
    "CKPT02": Case(timed, 49, 60, 65, "CKPT02 ckpt: 100% of its batches were sealed by a timer, 49% full, and 10% of the time was waited for nothing"),
    "CKPT03": Case(commits, 5.5, 4.6, 3.5, "CKPT03 ckpt: commits take 5.64s at p99, 5.8 times their median"),
    "WAVE01": Case(late, 5.1, 4.5, 3.5, "WAVE01 ckpt#3: 51 of 1000 refreshes were late, the latest 1s"),
    "WAVE02": Case(joined, 49, 60, 65, "WAVE02 ckpt: only 490 of 1000"),
    "SPIN01": Case(hits, 9, 12, 13, "SPIN01 w0: 9% of its spins found a task, and it spun 50% of the time"),
    "SPIN02": Case(wakes, 0.0012, 0.0009, 0.0007, "SPIN02 w0: it wakes up in 1.2"),
    "LOOP01": Case(quiet, 0.31, 0.25, 0.23, "LOOP01: STALLED: the last snapshot is 310ms old"),
    "TAPE01": Case(tape, 1, 1, 0, "TAPE01: 1 events were not recorded"),
    "INV": Case(check, 1, 1, 0, "INV LAW-1: does not hold: two leases"),
    "DIV": Case(differs, 1, 1, 0, "DIV DIV-41: seed=7 step=1182 ADM-2: EXPIRED, not HELD; slotwise replay x"),
}  # fmt: skip


def frame(code: str, bad: float, now: float, **how: Any) -> Frame:
    return derive(*CASES[code].make(bad, now), age=round(bad * SECOND) if code == "LOOP01" else None, **how)


def of(alarms: tuple[Alarm, ...], code: str) -> list[str]:
    return [alarm.sentence for alarm in alarms if alarm.code == code]


def test_every_lint_has_its_case_and_its_limit() -> None:
    assert list(CASES) == list(LINTS) == list(DEFAULTS)


@pytest.mark.parametrize("code", CASES)
def test_it_speaks_above_its_limit_after_its_time(code: str) -> None:
    case, hold, watch = CASES[code], DEFAULTS[code].hold / SECOND, Watch()
    first = of(watch.look(frame(code, case.fires, 100)), code)
    assert bool(first) == (not hold)
    if hold:
        assert watch.rechecks == 1
        assert of(watch.look(frame(code, case.fires, 100 + 0.9 * hold)), code) == []
    (said,) = of(watch.look(frame(code, case.fires, 100 + hold)), code)
    assert said.startswith(case.says)


@pytest.mark.parametrize("code", CASES)
def test_it_does_not_speak_below_its_limit(code: str) -> None:
    case, watch = CASES[code], Watch()
    below = case.clears if case.lingers == case.fires else case.lingers
    for now in (100, 120, 140):
        assert of(watch.look(frame(code, below, now)), code) == []
    assert watch.rechecks == 0


@pytest.mark.parametrize("code", CASES)
def test_it_falls_silent_at_80_percent_and_not_before(code: str) -> None:
    case, watch = CASES[code], Watch()
    for now in (100, 120):
        watch.look(frame(code, case.fires, now))
    (lingering,) = [alarm for alarm in watch.look(frame(code, case.lingers, 130)) if alarm.code == code]
    assert lingering.since == 100 * SECOND
    assert of(watch.look(frame(code, case.clears, 140)), code) == []
    again = of(watch.look(frame(code, case.lingers, 150)), code)
    assert again == [] or case.lingers == case.fires


@pytest.mark.parametrize("code", [code for code in CASES if DEFAULTS[code].hold])
def test_its_time_begins_anew_after_a_pause(code: str) -> None:
    """Anything below the limit is a pause, before it has spoken."""
    case, hold = CASES[code], DEFAULTS[code].hold / SECOND
    for pause in {case.clears, case.clears if case.lingers == case.fires else case.lingers}:
        watch = Watch()
        for now, bad in ((100.0, case.fires), (100 + hold / 2, pause), (100 + 0.6 * hold, case.fires), (100 + 1.5 * hold, case.fires)):
            assert of(watch.look(frame(code, bad, now)), code) == []


@pytest.mark.parametrize("code", CASES)
def test_it_can_be_allowed(code: str) -> None:
    watch = Watch(Limits(allowed=[code]))
    for now in (100, 120):
        assert of(watch.look(frame(code, CASES[code].fires, now)), code) == []


@pytest.mark.parametrize("code", [code for code in CASES if DEFAULTS[code].unit])
def test_its_limit_can_be_changed(code: str) -> None:
    """To just beyond what would fire."""
    case, less = CASES[code], code in ("FAIR02", "CKPT02", "WAVE02", "SPIN01")
    limits = Limits({code: case.fires * (0.9 if less else 1.1)})
    watch = Watch(limits)
    for now in (100, 120):
        assert of(watch.look(frame(code, case.fires, now, limits=limits)), code) == []


@pytest.mark.parametrize("code", CASES)
def test_one_frame_says_recheck_or_warn(code: str) -> None:
    case, lint = CASES[code], LINTS[code]
    assert set(lint.check(frame(code, case.fires, 100)).values()) == {"recheck" if DEFAULTS[code].hold else "warn"}
    assert "warn" not in lint.check(frame(code, case.clears, 100)).values()
    assert lint.summary(3).startswith("3 ")


# what only looks like trouble ------------------------------------------------------------------------------------------------------


def alarms_of(before: s.Snapshot | None, after: s.Snapshot) -> set[str]:
    watch = Watch()
    watch.look(derive(before, after))
    later = s.Snapshot(**{name: getattr(after, name) for name in after.__struct_fields__} | {"now": after.now + 20 * SECOND})
    return {alarm.code for alarm in watch.look(derive(before, later))}


QUIET: dict[str, dict[str, Any]] = {
    "free slots that nobody could use": {"resources": (resource(busy=2, waiting=9, eligible=0),)},
    "work that waits, and no free slot": {"resources": (resource(busy=8, waiting=9, eligible=9),)},
    "little for a group that its own limit holds": {"groups": (group("a", service=SECOND * 99), group("b", waiting=1, oldest=0, causes={"limit": SECOND}, blocked_by="limit"))},
    "a debt that nobody waits for": {"groups": (group("a", debt={"gpu": 9}, waiting=1, needs={"gpu": 1}), group("b", waiting=1, needs={"io": 1}), group("c", waiting=1, needs={"gpu": 1}, blocked_by="limit"))},
    "seals by timer, full": {"batchers": (batcher(requests=10, updates=600, seals={"timer": 10}, batches=(batch(),)),)},
    "half empty, flushed": {"batchers": (batcher(requests=10, updates=60, seals={"flush": 10}, batches=(batch(),)),)},
    "few commits": {"batchers": (batcher(commit=durations((1, 18), (9, 1))),)},
    "an old wave": {"batchers": (batcher(waves=(wave(at=-1, refreshes=10, joined=0, late=9),)),)},
    "little spinning, in vain": {"workers": (worker(hits=0, misses=99, spinning=SECOND, running=9 * SECOND),)},
    "slow to wake, while it spins": {"workers": (worker(spinning=SECOND, parked=SECOND, hits=9, wake=durations((0.1, 50))),)},
    "an old loss": {},
}


@pytest.mark.parametrize("why", QUIET)
def test_it_is_quiet_about(why: str) -> None:
    assert alarms_of(snapshot(1, dropped=9), snapshot(30, dropped=9, **QUIET[why])) == set()


def test_alarms_come_gravest_first_and_go_with_their_things() -> None:
    watch = Watch()
    both = {"checks": (s.Check("LAW-1", False, 1, 0),), "groups": (group("[b]", waiting=1, oldest=0),)}
    found = watch.look(derive(snapshot(10, dropped=0), snapshot(20, dropped=5, **both)))
    assert [(alarm.code, alarm.status) for alarm in found] == [("FAIR01", "alarm"), ("INV", "alarm"), ("TAPE01", "warn")]
    assert "FAIR01 [b]: " in found[0].sentence
    assert lints.status(found) == "alarm"
    pane = lints.pane(found, 20 * SECOND)
    assert [row.cells[1].value for row in pane.rows] == ["FAIR01", "INV", "TAPE01"]
    assert watch.look(derive(snapshot(20), snapshot(30))) == ()
    assert lints.status(()) == "ok"


def test_a_restart_forgets() -> None:
    watch = Watch()
    watch.look(frame("CKPT01", 20, 100))
    restarted = derive(snapshot(200, pid=1), CASES["CKPT01"].make(20, 111)[1])
    assert restarted.head.restarted
    assert of(watch.look(restarted), "CKPT01") == []
    watch = Watch()
    for now, run, speaks in ((100, 1, False), (111, 1, True), (122, 2, False), (133, 2, True)):
        before, after = (msgspec.structs.replace(one, pid=run) for one in CASES["CKPT01"].make(20, now))
        assert bool(of(watch.look(derive(before, after)), "CKPT01")) == speaks


@pytest.mark.parametrize(("warn", "allow", "why"), [
    (["FAIR9=1"], [], "FAIR9: no such lint; there are SCH001, FAIR01"), (["FAIR01"], [], "expected CODE=value, the value a number; = is missing"), (["FAIR01=soon"], [], "'FAIR01=soon': expected CODE=value"),
    (["FAIR01=-1"], [], "not negative"), (["FAIR01=nan"], [], "not negative"), (["DIV=3"], [], "DIV has no value"), ([], ["debt"], "debt: no such lint"),
])  # fmt: skip
def test_wrong_limits_are_named(warn: list[str], allow: list[str], why: str) -> None:
    with pytest.raises(LimitError, match=why.replace("(", r"\(")):
        Limits.parse(warn, allow)
    assert Limits.parse(["FAIR01=2.5"])["FAIR01"] == 2.5


def test_whoever_asks_for_little_is_not_behind_with_little() -> None:
    """b is due half of 8 slots, and got a 32nd of them, with ten tasks; more of the same wait."""

    def speaks(waiting: int, started: int = 10) -> bool:
        b = group("b", service=round(2.5 * SECOND), started=started, waiting=waiting, oldest=10 * SECOND, blocked_by="capacity gpu", needs={"gpu": 1}, causes={"capacity gpu": SECOND})
        groups = (group("a", service=round(77.5 * SECOND)), b)
        frame = derive(snapshot(0, groups=(group("a"), group("b"))), snapshot(W, resources=(resource(busy=8),), groups=groups))
        found = {reading.entity for reading in LINTS["FAIR02"].read(frame) if reading.badness > 1}
        assert found == {row.key for row in frame.pane("groups").rows if "BEHIND" in str(row.cells)}
        return bool(found)

    assert not speaks(0)
    assert not speaks(10), "as much again would do"
    assert speaks(11)
    assert speaks(1000)
    assert speaks(1, started=0), "nobody knows how much each of them needs"


def test_batches_are_blamed_for_waiting_in_vain_only() -> None:
    def speaks(needless: float) -> bool:
        one = batcher(requests=100, updates=640, seals={"timer": 100}, batches=(batch(),), needless=round(needless * SECOND), open_time=SECOND)
        return any(reading.badness > 1 for reading in LINTS["CKPT02"].read(derive(snapshot(0), snapshot(W, batchers=(one,)))))

    assert not speaks(0.04)
    assert speaks(0.06)


def test_few_refreshes_say_nothing() -> None:
    for refreshes, says in ((9, False), (10, True)):
        frame = derive(snapshot(0), snapshot(W, batchers=(batcher(refreshes=refreshes),)))
        assert any(LINTS["WAVE02"].read(frame)) is says


def test_an_alarm_that_lasts_below_its_limit_says_so() -> None:
    """It closes at 80%: until then nobody should read of a wait that is shorter than the SLO, as if it were longer."""
    watch = Watch()
    for waited, now, said in ((5.1, 20, "waited 5.1s, the SLO is 5s; "), (4.5, 21, "waited 4.5s, not yet 20% below the SLO of 5s; ")):
        alarms = watch.look(derive(*oldest(waited, now)))
        assert [said in alarm.sentence for alarm in alarms if alarm.code == "FAIR01"] == [True]


def test_a_source_that_does_not_tell_what_is_waited_for() -> None:
    before, after = oldest(9, 20)
    after = msgspec.structs.replace(after, groups=tuple(msgspec.structs.replace(one, blocked_by="") for one in after.groups))
    assert [alarm.sentence for alarm in Watch().look(derive(before, after)) if alarm.code == "FAIR01"] == ["FAIR01 b: its oldest task has waited 9s, the SLO is 5s; this source does not tell what it waits for"]
