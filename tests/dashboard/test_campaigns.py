"""Searches as they are shown: what is reached and missing, when that is said, the verdict, reports, shrunk traces; and one seen live."""
from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from slotwise.cli import fuzz, fuzz_tap, main, store
from slotwise.cli.output import Stop
from slotwise.cli.words import WORDS
from slotwise.dashboard.observe import campaigns, report, shrunk
from slotwise.dashboard.observe.frames import Frame, derive
from slotwise.dashboard.observe.lints import Watch
from slotwise.dashboard.observe.sources.campaign import SECOND
from slotwise.dashboard.observe.sources.source import SourceError, find
from slotwise.fuzz import floors, seeded, targets, walker
from slotwise.fuzz.report import Report
from slotwise.fuzz.target import Target
from slotwise.impl import Admission
from slotwise.impl import snapshot as s
from slotwise.spec.vocabulary import PROFILES

from .samples import resource, snapshot
from .test_files import read

pytest.importorskip("slotwise.impl._native", reason="the engine is not built")
FAULT = "native:faults/running_limit_off_by_one"
FLOORS = {"QUE-1": 900.0, "QUE-2": 40.0, "QUE-3": 0.4}


def campaign(**changes: Any) -> s.Campaign:
    """One that is under way and well."""
    usual: dict[str, Any] = {
        "mechanism": "admission", "profile": "strict", "target": "native", "seed": 7, "steps": 40_000, "episodes": 600, "time": 4 * SECOND, "new_at": 1000,
        "rules": {"QUE-1": 9000, "QUE-2": 400, "QUE-3": 4}, "floors": FLOORS, "faults": 28, "killed": None, "result": "searching",
    }  # fmt: skip
    return s.Campaign(**usual | changes)


def frame(*found: s.Campaign, before: s.Snapshot | None = None, now: float = 5, **changes: Any) -> Frame:
    return derive(before, snapshot(now, campaigns=found, **changes))


def cells(frame: Frame, pane: str, place: int = 0) -> dict[str, Any]:
    table = frame.pane(pane)
    return dict(zip((column.id for column in table.columns), (cell.value for cell in table.rows[place].cells), strict=True))


def verdict(frame: Frame) -> Any:
    return next(one for one in frame.verdicts if one.name == "fuzz")


def test_nothing_of_it_where_there_is_none() -> None:
    quiet = derive(None, snapshot(1, resources=(resource(),)))
    assert not {"campaigns", "rules"} & set(quiet.names)
    assert "fuzz" not in [one.name for one in quiet.verdicts]


def test_one_that_is_well() -> None:
    found = frame(campaign())
    row = cells(found, "campaigns")
    assert {key: row[key] for key in ("mechanism", "profile", "steps", "speed", "since", "rules", "floors", "faults", "result", "missing")} == {
        "mechanism": "admission", "profile": "strict", "steps": 40_000, "speed": 10_000.0, "since": 39_000, "rules": "3/3", "floors": "kept", "faults": "-/28", "result": "searching", "missing": "",
    }  # fmt: skip
    assert found.pane("campaigns").rows[0].status == "ok"
    assert (verdict(found).status, verdict(found).text) == ("ok", "10.0k steps/s, 0 of 1 campaign done, 0 rules missing, 0 divergences")
    assert campaigns.checks([campaign()], 9)[1] == s.Check("admission/strict QUE-2", True, 400, 9, "decided 400 times in 40,000 steps, its floor is 40.0")


def test_speed_is_that_of_the_window_while_it_searches() -> None:
    before = snapshot(4, campaigns=(campaign(steps=30_000, time=3 * SECOND),))
    later = campaign(time=round(3.5 * SECOND), steps=40_000)
    assert cells(frame(later, before=before), "campaigns")["speed"] == 20_000.0
    assert verdict(frame(later, before=before)).numbers["steps_per_s"] == 20_000.0
    ended = msgspec.structs.replace(later, result="no divergence")
    assert cells(frame(ended, before=before), "campaigns")["speed"] == pytest.approx(40_000 / 3.5)
    assert cells(frame(campaign(time=0, steps=0, result="waiting")), "campaigns")["speed"] is None


