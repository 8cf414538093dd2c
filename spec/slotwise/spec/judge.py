"""The judge of admission: it keeps a book of what was seen, and asks the laws. A stranger (no profile) is judged by all of them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slotwise.spec import laws
from slotwise.spec import vocabulary as v
from slotwise.spec.book import Book
from slotwise.spec.law_registry import Broken, Saw
from slotwise.spec.vocabulary import Command, Group


class Judge:
    """Feed it each command with what was seen. It says which laws the step broke, each law once. A break of LAW-1 to LAW-10 leaves the
    book in doubt: from then on the judge is silent. `profile` None: a stranger's discipline, judged by all laws."""

    def __init__(self, profile: v.Profile | None, capacity: dict[str, int]) -> None:
        self.book = Book(dict(capacity))
        self.broken: dict[str, Broken] = {}                  # law -> the first break
        self.in_doubt = False
        self._news: list[Broken] = []
        self._passed: dict[str, laws.Passed] = {}            # group -> of its head
        self._lightest: dict[str, float] = {}                # group -> its least weight so far
        slot_time = profile.discipline if profile is not None and isinstance(profile.discipline, v.SlotTime) else None
        self._limits = profile is None or slot_time is not None
        self._factor = max(4, slot_time.ahead * slot_time.arrears) if slot_time else 4
        self._judge: dict[type, Callable[[Any, Saw], Broken | None]] = {
            v.Enqueue: self._enqueue, v.Discard: self._discard, v.DiscardWhere: self._discard_where, v.Pump: self._pump,
            v.Select: self._select, v.Commit: self._commit, v.Release: self._release, v.Explain: self._explain,
        }  # fmt: skip

    def step(self, command: Command, saw: Saw) -> list[Broken]:
        """The laws broken by this step that were not broken before."""
        book = self.book
        if self.in_doubt:
            book.update(command, saw)
            return []
        if command.at < book.now or (saw and saw[0] and saw[0][0] == "time_reversed"):
            doubt = laws.time_goes_on(book, command, saw)
        else:
            doubt = laws.in_words(command, saw)
            if doubt is None:
                book.now = command.at
                doubt = self._judge[type(command)](command, saw)
        if doubt is not None:
            self.in_doubt = True
            self._tell(doubt)
        if not self._news:
            return []
        news, self._news = self._news, []
        return news

    def _tell(self, broken: Broken | None) -> None:
        if broken is not None and broken.law not in self.broken:
            self.broken[broken.law] = broken
            self._news.append(broken)

    def _enqueue(self, command: v.Enqueue, saw: Saw) -> Broken | None:
        book = self.book
        sent = {group.name: group for group in command.groups}
        for task, seen in zip(command.tasks, saw, strict=True):
            word, reason = seen[0], seen[2] if len(seen) > 2 else ""
            spec = sent.get(task.group) or book.groups.get(task.group) or Group(task.group)
            if word == "refused" or word == "accepted":
                self._tell(laws.accepts_the_possible(book, task, spec, word, reason))
            if word == "refused":
                continue
            broken = laws.waiting_is_known(book, task.id, word)
            if broken:
                return broken
            if word == "accepted":
                least = self._lightest.get(task.group)
                if least is None or spec.weight != book.groups[task.group].weight:
                    self._passed.clear()
                    self._lightest[task.group] = spec.weight if least is None else min(least, spec.weight)
                book.accepted(task, spec)
        return None

    def _discard(self, command: v.Discard, saw: Saw) -> Broken | None:
        word = saw[0][0]
        broken = laws.waiting_is_known(self.book, command.task, word)
        if broken is None and word == "discarded":
            self.book.gone(command.task)
        return broken

    def _discard_where(self, command: v.DiscardWhere, saw: Saw) -> Broken | None:
        book = self.book
        wanted = [id for id, task in book.waiting.items() if command.group in (None, task.group) and id.startswith(command.prefix)]
        broken = laws.discards_what_matches(wanted, [seen[1] for seen in saw])
        if broken is None:
            for id in wanted:
                book.gone(id)
        return broken

    def _pump(self, command: v.Pump, saw: Saw) -> Broken | None:
        for seen in saw[:-1]:
            broken = self._start(seen, passes=True)
            if broken:
                return broken
        word, started = saw[-1][0], len(saw) - 1
        self._close(word, started, command.at_most)
        return None

    def _close(self, word: str, started: int, at_most: int | None) -> None:
        book = self.book
        wrong = laws.closing_word_true(book, word, started, at_most)
        if wrong is None and word == "blocked":
            if book.running:
                wrong = None if "LAW-11" in self.broken else laws.work_conserving(book, self._limits)
            elif "LAW-16" not in self.broken:
                wrong = laws.nothing_stalls(book, self._limits) or laws.drains(book, self._limits)
        self._tell(wrong)

    def _start(self, seen: Sequence[Any], passes: bool) -> Broken | None:
        book = self.book
        _, lease, id, needs = seen
        broken = laws.starts_once(book, lease, id, needs) or laws.first_in_first_out(book, id)
        group = book.waiting[id].group if id in book.waiting else ""
        broken = broken or laws.within_capacity(book, id, needs) or (laws.within_running_limit(book, group) if self._limits else None)
        if broken:
            return broken
        self._passed.pop(group, None)
        over = [head for head in book.heads() if head.group != group and not book.runs.get(head.group) and book.fits(head)] if passes and len(book.fifo) > 1 else ()
        book.started(lease, id, needs)
        for head in over:
            passed = self._passed.get(head.group)
            if passed is None or passed.head != head.id:
                passed = self._passed[head.group] = laws.Passed(head.id, self._behind())
            passed.by.append(lease)
            self._tell(laws.waits_bounded(book, head.group, passed, self._lightest[head.group], self._factor))
        return None

    def _behind(self) -> float:
        """With one resource all groups compete for it, and are level when they meet; with several, what each has had elsewhere may count."""
        book = self.book
        if len(book.capacity) == 1:
            return 0.0
        had = dict(book.attained)
        for lease, run in book.running.items():
            had[run.task.group] = had.get(run.task.group, 0) + book.slot_time(lease)
        return sum(attained / weight for group, attained in had.items() if (weight := self._lightest.get(group, 0)))

    def _select(self, command: v.Select, saw: Saw) -> Broken | None:
        word = saw[0][0]
        if word != "selected":
            self._close(word, 0, None)
            return None
        _, id, version = saw[0]
        self._tell(laws.verdict_true(self.book, id, None, self._limits))
        self.book.selected(id, version)
        return laws.first_in_first_out(self.book, id)

    def _commit(self, command: v.Commit, saw: Saw) -> Broken | None:
        word = saw[0][0]
        self._tell(laws.selection_goes_stale(self.book, command, word))
        if word == "started":
            return self._start(saw[0], passes=False)
        if word == "refused":
            self._tell(laws.verdict_true(self.book, command.task, saw[0][2], self._limits))
            return laws.first_in_first_out(self.book, command.task)
        return None

    def _release(self, command: v.Release, saw: Saw) -> Broken | None:
        word = saw[0][0]
        broken = laws.frees_once(self.book, command, word)
        if broken is None and word == "released":
            self.book.ended(command.lease)
        return broken

    def _explain(self, command: v.Explain, saw: Saw) -> Broken | None:
        book = self.book
        for seen in saw:
            self._tell(laws.verdict_true(book, seen[1], seen[2] if len(seen) > 2 else None, self._limits))
            broken = laws.first_in_first_out(book, seen[1])
            if broken:
                return broken
        return laws.every_head_explained(book, [seen[1] for seen in saw])
