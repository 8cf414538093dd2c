"""Recordings of a live scheduler: what is replayed of any instant is what a snapshot said then, whatever the file went through."""
from __future__ import annotations

import itertools
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import msgspec
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.impl import meter as m
from slotwise.impl import meter_state, recording, recording_close, recording_format, recording_stream
from slotwise.impl import snapshot as s
from slotwise.impl.meter_fold import Fold, FoldError
from slotwise.impl.recording_file import Recording, cut, open_recording
from slotwise.impl.recording_format import RecordingError
from slotwise.impl.recording_moments import Moments
from slotwise.impl.scheduler import Group, Retry, Scheduler
from slotwise.impl.tape import WIDTH, Tape

T = TypeVar("T")
SECOND = 10**9
LONG, NEVER = 120, 10**6                     # seconds: what takes longer hangs; what no test lasts
#: Everything else comes from the meter, or from the header. `number` counts what was looked at; these are known ten times a second only.
ELSEWHERE = {"number", "state", "batchers", "workers", "checks", "divergences", "campaigns"}


def counted(snapshot: s.Snapshot) -> dict[str, Any]:
    found = {name: value for name, value in msgspec.structs.asdict(snapshot).items() if name not in ELSEWHERE}
    return {**found, "groups": [msgspec.structs.replace(group, debt={}) for group in snapshot.groups]}       # what is owed, too: the engine's own


# replay(t) == live(t) -------------------------------------------------------------------------------------------------

NEEDS: list[dict[str, int] | str] = ["x", "y", {"x": 2}, {"x": 1, "y": 1}, {"y": 2, "x": 3}]
WEIGHTS = [0.5, 1.0, 3.0]


class Live:
    """A random program on a clock on which no two instants are equal; it looks at its scheduler wherever it likes."""

    def __init__(self, seed: int, length: int, path: Path, most: int | None = None, **options: Any) -> None:
        self.dice, self.length = Random(seed), length
        self.time, self.ticks = trio.testing.MockClock(autojump_threshold=0), itertools.count()
        groups = [Group("a", weight=2.0), Group("b", running_limit=2), Group("c", weight=0.5, running_limit=1)]
        self.it = Scheduler({"x": 3, "y": 2}, groups, profile=self.dice.choice(["slotwise", "slotwise", "strict", "data-designer-0.9"]), lost="ignore", recording=path, clock=self.now,
                            retry=Retry(on=(ConnectionError,), tries=3, first=0.4), **options)  # fmt: skip
        assert self.it._recorder is not None
        if most is not None:
            self.it._recorder.tape._most = WIDTH * most
        self.jobs: list[Any] = []
        self.seen: list[s.Snapshot] = []

    def now(self) -> int:
        return round(self.time.current_time() * 1e9) + next(self.ticks)

    def look(self) -> None:
        if self.dice.random() < 0.5:
            self.seen.append(self.it.snapshot())

    async def job(self, seconds: float, error: Exception | None, stubborn: bool) -> None:
        self.look()
        try:
            await anyio.sleep(seconds)
        finally:
            if stubborn:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.3)
            self.look()
        if error is not None and self.dice.random() < 0.7:
            raise error

    async def act(self) -> None:
        dice, it = self.dice, self.it
        match dice.choice(["submit"] * 6 + ["cancel", "cancel", "specify", "sleep", "sleep", "long"]):
            case "submit":
                work = dice.choice([0, 0.01, 0.3, 2.0]), dice.choice([None, None, ConnectionError("again"), ValueError("bad")]), dice.random() < 0.2
                self.jobs.append(it.submit(self.job, *work, group=dice.choice("abcde"), needs=dice.choice(NEEDS), deadline=dice.choice([None, None, 0.2, 1.0])))
            case "cancel" if self.jobs:
                dice.choice(self.jobs).cancel()
            case "specify":
                it.specify(Group(dice.choice("abcde"), weight=dice.choice(WEIGHTS), running_limit=dice.choice([None, 1, 3])))
            case "sleep":
                await anyio.sleep(dice.choice([0, 0.001, 0.07]))
            case "long":
                await anyio.sleep(dice.choice([0.4, 1.3]))
            case _:
                pass

    async def main(self) -> None:
        async with self.it:
            for _ in range(self.length):
                await self.act()
                self.look()
            if self.dice.random() < 0.5:
                await self.it.shutdown(self.dice.choice([0.0, 0.5]))
        self.seen.append(self.it.snapshot())

    def run(self) -> list[s.Snapshot]:
        in_time(self.main, self.time)
        return self.seen


def in_time(main: Callable[[], Awaitable[T]], clock: trio.testing.MockClock) -> T:
    """The clock jumps when nothing else goes on; a thread is nothing to it, so here is none."""

    async def at_once(function: Callable[..., T], *arguments: Any, limiter: Any) -> T:
        return function(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anyio.to_thread, "run_sync", at_once)
        return trio.run(main, clock=clock)


