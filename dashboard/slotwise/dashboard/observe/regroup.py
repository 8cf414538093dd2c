"""The rows of a table put together by what they have in common, with their numbers summed: pure, and worked out only when it is looked at."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from slotwise.dashboard.observe.alarms import Open
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.panes import Field, Table, worst
from slotwise.dashboard.observe.tables import cause_words, percent, s
from slotwise.dashboard.observe.window import SECOND, GroupWindow, WorkerWindow
from slotwise.dashboard.observe.words import Value
from slotwise.impl.snapshot import Batch, Divergence, Wave

T = TypeVar("T")


class Sums(NamedTuple):
    """Things that have something in common."""

    what: str
    of: Sequence[Any]


class View(NamedTuple):
    """One way to put a table's rows together; `gather` makes them of the table's own things."""

    by: str                              # as it is said on the screen
    table: Table[Any]
    gather: Callable[[Sequence[Any]], list[Any]]


def by(things: Iterable[T], key: Callable[[T], str]) -> list[Sums]:
    found: defaultdict[str, list[T]] = defaultdict(list)
    for thing in things:
        found[key(thing)].append(thing)
    return [Sums(what, of) for what, of in found.items()]


def count(of: str, unit: str = "") -> Field[Sums]:
    return Field("count", of, unit or of, f"how many {of}", lambda one: len(one.of))


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


# what groups wait for ----------------------------------------------------------------------------------------------------------------


class Wait(NamedTuple):
    """One group's waiter-ns by one cause, in the window; `all_` is that of all groups and causes."""

    group: GroupWindow
    cause: str
    time: int
    all_: int
    first: bool                          # what its first task waits for now

    @property
    def resource(self) -> str:
        return self.cause.partition(" ")[2]


def _now(group: GroupWindow, causes: Mapping[str, int]) -> str:
    """What its first task waits for, as the window's causes call it: some programs charge a cause without its resource."""
    now = group.after.blocked_by
    kind = now.partition(" ")[0]
    return kind if now not in causes and kind in causes else now


def waits(groups: Iterable[GroupWindow]) -> list[Wait]:
    """Of what they waited for in the window, and wait for now."""
    found = []
    for group in groups:
        causes = group.causes
        now = _now(group, causes)
        if group.after.waiting and now and now not in causes:
            causes = {**causes, now: 0}
        found += [(group, cause, time, bool(group.after.waiting) and cause == now) for cause, time in causes.items()]
    all_ = sum(time for _, _, time, _ in found)
    return [Wait(group, cause, time, all_, first) for group, cause, time, first in found]


def _time(one: Sums) -> float | None:
    length = one.of[0].group.window.length
    return sum(wait.time for wait in one.of) / length if length else None


def _oldest(one: Sums) -> Value:
    return s(max((wait.group.oldest or 0 for wait in one.of if wait.first), default=None))


