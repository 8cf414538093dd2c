"""The judge of checkpoint batching: it keeps a book of what was seen, and asks the laws. A stranger (no profile) is held to the limits that `slotwise` has."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slotwise.spec import batching_laws as laws
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_book import Ask, Book, Flight, Item
from slotwise.spec.law_registry import Broken, Saw


class Judge:
    """Feed it each command with what was seen. It says which laws the step broke, each law once. A break of LAW-31 to LAW-35 or LAW-56 leaves
    the book in doubt, and so does one of LAW-36 once it matters which of several updates of one name was sent: from then on the judge is silent. `profile` None: a stranger's discipline, judged by all laws."""

    def __init__(self, profile: v.Profile | None, setup: v.Setup) -> None:
        self.book = Book(setup.token)
        self.broken: dict[str, Broken] = {}                  # law -> the first break
        self.in_doubt = False
        self._news: list[Broken] = []
        self._limits = profile.discipline if profile else v.LookAhead()
        look_ahead = self._limits if isinstance(self._limits, v.LookAhead) else v.LookAhead()
        self._hold, self._unmeasured = max(1, look_ahead.hold), look_ahead.round_trip
        self._judge: dict[type, Callable[[Any, Saw], Broken | None]] = {
            v.Submit: self._submit, v.Refresh: self._refresh, v.Cancel: self._cancel, v.Credit: self._nothing, v.Stop: self._stop, v.Pump: self._pump,
            v.Respond: self._respond, v.Page: self._page, v.Fail: self._fail,
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

    def _tell(self, broken: Broken | None) -> None:
        if broken is not None and broken.law not in self.broken and not self.in_doubt:
            self.broken[broken.law] = broken
            self._news.append(broken)

    # producers
    def _submit(self, command: v.Submit, saw: Saw) -> Broken | None:
        book = self.book
        book.told(command)
        if saw[0][0] == "rejected":
            self._tell(laws.refusal_true(book, command.id, saw[0][2]))
            return None
        self._tell(laws.nothing_after_the_stop(book, command.id))
        self._tell(laws.no_orphans(book, command))
        book.accept_item(command)
        return None

    def _refresh(self, command: v.Refresh, saw: Saw) -> Broken | None:
        book = self.book
        if saw[0][0] == "rejected":
            self._tell(laws.refusal_true(book, command.id, saw[0][2]))
        elif saw[0][0] == "resumed":
            self._tell(laws.resumed_is_shown(book, command, saw[0]))
        else:
            self._tell(laws.nothing_after_the_stop(book, command.id))
            doubt = laws.asked_once(book, command.id)
            book.accept_refresh(command)
            return doubt
        return None

    def _cancel(self, command: v.Cancel, saw: Saw) -> Broken | None:
        asked = [ask for ask in self.book.alive() if (ask.owner == command.owner if command.id is None else ask.id == command.id)]
        for ask in self.book.asks:
            ask.withdrawn = ask.withdrawn or (ask in asked and ask.key is None and self.book.now < ask.due)
            ask.cancelled = ask.cancelled or ask in asked
        return self._settle(command, saw, list(asked))

    def _nothing(self, command: v.Command, saw: Saw) -> Broken | None:
        return None

    def _stop(self, command: v.Stop, saw: Saw) -> Broken | None:
        self.book.stopped = True
        return self._settle(command, saw, list(self.book.asks))

    def _settle(self, command: v.Command, saw: Saw, among: Sequence[Item | Ask]) -> Broken | None:
        """Everybody who is told something is of these."""
        left = list(among)
        for seen in saw:
            if seen[0] == "settled":
                named = [(one, self._untrue(command, one, seen[2])) for one in left if one.id == seen[1]]
                thing, untrue = min(named, key=lambda one: len(one[1]), default=(None, []))      # of several, one of which it is true
                if seen[2] == "ok" and any(untrue for _, untrue in named) and len({type(one) for one, _ in named}) > 1:
                    self.in_doubt = True                     # is it the item of that name, or the refresh?
                    return None
                doubt = laws.told_once(thing, f"{list(seen)}")
                if doubt or thing is None:
                    return doubt
                for broken in untrue:
                    self._tell(broken)
                left.remove(thing)
                self.book.forget(thing)
        return None

    def _untrue(self, command: v.Command, thing: Item | Ask, outcome: str) -> list[Broken]:
        told = [laws.outcome_true(self.book, command, thing, outcome)]
        if outcome == "ok":
            told.append(laws.durable_first(self.book, thing) if isinstance(thing, Item) else laws.done_is_seen(self.book, thing))
        return [broken for broken in told if broken]

    # the collector
    def _pump(self, command: v.Pump, saw: Saw) -> Broken | None:
        book = self.book
        word, *about = saw[-1]
        doubt = self._settle(command, saw, [*book.asks, *(item for item in book.queue if item.sync)])
        if doubt:
            return doubt
        self._tell(laws.stops_at_once(book, word))
        idle = book.flight is None
        book.open = None if not (idle and book.blocked()) else book.now if book.open is None else book.open
        there = [*(item.at for item in book.queue), *(ask.due for ask in book.due())] if idle else []
        book.looked = None if not there else max(min(there), book.now if book.looked is None else book.looked)
        if word == "send":
            return self._send(*about)
        if word == "exit":
            self._tell(laws.nobody_left_at_the_exit(book))
            return None
        self._sleep(about[0])
        return None

    def _sleep(self, until: int | None) -> None:
        book, collection = self.book, self._limits.collection
        self._tell(laws.sleeps_until(book, until))
        if book.flight is None:
            if book.queue:
                self._tell(laws.kept_no_longer(book, until, collection))
            if book.looked is not None:
                self._tell(laws.alive(book, until, collection))
            if book.open is not None:
                self._tell(laws.blocked_briefly(book, until, self._hold * (book.longest if book.answers else self._unmeasured)))

    def _send(self, updates: list[str], refreshes: list[str], token: str) -> Broken | None:
        book = self.book
        doubt = laws.one_at_a_time(book, updates)
        if doubt:
            return doubt
        self._tell(laws.in_order(book, updates))
        if self._which(updates):
            self.in_doubt = True
            return None
        self._tell(laws.newest_token(book, token))
        items: list[Item] = []
        asks: list[Ask] = []
        for id in updates:
            item = next((item for item in book.queue if item.id == id and not item.empty), None)
            doubt = laws.told_once(item, f"{id} is sent")
            if doubt or item is None:
                return doubt
            items.append(item)
            book.queue.remove(item)
        for id in refreshes:
            named = [ask for ask in book.asks if ask.id == id and ask not in asks]
            ask = min(named, key=lambda ask: (ask.cancelled, ask.key is None and ask.due > book.now, ask.key is not None), default=None)
            doubt = laws.told_once(ask, f"{id} is asked for")
            if doubt or ask is None:
                return doubt
            asks.append(ask)
        self._tell(laws.within_limits(self._limits, items))
        self._tell(laws.all_that_is_due(book, asks))
        book.asks = [ask for ask in book.asks if ask not in asks]
        book.queue = [item for item in book.queue if item.sync or not item.empty]        # nobody tells of an async empty item again
        book.flight = Flight(items, [item for item in book.queue if item.empty], asks, book.now)
        book.open = book.looked = None
        return None

    def _which(self, updates: list[str]) -> bool:
        """If one was overtaken, or may have been (too large, and of a common name): which of several of one name was sent?"""
        queued = [item for item in self.book.queue if not item.empty]
        names = [item.id for item in queued]
        return any(names.count(id) > 1 for id in updates) and ("LAW-36" in self.broken or any(item.size > self._limits.bytes for item in queued))

    # answers
    def _respond(self, command: v.Respond, saw: Saw) -> Broken | None:
        book = self.book
        doubt = laws.awaited(book, command, saw)
        if doubt or (saw and saw[0][0] == "unexpected") or book.flight is None:
            return doubt
        if command.token is None:
            return self._end("completed" if any(item.final for item in book.flight.items) else "revoked", command, saw)
        book.token = command.token
        return self._take(command, command.done, saw)

    def _page(self, command: v.Page, saw: Saw) -> Broken | None:
        doubt = laws.awaited(self.book, command, saw)
        return doubt if doubt or self.book.flight is None or not self.book.flight.fetching else self._take(command, command.done, saw)

    def _fail(self, command: v.Fail, saw: Saw) -> Broken | None:
        doubt = laws.awaited(self.book, command, saw)
        return doubt if doubt or self.book.flight is None else self._end("failed", command, saw)

    def _take(self, command: v.Respond | v.Page, done: tuple[str, ...], saw: Saw) -> Broken | None:
        book = self.book
        flight = book.flight
        assert flight
        flight.done |= set(done)
        flight.fetching = command.marker is not None
        if flight.fetching:
            return None
        doubt = self._resumed(saw) or self._again(saw) or self._settle(command, saw, book.everybody())
        if doubt:
            return doubt
        self._tell(laws.nobody_left(book, flight))
        book.shown |= flight.done
        book.longest, book.answers = max(book.longest, book.now - flight.sent), book.answers + 1
        book.asks = sorted([*book.asks, *flight.back], key=lambda ask: ask.seq)
        book.flight = None
        return None

    def _resumed(self, saw: Saw) -> Broken | None:
        waves: list[tuple[Sequence[Any], list[Ask]]] = []
        for seen in saw:
            if seen[0] == "resumed":
                asks = [next((ask for ask in self.book.alive() if ask.id == id), None) for id in seen[3]]
                for ask in asks:
                    doubt = laws.told_once(ask, f"{list(seen)}")
                    if doubt or ask is None:
                        return doubt
                    self._tell(laws.done_is_seen(self.book, ask))
                    self.book.forget(ask)
                waves.append((seen, [ask for ask in asks if ask]))
        self._tell(laws.in_waves(self.book, waves))
        return None

    def _again(self, saw: Saw) -> Broken | None:
        flight = self.book.flight
        assert flight
        for seen in saw:
            if seen[0] == "again":
                ask = next((ask for ask in self.book.alive() if ask.id == seen[1]), None)
                doubt = laws.told_once(ask, f"{list(seen)}")
                if doubt or ask is None:
                    return doubt
                self._tell(laws.not_done_yet(self.book, ask, seen[2]))
                self.book.forget(ask)
                flight.back.append(ask)
        return None

    def _end(self, why: str, command: v.Command, saw: Saw) -> Broken | None:
        book = self.book
        flight, book.over = book.flight, why
        assert flight
        doubt = self._settle(command, saw, book.everybody())
        if doubt:
            return doubt
        self._tell(laws.nobody_left(book, flight))
        book.flight, book.queue, book.asks = None, [], []
        return None
