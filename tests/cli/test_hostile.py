"""Hostile surroundings: names that would move the cursor, readers that go, streams and folders that cannot be written, interrupts. Nothing found is lost."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from slotwise.cli import bench_spin, ci, fuzz, store
from slotwise.fuzz import exits, seeded
from slotwise.fuzz.report import Report
from slotwise.spec import trace
from slotwise.spec import vocabulary as v

from .conftest import Slotwise

native = pytest.mark.skipif(not seeded.catalogue(), reason="the engine is not built")
FAULT = "native:faults/running_limit_off_by_one"
FINDS = ("fuzz", "--target", FAULT, "--profile", "slotwise", "--seed", "1", "--steps", "20000")
PROGRAM = [sys.executable, "-m", "slotwise.cli.start"]
EVIL = "\x1b[31mred\u202e\x9b[bold]"


def failing(name: str = "evil") -> trace.Trace:
    """A trace that the fault fails."""
    tasks = tuple(v.Task(f"{name}{n}", name, {"r": 1}) for n in (1, 2))
    return trace.Trace(trace.header(v.PROFILES["slotwise"], {"r": 2}), [trace.Step(v.Enqueue(tasks=tasks, groups=(v.Group(name, running_limit=1),))), trace.Step(v.Pump(at_most=9))])


def shell(command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command.replace("slotwise", " ".join(PROGRAM), 1)], capture_output=True, text=True, env={**os.environ, **env})


# names -----------------------------------------------------------------------------------------------------------------------------------


@native
def test_names_in_a_trace_cannot_move_the_cursor(slotwise: Slotwise) -> None:
    trace.write(Path("evil.slotwise.jsonl"), failing(EVIL))
    for command in (("replay", "evil.slotwise.jsonl", "--target", FAULT), ("watch", "evil.slotwise.jsonl", "--against", FAULT, "--once")):
        ended = slotwise(*command)
        assert "red" in ended.out + ended.err
        assert [found for found in "\x1b\u202e\x9b" if found in ended.out + ended.err] == []


def test_names_on_the_command_line_are_one_line(slotwise: Slotwise) -> None:
    for command in (("replay", f"{EVIL}\nx"), ("simulate", f"{EVIL}\nx"), (f"{EVIL}\nx",), ("fuzz", "--profile", f"{EVIL}\nx/y"), ("record", "-o", "a.parquet", f"{EVIL}\nx"), ("watch", f"{EVIL}\nx", "--once")):
        line = slotwise(*command).line
        assert "\\x1b[31mred\\u202e\\x9b[bold]" in line.replace("\\\\", "\\"), line


WRONG: dict[str, tuple[int, str]] = {
    "replay folder": (exits.USAGE, "folder: a folder, expected a trace"),
    "replay binary": (exits.TRACE_REJECTED, "binary: line 1: not a JSON object"),
    "watch folder --once": (2, "folder: a folder, expected a socket, a file or a URL"),
    "watch nothing --once": (2, "nothing: an empty file"),
    "fuzz --steps 9 --seconds 1": (exits.USAGE, "fuzz: expected --seconds or --steps, not both"),
    "fuzz --target pipe:'x": (exits.USAGE, "target pipe:'x: No closing quotation"),
    "ci --golden nowhere": (exits.USAGE, "--golden nowhere: no such folder"),
    "ci --golden binary": (exits.USAGE, "--golden binary: not a folder"),
    "bench spin --picture x.pdf": (exits.USAGE, "--picture: x.pdf must end with .svg or .png"),
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_files(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.setattr(bench_spin, "measured", never)
    Path("folder").mkdir()
    Path("nothing").touch()
    Path("binary").write_bytes(bytes(range(256)) * 4)
    ended = slotwise(*arguments.split())
    assert (ended.code, ended.out) == (WRONG[arguments][0], "")
    assert WRONG[arguments][1] in ended.line


@native
def test_a_fault_that_there_is_not_is_answered_in_a_line_that_can_be_read(slotwise: Slotwise) -> None:
    assert len(slotwise("fuzz", "--target", "native:faults/zzz").line) < 250


# what cannot be written is said before the work ---------------------------------------------------------------------------------------------


def never(*arguments: object, **options: object) -> object:
    raise AssertionError("the work was begun")


def test_what_cannot_be_written_is_said_at_once(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").touch()
    monkeypatch.setattr(ci, "all_checks", never)
    monkeypatch.setattr("slotwise.cli.shrink.shrink_trace", never)
    monkeypatch.setattr(bench_spin, "measured", never)
    monkeypatch.setattr(bench_spin, "find_spec", lambda name: True)
    trace.write(Path("t"), failing())
    for command in (("ci", "--junit", "file/x"), ("ci", "--sarif", "file/x"), ("ci", "--html", "file/x"), ("shrink", "t", "-o", "file/x"), ("bench", "spin", "--picture", "file/x.svg")):
        ended = slotwise(*command)
        assert ended.code == exits.USAGE, ended
        assert ended.line.endswith(": Not a directory") or ended.line.endswith(": File exists"), ended.line
    monkeypatch.setattr(bench_spin, "find_spec", lambda name: None)
    assert "pip install 'slotwise[bench]'" in slotwise("bench", "spin", "--picture", "x.svg").line
    assert sorted(path.name for path in Path().iterdir()) == ["file", "t"], "to try leaves nothing"


@native
def test_what_is_found_is_told_and_kept_where_the_folder_cannot_be_written(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    store.elsewhere.cache_clear()
    Path(".slotwise").touch()
    ended = slotwise(*FINDS)
    assert ended.code == exits.DIVERGENCE
    assert "slotwise: .slotwise: File exists: what is found is kept in " in ended.err
    (kept,) = (tmp_path / "tmp").rglob(f"*{trace.SUFFIX}")
    assert f"slotwise replay {kept}" in ended.out
    store.elsewhere.cache_clear()


# streams ------------------------------------------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_changes_no_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command, code in (("slotwise rules", 0), ("slotwise rules --json", 0), ("slotwise fuzz --help", 0)):
        ended = shell(f"{command} | true; echo ${{PIPESTATUS[0]}}")
        assert (ended.stdout, ended.stderr.count("Error")) == (f"{code}\n", 0), (command, ended)


@native
def test_a_reader_that_goes_hides_no_broken_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    waiting = v.Enqueue(tasks=tuple(v.Task(name, name[0], {"r": 1}) for name in (*(f"a{n}" for n in range(30)), "b")))
    served = [command for n in range(1, 30) for command in (v.Pump(at_most=1, at=n), v.Release(lease=n, at=n + 1))]
    trace.write(Path("t"), trace.Trace(trace.header(v.PROFILES["slotwise"], {"r": 1}), [trace.Step(command) for command in (waiting, *served)]))
    ended = shell(f"slotwise replay t --target 'pipe:{sys.executable} -m slotwise.fuzz.sample.round_robin' | true; echo ${{PIPESTATUS[0]}}")
    assert ended.stdout == f"{exits.INVARIANT}\n", ended


def test_a_full_disk_and_closed_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    full = shell("slotwise rules > /dev/full; echo $?")
    assert (full.stdout, full.stderr.splitlines()[-1]) == (f"{exits.USAGE}\n", "slotwise: stdout: No space left on device")
    assert shell("slotwise rules >&-").returncode == exits.CLEAN
    silent = shell("slotwise rules bogus 2>&-")
    assert (silent.returncode, silent.stdout) == (exits.USAGE, "")


def test_a_stream_that_lacks_a_character_says_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace.write(Path("\u00e9"), failing())
    ended = shell("slotwise replay '\u00e9' --target reference", PYTHONIOENCODING="ascii")
    assert (ended.returncode, ended.stderr) == (exits.CLEAN, "")
    assert ended.stdout.startswith("\\xe9: 2 commands on reference under slotwise: ")


# interrupts ---------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("json_too", [False, True])
def test_an_interrupted_search_tells_what_it_has_done(slotwise: Slotwise, monkeypatch: pytest.MonkeyPatch, json_too: bool) -> None:
    def search(job: fuzz.Job, told: Callable[[Report], None] | None = None) -> Report:
        report = Report(job.target, job.profile.name, job.seed, True, steps=123)
        if job.profile.name == "data-designer-0.8":
            assert told is not None
            told(report)
            raise KeyboardInterrupt
        return report

    monkeypatch.setattr(fuzz, "search", search)
    ended = slotwise("fuzz", "--target", "reference", "--steps", "500", *(["--json"] if json_too else []))
    assert ended.code == 130
    assert ended.err.endswith("slotwise: interrupted\n")
    if json_too:
        assert [run["profile"] for run in json.loads(ended.out)["runs"]] == ["strict", "data-designer-0.8"]
    else:
        assert [line.split()[1] for line in ended.out.splitlines()] == ["profile", "strict", "data-designer-0.8"]
    assert json.loads(Path(".slotwise/last-campaign.json").read_text())["steps"] == 246


PATIENT = """
import sys, time
from pathlib import Path
from slotwise.fuzz.processes import side_by_side

