"""`slotwise rules`: every rule and law, with what the last campaign and the last mutation run here said of them."""
from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slotwise.cli import choices, store
from slotwise.cli.output import as_json, count, data, say
from slotwise.fuzz import seeded
from slotwise.spec.mechanisms import MECHANISMS

CAMPAIGN, MUTATION = "last-campaign", "last-mutation"


def run(mechanism: str | None, json: bool, html: Path | None) -> int:
    names = choices.mechanisms(mechanism)
    rules = [rule for name in names for rule in known(name)]
    laws = [{"id": law.id, "prose": law.prose, "source": law.source, "function": law.function} for name in names for law in MECHANISMS[name].law_book.LAWS.values()]
    if html is not None:
        from slotwise.cli.rule_book import render

        html.mkdir(parents=True, exist_ok=True)
        book = html / "rules.html"
        book.write_text(render(names, rules, laws), "utf-8")
        say(f"the rule book is {book}")
    if json:
        as_json({**of(names), "rules": rules, "laws": laws})
    elif html is None:
        show(rules, laws)
    return 0


def of(names: Sequence[str]) -> dict[str, Any]:
    """Which mechanisms an answer is about."""
    return {"mechanism": names[0]} if len(names) == 1 else {"mechanisms": list(names)}


def known(mechanism: str) -> list[dict[str, Any]]:
    """The rules of a mechanism, in the order of their ids. Those of its program decide in no campaign: they are counted in the built-in scenarios."""
    decided: dict[str, int] = {**store.kept(CAMPAIGN).get("rules", {}), **MECHANISMS[mechanism].decided_in_scenarios()}
    found = Counter({rule: len(names) for rule, names in store.kept(MUTATION).get("killed", {}).items()})
    faults = Counter(fault.rule for fault in seeded.catalogue())
    ordered = sorted(MECHANISMS[mechanism].rule_book.values(), key=lambda rule: (FAMILIES.index(rule.family), rule.number))
    return [
        {"id": rule.id, "prose": rule.prose, "source": rule.source, "disciplines": list(rule.disciplines), "switch": rule.switch, "off": rule.off, "where": rule.where,
         "function": rule.function, "line": rule.line, "decided": decided.get(rule.id, 0), "faults": {"killed": found[rule.id], "total": faults[rule.id]}}
        for rule in ordered
    ]  # fmt: skip


FAMILIES = ("QUE", "ADM", "STR", "BOR", "SLT", "COL", "BAT", "REF", "AWS", "SDK", "SPN")


def show(rules: list[dict[str, Any]], laws: list[dict[str, Any]]) -> None:
    wide = sys.stdout.isatty()
    for rule in rules:
        faults = rule["faults"]
        found = "in the scenarios" if rule["where"] == "program" else f"faults {faults['killed']}/{faults['total']}" if faults["total"] else "no fault"
        data(f"{rule['id']:<7} {rule['function'].removeprefix('slotwise.spec.'):<36} decided {count(rule['decided']):>9}  {found}")
        data(sentence(rule["prose"], wide))
    for law in laws:
        data(f"{law['id']:<7} {law['function'].removeprefix('slotwise.spec.')}")
        data(sentence(law["prose"], wide))
    campaign = store.kept(CAMPAIGN)
    if not campaign:
        say("No campaign was run here yet: `slotwise fuzz` counts how often each rule decides, `slotwise mutate` which faults are found.")
    else:
        say(f"Counted over {count(campaign.get('steps', 0))} steps of the last campaign here: {', '.join(campaign.get('runs', []))}.")


def sentence(prose: str, wrapped: bool) -> str:
    return textwrap.fill(prose, 100, initial_indent=" " * 8, subsequent_indent=" " * 8) if wrapped else " " * 8 + prose
