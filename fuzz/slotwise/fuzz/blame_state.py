"""What the blame needs in every mechanism: what the rules decided, what differs, and which rule wrote what differs in a state."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slotwise.fuzz.judges import different_at
from slotwise.fuzz.reference import Reference
from slotwise.spec.vocabulary import Observation


def at_the_difference(profile: Any, setup: Any, commands: Sequence[Any], expected: Sequence[Observation], found: Sequence[Observation]) -> tuple[list[str], Any, Any]:
    """The rules that decided the last of the commands, and the first pair of observations that differs; () where one has no more."""
    reference = Reference(profile, setup)
    for command in commands:
        reference.step(command)
    number = different_at(expected, found)
    return list(reference.decided), [*expected[number : number + 1], ()][0], [*found[number : number + 1], ()][0]


def writer_of(keys: Sequence[str], decided: Sequence[str], first: Sequence[str], writes: Mapping[str, Sequence[str]], last_resort: str) -> str:
    """Of the keys that differ, in the order of `first`: the rule that decided and stands foremost among those that write that key. If none of
    them decided, the last rule that did; if none did at all, the one that should have."""
    ordered = sorted(keys, key=lambda key: first.index(key) if key in first else len(first))
    for key in ordered:
        wrote = [rule for rule in decided if rule in writes.get(key, ())]
        if wrote:
            return min(wrote, key=writes[key].index)
    return decided[-1] if decided else writes.get(ordered[0], (last_resort,))[0]
