"""`slotwise replay`: run a trace on a target, and compare with the reference, the laws and what the trace recorded."""
from __future__ import annotations

from pathlib import Path

from slotwise.cli import choices
from slotwise.cli.output import as_json, data, plural
from slotwise.fuzz.explain import explain
from slotwise.fuzz.replay import Outcome, replay


def run(file: Path, target: str, json: bool) -> int:
    loaded, read = choices.target(target), choices.read_trace(file)
    outcome = replay(read, loaded, str(file))
    if json:
        as_json({"trace": str(file), "mechanism": read.header.mechanism, "profile": read.header.profile.name, "target": target, "steps": outcome.steps,
                 "divergences": differences(outcome), "hazards": sorted(outcome.hazards), "exit": outcome.exit})  # fmt: skip
        return outcome.exit
    for found in differences(outcome):
        data(f"{file}: line {found['line']}: {found['message']}")
    if outcome.failure is not None:
        data("\n" + explain(outcome.failure).rstrip())
    elif outcome.change is None:
        known = f" (known hazards: {', '.join(sorted(outcome.hazards))})" if outcome.hazards else ""
        recorded = "as recorded, " if any(step.saw is not None for step in read.steps) else ""
        judged = "as the reference, " if target != "reference" and loaded.follows(read.header.profile) else ""
        data(f"{file}: {plural(outcome.steps, 'command')} on {target} under {read.header.profile.name}: {recorded}{judged}no law broken{known}")
    return outcome.exit


def differences(outcome: Outcome) -> list[dict[str, object]]:
    """What is wrong, each with its line of the file."""
    found: list[dict[str, object]] = []
    if outcome.failure is not None:
        found.append({"kind": outcome.failure.kind, "rule": outcome.failure.rule, "line": outcome.failure.at + 2, "message": outcome.failure.message})
    if outcome.change is not None:
        found.append({"kind": "recording", "rule": None, "line": outcome.change.at + 2, "message": outcome.change.message.partition(": ")[2]})
    return found
