"""The laws of spinning, yielding and parking. A law is a predicate over commands and observations alone, as in `laws`; it judges anybody's pool.

A function says what is broken, or None. `spin_judge` asks it. The laws of windows are in `spin_window_laws`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotwise.spec import spin_vocabulary as v
from slotwise.spec.law_registry import Saw
from slotwise.spec.spin_book import EPOCHS, WHY, Actor, Book, FanOut
from slotwise.spec.spin_window_laws import LAWS, law

__all__ = ["KNOWN_HAZARDS", "LAWS"]

_ACTOR, _SLOT, _NUMBER = (str, str), (str, str, int), (str, str, int, int)
_COUNTERS = ("dispatches", "tasks", "tasks_by_dispatcher", "slot_exhausted", "parks", "spin_hits", "panics", "straggler_waits", "straggler_yields", "spin_yields")
_GO = {
    "announced": _SLOT, "waits_ready": (str, int, int), "built": (str, int), "abandoned": (str, int, int), "looks": _SLOT, "passed": _SLOT, "sees": _SLOT, "took": _NUMBER,
    "lost": _SLOT, "settled": _NUMBER, "nothing_new": _ACTOR, "again": _SLOT, "spun": (str, str, int, int, int), "caught": _SLOT, "expired": _SLOT, "slept": _ACTOR,
    "stayed": _ACTOR, "woke": _SLOT, "left": _ACTOR, "wrote": (str, str, int, str), "published": _NUMBER, "wakes": (str, str, int, str), "straggles": _SLOT,
    "finished": _NUMBER, "raised": _NUMBER, "idle": (str, str, str),
}  # fmt: skip
_OUTCOME: dict[str, tuple[type, ...]] = {"outcome": (str, str, int, int, int, int)}
#: The words that answer each command, beside `time_reversed`, and the types of what is seen: of the word, and of what follows it.
ANSWERS: dict[type, dict[str, tuple[type, ...]]] = {
    v.Dispatch: {"held": _SLOT, "declined": (str, str, str), "finished": _NUMBER}, v.Go: _GO, v.End: {"ended": _SLOT, "idle": (str, str, str)},
    v.Stir: {"stirred": _ACTOR, "idle": (str, str, str)}, v.Shutdown: {"shut_down": (str, int)}, v.Counters: {"counters": (str, *(str, int) * len(_COUNTERS))},
    v.Wait: _OUTCOME, v.Script: _OUTCOME, v.Gap: {"waited": (str, int, str, int)},
}  # fmt: skip
BUILDS = ("waits_ready", "built", "abandoned")
_OF_AN_ACTOR, _OF_A_WINDOW = (v.Dispatch, v.Go, v.End, v.Stir), (v.Wait, v.Script, v.Gap)


def word_of(command: v.Command) -> str:
    return str(type(command).__struct_config__.tag)


# These leave the book in doubt, once they are broken.
@law("LAW-71", source="design 4")
def in_words(command: v.Command, saw: Saw) -> str | None:
    """Every command is answered in the words of the vocabulary, and about its own actor; only `go` has more than one answer, or none."""
    words = ANSWERS[type(command)]
    for seen in saw:
        types = words.get(seen[0]) if seen else None
        if types is None or tuple(map(type, seen)) != types or min([part for part in seen if type(part) is int], default=0) < (-1 if seen[0] == "finished" else 0):
            return f"{list(seen)} does not answer {word_of(command)}"
        if isinstance(command, _OF_AN_ACTOR) and (command.actor == v.BUILDER if seen[0] in BUILDS else seen[1] == command.actor) is False:
            return f"{list(seen)} answers {command.actor}"
    if isinstance(command, v.Counters) and saw and tuple(saw[0][1::2]) != _COUNTERS:
        return f"the counters are {saw[0][1::2]}"
    if isinstance(command, _OF_A_WINDOW) and saw and saw[0][2 if isinstance(command, v.Gap) else 1] not in ("caught", "expired", "shutdown", "parked"):
        return f"{list(saw[0])} is no outcome"
    return None if isinstance(command, v.Go) or len(saw) == 1 else f"{len(saw)} answers to {word_of(command)}"


@law("LAW-72", source="design 4")
def time_goes_on(book: Book, command: v.Command, saw: Saw) -> str | None:
    """A command from before an earlier one is answered `time_reversed` with the time that it is, and does nothing; no other command is."""
    told = any(seen and seen[0] == "time_reversed" for seen in saw)
    if told != (command.at < book.now) or (told and [list(seen) for seen in saw] != [["time_reversed", book.now]]):
        return f"at {command.at}, when it was {book.now}: {[list(seen) for seen in saw]}"
    return None


@law("LAW-73", source="spin 1.3, 1.5")
def in_turn(book: Book, actor: Actor | None, name: str, seen: Sequence[Any]) -> str | None:
    """An actor's steps follow each other as its loop says: a dispatcher writes what remains, the stamp and the claim before its slot is active, and that before the epoch moves; and who has no step to make says why."""
    if actor is None:
        return None if list(seen) == ["idle", name, "unknown"] else f"{list(seen)} by nobody"
    right = seen[0] in book.may_tell(actor)
    if seen[0] == "idle":
        right = right and seen[2] == WHY[actor.at]
    elif seen[0] == "wrote":
        right = right and seen[3] == ("inactive" if actor.at in ("done", "straggling") else actor.at)
    return None if right else f"{list(seen)} by {name}, which stood at {actor.at}"


