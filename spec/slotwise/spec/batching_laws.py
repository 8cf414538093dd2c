"""The laws of checkpoint batching. A law is a predicate over commands and observations alone, as in `laws`; it judges anybody's collector.

A function says what is broken, or None. `batching_judge` asks them, step by step.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, get_args

from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_book import Ask, Book, Flight, Item
from slotwise.spec.law_registry import Law, Saw
from slotwise.spec.law_registry import law as any_law

LAWS: dict[str, Law] = {}
law = partial(any_law, laws=LAWS)

NONE = type(None)
_ID, _SETTLED, _RESUMED = (str, str), (str, str, str), (str, str, (int, NONE), list)
_ANSWER = {"settled": _SETTLED, "again": (str, str, int), "resumed": _RESUMED, "fetch": (str, str, str), "unexpected": _ID}
#: The words that answer each command, beside `time_reversed`, and the types of what is seen: of the word, and of what follows it.
ANSWERS: dict[type, dict[str, tuple[Any, ...]]] = {
    v.Submit: {"accepted": _ID, "rejected": _SETTLED},
    v.Refresh: {"accepted": _ID, "rejected": _SETTLED, "resumed": _RESUMED},
    v.Cancel: {"settled": _SETTLED},
    v.Credit: {},
    v.Stop: {"settled": _SETTLED},
    v.Pump: {"settled": _SETTLED, "send": (str, list, list, str), "sleep": (str, (int, NONE)), "exit": (str,)},
    v.Respond: _ANSWER,
    v.Page: _ANSWER,
    v.Fail: {"settled": _SETTLED, "unexpected": _ID},
}
LAST, ALONE = frozenset(("send", "sleep", "exit")), frozenset(("accepted", "rejected", "fetch", "unexpected"))
_REASONS = {"settled": frozenset(get_args(v.Outcome)), "rejected": frozenset(get_args(v.Why))}
#: What the end makes of everybody who waits; on a request that completed the execution, an update is well.
AT_THE_END = {"completed": "orphaned", "revoked": "suspended", "failed": "failed"}


def word_of(command: v.Command) -> str:
    return str(type(command).__struct_config__.tag)


# These leave the book in doubt, once they are broken.
@law("LAW-31", source="design 4")
def in_words(command: v.Command, saw: Saw) -> str | None:
    """Every command is answered, in the words of the vocabulary; an item or a refresh is answered about that one, and the last word of a pump says what the driver shall do."""
    words = ANSWERS[type(command)]
    for seen in saw:
        types = words.get(seen[0]) if seen else None
        if types is None or len(seen) != len(types) or not all(map(isinstance, seen, types)) or bool in map(type, seen):
            return f"{list(seen)} does not answer {word_of(command)}"
        if seen[0] in _REASONS and seen[2] not in _REASONS[seen[0]]:
            return f"{seen[2]} is no reason"
    told = [seen[0] for seen in saw]
    wrong = not LAST.isdisjoint(told[:-1]) or (len(told) > 1 and not ALONE.isdisjoint(told))
    if isinstance(command, (v.Submit, v.Refresh)):
        wrong = len(saw) != 1 or command.id not in (saw[0][1], *(saw[0][3] if told == ["resumed"] else ()))
    elif isinstance(command, v.Pump):
        wrong = wrong or not told or told[-1] not in LAST
    return f"{[list(seen) for seen in saw]} answers {word_of(command)}" if wrong else None


@law("LAW-32", source="design 4")
def time_goes_on(book: Book, command: v.Command, saw: Saw) -> str | None:
    """A command from before an earlier one is answered `time_reversed` with the time that it is, and does nothing; no other command is."""
    told = any(seen and seen[0] == "time_reversed" for seen in saw)
    if told != (command.at < book.now) or (told and (len(saw) != 1 or list(saw[0]) != ["time_reversed", book.now])):
        return f"at {command.at}, when it was {book.now}: {[list(seen) for seen in saw]}"
    return None


@law("LAW-33", source="discipline BAT-13")
def awaited(book: Book, command: v.Respond | v.Page | v.Fail, saw: Saw) -> str | None:
    """An answer that nothing awaits is called unexpected, and only that; an answer with more pages makes the collector fetch the next one, with the newest token, and tell nobody anything."""
    fetching = book.flight.fetching if book.flight else None
    expected = fetching is not None if isinstance(command, v.Fail) else fetching is isinstance(command, v.Page)
    if not expected:
        return None if [list(seen) for seen in saw] == [["unexpected", word_of(command)]] else f"{word_of(command)} was not awaited, and was answered {list(saw)}"
    token = command.token if isinstance(command, v.Respond) else book.token
    marker = None if isinstance(command, v.Fail) or token is None else command.marker
    pages = [["fetch", marker, token]] if marker is not None else []
    right = [list(seen) for seen in saw if marker is not None or seen[0] in ("fetch", "unexpected")] == pages
    return None if right else f"{word_of(command)} was answered {[list(seen) for seen in saw]}"


@law("LAW-34", source="discipline L1")
def one_at_a_time(book: Book, updates: list[str]) -> str | None:
    """Requests never overlap."""
    return None if book.flight is None else f"{updates} are sent, and the request of {book.flight.sent} is not answered"


@law("LAW-35", source="discipline L3, BAT-3")
def told_once(found: object, what: str) -> str | None:
    """What is sent was accepted, and is sent once; what is settled, resumed or asked for again was accepted, and is settled once."""
    return f"{what}, and nothing of that name was accepted, or it was told before" if found is None else None


@law("LAW-56", source="discipline REF-1")
def asked_once(book: Book, id: str) -> str | None:
    """One refresh of an operation is asked for at a time."""
    return f"{id} is asked for again" if any(ask.id == id for ask in book.alive()) else None


# These do not.
@law("LAW-36", source="discipline L2")
def in_order(book: Book, updates: list[str]) -> str | None:
    """Updates leave in the order in which they were accepted."""
    oldest = [item.id for item in book.queue if not item.empty][: len(updates)]
    return None if updates == oldest else f"{updates} are sent, before {oldest}"


@law("LAW-37", source="discipline L5")
def within_limits(limits: v.LookAhead | v.Shipped, items: list[Item]) -> str | None:
    """A request carries at most so many updates, and at most so many bytes or a single update."""
    size = sum(item.size for item in items)
    fits = len(items) <= limits.updates and (size <= limits.bytes or len(items) == 1)
    return None if fits else f"{len(items)} updates of {size} bytes"


@law("LAW-38", source="discipline BAT-13")
def newest_token(book: Book, token: str) -> str | None:
    """Every request carries the token of the answer before."""
    return None if token == book.token else f"{token}, after {book.token}"


@law("LAW-39", source="discipline BAT-11; semantics 2.4 F, 2.5")
def all_that_is_due(book: Book, refreshes: list[Ask]) -> str | None:
    """A request takes every refresh that is due, none before it is due, and none that was cancelled before."""
    early = [ask.id for ask in refreshes if ask.withdrawn or (ask.key is None and ask.due > book.now)]
    left = [ask.id for ask in book.due() if ask not in refreshes]
    return f"{early} are not due" if early else f"{left} are left" if left else None


@law("LAW-40", source="discipline L3, BAT-3")
def durable_first(book: Book, item: Item) -> str | None:
    """A producer goes on only when a request that was sent after it came is answered, and carried its update."""
    flight = book.flight
    return None if flight and (item in flight.items or item in flight.empties) else f"{item.id} is well, and was on no request"


@law("LAW-41", source="discipline L4, REF-2, REF-7; H2")
def done_is_seen(book: Book, ask: Ask) -> str | None:
    """A refresh by stamp is done only when an answer has shown its operation done; one by time, only by the answer to a request sent at or after that time."""
    flight = book.flight
    if ask.cancelled:
        return None
    if ask.key is not None:
        return None if ask.id in book.shown or (flight and ask.id in flight.done) else f"{ask.id} is done, and was not shown"
    return None if flight and (ask in flight.asks or ask.id in flight.done) else f"{ask.id} is done, and was on no request"


@law("LAW-42", source="discipline REF-2")
def resumed_is_shown(book: Book, command: v.Refresh, seen: Sequence[Any]) -> str | None:
    """A refresh that is not waited for was shown done before, and its own branch goes on."""
    right = command.id in book.shown and list(seen) == ["resumed", command.owner, command.key, [command.id]]
    return None if right else f"{list(seen)}"


@law("LAW-43", source="discipline REF-5; H2")
def not_done_yet(book: Book, ask: Ask, due: int) -> str | None:
    """What is asked for again was on the request, and was not shown done; and not before now."""
    flight = book.flight
    seen = ask.id in book.shown or (flight and ask.id in flight.done)
    right = flight and ask in flight.asks and ask.key is not None and not seen and due >= book.now
    return None if right else f"{ask.id} again at {due}"


@law("LAW-44", source="discipline REF-7")
def in_waves(book: Book, waves: list[tuple[Sequence[Any], list[Ask]]]) -> str | None:
    """Branches of one owner that waited for one instant go on together, in the order of their index, and instants in order, those without a stamp last."""
    names = [(seen[1], seen[2]) for seen, _ in waves]
    keys = [(key is None, key or 0) for _, key in names]
    wrong = len(set(names)) < len(names) or keys != sorted(keys)
    for (owner, key), (_, asks) in zip(names, waves, strict=True):
        wrong = wrong or any((ask.owner, ask.key) != (owner, key) for ask in asks) or asks != sorted(asks, key=lambda ask: (ask.index, ask.seq))
    return f"{[list(seen) for seen, _ in waves]}" if wrong else None


@law("LAW-45", source="discipline L3, BAT-14, BAT-15; semantics 2.6")
def nobody_left(book: Book, flight: Flight | None) -> str | None:
    """When its answer is there, everybody on a request has been told; at the end, everybody."""
    left = [item.id for item in flight.items if item.sync] + [ask.id for ask in flight.asks] if flight else []
    if book.over:
        left += [item.id for item in book.queue if item.sync] + [ask.id for ask in book.asks]
    return f"{left} were told nothing" if left else None


@law("LAW-46", source="discipline BAT-12, BAT-15, REF-5, REF-8; semantics 2.6")
def outcome_true(book: Book, command: v.Command, thing: Item | Ask, outcome: str) -> str | None:
    """An outcome says what happened: well, or cancelled by a cancel; orphaned by the stop or the completion, suspended by the loss of the token, failed by an error."""
    if isinstance(command, v.Cancel):
        right = outcome == "cancelled"
    elif book.over and not isinstance(command, v.Pump):
        on_it = book.flight is not None and thing in (*book.flight.items, *book.flight.empties, *book.flight.asks)
        right = outcome == AT_THE_END[book.over] or (outcome == "ok" and book.over == "completed" and on_it)
    elif isinstance(command, (v.Respond, v.Page)):
        right = outcome == "ok" or (outcome == "orphaned" and book.stopped and isinstance(thing, Ask))
    else:
        right = (outcome == "orphaned" and book.stopped) or (outcome == "ok" and isinstance(thing, Ask) and thing.cancelled)
    return None if right else f"{thing.id}: {outcome}, by {word_of(command)}"


@law("LAW-47", source="discipline BAT-1; semantics 2.3")
def refusal_true(book: Book, id: str, why: str) -> str | None:
    """A refusal has a true reason."""
    reasons = {"orphaned": book.perhaps_below_an_ended(id), "stopped": book.stopped, "duplicate": any(ask.id == id for ask in book.alive()), "no_refresh": True}
    return None if reasons.get(why, why == book.over) else f"{id}: {why}"


@law("LAW-48", source="discipline BAT-1; semantics 6, rows 6 and 7")
def no_orphans(book: Book, command: v.Submit) -> str | None:
    """Nothing is accepted from below a context that has ended."""
    return f"{command.id} is below {command.parent}, which has ended" if book.below_an_ended(command.parent) else None


@law("LAW-49", source="discipline L9, BAT-1; H3")
def nothing_after_the_stop(book: Book, id: str) -> str | None:
    """Nothing is accepted after the stop or the end."""
    return f"{id} is accepted" if book.stopped or book.over else None


@law("LAW-50", source="discipline L9, BAT-6, BAT-12; H5")
def stops_at_once(book: Book, word: str) -> str | None:
    """After the stop, an idle channel sends or ends at once; after the end, a pump only says so; before, it never does."""
    stopped = book.stopped and book.flight is None
    right = {"exit": book.over or stopped, "send": not book.over, "sleep": not book.over and not stopped}
    return None if right[word] else word


@law("LAW-51", source="discipline L9; semantics 2.6; H3")
def nobody_left_at_the_exit(book: Book) -> str | None:
    """At the exit nobody is left who was told nothing."""
    left = [one.id for one in book.everybody()]
    return f"{left} were told nothing" if left else None


@law("LAW-52", source="discipline L6; H1, H4")
def kept_no_longer(book: Book, until: int | None, longest: int) -> str | None:
    """An idle channel keeps no item longer than the longest collection after it came."""
    first = book.queue[0]
    return None if until is not None and until <= first.at + longest else f"{first.id} came at {first.at}, and is kept until {until}"


@law("LAW-53", source="semantics 8; H1")
def alive(book: Book, until: int | None, longest: int) -> str | None:
    """A collector that is asked, with an idle channel and something to send, sends something within the longest collection: nobody is blocked for ever."""
    assert book.looked is not None
    return None if until is not None and until <= book.looked + longest else f"asked at {book.looked}, and sleeps until {until}"


@law("LAW-54", source="discipline L7")
def blocked_briefly(book: Book, until: int | None, longest: int) -> str | None:
    """While somebody is blocked, an idle channel does not wait for more for as long as a round trip (or what the profile holds), of those seen the longest."""
    assert book.open is not None
    return None if until is not None and until < book.open + longest else f"blocked since {book.open}, until {until}"


@law("LAW-55", source="discipline L8")
def sleeps_until(book: Book, until: int | None) -> str | None:
    """A sleep ends later than now; one without a time is only for a request that is out, or if there is nothing to send and nobody waits."""
    if until is not None:
        return None if until > book.now else f"until {until}, and it is {book.now}"
    left = [item.id for item in book.queue] + [ask.id for ask in book.asks if not ask.cancelled]
    return f"with {left}" if left and book.flight is None else None


#: The laws that a profile is known to break (measured: each breaks exactly these).
_PUBLISHED = frozenset(f"LAW-{n}" for n in (36, 41, 48, 49, 50, 51, 52, 53, 54))
KNOWN_HAZARDS: dict[str, frozenset[str]] = {
    "aws-durable-2.0.0": _PUBLISHED - {"LAW-41"} | {"LAW-46", "LAW-47"}, "aws-durable-3.0.0": _PUBLISHED | {"LAW-56"}, "slotwise": frozenset(),
}  # fmt: skip
