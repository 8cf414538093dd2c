"""The meter: what it has folded equals what is summed up anew from the list of events, instant by instant."""
from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from math import ceil
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.impl import meter as m
from slotwise.impl.meter_log import MeterLog
from slotwise.impl.snapshot import CAUSES
from slotwise.spec.vocabulary import Group

CAPACITY = {"x": 3, "y": 2}
NEEDS: list[dict[str, int]] = [{"x": 1}, {"x": 2}, {"y": 1}, {"x": 1, "y": 1}, {"y": 2, "x": 3}, {"x": 3}]
GROUPS = [Group("a"), Group("b", weight=3.0, running_limit=2), Group("c", weight=0.5, running_limit=1)]


@given(st.integers(0, 1 << 60))
def test_a_duration_is_in_its_bucket_and_that_is_narrow(duration: int) -> None:
    i = m.bucket(duration)
    assert m.low(i) <= duration < m.low(i + 1)
    assert m.low(i + 1) - m.low(i) <= max(1, duration / 8)
    kept = m.Durations()
    kept.add(duration)
    assert (kept.counts, kept.total) == ({i: 1}, duration)
    kept.add(-1 - duration)
    assert (kept.counts, kept.total) == ({i: 1, 0: 1} if i else {0: 2}, duration)


numbers = itertools.count()


@dataclass(eq=False)
class FakeJob:
    _row: m.GroupRow
    _shape: m.Shape
    _since: int = 0
    id: str = field(default_factory=lambda: f"#{next(numbers)}")


@dataclass
class Naive:
    """Everything that there is, looked at in every instant."""

    line: dict[str, list[Any]] = field(default_factory=lambda: {g.name: [] for g in GROUPS})
    running: list[Any] = field(default_factory=list)
    asked: dict[str, set[str]] = field(default_factory=lambda: {r: set() for r in CAPACITY})
    backing: dict[str, int] = field(default_factory=lambda: {g.name: 0 for g in GROUPS})
    due: bool = False
    busy: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAPACITY, 0))
    idle: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAPACITY, 0))
    stretch: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAPACITY, 0))
    longest: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAPACITY, 0))
    service: dict[str, float] = field(default_factory=lambda: {g.name: 0.0 for g in GROUPS})
    causes: dict[str, dict[tuple[str, str], int]] = field(default_factory=lambda: {g.name: {} for g in GROUPS})

    def held(self, resource: str, group: str | None = None) -> int:
        return sum(job._shape.needs.get(resource, 0) for job in self.running if group in (None, job._row.name))

    def room(self, group: Group) -> int:
        limit = group.running_limit
        return 99 if limit is None else limit - sum(job._row.name == group.name for job in self.running)

    def cause(self, group: Group) -> tuple[str, str]:
        if self.room(group) <= 0:
            return ("limit", "")
        for resource, units in self.line[group.name][0]._shape.needs.items():
            if CAPACITY[resource] - self.held(resource) < units:
                weights = sum(g.weight for g in GROUPS if g.name in self.asked[resource])
                lent = self.held(resource, group.name) < CAPACITY[resource] * group.weight / weights
                return ("lent" if lent else "capacity", resource)
        return ("scheduler" if self.due else "kept", "")

    def second(self) -> None:
        wanted = dict.fromkeys(CAPACITY, 0)
        for group in GROUPS:
            causes = self.causes[group.name]
            if self.backing[group.name]:
                causes["back_off", ""] = causes.get(("back_off", ""), 0) + self.backing[group.name]
            mine = [job for job in self.running if job._row.name == group.name]
            self.service[group.name] += sum(max(u * max(CAPACITY.values()) / CAPACITY[r] for r, u in job._shape.needs.items()) for job in mine)
            if waiting := len(self.line[group.name]):
                key = self.cause(group)
                causes[key] = causes.get(key, 0) + waiting
                needs = self.line[group.name][0]._shape.needs
                for r in CAPACITY:
                    wanted[r] += needs.get(r, 0) * self.eligible(group, r)
        for r in CAPACITY:
            self.busy[r] += self.held(r)
            idle = min(CAPACITY[r] - self.held(r), wanted[r])
            self.idle[r] += idle
            self.stretch[r] = self.stretch[r] + 1 if idle else 0
            self.longest[r] = max(self.longest[r], self.stretch[r])

    def eligible(self, group: Group, resource: str) -> int:
        """Tasks that would start now if one unit more of it were free and given to them."""
        line = self.line[group.name]
        fits = bool(line) and all(CAPACITY[r] - self.held(r) + (r == resource) >= units for r, units in line[0]._shape.needs.items())
        return max(0, min(len(line), self.room(group))) if fits and resource in line[0]._shape.needs else 0

    def lent(self, resource: str) -> int:
        beyond, weights = 0, sum(g.weight for g in GROUPS if g.name in self.asked[resource])
        for group in GROUPS:
            others = [self.line[g.name][0] for g in GROUPS if g is not group and self.line[g.name]]
            if group.name in self.asked[resource] and any(resource in first._shape.needs for first in others):
                beyond += max(0, self.held(resource, group.name) - ceil(CAPACITY[resource] * group.weight / weights))
        return beyond


