"""Which rule does a difference come down to? As `blame` says it for admission.

For what differs in an answer it is the rule that gave the reference's; where a pump sends and the target waits, or they send different
requests, the rule that set the limit. For a difference in state only, it is the last rule that decided, of those that write that part of the
state; if none decided, the one that should have.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotwise.fuzz.blame_state import at_the_difference, writer_of
from slotwise.fuzz.judges import Finding
from slotwise.fuzz.target import Target
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation

#: The rules that give an answer, by its word: of those that decided, the first is to blame.
GIVES = {
    "accepted": ("REF-8", "REF-7", "BAT-4", "AWS-9", "AWS-8"),
    "rejected": ("BAT-1", "BAT-2", "BAT-3", "REF-5", "AWS-3", "AWS-4", "AWS-5", "AWS-6", "AWS-7"),
    "resumed": ("REF-6", "REF-15"),
    "again": ("REF-14",),
    "fetch": ("BAT-24", "AWS-33"),
    "exit": ("BAT-11", "BAT-13", "AWS-38", "AWS-12"),
    "sleep": ("BAT-12", "BAT-14", "BAT-15", "BAT-19", "BAT-16", "BAT-17", "BAT-18", "AWS-13", "AWS-20", "AWS-18"),
    "settled": ("BAT-27", "AWS-36", "REF-9", "BAT-28", "REF-13", "BAT-26", "AWS-38", "AWS-35", "AWS-34", "AWS-16", "AWS-17"),
}  # fmt: skip
#: Where the reference sends and the target does not: what ended the wait.
ENDS_THE_WAIT = ("BAT-13", "BAT-8", "BAT-9", "BAT-10", "BAT-20", "BAT-19", "BAT-16", "AWS-24", "AWS-23", "AWS-25", "AWS-29", "AWS-26", "AWS-27", "AWS-28", "BAT-21", "AWS-30")
#: Where the requests differ: in their updates, in their refreshes.
LIMITS, DUE = ("BAT-8", "BAT-9", "AWS-15", "AWS-23", "AWS-24", "BAT-21", "AWS-30"), ("REF-2", "REF-1", "BAT-21", "AWS-16", "AWS-30")
#: Where others go on.
SHOWS = ("REF-12", "REF-6", "REF-15")
#: The rules that write each key of the state.
WRITES = {
    "now": ("COL-1",), "token": ("BAT-23", "AWS-32"), "queue": ("BAT-4", "BAT-21", "BAT-27", "AWS-8", "AWS-10", "AWS-21", "AWS-22", "AWS-24", "AWS-36", "AWS-38"),
    "waiters": ("REF-8", "REF-7", "REF-9", "REF-14", "REF-12", "BAT-21", "BAT-28", "BAT-27"), "flight": ("BAT-21", "BAT-24", "REF-9", "AWS-30", "AWS-33"), "known": ("BAT-24",),
    "parents": ("BAT-5",), "closed": ("BAT-5",), "running": ("BAT-6",), "outside": ("BAT-6",), "stale": ("BAT-7", "BAT-20"), "open": ("BAT-21", "BAT-20", "BAT-14"), "moved": ("REF-8", "BAT-4"),
    "fell": ("BAT-6",), "round_trip": ("BAT-25",), "measured": ("BAT-25",), "ring": ("REF-4", "REF-3"), "slack": ("REF-10", "REF-11"), "asked": ("REF-7", "AWS-9"),
    "stopped": ("BAT-28",), "over": ("BAT-27", "BAT-13", "AWS-36", "AWS-38"), "phase": ("AWS-30", "AWS-19", "AWS-38"), "deadline": ("AWS-19", "AWS-30"),
    "quiet_until": ("AWS-20", "AWS-30"), "until": ("AWS-18", "AWS-20"), "overflow": ("AWS-15", "AWS-24"), "batch": ("AWS-16", "AWS-15", "AWS-22", "AWS-30"),
    "heap": ("AWS-11", "AWS-17", "AWS-16", "AWS-9"), "woken": ("AWS-10", "AWS-21"), "children": ("AWS-1",), "orphans": ("AWS-2",),
}  # fmt: skip
#: Of the keys that differ, the first of these is to blame.
FIRST = ("slack", "ring", "stale", "round_trip", "measured", "fell", "moved", "open", "closed", "parents", "orphans", "children", "woken", "overflow", "quiet_until", "deadline", "heap", "running",
         "outside", "waiters", "queue", "batch", "token", "asked", "known", "over", "stopped", "phase", "until", "flight", "now")  # fmt: skip
LAST_RESORT = "COL-2"


def in_finer_steps(finding: Finding) -> None:
    """No command of batching can be taken apart."""


def blamed_for_state(keys: Sequence[str], decided: Sequence[str]) -> str:
    return writer_of(keys, decided, FIRST, WRITES, LAST_RESORT)


def blamed(target: Target, profile: Any, setup: Any, commands: Sequence[Any], expected: Sequence[Observation], found: Sequence[Observation]) -> str:
    """The rule behind a difference in what was seen after the last of `commands`."""
    decided, wanted, got = at_the_difference(profile, setup, commands, expected, found)
    for word, rule in (("time_reversed", "COL-1"), ("unexpected", "COL-2")):
        if word in (*wanted[:1], *got[:1]):
            return rule
    if isinstance(commands[-1], v.Credit):
        return decided[-1] if decided else LAST_RESORT
    if blame := [rule for rule in suspects(wanted, got) if rule in decided]:
        return blame[0]
    if isinstance(commands[-1], v.Pump) and "settled" in (*wanted[:1], *got[:1]):
        return "AWS-16"                                  # it settles what was cancelled, also if nothing joins
    return decided[-1] if decided else LAST_RESORT


def suspects(wanted: Any, got: Any) -> tuple[str, ...]:
    word = str(wanted[0]) if wanted else ""
    if word == "send":
        if got[:1] != ("send",):
            return ENDS_THE_WAIT
        return LIMITS if wanted[1] != got[1] else DUE if wanted[2] != got[2] else ("BAT-21", "AWS-30")
    if word == "resumed" and got[:1] == ("resumed",) and set(wanted[3]) != set(got[3]):
        return SHOWS
    return GIVES.get(word) or (GIVES.get(str(got[0]), ()) if got else ())
