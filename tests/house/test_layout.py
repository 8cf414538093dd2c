"""The layout: one namespace over four roots, and who may import whom. (import-linter checks the whole graph, in CI.)"""
from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
ROOTS = ("spec", "impl", "fuzz", "dashboard")


def sources(root: str) -> list[Path]:
    return sorted((HOUSE / root / "slotwise").rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_namespace_has_no_init() -> None:
    assert [root for root in ROOTS if (HOUSE / root / "slotwise/__init__.py").exists()] == []
    assert all((HOUSE / root / "slotwise").is_dir() for root in ROOTS)


def test_every_part_is_typed() -> None:
    parts = [part for root in ROOTS for part in (HOUSE / root / "slotwise").iterdir() if (part / "__init__.py").exists()]
    assert sorted(part.name for part in parts) == ["cli", "dashboard", "fuzz", "impl", "spec"]
    assert [part.name for part in parts if not (part / "py.typed").exists()] == []


ALLOWED = {
    "spec/slotwise/spec": ("slotwise.spec",),
    "impl/slotwise/impl": ("slotwise.spec", "slotwise.impl"),
    "dashboard/slotwise/dashboard": ("slotwise.spec", "slotwise.impl", "slotwise.dashboard"),
    "dashboard/slotwise/dashboard/observe": ("slotwise.spec", "slotwise.impl", "slotwise.dashboard.observe"),
    "dashboard/slotwise/dashboard/screens": ("slotwise.impl.snapshot", "slotwise.dashboard"),
    "fuzz/slotwise/fuzz": ("slotwise.spec", "slotwise.impl", "slotwise.dashboard.observe", "slotwise.fuzz"),
}


@pytest.mark.parametrize("part", ALLOWED)
def test_who_may_import_whom(part: str) -> None:
    strangers = [
        f"{path.relative_to(HOUSE)}: {name}" for path in sorted((HOUSE / part).rglob("*.py")) for name in imported(path)
        if name.startswith("slotwise.") and not name.startswith(ALLOWED[part])
    ]  # fmt: skip
    assert strangers == []


def test_commands_are_imported_late() -> None:
    """Help and wrong use need neither the engine nor the search."""
    heavy = ["slotwise.impl", "slotwise.dashboard", "slotwise.fuzz.walker", "slotwise.spec.admission", "rich.progress", "trio", "hypothesis"]
    code = f"import sys\nfrom slotwise.cli import main\nmain.run(['fuzz', '--help'])\nprint([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_no_machine_is_named() -> None:
    """Neither a path of this machine nor a name of its user stands in a source."""
    home = [os.path.dirname(HOUSE), str(Path.home())]
    suspects = [path for root in ROOTS for path in sources(root)] + list((HOUSE / "tests").rglob("*.py")) + [HOUSE / "pyproject.toml", HOUSE / "README.md"]
    found = [str(path) for path in suspects if any(len(place) > 1 and re.search(re.escape(place) + r"\b/", path.read_text("utf-8")) for place in home)]
    assert found == []
