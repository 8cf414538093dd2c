"""A trace of the checkpoint collector, played into snapshots of one batcher."""
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from slotwise.dashboard.observe.sources.trace import instants
from slotwise.impl.checkpoint_meter import sealed_by
from slotwise.impl.meter_rows import Durations
from slotwise.impl.snapshot import VERSION, Batch, Batcher, Snapshot, Wave
from slotwise.spec import batching_vocabulary as b
from slotwise.spec import trace

LATEST = 20                                  # batches and waves that a snapshot has


class _Collector:
    """Of items that are accepted, requests that are sent, and answers."""

    def __init__(self, name: str, limits: b.LookAhead | b.Shipped) -> None:
        self.name, self.limits, self.most = name, limits, limits.updates
        self.seals: Counter[str] = Counter()
        self.stopped, self.until = False, None
        self.items: dict[str, deque[tuple[int, int]]] = {}       # updates of that id that wait to be sent: size, since when
        self.queued = 0                                          # these
        self.due: dict[str, int] = {}                            # refresh that waits -> due, or asked for
        self.counts: Counter[str] = Counter()
        self.sent: Batch | None = None
        self.unsettled: set[str] = set()
        self.free = self.open_time = self.needless = 0
        self.with_updates = False                                # the request in flight has updates
        self.commit = Durations()
        self.batches: deque[Batch] = deque(maxlen=LATEST)
        self.waves: deque[Wave] = deque(maxlen=LATEST)

    def send(self, updates: list[str], refreshes: list[str], at: int) -> None:
        found = [self.items[id].popleft() if self.items.get(id) else (0, at) for id in updates]
        self.queued = max(0, self.queued - len(updates))
        opened, last = min((since for _, since in found), default=at), max((since for _, since in found), default=at)
        self.counts["requests"] += 1
        self.counts["updates"] += len(updates)
        self.counts["refreshes"] += len(refreshes)
        if updates:
            self.open_time += at - opened
            self.needless += max(0, at - max(last, self.free))
        self.with_updates = bool(updates)
        size = sum(size for size, _ in found)
        seal = sealed_by(self.limits, self.stopped, self.until is not None and self.until <= at, self.queued, len(updates), size)
        self.seals[seal] += 1
        self.sent = Batch(self.counts["requests"], len(updates), self.most, size, seal, opened, last, at, None)
        self.unsettled.update(updates)

    def answered(self, at: int, outcome: str) -> None:
        if self.sent is None:
            return
        self.commit.add(at - self.sent.sealed)
        self.counts["failures"] += outcome == "failed"
        self.batches.append(Batch(self.sent.number, self.sent.updates, self.most, self.sent.size, self.sent.seal, self.sent.opened, self.sent.last, self.sent.sealed, at, outcome))
        self.unsettled.clear()
        if outcome == "failed":                                  # what was not sent is lost too
            self.items.clear()
            self.queued = 0
        self.free = at

    def resumed(self, ids: list[str], at: int) -> None:
        """One answer's refreshes; late is more than that request's round trip after they were due."""
        found = [self.due.pop(id) for id in ids if id in self.due]
        if not found:
            return
        trip = at - self.sent.sealed if self.sent else 0
        late, joined = sum(at - due > trip for due in found), len(found) if self.with_updates else len(found) - 1
        self.counts["late"] += late
        self.counts["joined"] += joined
        self.waves.append(Wave(len(self.waves) + 1 if not self.waves else self.waves[-1].number + 1, min(found), at, len(found), joined, late, max(0, at - min(found))))

    def snapshot(self, at: int, started: int, number: int, state: str) -> Snapshot:
        counts, flying = self.counts, (self.sent,) if self.sent and self.unsettled else ()
        one = Batcher(
            self.name, counts["requests"], counts["updates"], counts["refreshes"], counts["failures"], dict(self.seals), self.queued + len(self.unsettled),
            self.needless, self.open_time, self.commit.frozen(), counts["joined"], counts["late"], (*self.batches, *flying), tuple(self.waves),
        )  # fmt: skip
        return Snapshot(VERSION, self.name, 0, started, at, number, counts["events"], 0, 0, batchers=(one,), state=state)


def batching(read: trace.Trace, name: str) -> Iterator[Snapshot]:
    collector = _Collector(name, read.header.profile.discipline)
    started = next_at = read.steps[0].command.at if read.steps else 0
    step, number, now = instants(read), 0, started
    for line in read.steps:
        command: Any = line.command
        now = max(now, command.at)
        while next_at + step <= now:
            next_at, number = next_at + step, number + 1
            yield collector.snapshot(next_at, started, number, "running")
        collector.counts["events"] += 1
        saw: list[Any] = list(line.saw or ())
        if ("accepted", getattr(command, "id", None)) in [tuple(one[:2]) for one in saw]:
            if isinstance(command, b.Submit):
                if not command.empty:
                    collector.items.setdefault(command.id, deque()).append((command.size, now))
                    collector.queued += 1
            elif isinstance(command, b.Refresh):
                collector.due[command.id] = now if command.due is None else command.due
        together = [id for one in saw if one[0] == "resumed" for id in one[3]]
        if isinstance(command, b.Respond | b.Fail) and not any(one[0] in ("unexpected", "time_reversed") for one in saw):
            collector.answered(now, "failed" if isinstance(command, b.Fail) else "ok")
        collector.resumed(together, now)
        collector.stopped |= isinstance(command, b.Stop)
        for one in saw:
            if one[0] == "send":
                collector.send(one[1], one[2], now)
        if isinstance(command, b.Pump) and saw:
            collector.until = saw[-1][1] if saw[-1][0] == "sleep" else None
    yield collector.snapshot(now, started, number + 1, "ended")
