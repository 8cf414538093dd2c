"""The judge of spinning, yielding and parking: it keeps a book of what was seen, and asks the laws. A stranger (no profile) is held to what `slotwise` has."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slotwise.spec import spin_laws as laws
from slotwise.spec import spin_vocabulary as v
from slotwise.spec import spin_window_laws as window
from slotwise.spec.law_registry import Broken, Saw
from slotwise.spec.spin_book import Actor, Book

OF_A_SLOT = frozenset(("looks", "passed", "sees", "took", "lost", "settled", "wrote", "published", "straggles", "finished", "raised"))


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
            doubt = laws.time_goes_on(book, command, saw)
        else:
            doubt = laws.in_words(command, saw)
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
        doubt = laws.declined_truly(book, command, seen)
        if doubt is None and seen[0] == "held":
            book.hold(command.actor, command.total, seen[2])
        book.counts["slot_exhausted"] += list(seen[2:]) == ["slots"]
        return doubt

    def _end(self, command: v.End, saw: Saw) -> Broken | None:
        book, [seen] = self.book, saw
        actor = book.actor(command.actor)
        if actor is None or actor.at != "running":
            why = "no_task" if actor or command.actor == v.BUILDER else "unknown"
            return None if list(seen) == ["idle", command.actor, why] else laws.in_turn(book, actor, command.actor, ["ended"])
        if seen[0] != "ended" or seen[2] != actor.slot:
            return laws.in_turn(book, None, command.actor, seen)
        book.ended(actor, command.panics)
        return None

    def _stir(self, command: v.Stir, saw: Saw) -> Broken | None:
        book, [seen] = self.book, saw
        parked = command.actor in book.asleep()
        if list(seen) != (["stirred", command.actor] if parked else ["idle", command.actor, "not_parked"]):
            return laws.in_turn(book, None, command.actor, seen)
        if parked:
            book.take_in(book.workers[command.actor], seen)
        return None

    def _shutdown(self, command: v.Shutdown, saw: Saw) -> Broken | None:
        doubt = laws.epoch_moves(self.book, saw[0][1])
        self.book.shut()
        return doubt

    def _counters(self, command: v.Counters, saw: Saw) -> Broken | None:
        told = dict(zip(saw[0][1::2], saw[0][2::2], strict=True))
        self._tell(laws.counted(self.book, told), laws.useful_catches(self.book, told["spin_hits"]))
        return None

    # steps
    def _go(self, command: v.Go, saw: Saw) -> Broken | None:
        book, name = self.book, command.actor
        if name == v.BUILDER:
            return self._build(saw)
        if not saw:
            fan_out = book.fan_outs.get(name)
            quiet = command.times == 1 and fan_out and fan_out.actor.at == "straggling" and fan_out.remaining == 0
            return None if quiet else laws.in_turn(book, book.actor(name), name, ["nothing"])
        for i, seen in enumerate(saw):
            actor = book.actor(name)
            doubt = laws.in_turn(book, actor, name, seen)
            if doubt or actor is None or seen[0] == "idle":
                return doubt
            told = self._of_worker if name in book.workers else self._of_dispatcher
            doubt = self._of_anybody(actor, seen) or told(actor, seen, saw[:i], saw[i + 1 :])
            if doubt:
                return doubt
        return None

    def _of_anybody(self, actor: Actor, seen: Sequence[Any]) -> Broken | None:
        book, word = self.book, seen[0]
        if word in OF_A_SLOT:
            doubt = laws.in_its_slot(book, actor, seen)
            if doubt:
                return doubt
        if word in ("passed", "sees", "took", "lost"):
            fan_out = book.slots.get(seen[2])
            if word == "took" and (doubt := laws.each_task_once(fan_out, seen[3])):
                return doubt
            self._tell(laws.sees_what_is_there(fan_out, seen))
        elif word == "settled":
            self._tell(laws.counts_down(seen[3], book.slots[seen[2]].remaining - 1))
        return None

    def _of_worker(self, w: Actor, seen: Sequence[Any], before: Saw, after: Saw) -> Broken | None:
        book, word = self.book, seen[0]
        at_the_top, in_a_window = w.at == "top", w.at == "window"
        if word == "announced":
            self._tell(laws.counts_down(seen[2], book.ready + 1))
        elif at_the_top:
            self._tell(laws.leaves_at_the_shutdown(book, w, word))
        elif word in ("again", "nothing_new"):
            self._tell(laws.nothing_missed(book, w, seen[2] if word == "again" else None))
        elif word in ("slept", "stayed"):
            self._tell(laws.no_lost_wake_up(book, w, word == "slept"))
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
        self._tell(laws.flags_first(book, w, word))
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
            doubt = laws.epoch_moves(book, seen[3])
            if doubt:
                return doubt
        elif word == "wakes":
            doubt = laws.wakes_the_parked(book, seen[2], seen[3])
            if doubt:
                return doubt
            parked = len(book.asleep())
            self._tell(laws.wakes_enough(fan_out, seen[2], parked), laws.wakes_no_herd(fan_out, seen[2], parked))
        elif word in ("straggles", "spun") or (word == "wrote" and seen[3] == "inactive"):
            doubt = laws.done_is_done(fan_out, word == "wrote")
            if doubt:
                return doubt
        elif word in ("finished", "raised"):
            self._tell(laws.told_truly(fan_out, seen))
        book.take_in(d, seen)
        if word == "spun":
            self._tell(laws.gives_way(book, fan_out))
        return None

    def _build(self, saw: Saw) -> Broken | None:
        book = self.book
        if book.built or not saw:
            right = book.built and [list(seen) for seen in saw] == [["idle", v.BUILDER, "built"]]
            return None if right else laws.in_turn(book, None, v.BUILDER, saw[0] if saw else ["nothing"])
        book.start = book.now if book.start is None else book.start
        for seen in saw:
            if book.built:
                return None if list(seen) == ["idle", v.BUILDER, "built"] else laws.in_turn(book, None, v.BUILDER, seen)
            if seen[0] not in laws.BUILDS:
                return laws.in_turn(book, None, v.BUILDER, seen)
            self._tell(laws.built_truly(book, seen))
            if seen[0] == "waits_ready":
                book.barrier_pauses += seen[1]
                self._tell(laws.barrier_gives_way(book, seen[2]))
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
