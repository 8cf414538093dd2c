"""The scopes of batching: an update or two and a refresh, with the service's answers, a stop and the pumps, in every order."""
from __future__ import annotations

from typing import Any

from slotwise.fuzz.explore import Scope
from slotwise.spec import batching_vocabulary as v


def scope(profile: v.Profile, size: str) -> Scope:
    """Tiny: an update, a refresh, one answer. Small: another update, another answer, one that fails, and a stop."""
    ms = v.MILLISECOND
    moves: list[tuple[Any, int]] = [(v.Submit(id="a", size=1), 1), (v.Refresh(id="r", due=30 * ms), 1), (v.Pump(), 0), (v.Respond(token="t1", stamp=15 * ms, done=("r",)), 1)]
    if size != "tiny":
        moves += [(v.Submit(id="b", size=1, sync=False), 1), (v.Respond(token="t2"), 1), (v.Fail(), 1), (v.Stop(), 1)]
    return Scope(profile, v.Setup(), tuple(moves), (0, 20 * ms, 100 * ms) if size == "tiny" else (0, 100 * ms))
