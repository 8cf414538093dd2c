"""The laws of admission. A law is a predicate over commands and observations alone: it needs no reference, so it judges anybody's scheduler.

A law's function says what is broken, or None. The judge (in `judge`) asks it at the moments that it speaks of, before the book takes the event in.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import get_args

from slotwise.spec import vocabulary as v
from slotwise.spec.book import PARTS, Book
from slotwise.spec.law_registry import Law, Saw
from slotwise.spec.law_registry import law as any_law
from slotwise.spec.vocabulary import Command, Group, Task

LAWS: dict[str, Law] = {}
law = partial(any_law, laws=LAWS)

_TASK, _LEASE, _WHY, _WORD, _START = (str, str), (str, int), (str, str, str), (str,), (str, int, str, dict)
#: The words that answer each command, beside `time_reversed`, and the types of what is seen: of the word, and of what follows it.
ANSWERS: dict[type, dict[str, tuple[type, ...]]] = {
    v.Enqueue: {"accepted": _TASK, "duplicate": _TASK, "refused": _WHY},
    v.Discard: {"discarded": _TASK, "unknown_task": _TASK},
    v.DiscardWhere: {"discarded": _TASK},
    v.Pump: {"started": _START, "drained": _WORD, "full": _WORD, "blocked": _WORD},
    v.Select: {"selected": (str, str, int), "drained": _WORD, "blocked": _WORD},
    v.Commit: {"started": _START, "stale_selection": _TASK, "refused": _WHY},
    v.Release: dict.fromkeys(("released", "duplicate", "unknown_lease", "stale_lease", "wrong_controller_generation"), _LEASE),
    v.Explain: {"startable": _TASK, "refused": _WHY},
}
_NO_CLAIM = v.Claim()
_REASONS = frozenset(get_args(v.Refusal))


@law("LAW-1", source="design 4")
def in_words(command: Command, saw: Saw) -> str | None:
    """Every command is answered, in the words of the vocabulary; a command that names a task or a lease is answered about that one."""
    kind = type(command)
    words = ANSWERS[kind]
    for seen in saw:
        types = tuple(map(type, seen))
        if not types or types[0] is not str or words.get(seen[0]) != types:
            return f"{list(seen)} is no answer to {command_word(command)}"
        if seen[0] == "refused" and seen[2] not in _REASONS:
            return f"{seen[2]} is no reason"
    if kind is v.Pump:
        told = bool(saw) and saw[-1][0] != "started" and [seen[0] for seen in saw].count("started") == len(saw) - 1
    elif isinstance(command, v.Enqueue):
        told = [seen[1] for seen in saw] == [task.id for task in command.tasks]
    elif isinstance(command, v.Release):
        told = len(saw) == 1 and saw[0][1] == command.lease
    elif isinstance(command, (v.Discard, v.Commit)):
        told = len(saw) == 1 and command.task == saw[0][2 if saw[0][0] == "started" else 1]
    else:
        told = len(saw) == 1 or kind is not v.Select
    return None if told else f"{command_word(command)} was answered {[list(seen) for seen in saw]}"


def command_word(command: Command) -> str:
    return str(type(command).__struct_config__.tag)


@law("LAW-2", source="design 4")
def time_goes_on(book: Book, command: Command, saw: Saw) -> str | None:
    """A command from before an earlier one is answered `time_reversed` with the time that it is, and does nothing; no other command is."""
    told = any(seen and seen[0] == "time_reversed" for seen in saw)
    if told != (command.at < book.now) or (told and (len(saw) != 1 or list(saw[0]) != ["time_reversed", book.now])):
        return f"at {command.at}, when it was {book.now}: {[list(seen) for seen in saw]}"
    return None


@law("LAW-3", source="design 3; semantics I1")
def within_capacity(book: Book, task: str, needs: dict[str, int]) -> str | None:
    """What is leased of a resource never exceeds its capacity."""
    for resource, units in needs.items():
        free = book.free.get(resource, 0)
        if units > free:
            return f"{task} took {units} of {resource}, of which {free} of {book.capacity.get(resource, 0)} were free"
    return None


@law("LAW-4", source="design 4, slot time, rule 5")
def within_running_limit(book: Book, group: str) -> str | None:
    """A group never runs more tasks than its running limit."""
    return f"{group} already ran {book.runs.get(group, 0)} tasks, its limit" if book.limited(group) else None


@law("LAW-5", source="design 3")
def first_in_first_out(book: Book, id: str) -> str | None:
    """The tasks of a group are offered and started in the order in which they were accepted; one that was discarded and comes again stands at the back."""
    task = book.waiting.get(id)
    if task is None:
        return None
    head = book.head(task.group)
    return None if head.id == id else f"{id} of {task.group}, before {head.id}"


@law("LAW-6", source="design 3")
def starts_once(book: Book, lease: int, id: str, needs: dict[str, int]) -> str | None:
    """What is accepted starts once or is discarded, with the needs it was accepted with, and nothing else starts. Leases are numbered from 1 in the order granted."""
    task = book.waiting.get(id)
    if task is None:
        return f"{id} started, which did not wait"
    if needs != task.needs:
        return f"{id} was accepted with {task.needs} and started with {needs}"
    return None if lease == book.granted + 1 else f"{id} was granted lease {lease}, after {book.granted}"


@law("LAW-7", source="design 3; vector A9")
def frees_once(book: Book, command: v.Release, word: str) -> str | None:
    """A release frees a lease that runs, once. Every other is refused, for a reason that is true."""
    number, claim = command.lease, command.claim or _NO_CLAIM
    run = book.running.get(number)
    if claim.generation != 0:
        right = word == "wrong_controller_generation"
    elif run is not None:
        right = word == ("released" if claim.task in (None, run.task.id) else "stale_lease")
    else:
        right = word == "unknown_lease" or (word == "duplicate" and number in book.released)
    if right:
        return None
    was = "runs" if run is not None else "was released" if number in book.released else "was never granted"
    return f"lease {number} {was}, and its release was answered {word}"


@law("LAW-8", source="design 3; vector Q6")
def waiting_is_known(book: Book, id: str, word: str) -> str | None:
    """A task that waits is not accepted again and can be discarded; one that does not wait, the other way about."""
    wanted = word in ("duplicate", "discarded")
    return None if (id in book.waiting) == wanted else f"{id} {'does not wait' if wanted else 'waits'}, and was {word}"


@law("LAW-9", source="vector Q11")
def discards_what_matches(wanted: list[str], told: list[str]) -> str | None:
    """A discard by condition takes every waiting task that meets it, and no other, in the order in which they were accepted."""
    return None if wanted == told else f"{wanted} matched, and {told} were discarded"


@law("LAW-10", source="design 4")
def every_head_explained(book: Book, told: list[str]) -> str | None:
    """An explanation has one verdict for the head of every group."""
    return None if len(told) == len(book.fifo) == len(set(told)) else f"{len(book.fifo)} heads, and verdicts on {told}"


@law("LAW-11", source="design 3; slot time, rule 5; semantics I4")
def work_conserving(book: Book, limits: bool) -> str | None:
    """When nothing more is said to start, no head is left that fits, unless it needs a resource that may be kept for a head that does not."""
    heads = book.heads()
    idle = [head for head in heads if book.fits(head)]
    if not idle:
        return None
    if limits:
        heads = [head for head in heads if not book.limited(head.group)]
        idle = [head for head in idle if not book.limited(head.group)]
    kept = {resource for head in heads if head not in idle for resource in head.needs}
    more = bool(kept)
    while more:                                      # a head that waits for kept units may have units kept for itself
        waits = [head for head in idle if not kept.isdisjoint(head.needs)]
        more = bool(waits)
        idle = [head for head in idle if head not in waits]
        kept.update(resource for head in waits for resource in head.needs)
    return f"{', '.join(head.id for head in idle)} would fit" if idle else None


@law("LAW-12", source="semantics I2, I5; vector H1")
def nothing_stalls(book: Book, limits: bool) -> str | None:
    """While nothing runs, a head that could run is started when asked."""
    for head in book.heads():
        if book.possible(head) and not (limits and book.limited(head.group)):
            return f"nothing runs, and {head.id} was not started"
    return None


@law("LAW-13", source="design 4")
def closing_word_true(book: Book, word: str, started: int, at_most: int | None) -> str | None:
    """`drained` is said if nothing waits, `full` if work waits and as many as asked were started, else `blocked`."""
    right = "drained" if not book.waiting else "full" if started == at_most else "blocked"
    return None if word == right else f"{len(book.waiting)} tasks waited, {started} were started: {right}, not {word}"


@dataclass(slots=True)
class Passed:
    """The tasks of other groups that started since a head fitted and did not start."""

    head: str
    behind: float                                            # slot-time by weight that others may catch up with first
    by: list[int] = field(default_factory=list)              # their leases


@law("LAW-14", source="design 3; slot time, T1-T4")
def waits_bounded(book: Book, group: str, passed: Passed, own: float, factor: int) -> str | None:
    """A head that fits, of a group that runs nothing, is not passed over by other groups for long: neither in tasks nor in slot-time by weight."""
    others = [spec.weight for name, spec in book.groups.items() if name != group]
    if own == 0 or len(passed.by) <= 2 * sum(-(-weight // own) + 2 for weight in others):
        return None
    got, longest = sum(map(book.slot_time, passed.by)), book.longest_service()
    due = factor * longest * PARTS * len(book.capacity) * (1 + sum(max(weight, weight / own) for weight in others)) + passed.behind * sum(others)
    if got <= due:
        return None
    return f"{passed.head} of {group} was passed over by {len(passed.by)} tasks of other groups, which held {got / PARTS / longest:.1f} times the longest service"


@law("LAW-15", source="slot time, rule 1; vectors A8, H3")
def accepts_the_possible(book: Book, task: Task, spec: Group, word: str, reason: str) -> str | None:
    """What could never start is not accepted, and what could is not refused: asking more than there is, or no weight, or a limit of no tasks."""
    possible = book.possible(task)
    if word == "accepted":
        return None if possible else f"{task.id} was accepted, and needs {task.needs} of {dict(book.capacity)}"
    true = {"never_fits": not possible, "no_weight": spec.weight == 0, "limit_below_one": spec.running_limit == 0}
    return None if true.get(reason, False) else f"{task.id} was refused: {reason}"


@law("LAW-16", source="design 3")
def drains(book: Book, limits: bool) -> str | None:
    """Once all that ran has ended and a pump starts nothing more, nothing that could run is left behind, at any place in its queue."""
    left = [task.id for task in book.waiting.values() if book.possible(task) and not (limits and book.limited(task.group))]
    return f"nothing runs, and {left[0]} and {len(left) - 1} more still wait" if left else None


@law("LAW-17", source="vector Q6")
def selection_goes_stale(book: Book, command: v.Commit, word: str) -> str | None:
    """A selection starts nothing once any task has come or gone since."""
    if word == "stale_selection" or book.selected_at.get(command.version, book.changes) == book.changes:
        return None
    return f"version {command.version} is old, and committing {command.task} was answered {word}"


@law("LAW-18", source="design 4")
def verdict_true(book: Book, id: str, reason: str | None, limits: bool) -> str | None:
    """What is said of a waiting task is true: it waits; if it is offered it fits and its group is below its limit; if it lacks capacity it does not fit."""
    task = book.waiting.get(id)
    if task is None:
        return f"{id} does not wait"
    fits, limited = book.fits(task), limits and book.limited(task.group)
    if reason is None:
        return None if fits and not limited else f"{id} was offered, and {'its group is at its limit' if fits else 'does not fit'}"
    if reason == "no_capacity" and fits:
        return f"{id} fits, and was refused: no_capacity"
    return f"{id} was refused: {reason}" if reason == "running_limit" and limits and not limited else None


#: The laws that a profile is known to break (measured: each breaks exactly these).
_BORROWED = frozenset(f"LAW-{n}" for n in (5, 6, 11, 12, 14, 15, 16, 18))
KNOWN_HAZARDS: dict[str, frozenset[str]] = {"strict": _BORROWED, "data-designer-0.8": _BORROWED, "data-designer-0.9": _BORROWED, "slotwise": frozenset()}
