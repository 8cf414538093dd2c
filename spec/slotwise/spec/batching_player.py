"""A simulated service and driver for one collector: a script of commands is played, and what was sent and told is kept.

The driver does its duty: after what happens at one instant it pumps once and obeys, and it pumps again at the time it was told. At one
instant, what producers do comes before an answer, and both before the pump. A producer that goes on has nothing more to do: it ends.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation

#: What a request meets instead of an answer: an error, an answer without a token, or an answer in two pages.
Fate = Literal["fail", "no token", "page"]


@dataclass(frozen=True, slots=True)
class Service:
    """Handles a request `out` after it was sent; the answer is there `back` later. Its clock is `ahead` of the local one."""

    out: int = 15 * v.MILLISECOND
    back: int = 15 * v.MILLISECOND
    ahead: int = 0
    fates: Mapping[int, Fate] = field(default_factory=dict)      # by number of the request, from 1


@dataclass(slots=True)
class Played:
    """Times are of the local clock."""

    commands: list[v.Command] = field(default_factory=list)                                  # all, the driver's and the service's too
    saw: list[list[Observation]] = field(default_factory=list)                               # after each
    sends: list[tuple[int, list[str], list[str]]] = field(default_factory=list)              # when, updates, refreshes
    settled: list[tuple[int, str, str]] = field(default_factory=list)                        # when, id, outcome; what is resumed is ok
    rejected: list[tuple[int, str, str]] = field(default_factory=list)                       # when, id, why
    exit: int | None = None


def play(step: Callable[[v.Command], list[Observation]], script: Sequence[v.Command], service: Service = Service(), horizon: int = 60 * v.SECOND) -> Played:
    """Up to the horizon, or until nothing can happen any more. The script's commands are in order of time."""
    return _Player(step, list(script), service).run(horizon)


class _Player:
    def __init__(self, step: Callable[[v.Command], list[Observation]], script: list[v.Command], service: Service) -> None:
        self.step, self.script, self.service = step, script, service
        self.played = Played()
        self.ends = {command.id: command.key for command in script if isinstance(command, v.Refresh) and command.key is not None}
        self.answer: v.Command | None = None         # on its way
        self.wake: int | None = 0                    # the collector starts at once

    def run(self, horizon: int) -> Played:
        while True:
            times = [command.at for command in (*self.script[:1], self.answer) if command is not None] + ([] if self.wake is None else [self.wake])
            now = min(times, default=horizon + 1)
            if now > horizon:
                return self.played
            while self.script and self.script[0].at == now:
                self.do(self.script.pop(0))
            if self.answer is not None and self.answer.at == now:
                answer, self.answer = self.answer, None
                self.do(answer)
            self.pump(now)

    def do(self, command: v.Command) -> list[Observation]:
        saw = self.step(command)
        self.played.commands.append(command)
        self.played.saw.append(saw)
        for word, *about in saw:
            self.see(command.at, str(word), about)
        if going_on := sum(seen[0] == "resumed" or seen[-1] == "ok" for seen in saw):
            self.do(v.Credit(running=-going_on, at=command.at))
        return saw

    def see(self, at: int, word: str, about: list[Any]) -> None:
        match word:
            case "settled":
                self.played.settled.append((at, about[0], about[1]))
            case "resumed":
                self.played.settled += [(at, id, "ok") for id in about[2]]
            case "rejected":
                self.played.rejected.append((at, about[0], about[1]))
            case "fetch":
                self.answer = v.Page(at=at + self.service.out + self.service.back)
            case "send":
                self.played.sends.append((at, about[0], about[1]))
                self.answer = self.handle(at, bool(about[0]))

    def handle(self, at: int, updates: bool) -> v.Command:
        service, number = self.service, len(self.played.sends)
        stamp, back = at + service.out + service.ahead, at + service.out + service.back
        done = tuple(id for id, end in self.ends.items() if end <= stamp)
        match service.fates.get(number):
            case "fail":
                return v.Fail(at=back)
            case "no token":
                return v.Respond(done=done, at=back)
            case fate:
                return v.Respond(token=f"token-{number}", stamp=stamp if updates else None, done=done, marker="page-2" if fate else None, at=back)

    def pump(self, now: int) -> None:
        last: Any = self.do(v.Pump(at=now))[-1]
        self.wake = last[1] if last[0] == "sleep" else None
        if last[0] == "exit" and self.played.exit is None:
            self.played.exit = now