_SUMMED: list[Field[Sums]] = [
    Field("groups", "groups", "groups", "groups that waited for it in the window, or do now", lambda one: len({wait.group.after.name for wait in one.of})),
    Field("waiting", "wait", "waiters", "tasks that wait now, in groups whose first task waits for it", lambda one: sum(wait.group.after.waiting for wait in one.of if wait.first)),
    Field("waiters", "waiters", "waiter-s/s", "waiter-seconds charged to it / window", _time),
    Field("share", "share", "%", "waiter-seconds charged to it / all; the shares sum to 100", lambda one: percent(ratio(sum(wait.time for wait in one.of), one.of[0].all_))),
    Field("oldest", "oldest", "s", "now - submission, of the oldest in groups whose first task waits for it", _oldest),
    Field("most", "most of it", "", "the groups with the most of it", lambda one: " ".join(wait.group.after.name for wait in sorted(one.of, key=lambda wait: -wait.time)[:3])),
]  # fmt: skip
BY_CAUSE: Table[Sums] = Table("waits_by_cause", "Groups by what they wait for", lambda one: one.what, [Field("cause", "waits for", "", "what its waiters wait for", lambda one: cause_words(one.what)), *_SUMMED], sort="-waiters")
BY_RESOURCE: Table[Sums] = Table("waits_by_resource", "Waits by resource", lambda one: one.what, [Field("resource", "resource", "", "that its waiters wait for; - none", lambda one: one.what or "-"), *_SUMMED], sort="-waiters")
WAITS: Table[Wait] = Table("waits", "Waits", lambda one: f"{one.group.after.name} {one.cause}", [
    Field("group", "group", "", "whose they are", lambda one: one.group.after.name),
    Field("cause", "waits for", "", "what its waiters wait for", lambda one: cause_words(one.cause)),
    Field("waiters", "waiters", "waiter-s/s", "waiter-seconds charged to it / window", lambda one: ratio(one.time, one.group.window.length)),
    Field("share", "share", "%", "waiter-seconds charged to it / those of all groups and causes", lambda one: percent(ratio(one.time, one.all_))),
    Field("now", "now", "", "yes: its first task waits for that now", lambda one: "yes" if one.first else ""),
    Field("oldest", "oldest", "s", "now - submission of the group's oldest, if its first task waits for that now", lambda one: s(one.group.oldest) if one.first else None),
], sort="-waiters")  # fmt: skip


# the others ---------------------------------------------------------------------------------------------------------------------------


def _parts(state: str) -> Callable[[Sums], Value]:
    def part(one: Sums) -> Value:
        workers: Sequence[WorkerWindow] = one.of
        return percent(ratio(sum(w.count(state) for w in workers), sum(w.time for w in workers)))

    return part


def _hit(one: Sums) -> Value:
    hits = sum(w.count("hits") for w in one.of)
    return percent(ratio(hits, hits + sum(w.count("misses") for w in one.of)))


WORKERS: Table[Sums] = Table("workers_by_state", "Workers by state", lambda one: one.what, [
    Field("state", "state", "", "now", lambda one: one.what), count("workers"),
    *(Field(id, id, "%", f"their time {words} / all their time, in the window", _parts(state)) for id, words, state in
      (("run", "running tasks", "running"), ("spin", "spinning", "spinning"), ("yield", "yielding", "yielding"), ("park", "parked", "parked"))),
    Field("hit", "hit", "%", "spins that found a task / spins", _hit),
    Field("save", "save", "cores", "time spun in vain / window", lambda one: ratio(sum(w.count("wasted") for w in one.of), one.of[0].window.length)),
], sort="-count")  # fmt: skip


def _batches(one: Sums) -> list[Batch]:
    return [batch for _, batch in one.of]


def _commit(one: Sums) -> Value:
    known = [batch.done - batch.sealed for batch in _batches(one) if batch.done is not None]
    return ratio(sum(known), len(known) * SECOND)


def _of_batches(name: str, title: str, first: Field[Sums]) -> Table[Sums]:
    return Table(name, title, lambda one: one.what, [
        first, count("batches"), Field("updates", "upd", "updates", "their updates", lambda one: sum(b.updates for b in _batches(one))),
        Field("fill", "fill", "%", "updates / most that they may have", lambda one: percent(ratio(sum(b.updates for b in _batches(one)), sum(b.most for b in _batches(one))))),
        Field("size", "size", "bytes", "of their updates", lambda one: sum(b.size for b in _batches(one))),
        Field("open", "open", "s", "first item to seal, mean", lambda one: ratio(sum(b.sealed - b.opened for b in _batches(one)), len(one.of) * SECOND)),
        Field("commit", "commit", "s", "seal to durable, mean of those that are", _commit),
    ], sort="-count")  # fmt: skip


def _waves(one: Sums) -> list[Wave]:
    return [wave for _, wave in one.of]


