"""Commands are called in this process, in an empty working directory."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from slotwise.cli import main


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """What was said, which must be one line."""
        assert self.err.count("\n") == 1, self.err
        assert "Traceback" not in self.err
        return self.err.rstrip("\n")


Slotwise = Callable[..., Ended]


@pytest.fixture
def slotwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Slotwise:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Ended:
        code = main.run(list(arguments))
        said = capsys.readouterr()
        return Ended(code, said.out, said.err)

    return call
