"""What producers of durable work live in, and what they are told: the words between `batching_sdk`, its coordinators and a world."""
from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from slotwise.spec import batching_scenarios as work
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_service import Action, Operation

#: What happened to a branch, or what a waiting producer is told: a word and what it is about.
Event = tuple[Any, ...]
Code = Coroutine[Any, Any, None]


class Ended(Exception):
    """A producer cannot go on; as opposed to an error of the program."""


class Refused(Ended):
    """The collector refused, or did not settle well: the producer cannot go on."""


class Failed(Ended):
    """User code has failed for good."""


class Suspended(Ended):
    """Nothing to do before the attempt `id` is done: at the service's stamp `key`, or at a local time."""

    def __init__(self, id: str, key: int | None, due: int | None) -> None:
        super().__init__(id)
        self.id, self.key, self.due = id, key, due

    @property
    def when(self) -> int:
        return self.key if self.key is not None else self.due or 0


@dataclass(eq=False, slots=True)
class Box:
    """A mailbox, of one reader. `blocked`: that of a producer that has submitted a sync item, which the collector counts itself."""

    blocked: bool = False
    events: list[Event] = field(default_factory=list)
    reader: Any = None                       # who waits for an event: the world's affair


class Host(Protocol):
    """The world that producers live in. Only the three asynchronous methods take time."""

    now: int
    profile: v.Profile
    scenario: work.Scenario
    state: dict[str, Operation]              # the local copy of the service's
    paused: set[str]

    async def submit(self, op: str, action: Action | None, *, parent: str | None = None, sync: bool = True, size: int = 100, delay: int = 0, ends: bool = False, final: bool = False) -> None: ...
    async def user(self, duration: int) -> None: ...
    async def receive(self, box: Box, until: int | None = None) -> Event | None: ...
    def spawn(self, code: Code, done: Callable[[Ended | None], None]) -> None: ...
    def post(self, box: Box, event: Event) -> None: ...
    def open(self, name: str, box: Box) -> None: ...
    def close(self, name: str) -> None: ...
    def refresh(self, id: str, owner: str, index: int, key: int | None, due: int | None) -> None: ...
    def cancel(self, owner: str) -> None: ...
    def reaches(self, attempt: str) -> None: ...
    def fresh(self, name: str) -> str: ...
