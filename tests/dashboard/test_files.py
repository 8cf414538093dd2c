"""Recorded sources: traces, event logs, campaigns, Prometheus pages. What they fold to is compared with a plain count, instant by instant."""
from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.sources.source import Source, SourceError, find
from slotwise.impl.snapshot import CAUSES, Snapshot
from slotwise.spec import batching_vocabulary as b
from slotwise.spec import spin_vocabulary as spin
from slotwise.spec import trace
from slotwise.spec import vocabulary as v
from slotwise.spec.mechanisms import mechanism_of

from .samples import SECOND

HERE = Path(__file__).parent
LOG = HERE / "data-designer-0.9.7.events.jsonl"


def read(source: Source, most: int = 10_000) -> list[Snapshot]:
    async def main() -> list[Snapshot]:
        found = []
        with anyio.fail_after(120):
            async for one in source.snapshots():
                found.append(one)
                if len(found) == most:
                    break
        return found

    return anyio.run(main)


def played(profile: Any, setup: Any, commands: list[Any]) -> trace.Trace:
    mechanism = mechanism_of(profile)
    model = mechanism.model(profile, setup)
    return trace.Trace(trace.header(profile, setup), [trace.Step(command, mechanism.spec.step(model, command)) for command in commands])


def shown(tmp_path: Path, played: trace.Trace) -> list[Snapshot]:
    path = tmp_path / "one.slotwise.jsonl"
    trace.write(path, played)
    return read(find(str(path)))


# traces of admission ---------------------------------------------------------------------------------------------------------------

needs = st.dictionaries(st.sampled_from(["gpu", "io"]), st.integers(1, 2), min_size=1)
work = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["enqueue", "pump", "release", "discard"]), st.integers(0, 9), st.sampled_from("ab"), needs), max_size=40)


def commands_of(drawn: list[tuple[int, str, int, str, dict[str, int]]]) -> list[v.Command]:
    at, found = 0, list[v.Command]()
    for i, (later, what, number, group, asked) in enumerate(drawn):
        at += later
        match what:
            case "enqueue":
                found.append(v.Enqueue(tasks=(v.Task(f"t{i}", group, asked),), groups=(v.Group(group, 2.0 if group == "a" else 1.0, running_limit=None if group == "a" else 2),), at=at))
            case "pump":
                found.append(v.Pump(at_most=9, at=at))
            case "release":
                found.append(v.Release(lease=number, at=at))
            case _:
                found.append(v.Discard(task=f"t{number}", at=at))
    return found


@settings(max_examples=60, deadline=None)
@given(work)
def test_a_trace_adds_up_to_what_a_plain_count_says(tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, str, int, str, dict[str, int]]]) -> None:
    capacity = {"gpu": 2, "io": 3}
    recorded = played(v.PROFILES["slotwise"], capacity, commands_of(drawn))
    last = shown(tmp_path_factory.mktemp("trace"), recorded)[-1]
    count = plain_count(recorded, capacity)
    assert {r.name: (r.busy, r.busy_time, r.idle_waiting) for r in last.resources} == {name: (count["busy"][name], count["busy_time"][name], count["idle"][name]) for name in capacity}
    for g in last.groups:
        assert {cause.partition(" ")[0] for cause in g.causes} <= set(CAUSES)
        assert sum(g.causes.values()) == count["waited"].get(g.name, 0)
        assert g.submitted == g.started + g.cancelled + g.waiting
        assert g.started == g.finished + g.running
        assert sum(g.wait.counts.values()) == g.started
    assert last.events == len(recorded.steps)


