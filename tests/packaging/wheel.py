"""The wheel: built from the sources alone, installed in a clean venv, exposing `slotwise` and nothing else. Slow: CI runs this file by name."""
from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from slotwise.spec.mechanisms import MECHANISMS

HOUSE = Path(__file__).parents[2]


def pip(*arguments: str, python: str = sys.executable, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [python, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = pip("wheel", "--no-deps", "-w", str(folder), str(HOUSE))
    assert built.returncode == 0, built.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_its_tag_says_any_python_from_3_11_on_this_platform(wheel: Path) -> None:
    assert wheel.name.startswith("slotwise-")
    assert "-cp311-abi3-" in wheel.name


def test_it_holds_the_namespace_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"slotwise"}
    assert "slotwise/__init__.py" not in names
    assert not [name for name in names if "/tests/" in name or "/target/" in name or name.endswith(".rs")]
    for needed in ("impl/_native.abi3.so", "impl/_native.pyi", "fuzz/_faulty.abi3.so", "spec/py.typed", "cli/py.typed", "dashboard/screens/screens.tcss", "fuzz/floors.json", "fuzz/floors_batching.json", "fuzz/equivalents.json", "fuzz/verdicts.json"):
        assert f"slotwise/{needed}" in names


def test_installed_in_a_clean_venv_it_works(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=True)
    python = str(tmp_path / "clean/bin/python")
    before = set((tmp_path / "clean/lib").rglob("site-packages/*"))
    installed = pip("install", "--no-deps", str(wheel), python=python)
    assert installed.returncode == 0, installed.stderr
    new = {path.name for path in set((tmp_path / "clean/lib").rglob("site-packages/*")) - before}
    assert {name for name in new if not name.endswith(".dist-info")} == {"slotwise"}
    assert pip("install", str(wheel), python=python).returncode == 0
    ran = subprocess.run([str(tmp_path / "clean/bin/slotwise"), "fuzz", "--steps", "2000"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("no divergence") == sum(len(mechanism.profiles) for mechanism in MECHANISMS.values())


def test_without_a_rust_toolchain_the_build_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("cc", "gcc", "ld", "git", "sh", "env"):
        for folder in ("/usr/bin", "/bin"):
            if Path(folder, tool).exists() and not (tools / tool).exists():
                (tools / tool).symlink_to(Path(folder, tool))
    built = pip("wheel", "--no-deps", "-w", str(tmp_path), str(HOUSE), PATH=str(tools))
    assert built.returncode != 0
    said = [line.strip() for line in built.stderr.splitlines() if "Rust" in line or "cargo" in line]
    assert said == ["slotwise needs a Rust toolchain (cargo, 1.85 or newer) to build its engine: install one from rustup or your system's packages, then try again"]
