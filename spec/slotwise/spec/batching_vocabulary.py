"""The words of checkpoint batching and refresh: what producers, the driver and the service say to the collector, and what it answers.

Times are integer nanoseconds of one local monotonic clock. An *item* is an update (or an empty one, which only asks for the state) that
a producer submits; a *sync* item's producer is blocked until it is settled. A *refresh* asks for the state of one operation once that is
due, by its *key*, the service's own stamp of the scheduled end, or by a local time. One request is in flight at a time.
"""
from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from slotwise.spec.vocabulary import LATEST, Count, Name, Nanoseconds

MILLISECOND, SECOND = 10**6, 10**9
#: The service's clock goes further than the local one: nanoseconds since 1970 do.
FURTHEST = 1 << 62
#: An instant of the service's clock; it may lie before the local clock's beginning.
Stamp = Annotated[int, msgspec.Meta(ge=-FURTHEST, le=FURTHEST)]
Change = Annotated[int, msgspec.Meta(ge=-(1 << 20), le=1 << 20)]


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do"):
    pass


class Submit(_Command, frozen=True, tag="submit", kw_only=True):
    """A producer has an update of the operation `id`, of so many bytes, or an empty one. An operation may have several updates, and
    they go by its name. `ends`: this one ends the context `id`, and orphans all below it. `final`: it ends the execution
    (an empty item does not)."""

    id: Name
    size: Count = 0
    sync: bool = True
    empty: bool = False
    parent: Name | None = None
    ends: bool = False
    final: bool = False
    at: Nanoseconds = 0


class Refresh(_Command, frozen=True, tag="refresh", kw_only=True):
    """A branch of `owner` starts to wait for an operation: until the service's stamp of its end (`key`), or a local time (`due`, which
    goes before the key if there are both), or for the next answer if there is neither."""

    id: Name
    key: Stamp | None = None
    due: Nanoseconds | None = None
    owner: str = ""
    index: Count = 0
    at: Nanoseconds = 0


class Cancel(_Command, frozen=True, tag="cancel", kw_only=True):
    """Nobody waits any more: for the refresh `id`, or else for any of `owner`."""

    id: Name | None = None
    owner: str = ""
    at: Nanoseconds = 0


class Credit(_Command, frozen=True, tag="credit", kw_only=True):
    """So many producers more (or fewer) are running, or outside in user code: who can add work without the service's help."""

    running: Change = 0
    outside: Change = 0
    at: Nanoseconds = 0


class Stop(_Command, frozen=True, tag="stop", kw_only=True):
    """The invocation ends: what was accepted is sent, nothing more is accepted."""

    at: Nanoseconds = 0


class Pump(_Command, frozen=True, tag="pump", kw_only=True):
    """What shall the driver do now?"""

    at: Nanoseconds = 0


class Respond(_Command, frozen=True, tag="respond", kw_only=True):
    """The request's answer: the next token (none: the execution is over, or this worker's right to it), the service's stamp of its
    processing, the operations that it shows done, and a marker if there are more pages."""

    token: Name | None = None
    stamp: Stamp | None = None
    done: tuple[Name, ...] = ()
    marker: Name | None = None
    at: Nanoseconds = 0


class Page(_Command, frozen=True, tag="page", kw_only=True):
    """Another page of the answer."""

    done: tuple[Name, ...] = ()
    marker: Name | None = None
    at: Nanoseconds = 0


class Fail(_Command, frozen=True, tag="fail", kw_only=True):
    """The request, or the fetch of a page, raised an error."""

    at: Nanoseconds = 0


Command = Submit | Refresh | Cancel | Credit | Stop | Pump | Respond | Page | Fail
COMMANDS: dict[str, type[_Command]] = {
    "submit": Submit, "refresh": Refresh, "cancel": Cancel, "credit": Credit, "stop": Stop,
    "pump": Pump, "respond": Respond, "page": Page, "fail": Fail,
}  # fmt: skip

SEEN = {
    "accepted": "(id) it will be settled, or its update sent",
    "rejected": "(id, why) nothing was done",
    "settled": "(id, outcome) its producer goes on",
    "again": "(id, due) not done yet; it is asked for again then (local time)",
    "resumed": "(owner, key or none, ids) these operations are done; the owner's branches go on",
    "fetch": "(marker, token) the driver gets the next page",
    "send": "(update ids, refresh ids, token) the driver sends a request",
    "sleep": "(until or none) nothing to send before then, or before another command",
    "exit": "() the collector has ended",
    "unexpected": "(command) no request or page is awaited; nothing was done",
    "time_reversed": "(at) the command's time is before that of an earlier command; nothing was done",
}

