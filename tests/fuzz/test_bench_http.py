"""`slotwise bench http`: its analysis on numbers whose truth is known, its checks on runs that are wrong, and a small real run."""
from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from slotwise.cli import bench_http as shown
from slotwise.cli import main
from slotwise.fuzz import bench, bench_http, inference
from slotwise.fuzz.bench_http import AFTER, ARMS, BEFORE, LOADS, OURS, Change, Load, Report, Run
from slotwise.fuzz.exits import INVARIANT
from slotwise.impl import snapshot as s

TINY = Load(6, 2, turns=2)


@pytest.mark.parametrize(("pairs", "cut"), [(2, 0), (5, 0), (8, 0), (9, 1), (12, 2), (20, 5), (25, 7), (100, 39)])
def test_the_interval_is_the_sign_tests(pairs: int, cut: int) -> None:
    """So many on each side, from the published tables (the rank is one more)."""
    found = bench_http.change([1 + (i + 1) / 100 for i in range(pairs)][::-1], [1.0] * pairs)
    assert (found.median, found.low, found.high) == pytest.approx(((pairs + 1) / 2, cut + 1, pairs - cut))


def test_a_stall_is_one_pair_and_no_more() -> None:
    quiet = [0.99, 1.0, 1.01] * 4
    assert bench_http.change(quiet, [1.0] * 12) == bench_http.change([*quiet[:11], 50.0], [1.0] * 12) == bench_http.change([*quiet[:11], 1.01], [1.0] * 12)


def test_a_change_is_by_pairs() -> None:
    """What the machine does to both of a pair does not matter; what it does to one does."""
    drift = [1.0, 1.5, 3.0, 0.7, 2.2]
    same = bench_http.change([0.9 * d for d in drift], drift)
    assert (same.median, same.low, same.high) == pytest.approx((-10, -10, -10))
    found = bench_http.change([1.05, 1.02, 1.03, 1.04, 1.01], [1.0] * 5)
    assert (found.median, found.low, found.high) == pytest.approx((3, 1, 5))
    for walls, others in (([1.0], [1.0]), ([1.0, 2.0], [1.0])):
        with pytest.raises(ValueError, match=r"too few|shorter"):
            bench_http.change(walls, others)


@pytest.mark.parametrize(("change", "worse", "words"), [
    (Change(-3, -4, -2), False, "faster"), (Change(0.1, -2, 2.2), False, "no difference seen"), (Change(2, 1, 3), True, "slower"), (Change(0.3, 0.1, 0.5), True, "slower"),
    (Change(-1, -9, 7), None, "too wide"), (Change(20, 1, 39), True, "slower"),
])  # fmt: skip
def test_the_judgement(change: Change, worse: bool | None, words: str) -> None:
    assert change.worse is worse
    assert words in bench_http.judged(change)


def runs(*walls: float) -> list[Run]:
    return [Run(wall, 0.9, 43.2, 1.5, {"capacity": 1.0}, 0.4) for wall in walls]


def report(ours: float = 1.0, noise: float = 0.0) -> Report:
    arms = {BEFORE: runs(2, 2, 2), AFTER: runs(1, 1, 1), OURS: runs(ours - noise, ours, ours + noise)}
    return Report({LOADS[0]: arms}, bench_http.figures_of(LOADS[0], arms), (0.5, 0.75), 12)


def test_the_figures() -> None:
    def bar(*numbers: float) -> Any:
        (found,) = [figure for figure in report(*numbers).figures if figure.bar]
        assert found.name == "http, 32 records, capacity 8: wall, ours against after"
        return found.met

    assert (bar(1.0), bar(0.9), bar(1.02), bar(1.0, 0.01), bar(1.0, 0.2)) == (True, True, False, True, None)
    by_name = {figure.name.partition(": ")[2]: figure.figure for figure in report(0.8).figures}
    assert by_name["wall, ours against after"] == pytest.approx(-20)
    assert by_name["wall, ours against before"] == pytest.approx(-60)
    assert by_name["wall, after against before"] == pytest.approx(-50)
    assert by_name[OURS] == pytest.approx(40)
    assert by_name["slots used, slotwise"] == pytest.approx(90)


