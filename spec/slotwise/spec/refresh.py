"""Refresh (slotwise): what a refresh is, when it is asked for, and what its answer means.

A branch that waits asks for a refresh at once, keyed by the service's own stamp of the end, never by a duration from now. It is sent so
that the service handles it at that stamp: the two clocks and the way out are measured in one number, the stamp of a request's processing
minus the local time of its sending. What is not done yet is asked for again, and the branch is not re-run.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.rules import LOOK_AHEAD, rule
from slotwise.spec.vocabulary import Observation

if TYPE_CHECKING:
    from slotwise.spec.batching_state import Collector, Flight


@dataclass(slots=True)
class Waiter:
    """A refresh that is asked for and not settled."""

    id: str
    owner: str
    index: int
    key: int | None              # the service's stamp
    due: int | None              # a local time; goes before the key
    seq: int
    late: bool = False           # it was due when it was asked for
    tries: int = 0               # times that it was asked for in vain


# when ----------------------------------------------------------------------------------------------------------------
def when(c: Collector, waiter: Waiter) -> int:
    """The local time at which a refresh is due. It moves with what is learned of the clocks, so it is computed afresh at every use."""
    if waiter.due is not None:
        return waiter.due
    assert waiter.key is not None
    return waiter.key + c.parameters.resolution + c.slack + (by_the_offset(c) if c.ring else by_the_hint(c))


@rule("REF-1", source="discipline REF-4", of=LOOK_AHEAD)
def by_the_hint(c: Collector) -> int:
    """Until a request was stamped, the caller's wall clock is taken for the service's."""
    return -c.hint


@rule("REF-2", source="discipline REF-4", of=LOOK_AHEAD)
def by_the_offset(c: Collector) -> int:
    """A refresh is sent so that, going out as quickly as the quickest of the last stamped requests, it arrives at its stamp and a guard."""
    return guarded([offset for offset, _ in c.ring], [trip for _, trip in c.ring])


def guarded(offsets: list[int], trips: list[int]) -> int:
    """Local time minus stamp: the guard is the lead of the quickest request over the next, at most a quarter of the shortest round trip."""
    quickest, *others = sorted(offsets)
    quarter = min(trips) // 4
    return (min(quarter, others[0] - quickest) if others else quarter) - quickest


@rule("REF-3", source="discipline REF-3; H6", of=LOOK_AHEAD)
def learn(c: Collector, offset: int, trip: int) -> bool:
    """A stamped answer tells how far the service's clock was ahead when the request arrived. The last few are remembered."""
    if clock_was_set(c, offset, trip):
        c.ring.clear()
    c.ring = [*c.ring, (offset, trip)][-c.parameters.remembered:]
    return True


@rule("REF-4", source="discipline REF-3; H6", of=LOOK_AHEAD)
def clock_was_set(c: Collector, offset: int, trip: int) -> bool | None:
    """If no offset of the clocks agrees with a new answer and with those remembered, a clock was set: those are forgotten."""
    if not c.ring:
        return None
    return True if contradicts(offset, trip, c.ring, c.parameters.resolution) else None


def contradicts(offset: int, trip: int, ring: list[tuple[int, int]], resolution: int) -> bool:
    """A stamp lies within its round trip, but for the resolution."""
    ahead = offset - trip > min(old for old, _ in ring) + resolution
    behind = offset + resolution < max(old - its_trip for old, its_trip in ring)
    return ahead or behind


# asking --------------------------------------------------------------------------------------------------------------
@rule("REF-5", source="discipline REF-1", of=LOOK_AHEAD)
def already_asked_for(c: Collector, id: str) -> v.Why | None:
    """An operation is asked for once at a time."""
    return "duplicate" if any(waiter.id == id for waiter in alive(c)) else None


def alive(c: Collector) -> list[Waiter]:
    return [*c.waiters, *(c.flight.waiters if c.flight else ())]


@rule("REF-6", source="discipline REF-2", of=LOOK_AHEAD)
def already_shown(c: Collector, command: v.Refresh) -> Observation | None:
    """What an earlier answer has shown done is not waited for: its branch goes on at once."""
    return ("resumed", command.owner, command.key, [command.id]) if command.id in c.known else None


@rule("REF-7", source="discipline REF-1, REF-2; H2, H7", of=LOOK_AHEAD)
def wait(c: Collector, command: v.Refresh) -> bool:
    """A refresh waits under the service's own stamp, the same for all that end together; or until a local time; or, with neither, is due at once."""
    c.asked += 1
    due = command.at if command.key is None and command.due is None else command.due
    c.waiters.append(Waiter(command.id, command.owner, command.index, command.key, due, c.asked))
    note_late(c, c.waiters[-1])
    return True


@rule("REF-8", source="discipline REF-2", of=LOOK_AHEAD)
def note_late(c: Collector, waiter: Waiter) -> bool | None:
    """A refresh that is asked for when it is already due is late: it was not foreseen, and more like it may come."""
    if when(c, waiter) > c.now:
        return None
    waiter.late, c.moved = True, c.now
    return True


