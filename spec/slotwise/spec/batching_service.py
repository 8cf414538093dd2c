"""The simulated service: what it knows of operations, and how it answers a request.

A request is handled at one instant of the service's clock. Its updates are applied in order; then whatever wait or retry is due is shown as
ready. The answer tells what has changed, and carries a stamp of that instant if there were updates.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from slotwise.spec.batching_scenarios import Known, Service

Action = Literal["start", "wait", "retry", "succeed", "fail"]


@dataclass(frozen=True, slots=True)
class Update:
    op: str
    action: Action
    delay: int = 0               # of a wait or a retry
    final: bool = False          # it ends the execution


@dataclass(frozen=True, slots=True)
class Operation:
    status: Literal["started", "pending", "ready", "succeeded", "failed"]
    end: int | None = None       # the service's stamp of the end of a wait, or of the next attempt
    tries: int = 0               # waits and retries so far

    def attempt(self, op: str) -> str:
        """What a refresh of it goes by: each attempt has its own."""
        return f"{op}#{self.tries}"


@dataclass(slots=True)
class Answer:
    stamp: int | None
    changes: dict[str, Operation] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)              # attempts
    final: bool = False                                        # the execution has ended: there is no next token


class Backend:
    """The service's side."""

    def __init__(self, service: Service, earlier: Sequence[Known] = ()) -> None:
        self.service = service
        self.operations = {known.op: Operation("started") if known.end is None else Operation("pending", known.end, 1) for known in earlier}
        self.pending = [known.op for known in earlier if known.end is not None]
        self.ends = {self.operations[op].attempt(op): self.operations[op].end or 0 for op in self.pending}     # of all attempts ever scheduled

    def handle(self, updates: Sequence[Update], at: int) -> Answer:
        """`at`: local time."""
        clock = at + self.service.ahead
        answer = Answer(clock if updates else None, final=any(update.final for update in updates))
        for update in updates:
            answer.changes[update.op] = self.apply(update, clock)
        for op in [op for op in self.pending if (self.operations[op].end or 0) + self.service.lag <= clock]:
            self.pending.remove(op)
            before = self.operations[op]
            answer.changes[op] = self.operations[op] = Operation("ready", before.end, before.tries)
            answer.done.append(before.attempt(op))
        return answer

    def apply(self, update: Update, clock: int) -> Operation:
        op, before = update.op, self.operations.get(update.op, Operation("started"))
        if op in self.pending:
            self.pending.remove(op)
        match update.action:
            case "wait" | "retry":
                end = -(-(clock + update.delay) // self.service.grid) * self.service.grid
                after = Operation("pending", end, before.tries + 1)
                self.pending.append(op)
                self.ends[after.attempt(op)] = end
            case "start":
                after = Operation("started", None, before.tries)
            case "succeed":
                after = Operation("succeeded", None, before.tries)
            case "fail":
                after = Operation("failed", None, before.tries)
        self.operations[op] = after
        return after
