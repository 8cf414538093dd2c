"""What groups wait for: by cause, by resource, and one by one."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from slotwise.dashboard.observe.panes import Field, Table
from slotwise.dashboard.observe.sums import Sums, ratio
from slotwise.dashboard.observe.tables import cause_words, percent, s
from slotwise.dashboard.observe.window import GroupWindow
from slotwise.dashboard.observe.words import Value


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
