"""SARIF 2.1.0, as code hosts and editors read it: a result for each rule or law that failed, at the line of the kept trace that shows it."""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from inspect import getsourcelines, unwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slotwise.spec.mechanisms import MECHANISMS

if TYPE_CHECKING:
    from slotwise.cli.ci import Check

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Of a failure that belongs to no rule or law: what kind of check it was.
KINDS = {
    "lockstep": "A target does the same twice, and does not fail.", "golden": "A recorded trace plays as it was recorded.",
    "canary": "A seeded fault is found by the search.", "floors": "Every rule decides often enough.",
}  # fmt: skip


def write(path: Path, checks: Sequence[Check]) -> None:
    path.write_text(json.dumps(log(checks), ensure_ascii=False, indent=1) + "\n", "utf-8")


def log(checks: Sequence[Check]) -> dict[str, Any]:
    """One run. Its rules are those that failed."""
    found = [(check, rule) for check in checks if check.code != 0 for rule in check.rules or (check.kind,)]
    ids = list(dict.fromkeys(rule for _, rule in found))
    driver: dict[str, Any] = {"name": "slotwise", "rules": [described(id) for id in ids]}
    with suppress(PackageNotFoundError):
        driver["version"] = version("slotwise")
    results = [result(check, rule, ids.index(rule)) for check, rule in found]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}]}


def described(id: str) -> dict[str, Any]:
    """A rule or law by its sentence, and where it is written."""
    for mechanism in MECHANISMS.values():
        if (one := mechanism.rule_book.get(id) or mechanism.law_book.LAWS.get(id)) is not None:
            return {"id": id, "name": one.function.rpartition(".")[2], "shortDescription": {"text": one.prose}, "help": {"text": f"{one.function}; source: {one.source}"}}
    return {"id": id, "shortDescription": {"text": KINDS.get(id, id)}}


def result(check: Check, rule: str, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {"ruleId": rule, "ruleIndex": index, "level": "error", "kind": "fail", "message": {"text": message(check, rule)}}
    found["locations"] = [{"physicalLocation": place} for place in places(check, rule)]
    found["partialFingerprints"] = {"slotwise/v1": f"{check.kind}/{check.name}/{rule}"}
    return found


def message(check: Check, rule: str) -> str:
    """A missed floor says its own numbers, all else the whole story."""
    own = [line for line in check.more.splitlines() if line.startswith(f"{rule} ")] if check.kind == "floors" else []
    return f"{check.kind} {check.name}: {own[0] if own else check.said}" + ("" if own or not check.more else f"\n\n{check.more}")


def places(check: Check, rule: str) -> Iterator[dict[str, Any]]:
    """Where the trace fails; without one the function of the rule, if that lies here."""
    here = Path.cwd()
    if check.trace is not None:
        path, line = check.trace, check.line
    else:
        written = source(rule)
        if written is None or not written[0].is_relative_to(here):
            return
        path, line = written
    whole = path.resolve()
    uri = whole.relative_to(here).as_posix() if whole.is_relative_to(here) else whole.as_uri()
    yield {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}


def source(rule: str) -> tuple[Path, int] | None:
    """Of the function of a rule or law: its file and line."""
    for mechanism in MECHANISMS.values():
        if (one := mechanism.rule_book.get(rule) or mechanism.law_book.LAWS.get(rule)) is not None:
            module, _, name = one.function.rpartition(".")
            within = import_module(module)
            return Path(str(within.__file__)), getsourcelines(unwrap(getattr(within, name)))[1]
    return None