def kept_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing leaves a copy of the stream: kept.arrows."""
    whole = recording_close.to_parquet

    def keep(stream: Path, path: Path) -> str:
        shutil.copy(stream, path.with_name("kept.arrows"))
        return whole(stream, path)

    monkeypatch.setattr(recording_close, "to_parquet", keep)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 60), st.sampled_from([5, 40, 20_000]), st.sampled_from([7, 50, 100_000]))
def test_what_is_replayed_is_what_was_seen_live(seed: int, length: int, events: int, rows: int) -> None:
    """Of resources, groups, leases, events and times, every field; by seeking, by playing on over keyframes, from one in the middle, of the stream and
    of the closed file, of row groups of any size, and of a slice."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        kept_stream(patch)
        patch.setattr(recording, "EVENTS", events)
        patch.setattr(recording_close, "ROWS", rows)
        path = Path(folder, "run.parquet")
        live = Live(seed, length, path).run()
        assert sorted(os.listdir(folder)) == ["kept.arrows", "run.parquet"]
        for name in ("kept.arrows", "run.parquet"):
            with open_recording(path.with_name(name)) as found:
                assert_replays(found, live)
        first, last = sorted(Random(seed).choices([seen.now for seen in live], k=2))
        cut(path, first, last, path.with_name("slice.parquet"))
        with open_recording(path.with_name("slice.parquet")) as found:
            assert (found.first_ns, found.last_ns) == (first, last)
            assert_replays(found, [seen for seen in live if first <= seen.now <= last])


