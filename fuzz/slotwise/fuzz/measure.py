"""Measure the floors anew and write the files. To be done when the generator or a rule has changed; a floor that falls wants a reason.

    python -m slotwise.fuzz.measure [MECHANISM ...]

First it is learnt which tilts reach which rule; then each seed starts with those, as any campaign will.
"""
from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from slotwise.fuzz import floors, reference
from slotwise.fuzz.lean import Lean
from slotwise.fuzz.walker import campaign
from slotwise.spec.mechanisms import MECHANISMS

SEEDS, STEPS = 8, 20_000
KEPT = 10                         # a floor is what was reached divided by this


def measure(profile: Any, seeds: int = SEEDS, steps: int = STEPS) -> dict[str, tuple[float, int]]:
    """Rule -> its floor per 100,000 steps, and the tilt that reached it best."""
    learnt = Lean()
    for seed in range(seeds):
        campaign(reference.TARGET, profile, steps=steps, seed=seed, lean=learnt, floors_count=False)
    tilts = {rule.id: learnt.best(rule.id) or 0 for rule in floors.rules_of(profile)}
    hits: Counter[str] = Counter()
    done = 0
    for seed in range(seeds, 2 * seeds):
        report = campaign(reference.TARGET, profile, steps=steps, seed=seed, lean=Lean(tilts), floors_count=False)
        hits.update(report.rules)
        done += report.steps
    return {rule: (round(hits[rule] * floors.PER / done / KEPT, 1), tilt) for rule, tilt in tilts.items() if hits[rule]}


if __name__ == "__main__":
    for mechanism in sys.argv[1:] or MECHANISMS:
        lines = [f"{json.dumps(name)}: {json.dumps(measure(profile))}" for name, profile in MECHANISMS[mechanism].profiles.items()]
        Path(__file__).with_name(floors.file_of(mechanism)).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