@law("LAW-74", source="spin 1.5 W2, 1.3")
def in_its_slot(book: Book, actor: Actor, seen: Sequence[Any]) -> str | None:
    """A scan looks at each slot that is active when it begins, once, and stays with one while that has tasks for it; a dispatcher keeps to its own."""
    if seen[0] == "looks":
        return None if seen[2] == len(book.active) else f"{seen[2]} slots, of {sorted(book.active)}"
    mine = book.fan_outs[actor.name].slot if actor.name in book.fan_outs else actor.slot
    right = seen[2] in actor.left if mine is None else seen[2] == mine
    return None if right else f"{list(seen)}, and it stood at {mine}, with {sorted(actor.left)} left"


@law("LAW-75", source="spin 1.4; issue 4")
def each_task_once(fan_out: FanOut | None, index: int) -> str | None:
    """A task is taken once, from a fan-out that is published and has it."""
    right = fan_out and fan_out.unclaimed and 0 <= index < fan_out.total and index not in fan_out.taken
    return None if right else f"task {index} of {fan_out.total if fan_out else 0}"


@law("LAW-76", source="spin 1.3 5, 1.5")
def epoch_moves(book: Book, epoch: int) -> str | None:
    """Each publication, and each shutdown, moves the epoch by one."""
    return None if epoch == (book.epoch + 1) % EPOCHS else f"{book.epoch} -> {epoch}"


@law("LAW-77", source="spin 1.3 6")
def wakes_the_parked(book: Book, number: int, names: str) -> str | None:
    """Who is woken was parked, and is named."""
    woken, asleep = names.split(), book.asleep()
    right = len(woken) == number == len(set(woken)) and set(woken) <= set(asleep)
    return None if right else f"{number}: {names}; of {' '.join(asleep)}"


@law("LAW-78", source="spin 1.3, 1.1; issue 4")
def declined_truly(book: Book, command: v.Dispatch, seen: Sequence[Any]) -> str | None:
    """A fan-out is refused for the first reason that there is, and only then; one that is not refused has a slot of its own, or no tasks."""
    actor = book.actor(command.actor)
    reasons = {
        "nested": actor is not None and actor.at == "running", "not_a_dispatcher": command.actor in book.workers or command.actor == v.BUILDER, "busy": actor is not None,
        "building": not book.built, "": command.total == 0, "no_workers": not book.workers, "shutdown": book.shutdown, "slots": len(book.slots) == book.profile.slots,
    }  # fmt: skip
    why = next((why for why, true in reasons.items() if true), None)
    if why is None:
        right = seen[0] == "held" and seen[2] not in book.slots and seen[2] < book.profile.slots
    else:
        right = list(seen) == (["declined", command.actor, why] if why else ["finished", command.actor, -1, 0])
    return None if right else f"{list(seen)}, where {why or 'nothing'} was in the way"


@law("LAW-79", source="spin 1.3 9, 10; issue 4")
def done_is_done(fan_out: FanOut, over: bool) -> str | None:
    """A dispatcher takes its slot back when every task of its fan-out is settled, and waits only before."""
    return None if over == (fan_out.remaining == 0) else f"{fan_out.remaining} of {fan_out.total} remain"


# These do not.
@law("LAW-80", source="spin 1.4")
def sees_what_is_there(fan_out: FanOut | None, seen: Sequence[Any]) -> str | None:
    """Who looks at a slot, or claims a task of it, finds one exactly if there is one that nobody has taken."""
    there = fan_out.unclaimed if fan_out else 0
    return None if (seen[0] in ("sees", "took")) == (there > 0) else f"{list(seen)}, and {there} were there"


@law("LAW-81", source="spin 1.3, 1.5 W0")
def counts_down(told: int, right: int) -> str | None:
    """Each worker that is ready counts as one more, each task that is settled as one less."""
    return None if told == right else f"{told}, and it was {right}"


@law("LAW-82", source="spin 1.5 W3; issue 4")
def nothing_missed(book: Book, worker: Actor, ran: int | None) -> str | None:
    """A worker waits only after a scan that ran nothing, with the epoch as it was before that scan; else it scans again, and says how much it ran."""
    new = worker.ran > 0 or book.epoch != worker.last
    right = not new if ran is None else new and ran == worker.ran
    return None if right else f"{worker.name} ran {worker.ran}, with epoch {book.epoch} after {worker.last}"


@law("LAW-83", source="spin 1.5 W6; issue 4")
def no_lost_wake_up(book: Book, worker: Actor, slept: bool) -> str | None:
    """Nobody parks once the epoch that it stored is old, for nobody would wake it; and nobody stays while it is not."""
    return None if slept == (book.epoch == worker.last) else f"{worker.name}, with epoch {book.epoch} after {worker.last}"