WAVES: Table[Sums] = Table("waves_by_batcher", "Refresh waves by batcher", lambda one: one.what, [
    Field("batcher", "batcher", "", "whose they are", lambda one: one.what), count("waves"),
    Field("due", "due", "refreshes", "refreshes that answers resumed", lambda one: sum(w.refreshes for w in _waves(one))),
    Field("joined", "join", "refreshes", "of these, those that shared a request", lambda one: sum(w.joined for w in _waves(one))),
    Field("late", "late", "refreshes", "of these, those answered more than a round trip after they were due", lambda one: sum(w.late for w in _waves(one))),
    Field("latest", "latest", "s", "answer - due instant, of the latest of all", lambda one: s(max(w.latest for w in _waves(one)))),
])  # fmt: skip


def _found(one: Sums) -> list[tuple[Divergence, int]]:
    return list(one.of)


DIVERGENCES: Table[Sums] = Table("divergences_by_rule", "Divergences by rule", lambda one: one.what, [
    Field("rule", "rule", "", "that is broken", lambda one: one.what), count("found", "divergences"),
    Field("age", "age", "s", "since the latest was found", lambda one: s(min(now - found.at for found, now in _found(one)))),
    Field("which", "which", "", "their ids", lambda one: " ".join(found.id for found, _ in _found(one))),
], sort="-count", status=lambda one: "alarm")  # fmt: skip


def _of_alarms(name: str, title: str, first: Field[Sums], others: Callable[[Open], str]) -> Table[Sums]:
    return Table(name, title, lambda one: one.what, [
        first, count("alarms"), Field("age", "age", "s", "since the oldest was first so", lambda one: s(max(alarm.now - alarm.alarm.since for alarm in one.of))),
        Field("which", "which", "", "of what, or which", lambda one: " ".join(others(alarm) or "-" for alarm in one.of)),
    ], sort="-count", status=lambda one: worst("ok" if alarm.acknowledged else alarm.alarm.status for alarm in one.of))  # fmt: skip


#: By table, in the order in which the key goes through them.
VIEWS: dict[str, tuple[View, ...]] = {
    "groups": (
        View("what they wait for", BY_CAUSE, lambda groups: by(waits(groups), lambda wait: wait.cause)),
        View("resource", BY_RESOURCE, lambda groups: by(waits(groups), lambda wait: wait.resource)),
        View("group and what it waits for", WAITS, waits),
    ),
    "batches": (
        View("seal", _of_batches("batches_by_seal", "Batches by seal", Field("seal", "seal", "", "why they were sealed", lambda one: one.what)), lambda found: by(found, lambda pair: pair[1].seal)),
        View("batcher", _of_batches("batches_by_batcher", "Batches by batcher", Field("batcher", "batcher", "", "whose they are", lambda one: one.what)), lambda found: by(found, lambda pair: pair[0])),
    ),
    "waves": (View("batcher", WAVES, lambda found: by(found, lambda pair: pair[0])),),
    "workers": (View("state", WORKERS, lambda found: by(found, lambda worker: worker.after.state)),),
    "divergences": (View("rule", DIVERGENCES, lambda found: by(found, lambda pair: pair[0].rule)),),
    "alarms": (
        View("code", _of_alarms("alarms_by_code", "Alarms by code", Field("code", "code", "", "of the lint", lambda one: one.what), lambda one: one.alarm.entity), lambda found: by(found, lambda one: one.alarm.code)),
        View("entity", _of_alarms("alarms_by_entity", "Alarms by entity", Field("entity", "of", "", "of what", lambda one: one.what or "-"), lambda one: one.alarm.code), lambda found: by(found, lambda one: one.alarm.entity)),
    ),
}  # fmt: skip
#: Tables that are only there when they are asked for, and whose things they are.
ASKED: dict[str, tuple[str, View]] = {"waits": ("groups", VIEWS["groups"][2])}


def things(frame: Frame, name: str) -> tuple[Table[Any], Sequence[Any]] | None:
    """A table of the frame, or one that is only there when it is asked for."""
    if name in ASKED:
        base, view = ASKED[name]
        found = things(frame, base)
        return None if found is None else (view.table, view.gather(found[1]))
    return frame.table(name) if name in frame.names else None
