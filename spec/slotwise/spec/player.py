"""The trio program under a trace: commands from outside, instead of a scenario's own callers.

`play` takes a whole trace, which is how a program that runs by itself is driven. `Replayed` looks like anything else that can be
stepped: it plays all commands again for every step, which is honest and good enough for the short traces of a search.
"""
from __future__ import annotations

import trio
import trio.testing

from slotwise.spec import vocabulary as v
from slotwise.spec.admission import admission, state
from slotwise.spec.program import ARRIVAL, COMPLETION, LAST_INSTANT, Answer, Conductor, Desk


class Player:
    """The commands of a trace, each done at its instant. Behind every waiting task there is a trio task that waits, and behind every
    lease one that holds it and releases it when told to, in its own turn; so the answers are those of tasks that live together."""

    def __init__(self, profile: v.Profile, capacity: dict[str, int]) -> None:
        self.desk = Desk(admission(profile, capacity))
        self.holders: dict[int, trio.MemorySendChannel[tuple[int, v.Release, trio.Event]]] = {}

    def play(self, commands: list[v.Command]) -> list[list[v.Observation]]:
        trio.run(self.main, commands, clock=trio.testing.MockClock(autojump_threshold=0))
        return [done.saw or [] for done in self.desk.steps]

    async def main(self, commands: list[v.Command]) -> None:
        self.conductor = Conductor()
        async with trio.open_nursery() as house:
            house.start_soon(self.conductor.conduct, lambda: None)
            for number, command in enumerate(commands):
                await trio.sleep_until(min(command.at, LAST_INSTANT - 1))
                if isinstance(command, v.Release) and command.lease in self.holders:
                    over = trio.Event()
                    await self.holders[command.lease].send((number, command, over))
                    await over.wait()
                    continue
                async with self.conductor.turn(ARRIVAL, number):
                    for word in self.desk.perform(command):
                        if word[0] == "accepted":
                            house.start_soon(self.holder, self.desk.expects(str(word[1])))
            house.cancel_scope.cancel()

    async def holder(self, answer: Answer) -> None:
        await answer.told.wait()
        if answer.lease is None:
            return
        self.holders[answer.lease], told = trio.open_memory_channel[tuple[int, v.Release, trio.Event]](0)
        async for number, command, over in told:
            async with self.conductor.turn(COMPLETION, number):
                saw = self.desk.perform(command)
            if released := saw == [("released", answer.lease)]:
                del self.holders[answer.lease]
            over.set()
            if released:
                return


def play(profile: v.Profile, capacity: dict[str, int], commands: list[v.Command]) -> list[list[v.Observation]]:
    """Play commands through the program: what was seen after each."""
    return Player(profile, capacity).play(commands)


class Replayed:
    """The program as something that can be stepped."""

    def __init__(self, profile: v.Profile, capacity: dict[str, int]) -> None:
        self.profile, self.capacity = profile, capacity
        self.commands: list[v.Command] = []
        self.player = Player(profile, capacity)

    def step(self, command: v.Command) -> list[v.Observation]:
        self.commands.append(command)
        self.player = Player(self.profile, self.capacity)
        return self.player.play(self.commands)[-1]

    def state(self) -> v.State:
        return state(self.player.desk.admission)
