"""An episode of spinning under way, and the styles that it may have: which commands, and what follows what."""
from __future__ import annotations

from dataclasses import dataclass, field

from slotwise.fuzz.generate_spin_book import Book
from slotwise.spec import spin_vocabulary as v

BUILT = (True, True, True, False)
STEPS = ("one",) * 9 + ("two", "few", "stride", "budget", "beyond", "many")


@dataclass(frozen=True, slots=True)
class Style:
    """What an episode looks like: which commands, and what follows what."""

    kinds: tuple[str, ...]
    built: tuple[bool, ...] = BUILT
    steps: tuple[str, ...] = STEPS
    goes_on: int = 2                 # of 4: how often whoever dispatched, or ended a task, goes on at once
    long: bool = False


WORK = ("go",) * 8 + ("end",) * 4 + ("dispatch",) * 2
STYLES = {
    "mixed": Style((*WORK, *WORK, "publish", "park", "stir", "counters", "gap", "wait", "script", "shutdown", "illegal")),
    "work": Style((*WORK, "publish", "publish", "counters"), goes_on=3),
    "crowd": Style(("go",) * 8 + ("dispatch",) * 4 + ("end",) * 3 + ("publish",)),
    "races": Style(("go",) * 12 + ("end",) * 4 + ("publish", "publish", "rush", "rush", "miss", "miss"), steps=("one",) * 12 + ("two",), goes_on=1),
    "windows": Style(("go",) * 10 + ("park", "miss", "publish", "end", "end", "stir"), steps=("one", "one", "two", "few", "stride", "budget", "budget", "beyond", "many"), long=True),
    "naps": Style(("go",) * 6 + ("park",) * 6 + ("publish",) * 3 + ("stir", "miss", "miss", "flood", "end", "end", "end", "counters"), goes_on=3, long=True),
    "whole": Style(("wait",) * 3 + ("script",) * 3),
    "gaps": Style(("gap",), long=True),
    "builds": Style(("go",) * 6 + ("build",) * 8 + ("announce",) * 3 + ("dispatch", "shutdown", "park", "park"), built=(False,)),
    "ends": Style((*WORK, "publish", "publish", "park", "shutdown", "counters")),
    "wild": Style((*WORK, "publish", "park", "wait", "script", "gap") + ("illegal",) * 6, goes_on=1),
}  # fmt: skip
NEEDS = {"publish": "dispatch", "park": "go", "rush": "go", "build": "go", "announce": "go", "miss": "go", "flood": "go", "illegal": "go"}


@dataclass(slots=True)
class Model:
    """An episode under way."""

    profile: v.Profile
    setup: v.Setup
    style: Style
    kinds: tuple[str, ...]
    commands: frozenset[str]
    small: bool                                          # its numbers are
    book: Book
    gaps: str                                            # how they follow each other
    lengths: tuple[int, ...]                             # of gaps that come again
    then: list[tuple[str, str]] = field(default_factory=list)      # kind and actor, the next one last
    last: str = ""                                       # who went last
    fresh: int = 0
    long: bool = False
