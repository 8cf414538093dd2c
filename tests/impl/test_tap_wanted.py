"""SLOTWISE_TAP: where a scheduler that was told nothing about a socket opens one."""
from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest

from slotwise.impl.scheduler import Scheduler

both = pytest.mark.parametrize("backend", ["trio", "asyncio"])


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with TemporaryDirectory(prefix="sw") as folder:
        monkeypatch.setenv("SLOTWISE_TAP", f"{folder}/run.sock")
        yield Path(folder)


@both
def test_the_first_takes_the_path_and_others_a_numbered_one(backend: str, place: Path) -> None:
    async def main() -> None:
        async with Scheduler({"llm": 1}) as one:
            assert one.socket == place / "run.sock"
            async with Scheduler({"llm": 1}) as two, Scheduler({"llm": 1}) as three:
                assert (two.socket, three.socket) == (place / "run-2.sock", place / "run-3.sock")
            async with Scheduler({"llm": 1}) as again:
                assert again.socket == place / "run-2.sock"
        async with Scheduler({"llm": 1}) as last:        # the path is free
            assert last.socket == place / "run.sock"
        assert list(place.iterdir()) == []

    anyio.run(main, backend=backend)


def test_what_the_program_says_counts(place: Path) -> None:
    async def main() -> None:
        async with Scheduler({"llm": 1}, tap=False) as none, Scheduler({"llm": 1}, tap=place / "mine.sock") as mine:
            assert (none.socket, mine.socket) == (None, place / "mine.sock")

    anyio.run(main)


def test_without_it_there_is_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with Scheduler({"llm": 1}) as it:
            assert it.socket is None

    for value in (None, ""):
        monkeypatch.delenv("SLOTWISE_TAP", raising=False)
        if value is not None:
            monkeypatch.setenv("SLOTWISE_TAP", value)
        anyio.run(main)


@pytest.mark.parametrize("path", ["/nowhere/at/all.sock", "/tmp/" + "long" * 50, "/"])
def test_a_path_that_does_not_work_breaks_no_program(path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with Scheduler({"llm": 1}) as it:
            assert it.socket is None
            await it.submit(anyio.sleep, 0)

    monkeypatch.setenv("SLOTWISE_TAP", path)
    with caplog.at_level(logging.WARNING):
        anyio.run(main)
    assert "SLOTWISE_TAP=" in caplog.text
    assert "no socket can be made there" in caplog.text


def test_a_file_there_is_left_alone(place: Path) -> None:
    (place / "run.sock").write_text("mine")

    async def main() -> None:
        async with Scheduler({"llm": 1}) as it:
            assert it.socket == place / "run-2.sock"

    anyio.run(main)
    assert (place / "run.sock").read_text() == "mine"