NEVER = {"QUE-1": 9000, "QUE-2": 0, "QUE-3": 4}


def test_a_rule_that_is_never_reached_is_an_alarm_after_enough_steps() -> None:
    found = frame(campaign(rules=NEVER))
    assert cells(found, "campaigns")["missing"] == "QUE-2"
    assert (found.pane("campaigns").rows[0].status, verdict(found).status) == ("alarm", "alarm")
    assert cells(found, "rules") == {
        "rule": "QUE-2", "profile": "strict", "mechanism": "admission", "decided": 0, "often": 0.0, "floor": 40.0, "margin": 0.0, "state": "NEVER",
        "sentence": cells(found, "rules")["sentence"],
    }  # fmt: skip
    assert cells(found, "rules")["sentence"].startswith("A task is not accepted")
    assert verdict(found).more == "admission/strict: QUE-2"
    assert [one.id for one in campaigns.checks([campaign(rules=NEVER)], 9) if not one.holds] == ["admission/strict QUE-2"]
    early = frame(campaign(rules=NEVER, steps=campaigns.ENOUGH - 1))
    assert (cells(early, "rules")["state"], verdict(early).status, cells(early, "campaigns")["floors"]) == ("not yet", "ok", "-")
    assert campaigns.checks([campaign(rules=NEVER, steps=campaigns.ENOUGH - 1)], 9) == ()


def test_a_rare_rule_may_still_come_while_it_searches() -> None:
    rare = {"QUE-1": 9000, "QUE-2": 400, "QUE-3": 0}
    assert campaigns.missed(campaign(rules=rare)) == []
    assert campaigns.missed(campaign(rules=rare, result="no divergence")) == ["QUE-3"]


def test_too_seldom_is_a_warning_and_no_floor_too() -> None:
    seldom = frame(campaign(rules={"QUE-1": 9000, "QUE-2": 39, "QUE-3": 4, "QUE-9": 5}))
    assert [(row.cells[0].value, row.status) for row in seldom.pane("rules").rows] == [("QUE-2", "warn"), ("QUE-1", "ok"), ("QUE-3", "ok"), ("QUE-9", "warn")]
    assert (cells(seldom, "campaigns")["floors"], verdict(seldom).status, verdict(seldom).numbers["missed_floors"]) == ("2 missed", "warn", 2)


def test_what_was_never_reached_comes_first_though_it_has_no_floor() -> None:
    found = frame(campaign(rules={"QUE-1": 900, "QUE-2": 40, "QUE-9": 0}, steps=50))
    assert found.pane("rules").rows[0].key == "admission/strict QUE-9"


def test_it_says_what_fuzz_says() -> None:
    """The same rules miss their floors, from as many steps on."""
    profile = PROFILES["strict"]
    assert campaigns.ENOUGH == floors.ENOUGH
    asked = fuzz_tap.asked(profile)
    for steps in (19_999, 20_000, 90_000):
        for hits in (0, 1, 40, 4000):
            rules = {rule.id: hits for rule in floors.rules_of(profile)}
            one = campaign(rules=rules, steps=steps, floors=fuzz_tap.scaled(asked, steps), result="no divergence")
            assert campaigns.missed(one) == [missed.rule for missed in floors.missed(profile, rules, steps)]


def test_a_failure_ends_the_judgement_of_floors() -> None:
    found = frame(campaign(rules=NEVER, result="DIVERGENCE at SLT-9"), divergences=(s.Divergence("admission/strict SLT-9", 1, 2, "SLT-9", "x", 0),))
    assert cells(found, "campaigns")["floors"] == "-"
    assert (verdict(found).status, verdict(found).more) == ("alarm", "DIVERGENCE at SLT-9 (admission/strict)")
    assert verdict(found).text.endswith("1 of 1 campaign done, 0 rules missing, 1 divergence")
    assert report.exit_code(found, (), "alarm") == report.REACHED


