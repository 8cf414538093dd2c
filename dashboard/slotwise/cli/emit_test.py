"""`slotwise emit-test`: a trace as a pytest file."""
from __future__ import annotations

import sys
from pathlib import Path

from slotwise.fuzz import targets
from slotwise.fuzz.emit import emit_test
from slotwise.spec import trace


def run(file: Path, target: str) -> int:
    targets.load(target)
    sys.stdout.write(emit_test(trace.read(file), target))
    return 0
