"""The words of spinning, yielding and parking: what the threads of a fan-out pool do, one small step at a time, and what is seen.

A pool of `width` threads runs fan-outs: the thread that dispatches takes part, the others are its *workers*. A worker with nothing to do
spins for a *window* of time, pausing at first, then also yielding, and at last parks. A *stretch* is a worker's time without a task; a
*policy* chooses the window of each. Nothing here reads a clock: times are integer nanoseconds given with the commands, costs are given
with the setup, and each command is one actor's step, so that a trace is one interleaving.
"""
from __future__ import annotations

from typing import Annotated

import msgspec

from slotwise.spec.vocabulary import Count, Name, Nanoseconds

MICROSECOND, MILLISECOND, SECOND = 10**3, 10**6, 10**9
BUILDER = "pool"                 # the actor that builds the pool; workers are "w0", "w1", …; any other name is a dispatcher
Window = Annotated[int, msgspec.Meta(ge=0, le=SECOND)]
Cost = Annotated[int, msgspec.Meta(ge=1, le=SECOND)]
Some = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do"):
    pass


class Dispatch(_Command, frozen=True, tag="dispatch", kw_only=True):
    """A thread asks for a fan-out of so many tasks; its own steps follow with `go`."""

    actor: Name
    total: Annotated[int, msgspec.Meta(ge=0, le=1 << 20)]
    at: Nanoseconds = 0


class Go(_Command, frozen=True, tag="go", kw_only=True):
    """The actor's next steps: up to `times`, fewer if it comes to wait for something. `at` is what its clock reads in them."""

    actor: Name
    times: Some = 1
    at: Nanoseconds = 0


class End(_Command, frozen=True, tag="end", kw_only=True):
    """The task that the actor runs ends, or panics."""

    actor: Name
    panics: bool = False
    at: Nanoseconds = 0


class Stir(_Command, frozen=True, tag="stir", kw_only=True):
    """A parked worker's wait returns though nobody woke it."""

    actor: Name
    at: Nanoseconds = 0


class Shutdown(_Command, frozen=True, tag="shutdown", kw_only=True):
    """The pool ends: workers leave as soon as they see it."""

    at: Nanoseconds = 0


class Counters(_Command, frozen=True, tag="counters", kw_only=True):
    """A snapshot of the counters; nothing is stopped for it."""

    at: Nanoseconds = 0


class Wait(_Command, frozen=True, tag="wait", kw_only=True):
    """One whole window in virtual time, apart from the pool: every pause, reading and yield first takes its cost. A publication and a
    shutdown are seen from their times on."""

    window: Window
    pause: Cost = 31
    clock: Cost = 20
    yields: Cost = 1050
    first_yield: Cost | None = None          # the first yield's cost, if it differs
    publish: Nanoseconds | None = None
    shutdown: Nanoseconds | None = None
    at: Nanoseconds = 0


class Script(_Command, frozen=True, tag="script", kw_only=True):
    """One whole window on a scripted clock, apart from the pool: the readings in order; after the last the clock reads the window's
    end, and goes on. A publication and a shutdown are seen from the given pass on, the first being 1."""

    window: Window
    readings: tuple[Nanoseconds, ...] = ()
    publish: Some | None = None
    shutdown: Some | None = None
    at: Nanoseconds = 0


class Gap(_Command, frozen=True, tag="gap", kw_only=True):
    """A lone worker, apart from the pool, has nothing to do until a publication after so long; `ran`: it got a task of it."""

    gap: Nanoseconds
    ran: bool = True
    at: Nanoseconds = 0


Command = Dispatch | Go | End | Stir | Shutdown | Counters | Wait | Script | Gap
COMMANDS: dict[str, type[_Command]] = {
    "dispatch": Dispatch, "go": Go, "end": End, "stir": Stir, "shutdown": Shutdown,
    "counters": Counters, "wait": Wait, "script": Script, "gap": Gap,
}  # fmt: skip

SEEN = {
    "announced": "(worker, ready) the worker is ready; so many are",
    "waits_ready": "(pauses, yields) the builder's passes while workers are missing",
    "built": "(workers) every worker has announced itself",
    "abandoned": "(ready, workers) the time was up: the pool is shut down, nobody is joined",
    "looks": "(actor, slots) a scan of the published slots begins, of so many",
    "passed": "(actor, slot) nothing is left to claim there",
    "sees": "(actor, slot) something is left to claim there",
    "took": "(actor, slot, index) the task is the actor's, and runs",
    "lost": "(actor, slot) another took the last one in between",
    "ended": "(actor, slot) the task is counted",
    "settled": "(actor, slot, remaining) the task is settled",
    "nothing_new": "(actor) after a scan that ran nothing the epoch is as before: a window begins, or goes on",
    "again": "(actor, ran) the scan ran so many, or the epoch is new: another scan follows",
    "spun": "(actor, pauses, yields, readings) passes of the window, or of a dispatcher that waits for stragglers",
    "caught": "(actor, window) a publication was seen within the window",
    "expired": "(actor, window) the window is over: a park is counted",
    "slept": "(actor) parked",
    "stayed": "(actor) the epoch had moved: it did not park",
    "stirred": "(actor) its wait returned though nobody woke it",
    "woke": "(actor, window) after a park; the window is now so long",
    "left": "(actor) the worker saw the shutdown",
    "held": "(actor, slot) the dispatcher has a slot",
    "wrote": "(actor, slot, word) the dispatcher stored one word of its slot",
    "published": "(actor, slot, epoch) the epoch has moved",
    "wakes": "(actor, number, workers) so many parked workers go on, these",
    "straggles": "(actor, slot) its own share is done, others still run",
    "finished": "(actor, slot, own) the fan-out is done; it ran so many itself",
    "raised": "(actor, slot, own) the same, and a task panicked: the panic is raised here",
    "declined": "(actor, why) no fan-out: the caller runs its tasks itself",
    "idle": "(actor, why) nothing to do for it now; nothing was done",
    "shut_down": "(epoch) the pool ends",
    "counters": "(words and numbers by turns)",
    "outcome": "(outcome, passes, yields, readings, elapsed) of a whole window",
    "waited": "(window, outcome, next) the lone worker's window for the gap, how it ended, and the next one",
    "time_reversed": "(at) the command's time is before that of an earlier command; nothing was done",
}