def plain_count(recorded: trace.Trace, capacity: dict[str, int]) -> dict[str, dict[str, int]]:
    """Each nanosecond by itself."""
    tasks, limit = {t.id: t for step in recorded.steps if isinstance(step.command, v.Enqueue) for t in step.command.tasks}, {"a": 99, "b": 2}
    waiting, running = dict[str, v.Task](), dict[object, v.Task]()
    total: dict[str, dict[str, int]] = {"busy": {}, "busy_time": dict.fromkeys(capacity, 0), "idle": dict.fromkeys(capacity, 0), "waited": {}}
    at = recorded.steps[0].command.at if recorded.steps else 0
    for step in recorded.steps:
        while at < step.command.at:
            at += 1
            busy = {name: sum(task.needs.get(name, 0) for task in running.values()) for name in capacity}
            wanted = dict.fromkeys(capacity, 0)
            for group in limit:
                mine, left = [task.needs for task in waiting.values() if task.group == group], limit[group] - sum(task.group == group for task in running.values())
                total["waited"][group] = total["waited"].get(group, 0) + len(mine)
                for name in mine[0] if mine else ():         # one unit more of it, and the first would start
                    if all(capacity[other] - busy[other] + (other == name) >= units for other, units in mine[0].items()):
                        wanted[name] += mine[0][name] * max(0, min(len(mine), left))
            for name in capacity:
                total["busy_time"][name] += busy[name]
                total["idle"][name] += min(capacity[name] - busy[name], wanted[name])
        for saw in step.saw or ():
            match saw:
                case ("accepted", str(id)):
                    waiting[id] = tasks[id]
                case ("started", lease, str(id), *_):
                    running[lease] = waiting.pop(id)
                case ("released", lease):
                    del running[lease]
                case ("discarded", str(id)):
                    del waiting[id]
                case _:
                    pass
    total["busy"] = {name: sum(task.needs.get(name, 0) for task in running.values()) for name in capacity}
    return total


