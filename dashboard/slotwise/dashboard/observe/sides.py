"""A trace played on the rules and on a target, side by side: plain data, and how it is told as text or JSON.

Whoever plays it gives the rows; they may be put into words only when they are asked for.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slotwise.dashboard.observe.words import escape, harmless

BEFORE, AFTER = 8, 4                     # rows around the first difference, in text
MOST = 200                               # rows in JSON
COLUMN = 72                              # characters of a column, in text
WIDEST = len("DIFFERS")


@dataclass(frozen=True, slots=True)
class Side:
    """One step. Words are as they are: whoever shows them makes them safe."""

    number: int                          # from 1; its line in the file is one more
    command: str
    expected: tuple[str, ...]            # what the rules say is seen
    found: tuple[str, ...] | None        # by the target; None: it did not come so far
    rules: tuple[str, ...]               # that decided, in order
    differs: bool
    wrong: str = ""                      # what is wrong here beside that: a law, a crash, the states

    @property
    def word(self) -> str:
        """What is wrong here, in a word; empty if nothing is."""
        return "DIFFERS" if self.differs else "" if not self.wrong else "FAILED" if self.found is None else "WRONG"

    @property
    def same(self) -> int:
        """How many observations are the same, before the first that is not."""
        found = self.found or ()
        return next((i for i, (one, other) in enumerate(zip(self.expected, found, strict=False)) if one != other), min(len(self.expected), len(found)))


@dataclass(frozen=True)
class Sides:
    trace: str
    mechanism: str
    profile: str
    setting: str
    target: str
    claims: bool                         # does the target claim to follow the profile?
    kind: str                            # of what is wrong first: "divergence", "law", "audit", "crash", "recording"; empty: nothing
    rule: str                            # the rule or law that it comes down to
    sentence: str                        # of that rule or law; empty for a crash, whichever rule decided then
    message: str                         # what is wrong first, in one line
    first: int | None                    # index of that row
    different: tuple[int, ...]           # indices of all rows that differ or are wrong, in order
    states: tuple[tuple[str, str, str], ...] | None      # after the first of them, where they differ: key, the rules', the target's; None: not to be had
    again: str                           # a command that shows it
    exit: int                            # as `slotwise replay` ends
    rows: Sequence[Side]

    @property
    def verdict(self) -> str:
        """One line."""
        judged = "" if self.claims else "; it does not claim the profile, so that only laws judge it"
        if self.first is None:
            return f"no difference in {count(len(self.rows))}{judged}"
        others = len(self.different) - 1
        named = self.rule if self.sentence else self.kind or "not a fault"
        return f"{named} at step {self.first + 1} of {len(self.rows):,}: {self.message}" + (f"; {others:,} more rows differ" if others > 0 else "") + judged

    def next(self, place: int, forward: bool) -> int | None:
        """The nearest row after or before that one that differs."""
        at = bisect_right(self.different, place) if forward else bisect_left(self.different, place) - 1
        return self.different[at] if 0 <= at < len(self.different) else None


def count(steps: int) -> str:
    return f"{steps:,} step" + ("" if steps == 1 else "s")


def joined(seen: Sequence[str] | None) -> str:
    """Observations in one line."""
    return "(not played)" if seen is None else "; ".join(seen) or "-"


def answer(side: Side) -> str:
    """Of the target."""
    return "(no answer)" if side.word == "FAILED" else joined(side.found)


def about(sides: Sides) -> list[str]:
    """The head, in lines that are safe to show."""
    lines = [f"{escape(sides.trace)}: {sides.mechanism} under {escape(sides.profile)}, {harmless(sides.setting)}, {count(len(sides.rows))}, reference and {harmless(sides.target)}", harmless(sides.verdict)]
    return lines + [f"{escape(sides.rule)}: {sides.sentence}"] * bool(sides.sentence)


def as_text(sides: Sides, *, whole: bool = False) -> str:
    """The first difference with its context and the states; with `whole` every row."""
    lines = about(sides)
    place = sides.first
    if place is not None or whole:
        start, end = (0, len(sides.rows)) if whole or place is None else (max(0, place - BEFORE), place + 1 + AFTER)
        lines += ["", *[f"  (after {count(start)})"] * (start > 0)]
        lines += _table(sides, start, end, None if whole else COLUMN)
        left = len(sides.rows) - end
        lines += [f"  (then {count(left)} more)"] * (left > 0)
    if place is not None:
        lines += ["", *(states(sides) if sides.states else [f"  {no_states(sides)}"])]
    return "\n".join(line.rstrip() for line in [*lines, "", f"  again  {sides.again}"]) + "\n"


def _table(sides: Sides, start: int, end: int, most: int | None) -> Iterator[str]:
    """Columns are cut, but those of the first difference."""
    shown = sides.rows[start:end]
    rows = [(harmless(side.command), harmless(joined(side.expected)), "=" if side.found is not None and not side.differs else harmless(answer(side))) for side in shown]
    if most is not None:
        rows = [row if side.number - 1 == sides.first else (harmless(row[0], most), harmless(row[1], most), harmless(row[2], most)) for side, row in zip(shown, rows, strict=True)]
    wide = [max([len(heading), *(min(COLUMN, len(row[i])) for row in rows)]) for i, heading in ((0, "command"), (1, "reference"))]
    digits = max(4, len(f"{end}") + 1)
    yield f"  {'':{WIDEST + 2 + digits}}  {'command':{wide[0]}}  {'reference':{wide[1]}}  target"
    for side, (command, expected, found) in zip(shown, rows, strict=True):
        mark = f"✖ {side.word}" if side.word else ""
        yield f"  {mark:{WIDEST + 2}}{side.number:>{digits}}  {command:{wide[0]}}  {expected:{wide[1]}}  {found}"
        if side.wrong:
            yield f"  {'':{WIDEST + 4 + digits}}{harmless(side.wrong)}"


def no_states(sides: Sides) -> str:
    return "the states are the same" if sides.states is not None else "the target does not give its state, or did not come so far"


def states(sides: Sides) -> list[str]:
    """Where they differ, after the first difference."""
    rows = [("state", "reference", "target"), *(sides.states or ())]
    told = [tuple(map(harmless, row)) for row in rows]
    wide = [min(60, max(len(row[i]) for row in told)) for i in range(2)]
    return [f"  {key:{wide[0]}}  {ours:{wide[1]}}  {theirs}" for key, ours, theirs in told]


def as_object(sides: Sides) -> dict[str, Any]:
    """At most 200 rows, around the first difference, and how many there are."""
    start = max(0, min((sides.first or 0) - MOST // 2, len(sides.rows) - MOST))
    return {
        "trace": sides.trace, "mechanism": sides.mechanism, "profile": sides.profile, "target": sides.target, "claims": sides.claims, "kind": sides.kind, "rule": sides.rule,
        "message": sides.message, "first": None if sides.first is None else sides.first + 1, "different": len(sides.different),
        "states": None if sides.states is None else [{"key": key, "reference": ours, "target": theirs} for key, ours, theirs in sides.states],
        "total": len(sides.rows), "again": sides.again, "exit": sides.exit,
        "rows": [
            {"number": side.number, "command": side.command, "expected": list(side.expected), "found": None if side.found is None else list(side.found), "rules": list(side.rules), "differs": side.differs, "word": side.word, "wrong": side.wrong}
            for side in sides.rows[start : start + MOST]
        ],
    }  # fmt: skip
