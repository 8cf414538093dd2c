"""`slotwise shrink`: a failing trace, as short as it goes while the same rule or law fails."""
from __future__ import annotations

from pathlib import Path

from slotwise.cli import choices
from slotwise.cli.output import plural, raw, say, writable
from slotwise.fuzz.explain import explain
from slotwise.fuzz.replay import check
from slotwise.fuzz.shrink import shrink_trace
from slotwise.spec import trace


def run(file: Path, target: str, output: Path | None) -> int:
    loaded, read = choices.target(target), choices.read_trace(file)
    check(read, loaded, str(file))
    if output is not None:
        writable("-o", output)
    failure = shrink_trace(loaded, read)
    if failure is None:
        say(f"{file}: nothing fails on {target}, so there is nothing to shrink")
        return 0
    if output is None:
        raw(trace.encode(failure.trace).decode())
    else:
        trace.write(output, failure.trace)
    say(explain(failure).rstrip(), "")
    say(f"shrunk from {plural(len(read.steps), 'command')} to {len(failure.trace.steps)}" + (f": {output}" if output else ""))
    return failure.exit