def test_a_trace_says_why_a_group_waits(tmp_path: Path) -> None:
    groups = (v.Group("hot"), v.Group("peer"), v.Group("capped", running_limit=1))
    tasks = [v.Task(f"{name}{i}", name, {"gpu": 1}) for name in ("hot", "capped", "peer") for i in range(4 if name == "hot" else 2)]
    recorded = played(v.PROFILES["slotwise"], {"gpu": 4}, [
        v.Enqueue(tasks=tuple(tasks[:4]), groups=groups), v.Pump(at_most=9), v.Enqueue(tasks=tuple(tasks[4:]), at=2 * SECOND), v.Release(lease=1, at=6 * SECOND), v.Pump(at_most=9, at=6 * SECOND),
        v.Release(lease=2, at=8 * SECOND), v.Pump(at_most=9, at=8 * SECOND), v.Explain(at=9 * SECOND),
    ])  # fmt: skip
    found = shown(tmp_path, recorded)
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert all(one.now <= other.now for one, other in pairwise(found))
    last = {g.name: g for g in found[-1].groups}
    assert last["peer"].blocked_by == last["hot"].blocked_by == "" or last["peer"].waiting
    assert last["capped"].blocked_by == "limit"
    assert {name: last["capped"].causes[name] // SECOND for name in ("lent gpu", "limit")} == {"lent gpu": 8, "limit": 3}
    frame = derive(None, found[-1])
    assert sum(float(row.cells[1].value or 0) for row in frame.drill("capped")[0].rows) == pytest.approx(100)


def test_a_slot_is_idle_only_for_as_many_as_may_start(tmp_path: Path) -> None:
    """Four free slots, and three tasks of a group that may run one: one slot is idle, for two seconds, none after the start, and one for a second after its end."""
    tasks = tuple(v.Task(f"t{i}", "capped", {"gpu": 1}) for i in range(3))
    recorded = played(v.PROFILES["slotwise"], {"gpu": 4}, [v.Enqueue(tasks=tasks, groups=(v.Group("capped", running_limit=1),)), v.Pump(at_most=9, at=2 * SECOND),
        v.Release(lease=1, at=9 * SECOND), v.Pump(at_most=9, at=10 * SECOND)])  # fmt: skip
    found = shown(tmp_path, recorded)
    assert [(r.idle_waiting, r.idle_waiting_longest, r.eligible) for r in found[-1].resources] == [(3 * SECOND, 2 * SECOND, 0)]
    assert {cause: ns / SECOND for cause, ns in found[-1].groups[0].causes.items() if ns} == {"scheduler": 8, "limit": 14}
    assert {one.resources[0].eligible for one in found if one.now < 2 * SECOND} == {1}


def test_a_trace_without_what_was_seen_is_refused(tmp_path: Path) -> None:
    bare = trace.Trace(trace.header(v.PROFILES["strict"], {"r": 1}), [trace.Step(v.Pump(at_most=1))])
    with pytest.raises(SourceError, match="line 2 does not say what was seen"):
        shown(tmp_path, bare)


@pytest.mark.parametrize("path", sorted((HERE.parent / "golden").rglob("*.slotwise.jsonl")), ids=lambda path: path.name)
def test_every_golden_trace_can_be_shown(path: Path) -> None:
    found = read(find(str(path)))
    assert found[-1].state == "ended"
    if found[-1].groups:
        assert sum(g.running for g in found[-1].groups) == found[-1].leases
    derive(None, found[-1])


def test_a_trace_of_a_pool(tmp_path: Path) -> None:
    """A worker spins its window of 68.3 us, parks for as long, and runs a task for 10; its dispatcher holds a slot meanwhile."""
    profile, setup, us = spin.PROFILES["slotwise"], spin.Setup(width=2), 1000
    recorded = played(profile, setup, [
        spin.Go(actor="w0", times=3), spin.Go(actor="w0", times=10_000, at=68_300), spin.Dispatch(actor="d", total=2, at=136_600), spin.Go(actor="d", times=6, at=136_600),
        spin.Go(actor="w0", times=4, at=136_600), spin.End(actor="w0", at=146_600), spin.Go(actor="w0", times=9, at=146_600),
    ])  # fmt: skip
    [*_, last] = shown(tmp_path, recorded)
    [worker], [slots] = last.workers, last.resources
    assert (worker.name, worker.running, worker.spinning, worker.parked) == ("w0", 10 * us, 68_300, 68_300)
    assert (worker.hits, worker.misses, worker.wasted) == (0, 1, 68_300)
    assert (slots.busy, slots.capacity, slots.busy_time, last.leases) == (1, 8, 10 * us, 1)


# traces of batching ------------------------------------------------------------------------------------------------------------------


def test_a_trace_of_the_collector(tmp_path: Path) -> None:
    ms = 10**6
    recorded = played(b.PROFILES["slotwise"], b.Setup(), [
        b.Submit(id="a", size=10), b.Submit(id="b", size=20, at=ms), b.Pump(at=5 * ms), b.Submit(id="c", size=5, at=10 * ms), b.Respond(token="t1", at=35 * ms), b.Pump(at=36 * ms),
        b.Pump(at=200 * ms), b.Fail(at=240 * ms),
    ])  # fmt: skip
    assert [saw[0] for step in recorded.steps for saw in step.saw or () if saw[0] == "send"] == ["send", "send"]
    last = shown(tmp_path, recorded)[-1]
    (one,) = last.batchers
    assert (one.requests, one.updates, one.failures, one.waiting) == (2, 3, 1, 0)
    first, second = one.batches
    assert (first.updates, first.size, first.opened, first.last, first.outcome) == (2, 30, 0, ms, "ok")
    assert first.done == 35 * ms
    assert (second.updates, second.opened, second.outcome) == (1, 10 * ms, "failed")
    assert one.open_time == first.sealed + second.sealed - 10 * ms
    assert one.needless == first.sealed - ms + second.sealed - 35 * ms


def test_a_trace_of_the_collector_says_why_requests_were_sealed(tmp_path: Path) -> None:
    ms = 10**6
    profile = msgspec.structs.replace(b.PROFILES["slotwise"], discipline=b.LookAhead(updates=2, counted=False))
    recorded = played(profile, b.Setup(), [
        b.Submit(id="a", size=10, empty=True), b.Submit(id="a", size=10), b.Pump(), b.Pump(at=5 * ms), b.Respond(token="t1", at=35 * ms), *(b.Submit(id="b", size=i, at=40 * ms) for i in range(2)), b.Pump(at=40 * ms),
        b.Respond(token="t2", at=70 * ms), b.Refresh(id="r", due=80 * ms, owner="o", at=71 * ms), b.Pump(at=71 * ms), b.Pump(at=80 * ms), b.Respond(token="t3", done=("r",), at=110 * ms),
        b.Submit(id="c", at=111 * ms), b.Submit(id="d", at=111 * ms), b.Submit(id="e", at=111 * ms), b.Pump(at=111 * ms), b.Respond(token="t4", at=140 * ms), b.Stop(at=141 * ms), b.Pump(at=141 * ms),
    ])  # fmt: skip
    (one,) = shown(tmp_path, recorded)[-1].batchers
    assert [(batch.updates, batch.seal, batch.size) for batch in one.batches] == [(1, "timer", 10), (2, "full", 1), (0, "refresh", 0), (2, "full", 0), (1, "stop", 0)]
    assert one.seals == {"timer": 1, "full": 2, "refresh": 1, "stop": 1}
    assert one.waiting == 1                                      # in flight


# event logs --------------------------------------------------------------------------------------------------------------------------


def test_a_log_of_the_published_scheduler() -> None:
    """Recorded from data-designer-engine 0.9.7: two groups of two records, one of which is dropped."""
    source = find(str(LOG))
    assert not source.live
    last = read(source)[-1]
    assert (last.program, last.state, last.leases, last.events) == ("data-designer run-1", "ended: success", 0, 39)
    assert {g.name: (g.submitted, g.started, g.finished, g.failed, g.waiting, g.running) for g in last.groups} == {
        "local/default/s": (2, 2, 2, 0, 0, 0), "local/default/a": (4, 4, 4, 0, 0, 0), "local/default/b": (4, 4, 3, 1, 0, 0),
    }  # fmt: skip
    assert {r.name: (r.capacity, r.busy, sum(r.hold.counts.values())) for r in last.resources} == {"submission": (2, 0, 10), "llm_wait": (2, 0, 0)}


def lines(count: int) -> list[bytes]:
    return LOG.read_bytes().splitlines(keepends=True)[:count]


def test_a_log_that_still_grows_ends_at_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b"".join(lines(5)) + lines(6)[5][:60])
    last = read(find(str(path)))[-1]
    assert (last.leases, last.dropped) == (2, 0)