def test_hostile_names_are_harmless() -> None:
    found = frame(campaign(mechanism="a\x1b[2J", profile="[red]", target="\u202e", rules={"\x07": 3}, result="LAW\n"), program="x")
    text = report.as_text(found, Watch().look(found))
    assert "\x1b" not in text
    assert "\x07" not in text
    json.dumps(report.as_object(found, ()))
    assert cells(found, "rules")["sentence"] == ""


def test_killed_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profile = PROFILES["slotwise"]
    mine = [fault for fault in seeded.catalogue() if fault.mechanism == "admission" and "slotwise" in fault.profiles]
    assert fuzz_tap.faults(profile) == (len(mine), None)
    store.keep("last-mutation", {"killed": {mine[0].rule: [mine[0].name, "another"], "SPN-1": ["x"]}})
    assert fuzz_tap.faults(profile) == (len(mine), 1)
    shapes: tuple[object, ...] = ({"killed": 7}, {"killed": {mine[0].rule: 9}}, {"killed": {mine[0].rule: [[]]}}, [])
    for nonsense in shapes:
        store.keep("last-mutation", nonsense)
        assert fuzz_tap.faults(profile)[1] in (None, 0)


def test_a_finding_is_something_new() -> None:
    """Long after the last rule decided for the first time, this target sees something else."""
    steps = 0

    def make(profile: Any, setup: Any) -> Any:
        inner = Admission(profile, setup)

        class Late:
            def step(self, command: Any) -> Any:
                nonlocal steps
                steps += 1
                return [("full",)] if steps > 3000 else inner.step(command)

        return Late()

    found = walker.campaign(Target("late", make), PROFILES["strict"], steps=5000, shrink=False)
    assert found.failures
    assert found.new_at == found.steps
    clean = walker.campaign(targets.load("native"), PROFILES["strict"], steps=found.steps)
    assert 0 < clean.new_at < clean.steps


# reports ------------------------------------------------------------------------------------------------------------------------------


def written(path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Path:
    main.run(["fuzz", *arguments, "--json"])
    file = path / "report.json"
    file.write_text(capsys.readouterr().out)
    return file


def test_a_report_of_a_faulty_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, capsys, "admission", "--target", FAULT, "--steps", "30000")
    (last,) = read(find(str(file)))
    (one,) = last.campaigns
    assert (one.mechanism, one.profile, one.target, one.result, one.faults > 20, one.killed) == ("admission", "slotwise", FAULT, "DIVERGENCE at SLT-9", True, None)
    assert one.steps == one.new_at < 30_000
    (found,) = last.divergences
    assert found.trace == f"{file}#0.0"
    lines = shrunk.told(found.trace, found.rule, WORDS)
    assert lines[0] == "SLT-9: A group never runs more tasks than its limit."
    assert lines[2] == f"the shrunk trace, 3 steps under slotwise: {file}#0.0"
    assert lines[-1].split() == ["3", "pump", "at", "most", "1", "blocked"]
    assert "enqueue a1 of a (1 r), a2 of a (1 r)" in lines[4]
    assert main.run(["watch", str(file), "--once", "--fail-on", "alarm"]) == 1
    assert "1 divergence  DIVERGENCE at SLT-9 (admission/slotwise)" in capsys.readouterr().out


