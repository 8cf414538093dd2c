"""Which rule wrote what differs in a state? The same for every mechanism that says who writes what."""
from __future__ import annotations

from collections.abc import Mapping, Sequence


def writer_of(keys: Sequence[str], decided: Sequence[str], first: Sequence[str], writes: Mapping[str, Sequence[str]], last_resort: str) -> str:
    """Of the keys that differ, in the order of `first`: the rule that decided and stands foremost among those that write that key. If none of
    them decided, the last rule that did; if none did at all, the one that should have."""
    ordered = sorted(keys, key=lambda key: first.index(key) if key in first else len(first))
    for key in ordered:
        wrote = [rule for rule in decided if rule in writes.get(key, ())]
        if wrote:
            return min(wrote, key=writes[key].index)
    return decided[-1] if decided else writes.get(ordered[0], (last_resort,))[0]
