"""Does the thread that is awaited ever run? Every schedule of a small pool's threads on one processor, or on two.

A processor is given up only at a yield, at a park, by a task that waits, and at a thread's end; whoever waits for one may get it then. Nobody
is interrupted: what ends well here needs no time slice to do so. Time goes on with the passes of windows. A *livelock* is a round of steps that can go on for ever,
in which every thread that has a processor takes part, none gives one up, and somebody who could run does not; a *deadlock* is a state in which nobody can run though somebody's
work is not done. States are known again by what they hold apart from counters, with instants as far back as they matter.
"""
from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz import exits
from slotwise.fuzz.scopes_spin import PARK, shrunk, window_of
from slotwise.fuzz.target import HasClone, HasState, Target, TargetError
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.vocabulary import Observation

#: Whoever builds waits for ever, and every window is over after so long: older instants are alike.
READY_WITHIN = 10**9
#: A pass of a window lasts so long.
TICK = 4
OLD = 2 * PARK + TICK
MOST = 200_000


@dataclass(frozen=True, slots=True)
class Scene:
    name: str
    setup: v.Setup
    main: tuple[str, ...]                            # threads that do something and end; the workers are there beside them
    total: int = 0                                   # of each one's fan-out


SCENES = (
    (Scene("build", v.Setup(3, built=False, park=PARK, wake=0), (v.BUILDER,)), 1),
    (Scene("build", v.Setup(3, built=False, park=PARK, wake=0), (v.BUILDER,)), 2),
    (Scene("fan-out", v.Setup(2, park=PARK, wake=0), ("d",), 2), 1),
    (Scene("fan-out", v.Setup(2, park=PARK, wake=0), ("d",), 2), 2),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """One step of a schedule."""

    thread: str
    did: str                                         # step, waits, ends
    saw: tuple[Observation, ...]


@dataclass(frozen=True, slots=True)
class Threads:
    """Who is where. `on` have a processor, `ready` could use one; the others are parked or have ended."""

    on: tuple[str, ...]
    ready: frozenset[str]
    running: frozenset[str] = frozenset()            # that run a task
    waited: frozenset[str] = frozenset()             # ... which has waited
    undone: frozenset[str] = frozenset()             # main threads that have not ended


@dataclass(slots=True)
class Scheduled:
    """What came of a scene."""

    profile: str
    scene: str
    processors: int
    target: str
    states: int = 0
    closed: bool = False
    seconds: float = 0.0
    verdict: str = "clean"                           # or livelock, deadlock
    known: bool = False                              # the profile is known for it
    schedule: tuple[Shown, ...] = ()                 # up to the round
    round: tuple[Shown, ...] = ()                    # which goes on for ever
    starved: tuple[str, ...] = ()                    # who could run and does not

    @property
    def exit(self) -> int:
        return exits.CLEAN if self.verdict == "clean" or self.known else exits.INVARIANT

    def to_json(self) -> dict[str, object]:
        shown = [[[one.thread, one.did, [list(seen) for seen in one.saw]] for one in steps] for steps in (self.schedule, self.round)]
        return {
            "profile": self.profile, "scene": self.scene, "processors": self.processors, "target": self.target, "states": self.states, "closed": self.closed, "seconds": round(self.seconds, 3),
            "verdict": self.verdict, "known": self.known, "starved": list(self.starved), "schedule": shown[0], "round": shown[1],
        }  # fmt: skip


@dataclass(slots=True)
class Place:
    """A state, how it was reached, and where one comes from there without giving up a processor."""

    stepper: Any
    at: dict[str, str]                               # where each worker stands
    threads: Threads
    now: int
    before: int
    shown: Shown | None
    kept: list[tuple[int, Shown]]


class Scheduler:
    def __init__(self, target: Target, profile: v.Profile, scene: Scene, processors: int) -> None:
        self.scene, self.processors = scene, processors
        self.profile = changed(shrunk(profile), ready_within=READY_WITHIN)
        self.stepper: Any = target.make(self.profile, scene.setup)
        if not (isinstance(self.stepper, HasClone) and isinstance(self.stepper, HasState)):
            raise TargetError(f"target {target.name}: schedules need its state and copies of it")
        self.found = Scheduled(profile.name, scene.name, processors, target.name)
        self.places: list[Place] = []
        self.numbers: dict[object, int] = {}

    def run(self) -> Scheduled:
        begun, found = time.perf_counter(), self.found
        workers = frozenset(f"w{i}" for i in range(self.scene.setup.workers))
        for name in self.scene.main:
            if name != v.BUILDER:
                self.stepper.step(v.Dispatch(actor=name, total=self.scene.total))
        everybody = Threads((), workers | set(self.scene.main), undone=frozenset(self.scene.main))
        for threads in self.filled(everybody):
            self.place(self.stepper, threads, 0, -1, None)
        number = 0
        while number < len(self.places) < MOST and found.verdict == "clean":
            self.further(number)
            number += 1
        found.states, found.closed = len(self.places), number == len(self.places)
        if found.verdict == "clean":
            self.look_for_rounds()
        found.seconds = time.perf_counter() - begun
        return found

    # states
    def key(self, stepper: Any, threads: Threads, now: int) -> object:
        state = stepper.state()
        ago = partial(_ago, now)
        workers = []
        for name, w in sorted(state.get("workers", {}).items()):
            since, window = w.get("since", 0), w.get("window", {})
            length, due, n = window_of(self.profile, window)
            due = max(0, due - (now - since))
            rest = {key: value for key, value in w.items() if key not in ("since", "window")}
            workers.append((name, repr(rest), ago(since), length, due, n))
        dispatchers = [(name, d.get("at"), d.get("slot"), d.get("pauses", 0) % self.profile.straggler_stride) for name, d in sorted(state.get("dispatchers", {}).items())]
        slots = [(name, slot.get("claim"), slot.get("remaining"), ago(slot.get("published_at", 0))) for name, slot in sorted(state.get("slots", {}).items())]
        builder = state.get("builder", {})
        calls = [(name, epoch, ago(stamp)) for name, (epoch, stamp) in sorted(state.get("calls", {}).items())]
        pool = [state.get(key) for key in ("shutdown", "epoch", "ready", "active", "taken", "sleepers")]
        return repr((pool, calls, workers, dispatchers, slots, builder.get("at"), min(builder.get("passes", 0), self.profile.budget))), threads

    def place(self, stepper: Any, threads: Threads, now: int, before: int, shown: Shown | None) -> int:
        key = self.key(stepper, threads, now)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.places)
            stands = {name: str(worker["at"]) for name, worker in stepper.state().get("workers", {}).items()}
            self.places.append(Place(stepper, stands, threads, now, before, shown, []))
        return number

    def filled(self, threads: Threads) -> Iterator[Threads]:
        """Every way in which idle processors may be given to those who wait for one."""
        if len(threads.on) >= self.processors or not threads.ready:
            yield threads
            return
        for name in sorted(threads.ready):
            yield from self.filled(replace(threads, on=tuple(sorted((*threads.on, name))), ready=threads.ready - {name}))

    # steps
    def further(self, number: int) -> None:
        place = self.places[number]
        threads = place.threads
        if not threads.on and (threads.undone or self.left_behind(place.stepper)):
            self.found.verdict, self.found.schedule = "deadlock", self.path(number)
            self.found.starved = tuple(sorted(threads.undone)) or ("a worker that is parked after the shutdown",)
            return
        for name in threads.on:
            if name in threads.running and name not in threads.waited:
                self.waits(number, name)
            self.goes(number, name)

    def left_behind(self, stepper: Any) -> bool:
        state = stepper.state()
        return bool(state.get("shutdown")) and any(worker["at"] == "asleep" for worker in state.get("workers", {}).values())

    def waits(self, number: int, name: str) -> None:
        """The task that a thread runs waits for something, once, and then could go on."""
        place = self.places[number]
        threads = replace(place.threads, waited=place.threads.waited | {name})
        self.gives_up(number, place.stepper, threads, place.now, name, Shown(name, "waits", ()), ready=True)

    def goes(self, number: int, name: str) -> None:
        place = self.places[number]
        threads, stepper = place.threads, place.stepper.clone()
        now = place.now + (TICK if place.at.get(name) == "window" else 0)
        ends = name in threads.running
        saw = tuple(stepper.step(v.End(actor=name, at=now) if ends else v.Go(actor=name, at=now)))
        shown = Shown(name, "ends" if ends else "steps", saw)
        if ends:
            threads = replace(threads, running=threads.running - {name}, waited=threads.waited - {name})
        words: dict[str, Any] = {str(seen[0]): seen for seen in saw}
        if "took" in words:
            threads = replace(threads, running=threads.running | {name})
        over = "left" in words or (name in threads.undone and bool(words.keys() & {"finished", "raised", "declined", "built", "abandoned"}))
        if over and name in threads.undone:
            threads = replace(threads, undone=threads.undone - {name})
            if not threads.undone:                       # the last to end shuts the pool down
                shown = Shown(name, "steps, shuts down", (*saw, *stepper.step(v.Shutdown(at=now))))
        stands = {worker: where["at"] for worker, where in stepper.state().get("workers", {}).items()}
        threads = replace(threads, ready=threads.ready | {worker for worker, at in stands.items() if at not in ("asleep", "gone")} - set(threads.on))
        yields = bool(words.get("spun", (0,) * 4)[3] or words.get("waits_ready", (0,) * 3)[2])
        if yields or over or "slept" in words:
            self.gives_up(number, stepper, threads, now, name, shown, ready=yields and not over)
        else:
            for filled in self.filled(threads):
                after = self.place(stepper, filled, now, number, shown)
                if filled.on == place.threads.on:
                    place.kept.append((after, shown))

    def gives_up(self, number: int, stepper: Any, threads: Threads, now: int, name: str, shown: Shown, *, ready: bool) -> None:
        left = replace(threads, on=tuple(other for other in threads.on if other != name), ready=threads.ready - {name} | ({name} if ready else set()))
        for filled in self.filled(left):
            self.place(stepper, filled, now, number, shown)

    # rounds
    def look_for_rounds(self) -> None:
        """Of the steps that give up no processor: does a round of them go on for ever?"""
        for number, place in enumerate(self.places):
            round = self.round_from(number) if place.threads.on and place.kept else None
            if round and (place.threads.ready or place.threads.undone):
                self.found.verdict, self.found.schedule, self.found.round, self.found.starved = "livelock", self.path(number), round, tuple(sorted(place.threads.ready))
                self.found.known = self.profile.barrier_unbounded and v.BUILDER in place.threads.on
                return

    def round_from(self, start: int) -> tuple[Shown, ...] | None:
        """Back to where it began, each thread with a processor in turn, so that all of them take part."""
        threads = self.places[start].threads
        seen, at, turn, shown = {(start, 0): 0}, start, 0, []
        while True:
            name = threads.on[turn]
            step = next(((after, one) for after, one in self.places[at].kept if one.thread == name and self.places[after].threads.ready >= threads.ready), None)
            if step is None:
                return None
            at, turn = step[0], (turn + 1) % len(threads.on)
            shown.append(step[1])
            if (at, turn) in seen:
                return tuple(shown[seen[at, turn] :]) if (at, turn) == (start, 0) else None
            seen[at, turn] = len(shown)

    def path(self, number: int) -> tuple[Shown, ...]:
        shown: list[Shown] = []
        while number >= 0 and (one := self.places[number].shown):
            shown.append(one)
            number = self.places[number].before
        return tuple(reversed(shown))


def _ago(now: int, instant: int) -> int:
    return min(OLD, now - instant)


def scheduled(target: Target, profile: v.Profile, scene: Scene, processors: int) -> Scheduled:
    """Every schedule of a scene on so many processors. Raises TargetError for a target without copies."""
    return Scheduler(target, profile, scene, processors).run()


def every(target: Target, profile: v.Profile) -> Iterator[Scheduled]:
    for scene, processors in SCENES:
        yield scheduled(target, profile, scene, processors)
