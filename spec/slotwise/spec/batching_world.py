"""The world around a collector: producers, a simulated service and a driver. How time passes in it is for its heirs to say: `batching_simulation`
has a heap of timers, and `batching_program` trio's clock.

Time moves only when nobody can go on. *The instant*: who has been told something goes on, in the order of telling, until all are blocked; sleepers and
answers of the instant wake more, one after another; then one pump, which is obeyed. Whatever can be stepped as a collector can be played.

The world keeps the credits (discipline BAT-4): of producers that run and of those in user code. A producer that is told something is counted
before it goes on; the collector itself counts those that it settles or resumes by an answer.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector, rules, trace
from slotwise.spec.batching_host import Box, Code, Ended, Event, Refused, Suspended
from slotwise.spec.batching_run import Call, Run
from slotwise.spec.batching_scenarios import Scenario
from slotwise.spec.batching_service import Action, Answer, Backend, Operation, Update
from slotwise.spec.vocabulary import Observation

Step = Callable[[v.Command], list[Observation]]


class World:
    """What a world does at an instant; how time passes in it, and who goes on when, is for its heirs to say (`batching_host.Host`)."""

    def __init__(self, profile: v.Profile, scenario: Scenario, step: Step | None, engine: str) -> None:
        self.profile, self.scenario = profile, scenario
        self.decides = step is None                              # around the reference: its rules are recorded
        self.step = step or partial(collector.step, collector.collector(profile, v.Setup(hint=scenario.service.hint)))
        self.run = Run(scenario, profile, engine)
        self.backend = Backend(scenario.service, scenario.earlier)
        self.state: dict[str, Operation] = dict(self.backend.operations)
        self.paused: set[str] = set()
        self.now = 0
        self.numbers = count()                                   # of timers, and of fresh names
        self.boxes: dict[str, Box] = {}                          # who is told what is settled and resumed
        self.owners: dict[str, str] = {}                         # of refreshes
        self.updates: dict[str, deque[Update]] = {}              # accepted and not sent, by operation
        self.pages: tuple[Answer, list[str]] | None = None       # an answer of which a page is still to come
        self.live = 0                                            # producers
        self.closing = self.stopped = self.over = False

    def played(self, all_of_it: Callable[[], None]) -> Run:
        """Play it, and count how often the program's rules decide."""
        rules.played.clear()
        all_of_it()
        self.run.rules.update(rules.played)
        return self.run

    # how time passes
    async def user(self, duration: int) -> None:
        raise NotImplementedError

    async def receive(self, box: Box, until: int | None = None) -> Event | None:
        raise NotImplementedError

    def start(self, code: Code) -> None:
        raise NotImplementedError

    def wake(self, reader: Any) -> None:
        raise NotImplementedError

    def serve(self, updates: list[Update], call: Call) -> None:
        raise NotImplementedError

    # producers
    def spawn(self, code: Code, done: Callable[[Ended | None], None]) -> None:
        """It is counted now, and goes on when it is its turn."""
        self.live += 1
        self.credit(1)
        self.start(self.live_through(code, done))

    async def live_through(self, code: Code, done: Callable[[Ended | None], None]) -> None:
        error: Ended | None = None
        try:
            await code
        except Ended as caught:
            error = caught
        self.live -= 1
        done(error)
        self.credit(-1)

    def handler_returned(self, error: Ended | None) -> None:
        match error:
            case None:
                self.run.result = "done"
            case Suspended():
                self.run.result, self.run.until = "suspended", error.when
            case Refused():
                self.run.result = f"refused: {error}"
            case _:
                self.run.result = f"failed: {error}"
        self.run.handler, self.closing = self.now, True

    async def submit(self, op: str, action: Action | None, *, parent: str | None = None, sync: bool = True, size: int = 100, delay: int = 0, ends: bool = False, final: bool = False) -> None:
        """An update, or an empty item if there is no action. Returns when accepted, or if sync when settled. Raises Refused."""
        for word in self.do(v.Submit(id=op, size=size if action else 0, sync=sync, empty=action is None, parent=parent, ends=ends, final=final, at=self.now)):
            if word[0] == "rejected":
                raise Refused(word[2])
        if action:
            self.updates.setdefault(op, deque()).append(Update(op, action, delay, final))
        if sync:
            self.boxes[op] = box = Box(blocked=True)
            told = await self.receive(box)
            self.close(op)
            if told != ("settled", "ok"):
                raise Refused(told and told[1])

    def refresh(self, id: str, owner: str, index: int, key: int | None, due: int | None) -> None:
        self.owners[id] = owner
        self.do(v.Refresh(id=id, key=key, due=due, owner=owner, index=index, at=self.now))

    def cancel(self, owner: str) -> None:
        self.do(v.Cancel(owner=owner, at=self.now))

    def open(self, name: str, box: Box) -> None:
        self.boxes[name] = box

    def close(self, name: str) -> None:
        self.boxes.pop(name, None)

    def post(self, box: Box | None, event: Event, counted: bool = False) -> None:
        """`counted`: the collector has counted the reader as running. A reader that does not wait is counted already."""
        if box is not None:
            box.events.append(event)
        if box is None or box.reader is None:
            if counted:
                self.credit(-1)
            return
        reader, box.reader = box.reader, None
        if not counted and not box.blocked:
            self.credit(1)
        self.wake(reader)

    def reaches(self, attempt: str) -> None:
        self.run.reached.setdefault(attempt, self.now)

    def fresh(self, name: str) -> str:
        return f"{name}{next(self.numbers)}"

    # the collector
    def credit(self, running: int, outside: int = 0) -> None:
        self.do(v.Credit(running=running, outside=outside, at=self.now))

    def do(self, command: v.Command) -> list[Observation]:
        if self.over:                                            # those who hang are let go of
            return []
        saw = self.step(command)
        self.run.steps.append(trace.Step(command, saw, list(rules.decided) if self.decides else None))
        for word in saw:
            match word:
                case ("settled", str(id), str(outcome)):
                    self.settled(id, outcome)
                case ("resumed", str(owner), _, [*ids]):
                    self.post(self.boxes.get(owner), ("resumed", ids), counted=True)
                case ("rejected", str(id), str(why)) if isinstance(command, v.Refresh):
                    self.settled(id, why)
        return saw

    def settled(self, id: str, outcome: str) -> None:
        """A sync item or a wave's refresh has its own box; of another refresh, its coordinator is told only what is wrong."""
        if id in self.boxes:
            self.post(self.boxes[id], ("settled", outcome))
        elif outcome not in ("ok", "cancelled"):
            self.post(self.boxes.get(self.owners.get(id, "")), ("refused", outcome))

    def end_of_instant(self) -> int | None:
        """Pump and obey; then stop, if there is nobody left. Returns when to pump again."""
        wake = self.pump()
        if self.closing and not self.live and not self.stopped:
            self.stopped = True
            self.do(v.Stop(at=self.now))
            wake = self.pump()
        return wake

    def pump(self) -> int | None:
        match self.do(v.Pump(at=self.now))[-1]:
            case ("send", [*ids], [*refreshes], _):
                updates = [self.updates[str(id)].popleft() for id in ids]
                self.run.calls.append(call := Call(self.now, len(updates), len(refreshes)))
                self.serve(updates, call)
            case ("sleep", int(until)):
                return until
            case ("exit",) if self.run.exit is None:
                self.run.exit = self.now
        return None

    # the service
    def handled(self, updates: Sequence[Update], call: Call) -> Answer:
        """A request has arrived."""
        answer = self.backend.handle(updates, self.now)
        self.run.ends = self.backend.ends
        call.in_vain = not updates and not answer.done
        return answer

    def answered(self, answer: Answer) -> bool:
        """An answer is there. True if a page of it has to be fetched."""
        number = len(self.run.calls)
        match "no token" if answer.final else self.scenario.service.fates.get(number):
            case "fail":
                self.do(v.Fail(at=self.now))
            case "no token":
                self.state.update(answer.changes)                # the answer says as much
                self.do(v.Respond(done=tuple(answer.done), at=self.now))
            case "page":
                half = len(answer.done) // 2
                self.pages = answer, answer.done[half:]
                self.do(v.Respond(token=f"token-{number}", stamp=answer.stamp, done=tuple(answer.done[:half]), marker="page-2", at=self.now))
                return True
            case None:
                self.state.update(answer.changes)                # before anybody is told
                self.do(v.Respond(token=f"token-{number}", stamp=answer.stamp, done=tuple(answer.done), at=self.now))
        return False

    def fetched(self) -> None:
        """The other page is there."""
        assert self.pages is not None
        answer, done = self.pages
        self.state.update(answer.changes)
        self.do(v.Page(done=tuple(done), at=self.now))
