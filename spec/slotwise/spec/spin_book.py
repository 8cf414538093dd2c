"""What follows from commands and observations alone, for the laws of spinning: where each actor stands, what the slots hold, how long windows have been.

Nothing here comes from a rule: it is what anybody could write down beside a pool.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from slotwise.spec import spin_vocabulary as v

EPOCHS = 1 << 32


@dataclass(slots=True)
class Window:
    """What was told of one."""

    since: int = 0               # what its time is counted from
    pauses: int = 0
    yields: int = 0
    readings: int = 0
    before: int = 0              # yields of it that earlier outcomes counted
    first: int | None = None     # the first reading from the budget on
    latest: int = -1             # reading before the last that were told
    read: int = -1               # the last
    yielded: int | None = None   # the latest reading with a yield


@dataclass(slots=True)
class Actor:
    """A worker, or a dispatcher that has a fan-out."""

    name: str
    at: str
    left: set[int] = field(default_factory=set)          # slots of its scan that it has not done with
    slot: int | None = None                              # that it looks at
    ran: int = 0                                         # in this scan
    last: int = 0                                        # the epoch when it last stored it
    since: int = 0                                       # when its stretch began
    window: Window | None = None                         # of its stretch
    over: bool = False                                   # a window of this stretch has expired
    caught: bool = False                                 # the scan follows a catch


@dataclass(slots=True)
class FanOut:
    actor: Actor
    slot: int
    total: int
    open: bool = False                                   # its claim is written, and not taken back
    taken: set[int] = field(default_factory=set)
    settled: int = 0
    own: int = 0
    panicked: bool = False
    pauses: int = 0                                      # while it waits for stragglers
    yields: int = 0

    @property
    def remaining(self) -> int:
        return self.total - self.settled

    @property
    def unclaimed(self) -> int:
        return self.total - len(self.taken) if self.open else 0


#: Where a worker stands -> what it may tell next.
WORKER = {
    "announce": {"announced"}, "top": {"looks", "left"}, "scan": {"passed", "sees"}, "scanned": {"again", "nothing_new"}, "take": {"took", "lost"},
    "running": {"idle", "ended"}, "settle": {"settled"}, "window": {"spun", "caught", "expired", "left"}, "wait": {"slept", "stayed"},
    "asleep": {"idle", "stirred"}, "woken": {"woke"}, "gone": {"idle"},
}  # fmt: skip
DISPATCHER = {
    **{word: {"wrote"} for word in ("remaining", "stamp", "claim", "active", "inactive", "unclaim")}, "epoch": {"published"}, "wake": {"wakes"}, "scan": {"passed", "sees"},
    "take": {"took", "lost"}, "running": {"idle", "ended"}, "settle": {"settled"}, "done": {"straggles", "wrote"}, "straggling": {"spun", "wrote"}, "return": {"finished", "raised"},
}  # fmt: skip
#: After what a dispatcher writes or publishes, in this order, it stands at the next.
ORDER = ("remaining", "stamp", "claim", "active", "epoch", "wake", "scan")
WHY = {"running": "running", "asleep": "parked", "gone": "gone"}


class Book:
    def __init__(self, profile: v.Profile, setup: v.Setup) -> None:
        self.profile, self.setup = profile, setup
        self.now = self.epoch = 0
        self.shutdown = False
        self.built = setup.built
        self.start: int | None = None                    # of the barrier
        self.barrier_pauses = 0
        self.time_is_up = False                          # and the builder has read so
        self.ready = setup.workers if setup.built else 0
        self.workers = {f"w{i}": Actor(f"w{i}", "top" if setup.built else "announce") for i in range(setup.workers)}
        self.fan_outs: dict[str, FanOut] = {}            # by dispatcher
        self.slots: dict[int, FanOut] = {}               # that are held
        self.active: set[int] = set()
        self.counts: Counter[str] = Counter()
        self.lone = Lone()

    def actor(self, name: str) -> Actor | None:
        if name in self.workers:
            return self.workers[name]
        return self.fan_outs[name].actor if name in self.fan_outs else None

    def asleep(self) -> list[str]:
        return [worker.name for worker in self.workers.values() if worker.at == "asleep"]

    def may_tell(self, actor: Actor) -> set[str]:
        if actor.name in self.workers:
            return WORKER["scanned" if actor.at == "scan" and not actor.left else actor.at]
        return DISPATCHER[actor.at]

    def move(self, by: int = 1) -> None:
        self.epoch = (self.epoch + by) % EPOCHS

    def wake(self, names: Sequence[str]) -> None:
        for name in names:
            self.workers[name].at = "woken"

    def shut(self) -> None:
        self.shutdown = True
        self.move()
        self.wake(self.asleep())

    def elapsed(self, actor: Actor) -> int:
        return self.now - (actor.window.since if actor.window else actor.since)

    # what was told, taken in
    def take_in(self, actor: Actor, seen: Sequence[Any]) -> None:
        getattr(self, f"_{seen[0]}", lambda *_: None)(actor, *seen[2:])

    def _announced(self, w: Actor, ready: int) -> None:
        self.ready, w.at, w.last, w.since = ready, "top", self.epoch, self.now

    def _looks(self, w: Actor, _: int) -> None:
        w.at, w.left, w.slot, w.ran = "scan", set(self.active), None, 0

    def _passed(self, a: Actor, slot: int) -> None:
        a.left.discard(slot)
        a.slot, a.at = None, "scan" if a.name in self.workers else "done"

    def _lost(self, a: Actor, slot: int) -> None:
        self._passed(a, slot)

    def _sees(self, a: Actor, slot: int) -> None:
        a.at, a.slot = "take", slot

    def _took(self, a: Actor, slot: int, index: int) -> None:
        a.at = "running"
        self.slots[slot].taken.add(index)

    def ended(self, a: Actor, panics: bool) -> None:
        assert a.slot is not None
        self.counts["tasks"] += 1
        self.counts["panics"] += panics
        self.slots[a.slot].panicked |= panics
        a.at = "settle"

    def _settled(self, a: Actor, slot: int, _: int) -> None:
        self.slots[slot].settled += 1
        a.at, a.ran = "scan", a.ran + 1
        if a.name in self.fan_outs:
            self.counts["tasks_by_dispatcher"] += 1
            self.fan_outs[a.name].own += 1

    def _again(self, w: Actor, ran: int) -> None:
        w.last, w.at = self.epoch, "top"
        if ran:
            self.counts["spin_hits"] += w.caught
            w.since, w.window, w.over = self.now, None, False
        w.caught = False

    def _nothing_new(self, w: Actor) -> None:
        w.at, w.caught = "window", False
        if self.profile.empty_catch_counts or w.window is None:
            w.window = Window(self.now if self.profile.empty_catch_counts else w.since)

    def _spun(self, a: Actor, pauses: int, yields: int, readings: int) -> None:
        if a.name in self.fan_outs:
            fan_out = self.fan_outs[a.name]
            fan_out.pauses, fan_out.yields = fan_out.pauses + pauses, fan_out.yields + yields
            self.counts["straggler_yields"] += yields
            return
        w = a.window
        assert w
        w.latest, w.read = w.read, self.now - w.since if readings else w.read
        w.pauses, w.yields, w.readings = w.pauses + pauses, w.yields + yields, w.readings + readings
        if w.first is None and w.readings > (self.profile.budget - 1) // self.profile.stride:
            w.first = self.now - w.since
        if yields:
            w.yielded = self.now - w.since

    def _out(self, w: Actor) -> None:
        if w.window:
            self.counts["spin_yields"] += w.window.yields - w.window.before
            w.window.before = w.window.yields

    def _caught(self, w: Actor, _: int) -> None:
        self._out(w)
        w.at, w.caught = "top", True

    def _expired(self, w: Actor, _: int) -> None:
        self._out(w)
        self.counts["parks"] += 1
        w.at, w.over = "wait", True

    def _left(self, w: Actor) -> None:
        if w.at == "window":
            self._out(w)
        w.at = "gone"

    def _slept(self, w: Actor) -> None:
        w.at = "asleep"

    def _stayed(self, w: Actor) -> None:
        w.at = "woken"

    def _stirred(self, w: Actor) -> None:
        w.at = "woken"

    def _woke(self, w: Actor, _: int) -> None:
        w.at = "top"

    def hold(self, name: str, total: int, slot: int) -> None:
        self.fan_outs[name] = self.slots[slot] = FanOut(Actor(name, "remaining"), slot, total)

    def _wrote(self, d: Actor, slot: int, word: str) -> None:
        fan_out = self.slots[slot]
        if word in ORDER:
            d.at = ORDER[ORDER.index(word) + 1]
        else:
            d.at = "unclaim" if word == "inactive" else "return"
        if word == "active":
            self.active.add(slot)
        elif word == "inactive":
            self.active.discard(slot)
        elif word in ("claim", "unclaim"):
            fan_out.open = word == "claim"

    def _published(self, d: Actor, slot: int, epoch: int) -> None:
        self.epoch, d.at = epoch, "wake"

    def _wakes(self, d: Actor, number: int, names: str) -> None:
        self.counts["dispatches"] += 1
        self.wake(names.split())
        d.at = "scan"

    def _straggles(self, d: Actor, slot: int) -> None:
        self.counts["straggler_waits"] += 1
        d.at = "straggling"

    def _finished(self, d: Actor, slot: int, own: int) -> None:
        del self.fan_outs[d.name], self.slots[slot]

    def _raised(self, d: Actor, slot: int, own: int) -> None:
        self._finished(d, slot, own)


@dataclass(slots=True)
class Lone:
    """The worker apart from the pool. A stretch lasts until a gap that ends with a task."""

    length: int = 0              # of the stretch
    window: int | None = None    # that was used in it
    following: int | None = None # that was told for the next
    paid: int = 0
    least: int = 0
