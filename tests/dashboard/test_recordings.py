"""Recordings as a source: the screens' playback, one look, `slotwise record`, and what is said of files that are broken."""
from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
import anyio.to_thread
import pytest
import trio
import trio.testing

from slotwise.cli import main, record
from slotwise.dashboard.observe.sources.recording import RecordingFile
from slotwise.dashboard.observe.sources.source import SourceError, find
from slotwise.dashboard.screens.session import Playback, open_session
from slotwise.impl import recording_close
from slotwise.impl.recording import SnapshotWriter
from slotwise.impl.recording_file import Recording, open_recording
from slotwise.impl.scheduler import Group, Scheduler
from slotwise.impl.snapshot import Snapshot

from .test_socket import HELLO, serving

T = TypeVar("T")
LONG = 120                                   # seconds: what takes longer hangs


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def slotwise(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def call(*arguments: str) -> Ended:
        code = main.run(list(arguments))
        return Ended(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """run.parquet and its stream, of some seconds."""
    folder = tmp_path_factory.mktemp("recorded")

    async def run() -> None:
        async with Scheduler({"llm": 2}, [Group("chat", weight=3.0), Group("batch", running_limit=1)], name="recorded", recording=folder / "run.parquet") as it:
            for i in range(40):
                it.submit(anyio.sleep, 0.3, group="chat" if i % 4 else "batch")
                await anyio.sleep(0.1)
            await it.drain()
            shutil.copy(folder / "run.arrows", folder / "left.arrows")

    async def at_once(function: Callable[..., T], *arguments: Any, limiter: Any) -> T:
        return function(*arguments)          # the clock does not wait for threads

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anyio.to_thread, "run_sync", at_once)
        trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))
    return folder


def shots(where: Path | str) -> list[Snapshot]:
    async def read() -> list[Snapshot]:
        return [snapshot async for snapshot in find(str(where)).snapshots()]

    return anyio.run(read)


def test_a_recording_is_a_source_closed_or_not(folder: Path) -> None:
    closed, left = shots(folder / "run.parquet"), shots(folder / "left.arrows")
    assert len(closed) > 50
    assert [shot.now for shot in closed] == sorted(shot.now for shot in closed)
    assert (closed[-1].state, closed[-1].program, sum(group.finished for group in closed[-1].groups)) == ("ended", "recorded", 40)
    assert left[-1].now <= closed[-1].now
    assert left[0].groups == closed[0].groups
    shutil.copy(folder / "left.arrows", folder / "left.arrow")
    assert shots(folder / "left.arrow") == left


def test_playback_plays_it_and_goes_anywhere(folder: Path) -> None:
    """Looks, and what is between them, are what the recording says."""

    async def go(session: Playback, found: Recording) -> None:
        await session.follow()
        assert (session.over, session.wrong) == (True, "")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.attend)
            shown = None
            for at in (2_050_000_000, 1_234_567_891, 2_050_000_001, 1):
                session.seek(session.began + at)
                session.look()
                while session.seeker.busy:
                    await anyio.sleep(0.001)
                session.look()
                assert session.frame is not None
                assert (session.position, session.exact) == (at, True)
                shown, told = session.frame.window.after, found.snapshot_at(session.began + at)
                assert (shown.now, shown.resources, shown.groups, shown.events, shown.leases) == (told.now, told.resources, told.groups, told.events, told.leases)
            assert shown is not None
            session.hop(1)
            session.look()
            while session.seeker.busy:
                await anyio.sleep(0.001)
            session.look()
            assert session.shown.events > shown.events
            tasks.cancel_scope.cancel()
        session.to_end()
        session.look()
        assert session.frame is not None
        assert session.frame.window.after.state == "ended"

    session = open_session(find(str(folder / "run.parquet")))
    assert isinstance(session, Playback)
    with open_recording(folder / "run.parquet") as found:
        anyio.run(go, session, found)


