"""The words that spec, engine, traces, command line and screens share. This module is the glossary.

Times are integer nanoseconds. A *task* needs units of *resources*, each of which has a *capacity*. Tasks wait in the FIFO of their
*group*; the oldest is the group's *head*. A task that starts is granted a *lease* on its units until it is released. A *profile* is
one discipline with its parameters, and one switch for each known defect.
"""
from __future__ import annotations

from typing import Annotated, Literal

import msgspec

#: Nanoseconds; the engine computes with 128 bits and accepts no later instant (about 36 years).
LATEST = 1 << 60
#: Units of a resource, tasks at once, numbers of leases.
MOST = (1 << 31) - 1
#: Weights are multiples of 1/1024, so that sums of weights are exact in any order.
WEIGHT_UNIT = 1024
HEAVIEST = 65536.0

Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=LATEST)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Units = Annotated[int, msgspec.Meta(ge=1, le=MOST)]
Weight = Annotated[float, msgspec.Meta(ge=0.0, le=HEAVIEST, multiple_of=1 / WEIGHT_UNIT)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Needs = Annotated[dict[Name, Units], msgspec.Meta(min_length=1)]     # in the order asked


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A group's specification, as it came with a task."""

    name: Name
    weight: Weight = 1.0
    share_limit: Count | None = None      # strict, bounded borrow ("admitted limit"): most held as of right under pressure; None: never held back
    running_limit: Count | None = None    # slot time: most tasks running at once; None: no limit


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One unit of work: what it needs, of which resources, in the order asked."""

    id: Name
    group: Name
    needs: Needs


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do"):
    pass


class Enqueue(_Command, frozen=True, tag="enqueue", kw_only=True):
    """Tasks arrive, in this order. `groups` specifies groups named by the tasks; others keep their last specification, or get the default."""

    tasks: tuple[Task, ...]
    groups: tuple[Group, ...] = ()
    at: Nanoseconds = 0


class Discard(_Command, frozen=True, tag="discard", kw_only=True):
    """A waiting task is withdrawn."""

    task: Name
    at: Nanoseconds = 0


class DiscardWhere(_Command, frozen=True, tag="discard_where", kw_only=True):
    """All waiting tasks that match are withdrawn: of that group, and with an id that begins so. No condition matches every task."""

    group: Name | None = None
    prefix: str = ""
    at: Nanoseconds = 0


class Pump(_Command, frozen=True, tag="pump", kw_only=True):
    """Start what may start, one after another, at most so many."""

    at_most: Count
    at: Nanoseconds = 0


class Select(_Command, frozen=True, tag="select", kw_only=True):
    """Which task would start next? The answer carries the version of the queue, for `commit`."""

    at: Nanoseconds = 0


class Commit(_Command, frozen=True, tag="commit", kw_only=True):
    """Start the selected task: it is leased and leaves the queue in one step, unless the queue has changed since."""

    task: Name
    version: Count
    at: Nanoseconds = 0


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the caller believes of its lease; only the scheduler's own record counts."""

    task: Name | None = None
    needs: Needs | None = None
    generation: Count = 0                 # of the scheduler that granted it; 0 is this one


class Release(_Command, frozen=True, tag="release", kw_only=True):
    """A task has ended. Leases are numbered from 1 in the order granted."""

    lease: Count
    claim: Claim | None = None
    at: Nanoseconds = 0


class Explain(_Command, frozen=True, tag="explain", kw_only=True):
    """Why does each head wait? One verdict per head, in the order of turn."""

    at: Nanoseconds = 0


Command = Enqueue | Discard | DiscardWhere | Pump | Select | Commit | Release | Explain
COMMANDS: dict[str, type[_Command]] = {
    "enqueue": Enqueue, "discard": Discard, "discard_where": DiscardWhere, "pump": Pump,
    "select": Select, "commit": Commit, "release": Release, "explain": Explain,
}  # fmt: skip

#: One thing seen after a command: a word of `SEEN`, then strings, integers, and for `started` the needs.
Observation = tuple[object, ...]
State = dict[str, object]

SEEN = {
    "accepted": "(task) it waits now",
    "duplicate": "(task) a task of that id is already waiting; (lease) it was already released",
    "refused": "(task, reason) it may not wait, or may not start now",
    "discarded": "(task) it waits no longer",
    "unknown_task": "(task) no such task is waiting",
    "started": "(lease, task, needs) it holds its units now",
    "drained": "() nothing waits",
    "full": "() as many as asked were started; work still waits",
    "blocked": "() work waits, and nothing more may start",
    "selected": "(task, version) it would start next",
    "stale_selection": "(task) the queue has changed since, or that task is not at the head",
    "released": "(lease) its units are free",
    "unknown_lease": "(lease) never granted, or forgotten",
    "stale_lease": "(lease) it belongs to another task, and stays",
    "wrong_controller_generation": "(lease) granted by another scheduler",
    "startable": "(task) nothing holds it back",
    "time_reversed": "(at) the command's time is before that of an earlier command; nothing was done",
}

Refusal = Literal[
    "never_fits",        # it asks more of a resource than there is of it, or of a resource that is not listed
    "no_weight",         # its group's weight is 0: it could never be its turn
    "limit_below_one",   # its group may run no task
    "no_capacity",       # not that many units are free now
    "group_cap",         # under pressure, beyond its group's share (bounded borrow) or limit (strict)
    "borrow_debt",       # its group owes what it borrowed, or may borrow no more
    "running_limit",     # its group already runs as many tasks as it may
    "kept_units",        # what it needs is kept for a patient head
]  # fmt: skip


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="strict"):
    """Work-conserving; a group at its limit of leases makes way under pressure."""