def test_a_very_long_line_is_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b"".join(lines(4)) + b'{"x": "' + b"x" * (3 << 20) + b'"}\n' + lines(5)[4])
    last = read(find(str(path)))[-1]
    assert (last.leases, last.dropped) == (2, 1)


@pytest.mark.parametrize(("text", "why"), [(b"{}\n", "line 3: not an event of a scheduler: "), (b"\xff\xfe\n", "line 3: not an event"), (b"[1]\n", "line 3: not an event"), (b"\n", "line 3: not an event")])
def test_a_bad_line_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"".join(lines(2)) + text)
    with pytest.raises(SourceError) as raised:
        read(find(str(path)))
    assert str(raised.value).startswith(f"{path}: {why}")


def test_an_hour_of_silence_is_not_36000_snapshots(tmp_path: Path) -> None:
    path, first = tmp_path / "slow.jsonl", lines(3)
    late = msgspec.json.decode(first[2])
    late["captured_at_monotonic"] += 3600
    path.write_bytes(first[0] + first[1] + msgspec.json.encode(late) + b"\n")
    found = read(find(str(path)))
    assert 600 <= len(found) <= 603
    assert found[-1].now - found[0].started >= 3600 * SECOND


# campaigns ---------------------------------------------------------------------------------------------------------------------------

