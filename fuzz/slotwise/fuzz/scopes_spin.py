"""The scopes of spinning: one fan-out or two among a worker or two, with every interleaving of their steps; a stir, a panic or a shutdown at any moment."""
from __future__ import annotations

from functools import partial
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.explore import Scope
from slotwise.spec import spin_vocabulary as v

PARK = 8


def shrunk(profile: v.Profile) -> v.Profile:
    """With numbers that a few steps can meet."""
    small = changed(profile, budget=2, stride=1, yield_interval=2, slots=2, straggler_stride=2, ready_within=2)
    d = profile.discipline
    return changed(small, discipline=type(d)(1, 2)) if isinstance(d, v.Ratchet | v.Average) else changed(small, discipline=v.Fixed(1)) if isinstance(d, v.Fixed) else small


def essence(profile: v.Profile, state: Any) -> object:
    """What is counted changes nothing; beyond the budget a pass is like that a stride before."""
    kept = {key: value for key, value in state.items() if key not in ("counters", "workers", "dispatchers", "builder")}
    workers = {name: {**worker, "window": window_of(profile, worker.get("window", {}))} for name, worker in state.get("workers", {}).items()}
    dispatchers = {name: {**d, "own": 0, "pauses": d.get("pauses", 0) % profile.straggler_stride} for name, d in state.get("dispatchers", {}).items()}
    builder = state.get("builder", {})
    return kept, workers, dispatchers, {**builder, "passes": min(builder.get("passes", 0), profile.budget)}


def window_of(profile: v.Profile, window: Any) -> tuple[int, int, int]:
    n: int = window.get("n", 0)
    return window.get("length", 0), window.get("q", 0), n if n < profile.budget else profile.budget + n % profile.stride


def scope(profile: v.Profile, size: str) -> Scope:
    """A worker, and a fan-out of one task. Small: of two tasks, and a shutdown, and a park that ends by itself, at any moment."""
    profile, tiny = shrunk(profile), size == "tiny"
    setup = v.Setup(width=2, park=PARK, wake=0)
    moves: list[tuple[Any, int]] = [(v.Dispatch(actor="d", total=1 if tiny else 2), 1)]
    moves += [(v.Go(actor=actor), 0) for actor in ("d", "w0")]
    moves += [(v.End(actor=actor), 0) for actor in ("d", "w0")]
    if not tiny:
        moves += [(v.Shutdown(), 1), (v.Stir(actor="w0"), 1)]
    return Scope(profile, setup, tuple(moves), (0, PARK + 2), partial(essence, profile))