class Ceiling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The most units of a resource that a group may owe."""

    group: Name
    resource: Name
    units: Count


class BoundedBorrow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="bounded-borrow"):
    """A group alone may borrow beyond its share, and owes it back."""

    reserve_fraction: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 0.0
    reserve_at_least: Count = 0
    reserve_at_most: Count = 8
    share_rounding: Literal["ceil", "floor"] = "ceil"
    default_ceiling: Count | None = None
    ceilings: tuple[Ceiling, ...] = ()
    repay: bool = True


class SlotTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="slot-time"):
    """Fair in attained slot-time; see `slotwise.spec.slot_time`."""

    ahead: Annotated[int, msgspec.Meta(ge=0, le=64)] = 2       # horizons a group's running tasks are looked ahead
    arrears: Annotated[int, msgspec.Meta(ge=0, le=64)] = 2     # look-aheads a group that goes on competing may be behind
    memory: Annotated[int, msgspec.Meta(ge=1, le=64)] = 8      # horizons over which the horizon forgets
    patience: Annotated[int, msgspec.Meta(ge=0, le=64)] = 2    # times the longest running task in its way a head waits before units are kept for it


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What tells one real system from another: one discipline with its parameters, and one switch for each known defect."""

    name: Name
    discipline: Strict | BoundedBorrow | SlotTime
    released_memory: Count | None = None        # how many released leases are remembered; None: all, at no cost
    accepts_the_impossible: bool = False        # a task that can never start is accepted, and waits for ever
    discarded_task_lingers: bool = False        # a discarded task stays in its FIFO until it is met at the head
    idle_group_keeps_place: bool = False        # after its last waiting task is discarded

    def __post_init__(self) -> None:
        """Raises ValueError: the switches are defects of systems that count tasks."""
        if isinstance(self.discipline, SlotTime) and (self.accepts_the_impossible or self.discarded_task_lingers or self.idle_group_keeps_place):
            raise ValueError("slot-time has no accepts_the_impossible, discarded_task_lingers or idle_group_keeps_place")


_STRICT = Profile("strict", Strict(), released_memory=8192, accepts_the_impossible=True, discarded_task_lingers=True)
_replace = msgspec.structs.replace
PROFILES = {p.name: p for p in (
    _STRICT,
    _replace(_STRICT, name="data-designer-0.8", discipline=BoundedBorrow(0.125, 1), idle_group_keeps_place=True),
    _replace(_STRICT, name="data-designer-0.9", discipline=BoundedBorrow()),
    Profile("slotwise", SlotTime()),
)}  # fmt: skip


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a scheduler is given before its first command."""

    capacity: Annotated[dict[Name, Units], msgspec.Meta(min_length=1)]


def weight_in_units(group: Group) -> int:
    """A group's weight in 1024ths, an integer."""
    return round(group.weight * WEIGHT_UNIT)