RUN = {
    "mechanism": "admission", "target": "native", "profile": "strict", "seed": 7, "episodes": 1, "steps": 500, "seconds": 2.0, "steps_per_s": 250, "rules": {"ADM-1": 40, "ADM-2": 0},
    "divergences": [{"kind": "divergence", "rule": "ADM-1", "seed": 12, "message": "step 3: differs", "trace": "{}\n{}\n{}\n{}\n"}], "hazards": {}, "floors_missed": [{"rule": "ADM-2", "hits": 0, "floor": None}],
    "equality": True, "digest": "x",
}  # fmt: skip


def test_a_campaign(tmp_path: Path) -> None:
    path = tmp_path / "fuzz.json"
    path.write_bytes(msgspec.json.encode(RUN))
    (last,) = read(find(str(path)))
    assert (last.events, last.now, last.program) == (500, 2 * SECOND, "fuzz admission on native")
    assert [(c.id, c.holds, c.checked) for c in last.checks] == [("admission/strict ADM-1", True, 40), ("admission/strict ADM-2", False, 0)]
    assert [(d.id, d.seed, d.step, d.rule) for d in last.divergences] == [("admission/strict ADM-1", 12, 3, "ADM-1")]
    assert last.divergences[0].repro == "slotwise fuzz admission --profile strict --target native --steps 500 --seed 7"
    path.write_bytes(msgspec.json.encode({"runs": [RUN, RUN | {"profile": "slotwise", "divergences": []}]}))
    (last,) = read(find(str(path)))
    assert (last.events, len(last.checks), len(last.divergences)) == (1000, 4, 1)


@pytest.mark.parametrize("data", [b'{"mechanism": 7}', b'{"runs": [{}]}', b'{"mechanism"', b'{"runs": ' + b"[" * 9000])
def test_what_is_no_campaign_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "fuzz.json"
    path.write_bytes(data)
    with pytest.raises(SourceError, match="not a report of slotwise fuzz"):
        read(find(str(path)))


# Prometheus --------------------------------------------------------------------------------------------------------------------------

PAGE = """# TYPE sched_slots_capacity gauge
sched_slots_capacity{resource="gpu"} 8
# TYPE sched_slots gauge
sched_slots{resource="gpu",state="busy_own"} 4
sched_slots{resource="gpu",state="busy_borrowed"} 2
sched_slots{resource="gpu",state="idle_eligible"} 1
# TYPE sched_idle_while_waiting_slot_seconds counter
sched_idle_while_waiting_slot_seconds_total{resource="gpu"} 1.5
# TYPE sched_queue_depth gauge
sched_queue_depth{resource="gpu",group="a"} 3
sched_queue_depth{resource="gpu",group="b"} 0
# TYPE sched_group_weight gauge
sched_group_weight{group="a"} 1
sched_group_weight{group="b"} 3
# TYPE sched_service_slot_seconds counter
sched_service_slot_seconds_total{group="a"} 2
sched_service_slot_seconds_total{group="b"} 6
# TYPE sched_oldest_waiter_age_seconds gauge
sched_oldest_waiter_age_seconds{group="a"} 7.5
# TYPE sched_wait_seconds histogram
sched_wait_seconds_bucket{group="a",le="0.1"} 30
sched_wait_seconds_bucket{group="a",le="1"} 40
sched_wait_seconds_bucket{group="a",le="+Inf"} 42
sched_wait_seconds_count{group="a"} 42
sched_wait_seconds_sum{group="a"} 9
# TYPE sched_worker_state_seconds counter
sched_worker_state_seconds_total{worker="w0",state="run"} 3
sched_worker_state_seconds_total{worker="w0",state="spin"} 1
# TYPE sched_worker_spins counter
sched_worker_spins_total{worker="w0",outcome="hit"} 9
sched_worker_spins_total{worker="w0",outcome="miss"} 1
# TYPE sched_invariant_ok gauge
sched_invariant_ok{name="LAW-1"} 0
# TYPE other_thing gauge
other_thing NaN
"""


