"""A report of `slotwise fuzz --json` as one snapshot: its campaigns, the rules that kept their floors as checks that hold, its divergences."""
from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from slotwise.dashboard.observe import campaigns
from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.impl.snapshot import VERSION, Campaign, Check, Divergence, Snapshot

SECOND = 10**9
LARGEST = 64 * 2**20


class _Failure(msgspec.Struct):
    rule: str
    message: str = ""
    kind: str = ""
    seed: int | None = None
    trace: str = ""                      # the whole shrunk trace


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
    episodes: int = 0
    new_at: int | None = None
    equality: bool = True
    floors: dict[str, float] = {}
    faults: int = 0
    killed: int | None = None

    @property
    def result(self) -> str:
        """In the words of `slotwise fuzz`."""
        if self.divergences:
            first = self.divergences[0]
            kind = first.kind or "divergence"
            return kind.upper() + (f" at {first.rule}" if first.rule != kind else "")
        return "no divergence" if self.equality else "no law broken"

    @property
    def campaign(self) -> Campaign:
        new_at = self.steps if self.new_at is None else self.new_at
        return Campaign(self.mechanism, self.profile, self.target, self.seed, self.steps, self.episodes, round(self.seconds * SECOND), new_at, self.rules, self.floors, self.faults, self.killed, self.result)


class _Reports(msgspec.Struct):
    runs: tuple[_Report, ...]


def is_one(first: bytes) -> bool:
    return first.lstrip().startswith((b'{"mechanism"', b'{"runs"', b'{"target"'))


class CampaignReport:
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
        yield snapshot(self._reports(data), self.name)

    def _reports(self, data: bytes) -> tuple[_Report, ...]:
        try:
            found: Any = msgspec.json.decode(data)
            several = isinstance(found, dict) and "runs" in found
            reports = msgspec.convert(found, _Reports).runs if several else (msgspec.convert(found, _Report),)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise SourceError(self.name, f"not a report of slotwise fuzz: {error}") from None
        if not all(0 <= one.seconds < 1e9 and one.steps >= 0 for one in reports):
            raise SourceError(self.name, "not a report of slotwise fuzz: expected times and steps that are not negative")
        return reports


def snapshot(reports: tuple[_Report, ...], name: str = "") -> Snapshot:
    """`name` is that of the file, in which the shrunk traces are looked up when they are asked for."""
    now = round(sum(report.seconds for report in reports) * SECOND)
    checks: list[Check] = []
    open_ = []
    for place, report in enumerate(reports):
        one = report.campaign
        prefix = campaigns.name(one)
        missed = {under.rule for under in report.floors_missed}
        if campaigns.judged(one) or missed:
            checks += (Check(f"{prefix} {rule}", rule not in missed, hits, now, campaigns.detail(one, rule)) for rule, hits in report.rules.items())
        for number, failure in enumerate(report.divergences):
            step = max(0, failure.trace.count("\n") - 1)
            again = f"slotwise fuzz {report.mechanism} --profile {shlex.quote(report.profile)} --target {shlex.quote(report.target)} --steps {report.steps} --seed {report.seed}"
            open_.append(Divergence(f"{prefix} {failure.rule}", failure.seed or report.seed, step, failure.rule, failure.message, now, again, f"{name}#{place}.{number}" if failure.trace else ""))
    names = ", ".join(dict.fromkeys(f"{report.mechanism} on {report.target}" for report in reports))
    return Snapshot(
        VERSION, f"fuzz {names}", 0, 0, now, 1, sum(report.steps for report in reports), 0, 0, checks=tuple(checks), divergences=tuple(open_), state="ended",
        campaigns=tuple(report.campaign for report in reports),
    )  # fmt: skip
