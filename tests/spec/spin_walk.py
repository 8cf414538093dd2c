"""Random lives of one pool, for tests: dispatchers, workers that are let go in any order, tasks that end or panic, clocks that jump, windows and gaps apart."""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from slotwise.spec import spin
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.vocabulary import Observation

replace = msgspec.structs.replace


def small(profile: v.Profile, pick: random.Random) -> v.Profile:
    """With numbers that a short life can meet."""
    numbers: dict[str, Any] = {
        "budget": pick.choice([1, 2, 7, 12, 40]), "stride": pick.choice([1, 2, 4, 5]), "yield_interval": pick.choice([1, 5, 10, 100]), "slots": pick.choice([1, 2, 3, 8]),
        "straggler_stride": pick.choice([1, 3, 10]), "ready_within": pick.choice([0, 50, 1000]),
    }  # fmt: skip
    if isinstance(profile.discipline, v.Ratchet | v.Average):
        numbers["discipline"] = replace(profile.discipline, floor=pick.choice([5, 20]), cap=pick.choice([40, 500, 3000]))
    return replace(profile, **numbers)


class Life:
    """`see` is told every command with its answer."""

    def __init__(self, profile: v.Profile, seed: int, see: Callable[[v.Command, list[Observation]], None]) -> None:
        self.pick = random.Random(seed)
        self.profile, self.see = small(profile, self.pick), see
        pick = self.pick
        width = pick.choice([1, 2, 3, 3, 4, 6])
        spawned = pick.randint(0, width - 1) if pick.random() < 0.1 else None
        self.setup = v.Setup(width, spawned, pick.random() < 0.7, park=pick.choice([8, 60, 300]), wake=pick.choice([0, 40]), catch=pick.choice([0, 10]))
        self.model = spin.pool(self.profile, self.setup)
        self.stop = pick.random() < 0.3
        self.adversary = pick.random() < 0.1                 # whose gaps are a little longer than each window
        self.pace = pick.choice([2, 10, 60])
        self.now = 0

    def live(self, commands: int) -> None:
        for i in range(commands):
            if self.pick.random() < 0.5:
                self.now += self.pick.choice([0, 1, 3, self.pace, 5 * self.pace])
            self.do(v.Shutdown(at=self.now) if self.stop and i == commands * 3 // 4 else self.something(self.now))

    def do(self, command: v.Command) -> list[Observation]:
        saw = spin.step(self.model, command)
        self.see(command, saw)
        return saw

    def something(self, at: int) -> v.Command:
        pick, model = self.pick, self.model
        actors = [*model.workers, *(name for name, d in model.dispatchers.items() if d.at)] or ["d0"]
        running = [name for name in actors if (actor := model.actor(name)) and actor.at == "running"]
        kind = pick.choices(["go", "end", "dispatch", "counters", "stir", "gap", "whole", "wild"], [60, 14 if running else 0, 8, 2, 3, 300 if self.adversary else 6, 3, 2])[0]
        match kind:
            case "go":
                name = v.BUILDER if model.builder.at != "built" and pick.random() < 0.2 else pick.choice(actors)
                return v.Go(actor=name, times=pick.choice([1, 1, 1, 2, 3, 8, 30]), at=at)
            case "end":
                return v.End(actor=pick.choice(running), panics=pick.random() < 0.1, at=at)
            case "dispatch":
                return v.Dispatch(actor=pick.choice(["d0", "d1", "d2", "d3", *actors[:1], v.BUILDER]), total=pick.choice([0, 1, 1, 2, 3, 6]), at=at)
            case "counters":
                return v.Counters(at=at)
            case "stir":
                return v.Stir(actor=pick.choice(model.sleepers or actors), at=at)
            case "gap":
                used = model.lone.window if model.lone.met else model.policy.choose(model.lone.memory)
                gap = used + 1 if self.adversary else pick.choice([0, 1, 30, 200, 5000, used, used + 1, max(0, used - model.lone.carried)])
                return v.Gap(gap=gap, ran=self.adversary or pick.random() < 0.8, at=at)
            case "whole":
                return self.whole(at)
            case _:
                wild: list[v.Command] = [
                    v.Go(actor="nobody", at=at), v.End(actor=pick.choice(actors), at=at), v.Go(actor=v.BUILDER, times=2, at=at), v.End(actor=v.BUILDER, at=at),
                    v.Stir(actor="nobody", at=at), v.Go(actor=pick.choice(actors), at=max(0, at - 1)), v.End(actor="nobody", at=at),
                ]  # fmt: skip
                return pick.choice(wild)

    def whole(self, at: int) -> v.Command:
        pick = self.pick
        length = pick.choice([0, 1, 20, 100, 1000])
        if pick.random() < 0.5:
            flags: dict[str, Any] = {word: pick.choice([None, None, 0, 7, 60, 400]) for word in ("publish", "shutdown")}
            return v.Wait(window=length, pause=pick.choice([1, 3, 31]), clock=pick.choice([1, 20]), yields=pick.choice([1, 50, 500]), first_yield=pick.choice([None, 1, 700]), at=at, **flags)
        readings = [0]
        for _ in range(pick.choice([0, 3, 40])):
            readings.append(readings[-1] + pick.choice([0, 1, 5, 10, 200]))
        flags = {word: pick.choice([None, None, 1, 5, 13, 40]) for word in ("publish", "shutdown")}
        return v.Script(window=length, readings=tuple(readings[1:]), at=at, **flags)
