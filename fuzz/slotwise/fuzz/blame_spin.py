"""Which rule does a difference come down to? As `blame` says it for admission.

Several steps in one command are first taken apart. For what differs in an answer it is the rule that gave the reference's; for a difference in
state only, the last rule that decided, of those that write that part of the state; if none decided, the one that should have.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.blame_state import at_the_difference, writer_of
from slotwise.fuzz.judges import Finding
from slotwise.fuzz.target import Target
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.vocabulary import Observation

#: More steps than these are not taken apart.
FINE = 200
#: The rules that give an answer, by its word: of those that decided, the first is to blame.
GIVES = {
    "announced": ("SPN-30",), "waits_ready": ("SPN-68", "SPN-67", "SPN-66", "SPN-65"), "built": ("SPN-64",), "abandoned": ("SPN-69",), "looks": ("SPN-32",), "passed": ("SPN-24",), "sees": ("SPN-25",),
    "took": ("SPN-26",), "lost": ("SPN-27",), "ended": ("SPN-28",), "settled": ("SPN-29",), "nothing_new": ("SPN-36", "SPN-37", "SPN-38"), "again": ("SPN-34",),
    "spun": ("SPN-9", "SPN-8", "SPN-6", "SPN-61", "SPN-7", "SPN-4", "SPN-3"), "caught": ("SPN-2", "SPN-41"), "expired": ("SPN-36", "SPN-4", "SPN-5", "SPN-39"), "slept": ("SPN-42",), "stayed": ("SPN-43",),
    "stirred": ("SPN-23",), "woke": ("SPN-44",), "left": ("SPN-1", "SPN-31"), "held": ("SPN-53",), "wrote": ("SPN-54", "SPN-62"), "published": ("SPN-55",), "wakes": ("SPN-57", "SPN-56"),
    "straggles": ("SPN-60",), "finished": ("SPN-49", "SPN-63"), "raised": ("SPN-63",), "declined": ("SPN-45", "SPN-46", "SPN-47", "SPN-48", "SPN-50", "SPN-51", "SPN-52"),
    "idle": ("SPN-71", "SPN-72", "SPN-73"), "shut_down": ("SPN-22",), "counters": ("SPN-74",), "time_reversed": ("SPN-70",),
}  # fmt: skip
#: How long windows are.
POLICY = ("SPN-19", "SPN-18", "SPN-20", "SPN-16", "SPN-17", "SPN-11", "SPN-10", "SPN-15", "SPN-14", "SPN-13", "SPN-12", "SPN-21")
#: The rules that write each key of the state.
WRITES = {
    "now": ("SPN-70",), "shutdown": ("SPN-22", "SPN-69"), "epoch": ("SPN-55", "SPN-22", "SPN-69"), "ready": ("SPN-30",), "active": ("SPN-54", "SPN-62"), "taken": ("SPN-53", "SPN-63"),
    "sleepers": ("SPN-42", "SPN-57", "SPN-56", "SPN-23", "SPN-22", "SPN-69"),
    "counters": ("SPN-28", "SPN-58", "SPN-60", "SPN-61", "SPN-35", "SPN-40", "SPN-39", "SPN-41", "SPN-52", "SPN-56", "SPN-57"),
    "calls": ("SPN-75",), "slots": ("SPN-26", "SPN-29", "SPN-54", "SPN-62", "SPN-28", "SPN-24", "SPN-27"), "lone": POLICY,
    "workers": ("SPN-33", "SPN-76", "SPN-6", "SPN-8", "SPN-41", "SPN-10", "SPN-11", "SPN-40", "SPN-36", "SPN-37", "SPN-38", "SPN-34", "SPN-35", "SPN-39", "SPN-32", "SPN-30", "SPN-31", "SPN-44", "SPN-43", "SPN-42",
                "SPN-23", "SPN-57", "SPN-56", "SPN-22", "SPN-5", "SPN-9", "SPN-7", "SPN-4", "SPN-3", "SPN-1", "SPN-2", "SPN-26", "SPN-27", "SPN-28", "SPN-29", "SPN-24", "SPN-25", *POLICY),
    "dispatchers": ("SPN-59", "SPN-60", "SPN-61", "SPN-58", "SPN-53", "SPN-54", "SPN-55", "SPN-62", "SPN-63", "SPN-26", "SPN-27", "SPN-28", "SPN-29", "SPN-25", "SPN-24"),
    "builder": ("SPN-68", "SPN-67", "SPN-66", "SPN-65", "SPN-64", "SPN-69"),
}  # fmt: skip
#: Of the keys that differ, the first of these is to blame.
FIRST = ("lone", "taken", "active", "ready", "builder", "sleepers", "slots", "calls", "counters", "dispatchers", "workers", "epoch", "shutdown", "now")
#: Where the target does one thing, and the rules another: the rule that did not decide.
SHOULD_NOT = {("stayed", "slept"): "SPN-42", ("wrote", "published"): "SPN-55", ("passed", "took"): "SPN-24", ("passed", "lost"): "SPN-24", ("lost", "took"): "SPN-27", ("looks", "left"): "SPN-31"}
LAST_RESORT = "SPN-71"


def in_finer_steps(finding: Finding) -> list[Any] | None:
    """The last command a step at a time, if it is so many steps of one actor."""
    last = finding.commands[-1]
    if not isinstance(last, v.Go) or not 1 < last.times <= FINE:
        return None
    return [*finding.commands[:-1], *[changed(last, times=1)] * last.times]


def blamed_for_state(keys: Sequence[str], decided: Sequence[str]) -> str:
    return writer_of(keys, decided, FIRST, WRITES, LAST_RESORT)


def blamed(target: Target, profile: Any, setup: Any, commands: Sequence[Any], expected: Sequence[Observation], found: Sequence[Observation]) -> str:
    """The rule behind a difference in what was seen after the last of `commands`."""
    decided, wanted, got = at_the_difference(profile, setup, commands, expected, found)
    if undecided := SHOULD_NOT.get((*wanted[:1], *got[:1])):
        return undecided
    if wanted[:1] == got[:1] == ("spun",) and wanted[4] != got[4] and "SPN-4" in decided:
        return "SPN-3"                                   # which passes only pause
    if blame := [rule for rule in suspects(commands[-1], wanted, got) if rule in decided]:
        return blame[0]
    return decided[-1] if decided else LAST_RESORT


def suspects(command: Any, wanted: Any, got: Any) -> tuple[str, ...]:
    word = str(wanted[0]) if wanted else ""
    if "time_reversed" in (word, *got[:1]):
        return ("SPN-70",)
    match word:
        case "outcome" if got[:1] == ("outcome",):
            return of_a_window(wanted, got)
        case "waited":
            return POLICY
        case "caught" | "woke" | "expired" if got[:1] == wanted[:1]:
            return POLICY                                # another length
        case "spun" if got[:1] == ("spun",) and not isinstance(command, v.Wait | v.Script):
            return ("SPN-6", "SPN-8", "SPN-61") if wanted[3] != got[3] else ("SPN-9", "SPN-3", "SPN-4", "SPN-7") if wanted[4] != got[4] else GIVES[word]
        case "spun" if got[:1] == ("expired",):
            return ("SPN-5", *GIVES[word])
        case "wrote" if wanted[3] == "inactive":
            return ("SPN-59", "SPN-62")
        case "" if got[:1] == ("straggles",):
            return ("SPN-59",)
        case _:
            return GIVES.get(word) or (GIVES.get(str(got[0]), ()) if got else ())


def of_a_window(wanted: Any, got: Any) -> tuple[str, ...]:
    """(outcome, passes, yields, readings, elapsed)"""
    if wanted[1] != got[1] and wanted[1] in ("shutdown", "caught"):
        return ("SPN-1",) if wanted[1] == "shutdown" else ("SPN-2",)
    if wanted[3] != got[3]:
        return ("SPN-6", "SPN-8", "SPN-5")
    return ("SPN-5", "SPN-7", "SPN-9") if wanted[2] != got[2] else ("SPN-9", "SPN-3", "SPN-4")
