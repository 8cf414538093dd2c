"""What a live scheduler tells about itself: one frozen `Snapshot`, taken between two of its steps.

All counters and integrals run from the scheduler's start and never fall, so that whoever reads two snapshots has the exact numbers of the
time between them; nothing is sampled. Times are integer nanoseconds of the program's monotonic clock, integrals are slot-nanoseconds or
waiter-nanoseconds. A snapshot is a msgspec struct: the same object in the program, on the socket (MessagePack) and in a recording.
"""
from __future__ import annotations

from typing import Literal

import msgspec

VERSION = 2                      # of the snapshot's fields; a reader refuses another by name
CAUSES = ("capacity", "limit", "lent", "kept", "back_off", "dependency", "scheduler")
#: Why a waiter waits: no free unit of what it needs; its group's own limit; units are held beyond their holder's share; free units are kept
#: for a patient head; a retry's pause; something it depends on; nothing holds it: it could have been started.
Cause = Literal["capacity", "limit", "lent", "kept", "back_off", "dependency", "scheduler"]


class Histogram(msgspec.Struct, frozen=True, gc=False):
    """Counts of durations by bucket: eight to each power of two of nanoseconds, sparse. Bucket i begins at `low(i)` (slotwise.impl.meter)."""

    counts: dict[int, int] = {}
    total: int = 0               # ns, of all


class Resource(msgspec.Struct, frozen=True, gc=False):
    name: str
    capacity: int
    busy: int                    # units held
    lent: int                    # of these, units that groups hold beyond their share by weight while others wait
    waiting: int                 # tasks waiting that need it
    eligible: int                # of these, tasks that would start now if one unit more of it were free and given to them (see `eligible` in slotwise.impl.meter_rows)
    idle_waiting: int            # integral of min(free units, units that eligible tasks want), slot-ns
    idle_waiting_longest: int    # longest stretch of that above 0, ns, since the start
    busy_time: int               # integral of busy, slot-ns
    hold: Histogram              # grant to release
    idle_since: int | None = None        # when the stretch of idle_waiting above 0 that lasts began
    lent_to: dict[str, int] = {}         # lent, by the groups that hold it, the greatest first; empty where only the sum is known


class Group(msgspec.Struct, frozen=True, gc=False):
    name: str
    weight: float
    limit: int | None
    running: int
    waiting: int
    backing_off: int             # tasks between two tries
    oldest: int | None           # when the task that has waited longest was submitted
    service: int                 # integral of dominant share held, in slot-ns of the largest resource
    wait: Histogram              # submission (or the end of a back-off) to start
    causes: dict[str, int]       # waiter-ns by cause, and the resource if that has one ("capacity llm"), all of it charged to exactly one
    submitted: int
    started: int
    finished: int
    failed: int
    cancelled: int
    retried: int
    timed_out: int
    needs: dict[str, int] = {}   # of its first waiting task
    blocked_by: str = ""         # the cause of its first waiting task, and the resource if that has one: "capacity llm"
    overdue: int = 0             # running tasks that were told to end (deadline, cancellation), and still hold their units
    overdue_since: int | None = None     # when the first of these was told so
    debt: dict[str, int] = {}    # units by resource that it must still repay, under a profile that keeps debts


class Batch(msgspec.Struct, frozen=True, gc=False):
    """One request of a checkpoint batcher."""

    number: int
    updates: int
    most: int
    size: int
    seal: str                    # the reason, one of the vocabulary's
    opened: int                  # first item
    last: int                    # last item
    sealed: int
    done: int | None             # durable; None: in flight
    outcome: str = ""


class Wave(msgspec.Struct, frozen=True, gc=False):
    """The refreshes that one answer resumed."""

    number: int
    due: int                     # the earliest due instant
    at: int
    refreshes: int
    joined: int                  # of these, all but one that a request was sent for: with updates, or with another refresh
    late: int                    # answered more than a round trip after they were due
    latest: int                  # ns after its due instant, of the latest


class Batcher(msgspec.Struct, frozen=True, gc=False):
    name: str
    requests: int
    updates: int
    refreshes: int
    failures: int
    seals: dict[str, int]        # requests by reason
    waiting: int                 # items not durable yet
    needless: int                # ns in which a batch was open, nothing in flight, and no item came before the seal
    open_time: int               # ns
    commit: Histogram            # seal to durable
    joined: int
    late: int
    batches: tuple[Batch, ...] = ()      # the latest, newest last
    waves: tuple[Wave, ...] = ()


class Worker(msgspec.Struct, frozen=True, gc=False):
    """A thread of a spin pool; times in ns."""

    name: str
    state: Literal["run", "spin", "yield", "park", "left"]
    running: int
    spinning: int
    yielding: int
    parked: int
    hits: int                    # windows that caught a task
    misses: int                  # windows that ended in a park
    wasted: int                  # ns spun in those
    window: int
    wake: Histogram = Histogram()        # from the publication to the first look after a park


class Check(msgspec.Struct, frozen=True, gc=False):
    """An invariant or law that is checked on the running scheduler."""

    id: str
    holds: bool
    checked: int                 # times
    at: int                      # of the last check
    detail: str = ""


class Divergence(msgspec.Struct, frozen=True, gc=False):
    id: str
    seed: int
    step: int
    rule: str
    detail: str
    at: int
    repro: str = ""              # a command that shows it
    trace: str = ""              # the shrunk trace's file


class Campaign(msgspec.Struct, frozen=True, gc=False):
    """A search for divergences, under one profile."""

    mechanism: str
    profile: str
    target: str
    seed: int
    steps: int
    episodes: int
    time: int                    # ns that it has searched
    new_at: int                  # its steps when a rule last decided for the first time, or something was found
    rules: dict[str, int]        # how often each rule decided
    floors: dict[str, float] = {}        # how often it must have, after so many steps; of rules that have a floor
    faults: int = 0              # seeded faults that are known to belong to this profile
    killed: int | None = None    # of these, found in the last `slotwise mutate` here; None: it was not run
    result: str = "searching"    # then what came out: "no divergence", "DIVERGENCE at SLT-9"


class Snapshot(msgspec.Struct, frozen=True, gc=False):
    """Everything, at one instant. `version` comes first, so that a reader of another version can say so."""

    version: int
    program: str
    pid: int
    started: int                 # ns of the program's monotonic clock
    now: int
    number: int                  # of this snapshot; missing numbers were skipped, not lost: every snapshot has all counters
    events: int                  # folded since the start
    dropped: int                 # of the tape (not of the counters)
    leases: int
    resources: tuple[Resource, ...] = ()
    groups: tuple[Group, ...] = ()
    batchers: tuple[Batcher, ...] = ()
    workers: tuple[Worker, ...] = ()
    checks: tuple[Check, ...] = ()
    divergences: tuple[Divergence, ...] = ()
    slo: int = 5 * 10**9         # ns that a task may wait before its group is called starving
    state: str = "running"       # "draining", "ended", "crashed: …"
    campaigns: tuple[Campaign, ...] = ()
    every: int = 10**8           # ns until the next one on the same socket, unless something blocks the loop; more where snapshots cost much
