"""What `slotwise ci` did, as one page of plain HTML that needs nothing else."""
from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from slotwise.cli.output import count, plural, shown
from slotwise.cli.rule_book import STYLE, prose
from slotwise.cli.sarif import described

if TYPE_CHECKING:
    from slotwise.cli.ci import Check

MORE_STYLE = ".fail { color: #b00020; font-weight: bold } td { font-variant-numeric: tabular-nums } @media (prefers-color-scheme: dark) { .fail { color: #ff8a80 } }"


def render(checks: Sequence[Check], target: str, steps: int) -> str:
    failed = [check for check in checks if check.code != 0]
    title = f"slotwise ci: {len(failed)} of {plural(len(checks), 'check')} failed" if failed else f"slotwise ci: {plural(len(checks), 'check')} passed"
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">', f"<title>{title}</title><style>{STYLE}{MORE_STYLE}</style></head><body>",
        f"<h1>{title}</h1>", f"<p>Target <code>{text(target)}</code>, {count(steps)} steps for each mechanism and profile.</p>",
    ]  # fmt: skip
    if failed:
        parts += ['<h2 id="failed">What failed</h2>', *(failure(number, check) for number, check in enumerate(failed, 1))]
    parts += ['<h2 id="all">All checks</h2>', "<table><tr><th>check</th><th></th><th></th><th>said</th><th>seconds</th></tr>"]
    place = {id(check): number for number, check in enumerate(failed, 1)}
    parts += [row(check, place.get(id(check))) for check in checks]
    return "\n".join([*parts, "</table>", "</body></html>"]) + "\n"


def failure(number: int, check: Check) -> str:
    """The sentences that do not hold, and the whole story."""
    sentences = "".join(f"<p><b>{text(rule)}</b> {prose(described(rule)['shortDescription']['text'])}</p>" for rule in check.rules)
    kept = f'<p class="about">trace: <code>{text(str(check.trace))}</code></p>' if check.trace is not None else ""
    return f'<h3 id="failed-{number}">{text(check.kind)}: {text(check.name)}</h3><p>{text(check.said)}</p>{sentences}{kept}' + (f"<pre>{text(check.more)}</pre>" if check.more else "")


def row(check: Check, number: int | None) -> str:
    outcome = "ok" if number is None else f'<a class="fail" href="#failed-{number}">FAIL</a>'
    return f"<tr><td>{text(check.kind)}</td><td>{outcome}</td><td>{text(check.name)}</td><td>{text(check.said)}</td><td>{check.seconds:.1f}</td></tr>"


def text(words: str) -> str:
    return escape(shown(words))
