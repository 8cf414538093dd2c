"""The laws of spinning, yielding and parking, and their judge. A law is a predicate over commands and observations alone, as in `laws`; it judges anybody's pool.

A function says what is broken, or None. A stranger (no profile) is held to what `slotwise` has. The laws of windows are in `spin_window_laws`.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slotwise.spec import spin_vocabulary as v
from slotwise.spec import spin_window_laws as window
from slotwise.spec.laws import Broken, Saw
from slotwise.spec.spin_book import EPOCHS, WHY, Actor, Book, FanOut
from slotwise.spec.spin_window_laws import LAWS, law

__all__ = ["KNOWN_HAZARDS", "LAWS", "Judge"]

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
_BUILDS = ("waits_ready", "built", "abandoned")
_OF_A_SLOT = frozenset(("looks", "passed", "sees", "took", "lost", "settled", "wrote", "published", "straggles", "finished", "raised"))
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
        if isinstance(command, _OF_AN_ACTOR) and (command.actor == v.BUILDER if seen[0] in _BUILDS else seen[1] == command.actor) is False:
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


class Judge:
    """Feed it each command with what was seen. It says which laws the step broke, each law once. A break of LAW-71 to LAW-79 leaves the
    book in doubt: from then on the judge is silent. `profile` None: a stranger's pool."""

    def __init__(self, profile: v.Profile | None, setup: v.Setup) -> None:
        self.profile, self.setup = profile or v.PROFILES["slotwise"], setup
        self.book = Book(self.profile, setup)
        self.broken: dict[str, Broken] = {}                  # law -> the first break
        self.in_doubt = False
        self._news: list[Broken] = []
        self._judge: dict[type, Callable[[Any, Saw], Broken | None]] = {
            v.Dispatch: self._dispatch, v.Go: self._go, v.End: self._end, v.Stir: self._stir, v.Shutdown: self._shutdown, v.Counters: self._counters,
            v.Wait: self._whole, v.Script: self._whole, v.Gap: self._gap,
        }  # fmt: skip

    def step(self, command: v.Command, saw: Saw) -> list[Broken]:
        """The laws broken by this step that were not broken before."""
        book = self.book
        if self.in_doubt:
            return []
        if command.at < book.now or (saw and saw[0] and saw[0][0] == "time_reversed"):
            doubt = time_goes_on(book, command, saw)
        else:
            doubt = in_words(command, saw)
            if doubt is None:
                book.now = command.at
                doubt = self._judge[type(command)](command, saw)
        self._tell(doubt)
        self.in_doubt = self.in_doubt or doubt is not None
        news, self._news = self._news, []
        return news

    def _tell(self, *broken: Broken | None) -> None:
        for one in broken:
            if one is not None and one.law not in self.broken and not self.in_doubt:
                self.broken[one.law] = one
                self._news.append(one)

    def _dispatch(self, command: v.Dispatch, saw: Saw) -> Broken | None:
        book, [seen] = self.book, saw
        doubt = declined_truly(book, command, seen)
        if doubt is None and seen[0] == "held":
            book.hold(command.actor, command.total, seen[2])
        book.counts["slot_exhausted"] += list(seen[2:]) == ["slots"]
        return doubt

    def _end(self, command: v.End, saw: Saw) -> Broken | None:
        book, [seen] = self.book, saw
        actor = book.actor(command.actor)
        if actor is None or actor.at != "running":
            why = "no_task" if actor or command.actor == v.BUILDER else "unknown"
            return None if list(seen) == ["idle", command.actor, why] else in_turn(book, actor, command.actor, ["ended"])
        if seen[0] != "ended" or seen[2] != actor.slot:
            return in_turn(book, None, command.actor, seen)
        book.ended(actor, command.panics)
        return None

    def _stir(self, command: v.Stir, saw: Saw) -> Broken | None:
        book, [seen] = self.book, saw
        parked = command.actor in book.asleep()
        if list(seen) != (["stirred", command.actor] if parked else ["idle", command.actor, "not_parked"]):
            return in_turn(book, None, command.actor, seen)
        if parked:
            book.take_in(book.workers[command.actor], seen)
        return None

    def _shutdown(self, command: v.Shutdown, saw: Saw) -> Broken | None:
        doubt = epoch_moves(self.book, saw[0][1])
        self.book.shut()
        return doubt

    def _counters(self, command: v.Counters, saw: Saw) -> Broken | None:
        told = dict(zip(saw[0][1::2], saw[0][2::2], strict=True))
        self._tell(counted(self.book, told), useful_catches(self.book, told["spin_hits"]))
        return None

    # steps
    def _go(self, command: v.Go, saw: Saw) -> Broken | None:
        book, name = self.book, command.actor
        if name == v.BUILDER:
            return self._build(saw)
        if not saw:
            fan_out = book.fan_outs.get(name)
            quiet = command.times == 1 and fan_out and fan_out.actor.at == "straggling" and fan_out.remaining == 0
            return None if quiet else in_turn(book, book.actor(name), name, ["nothing"])
        for i, seen in enumerate(saw):
            actor = book.actor(name)
            doubt = in_turn(book, actor, name, seen)
            if doubt or actor is None or seen[0] == "idle":
                return doubt
            told = self._of_worker if name in book.workers else self._of_dispatcher
            doubt = self._of_anybody(actor, seen) or told(actor, seen, saw[:i], saw[i + 1 :])
            if doubt:
                return doubt
        return None

    def _of_anybody(self, actor: Actor, seen: Sequence[Any]) -> Broken | None:
        book, word = self.book, seen[0]
        if word in _OF_A_SLOT:
            doubt = in_its_slot(book, actor, seen)
            if doubt:
                return doubt
        if word in ("passed", "sees", "took", "lost"):
            fan_out = book.slots.get(seen[2])
            if word == "took" and (doubt := each_task_once(fan_out, seen[3])):
                return doubt
            self._tell(sees_what_is_there(fan_out, seen))
        elif word == "settled":
            self._tell(counts_down(seen[3], book.slots[seen[2]].remaining - 1))
        return None

    def _of_worker(self, w: Actor, seen: Sequence[Any], before: Saw, after: Saw) -> Broken | None:
        book, word = self.book, seen[0]
        at_the_top, in_a_window = w.at == "top", w.at == "window"
        if word == "announced":
            self._tell(counts_down(seen[2], book.ready + 1))
        elif at_the_top:
            self._tell(leaves_at_the_shutdown(book, w, word))
        elif word in ("again", "nothing_new"):
            self._tell(nothing_missed(book, w, seen[2] if word == "again" else None))
        elif word in ("slept", "stayed"):
            self._tell(no_lost_wake_up(book, w, word == "slept"))
        elif in_a_window:
            self._in_a_window(w, seen, before)
        if word in ("caught", "woke"):
            self._tell(window.within_bounds(book, seen[2]))
        book.take_in(w, seen)
        if word == "spun" and w.window:
            over = bool(after) and after[0][0] == "expired"
            self._tell(window.reads_in_time(book, w.window, over), window.idle_ends_in_a_park(book, w, seen[4], over))
        return None

    def _in_a_window(self, w: Actor, seen: Sequence[Any], before: Saw) -> None:
        book, word = self.book, seen[0]
        self._tell(flags_first(book, w, word))
        assert w.window
        if word == "spun":
            self._tell(window.yields_apart(book, w.window, seen[3]), window.spins_once(w))
        elif word == "expired":
            self._tell(window.within_bounds(book, seen[2]))
            if not w.over or (before and before[-1][0] == "spun"):
                readings = before[-1][4] if before and before[-1][0] == "spun" else 0
                self._tell(window.over_at_once(book, w.window, seen[2], readings), window.bounded_yields(book, w.window, seen[2]))
                self._tell(window.yields_exactly_beyond(book, w.window.yields, window.passes(w.window, book.profile)))

    def _of_dispatcher(self, d: Actor, seen: Sequence[Any], before: Saw, after: Saw) -> Broken | None:
        book, word, fan_out = self.book, seen[0], self.book.fan_outs[d.name]
        if word == "published":
            doubt = epoch_moves(book, seen[3])
            if doubt:
                return doubt
        elif word == "wakes":
            doubt = wakes_the_parked(book, seen[2], seen[3])
            if doubt:
                return doubt
            parked = len(book.asleep())
            self._tell(wakes_enough(fan_out, seen[2], parked), wakes_no_herd(fan_out, seen[2], parked))
        elif word in ("straggles", "spun") or (word == "wrote" and seen[3] == "inactive"):
            doubt = done_is_done(fan_out, word == "wrote")
            if doubt:
                return doubt
        elif word in ("finished", "raised"):
            self._tell(told_truly(fan_out, seen))
        book.take_in(d, seen)
        if word == "spun":
            self._tell(gives_way(book, fan_out))
        return None

    def _build(self, saw: Saw) -> Broken | None:
        book = self.book
        if book.built or not saw:
            right = book.built and [list(seen) for seen in saw] == [["idle", v.BUILDER, "built"]]
            return None if right else in_turn(book, None, v.BUILDER, saw[0] if saw else ["nothing"])
        book.start = book.now if book.start is None else book.start
        for seen in saw:
            if book.built:
                return None if list(seen) == ["idle", v.BUILDER, "built"] else in_turn(book, None, v.BUILDER, seen)
            if seen[0] not in _BUILDS:
                return in_turn(book, None, v.BUILDER, seen)
            self._tell(built_truly(book, seen))
            if seen[0] == "waits_ready":
                book.barrier_pauses += seen[1]
                self._tell(barrier_gives_way(book, seen[2]))
                book.time_is_up = book.time_is_up or (seen[2] > 0 and book.now - book.start >= book.profile.ready_within)
            else:
                book.built = True
                if seen[0] == "abandoned":
                    book.shut()
        return None

    # apart from the pool
    def _whole(self, command: v.Wait | v.Script, saw: Saw) -> Broken | None:
        _, outcome, n, yields, readings, elapsed = saw[0]
        p = self.profile
        to_first = (p.budget - 1) // p.stride
        if isinstance(command, v.Wait):
            last_pass = max(command.pause, command.yields, command.first_yield or 0) + command.clock
            first = (p.budget - 1) * command.pause + (to_first + 1) * command.clock
        else:
            last_pass = 1
            first = command.readings[to_first] if to_first < len(command.readings) else command.window
        self._tell(window.ended_truly(command, outcome, n, elapsed, last_pass), window.whole_reads(p, n, readings))
        self._tell(window.whole_yields(p, yields, command.window, first if n >= p.budget else command.window))
        if outcome == "expired":
            self._tell(window.yields_exactly_beyond(self.book, yields, n))
            if isinstance(command, v.Wait):
                self._tell(window.whole_overshoot(p, command, n, elapsed))
        return None

    def _gap(self, command: v.Gap, saw: Saw) -> Broken | None:
        _, used, outcome, following = saw[0]
        lone, park = self.book.lone, window.park_price(self.profile, self.setup)
        lone.length += command.gap
        self._tell(window.within_bounds(self.book, used), window.within_bounds(self.book, following), window.one_window_each(lone, used, outcome))
        lone.window = used if lone.window is None else lone.window
        if command.ran:
            lone.paid += lone.length if lone.length <= lone.window else lone.window + park
            lone.least += min(lone.length, park)
            self._tell(window.competitive(lone, park))
            lone.length, lone.window, lone.following = 0, None, following
        return None
