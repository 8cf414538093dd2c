"""Random lives of one collector, for tests: producers, a driver that mostly does its duty, and a service with a clock of its own."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from slotwise.spec import batching_state, collector
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation

MS = v.MILLISECOND
replace = msgspec.structs.replace


def small(profile: v.Profile, pick: random.Random) -> v.Profile:
    """With limits that a short life can meet."""
    limits: dict[str, Any] = {"bytes": pick.choice([300, 1000]), "updates": pick.choice([1, 2, 3, 5]), "collection": pick.choice([1000, 250]) * MS}
    if isinstance(profile.discipline, v.LookAhead):
        limits |= {"remembered": pick.choice([1, 2, 16]), "resolution": pick.choice([0, 0, MS]), "will_come": pick.choice([8, 8, 1]), "hold": pick.choice([1, 1, 0, 50]),
                   "counted": pick.random() < 0.8, "instants": pick.choice([64, 2]), "horizon": pick.choice([3, 3, 1, 0]), "pause": pick.choice([1000, 40]) * MS}
    return replace(profile, discipline=replace(profile.discipline, **limits))


class Life:
    """`see` is told every command with its answer."""

    def __init__(self, profile: v.Profile, seed: int, see: Callable[[v.Command, list[Observation]], None]) -> None:
        self.pick = random.Random(seed)
        self.profile, self.see = small(profile, self.pick), see
        self.setup = v.Setup("t", self.pick.choice([0, 5000 * MS, -5000 * MS]))
        self.model = collector.collector(self.profile, self.setup)
        self.ahead = self.pick.choice([0, 3, 5000, -5000]) * MS
        self.trip = self.pick.choice([0, 1, 5 * MS, 30 * MS, 200 * MS])
        self.wild = self.pick.random() < 0.15                # a driver that does not do its duty
        self.names: list[str] = []
        self.answer: v.Command | None = None
        self.wake: int | None = None
        self.sends = 0

    def live(self, instants: int) -> None:
        for _ in range(instants):
            now = self.next_instant()
            if self.answer is not None and self.answer.at <= now:
                answer, self.answer = self.answer, None
                self.hear(self.do(replace(answer, at=now)), now)
            for _ in range(self.pick.choice([0, 1, 1, 2, 3])):
                self.do(self.something(now))
            if not (self.wild and self.pick.random() < 0.3):
                self.pump(self.model.now)

    def do(self, command: v.Command) -> list[Observation]:
        saw = collector.step(self.model, command)
        self.see(command, saw)
        return saw

    def next_instant(self) -> int:
        pick, now = self.pick, self.model.now
        due = min((at for at in (self.wake, self.answer.at if self.answer else None) if at is not None), default=None)
        later = now + pick.choice([0, 0, 0, 1, MS // 4, 9 * MS // 10, MS, 5 * MS, 40 * MS, 100 * MS])
        if due is None or self.wild:
            return later
        return max(now, due if pick.random() < 0.55 else min(later, due))

    def something(self, now: int) -> v.Command:
        pick = self.pick
        name = pick.choice(self.names) if self.names and pick.random() < 0.2 else f"o{len(self.names)}"
        self.names.append(name)
        kind = pick.choices(["submit", "refresh", "cancel", "credit", "stop", "wild"], [50, 25, 7, 15, 1, 5 * self.wild])[0]
        match kind:
            case "submit":
                return v.Submit(id=name, size=pick.choice([10, 100, 200, 400, 2000]), sync=pick.random() < 0.6, empty=pick.random() < 0.15, ends=pick.random() < 0.06,
                                parent=pick.choice(self.names) if pick.random() < 0.2 else None, final=pick.random() < 0.03, at=now)
            case "refresh":
                ahead = pick.choice([-50, 0, 1, 3, 16, 30, 60, 61, 150, 1500]) * MS
                key, due = pick.choice([(now + self.ahead + ahead, None), (None, max(0, now + ahead)), (now + self.ahead, max(0, now + ahead)), (None, None)])
                return v.Refresh(id=name, key=key, due=due, owner=pick.choice("ab"), index=pick.randint(0, 3), at=now)
            case "cancel":
                return v.Cancel(id=name if pick.random() < 0.7 else None, owner=pick.choice("ab"), at=now)
            case "credit":
                return v.Credit(running=pick.choice([-1, 0, 1, 1, 2]), outside=pick.choice([-1, 0, 0, 1]), at=now)
            case "stop":
                return v.Stop(at=now)
            case _:
                wild: list[v.Command] = [v.Respond(token="x", at=now), v.Page(at=now), v.Fail(at=now), v.Pump(at=now + 5), v.Submit(id="old", at=0)]
                return pick.choice(wild)

    def pump(self, now: int) -> None:
        last: Any = self.do(v.Pump(at=now))[-1]
        self.wake = last[1] if last[0] == "sleep" else None
        if last[0] == "send":
            self.sends += 1
            self.answer = self.handle(now, bool(last[1]))

    def handle(self, now: int, updates: bool) -> v.Command:
        pick = self.pick
        if pick.random() < 0.02:
            self.ahead += pick.choice([-1, 1]) * 5000 * MS             # a clock is set
        trip = self.trip + pick.choice([0, 0, -self.trip // 3, self.trip // 2])
        stamp = now + self.ahead + trip // 2 + pick.choice([0] * 30 + [3 * MS])
        waiters = self.model.flight.waiters if isinstance(self.model, batching_state.Collector) and self.model.flight else []
        done = [w.id for w in waiters if w.key is not None and w.key <= stamp] + [name for name in self.names if pick.random() < 0.01]
        fate = pick.random()
        if fate < 0.02:
            return v.Fail(at=now + trip)
        token = None if fate < 0.04 else f"t{self.sends}"
        return v.Respond(token=token, stamp=stamp if updates and fate < 0.9 else None, done=tuple(done), marker="m" if pick.random() < 0.1 else None, at=now + trip)

    def hear(self, saw: list[Observation], now: int) -> None:
        for seen in saw:
            if seen[0] == "fetch":
                self.answer = v.Page(done=tuple(self.names[-1:]), marker="m" if self.pick.random() < 0.2 else None, at=now + self.trip)
            elif (seen[0] == "resumed" or seen[-1] == "ok") and self.pick.random() < 0.7:
                self.do(v.Credit(running=-1, at=now))