def assert_replays(found: Recording, live: list[s.Snapshot]) -> None:
    for seen in live:
        assert counted(found.snapshot_at(seen.now)) == counted(seen)
    middle = live[len(live) // 3].now
    for begun in (found.first_ns, middle):
        player = found.player(begun)
        for seen in live:
            if seen.now >= begun:
                assert counted(player.to(seen.now)) == counted(seen)
    walked = list(found.snapshots(max(1, (found.last_ns - found.first_ns) // 20)))
    assert (walked[0].now, walked[-1].now) == (found.first_ns, found.last_ns)
    for seen in walked[::3]:
        assert counted(found.snapshot_at(seen.now)) == counted(seen)
    assert found.broken == ""
    assert_goes_to_and_fro(found, live)


def assert_goes_to_and_fro(found: Recording, live: list[s.Snapshot]) -> None:
    """Any instant in any order; and by hops each instant of an event once, from whichever and in both directions."""
    moments, dice = Moments(found.path), Random(len(live))
    for seen in dice.sample(live, len(live)):
        assert counted(moments.at(seen.now)) == counted(seen)
    events = sorted({row[1] for place in range(len(found.pieces)) for row in found.rows(place) if row[2] not in ("keyframe", "rows")})
    for by in (1, -1, 3, -4):
        at = found.first_ns - 1 if by > 0 else found.last_ns + 1
        stops = []
        while (to := moments.hop(at, by)) != at:
            stops.append(to)
            at = to
        wanted = events[by - 1 :: by] if by > 0 else events[by::by]
        if events and stops:
            assert stops[: len(wanted)] == wanted
            assert stops[len(wanted) :] in ([], [events[-1 if by > 0 else 0]])
        assert bool(stops) == bool(events)
        for seen in dice.choices(live, k=5):
            near = [one for one in events if one > seen.now] if by > 0 else [one for one in reversed(events) if one < seen.now]
            assert moments.hop(seen.now, by) == (near[min(abs(by), len(near)) - 1] if near else seen.now)
    moments.close()


def test_a_run_has_all_that_the_property_is_about(tmp_path: Path) -> None:
    """The random programs above do everything: else they would prove little."""
    kinds: set[str] = set()
    ends: dict[str, int] = {}
    for seed in range(12):
        path = tmp_path / f"{seed}.parquet"
        last = Live(seed, 60, path).run()[-1]
        with open_recording(path) as found:
            kinds |= {row[2] for i in range(len(found.pieces)) for row in found.rows(i)}
        for group in last.groups:
            for name in ("finished", "failed", "cancelled", "timed_out", "retried"):
                ends[name] = ends.get(name, 0) + getattr(group, name)
    assert kinds - {"rows"} == {"keyframe", "group", "specified", "waits", "again", "starts", "told", "released", "discarded", "backs_off", "goes_on", "due", "pumped", "finished", "failed",
                                "cancelled", "timed_out"}  # fmt: skip
    assert min(ends.values()) > 3


def test_outside_of_a_recording_its_ends_count(tmp_path: Path) -> None:
    live = Live(3, 30, tmp_path / "run.parquet").run()
    with open_recording(tmp_path / "run.parquet") as found:
        assert found.snapshot_at(0).now == found.first_ns
        assert counted(found.snapshot_at(1 << 62)) == counted(live[-1])
        assert found.snapshot_at(found.last_ns).state == "ended"
        assert found.snapshot_at(found.first_ns).state == "running"
        assert found.header.program == "scheduler"


# keyframes ------------------------------------------------------------------------------------------------------------


def test_a_keyframe_forgets_nothing_that_a_meter_keeps() -> None:
    """What has no place of its own is plain: a number, a truth, or None."""
    meter = m.Meter({"x": 2})
    row, shape = meter.group(Group("a")), meter.shape({"x": 1})
    for of, it in (("meter", meter), ("resource", meter.resources["x"]), ("group", row), ("shape", shape)):
        names = set(vars(it)) if of == "meter" else set(type(it).__slots__)  # type: ignore[union-attr]
        assert names == meter_state.SPECIAL[of] | set(meter_state.NAMES[of])
        assert {name for name in meter_state.NAMES[of] if type(getattr(it, name)) not in (int, bool, type(None))} == set()


def test_a_keyframe_that_went_through_messagepack_is_the_same() -> None:
    """Even where the least common multiple of the capacities has more than 64 bits."""
    meter = m.Meter({f"r{prime}": prime for prime in (9973, 9967, 9949, 9941, 9931, 9929)})
    meter.group(Group("a", running_limit=3))

    row, shape = meter.groups["a"], meter.shape({"r9973": 5, "r9929": 2})
    meter.advance(10**15)
    for id in ("#1", "#2"):
        meter.waits(row, shape, id)
    meter.advance(10**15 + 5)
    meter.starts(row, "#1")
    state = meter_state.frozen(meter, [meter_state.Stand("#1", row, shape, 10**15 + 5, 1)])
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=meter_state.MeterState)
    fold = Fold(read)
    assert fold.frozen() == state
    assert abs(meter.groups["a"].service_less) > 1 << 64
    at = 10**15 + 99
    assert fold.meter.frozen_groups(at, 0) == meter.frozen_groups(at, 0)
    assert fold.meter.frozen_resources(at) == meter.frozen_resources(at)


# what is recorded besides ---------------------------------------------------------------------------------------------


class Pool:
    """Its rows change with each look; or they cannot be told."""

    spun, broken = 0, False

    def rows(self) -> list[s.Worker]:
        if self.broken:
            raise RuntimeError("no rows")
        return [s.Worker("w0", "run", 1, self.spun, 0, 0, 0, 0, 0, 0)]


def test_rows_of_what_is_attached_are_recorded_when_they_change(tmp_path: Path) -> None:
    async def main() -> tuple[int, int]:
        async with Scheduler({"x": 1}, recording=tmp_path / "run.parquet", check=True) as it:
            it.attach(pool := Pool())
            for pool.spun in (1, 2):
                await it.submit(anyio.sleep, 0.35)
            times = it.snapshot().now, it.snapshot().checks[0].checked
        return times

    at, checked = in_time(main, trio.testing.MockClock(autojump_threshold=0))
    with open_recording(tmp_path / "run.parquet") as found:
        assert [worker.spinning for worker in found.snapshot_at(at - 400_000_000).workers] == [1]
        assert [worker.spinning for worker in found.snapshot_at(at).workers] == [2]
        assert [(check.id, check.checked) for check in found.snapshot_at(found.last_ns).checks] == [("conformance", checked)]
        rows = [row[2] for i in range(len(found.pieces)) for row in found.rows(i)]
        assert 2 <= rows.count("rows") + rows.count("keyframe") <= 10


def test_snapshots_alone_can_be_recorded_and_cut(tmp_path: Path) -> None:
    writer = recording.SnapshotWriter(tmp_path / "seen.parquet")
    shots = [s.Snapshot(s.VERSION, "p", 1, 10, 100 + i * 400_000_000, i, i, 0, 0, (s.Resource("x", 1, 0, 0, 0, 0, 0, 0, 0, s.Histogram({3: i}, i)),)) for i in range(20)]
    for shot in shots:
        writer.put(shot)
    writer.put(shots[3])                     # too late
    with open_recording(tmp_path / "seen.arrows") as found:
        assert len(list(found.snapshots())) >= 15
    assert writer.close() == ""
    assert writer.close() == ""
    assert os.listdir(tmp_path) == ["seen.parquet"]
    cut(tmp_path / "seen.parquet", shots[5].now + 7, shots[9].now, tmp_path / "part.parquet")
    with open_recording(tmp_path / "seen.parquet") as found, open_recording(tmp_path / "part.parquet") as part:
        assert list(found.snapshots()) == shots
        assert found.snapshot_at(shots[7].now + 5) == shots[7]
        assert list(part.snapshots()) == shots[5:10]
    with pytest.raises(ValueError, match="closed"):
        writer.put(shots[-1])
    assert recording.SnapshotWriter(tmp_path / "none.parquet").close() == "there was no snapshot"
    assert sorted(os.listdir(tmp_path)) == ["part.parquet", "seen.parquet"]


# what is lost ---------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 32))
def test_where_events_were_dropped_the_next_keyframe_counts(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.parquet")
        program = Live(seed, 60, path, most=12)
        live = program.run()
        assert program.it._recorder is not None
        dropped = program.it._recorder.tape.dropped
        with open_recording(path) as found:
            keys = [row[1] for i in range(len(found.pieces)) for row in found.rows(i) if row[2] == "keyframe"]
            gaps = [row[1] for i in range(len(found.pieces)) for row in found.rows(i) if row[2] == "dropped"]
            assert bool(gaps) is bool(dropped)
            kinds = [row[2] for i in range(len(found.pieces)) for row in found.rows(i)]
            assert all(kinds[i + 1] == "keyframe" for i, kind in enumerate(kinds) if kind == "dropped")
            assert found.snapshot_at(found.last_ns).dropped == dropped == live[-1].dropped
            for seen in live:
                replayed = found.snapshot_at(seen.now)
                key = next(key for key in [*keys, 1 << 62] if key > seen.now)
                if any(gap <= seen.now and not any(gap <= other <= seen.now for other in keys) for gap in gaps):
                    assert replayed.now == key
                else:
                    assert {**counted(replayed), "dropped": 0} == {**counted(seen), "dropped": 0}
            times = [shot.now for shot in found.snapshots(10**7)]
            assert times == sorted(times)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, backend: str) -> None:
    real, left = os.write, [3]

    def write(file: int, data: bytes) -> int:
        left[0] -= 1
        if left[0] < 0:
            real(file, data[:5])
            raise OSError(28, "No space left on device")
        return real(file, data)

    async def main() -> tuple[s.Snapshot, s.Snapshot]:
        async with Scheduler({"x": 1}, recording=tmp_path / "run.parquet") as it:
            kept_stream(monkeypatch)
            monkeypatch.setattr(os, "write", write)
            assert it._recorder is not None
            for _ in range(5):
                await it.submit(anyio.sleep, 0)
                await it._recorder.turn()
            early = it.snapshot()
            for _ in range(5):
                await it.submit(anyio.sleep, 0)
        return early, it.snapshot()

    monkeypatch.setattr(recording, "INTERVAL", NEVER)            # it has its turn when we say so
    with caplog.at_level(logging.ERROR):
        early, last = anyio.run(main, backend=backend)
    monkeypatch.undo()
    assert [record.getMessage() for record in caplog.records] == [f"{tmp_path / 'run.arrows'}: nothing is recorded any more: No space left on device"]
    assert 0 < early.dropped < last.dropped
    assert (last.groups[0].finished, last.state) == (10, "ended")
    with open_recording(tmp_path / "kept.arrows") as found:
        assert found.broken == ""
    with open_recording(tmp_path / "run.parquet") as found:
        assert 1 <= found.snapshot_at(found.last_ns).groups[0].finished <= 3


def test_what_cannot_be_told_ends_the_recording_and_not_the_program(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "INTERVAL", NEVER)

    async def main() -> None:
        async with Scheduler({"x": 1}, recording=tmp_path / "run.parquet") as it:
            it.attach(pool := Pool())
            assert it._recorder is not None
            pool.broken = True
            await it._recorder.turn()
            await it._recorder.turn()
            pool.broken = False
            await it.submit(anyio.sleep, 0)
        assert it.snapshot().state == "ended"

    anyio.run(main)
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == ["nothing is recorded any more: RuntimeError: no rows"]


def test_a_path_that_cannot_be_written_is_named_at_once(tmp_path: Path) -> None:
    async def main(path: Path) -> None:
        async with Scheduler({"x": 1}, recording=path):
            raise AssertionError("it must not begin")

    with pytest.raises(FileNotFoundError, match=r"nowhere/run\.arrows"):
        anyio.run(main, tmp_path / "nowhere/run.parquet")
    with pytest.raises(ValueError, match=r"run\.txt must end with \.parquet"):
        anyio.run(main, tmp_path / "run.txt")
    (tmp_path / "run.arrows").mkdir()
    with pytest.raises(OSError, match=r"something else: .*run\.arrows"):
        Live(0, 0, tmp_path / "run.parquet").run()


def test_what_a_killed_program_left_is_kept_and_what_another_writes_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "run.arrows").write_bytes(b"left")
    (tmp_path / "run.1.arrows").write_bytes(b"older")

    async def main() -> None:
        async with Scheduler({"x": 1}, recording=tmp_path / "run.parquet") as it:
            await it.submit(anyio.sleep, 0)
            with pytest.raises(OSError, match=r"another program is recording there: .*run\.arrows"):
                async with Scheduler({"x": 1}, recording=tmp_path / "run.parquet"):
                    pass
            assert recording_stream.written(tmp_path / "run.arrows")

    anyio.run(main)
    assert sorted(os.listdir(tmp_path)) == ["run.1.arrows", "run.2.arrows", "run.parquet"]
    assert (tmp_path / "run.2.arrows").read_bytes() == b"left"


def test_a_tape_hears_what_is_recorded(tmp_path: Path) -> None:
    tape = Tape()

    async def main(**options: Any) -> None:
        async with Scheduler({"x": 1}, **options) as it:
            await it.submit(anyio.sleep, 0, needs="x")

    anyio.run(lambda: main(tape=tape))
    anyio.run(lambda: main(recording=tmp_path / "run.parquet"))
    heard = [event.kind for event in tape.take()]
    assert heard == ["group", "waits", "due", "starts", "pumped", "released", "finished"]
    with open_recording(tmp_path / "run.parquet") as found:
        assert [(row[0], row[2]) for row in found.rows(0) if row[2] not in ("keyframe", "rows")] == list(enumerate(heard, 1))
    with pytest.raises(ValueError, match="tape or recording, not both"):
        Scheduler({"x": 1}, recording=tmp_path / "run.parquet", tape=tape)


@given(st.lists(st.sampled_from(["add", "add", "add", "take", "take one", "taken"]), max_size=60))
def test_numbers_say_what_a_tape_dropped(acts: list[str]) -> None:
    tape, told, dropped = Tape(4), 0, 0
    naive: list[int] = []
    for act in acts:
        if act == "add":
            told += 1
            tape.add(told * 10, "waits", f"#{told}", "a")
            if len(naive) < 4:
                naive.append(told)
            else:
                dropped += 1
        elif act == "taken" and not tape._later:
            taken = tape.taken()
            assert taken.columns()[0] == [number * 10 for number in naive] == [10 * (taken.before + i) for i in range(1, len(taken) + 1)]
            assert taken.before + len(taken) + taken.lost == told
            assert not taken.lost or taken.lost_from == 10 * (taken.before + len(taken) + 1)
            naive = []
        elif act.startswith("take"):
            kept = tape.take(1 if act == "take one" else None)
            assert [(event.number, event.at) for event in kept] == [(number, number * 10) for number in naive[: len(kept)]]
            assert len(kept) == (min(1, len(naive)) if act == "take one" else len(naive))
            del naive[: len(kept)]
        assert (tape.events, tape.dropped, len(tape)) == (told, dropped, len(naive))


def test_a_recording_that_cannot_be_closed_stays_a_stream(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "run.parquet").mkdir()
    live = Live(1, 20, tmp_path / "run.parquet").run()
    assert "could not be made" in caplog.text
    assert sorted(os.listdir(tmp_path)) == ["run.arrows", "run.parquet"]
    with open_recording(tmp_path / "run.arrows") as found:
        assert_replays(found, live)


KILLED = """
    import os, sys
    import anyio, msgspec
    from slotwise.impl.scheduler import Group, Scheduler

    async def main():
        out = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
        async with Scheduler({"x": 2}, [Group("a"), Group("b", running_limit=1)], recording=sys.argv[1], lost="ignore") as it:
            while True:
                for group in "ab":
                    it.submit(anyio.sleep, 0.004, group=group, deadline=0.05)
                await anyio.sleep(0.003)
                seen = msgspec.msgpack.encode(it.snapshot())
                os.write(out, len(seen).to_bytes(4, "big") + seen)

    anyio.run(main)
"""


MANY = 50                                    # snapshots


def told_so_far(path: Path) -> list[s.Snapshot]:
    data, found = path.read_bytes() if path.exists() else b"", []
    while len(data) >= 4 and len(data) >= 4 + (size := int.from_bytes(data[:4], "big")):
        found.append(msgspec.msgpack.decode(data[4 : 4 + size], type=s.Snapshot))
        data = data[4 + size :]
    return found


def written_so_far(path: Path) -> int:
    """The last instant that is known. The program writes on: it may break off anywhere."""
    try:
        with open_recording(path) as found:
            return found.last_ns
    except RecordingError:
        return 0


def test_a_killed_program_leaves_all_whole_batches(tmp_path: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "run.parquet"), str(tmp_path / "seen")])
    end = time.monotonic() + LONG
    try:
        while len(told := told_so_far(tmp_path / "seen")) <= MANY or written_so_far(tmp_path / "run.arrows") <= told[MANY].now:      # what is recorded follows what happens
            assert program.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
    live = told_so_far(tmp_path / "seen")
    assert not (tmp_path / "run.parquet").exists()
    assert recording_close.to_parquet(tmp_path / "run.arrows", tmp_path / "mended.parquet") == ""
    for name in ("run.arrows", "mended.parquet"):
        with open_recording(tmp_path / name) as found:
            kept = [seen for seen in live if found.first_ns <= seen.now <= found.last_ns]
            assert len(kept) > MANY
            for seen in kept:
                assert counted(found.snapshot_at(seen.now)) == counted(seen)


