"""What the help says of each command besides its options: one line for the list of commands, and calls to copy."""
from __future__ import annotations

from typing import Any

#: Command: what it does, in one line; examples.
SHOWN: dict[str, tuple[str, tuple[str, ...]]] = {
    "fuzz": ("Search for a run on which a scheduler misbehaves.", ("slotwise fuzz", "slotwise fuzz admission --seconds 60", "slotwise fuzz --target my.module:factory --steps 100000 --seed 1")),
    "replay": ("Play a trace on a scheduler, and judge it.", ("slotwise replay run.slotwise.jsonl", 'slotwise replay run.slotwise.jsonl --target "pipe:./my-scheduler"')),
    "shrink": ("Make a failing trace short.", ("slotwise shrink run.slotwise.jsonl --target my.module:factory -o short.slotwise.jsonl",)),
    "emit-test": ("Make a pytest file of a trace.", ("slotwise emit-test run.slotwise.jsonl --target my.module:factory > test_run.py",)),
    "rules": ("List the rules and laws.", ("slotwise rules admission", "slotwise rules --html book")),
    "explore": ("Try every order of a few commands.", ("slotwise explore admission", "slotwise explore spin --profile ep-cpu-orig")),
    "mutate": ("Count the built-in mistakes that the search finds.", ("slotwise mutate", "slotwise mutate spin --side spec --every 3")),
    "simulate": ("Play a scenario in virtual time.", ("slotwise simulate heavy-root", "slotwise simulate my.json --profile slotwise --json")),
    "bench": ("Measure what the project promises.", ("slotwise bench call growth", "slotwise bench spin --picture spin.svg")),
    "watch": ("Show what a scheduler does.", ("slotwise watch --demo", 'slotwise watch --run "python prog.py"', "slotwise watch run.parquet --once --fail-on alarm")),
    "record": ("Record a running scheduler.", ("slotwise record -o seen.parquet --attach run.sock --for 60", "slotwise record -o run.parquet run.arrows")),
    "ci": ("Check everything, the same way on every machine.", ("slotwise ci --junit ci.xml --sarif ci.sarif --html report",)),
}  # fmt: skip


def shown(command: str) -> dict[str, Any]:
    """For typer."""
    short, calls = SHOWN[command]
    return {"name": command, "short_help": short, "epilog": "\n\n".join(["Examples:", "\b\n" + "\n".join(f"  {call}" for call in calls)])}