def test_a_recording_of_snapshots_has_nothing_between_them(folder: Path, tmp_path: Path) -> None:
    writer = SnapshotWriter(tmp_path / "seen.parquet")
    for shot in shots(folder / "run.parquet")[::20]:
        writer.put(shot)
    assert writer.close() == ""
    session = Playback(find(str(tmp_path / "seen.parquet")))
    anyio.run(session.follow)
    anyio.run(session.attend)
    assert not session.hop(1)
    source = find(str(folder / "run.parquet"))
    assert isinstance(source, RecordingFile)
    source.name = str(tmp_path / "gone.parquet")
    with pytest.raises(SourceError, match=r"gone\.parquet: No such file"):
        source.moments()


def test_one_look(folder: Path, slotwise: Callable[..., Ended]) -> None:
    code, out, err = slotwise("watch", "--once", str(folder / "run.parquet"))
    assert (code, err) == (0, "")
    assert out.startswith("sched=recorded state=ended t=")


def test_what_is_not_closed_yet_is_hinted_at(folder: Path, tmp_path: Path, slotwise: Callable[..., Ended]) -> None:
    shutil.copy(folder / "left.arrows", tmp_path / "x.arrows")
    code, _, err = slotwise("watch", "--once", str(tmp_path / "x.parquet"))
    assert code == 2
    assert err == (
        f"slotwise: {tmp_path}/x.parquet: No such file or directory; its stream is there and can be watched, {tmp_path}/x.arrows; "
        f"if its program is gone, `slotwise record -o {tmp_path}/x.parquet {tmp_path}/x.arrows` closes it\n"
    )
    assert slotwise("record", "-o", str(tmp_path / "x.parquet"), str(tmp_path / "x.arrows")) == (0, f"{tmp_path}/x.parquet\n", "")
    assert shots(tmp_path / "x.parquet") == shots(tmp_path / "x.arrows")
    assert sorted(os.listdir(tmp_path)) == ["x.arrows", "x.parquet"]


def test_of_one_that_breaks_off_everything_before_is_shown_and_then_why(folder: Path, tmp_path: Path, slotwise: Callable[..., Ended]) -> None:
    data = (folder / "left.arrows").read_bytes()
    (tmp_path / "x.arrows").write_bytes(data[:-100])
    code, out, err = slotwise("watch", "--once", str(tmp_path / "x.arrows"))
    assert code == 2
    assert out.startswith("sched=recorded state=draining")
    assert err.startswith(f"slotwise: {tmp_path}/x.arrows: it breaks off within a batch; whole before that: ")
    session = Playback(find(str(tmp_path / "x.arrows")))
    anyio.run(session.follow)
    assert "breaks off" in session.trouble
    assert len(session.shots) > 50
    code, out, err = slotwise("record", "-o", str(tmp_path / "y.parquet"), str(tmp_path / "x.arrows"))
    assert (code, out) == (0, f"{tmp_path}/y.parquet\n")
    assert "breaks off" in err
    assert shots(tmp_path / "y.parquet")[-1].now == session.shots[-1].now


@pytest.mark.parametrize(("name", "data", "why"), [
    ("run.parquet", b"PAR1", "no Parquet file, or one that breaks off: "), ("run.arrows", b"", "an empty file"), ("a\n[b].parquet", b"no", "neither an Arrow stream nor a Parquet file"),
    ("run.arrow", b"ARROW1\0\0" + bytes(100), "neither an Arrow stream nor a Parquet file"),
])  # fmt: skip
def test_what_is_no_recording(tmp_path: Path, name: str, data: bytes, why: str, slotwise: Callable[..., Ended]) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=why) as raised:
        shots(tmp_path / name)
    assert "\n" not in str(raised.value)
    code, out, err = slotwise("record", "-o", str(tmp_path / "out.parquet"), str(tmp_path / name))
    assert (code, out, err.count("\n")) == (6, "", 1)
    assert not (tmp_path / "out.parquet").exists()


