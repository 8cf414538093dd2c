"""Which errors are the caller's, not ours: they end in one line and a code of their own."""
from __future__ import annotations

from slotwise.cli.output import Stop
from slotwise.fuzz import exits
from slotwise.fuzz.target import TargetError
from slotwise.spec.scenarios import ScenarioError
from slotwise.spec.simulation import SimulationError
from slotwise.spec.trace import TraceError


def expected(error: Exception) -> Stop | None:
    if isinstance(error, TraceError):
        return Stop(str(error), exits.TRACE_REJECTED)
    if isinstance(error, SimulationError):
        return Stop(f"the scheduler makes no sense: {error}", exits.INVARIANT)
    if isinstance(error, TargetError | ScenarioError):
        return Stop(str(error), exits.USAGE)
    if isinstance(error, OSError) and error.filename:
        return Stop(f"{error.filename}: {error.strerror}", exits.USAGE)
    return None