# files that are not what they say -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good")
    with pytest.MonkeyPatch.context() as patch:
        kept_stream(patch)
        patch.setattr(recording_close, "ROWS", 50)
        program = Live(7, 0, folder / "run.parquet")

        async def steady() -> None:
            async with program.it as it:
                for i in range(60):
                    it.submit(anyio.sleep, 0.3, group="abc"[i % 3], needs="xy"[i % 2], deadline=2.0)
                    await anyio.sleep(0.1)

        program.main = steady  # type: ignore[method-assign]
        program.run()
    return folder


def read_all(path: Path) -> str:
    """Everything that can be read of it; what is wrong, in one line, or nothing."""
    wrong: RecordingError | None = None
    try:
        with open_recording(path) as found:
            list(found.snapshots(10**8))
            for t_ns in (found.first_ns, found.last_ns, (found.first_ns + found.last_ns) // 2):
                found.snapshot_at(t_ns)
            return found.broken
    except RecordingError as error:
        wrong = error
    assert str(wrong) == f"{path}: {wrong.why}"
    assert "\n" not in wrong.why
    return wrong.why


def written(path: Path, columns: dict[str, Any], **header: Any) -> Path:
    """A stream of these columns, with a good header if nothing else is said."""
    pa = recording_format.arrow()
    made = recording_format.schema(recording_format.Header("p", 1, 0, SECOND))
    metadata = dict(made.metadata)
    if header:
        metadata[b"slotwise"] = msgspec.json.encode({**msgspec.json.decode(metadata[b"slotwise"]), **header})
    if not columns:
        columns = {field.name: pa.array([], field.type) for field in made}
    table = pa.table(columns).replace_schema_metadata(metadata)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table)
    return path


