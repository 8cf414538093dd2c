"""`slotwise shrink`: a failing trace, as short as it goes while the same rule or law fails."""
from __future__ import annotations

import sys
from pathlib import Path

from slotwise.cli.output import Stop, plural, say
from slotwise.fuzz import exits, targets
from slotwise.fuzz.explain import explain
from slotwise.fuzz.shrink import shrink_trace
from slotwise.spec import trace


def run(file: Path, target: str, output: Path | None) -> int:
    read = trace.read(file)
    failure = shrink_trace(targets.load(target), read)
    if failure is None:
        raise Stop(f"{file}: nothing fails on {target}: there is nothing to shrink", exits.CLEAN)
    if output is None:
        sys.stdout.write(trace.encode(failure.trace).decode())
    else:
        trace.write(output, failure.trace)
    say(explain(failure))
    say(f"shrunk from {plural(len(read.steps), 'command')} to {len(failure.trace.steps)}" + (f": {output}" if output else ""))
    return failure.exit