@contextmanager
def pages(body: bytes, status: int = 200, promised: int | None = None) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            if promised is not None:
                self.send_header("Content-Length", str(promised))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()
        thread.join()


def test_a_prometheus_page() -> None:
    pytest.importorskip("prometheus_client")
    with pages(PAGE.encode()) as url:
        source = find(url)
        assert source.coarse
        (shot,) = read(source, most=1)
    (gpu,), (a, other), (w0,), (law,) = shot.resources, shot.groups, shot.workers, shot.checks
    assert (gpu.capacity, gpu.busy, gpu.lent, gpu.waiting, gpu.eligible, gpu.idle_waiting) == (8, 6, 2, 3, 1, 1.5 * SECOND)
    assert (a.waiting, a.weight, a.service, shot.now - (a.oldest or 0)) == (3, 1.0, 2 * SECOND, 7.5 * SECOND)
    assert (other.weight, other.oldest) == (3.0, None)
    assert sum(a.wait.counts.values()) == 42
    assert (w0.running, w0.spinning, w0.hits, w0.misses) == (3 * SECOND, SECOND, 9, 1)
    assert not law.holds
    frame = derive(None, shot, coarse=True)
    assert frame.head.coarse
    assert [verdict.status for verdict in frame.verdicts[:2]] == ["unknown", "alarm"]          # when the process began, it does not say
    began = time.time() - 100
    with pages(PAGE.encode() + f"process_start_time_seconds {began}\n".encode()) as url:
        (shot,) = read(find(url), most=1)
    ended = time.time()
    frame = derive(None, shot, coarse=True)
    assert frame.head.window_s is not None
    assert 99 < frame.head.window_s < ended - began + 1
    assert [verdict.status for verdict in frame.verdicts[:2]] == ["ok", "alarm"]


@pytest.mark.parametrize(("body", "status", "why"), [
    (b"<!doctype html><html><body>Not here</body></html>", 200, "not a Prometheus page"), (b"\xff\xfe\x00", 200, "not a Prometheus page"), (b"up 1\n", 200, "without metrics of a scheduler"),
    (b"", 200, "without metrics of a scheduler"), (b"gone", 404, "cannot be read: HTTP 404 Not Found"),
])  # fmt: skip
def test_a_page_that_is_none(body: bytes, status: int, why: str) -> None:
    pytest.importorskip("prometheus_client")
    with pages(body, status) as url, pytest.raises(SourceError, match=why) as raised:
        read(find(url), most=1)
    assert "\n" not in str(raised.value)


def test_a_page_that_breaks_off() -> None:
    """It says how long it is, and is shorter: what is left of it would be half a truth."""
    pytest.importorskip("prometheus_client")
    with pages(PAGE.encode(), promised=100_000) as url, pytest.raises(SourceError, match=f"broken off after {len(PAGE.encode()):,} of 100,000 bytes"):
        read(find(url), most=1)


def test_an_endpoint_that_is_not_there() -> None:
    with pytest.raises(SourceError, match=r"http://127\.0\.0\.1:9/metrics: cannot be read: "):
        read(find("http://127.0.0.1:9/metrics"), most=1)


# which is which ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "data", "why"), [
    ("x.txt", b"hello\n", "neither a slotwise trace"), ("x", b"", "an empty file"), ("x", b"\x00" * 100, "neither a slotwise trace"),
    ("a\n[b].txt", b"", "an empty file"),
])  # fmt: skip
def test_what_is_none_of_these(tmp_path: Path, name: str, data: bytes, why: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=why) as raised:
        find(str(tmp_path / name))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("where", ["none.jsonl", "with\0zero", "/"])
def test_what_is_not_there(where: str) -> None:
    with pytest.raises(SourceError):
        find(where)