def test_wrong_use_of_record(tmp_path: Path, slotwise: Callable[..., Ended]) -> None:
    out = str(tmp_path / "out.parquet")
    assert slotwise("record", "-o", out).err == "slotwise: record: expected --attach SOCKET, or a recording that is to be closed\n"
    assert slotwise("record", "-o", out, "x.arrows", "--attach", "y").err == "slotwise: record: expected --attach SOCKET, or a recording that is to be closed, not both\n"
    assert slotwise("record", "-o", str(tmp_path / "out.txt"), "x.arrows").err == f"slotwise: record: {tmp_path}/out.txt must end with .parquet\n"
    assert slotwise("record", "-o", out, str(tmp_path / "none.arrows")) == (64, "", f"slotwise: {tmp_path}/none.arrows: No such file or directory\n")
    assert slotwise("record", "-o", str(tmp_path / "no/out.parquet"), "--attach", str(tmp_path / "s")) == (64, "", f"slotwise: {tmp_path}/no/out.arrows: No such file or directory\n")
    assert slotwise("record", "-o", out, "--attach", str(tmp_path / "s")) == (64, "", f"slotwise: {tmp_path}/s: cannot attach: No such file or directory\n")
    assert os.listdir(tmp_path) == []


TAPPED = """
    import sys
    import anyio
    from slotwise.impl.scheduler import Scheduler

    async def main():
        async with Scheduler({"x": 2}, name="tapped", tap=sys.argv[1], recording=sys.argv[2]) as it:
            while True:
                it.submit(anyio.sleep, 0.01, forget=True)
                await anyio.sleep(0.02)

    anyio.run(main)
"""


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def until(true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


def test_record_a_running_one_until_ctrl_c_or_for_a_while(tmp_path: Path, slotwise: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    tap, own = tmp_path / "tap", tmp_path / "own.parquet"
    program = subprocess.Popen([sys.executable, "-c", textwrap.dedent(TAPPED), str(tap), str(own)])
    try:
        until(tap.exists, program)
        monkeypatch.setattr(record, "GRACE", LONG)
        code, out, err = slotwise("record", "-o", str(tmp_path / "a.parquet"), "--attach", str(tap), "--for", "0.5")
        assert (code, err) == (0, "")
        assert out.startswith(f"{tmp_path}/a.parquet: ")
        recorder = subprocess.Popen([sys.executable, "-m", "slotwise.cli.main", "record", "-o", str(tmp_path / "b.parquet"), "--attach", str(tap)])
        until(lambda: size(tmp_path / "b.arrows") >= 1000, recorder)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(LONG) == 0
        code, _, err = slotwise("record", "-o", str(own), str(tmp_path / "own.arrows"))
        assert (code, err) == (64, f"slotwise: {tmp_path}/own.arrows: its program still records; it closes the recording itself when it ends\n")
        before = size(tmp_path / "own.arrows")
        until(lambda: size(tmp_path / "own.arrows") > before + 20_000, program)
    finally:
        program.kill()
        program.wait()
    times = [shot.now for shot in shots(tmp_path / "a.parquet")]
    assert times[-2] - times[0] < 500_000_000 <= times[-1] - times[0]        # for a while, by the scheduler's own clock
    for name in ("a", "b"):
        assert {shot.program for shot in shots(tmp_path / f"{name}.parquet")} == {"tapped"}
        assert not (tmp_path / f"{name}.arrows").exists()
    assert recording_close.to_parquet(tmp_path / "own.arrows", own) == ""
    assert sum(group.finished for group in shots(own)[-1].groups) > 10


def test_whoever_says_nothing_is_recorded_no_longer_than_asked(tmp_path: Path, slotwise: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "GRACE", 0)
    over, ended = threading.Event(), list[bool]()

    def mute(connection: socket.socket) -> None:
        connection.sendall(HELLO)
        ended.append(over.wait(LONG))

    with serving(tmp_path / "s", mute):
        code, out, err = slotwise("record", "-o", str(tmp_path / "a.parquet"), "--attach", str(tmp_path / "s"), "--for", "0.1")
        over.set()
    assert ended == [True]
    assert (code, out, err) == (64, "", f"slotwise: {tmp_path}/a.parquet: there was no snapshot\n")
