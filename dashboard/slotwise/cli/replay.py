"""`slotwise replay`: run a trace on a target, and compare with the reference, the laws and what the trace recorded."""
from __future__ import annotations

from pathlib import Path

from slotwise.cli.output import as_json, data, plural
from slotwise.fuzz import targets
from slotwise.fuzz.explain import explain
from slotwise.fuzz.judges import Finding
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.replay import replay
from slotwise.fuzz.report import Failure
from slotwise.fuzz.target import Target
from slotwise.spec import trace
from slotwise.spec.trace import Trace


def run(file: Path, target: str, json: bool) -> int:
    loaded, read = targets.load(target), trace.read(file)
    outcome = replay(read, loaded)
    wrong = outcome.finding or outcome.recording
    if json:
        found = None if wrong is None else {"kind": wrong.kind, "rule": wrong.rule, "line": wrong.at + 2, "message": wrong.message}
        as_json({"trace": str(file), "mechanism": read.header.mechanism, "profile": read.header.profile.name, "target": target, "steps": outcome.steps,
                 "divergences": [found] if found else [], "hazards": sorted(outcome.hazards), "exit": outcome.exit})  # fmt: skip
    elif wrong is not None:
        data(f"{file}: line {wrong.at + 2}: {wrong.message}")
        data(explain(failure(loaded, read, wrong)))
    else:
        known = f", but for the known hazards {', '.join(sorted(outcome.hazards))}" if outcome.hazards else ""
        data(f"{file}: {plural(outcome.steps, 'command')} on {target} under {read.header.profile.name}: as recorded, as the reference, no law broken{known}")
    return outcome.exit


def failure(target: Target, read: Trace, finding: Finding) -> Failure:
    profile, capacity = read.header.profile, dict(read.header.setup.capacity)
    played = recorded(target, profile, capacity, finding.commands, seed=read.header.seed)
    return Failure(finding, profile, capacity, target.name, read.header.seed, played, played)
