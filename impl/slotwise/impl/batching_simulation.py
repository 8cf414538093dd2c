"""Scenarios of durable work in virtual time, played whole by the native engine: callers, branches, coordinators, the collector and the service."""
from __future__ import annotations

from typing import Any

import msgspec

from slotwise.impl import _native
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import trace
from slotwise.spec.batching_run import Call, Run
from slotwise.spec.batching_scenarios import Scenario

_line = msgspec.json.Decoder(tuple[v.Command, list[tuple[Any, ...]]])


def simulate(profile: v.Profile, scenario: Scenario, *, seed: int | None = None) -> Run:
    """Play a scenario in one call. Its commands, and what they show, are those of the specification's `batching_simulation.simulate`, line by line,
    with a seed (from 0) too. Raises ValueError for a profile or a scenario out of bounds, for a name that stands twice, and where works are nested
    more than some sixty deep."""
    log, calls, (result, until, handler, exit), reached, ends = _native.simulate_batching(profile, scenario, seed=seed)
    steps = [trace.Step(*_line.decode(line), None) for line in log.splitlines()]
    return Run(scenario, profile, "native", [Call(*call) for call in calls], result, until, handler, exit, dict(reached), dict(ends), steps)