Outcome = Literal[
    "ok",            # durable; or for a refresh, answered
    "orphaned",      # its context or the execution has ended, or the collector was stopped
    "suspended",     # this worker lost the right to the execution
    "failed",        # a request failed
    "cancelled",     # by its owner
]
Why = Literal[
    "orphaned",      # a context above it has ended
    "completed",     # the execution has ended
    "revoked",       # this worker lost the right to the execution
    "failed",        # a request failed
    "stopped",       # the invocation ends
    "duplicate",     # a refresh of that id is already asked for
    "no_refresh",    # this profile schedules none
]


class LookAhead(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="look-ahead"):
    """Drain, look ahead on known due times, hold only while somebody can still add work; see `slotwise.spec.batching`."""

    bytes: Count = 768_000                   # B: of updates per request
    updates: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = 250      # N: per request
    collection: Nanoseconds = SECOND         # T: the longest
    quiet: Nanoseconds = 100 * MILLISECOND   # P: silence while nobody is blocked
    may_come: Nanoseconds = MILLISECOND      # W: silence while somebody may come
    will_come: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = 8      # V: silence while two or more certainly come is a round trip by this
    hold: Count = 1                          # C: no hold lasts as many round trips
    round_trip: Annotated[int, msgspec.Meta(ge=1, le=LATEST)] = 30 * MILLISECOND    # before the first is measured
    horizon: Count = 3                       # H: round trips that a plan looks ahead
    instants: Count = 64                     # L: distinct due instants that it looks at
    remembered: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 16       # S: stamped round trips
    resolution: Nanoseconds = 0              # q: of the service's stamps
    pause: Nanoseconds = SECOND              # A: longest between two asks of one wait
    counted: bool = True                     # False: nobody can say who is running


class Shipped(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="aws-durable"):
    """The collector of the published SDK, with its windows; see `slotwise.spec.aws_durable`."""

    bytes: Count = 768_000
    updates: Annotated[int, msgspec.Meta(ge=1, le=1 << 20)] = 250
    collection: Nanoseconds = SECOND
    quiet: Annotated[int, msgspec.Meta(ge=1, le=LATEST)] = 100 * MILLISECOND
    blocked_window: Nanoseconds | None = MILLISECOND     # silence while a caller is blocked; None: `quiet` then too
    heap: bool = True                                    # refreshes are scheduled; False: there are none
    weighs_empties: bool = True                          # an empty item does not fit where the bytes are too many already
    revokes: bool = True                                 # an answer without a token revokes; False: it completes, or is an error if nothing was sent


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One discipline with its parameters, and one switch for each known defect."""

    name: Name
    discipline: LookAhead | Shipped
    oversize_overflow_waits: bool = False    # H1: an update that did not fit, and is larger than a request may be, is never sent
    waits_are_retimed: bool = False          # H2: a branch that waits again waits for the full duration (a coordinator's rule)
    accepts_after_stop: bool = False         # H3: what comes after the stop is accepted, and never sent or settled
    stop_abandons: bool = False              # H3: what is queued at the stop is neither sent nor settled
    wakes_extend: bool = False               # H4: the request of a refresh begins the quiet window anew
    stop_waits_for_poll: bool = False        # H5: a stop is seen only when a read ends
    settles_by_older: bool = False           # a refresh is settled by the answer to a request from before it was due (another SDK)


_PUBLISHED = Profile("aws-durable-3.0.0", Shipped(), oversize_overflow_waits=True, waits_are_retimed=True, accepts_after_stop=True,
                     stop_abandons=True, wakes_extend=True, stop_waits_for_poll=True)
_BEFORE = Shipped(blocked_window=None, heap=False, weighs_empties=False, revokes=False)
PROFILES = {p.name: p for p in (
    msgspec.structs.replace(_PUBLISHED, name="aws-durable-2.0.0", discipline=_BEFORE, wakes_extend=False),
    _PUBLISHED,
    Profile("slotwise", LookAhead()),
)}  # fmt: skip


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a collector is given before its first command: its first token, and the caller's wall clock minus its local clock."""

    token: Name = "token-0"
    hint: Stamp = 0