def wait(n):
    Path(f"begun-{n}").touch()
    time.sleep(600)

if __name__ == "__main__":
    try:
        list(side_by_side(wait, range(9), 2))
    except KeyboardInterrupt:
        sys.exit("interrupted")
"""


def test_an_interrupt_ends_processes_at_once_and_quietly(tmp_path: Path) -> None:
    """As a terminal sends it: to all of them."""
    (tmp_path / "patient.py").write_text(PATIENT)
    program = subprocess.Popen([sys.executable, "patient.py"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while not all((tmp_path / f"begun-{n}").exists() for n in (0, 1)):
            assert program.poll() is None
            time.sleep(0.05)
        os.killpg(program.pid, signal.SIGINT)
        assert program.communicate(timeout=120)[1] == "interrupted\n"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
    assert sorted(path.name for path in tmp_path.glob("begun-*")) == ["begun-0", "begun-1"]


def test_processes_answer_in_order() -> None:
    from slotwise.fuzz.processes import side_by_side

    assert list(side_by_side(abs, [-3, 2, -1], 2)) == [3, 2, 1]


def test_the_version_needs_no_installation(slotwise: Slotwise) -> None:
    ended = slotwise("--version")
    assert (ended.code, ended.out.startswith("slotwise")) == (exits.CLEAN, True)
