"""README and docs keep their word: links lead somewhere, commands and options exist, and every block prints what it says it prints."""
from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main

from slotwise.cli import examples, main, start
from slotwise.fuzz import seeded

HOUSE = Path(__file__).parents[2]
PAGES = [HOUSE / "README.md", *sorted((HOUSE / "docs").glob("*.md"))]
native = pytest.mark.skipif(not seeded.catalogue(), reason="the engine is not built")
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pages
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8"))
    assert [link for link in links if not link.startswith("https://") and not (page.parent / link).exists()] == []


def test_all_pages_are_linked_from_the_readme() -> None:
    readme = PAGES[0].read_text("utf-8")
    assert [page.name for page in PAGES[1:] if f"(docs/{page.name})" not in readme] == []


@pytest.mark.parametrize("picture", sorted((HOUSE / "docs").glob("*.svg")), ids=lambda path: path.name)
def test_pictures_load_nothing_from_elsewhere(picture: Path) -> None:
    """GitHub would not let them."""
    text = picture.read_text("utf-8")
    assert "@font-face" not in text
    assert re.findall(r"(?:url\(|href=)[\"']?(?!#)[^\"')]+", text) == []


def test_the_main_commands_are_those_that_ci_finds() -> None:
    """.ci/run takes them from here, word for word."""
    lines = PAGES[0].read_text("utf-8").splitlines()
    found = [next(line for line in lines if re.search(rf"^python3 -m venv .*{end}( |$)", line)) for end in ("slotwise fuzz", "pytest -q")]
    assert [line.partition("#")[0].strip() for line in found] == [
        "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/slotwise fuzz",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest -q",
    ]


COMMANDS: dict[str, Any] = typer.main.get_command(main.app).commands  # type: ignore[attr-defined]


def used(page: Path) -> list[list[str]]:
    """All calls of slotwise in code, as words after its name."""
    text = page.read_text("utf-8")
    found = re.findall(r"`(?:SLOTWISE_\w+=\S+ )?slotwise ([a-z][^`\n]*)`", text) + re.findall(r"^(?:\$ )?slotwise ([a-z].*)$", "\n".join(blocks(page, "console")), re.MULTILINE)
    return [shlex.split(one.partition("#")[0]) for one in found]


@pages
def test_commands_and_their_options_exist(page: Path) -> None:
    assert used(page)
    for command, *words in used(page):
        assert command in COMMANDS, command
        options = {option for parameter in COMMANDS[command].params for option in parameter.opts}
        assert [word for word in words if word.startswith("-") and word.partition("=")[0] not in options] == [], (command, words)


def test_the_examples_of_the_help_exist() -> None:
    assert list(examples.SHOWN) == list(COMMANDS)
    for name, (short, calls) in examples.SHOWN.items():
        assert len(short) < 60, "it fits into the list"
        for call in calls:
            slotwise, command, *words = shlex.split(call)
            options = {option for parameter in COMMANDS[name].params for option in parameter.opts}
            assert (slotwise, command) == ("slotwise", name)
            assert [word for word in words if word.startswith("-") and word not in options] == []


@native
@pytest.mark.parametrize("block", [pytest.param(block, id=f"{page.name}-{place}") for page in PAGES for place, block in enumerate(blocks(page, "python"))])
def test_examples_print_what_they_say(block: str) -> None:
    said = [found[1] for line in block.splitlines() if line.strip().startswith("print(") and (found := re.search(r"\)\s{2,}# (.*)$", line))]
    assert len(said) == block.count("print(")
    assert subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=True).stdout.splitlines() == said


#: So fast the machine was.
SPEED = re.compile(r"(?<=\d{3}) +[\d,]+(?= +(?:-|\d+/\d+) )")


@native
def test_commands_print_what_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """In their order, in one empty folder. `...` stands for any lines."""
    monkeypatch.chdir(tmp_path)
    calls = 0
    for block in (block for page in PAGES for block in blocks(page, "console")):
        for call in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, expected = call.partition("\n")
            name, *words = shlex.split(line)
            assert name == "slotwise"
            start.run([word.replace("pipe:python ", f"pipe:{sys.executable} ") for word in words])
            found = capsys.readouterr().out.replace(f"pipe:{sys.executable} ", "pipe:python ")
            pattern = ".*".join(re.escape(SPEED.sub(" S", part)) for part in re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE))
            assert re.fullmatch(pattern, aligned(SPEED.sub(" S", found), found), re.DOTALL), f"$ {line}\n{found}"
            calls += 1
    assert calls >= 5


def aligned(masked: str, found: str) -> str:
    """A table whose first column is as wide as the path of this Python is not as wide as the one that is shown."""
    return re.sub(r"^(mechanism  profile   target) +(steps .*)$", r"\1" + " " * 50 + r"\2", masked, flags=re.MULTILINE) if "pipe:python" in found else masked
