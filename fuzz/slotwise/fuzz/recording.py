"""Traces from commands: played, and written down as the reference sees them, or else the target."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slotwise.fuzz import reference
from slotwise.fuzz.judges import compared
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import HasClose, Target
from slotwise.spec import trace
from slotwise.spec.trace import Step, Trace


def recorded(target: Target, profile: Any, setup: Any, commands: Iterable[Any], *, seed: int | None = None, note: str = "", own: bool = False) -> Trace:
    """What the reference sees, with its rules, if the target claims the profile; else (or with `own`) what the target sees. From a step that
    fails on nothing is seen: whoever failed is not asked again, which may take long."""
    judged = not own and (compared(target, profile) or target.name == "reference")
    header = trace.header(profile, setup, seed=seed, targets=dict.fromkeys(("reference", target.name) if judged else (target.name,)), note=note)
    stepper = Reference(profile, setup) if judged else target.make(profile, setup)
    steps, failed = [], False
    try:
        for command in commands:
            try:
                saw = None if failed else stepper.step(command)
            except Exception:
                saw, failed = None, True
            if saw is None:
                steps.append(Step(command))
                continue
            steps.append(Step(command, saw, list(dict.fromkeys(stepper.decided)) if isinstance(stepper, Reference) else None))
    finally:
        if isinstance(stepper, HasClose):
            stepper.close()
    return Trace(header, steps)


def record(profile: Any, setup: Any, commands: Iterable[Any], *, note: str = "") -> Trace:
    """What the reference sees, and which of its rules decide."""
    return recorded(reference.TARGET, profile, setup, commands, note=note)