def test_a_report_of_clean_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(tmp_path, capsys, "--profile", "slotwise", "--steps", "300")
    (last,) = read(find(str(file)))
    assert [(one.mechanism, one.result, campaigns.judged(one), bool(one.floors)) for one in last.campaigns] == [(name, "no divergence", False, True) for name in ("admission", "batching", "spin")]
    assert last.checks == ()
    file = written(tmp_path, capsys, "--profile", "strict", "--steps", "20000")
    (last,) = read(find(str(file)))
    (one,) = last.campaigns
    assert (campaigns.judged(one), campaigns.missed(one)) == (True, [])
    assert [(check.id, check.holds) for check in last.checks] == [(f"admission/strict {rule}", True) for rule in one.rules]
    assert main.run(["watch", str(file), "--once", "--fail-on", "warn"]) == 0
    text = capsys.readouterr().out
    assert "OK    fuzz" in text
    assert "1 of 1 campaign done, 0 rules missing, 0 divergences" in text


def test_an_old_report_says_what_it_knows(tmp_path: Path) -> None:
    old = {"target": "native", "profile": "strict", "seed": 1, "steps": 50_000, "seconds": 2.0, "rules": {"QUE-1": 5, "QUE-2": 0}, "divergences": [], "floors_missed": [{"rule": "QUE-2", "hits": 0, "floor": 3.0}]}
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old))
    (last,) = read(find(str(file)))
    assert [(check.id, check.holds) for check in last.checks] == [("admission/strict QUE-1", True), ("admission/strict QUE-2", False)]
    assert (last.campaigns[0].result, last.campaigns[0].floors, last.campaigns[0].killed) == ("no divergence", {}, None)


@pytest.mark.parametrize("change", [{"seconds": -1}, {"seconds": 1e300}, {"steps": -5}, {"rules": [1]}, {"floors": {"x": "y"}}, {"killed": "all"}])
def test_hostile_reports(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"target": "native", "profile": "strict", "seed": 1, "steps": 5, "seconds": 2.0, "rules": {}} | change))
    with pytest.raises(SourceError, match="not a report of slotwise fuzz"):
        read(find(str(file)))


# shrunk traces ------------------------------------------------------------------------------------------------------------------------

TRACE = Path(__file__).parents[2] / "tests/golden/attacks/P1.slotwise.jsonl"


def test_a_trace_in_plain_words() -> None:
    lines = shrunk.told(str(TRACE), "nobody")
    assert lines[0].startswith("the shrunk trace, ")
    assert any(line.startswith("   1  enqueue tasks (") for line in lines)


@pytest.mark.parametrize(("content", "says"), [
    (None, "there is no such file"), (b"", "the file is empty"), (b"\xff\xfe\n", "not a JSON object"), (b'{"slotwise":9}\n', "newer"), (b"[" * 9000 + b"\n", "not a JSON object"), (b"x" * (shrunk.LARGEST + 1), "larger than"),
])  # fmt: skip
def test_a_trace_that_cannot_be_told(tmp_path: Path, content: bytes | None, says: str) -> None:
    file = tmp_path / "t\x07.jsonl"
    if content is not None:
        file.write_bytes(content)
    (line,) = shrunk.told(str(file), "QUE-1")
    assert says in line
    assert "\x07" not in line


