"""A report of `slotwise fuzz --json` as one snapshot: rules that decided often enough are checks that hold, divergences are open."""
from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.impl.snapshot import VERSION, Check, Divergence, Snapshot

SECOND = 10**9
LARGEST = 64 * 2**20


class _Failure(msgspec.Struct):
    rule: str
    message: str = ""
    kind: str = ""
    seed: int | None = None
    trace: str = ""


class _Missed(msgspec.Struct):
    rule: str
    hits: int
    floor: float | None = None


class _Report(msgspec.Struct):
    target: str
    profile: str
    seed: int
    steps: int
    seconds: float
    rules: dict[str, int]
    divergences: tuple[_Failure, ...] = ()
    floors_missed: tuple[_Missed, ...] = ()
    mechanism: str = "admission"


class _Reports(msgspec.Struct):
    runs: tuple[_Report, ...]


def is_one(first: bytes) -> bool:
    return first.lstrip().startswith((b'{"mechanism"', b'{"runs"', b'{"target"'))


class Campaign:
    live, coarse = False, False

    def __init__(self, name: str) -> None:
        self.name = name

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        path = Path(self.name)
        try:
            if path.stat().st_size > LARGEST:
                raise SourceError(self.name, f"larger than {LARGEST:,} bytes: no report of slotwise fuzz")
            data = await anyio.to_thread.run_sync(path.read_bytes)
        except OSError as error:
            raise SourceError(self.name, error.strerror or "cannot be read") from None
        yield snapshot(self._reports(data))

    def _reports(self, data: bytes) -> tuple[_Report, ...]:
        try:
            found: Any = msgspec.json.decode(data)
            several = isinstance(found, dict) and "runs" in found
            return msgspec.convert(found, _Reports).runs if several else (msgspec.convert(found, _Report),)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SourceError(self.name, f"not a report of slotwise fuzz: {error}") from None


def snapshot(reports: tuple[_Report, ...]) -> Snapshot:
    now = round(max((report.seconds for report in reports), default=0.0) * SECOND)
    checks, open_ = [], []
    for report in reports:
        prefix = f"{report.mechanism}/{report.profile}"
        missed = {one.rule: one for one in report.floors_missed}
        for rule, hits in report.rules.items():
            detail = f"decided {hits:,} times" + (f", its floor is {missed[rule].floor or 0:g}" if rule in missed else "")
            checks.append(Check(f"{prefix} {rule}", rule not in missed, hits, now, detail))
        for failure in report.divergences:
            step = max(0, failure.trace.count("\n") - 1)
            again = f"slotwise fuzz {report.mechanism} --profile {shlex.quote(report.profile)} --target {shlex.quote(report.target)} --steps {report.steps} --seed {report.seed}"
            open_.append(Divergence(f"{prefix} {failure.rule}", failure.seed or report.seed, step, failure.rule, failure.message, now, again))
    names = ", ".join(dict.fromkeys(f"{report.mechanism} on {report.target}" for report in reports))
    return Snapshot(VERSION, f"fuzz {names}", 0, 0, now, 1, sum(report.steps for report in reports), 0, 0, checks=tuple(checks), divergences=tuple(open_), state="ended")
