"""A failure explained, in plain text for a terminal: which rule, what differs first, both states side by side, and what was done."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slotwise.fuzz.judges import different_at, plainly
from slotwise.fuzz.report import Failure
from slotwise.fuzz.searches import SEARCHES, search_of
from slotwise.fuzz.wording import units
from slotwise.spec.vocabulary import Observation

HEADINGS = {
    "divergence": "the target differs from the rules",
    "law": "the target breaks a law",
    "audit": "the target is wrong inside",
    "crash": "the target failed",
    "nondeterminism": "the target does not do the same twice",
}
STEPS = 12
WIDTH = 100


def explain(failure: Failure, *, steps: int = STEPS) -> str:
    """Many lines, the last ended by a newline. At most so many steps are shown."""
    return "\n".join(line.rstrip() for line in _lines(failure, steps)) + "\n"


def _lines(failure: Failure, steps: int) -> Iterator[str]:
    yield f"{failure.rule}: {HEADINGS[failure.kind]}"
    if failure.sentence:
        yield from wrapped(failure.sentence, "    ")
    yield ""
    yield f"  {failure.message}"
    yield ""
    seed = "" if failure.seed is None else f", episode {failure.seed}"
    yield f"  target {failure.target}, profile {failure.profile.name}, {search_of(failure.profile).wording.setting(failure.setup)}{seed}"
    yield ""
    yield from _done(failure, steps)
    if failure.expected != failure.found and failure.kind != "law":
        yield ""
        yield from side_by_side(failure)
    states = list(differences(*failure.states)) if failure.states else []
    if states:
        yield ""
        yield from table(("state", "reference", failure.target.split(" ")[0]), states)


def _done(failure: Failure, steps: int) -> Iterator[str]:
    played = failure.trace.steps[: failure.at + 1]
    skipped = max(0, len(played) - steps)
    if skipped:
        yield f"  (after {skipped} steps)"
    rows = [(str(number), said(step.command), "; ".join(map(seen, step.saw or ())) or "-") for number, step in enumerate(played, 1)][skipped:]
    wide = min(60, max(len(row[1]) for row in rows))
    for number, command, saw in rows:
        mark = ">" if int(number) == failure.at + 1 else " "
        yield f"{mark} {number:>3}  {command:{wide}}  {saw}"


def side_by_side(failure: Failure) -> Iterator[str]:
    """The observations of the failing step, from the first that differs."""
    ours, theirs = failure.expected or [], failure.found or []
    at = different_at(ours, theirs)
    rows = [(f"seen {i + 1}", seen(ours[i]) if i < len(ours) else "-", seen(theirs[i]) if i < len(theirs) else "-") for i in range(at, min(at + 5, max(len(ours), len(theirs))))]
    yield from table(("", "expected", "found"), rows)


def differences(ours: Mapping[str, object], theirs: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str, str]]:
    """The entries that differ, of the keys that both give; nested ones by their path."""
    for key in ours:
        if not before and key not in theirs:
            continue
        one, other = ours.get(key), theirs.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from differences(one, other, f"{before}{key}.")
        elif one != other:
            yield f"{before}{key}", _shown(one), _shown(other)
    if before:
        yield from ((f"{before}{key}", "-", _shown(value)) for key, value in theirs.items() if key not in ours)


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items()) or "nothing"
    if isinstance(value, (list, tuple)):
        return " ".join(_shown(inner) for inner in value) or "nothing"
    return str(value)


def table(headings: tuple[str, str, str], rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    wide = [max(len(row[i]) for row in (headings, *rows)) for i in range(2)]
    for name, one, other in (headings, *rows):
        yield f"  {name:{wide[0]}}  {one:{wide[1]}}  {other}"


def said(command: Any) -> str:
    """A command in words."""
    search = next(search for search in SEARCHES.values() if isinstance(command, tuple(search.mechanism.commands.values())))
    words: str = search.wording.said(command)
    return f"{words} at {command.at}" if command.at else words


def seen(observation: Observation) -> str:
    """An observation in words."""
    return " ".join(f"({units(part)})" if isinstance(part, dict) else plainly(part) for part in observation)


def wrapped(text: str, before: str) -> Iterator[str]:
    line = before
    for word in text.split():
        if len(line) + len(word) + 1 > WIDTH and line != before:
            yield line
            line = before
        line += word if line == before else f" {word}"
    yield line