def test_the_table() -> None:
    told = shown.tables(report(0.8))
    assert "published, from another machine and the whole product: before 930 ms, after 889 ms, -4.38% [-8.04, -0.67]" in told
    assert [" ".join(line.split()) for line in told.splitlines() if line.startswith(OURS)] == ["slotwise 800 800 800 40.0 90.0% 43.2 2 -20.00% [-20.00, -20.00] -60.00% [-60.00, -60.00]"]
    assert "the models alone need 340 ms" in told
    assert told.endswith("load average 0.50 before, 0.75 after")
    assert json.loads(json.dumps(report(0.8).to_json()))["loads"][0]["changes"]["slotwise ÷ data-designer-0.9"]["median"] == pytest.approx(-20)


# the arms ---------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "alone", "owed", "then"), [
    (BEFORE, 7, 3, ["fast0", "fast1", "fast2", "fast3", "slow7"]), (AFTER, 8, 4, ["fast0", "fast1", "fast2", "fast3", "slow8"]), (OURS, 8, 0, ["fast0", "fast1", "fast2", "fast3", "fast4"]),
])  # fmt: skip
def test_each_arm_is_the_policy_it_stands_for(profile: str, alone: int, owed: int, then: list[str]) -> None:
    """Alone on eight slots, a group leaves one free before the change; what it has beyond its half it owes. Then it makes way up to the other's
    half; or, ours, as long as the other has had less slot-time."""
    from slotwise.fuzz.requests_dag import slow_to_fast_groups
    from slotwise.impl import Admission
    from slotwise.spec.vocabulary import Task

    it = Admission(profile, {"llm": 8})

    def arrive(group: str, at: int) -> None:
        it.enqueue([Task(f"{group}{i}", group, {"llm": 1}) for i in range(20)], groups=[each for each in slow_to_fast_groups(8) if each.name == group], at=at)

    def started(at: int) -> list[Any]:
        return [word for word in it.pump(at=at) if word[0] == "started"]

    arrive("slow", 0)
    running = started(0)
    assert (len(running), it.debts()) == (alone, {"slow": {"llm": owed}} if owed else {})
    arrive("fast", 80)
    found: list[str] = []
    for lease in (word[1] for word in running[:6]):
        it.release(lease, at=80)
        found += [word[2] for word in started(80)]
    assert found[:5] == then


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_in_virtual_time_the_disciplines_take_as_long(load: Load) -> None:
    from slotwise.fuzz.requests_virtual import wall, wall_against

    before, after = (wall(profile, load.records, load.capacity, seed=1) for profile in (BEFORE, AFTER))
    assert load.least < after < before
    assert wall(AFTER, load.records, load.capacity, seed=1) == after != wall(AFTER, load.records, load.capacity, seed=2)
    assert abs(wall_against(OURS, AFTER, load.records, load.capacity, seeds=3)) < 0.2
    assert wall_against(BEFORE, AFTER, load.records, load.capacity, seeds=3) > 5


# the checks --------------------------------------------------------------------------------------------------------------------------


def right_run() -> dict[str, Any]:
    from slotwise.fuzz.requests_dag import right_answer

    resource = s.Resource("llm", 2, 0, 0, 0, 0, 0, 0, 10, s.Histogram())
    group = s.Group("slow", 1.0, None, 0, 0, 0, None, 0, s.Histogram(), {}, 6, 6, 6, 0, 0, 0, 0)
    each = {"slow": 6, "fast": 6}
    stats = {"capacity": 2, "active": 0, "peak": 2, "over_capacity": 0, "refused": 0, "requests": each, "answered": each}
    shot = s.Snapshot(s.VERSION, "p", 1, 0, 9, 1, 9, 0, 0, (resource,), (group,))
    return {"answers": [right_answer(i) for i in range(6)], "answered": 12, "shot": shot, "stats": stats}


def with_stats(**changes: Any) -> dict[str, Any]:
    run = right_run()
    return {**run, "stats": {**run["stats"], **changes}}


def with_shot(**changes: Any) -> dict[str, Any]:
    run = right_run()
    return {**run, "shot": msgspec.structs.replace(run["shot"], **changes)}


def left(**changes: Any) -> dict[str, Any]:
    (group,) = right_run()["shot"].groups
    return with_shot(groups=(msgspec.structs.replace(group, **changes),))


def test_a_run_that_is_right_passes() -> None:
    assert bench_http.wrong(TINY, **right_run()) == []


