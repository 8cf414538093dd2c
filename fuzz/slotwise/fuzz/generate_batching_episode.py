"""An episode of checkpoint batching under way: its style, and what a driver would know of it."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation

#: Nobody waits for a later end of a sleep: of a refresh whose stamp is far from the service's clock.
SOON = 1 << 50


@dataclass(frozen=True, slots=True)
class Style:
    """What an episode looks like: which commands, and what follows what."""

    kinds: tuple[str, ...]
    then_pump: int = 3               # of 4: how often a command is followed by a pump
    then_answer: int = 1             # of 4: how often a pump is followed by an answer, as soon as that may come
    sync: tuple[bool, ...] = (True, True, False)
    goes_on: int = 3                 # of 4: how often one that goes on is followed


MIXED = ("submit",) * 6 + ("refresh",) * 4 + ("pump",) * 6 + ("answer",) * 6 + ("credit",) * 2 + ("cancel",)
STYLES = {
    "mixed": Style((*MIXED, *MIXED, "stop", "illegal", "withdraw")),
    "crowd": Style(("submit",) * 6 + ("pump",) * 6 + ("answer",) * 4 + ("credit",) * 4, then_pump=2, sync=(True,)),
    "waves": Style(("refresh",) * 8 + ("pump",) * 8 + ("answer",) * 6 + ("submit", "submit", "cancel", "credit"), then_pump=2, then_answer=3),
    "again": Style(("refresh",) * 3 + ("submit",) * 2 + ("pump",) * 4 + ("answer",) * 8, then_answer=4, goes_on=4),
    "quiet": Style(("submit",) * 6 + ("pump",) * 8 + ("answer",) * 3, then_pump=2, sync=(False, False, False, True)),
    "bulk": Style(("submit",) * 12 + ("pump",) * 2 + ("answer",) * 3 + ("refresh",), then_pump=1, sync=(True, False, False)),
    "ends": Style(("submit",) * 5 + ("refresh",) * 3 + ("pump",) * 4 + ("answer",) * 4 + ("stop", "cancel", "credit")),
    "plans": Style(("burst",) * 3 + ("refresh",) * 3 + ("submit",) * 3 + ("pump",) * 6 + ("answer",) * 4, then_pump=2, then_answer=3, sync=(True,)),
    "cancels": Style(("submit",) * 3 + ("refresh",) * 5 + ("withdraw",) * 4 + ("cancel",) * 2 + ("pump",) * 8 + ("answer",) * 4, sync=(False, False, True)),
    "wild": Style((*MIXED, "stop") + ("illegal",) * 6, then_pump=1),
}  # fmt: skip


@dataclass(slots=True)
class Book:
    """What a driver would know."""

    now: int = 0
    wake: int | None = None                              # when the last sleep ends
    sent: int | None = None                              # when the request that is out left
    fetching: bool = False
    updates: bool = False                                # it carries some
    asks: tuple[str, ...] = ()                           # refreshes that it carries
    sends: int = 0
    ended: bool = False                                  # the last pump said so
    waiting: dict[str, bool] = field(default_factory=dict)         # refreshes that were accepted and are not settled; the newest last
    going: int = 0                                       # producers and branches that go on, and were not seen since

    def update(self, command: Any, saw: list[Observation]) -> None:
        said: Any
        for said in saw:
            match said[0]:
                case "time_reversed":
                    return
                case "send":
                    self.sent, self.updates, self.asks, self.fetching = command.at, bool(said[1]), tuple(said[2]), False
                    self.sends += 1
                    self.wake = None
                case "sleep":
                    self.wake = None if said[1] is not None and said[1] > SOON else said[1]
                case "exit":
                    self.ended = True
                case "resumed":
                    self.going += len(said[3])
                    for id in said[3]:
                        self.waiting.pop(id, None)
                case "accepted" if isinstance(command, v.Refresh):
                    self.waiting[said[1]] = True
                case "settled":
                    self.waiting.pop(said[1], None)
                    self.going += said[2] == "ok"
                case _:
                    pass
        self.now = max(self.now, command.at)
        if isinstance(command, (v.Respond, v.Page, v.Fail)) and not (saw and saw[0][0] == "unexpected"):
            self.fetching = bool(saw) and saw[0][0] == "fetch"
            if not self.fetching:
                self.sent = None


@dataclass(slots=True)
class Model:
    """An episode under way."""

    profile: v.Profile
    setup: v.Setup
    style: Style
    kinds: tuple[str, ...]
    commands: frozenset[str]
    ahead: int                                           # the service's clock minus ours
    trip: int
    book: Book = field(default_factory=Book)
    fresh: int = 0
    names: list[str] = field(default_factory=list)       # of operations, the newest last
    keys: dict[str, int | None] = field(default_factory=dict)      # of what was asked for, by name
    dues: dict[str, int] = field(default_factory=dict)   # of the same, by our clock, as far as the hint tells
    below: dict[str, str] = field(default_factory=dict)  # operation -> the context it was last said to be below
    closed: list[str] = field(default_factory=list)      # contexts that were ended
    instant: int = 0                                     # of the service, that something last waited for
    then: list[str] = field(default_factory=list)
    long: bool = False
