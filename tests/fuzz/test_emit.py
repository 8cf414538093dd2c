"""An emitted test is a test: red on what fails, green on what does not, and clean under ruff and mypy."""
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.broken import MISTAKES, broken
from tests.fuzz.test_walker import SHOWS

from slotwise.fuzz.emit import emit_test, spelled
from slotwise.fuzz.report import Failure
from slotwise.fuzz.target import Target
from slotwise.fuzz.walker import campaign
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import PROFILES, Claim, Enqueue, Group, Release, Task

ROOT = Path(__file__).parents[2]


def failing(target: Target, profile: str, **more: Any) -> Failure:
    return campaign(target, PROFILES[profile], steps=30_000, seed=4, **more).failures[0]


def run(source: str, monkeypatch: pytest.MonkeyPatch, target: Target) -> None:
    """The emitted test, on that target."""
    namespace: dict[str, object] = {}
    exec(compile(source, "emitted", "exec"), namespace)
    monkeypatch.setattr("slotwise.fuzz.targets.load", lambda name: target)
    for name, test in namespace.items():
        if name.startswith("test_") and callable(test):
            test()


@pytest.mark.parametrize("mistake", MISTAKES)
def test_red_on_the_fault_green_without(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = broken(mistake)
    failure = failing(target, SHOWS[mistake])
    source = emit_test(failure)
    assert failure.rule in source
    with pytest.raises(AssertionError, match=r"expected|states differ|failed"):
        run(source, monkeypatch, target)
    run(source, monkeypatch, Target("right", type(target.make(failure.profile, failure.capacity))))


def test_of_a_law_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.fuzz.test_explain import Greedy

    source = emit_test(failing(Target("greedy", Greedy, claims=lambda profile: False), "slotwise"))
    with pytest.raises(AssertionError, match="nothing runs"):
        run(source, monkeypatch, Target("greedy", Greedy, claims=lambda profile: False))
    from tests.fuzz.broken import Mute

    run(source, monkeypatch, Target("mute", Mute, claims=lambda profile: False))


def test_clean_under_ruff_and_mypy(tmp_path: Path) -> None:
    ruff, mypy = (shutil.which(tool, path=str(Path(sys.executable).parent)) for tool in ("ruff", "mypy"))
    if ruff is None or mypy is None:
        pytest.skip("ruff and mypy are not installed")
    for mistake in MISTAKES:
        (tmp_path / f"test_{mistake}.py").write_text(emit_test(failing(broken(mistake), SHOWS[mistake])))
        (tmp_path / f"test_{mistake}_long.py").write_text(emit_test(failing(broken(mistake), SHOWS[mistake], shrink=False, vary=True)))
    files = [str(path) for path in sorted(tmp_path.glob("test_*.py"))]
    assert len(files) == 2 * len(MISTAKES)
    for command in ([ruff, "check", "--config", str(ROOT / "pyproject.toml"), *files], [mypy, "--config-file", str(ROOT / "pyproject.toml"), "--strict", *files]):
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("record", [
    Task("a", "g", {"r": 1}), Group("g"), Group("g", 0.5, running_limit=2), Claim("a", {"r": 2}, 1), Enqueue(tasks=(Task("a", "g", {"r": 1, "s": 2}),), groups=(Group("g", 2.0),), at=5),
    Release(lease=3, claim=Claim(generation=1)), v.DiscardWhere(prefix='odd "quotes" \\ and\nlines'), PROFILES["data-designer-0.8"],
    v.Profile("own", v.BoundedBorrow(0.5, ceilings=(v.Ceiling("a", "r", 2), v.Ceiling("b", "r", 1)), repay=False), released_memory=3),
], ids=lambda record: type(record).__name__)  # fmt: skip
def test_records_are_spelled_as_they_are(record: object) -> None:
    assert eval(spelled(record), vars(v)) == record