FAILS: dict[str, tuple[dict[str, Any], str]] = {
    "an answer is missing": ({**right_run(), "answers": right_run()["answers"][:5]}, "5 right answers of 5, expected 6"),
    "an answer is wrong": ({**right_run(), "answers": ["no", *right_run()["answers"][1:]]}, "5 right answers of 6, expected 6"),
    "answers are mixed up": ({**right_run(), "answers": right_run()["answers"][::-1]}, "0 right answers of 6, expected 6"),
    "an answer came twice": ({**right_run(), "answered": 13}, "13 requests answered, expected 12"),
    "a request too many": (with_stats(requests={"slow": 7, "fast": 6}), "the server had"),
    "one was not answered": (with_stats(answered={"slow": 5, "fast": 6}), "the server had"),
    "above the capacity": (with_stats(peak=3), "3 requests at once, the endpoint's capacity is 2"),
    "another capacity": (with_stats(capacity=3), "requests at once"),
    "one beyond": (with_stats(over_capacity=1), "1 requests beyond"),
    "one refused": (with_stats(refused=1), "1 requests refused"),
    "one active": (with_stats(active=1), "1 requests still active"),
    "a lease": (with_shot(leases=1), "1 leases held"),
    "a unit": (with_shot(resources=(msgspec.structs.replace(right_run()["shot"].resources[0], busy=1),)), "leases held"),
    "one waits": (left(waiting=1), "1 tasks left"),
    "one runs": (left(running=1), "1 tasks left"),
    "one pauses": (left(backing_off=1), "1 tasks left"),
}


@pytest.mark.parametrize("name", FAILS)
def test_each_check_can_fail(name: str) -> None:
    run, why = FAILS[name]
    assert [told for told in bench_http.wrong(TINY, **run) if why in told], bench_http.wrong(TINY, **run)


# a real one --------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_small_run(backend: str) -> None:
    pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    told: list[str] = []
    found = bench_http.measure([TINY], tell=told.append, backend=backend)
    assert [note.rpartition(", ")[2] for note in told] == [*ARMS[::-1], *ARMS, *ARMS[::-1]]
    assert {arm: len(of) for arm, of in found.runs[TINY].items()} == dict.fromkeys(ARMS, 2)
    assert found.requests == 2 * 6 * 2 * 3
    assert all(TINY.least <= run.wall and 0 < run.used <= 1 and sum(run.causes.values()) > 0 for runs in found.runs[TINY].values() for run in runs)
    assert len(found.figures) == 10
    told_all = shown.tables(found)
    assert "published" not in told_all
    assert f"ours against after {found.virtual[TINY]:+.2f}% (6 records, capacity 2)" in told_all


def test_a_scheduler_with_one_slot_too_many_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("httpx")
    pytest.importorskip("uvicorn")
    monkeypatch.setattr(inference, "TIMES", {"slow": 0.5, "fast": 0.005})     # long enough for three to be there at once, on a slow machine too
    with pytest.raises(bench.CheckFailed, match=r"^6 records, capacity 2, slotwise: .*3 requests at once, the endpoint's capacity is 2; [1-9]\d* requests beyond"):
        bench_http.measure([TINY], units=lambda load: load.capacity + 1)


def test_a_failed_check_is_an_error_and_not_a_footnote(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def failed(**_: Any) -> Report:
        raise bench.CheckFailed("one beyond")

    monkeypatch.setattr(bench_http, "measure", failed)
    assert main.run(["bench", "http"]) == INVARIANT
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "slotwise: bench: one beyond\n")
    with pytest.raises(bench.CheckFailed):
        bench.run(["http"])


def test_it_is_reached_by_name(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bench_http, "measure", lambda **_: report(0.8))
    assert main.run(["bench", "http"]) == 0
    assert "-20.00% [-20.00, -20.00]" in capsys.readouterr().out
    assert main.run(["bench", "http", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["http"]["requests"] == 12
    assert {figure["command"] for figure in found["figures"]} == {"slotwise bench http"}

    def missing(**_: Any) -> Report:
        raise bench.NotAvailable("httpx is missing")

    monkeypatch.setattr(bench_http, "measure", missing)
    assert main.run(["bench", "http"]) == 0
    assert "http: not available: httpx is missing" in capsys.readouterr().err
