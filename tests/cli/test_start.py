"""`slotwise watch` is read without typer, and exactly as typer reads it; what is not plainly right is left to typer."""
from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from slotwise.cli import main, start, watch
from slotwise.fuzz import exits

HOUSE = Path(__file__).parents[2]
TRACE = HOUSE / "tests/golden/attacks/P1.slotwise.jsonl"

PLAIN = [
    [], ["t"], ["t", "--once"], ["--once", "t"], ["--attach", "s"], ["--attach=s"], ["--attach="], ["--attach", ""], ["--attach", "--once"], ["--attach", "a", "--attach", "b"], ["--attach=a=b"],
    ["t", "--format", "json"], ["t", "--for", "3"], ["t", "--for=0.25"], ["t", "--for", "86400"], ["t", "--fail-on", "warn"], ["t", "--allow", "A", "--allow", "B", "--warn", "C=1", "--warn=D=2"],
    ["--ascii", "--demo"], ["--run", "python x.py --once"], ["t", "--against", "reference"], ["t", "--web", "8000"], ["t", "--once", "--once"],
]  # fmt: skip
LEFT = [
    ["-h"], ["t", "--help"], ["a", "b"], [""], ["--", "t"], ["-x"], ["--onc"], ["--once=1"], ["--attach"], ["t", "--for"], ["t", "--for", "0"], ["t", "--for", "soon"], ["t", "--for", "-1"],
    ["t", "--for", "1e3"], ["t", "--for", "90000"], ["t", "--for", "inf"], ["t", "--for", "٣"], ["t", "--web", "0"], ["t", "--web", "1.5"], ["t", "--web", "65536"], ["t", "--traceback"],
]  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[watch.Wanted]:
    found: list[watch.Wanted] = []

    def run(wanted: watch.Wanted) -> int:
        found.append(wanted)
        return exits.CLEAN

    monkeypatch.setattr(watch, "run", run)
    return found


@pytest.mark.parametrize("arguments", PLAIN, ids=" ".join)
def test_it_is_read_as_typer_reads_it(asked: list[watch.Wanted], arguments: list[str]) -> None:
    assert main.run(["watch", *arguments]) == start.run(["watch", *arguments]) == exits.CLEAN
    assert asked == [start.read(arguments)] * 2
    assert repr(asked[0]) == repr(asked[1])          # 3 and 3.0 are equal


@pytest.mark.parametrize("arguments", LEFT, ids=" ".join)
def test_what_is_not_plain_is_left_to_typer(asked: list[watch.Wanted], capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert start.read(arguments) is None
    ends = []
    for run in (main.run, start.run):
        code = run(["watch", *arguments])
        ends.append((code, *capsys.readouterr()))
    assert ends[0] == ends[1]
    assert len(asked) in (0, 2)


def test_every_option_is_known() -> None:
    """Of typer's: by its name, the field that it fills, and its range."""
    hints = get_type_hints(main.watch, include_extras=True)
    options = {name: get_args(hint)[1] for name, hint in hints.items() if name != "return"}
    named = {declared for option in options.values() for declared in (option.default, *(option.param_decls or ())) if isinstance(declared, str) and declared.startswith("-")}
    assert named == {*start.FLAGS, *start.WORDS, *start.LISTS, *start.NUMBERS}
    filled = {"where", *start.FLAGS.values(), *start.WORDS.values(), *start.LISTS.values(), *(one[0] for one in start.NUMBERS.values())}
    assert filled == {field.name for field in fields(watch.Wanted)}
    assert {name: (options[field].min, options[field].max) for name, (field, *_) in start.NUMBERS.items()} == {name: (least, most) for name, (_, _, least, most) in start.NUMBERS.items()}


def test_other_commands_are_typers(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--version"], ["fuzz", "rows"], ["bogus"]):
        ends = [(run(arguments), *capsys.readouterr()) for run in (main.run, start.run)]
        assert ends[0] == ends[1]


def test_it_ends_as_all_commands_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert start.run(["watch", "nowhere", "--once"]) == 2
    assert capsys.readouterr().err == "slotwise: nowhere: No such file or directory\n"

    errors: list[tuple[BaseException, int, str]] = [(KeyboardInterrupt(), 130, "interrupted"), (ZeroDivisionError("oh"), 70, "internal error: ZeroDivisionError: oh (slotwise --traceback watch t shows where)")]
    for error, code, said in errors:

        def fails(wanted: watch.Wanted, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr(watch, "run", fails)
        assert start.run(["watch", "t"]) == code
        assert capsys.readouterr().err == f"slotwise: {said}\n"


def loaded(*arguments: str) -> set[str]:
    """All that one look imports."""
    code = f"import sys, json\nfrom slotwise.cli import start\nassert start.run({list(arguments)!r}) == 0\nprint(json.dumps(list(sys.modules)), file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found: list[Any] = json.loads(ended.stderr)
    return {name.partition(".")[0] for name in found} | {name for name in found if name.startswith("slotwise.")}


SCREEN = {"textual", "rich", "typer", "click", "pydantic", "pyarrow", "prometheus_client", "hypothesis", "trio", "httpx", "uvicorn", "opentelemetry"}


def test_one_look_at_a_file_is_light() -> None:
    """What a screen, the other commands or a running scheduler need takes longer than all of it."""
    found = loaded("watch", str(TRACE), "--once")
    assert found & {*SCREEN, "asyncio", "email", "importlib.metadata", "slotwise.cli.main", "slotwise.impl.scheduler", "slotwise.spec.admission"} == set()
    assert "slotwise.dashboard.observe.sources.trace" in found