@pytest.mark.parametrize(("content", "says"), [(b"{}", "not in the report"), (b"[]", "not in the report"), (b'{"runs":[{"divergences":[]}]}', "not in the report"), (b'{"divergences":[{"trace":7}]}', "truncated"), (b"no", "not in the report")])
def test_a_trace_that_is_not_in_the_report(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "report.json"
    file.write_bytes(content)
    assert any(says in line for line in shrunk.told(f"{file}#0.0", "QUE-1"))


def test_a_pipe_or_folder_is_no_trace(tmp_path: Path) -> None:
    assert "it is no file" in shrunk.told(str(tmp_path), "x")[0]
    assert shrunk.told("", "x") == ["no trace was kept"]


def test_where_there_is_little_room_what_is_seen_stands_below() -> None:
    wide, narrow = (shrunk.told(str(TRACE), "x", WORDS, width)[2:] for width in (10_000, 60))
    assert len(narrow) == 2 * len(wide)
    assert wide[0].split() == [*narrow[0].split(), *narrow[1].split()]


def test_a_long_trace_is_told_in_part(tmp_path: Path) -> None:
    head, first, *_ = TRACE.read_bytes().splitlines(keepends=True)
    file = tmp_path / "long.jsonl"
    file.write_bytes(head + first * (shrunk.MOST + 5))
    lines = shrunk.told(str(file), "x")
    assert lines[-1].strip() == "5 more steps"
    assert shrunk.MOST < len(lines) <= 2 * shrunk.MOST + 3


# live ---------------------------------------------------------------------------------------------------------------------------------


def test_shards_are_one_campaign() -> None:
    one, other = campaign(steps=100, new_at=90, time=5, rules={"a": 1, "b": 0}), campaign(steps=300, new_at=20, time=9, rules={"a": 2, "b": 4}, result="waiting")
    found = fuzz_tap.together([one, other], {"a": 1000.0})
    assert (found.steps, found.new_at, found.time, found.rules, found.floors, found.result) == (400, 390, 9, {"a": 3, "b": 4}, {"a": 4.0}, "searching")
    ended = [msgspec.structs.replace(each, result=result) for each, result in ((one, "no divergence"), (other, "LAW at LAW-4"))]
    assert fuzz_tap.together(ended, {}).result == "LAW at LAW-4"
    assert fuzz_tap.together([ended[0], other], {}).result == "searching"
    assert fuzz_tap.together([other, other], {}).result == "waiting"


def test_the_end_is_not_taken_back() -> None:
    board = fuzz_tap.Board([fuzz.Job("native", PROFILES["strict"], None, 9, 0)], 1)
    board.told(0, Report("native", "strict", 0, True, steps=9), "no divergence")
    board.told(0, Report("native", "strict", 0, True, steps=5))          # that was under way
    (one,) = board.snapshot().campaigns
    assert (one.steps, one.result) == (9, "no divergence")


Search = Callable[..., list[s.Snapshot]]
LONG = 120                                   # seconds: what takes longer hangs


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Search:
    """Run `slotwise fuzz --tap`, and return what a viewer that came at its beginning saw."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> list[s.Snapshot]:
        seen: list[s.Snapshot] = []
        attached = threading.Event()
        path = tmp_path / "tap"

        def view() -> None:
            async def follow() -> None:
                async for one in find(str(path)).snapshots():
                    seen.append(one)
                    attached.set()

            anyio.run(follow)

        viewer = threading.Thread(target=view)
        before = fuzz.search

        def later(*given: Any) -> Report:
            if not viewer.ident:
                viewer.start()
                assert attached.wait(LONG)
            return before(*given)

        monkeypatch.setattr(fuzz, "search", later)
        monkeypatch.setattr(fuzz_tap, "LAST", LONG)
        main.run(["fuzz", *arguments, "--tap", str(path)])
        viewer.join(LONG)
        assert not viewer.is_alive()
        assert not path.exists()
        return seen

    return call


def test_a_faulty_target_seen_live(search: Search, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seen = search("admission", "--target", FAULT, "--profile", "slotwise", "--steps", "5000")
    first, last = seen[0], seen[-1]
    assert f"watch it: slotwise watch --attach {tmp_path / 'tap'}" in capsys.readouterr().err
    assert (first.program, first.campaigns[0].result, first.state) == (f"fuzz admission on {FAULT}", "waiting", "running")
    (one,), (found,) = last.campaigns, last.divergences
    assert (one.result, one.new_at, last.events, last.state) == ("DIVERGENCE at SLT-9", one.steps, one.steps, "ended")
    assert found.detail == "expected blocked, found started 2 a2 1 r"
    assert Path(found.trace).is_file()
    assert shrunk.told(found.trace, found.rule, WORDS)[0].startswith("SLT-9: ")
    assert found.repro == f"slotwise replay {found.trace} --target {FAULT}"
    assert main.run(found.repro.split()[1:]) == 1


def test_a_clean_target_seen_live(search: Search) -> None:
    seen = search("--profile", "slotwise", "--steps", "1500")
    assert [one.result for one in seen[0].campaigns] == ["waiting"] * 3
    assert [one.result for one in seen[-1].campaigns] == ["no divergence"] * 3
    assert all(one.steps >= 1500 and 0 < one.new_at <= one.steps and sum(one.rules.values()) for one in seen[-1].campaigns)
    assert (seen[-1].state, seen[-1].divergences) == ("ended", ())
    assert [one.number for one in seen] == sorted({one.number for one in seen})
    assert all(before.events <= after.events for before, after in pairwise(seen))


def test_progress_is_seen_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the walker tells while it searches is on the board, and adds up over processes."""
    board = fuzz_tap.Board([fuzz.Job("native", PROFILES["strict"], None, 9, seed) for seed in (0, 1)], 2)
    with fuzz_tap.listening(board) as queue:
        fuzz_tap.begin(queue)
        try:
            fuzz_tap.telling(0)(Report("native", "strict", 0, True, steps=70, rules={"QUE-1": 5}))
            fuzz_tap.telling(1)(Report("native", "strict", 1, True, steps=30, rules={"QUE-1": 2}))
            end = time.monotonic() + LONG
            while board.snapshot().events != 100 and time.monotonic() < end:
                time.sleep(0.01)
        finally:
            monkeypatch.setattr(fuzz_tap, "_to", None)
    (one,) = board.snapshot().campaigns
    assert (one.steps, one.rules, one.result) == (100, {"QUE-1": 7}, "searching")


def test_workers_seen_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended: list[s.Snapshot] = []
    before = fuzz_tap.Board.snapshot
    monkeypatch.setattr(fuzz_tap, "served", served_and_kept(ended, before))
    assert main.run(["fuzz", "--profile", "strict", "--steps", "601", "--workers", "2", "--tap", "auto"]) == 0
    (one,) = ended[-1].campaigns
    assert one.steps >= 601
    assert (one.result, ended[-1].state) == ("no divergence", "ended")


def test_what_two_workers_find_is_one_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended: list[s.Snapshot] = []
    monkeypatch.setattr(fuzz_tap, "served", served_and_kept(ended, fuzz_tap.Board.snapshot))
    jobs = [fuzz.Job(FAULT, PROFILES["slotwise"], None, 5000, seed) for seed in (0, 1)]
    monkeypatch.setattr(fuzz, "side_by_side", lambda jobs, workers, board: map(fuzz.search, jobs))
    (report,) = fuzz.watched(jobs, 2, str(tmp_path / "tap"))
    assert len(report.failures) == 1
    assert [one.id for one in ended[-1].divergences] == ["admission/slotwise SLT-9"]


def served_and_kept(kept: list[s.Snapshot], before: Any) -> Any:
    served = fuzz_tap.served

    async def keeping(tap: Any, over: threading.Event) -> None:
        await served(tap, over)
        kept.append(before(tap._snapshot.__self__))

    return keeping


def test_a_socket_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("kept")
    assert main.run(["fuzz", "--profile", "strict", "--steps", "10", "--tap", "file"]) == 64
    assert capsys.readouterr().err.splitlines()[-1] == "slotwise: tap: file: Address already in use"
    assert (tmp_path / "file").read_text() == "kept"
    with pytest.raises(Stop), fuzz_tap.tapped(fuzz_tap.Board([], 1), "nowhere/at/all"):
        pass


def test_an_interrupt_is_told(tmp_path: Path) -> None:
    board = fuzz_tap.Board([fuzz.Job("native", PROFILES["strict"], None, 9, 0)], 1)
    with pytest.raises(KeyboardInterrupt), fuzz_tap.tapped(board, str(tmp_path / "s")):
        raise KeyboardInterrupt
    assert board.state == "ended: interrupted"
    with pytest.raises(ZeroDivisionError), fuzz_tap.tapped(board, str(tmp_path / "s")):
        raise ZeroDivisionError
    assert board.state == "crashed: ZeroDivisionError"