@rule("REF-9", source="discipline REF-8; H8", of=LOOK_AHEAD)
def cancel(c: Collector, command: v.Cancel) -> list[Observation] | None:
    """A refresh that nobody waits for any more is settled now, wherever it is; a request that is out comes back without it."""
    gone = [w for w in alive(c) if (w.owner == command.owner if command.id is None else w.id == command.id)]
    c.waiters = [w for w in c.waiters if w not in gone]
    if c.flight:
        c.flight.waiters = [w for w in c.flight.waiters if w not in gone]
    return [("settled", w.id, "cancelled") for w in sorted(gone, key=lambda w: w.seq)] or None


def in_order(c: Collector, waiters: list[Waiter]) -> list[Waiter]:
    """By due time, then as they were asked for."""
    return sorted(waiters, key=lambda w: (when(c, w), w.seq))


# what an answer means ------------------------------------------------------------------------------------------------
def answered(c: Collector, flight: Flight, trip: int) -> list[Observation]:
    """What becomes of the refreshes, once the answer is known in full."""
    back = [w for w in flight.waiters if w.key is None or w.id in c.known]
    in_vain = [w for w in flight.waiters if w not in back]
    if not slower(c, in_vain, trip):
        quicker(c, flight.waiters)
    back += shown_meanwhile(c, flight.done) or ()
    again = [too_late_to_ask_again(c, waiter) or not_yet(c, waiter, trip) for waiter in in_vain]
    return [*again, *(resume(c, back) or ())]


@rule("REF-10", source="discipline REF-6", of=LOOK_AHEAD)
def slower(c: Collector, in_vain: list[Waiter], trip: int) -> bool | None:
    """If an operation was asked for the first time and was not done yet, the service is slower than its stamps: all are asked for a quarter of a round trip later."""
    if not any(w.tries == 0 for w in in_vain):
        return None
    c.slack = slack_after(c.slack, trip)
    return True


def slack_after(slack: int, trip: int) -> int:
    """Once more too early: by a quarter of a round trip, up to four of them."""
    return min(slack + trip // 4, 4 * trip)


@rule("REF-11", source="discipline REF-6", of=LOOK_AHEAD)
def quicker(c: Collector, flown: list[Waiter]) -> bool | None:
    """While the service keeps to its stamps, that slack falls away by a thirty-second."""
    if c.slack == 0 or not any(w.key is not None and w.tries == 0 for w in flown):
        return None
    c.slack = slack_falls(c.slack)
    return True


def slack_falls(slack: int) -> int:
    return slack - (slack + 31) // 32


@rule("REF-12", source="discipline REF-7", of=LOOK_AHEAD)
def shown_meanwhile(c: Collector, done: set[str]) -> list[Waiter] | None:
    """An answer that shows an operation done settles its refresh, though it was not asked for yet."""
    shown = [w for w in c.waiters if w.id in done]
    c.waiters = [w for w in c.waiters if w not in shown]
    return shown or None


@rule("REF-13", source="discipline REF-5", of=LOOK_AHEAD)
def too_late_to_ask_again(c: Collector, waiter: Waiter) -> Observation | None:
    """What is not done yet is not asked for again after the stop."""
    return ("settled", waiter.id, "orphaned") if c.stopped else None


@rule("REF-14", source="discipline REF-5; H2", of=LOOK_AHEAD)
def not_yet(c: Collector, waiter: Waiter, trip: int) -> Observation:
    """What is not done yet is asked for again, and its branch is not re-run: at once the first time, then after longer and longer pauses; never before its stamp."""
    waiter.tries += 1
    waiter.late, waiter.due = False, None
    waiter.due = max(c.now + pause(waiter.tries, trip, c.parameters.pause), when(c, waiter))
    c.waiters = sorted([*c.waiters, waiter], key=lambda w: w.seq)
    return ("again", waiter.id, waiter.due)


def pause(tries: int, trip: int, longest: int) -> int:
    """None after the first, then a round trip, then twice as long each time."""
    return 0 if tries == 1 else min(max(trip, 1) << min(tries - 2, 60), longest)


@rule("REF-15", source="discipline REF-7", of=LOOK_AHEAD)
def resume(c: Collector, back: list[Waiter]) -> list[Observation] | None:
    """Branches of one owner that waited for one instant go on together, in the order of their index; earlier instants first, those without a stamp last."""
    waves: dict[tuple[int | None, str], list[Waiter]] = {}
    for w in sorted(back, key=lambda w: (w.key is None, w.key or 0, w.seq)):
        waves.setdefault((w.key, w.owner), []).append(w)
    return [("resumed", owner, key, [w.id for w in sorted(wave, key=lambda w: (w.index, w.seq))]) for (key, owner), wave in waves.items()] or None
