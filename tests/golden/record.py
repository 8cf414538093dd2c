"""Record the golden vectors: each is played on the published package, checked against its recorded facts, and kept as a trace.

    python -m tests.golden.record            write tests/golden/{admission,hazards}/*.slotwise.jsonl
    python -m tests.golden.record --check    write nothing; fail if anything would differ, notes apart

Runs where the package is installed. The facts (`*_VERSION.json`) were found by driving the package directly: results without their
inputs. With an older package on the path, a vector is written only where that version does something else, as NAME-0.8. The rules on the
lines are the reference's.
"""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.golden import hazards, queue_vectors, vectors
from tests.golden.player import SCRIPTS, Mismatch, Player, Session

from slotwise.fuzz.upstream.data_designer import BEFORE, VERSION
from slotwise.spec.trace import SUFFIX, Trace, decode, encode, header, read

FOLDER = Path(__file__).parent / "admission"
ALL = (vectors, queue_vectors)         # loaded, their scripts are registered


def facts() -> dict[str, Any]:
    """Of the installed version's family, by the name of the vector."""
    version = "0.8.0" if BEFORE else "0.9.7"
    return {fact["name"]: fact for kind in ("admission", "queue", "hazards") for fact in json.loads((FOLDER / f"{kind}_{version}.json").read_text())["vectors"]}


def play() -> list[Player]:
    """Every vector, checked. Raises Mismatch."""
    known, session = facts(), Session()
    if unplayed := {name.split()[0] for name in known} ^ SCRIPTS.keys():
        raise Mismatch(f"facts and scripts do not go together: {', '.join(sorted(unplayed))}")
    for name, script in SCRIPTS.items():
        own = {key: fact for key, fact in known.items() if key.split()[0] == name}
        script(session, next(iter(own.values())) if len(own) == 1 else own)
    return session.traces


def trace_of(player: Player) -> Trace:
    note = f"{player.note or f'vector {player.name}'} (as data-designer-engine {VERSION} played it)"
    return Trace(header(player.profile, player.capacity, targets=("data-designer",), note=note), player.steps)


def differs(path: Path, trace: Trace) -> bool:
    """Apart from the note, which names the version."""
    if not path.exists():
        return True
    kept, found = read(path), decode(encode(trace))
    return (kept.header.profile, kept.header.setup, kept.steps) != (found.header.profile, found.header.setup, found.steps)


def place(player: Player) -> Path | None:
    """Where its trace belongs; None: an older package that does the same as the newer one."""
    path = FOLDER / f"{player.name}{SUFFIX}"
    if not BEFORE:
        return path
    if [step.saw for step in read(path).steps] == [step.saw for step in decode(encode(trace_of(player))).steps]:
        return None
    return FOLDER / f"{player.name}-0.8{SUFFIX}"


def main(check: bool) -> int:
    players, dangers = play(), hazards.play(Session())
    kept = [(path, trace_of(player)) for player in players if (path := place(player))]
    kept += [(FOLDER.parent / f"hazards/{player.name}{SUFFIX}", trace_of(player)) for player in dangers]
    changed = [path.name for path, trace in kept if differs(path, trace)]
    if not check:
        for path, trace in kept:
            path.write_bytes(encode(trace))
    print(f"data-designer-engine {VERSION}: {len(players)} vectors agree with the facts; {len(dangers)} hazards; {len(kept)} traces, {len(changed)} changed", *changed)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
