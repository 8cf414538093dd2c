"""Proves the contracts of `contracts`, `contracts_batching` and `contracts_spin` with CrossHair, and keeps a verdict on each in `verdicts.json`.

`python -m slotwise.fuzz.symbolic` compares with the kept verdicts and ends with 1 where they have drifted: a contract is refuted or no
longer confirmed, or is not kept, or a kept one is gone. `--keep` writes them anew. Needs the `lint` extra.
"""
from __future__ import annotations

import ast
import inspect
import json
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from slotwise.fuzz import contracts, contracts_batching, contracts_spin
from slotwise.spec.mechanisms import MECHANISMS

MODULES = (contracts, contracts_batching, contracts_spin)
RULES = {id: rule for mechanism in MECHANISMS.values() for id, rule in mechanism.rule_book.items()}
KEPT = Path(__file__).with_name("verdicts.json")
#: Most seconds for one contract, on a machine that does much else. All of them together took 20 s when they were kept.
AT_MOST = 120.0
CONFIRMED = "confirmed"


def all_contracts() -> dict[str, Callable[..., None]]:
    return {
        name: value for module in MODULES for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }  # fmt: skip


def rule_of(contract: str) -> str:
    """The rule that a contract's name begins with."""
    letters, number, *_ = contract.split("_")
    rule = f"{letters.upper()}-{number}"
    if rule not in RULES:
        raise ValueError(f"contract {contract}: there is no rule {rule}")
    return rule


def is_contract(contract: Callable[..., None]) -> bool:
    """One assertion first, then something done, then assertions: what is promised must not be taken for what is meant."""
    function = ast.parse(textwrap.dedent(inspect.getsource(contract))).body[0]
    assert isinstance(function, ast.FunctionDef)
    said = [isinstance(statement, ast.Assert) for statement in function.body if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant)]
    return len(said) >= 3 and said[:2] == [True, False] and said[-1]


def verdict(contract: Callable[..., None], at_most: float = AT_MOST) -> str:
    """`confirmed` for every number; else what CrossHair says: a counterexample, or that it ran out of time."""
    from crosshair.core_and_libs import analyze_function
    from crosshair.options import AnalysisKind, AnalysisOptionSet
    from crosshair.statespace import MessageType

    options = AnalysisOptionSet(analysis_kind=[AnalysisKind.asserts], per_condition_timeout=at_most, report_all=True)
    messages = [message for checkable in analyze_function(contract, options) for message in checkable.analyze()]
    if not messages or not is_contract(contract):
        return "not a contract"
    worst = max(messages, key=lambda message: message.state)
    return CONFIRMED if worst.state == MessageType.CONFIRMED else f"{worst.state.name.lower()}: {worst.message}"


def verdicts() -> Iterator[tuple[str, str]]:
    for name, contract in all_contracts().items():
        yield name, verdict(contract)


def kept() -> dict[str, str]:
    found: dict[str, str] = json.loads(KEPT.read_text("utf-8"))
    return found


def drift(found: dict[str, str], kept: dict[str, str]) -> list[str]:
    """What differs, a line each. A contract that is confirmed now and was not before is no drift."""
    gone = [f"{name}: kept, but there is no such contract" for name in kept if name not in found]
    new = [f"{name}: no verdict is kept (now {verdict})" for name, verdict in found.items() if name not in kept]
    worse = [f"{name}: kept {kept[name]}, now {verdict}" for name, verdict in found.items() if name in kept and verdict not in (kept[name], CONFIRMED)]
    return gone + new + worse


def main(arguments: list[str]) -> int:
    began = time.perf_counter()
    found = {}
    for name, result in verdicts():
        found[name] = result
        print(f"{rule_of(name):7} {result:10} {name}")
    rules = {rule_of(name) for name, result in found.items() if result == CONFIRMED}
    print(f"{len(rules)} of {len(RULES)} rules have a confirmed contract; {len(found)} contracts in {time.perf_counter() - began:.0f} s")
    if arguments == ["--keep"]:
        KEPT.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
        return 0
    lines = drift(found, kept())
    print("\n".join(lines) if lines else "no verdict has drifted", file=sys.stderr if lines else sys.stdout)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