KINDS = ["waits"] * 5 + ["start"] * 6 + ["end"] * 3 + ["leave", "due", "pause", "resume", "told"] + ["time"] * 5


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 1 << 32), st.integers(0, 150))
def test_integrals_equal_those_summed_up_anew(seed: int, length: int) -> None:
    dice = Random(seed)
    acts = [(dice.choice(KINDS), dice.randrange(99), dice.randrange(5)) for _ in range(length)]
    it, naive, at = m.Meter(CAPACITY), Naive(), 0
    log = MeterLog(it)
    rows = [it.group(group) for group in GROUPS]
    told: dict[int, tuple[Any, int]] = {}
    for act, n, k in acts:
        row, group = rows[n % 3], GROUPS[n % 3]
        line = naive.line[row.name]
        if act == "time":
            for _ in range(k):
                naive.second()
            at += k
        elif act == "waits":
            needs = NEEDS[(k + n // 3) % len(NEEDS)]
            job: Any = FakeJob(row, it.shape(needs), at)
            log.waits(job, at)
            line.append(job)
            for resource in needs:
                naive.asked[resource].add(row.name)
        elif act == "start" and line and naive.room(group) > 0 and all(CAPACITY[r] - naive.held(r) >= u for r, u in line[0]._shape.needs.items()):
            job = line.pop(0)
            log.starts(job, at)
            job._since = at
            naive.running.append(job)
        elif act == "end" and naive.running:
            job = naive.running.pop(n % len(naive.running))
            log.ends(job, at)
            told.pop(id(job), None)
        elif act == "told" and naive.running:
            job = naive.running[n % len(naive.running)]
            if id(job) not in told:
                log.told(job, at)
                told[id(job)] = (job, at)
        elif act == "leave" and line:
            job = line.pop(k % len(line))
            log.leaves(job, at)
        elif act in ("pause", "resume"):
            more = 1 if act == "pause" else -1
            if naive.backing[row.name] + more >= 0:
                log.backs_off(row, at, more)
                naive.backing[row.name] += more
        elif act == "due":
            naive.due = bool(k % 2)
            log.turns(at, naive.due)
        if n % 5 == 0:                       # looking changes nothing
            log.folded().frozen_groups(at, 0)
    log.folded()
    for seen in it.frozen_resources(at, 1000):
        r = seen.name
        eligible = sum(naive.eligible(group, r) for group in GROUPS)
        assert (seen.eligible, seen.lent) == (eligible, naive.lent(r))
        assert seen.idle_since == (1000 + at - naive.stretch[r] if eligible and CAPACITY[r] - naive.held(r) else None)
        assert (seen.busy, seen.busy_time) == (naive.held(r), naive.busy[r])
        assert (seen.idle_waiting, seen.idle_waiting_longest) == (naive.idle[r], naive.longest[r])
        assert seen.waiting == sum(r in job._shape.needs for line in naive.line.values() for job in line)
    for row, seen_group in zip(rows, it.frozen_groups(at, 1000), strict=True):
        name, line = row.name, naive.line[row.name]
        assert it.causes(row) == naive.causes[name]
        assert seen_group.causes == {f"{cause} {resource}".strip(): spent for (cause, resource), spent in naive.causes[name].items()}
        assert {cause.partition(" ")[0] for cause in seen_group.causes} <= set(CAUSES)
        assert sum(seen_group.causes.values()) == sum(naive.causes[name].values())
        overdue = [at for job, at in told.values() if job._row is row]
        assert (seen_group.overdue, seen_group.overdue_since) == (len(overdue), 1000 + min(overdue) if overdue else None)
        assert seen_group.service == int(naive.service[name] + 1e-6)
        assert (seen_group.waiting, seen_group.oldest) == (len(line), 1000 + line[0]._since if line else None)
        assert seen_group.running == sum(job._row is row for job in naive.running)
        if line:
            cause, resource = naive.cause(GROUPS[rows.index(row)])
            assert seen_group.blocked_by == f"{cause} {resource}".strip()


def test_a_lowered_limit_and_a_new_weight_count_from_now_on() -> None:
    log = MeterLog(it := m.Meter({"x": 2}))
    a, b = it.group(Group("a")), it.group(Group("b"))
    jobs: list[Any] = [FakeJob(row, it.shape({"x": 1})) for row in (a, b, a)]
    for job in jobs:
        log.waits(job, 0)
    for job in jobs[:2]:
        log.starts(job, 0)
    log.folded()
    it.respecify(a, Group("a", weight=3.0), 10)       # a is due 1.5 of 2 units now, and holds 1
    it.respecify(a, Group("a", weight=3.0, running_limit=1), 30)
    it.frozen_groups(60, 0)
    assert it.causes(a) == {("capacity", "x"): 10, ("lent", "x"): 20, ("limit", ""): 30}


def test_units_are_lent_beyond_a_share_while_others_wait() -> None:
    log = MeterLog(it := m.Meter({"x": 4}))
    a, b = it.group(Group("a", weight=3.0)), it.group(Group("b", weight=2.0))
    for row, starts in ((b, 4), (b, 0), (a, 0)):
        for i in range(max(1, starts)):
            job: Any = FakeJob(row, it.shape({"x": 1}))
            log.waits(job, 0)
            if i < starts:
                log.starts(job, 0)
    seen, = log.folded().frozen_resources(10)
    assert (seen.lent, seen.lent_to) == (2, {"b": 2})           # of 4; b's share is 1.6
    log.leaves(job, 10)
    seen, = log.folded().frozen_resources(10)
    assert (seen.lent, seen.lent_to) == (0, {})                 # only b itself waits


def test_to_whom_it_is_lent_the_greatest_first() -> None:
    log = MeterLog(it := m.Meter({"x": 9}))
    for name, weight, starts in (("d", 1.0, 2), ("c", 1.0, 2), ("b", 1.0, 4), ("a", 97.0, 0)):
        row = it.group(Group(name, weight=weight))
        for i in range(max(1, starts)):
            job: Any = FakeJob(row, it.shape({"x": 1}))
            log.waits(job, 0)
            if i < starts:
                log.starts(job, 0)
    assert list(log.folded().frozen_resources(0)[0].lent_to.items()) == [("b", 3), ("c", 1), ("d", 1)]


def test_a_line_keeps_few_that_wait_no_longer() -> None:
    log = MeterLog(it := m.Meter({"x": 1}))
    row, shape = it.group(Group("a")), it.shape({"x": 1})
    first: Any = FakeJob(row, shape)
    log.waits(first, 0)
    for i in range(1000):
        job: Any = FakeJob(row, shape)
        log.waits(job, i)
        log.leaves(job, i)
        log.folded()
        assert len(row.line) < 100
    log.starts(first, 1000)
    log.folded()
    assert (row.waiting, len(row.line), len(row.gone)) == (0, 0, 0)
    job = FakeJob(row, shape)
    log.waits(job, 1001)
    log.folded()
    assert (len(row.line), len(row.gone)) == (1, 0)


def test_histograms_merge() -> None:
    one, two = m.Durations(), m.Durations()
    for n in (1, 100, 5000):
        one.add(n)
        two.add(100 * n)
    both = m.merged([one.frozen(), two.frozen()])
    assert (sum(both.counts.values()), both.total, both.counts[m.bucket(100)]) == (6, 101 * 5101, 2)
