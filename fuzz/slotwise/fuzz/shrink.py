"""The shrinker: a shorter list of commands that fails in the same way (same kind; same rule or law).

It works on commands. Those that lean on what came before do so by name: a release means "the lease of that task" (or, where that will do,
"the oldest that runs"), a commit "what was last selected", so that they keep their meaning when commands before them go. First commands go, then tasks; then arguments, times, capacity,
profile and names become simpler; again, until nothing more does. (So for admission; of batching no command leans on another.)
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.judges import Finding, Later, judge
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.report import Failure
from slotwise.fuzz.searches import search_of, set_up
from slotwise.fuzz.target import Target
from slotwise.spec.book import Book
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.trace import Step, Trace
from slotwise.spec.vocabulary import Commit, Discard, Enqueue, Release, Task

#: Lists longer than this are looked into at their end only, and checked again after each pass.
CAREFUL = 60
#: Rounds of all passes in which numbers may still fall, but no command goes.
ROUNDS = 8
#: Seconds in which a trace must be short, if nothing else is said. It usually takes less than one.
SECONDS = 20.0


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


class Shrinker:
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

    def run(self) -> Finding:
        idle = 0
        while not self.late and idle < ROUNDS:
            before = len(self.case.ops)
            if not self.once():
                break
            idle = idle + 1 if len(self.case.ops) == before else 0
        return self.finding

    @property
    def late(self) -> bool:
        return time.monotonic() > self.until

    def once(self) -> bool:
        """Every pass. True: something became smaller."""
        passes: list[Callable[[], bool]] = [self.coarse, *(getattr(self, name) for name in self.search.passes)]
        passes.insert(0 if self.key[0] == "law" else len(passes), self.loosen)
        gained = [self.surely(step) for step in (*passes, self.simplify, self.set_up, self.times, self.names)]
        return any(gained)

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

    # passes: each goes on as long as it gains, and says whether it did
    def loosen(self) -> bool:
        """Releases mean the oldest that runs, so that others may run in the place of those that go."""
        ops = [Op(op.command, oldest=True) if op.lease_of is not None else op for op in self.case.ops]
        return ops != self.case.ops and self.attempt(ops)

    def drop_groups(self) -> bool:
        names = sorted({task.group for op in self.case.ops if isinstance(op.command, Enqueue) for task in op.command.tasks})
        gained = [self.attempt(_filtered(self.case.ops, partial(_of_others, name))) for name in names if len(names) > 1]
        return any(gained)

    def drop_resources(self) -> bool:
        gained = False
        for name in sorted(self.case.setup):
            if len(self.case.setup) > 1:
                fewer = {resource: units for resource, units in self.case.setup.items() if resource != name}
                gained |= self.fails(Case(self.case.profile, fewer, _filtered(self.case.ops, partial(_without, name))))
        return gained

    def merge_all(self) -> bool:
        """All tasks arrive with the first."""
        arrivals = [op.command for op in self.case.ops if isinstance(op.command, Enqueue)]
        if len(arrivals) < 2:
            return False
        groups = {group.name: group for command in arrivals for group in command.groups}
        whole = changed(arrivals[0], tasks=tuple(task for command in arrivals for task in command.tasks), groups=tuple(groups.values()))
        return self.attempt([Op(whole), *(op for op in self.case.ops if not isinstance(op.command, Enqueue))])

    def drop_lives(self) -> bool:
        """Tasks go with everything that is said of them: it makes the least difference to the others."""
        gained = False
        ids = list(dict.fromkeys(task.id for op in self.case.ops if isinstance(op.command, Enqueue) for task in op.command.tasks))
        size = len(ids) // 2
        while size:
            end = len(ids)
            while end > 0 and not self.late:
                start = max(0, end - size)
                if self.attempt(_without_lives(self.case.ops, frozenset(ids[start:end]))):
                    gained = True
                    del ids[start:end]
                end = start
            size //= 2
        return gained

    def drop_commands(self) -> bool:
        gained = False
        size = max(1, len(self.case.ops) // 2)
        while size:
            end = len(self.case.ops)
            while end > 0 and not self.late:
                start = max(0, end - size)
                ops = self.case.ops
                gained |= self.attempt(ops[:start] + ops[end:])
                end = min(start, len(self.case.ops))
            size //= 2
        return gained

    def drop_rounds(self) -> bool:
        """Commands that make sense only together go together."""
        gained, left = False, 0
        while not self.late:
            together = self.search.simpler.together([op.command for op in self.case.ops])
            if left >= len(together):
                break
            if self.attempt([op for i, op in enumerate(self.case.ops) if i not in together[left]]):
                gained = True
            else:
                left += 1
        return gained

    def join(self) -> bool:
        """Neighbours that can be one command become one."""
        gained = False
        while any(self.attempt([Op(command) for command in joined]) for joined in self.search.simpler.merged([op.command for op in self.case.ops])):
            gained = True
        return gained

    def drop_tasks(self) -> bool:
        gained = False
        for at in range(len(self.case.ops) - 1, -1, -1):
            command = self.case.ops[at].command if at < len(self.case.ops) else None
            size = len(command.tasks) // 2 if isinstance(command, Enqueue) else 0
            while size:
                command = self.case.ops[at].command
                assert isinstance(command, Enqueue)
                end = len(command.tasks)
                while end > 0 and at < len(self.case.ops):
                    start = max(0, end - size)
                    command = self.case.ops[at].command
                    assert isinstance(command, Enqueue)
                    tasks = command.tasks[:start] + command.tasks[end:]
                    if tasks:
                        gained |= self.swap(at, replace(self.case.ops[at], command=changed(command, tasks=tasks)))
                    end = start
                size //= 2
        return gained

    def swap(self, at: int, *ops: Op) -> bool:
        return self.attempt([*self.case.ops[:at], *ops, *self.case.ops[at + 1 :]])

    def merge(self) -> bool:
        """Arrivals join the arrival before them."""
        gained = False
        for at in range(len(self.case.ops) - 1, 0, -1):
            ops = self.case.ops
            command = ops[at].command if at < len(ops) else None
            into = next((i for i in range(at - 1, -1, -1) if isinstance(ops[i].command, Enqueue)), None) if isinstance(command, Enqueue) else None
            if into is not None and isinstance(command, Enqueue):
                first = ops[into].command
                assert isinstance(first, Enqueue)
                groups = {group.name: group for group in (*first.groups, *command.groups)}
                both = Op(changed(first, tasks=first.tasks + command.tasks, groups=tuple(groups.values())))
                gained |= self.attempt([*ops[:into], both, *ops[into + 1 : at], *ops[at + 1 :]])
        return gained

    def coarse(self) -> bool:
        """Simpler times and capacities, at one go: what is left has less to lean on."""
        ops = self.case.ops
        gained = any(self.attempt(_with(ops, commands)) for commands in self.search.simpler.simpler_times([op.command for op in ops]))
        return self.set_up() or gained

    def simplify(self) -> bool:
        gained = False
        for at in range(len(self.case.ops)):
            number = 0
            while at < len(self.case.ops) and not self.late:
                op = self.case.ops[at]
                variant = next(islice(self.search.simpler.variants(op.command), number, None), None)
                if variant is None:
                    break
                if self.swap(at, replace(op, command=variant)):
                    gained = True
                else:
                    number += 1
            if at < len(self.case.ops) and (op := self.case.ops[at]).lease_of is not None:
                gained |= self.swap(at, Op(changed(op.command, lease=0)))        # any lease will do
        return gained

    def set_up(self) -> bool:
        gained = False
        while any(self.fails(replace(self.case, profile=profile, setup=setup)) for profile, setup in self.search.simpler.simpler_setups(self.case.profile, self.case.setup)):
            gained = True
        return gained

    def times(self) -> bool:
        gained = False
        for at in range(len(self.case.ops)):
            commands = [op.command for op in self.case.ops]
            for fewer in self.search.simpler.smaller_gaps(commands, at):
                if self.attempt(_with(self.case.ops, fewer)):
                    gained = True
                    break
        return gained

    def names(self) -> bool:
        found = self.search.simpler.simpler_names([op.command for op in self.case.ops])
        if found is None:
            return False
        commands, ids = found
        return self.attempt([replace(op, command=command, lease_of=ids.get(op.lease_of or "", op.lease_of)) for op, command in zip(self.case.ops, commands, strict=True)])


def _filtered(ops: Sequence[Op], kept: Callable[[Task], Task | None]) -> list[Op]:
    """The ops with fewer or other tasks; an arrival of none goes."""
    some: list[Op] = []
    for op in ops:
        if isinstance(op.command, Enqueue):
            tasks = tuple(new for task in op.command.tasks if (new := kept(task)) is not None)
            if tasks:
                some.append(replace(op, command=changed(op.command, tasks=tasks)))
        else:
            some.append(op)
    return some


def _without_lives(ops: Sequence[Op], gone: frozenset[str]) -> list[Op]:
    kept = [op for op in ops if op.lease_of not in gone and not (isinstance(op.command, (Discard, Commit)) and op.command.task in gone)]
    return _filtered(kept, lambda task: None if task.id in gone else task)


def _of_others(group: str, task: Task) -> Task | None:
    return None if task.group == group else task


def _without(resource: str, task: Task) -> Task | None:
    needs = {name: units for name, units in task.needs.items() if name != resource}
    return Task(task.id, task.group, needs) if needs else None


def _with(ops: Sequence[Op], commands: Sequence[Any]) -> list[Op]:
    return [replace(op, command=command) for op, command in zip(ops, commands, strict=True)]


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


def shrink(target: Target, failure: Failure, *, seconds: float = SECONDS) -> Failure:
    """The same failure on a shorter list of commands; the given one if that cannot be had (nondeterminism can't)."""
    if failure.kind == "nondeterminism":
        return failure
    case = Case(failure.profile, failure.setup, leaning(failure.full.steps, failure.setup))
    shrinker = Shrinker(target, failure.finding, case, seconds)
    finding = shrinker.run()
    profile, setup = shrinker.case.profile, shrinker.case.setup
    trace = recorded(target, profile, setup, finding.commands, seed=failure.seed)
    return replace(failure, finding=finding, profile=profile, setup=setup, trace=trace)


def shrink_trace(target: Target, trace: Trace, *, seconds: float = SECONDS) -> Failure | None:
    """Shrink a trace that fails on a target; None if it does not fail there."""
    profile, setup = set_up(trace)
    hazards = mechanism_of(profile).hazards(profile)
    finding = judge(target, profile, setup, trace.commands, state_every=1, hazards=hazards)
    if finding is None:
        return None
    full = recorded(target, profile, setup, finding.commands, seed=trace.header.seed)
    return shrink(target, Failure(finding, profile, setup, target.name, trace.header.seed, full, full), seconds=seconds)