@law("LAW-84", source="spin 2 T1, T2; 2.1 I12, I13")
def flags_first(book: Book, worker: Actor, word: str) -> str | None:
    """A worker in a window leaves if the pool is shut down, and else is caught by any publication, before it pauses, yields or reads; and only then."""
    right = "left" if book.shutdown else "caught" if book.epoch != worker.last else None
    return None if (word if word in ("left", "caught") else None) == right else f"{worker.name}: {word}, with epoch {book.epoch} after {worker.last}"


@law("LAW-85", source="spin 1.5 W1")
def leaves_at_the_shutdown(book: Book, worker: Actor, word: str) -> str | None:
    """A worker leaves before a scan if the pool is shut down, and only then."""
    return None if (word == "left") == book.shutdown else f"{worker.name}: {word}"


@law("LAW-86", source="issue 4; rayon 5.3")
def wakes_enough(fan_out: FanOut, number: int, parked: int) -> str | None:
    """A publication wakes a parked worker for every task but the dispatcher's own, as far as there are any."""
    return None if number >= min(fan_out.total - 1, parked) else f"{number} of {parked} for {fan_out.total} tasks"


@law("LAW-87", source="issue 4; spin 5.4, 6 class H")
def wakes_no_herd(fan_out: FanOut, number: int, parked: int) -> str | None:
    """A publication wakes nobody for whom there is no task."""
    return None if number <= min(fan_out.total - 1, parked) else f"{number} of {parked} for {fan_out.total} tasks"


@law("LAW-88", source="spin 1.3 10")
def told_truly(fan_out: FanOut, seen: Sequence[Any]) -> str | None:
    """A fan-out raises if and only if a task of it panicked; and its dispatcher ran as many as it says."""
    right = ["raised" if fan_out.panicked else "finished", fan_out.actor.name, fan_out.slot, fan_out.own]
    return None if list(seen) == right else f"{list(seen)}, not {right}"


@law("LAW-89", source="spin 1.2, 1.3 9")
def gives_way(book: Book, fan_out: FanOut) -> str | None:
    """A dispatcher that waits for stragglers yields once in so many pauses."""
    right = fan_out.pauses // book.profile.straggler_stride
    return None if fan_out.yields == right else f"{fan_out.yields} yields in {fan_out.pauses} pauses"


@law("LAW-90", source="spin 1.6")
def built_truly(book: Book, seen: Sequence[Any]) -> str | None:
    """The pool is built as soon as every worker is ready, and not before; it is abandoned only when the time is up and somebody is missing."""
    workers = len(book.workers)
    assert book.start is not None
    late = book.now - book.start >= book.profile.ready_within
    right = {
        "built": book.ready >= workers and seen[-1] == workers, "waits_ready": book.ready < workers,
        "abandoned": book.ready < workers and late and list(seen[1:]) == [book.ready, workers],
    }[seen[0]]  # fmt: skip
    return None if right else f"{list(seen)}, {book.ready} of {workers} ready, {book.now - book.start} after its beginning"


@law("LAW-91", source="spin 1.6; 6 class D")
def barrier_gives_way(book: Book, yields: int) -> str | None:
    """Whoever builds the pool pauses below the budget, and then yields in every pass; once it has read that the time is up, it waits no more."""
    if book.barrier_pauses >= book.profile.budget:
        return f"{book.barrier_pauses} pauses"
    assert book.start is not None
    late = book.now - book.start >= book.profile.ready_within
    return f"goes on at {book.now}" if book.time_is_up or (late and yields > 1) else None


@law("LAW-92", source="spin 1.7")
def counted(book: Book, told: dict[str, int]) -> str | None:
    """The counters are what was seen to happen: each park when its window is over, each task when it ends, the yields of a window when it is left."""
    wrong = {name: (number, book.counts[name]) for name, number in told.items() if name != "spin_hits" and number != book.counts[name]}
    return f"{wrong}" if wrong else None


@law("LAW-93", source="spin 5.4; issue 4; 6 class H")
def useful_catches(book: Book, hits: int) -> str | None:
    """A catch is counted as one exactly if the scan after it ran a task."""
    return None if hits == book.counts["spin_hits"] else f"{hits}, and {book.counts['spin_hits']} ran a task"


#: The laws that a profile is known to break (measured: each breaks exactly these).
_AFTER = frozenset(f"LAW-{n}" for n in (63, 64, 69, 70, 87, 93))
_BEFORE = _AFTER | {f"LAW-{n}" for n in (60, 61, 62, 67)}
KNOWN_HAZARDS: dict[str, frozenset[str]] = {
    "ep-cpu-orig": _BEFORE | {f"LAW-{n}" for n in (58, 66, 68, 91)}, "ep-cpu-before": _BEFORE, "ep-cpu-after": _AFTER, "slotwise": frozenset(),
}  # fmt: skip
