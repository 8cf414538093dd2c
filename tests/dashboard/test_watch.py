"""`slotwise watch --once`: text and JSON, exit codes, and what it does not import."""
from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from slotwise.cli import main
from slotwise.cli import watch as command
from slotwise.dashboard.observe import report
from slotwise.dashboard.observe.frames import derive
from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.lints import Watch
from slotwise.impl import snapshot as s

from .samples import SECOND, batch, batcher, durations, group, resource, snapshot, worker
from .test_files import PAGE, pages
from .test_socket import HELLO, LONG, framed, sends, serving

HOUSE = Path(__file__).parents[2]
TRACE = HOUSE / "tests/golden/attacks/P1.slotwise.jsonl"


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def watch(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    monkeypatch.setattr(command, "GRACE", LONG)          # a machine that does much else may be late with what is looked at

    def call(*arguments: str) -> Ended:
        code = main.run(["watch", *arguments])
        return Ended(code, *capsys.readouterr())

    return call


def troubled() -> tuple[s.Snapshot, s.Snapshot]:
    """The design's own example, near enough."""
    quiet = {"resources": (resource("gpu"), resource("cpu", capacity=84)), "groups": (group("tenant-c", weight=1.0), group("others", weight=7.0)), "batchers": (batcher(),), "workers": (worker("w3"), worker("w4"))}
    return snapshot(757.42, program="demo-sched", events=0, **quiet), snapshot(
        767.42, program="demo-sched", events=984_000,
        resources=(resource("gpu", busy=6, waiting=7, eligible=7, idle_waiting=12 * SECOND, idle_waiting_longest=round(4.1 * SECOND)), resource("cpu", capacity=84, busy=83, eligible=2, idle_waiting=6 * SECOND)),
        groups=(group("tenant-c", weight=1.0, waiting=14, oldest=749_020_000_000, service=41 * SECOND, causes={"capacity": SECOND}, needs={"gpu": 1}, blocked_by="scheduler"), group("others", weight=7.0, service=959 * SECOND)),
        batchers=(batcher(requests=100, updates=5568, seals={"full": 91, "timer": 6, "flush": 3}, needless=40_000_000, open_time=SECOND, commit=durations((0.0019, 98), (0.0062, 2)), batches=(batch(),)),),
        workers=(worker("w3", running=6 * SECOND, spinning=4 * SECOND, hits=4, misses=96, wasted=4 * SECOND, window=50_000), worker("w4", running=9 * SECOND, spinning=SECOND, hits=50, misses=50)),
        checks=tuple(s.Check(f"LAW-{i}", True, 9, round(767.22 * SECOND)) for i in range(14)),
        divergences=(s.Divergence("DIV-41", 0x7F3A, 1182, "lease.expire", "model=EXPIRED impl=HELD", 760 * SECOND, "slotwise replay d.slotwise.jsonl"),),
    )  # fmt: skip


TEXT = """\
sched=demo-sched state=running t=767.42s window=10s events=98.4k/s dropped=0 snapshot_age=38ms
WARN  idle-while-waiting   3 slots idle, 9 eligible waiters, lost 1.8 slot-s/s (2.0% of 92), longest 4.1s  gpu=1.2 cpu=0.6
ALARM starving             tenant-c oldest 18.4s (SLO 5s), got 4.1% of 12.5% due  groups>SLO=1 behind=1 jain=-
OK    checkpoint-wait      needless 400us (3%), fill 87%, sealed full 91% timer 6% flush 3%, commit p99 6.03ms  ckpt
WARN  spin-burn            0.50 cores, 25% of worker time, hit 27%  w3=40%
OK    invariants           14/14 checked 200ms ago
ALARM divergence           1 open  DIV-41 seed=32570 step=1182 lease.expire model=EXPIRED impl=HELD
ALARM FAIR01 tenant-c: its oldest task has waited 18.4s, the SLO is 5s; it waits for: scheduler gap
ALARM DIV DIV-41: seed=32570 step=1182 lease.expire: model=EXPIRED impl=HELD; slotwise replay d.slotwise.jsonl
?     4 past a limit, but not for long enough"""


def test_the_text() -> None:
    looking = Watch()
    frame = derive(*troubled(), age=38_000_000)
    alarms = looking.look(frame)
    assert report.as_text(frame, alarms, looking.rechecks) == TEXT
    assert [report.exit_code(frame, alarms, fail_on) for fail_on in (None, "warn", "alarm")] == [0, 1, 1]


def test_verdicts_count_unless_their_lints_are_allowed() -> None:
    def ends(fail_on: str, *allowed: str) -> int:
        shots = snapshot(0, resources=(resource(),)), snapshot(10, resources=(resource(idle_waiting=2 * SECOND),))
        return report.exit_code(derive(*shots, limits=Limits(allowed=allowed)), (), fail_on)

    assert [ends("warn"), ends("alarm"), ends("warn", "SCH001"), ends("warn", "FAIR01")] == [1, 0, 0, 1]


def test_many_alarms_of_one_code_are_counted() -> None:
    frame = derive(None, snapshot(60, groups=tuple(group(f"g{i:04}", waiting=1, oldest=0) for i in range(1000))))
    told = report.as_text(frame, Watch().look(frame))
    assert told.count("FAIR01") == 6
    assert told.splitlines()[-1] == "ALARM FAIR01: 1,000 groups starve, showing 5 of 1,000"


def test_a_hostile_program_cannot_write_lines_or_escapes() -> None:
    bad = "x\n\x1b[2J[red]ALARM"
    frame = derive(None, snapshot(
        60, program=bad, state=f"crashed: {bad}", resources=(resource(bad, busy=2, eligible=3, idle_waiting=9),), groups=(group(bad, waiting=1, oldest=0, needs={bad: 1}, blocked_by=f"capacity {bad}"),),
        batchers=(batcher(bad, requests=1, needless=9, open_time=9, seals={bad: 1}),), workers=(worker(bad, running=1, wasted=1),), checks=(s.Check(bad, False, 1, 0, bad),), divergences=(s.Divergence(bad, 1, 1, bad, bad, 0, bad),),
    ))  # fmt: skip
    alarms = Watch().look(frame)
    told = report.as_text(frame, alarms)
    assert len(told.splitlines()) == 7 + len(alarms)
    assert "\x1b" not in told
    assert "x\\x0a\\x1b[2J[red]ALARM" in told


def test_json_is_the_frame() -> None:
    looking = Watch()
    frame = derive(*troubled(), age=38_000_000)
    found = json.loads(json.dumps(report.as_object(frame, looking.look(frame), looking.rechecks)))
    assert list(found) == ["head", "status", "verdicts", "alarms", "rechecks", "panes"]
    assert found["status"] == "alarm"
    assert [verdict["name"] for verdict in found["verdicts"]] == ["idle-while-waiting", "starving", "checkpoint-wait", "spin-burn", "invariants", "divergence"]
    assert [alarm["code"] for alarm in found["alarms"]] == ["FAIR01", "DIV"]
    columns = [column["id"] for column in found["panes"]["groups"]["columns"]]
    row = found["panes"]["groups"]["rows"][0]
    assert dict(zip(columns, (cell["value"] for cell in row["cells"]), strict=True))["oldest"] == 18.4
    assert {column["id"]: column["unit"] for column in found["panes"]["groups"]["columns"]}["oldest"] == "s"


# the command -------------------------------------------------------------------------------------------------------------------------


def test_a_trace(watch: Callable[..., Ended]) -> None:
    ended = watch(str(TRACE), "--once")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("sched=P1.slotwise.jsonl state=ended ")
    assert json.loads(watch(str(TRACE), "--once", "--format", "json").out)["head"]["program"] == "P1.slotwise.jsonl"


def live(*snapshots: s.Snapshot, pause: float = 0.0) -> Callable[[socket.socket], None]:
    """Snapshots with the time at which they are sent."""

    def peer(connection: socket.socket) -> None:
        connection.sendall(HELLO)
        for i, one in enumerate(snapshots, 1):
            connection.sendall(framed(msgspec.msgpack.encode(msgspec.structs.replace(one, now=time.monotonic_ns(), number=i))))
            time.sleep(pause)

    return peer


@contextmanager
def short_folder() -> Iterator[Path]:
    """A socket's path has at most about 100 bytes."""
    with tempfile.TemporaryDirectory(prefix="sw") as folder:
        yield Path(folder)


def test_a_running_scheduler(watch: Callable[..., Ended]) -> None:
    busy = snapshot(0, pid=os.getpid(), program="alive", resources=(resource(busy=2, eligible=4),), groups=(group(waiting=4, oldest=time.monotonic_ns()),))
    with short_folder() as folder:
        for arguments, code in (((), 0), (("--fail-on", "warn"), 1), (("--fail-on", "warn", "--allow", "SCH001"), 0), (("--fail-on", "alarm"), 0)):
            path = folder / f"{len(arguments)}{arguments[-1:]}.sock"
            with serving(path, live(*[busy] * 6, pause=0.06)):
                ended = watch("--attach", str(path), "--once", "--for", "0.25", *arguments)
            assert (ended.code, ended.err) == (code, ""), ended
            assert ended.out.startswith("sched=alive state=running ")
            assert ("SCH001 gpu" in ended.out) == ("--allow" not in arguments)


def test_no_data(watch: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "GRACE", 0)
    with short_folder() as folder:
        over = threading.Event()
        with serving(folder / "mute.sock", sends(HELLO, then=over)):
            ended = watch("--attach", str(folder / "mute.sock"), "--once", "--for", "0.1")
            over.set()
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == f"slotwise: {folder}/mute.sock: no data in 0.1 s\n"


def test_cannot_attach(watch: Callable[..., Ended]) -> None:
    ended = watch("--attach", "/nowhere.sock", "--once")
    assert (ended.code, ended.out, ended.err) == (2, "", "slotwise: /nowhere.sock: No such file or directory\n")
    with short_folder() as folder:
        with serving(folder / "s.sock", sends(b"HTTP/1.1 200 OK")):
            ended = watch("--attach", str(folder / "s.sock"), "--once")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == f"slotwise: {folder}/s.sock: not a slotwise socket: it began with b'HTTP/1.1'\n"
        (folder / "bad.slotwise.jsonl").write_text('{"slotwise":1}\n')
        ended = watch(str(folder / "bad.slotwise.jsonl"), "--once")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith(f"slotwise: {folder}/bad.slotwise.jsonl: line 1: ")
        assert ended.err.count("\n") == 1


def test_what_was_seen_before_it_broke_off_is_shown(watch: Callable[..., Ended]) -> None:
    with short_folder() as folder:
        shot = msgspec.msgpack.encode(snapshot(1, program="broken"))
        with serving(folder / "s.sock", sends(HELLO, framed(shot), framed(shot)[:30])):
            ended = watch("--attach", str(folder / "s.sock"), "--once")
    assert ended.code == 2
    assert ended.out.startswith("sched=broken ")
    assert "closed within a frame" in ended.err


def test_a_prometheus_endpoint_is_coarse(watch: Callable[..., Ended]) -> None:
    pytest.importorskip("prometheus_client")
    with pages(PAGE.encode()) as url:
        ended = watch(url, "--once", "--for", "0.1", "--fail-on", "alarm")
    assert ended.code == 1
    assert ended.out.splitlines()[0].endswith(" coarse")
    with pages(b"<html>") as url:
        ended = watch(url, "--once", "--for", "0.1")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert f"slotwise: {url}: not a Prometheus page" in ended.err


WRONG: dict[str, str] = {
    "": "expected a FILE or URL, or --attach SOCKET",
    "x --attach y --once": "not both",
    "x": "the screen needs a terminal; --once shows one look",
    "x --once --format xml": "format: found 'xml', expected text or json",
    "x --once --fail-on ever": "fail-on: found 'ever', expected warn or alarm",
    "x --once --allow ME": "ME: no such lint; there are SCH001",
    "x --once --warn FAIR01": "expected CODE=value",
    "x --once --for soon": "Invalid value for '--for'",
    "x --once --for 0": "Invalid value for '--for'",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_use(watch: Callable[..., Ended], arguments: str) -> None:
    ended = watch(*arguments.split())
    assert (ended.code, ended.out) == (64, "")
    assert WRONG[arguments] in ended.err
    assert ended.err.count("\n") == 1


def imported(code: str) -> list[str]:
    heavy: list[Any] = ["textual", "rich", "pyarrow", "prometheus_client", "hypothesis", "trio", "slotwise.fuzz.walker", "slotwise.spec.admission"]
    ended = subprocess.run([sys.executable, "-c", f"import sys\n{code}\nprint([name for name in {heavy} if name in sys.modules], file=sys.stderr)"], capture_output=True, text=True, check=True)
    return list(json.loads(ended.stderr.replace("'", '"')))


def test_one_look_is_light() -> None:
    """Neither a screen nor what only other sources or commands need is loaded."""
    assert imported("import slotwise.dashboard.observe.report, slotwise.dashboard.observe.history, slotwise.dashboard.observe.sources.source, slotwise.dashboard.observe.sources.socket") == []
    assert imported(f"from slotwise.cli import main\nassert main.run(['watch', {str(TRACE)!r}, '--once']) == 0") == []
    assert imported("from slotwise.cli import main\nassert main.run(['watch', '--help']) == 0") == []