def _within(floor: int, cap: int) -> None:
    """Raises ValueError."""
    if floor > cap:
        raise ValueError(f"floor {floor} of cap {cap}: at most the cap")


class Ratchet(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="ratchet"):
    """Double after a catch or a task, halve after a park."""

    floor: Annotated[int, msgspec.Meta(ge=1, le=SECOND)] = 20 * MICROSECOND
    cap: Annotated[int, msgspec.Meta(ge=1, le=SECOND)] = 500 * MICROSECOND

    def __post_init__(self) -> None:
        _within(self.floor, self.cap)


class Fixed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="fixed"):
    """Always the same window; 0 parks after the first stride."""

    window: Window = 100 * MICROSECOND


class BreakEven(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="break-even"):
    """As long as a park costs."""

    latency: Count = 0           # what a second of a fan-out's latency is worth, in 1/1024 of a core's second


class Average(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="average"):
    """Twice the moving average of the gaps (an eighth each; of a gap, at most the window and a park is seen), within bounds."""

    floor: Annotated[int, msgspec.Meta(ge=1, le=SECOND)] = 20 * MICROSECOND
    cap: Annotated[int, msgspec.Meta(ge=1, le=SECOND)] = 500 * MICROSECOND

    def __post_init__(self) -> None:
        _within(self.floor, self.cap)


class Guarded(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="guarded"):
    """Follow the candidate that would have cost least so far, and break even while that goes wrong (GFTL)."""

    latency: Count = 0           # as in `BreakEven`


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One policy of the window with its parameters, the numbers of the loop, and one switch for each known defect."""

    name: Name
    discipline: Ratchet | Fixed | BreakEven | Average | Guarded
    budget: Some = 4096                      # passes below it only pause
    stride: Some = 64                        # passes between two readings of the clock among those
    yield_interval: Annotated[int, msgspec.Meta(ge=1, le=SECOND)] = 10 * MICROSECOND     # between two yields, at least
    slots: Annotated[int, msgspec.Meta(ge=1, le=32)] = 8      # fan-outs at once
    straggler_stride: Some = 4096            # a dispatcher that waits for stragglers yields once per so many pauses
    ready_within: Nanoseconds = 120 * SECOND
    deadline_strided: bool = False           # after the budget too, the clock is read once per stride only
    yields_unbounded: bool = False           # after the budget every pass yields, before the deadline is looked at
    barrier_unbounded: bool = False          # the builder waits for its workers without a yield and without an end
    wakes_all: bool = False                  # a publication wakes every parked worker
    empty_catch_counts: bool = False         # a catch that ran no task counts as one, and a new window begins


_AFTER = Profile("ep-cpu-after", Ratchet(), wakes_all=True, empty_catch_counts=True)
_BEFORE = msgspec.structs.replace(_AFTER, name="ep-cpu-before", yields_unbounded=True)
PROFILES = {p.name: p for p in (
    msgspec.structs.replace(_BEFORE, name="ep-cpu-orig", deadline_strided=True, barrier_unbounded=True),
    _BEFORE,
    _AFTER,
    Profile("slotwise", Guarded()),
)}  # fmt: skip


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a pool is given: its threads, and what this machine's waiting costs. Raises ValueError if more workers are spawned than fit."""

    width: Annotated[int, msgspec.Meta(ge=1, le=64)] = 3      # threads, the dispatcher's included
    spawned: Annotated[int, msgspec.Meta(ge=0, le=63)] | None = None     # workers; None: width - 1; fewer if a spawn failed
    built: bool = True                       # every worker is ready at the start; False: the barrier is part of the trace
    park: Annotated[int, msgspec.Meta(ge=8, le=SECOND)] = 68_300      # CPU of a park and a wake
    wake: Nanoseconds = 40_000               # from a publication to a parked worker's look
    catch: Nanoseconds = 0                   # from a publication to a spinning worker's look

    def __post_init__(self) -> None:
        if self.spawned is not None and self.spawned >= self.width:
            raise ValueError(f"spawned {self.spawned} of width {self.width}: at most width - 1")

    @property
    def workers(self) -> int:
        return self.width - 1 if self.spawned is None else self.spawned
