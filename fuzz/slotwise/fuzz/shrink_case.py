"""A case that fails, and whether a smaller one fails in the same way (same kind; same rule or law).

Commands that lean on what came before do so by name: a release means "the lease of that task" (or, where that will do, "the oldest that runs"),
a commit "what was last selected", so that they keep their meaning when commands before them go. (So for admission; of batching and of spinning
no command leans on another.)
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.judges import Finding, Later, judge
from slotwise.fuzz.searches import search_of
from slotwise.fuzz.target import Target
from slotwise.spec.book import Book
from slotwise.spec.trace import Step
from slotwise.spec.vocabulary import Commit, Release

#: Lists longer than this are looked into at their end only, and checked again after each pass.
CAREFUL = 60


@dataclass(frozen=True, slots=True)
class Op:
    """A command, and what it leans on."""

    command: Any
    lease_of: str | None = None      # release: the task whose lease it is
    nth: int = 0                     # of the leases of tasks of that id
    oldest: bool = False             # release: the oldest lease that runs
    last: bool = False               # commit: the version last selected

    def plan(self) -> Any:
        return partial(_now, self) if self.lease_of is not None or self.oldest or self.last else self.command


def _now(op: Op, book: Book) -> Any:
    command = op.command
    if op.oldest and isinstance(command, Release):
        oldest = next(iter(book.running), None)
        return None if oldest is None else changed(command, lease=oldest)
    if isinstance(command, Release):
        leases = [lease for lease, id in book.names.items() if id == op.lease_of]
        return changed(command, lease=leases[op.nth]) if op.nth < len(leases) else None
    return changed(command, version=book.selection[1]) if isinstance(command, Commit) and book.selection is not None else None


def leaning(steps: Iterable[Step], setup: Any) -> list[Op]:
    """Commands, with what they lean on by name."""
    if not isinstance(setup, dict):
        return [Op(step.command) for step in steps]
    book, ops = Book(dict(setup)), []
    for step in steps:
        command = step.command
        match command:
            case Release() if command.lease in book.names:
                id = book.names[command.lease]
                ops.append(Op(command, id, [lease for lease, other in book.names.items() if other == id].index(command.lease)))
            case Commit() if book.selection is not None and command.version == book.selection[1]:
                ops.append(Op(command, last=True))
            case _:
                ops.append(Op(command))
        book.update(command, step.saw or ())
    return ops


@dataclass(frozen=True, slots=True)
class Case:
    profile: Any
    setup: Any
    ops: list[Op]


class Failing:
    """`case` is the smallest so far, `finding` what is wrong with it."""

    def __init__(self, target: Target, finding: Finding, case: Case, seconds: float) -> None:
        self.target, self.finding, self.case = target, finding, case
        self.key = finding.key
        law = finding.rule if finding.kind == "law" else ""
        self.search = search_of(case.profile)
        self.hazards = frozenset(self.search.mechanism.law_book.LAWS) - {law}
        self.until = time.monotonic() + seconds
        self.checks = 0
        self.sure = (finding, case)                      # the smallest that was checked with states at every step
        self.careful = False                             # check so always

    @property
    def late(self) -> bool:
        return time.monotonic() > self.until

    def surely(self, step: Callable[[], bool]) -> bool:
        """A pass. What it took on trust is checked; if it went astray it is done again, and nothing more is taken on trust."""
        gained = step()
        if self.sure[1] is not self.case:
            found = self.tried(self.case, 1)
            if found is None or found[0].key != self.key:
                (self.finding, self.case), self.careful = self.sure, True
                return step()
            self.finding, self.case = found[0], replace(self.case, ops=found[1])
            self.sure = (self.finding, self.case)
        return gained

    def fails(self, case: Case) -> bool:
        """Does it fail in the same way? If so it is the smallest so far, cut off at the failing command."""
        if self.late:
            return False
        self.checks += 1
        found = self.tried(case, 0)
        if found is None or found[0].kind != self.key[0]:
            return False
        careful = self.careful or len(found[1]) <= CAREFUL
        if careful and found[0].kind in ("divergence", "audit"):
            found = self.tried(replace(case, ops=found[1]), 1)
        if found is None or found[0].key != self.key:
            return False
        self.finding, self.case = found[0], replace(case, ops=found[1])
        if careful:
            self.sure = (self.finding, self.case)
        return True

    def tried(self, case: Case, state_every: int) -> tuple[Finding, list[Op]] | None:
        used: list[Op] = []
        law = self.key[0] == "law"
        finding = judge(self.target, case.profile, case.setup, _planned(case.ops, used), state_every=state_every, hazards=self.hazards, laws=law)
        return None if finding is None else (finding, used)

    def attempt(self, ops: list[Op]) -> bool:
        return self.fails(replace(self.case, ops=ops))

    def swap(self, at: int, *ops: Op) -> bool:
        return self.attempt([*self.case.ops[:at], *ops, *self.case.ops[at + 1 :]])


def _planned(ops: Iterable[Op], used: list[Op]) -> Iterator[Any]:
    """The plans of the ops; those that came to something are noted in `used`."""
    for op in ops:
        plan = op.plan()
        if callable(plan):
            yield partial(_noting, plan, op, used)
        else:
            used.append(op)
            yield plan


def _noting(plan: Later, op: Op, used: list[Op], book: Book) -> Any:
    command = plan(book)
    if command is not None:
        used.append(op)
    return command