def rows(**changed: Any) -> dict[str, Any]:
    pa = recording_format.arrow()
    state = meter_state.frozen(m.Meter({"x": 1}))
    key = msgspec.msgpack.encode(recording_format.Keyframe(state, recording_format.Besides(), 0))
    values: dict[str, list[Any]] = {"number": [0, 1], "t_ns": [5, 9], "kind": ["keyframe", "pumped"], "job": ["", ""], "group": ["", ""], "lease": [0, 0], "data": [key, None]}
    types = dict(recording_format.COLUMNS)
    return {name: pa.array(changed.get(name, value), getattr(pa, types[name])()) for name, value in values.items()}


def bad_state(**changed: Any) -> bytes:
    state = msgspec.to_builtins(meter_state.frozen(m.Meter({"x": 1})))
    return msgspec.msgpack.encode({"meter": {**state, **changed}, "besides": {}, "dropped": 0})


HOSTILE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "an empty file"),
    "short": (lambda path: path.write_bytes(b"PA"), "neither an Arrow stream nor a Parquet file"),
    "text": (lambda path: path.write_text("kind,job\nwaits,#1\n"), "neither an Arrow stream nor a Parquet file"),
    "noise": (lambda path: path.write_bytes(Random(1).randbytes(5000)), "neither an Arrow stream nor a Parquet file"),
    "only the magic": (lambda path: path.write_bytes(b"PAR1"), "no Parquet file, or one that breaks off"),
    "magic and noise": (lambda path: path.write_bytes(b"PAR1" + Random(1).randbytes(5000) + b"PAR1"), "no Parquet file, or one that breaks off"),
    "a description of 2 GB": (lambda path: path.write_bytes(b"\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(100)), "describes something too large"),
    "a description of less than nothing": (lambda path: path.write_bytes(b"\xff\xff\xff\xff\xff\xff\xff\xff" + bytes(100)), "describes something too large"),
    "a stream of noise": (lambda path: path.write_bytes(b"\xff\xff\xff\xff\x40\0\0\0" + Random(1).randbytes(900)), "no Arrow stream"),
    "other columns": (lambda path: written(path, {"a": [1]}), "its columns are a int64; expected number int64, t_ns int64"),
    "other types": (lambda path: written(path, {**rows(), "t_ns": ["x", "y"]}), "its columns are number int64, t_ns string"),
    "newer": (lambda path: written(path, {}, schema=2), "a recording of version 2, newer than this reader's 1"),
    "another snapshot": (lambda path: written(path, {}, snapshot=1), f"it has version 1 of the snapshot, this reader version {s.VERSION}"),
    "a bad header": (lambda path: written(path, {}, program=7), "its header cannot be read: Expected `str`, got `int` - at `$.program`"),
    "no row": (lambda path: written(path, {}), "it has no keyframe"),
    "no keyframe": (lambda path: written(path, rows(kind=["due", "pumped"])), "it has no keyframe"),
    "times that fall": (lambda path: written(path, rows(t_ns=[9, 5])), "its times do not ascend"),
    "a time before the beginning": (lambda path: written(path, rows(t_ns=[-9, 5])), ""),
    "nulls": (lambda path: written(path, rows(kind=["keyframe", None])), "a value is missing"),
    "no state": (lambda path: written(path, rows(data=[b"", None])), "row keyframe of event 0 (): Input data was truncated"),
    "a state of noise": (lambda path: written(path, rows(data=[b"\x93\x01", None])), "row keyframe of event 0 (): "),
    "deep": (lambda path: written(path, rows(data=[b"\x91" * 100_000, None])), "row keyframe of event 0 (): "),
    "names of another version": (lambda path: written(path, rows(data=[bad_state(names={}), None])), "its keyframes are of another version"),
    "too few plain values": (lambda path: written(path, rows(data=[bad_state(plain=[1]), None])), "a keyframe contradicts itself"),
    "no resources": (lambda path: written(path, rows(data=[bad_state(resources=[]), None])), "a keyframe names no resource"),
    "a shape that there is not": (lambda path: written(path, rows(data=[bad_state(heads=[5]), None])), "a keyframe contradicts itself"),
    "a job that runs nowhere": (lambda path: written(path, rows(data=[bad_state(running=[["#1", 0, 0, 0, 1]]), None])), "a keyframe contradicts itself"),
    "an unknown kind": (lambda path: written(path, rows(kind=["keyframe", "explodes"])), "row explodes of event 1 (): there is no such event"),
    "an unknown job": (lambda path: written(path, rows(kind=["keyframe", "starts"], job=["", "#9"])), "row starts of event 1 (#9): there is no '#9'"),
    "an unknown group": (lambda path: written(path, rows(kind=["keyframe", "finished"], group=["", "g"])), "row finished of event 1 (g): there is no 'g'"),
    "a group of noise": (lambda path: written(path, rows(kind=["keyframe", "group"], data=[rows()["data"][0].as_py(), b"\xc1"])), "row group of event 1 (): its data cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_recording_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    make, why = HOSTILE[name]
    path = tmp_path / "x.parquet"
    make(path)
    found = read_all(path)
    assert why in found
    assert bool(found) is bool(why)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="No such file"):
        open_recording(tmp_path / "none.parquet")


def test_a_stream_that_breaks_off_anywhere_gives_all_whole_batches(good: Path, tmp_path: Path) -> None:
    data = (good / "kept.arrows").read_bytes()
    with open_recording(good / "kept.arrows") as found:
        whole, pieces = [(shot.now, counted(shot)) for shot in found.snapshots(10**8)], len(found.pieces)
    before = 0
    for size in range(1, len(data), 397):
        path = tmp_path / "x.arrows"
        path.write_bytes(data[:size])
        try:
            cut_off = open_recording(path)
        except RecordingError:
            assert not before                # not even the first message is there
            continue
        with cut_off:
            assert before <= len(cut_off.pieces) <= pieces
            before = len(cut_off.pieces)
            seen = [(shot.now, counted(shot)) for shot in cut_off.snapshots(10**8)]
            assert seen[:-1] == whole[: len(seen) - 1] or not seen
    assert before >= pieces - 1


def test_a_parquet_file_that_breaks_off_is_refused(good: Path, tmp_path: Path) -> None:
    data = (good / "run.parquet").read_bytes()
    for size in range(0, len(data) - 1, 211):
        (tmp_path / "x.parquet").write_bytes(data[:size])
        assert read_all(tmp_path / "x.parquet")


@pytest.mark.parametrize("name", ["run.parquet", "kept.arrows"])
def test_flipped_bits_end_in_one_line_or_in_numbers(good: Path, tmp_path: Path, name: str) -> None:
    data, dice, wrong = (good / name).read_bytes(), Random(5), 0
    for _ in range(100):
        broken = bytearray(data)
        for _ in range(dice.choice([1, 1, 30])):
            broken[dice.randrange(len(broken))] ^= 1 << dice.randrange(8)
        (tmp_path / "x").write_bytes(broken)
        wrong += bool(read_all(tmp_path / "x"))
    assert wrong > 15


def test_a_damaged_piece_costs_no_more_than_itself(good: Path, tmp_path: Path) -> None:
    """The next keyframe goes on; in a stream, and in what is made of it."""
    with open_recording(good / "kept.arrows") as found:
        keys = [i for i, piece in enumerate(found.pieces) if piece.key is not None]
        assert len(found.pieces) > 40
        assert 5 < len(keys) < 15
        hit = next(i for i in range(len(found.pieces) // 2, len(found.pieces)) if i not in keys)
        after = found.pieces[next(i for i in keys if i > hit)]
        within = found.pieces[hit].last
        offset, size = found.pieces[hit].read.args[0], found.pieces[hit + 1].read.args[0] - found.pieces[hit].read.args[0]  # type: ignore[attr-defined]
        wanted = [(shot.now, counted(shot)) for shot in (found.snapshot_at(t) for t in range(after.key or 0, found.last_ns, 10**8))]
    data = bytearray((good / "kept.arrows").read_bytes())
    data[offset + size // 2 : offset + size] = bytes(size - size // 2)
    (tmp_path / "x.arrows").write_bytes(data)
    assert "cannot be read" in recording_close.to_parquet(tmp_path / "x.arrows", tmp_path / "x.parquet")
    for name in ("x.arrows", "x.parquet"):
        with open_recording(tmp_path / name) as damaged:
            assert [(now, counted(damaged.snapshot_at(now))) for now, _ in wanted] == wanted
            times = [shot.now for shot in damaged.snapshots(10**8)]
            assert times[-1] == damaged.last_ns
            assert damaged.snapshot_at(within).now == damaged.snapshot_at((after.key or 0) - 1).now == after.key


def test_a_damaged_row_group_costs_no_more_than_itself(good: Path, tmp_path: Path) -> None:
    with open_recording(good / "run.parquet") as found:
        assert len(found.pieces) > 4
        before = counted(found.snapshot_at(found.pieces[1].last))
        after = [(shot.now, counted(shot)) for shot in (found.snapshot_at(t) for t in range(found.pieces[3].first, found.last_ns, 10**8))]
    pa = recording_format.arrow()
    data = bytearray((good / "run.parquet").read_bytes())
    column = pa.parquet.ParquetFile(str(good / "run.parquet")).metadata.row_group(2).column(2)
    begun = column.dictionary_page_offset
    data[begun : begun + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    (tmp_path / "x.parquet").write_bytes(data)
    with open_recording(tmp_path / "x.parquet") as damaged:
        assert counted(damaged.snapshot_at(damaged.pieces[1].last)) == before
        assert [(now, counted(damaged.snapshot_at(now))) for now, _ in after] == after
        times = [shot.now for shot in damaged.snapshots(10**8)]
        assert times == sorted(times)
        assert times[-1] == damaged.last_ns
        assert damaged.broken.startswith("row group 2 cannot be read: ")


def test_a_slice_that_begins_with_an_event_has_it_once(good: Path, tmp_path: Path) -> None:
    with open_recording(good / "run.parquet") as found:
        events = [row[1] for i in range(len(found.pieces)) for row in found.rows(i) if row[2] in ("waits", "starts", "finished")]
        for begun in events[20::40]:
            cut(good / "run.parquet", begun, found.last_ns, tmp_path / "part.parquet")
            with open_recording(tmp_path / "part.parquet") as part:
                assert part.first_ns == begun
                assert part.broken == ""
                for t_ns in (begun, begun + 10**8, part.last_ns):
                    assert counted(part.snapshot_at(t_ns)) == counted(found.snapshot_at(t_ns))


# a long one ---------------------------------------------------------------------------------------------------------------


def test_a_long_recording_is_read_piece_by_piece(tmp_path: Path) -> None:
    writer = recording.SnapshotWriter(tmp_path / "long.parquet")
    dice = Random(1)
    for i in range(300):
        groups = tuple(s.Group(dice.randbytes(50_000).hex(), 1.0, None, 0, 0, 0, None, 0, s.Histogram(), {}, 0, 0, 0, 0, 0, 0, 0) for _ in range(2))
        writer.put(s.Snapshot(s.VERSION, "p", 1, 0, i * SECOND, i, i, 0, 0, (), groups))
    assert writer.close() == ""
    pa = recording_format.arrow()
    before, most = pa.total_allocated_bytes(), 0
    with open_recording(tmp_path / "long.parquet") as found:
        assert sum(piece.rows for piece in found.pieces) == 300
        assert len(found.pieces) > 5
        for i, shot in enumerate(found.snapshots()):
            assert shot.number == i
            most = max(most, pa.total_allocated_bytes() - before)
    assert most < 4 * recording_format.BYTES < 300 * 200_000 // 1.5


def test_nothing_needs_pyarrow_but_recordings() -> None:
    code = "import sys, slotwise.impl, slotwise.impl.scheduler, slotwise.impl.recording_file, slotwise.dashboard.observe.report; print('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_whoever_has_no_pyarrow_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'slotwise\[record\]'"):
        Scheduler({"x": 1}, recording=tmp_path / "run.parquet")


def test_an_event_that_does_not_fit_is_named() -> None:
    fold = Fold(meter_state.frozen(m.Meter({"x": 1})))
    fold.play(5, "group", "", "a", 0, msgspec.msgpack.encode(Group("a")))
    fold.play(5, "waits", "#1", "a", 0, msgspec.msgpack.encode({"x": 1}))
    with pytest.raises(FoldError, match="there already"):
        fold.play(5, "waits", "#1", "a", 0, msgspec.msgpack.encode({"x": 1}))
    with pytest.raises(FoldError, match="the job is waiting, not running"):
        fold.play(6, "released", "#1", "a", 1, None)
    with pytest.raises(FoldError, match="falls by 1 ns"):
        fold.play(4, "starts", "#1", "a", 1, None)
