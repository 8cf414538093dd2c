"""The rule book: every rule with its sentence, its source and its code, on one page of plain HTML. Anchors are rule ids."""
from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any, get_args

from slotwise.spec.mechanisms import MECHANISMS, Mechanism
from slotwise.spec.rules import BATCHING, EVERY, SPIN

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff }
h2 { margin-top: 3rem; border-bottom: 1px solid #ccc } h3 { margin: 2rem 0 .2rem } h3 a { color: inherit; text-decoration: none }
p { margin: .3rem 0 } pre { background: #f6f6f4; padding: .7rem 1rem; overflow-x: auto; font-size: 13px; line-height: 1.4 }
.about { color: #666; font-size: 14px } table { border-collapse: collapse; font-size: 14px } td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top }
nav a { margin-right: .6rem; white-space: nowrap } code { font-size: 90% }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #1b1b1b } pre { background: #262626 } .about { color: #999 } a { color: #8ab4f8 } }
"""
TITLES = {
    "fair_queue": "Fair queueing", "admission": "Admission", "strict": "Discipline: strict",
    "bounded_borrow": "Discipline: bounded borrow", "slot_time": "Discipline: slot time",
    "collector": "Checkpoint batching", "batching": "Discipline: look ahead",
    "batching_line": "Look ahead: the queue", "batching_plan": "Look ahead: known due times", "batching_hold": "Look ahead: credits and holds",
    "batching_answers": "Look ahead: answers", "refresh": "Look ahead: refreshes",
    "aws_durable": "Discipline: aws-durable", "aws_durable_thread": "aws-durable: the thread", "aws_durable_batch": "aws-durable: one request",
    "aws_durable_heap": "aws-durable: refreshes", "aws_durable_answers": "aws-durable: answers",
    "batching_sdk": "The program of batching", "batching_coordinator": "The program of batching: coordinators",
    "spin": "Spin, yield, park", "spin_window": "A spin window", "spin_policy": "Window policies", "spin_pool": "The pool", "spin_worker": "A worker", "spin_dispatcher": "A dispatcher",
    "spin_barrier": "The readiness barrier",
}  # fmt: skip


def render(mechanisms: Sequence[str], rules: list[dict[str, Any]], laws: list[dict[str, Any]]) -> str:
    parts = [
        "<!doctype html>", '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Slotwise: the rules</title>',
        f"<style>{STYLE}</style></head><body>", "<h1>Slotwise: the rules</h1>", contents(rules, laws),
    ]  # fmt: skip
    for module, title in ((module, title) for module, title in TITLES.items() if any(module in (*MECHANISMS[name].rules, *MECHANISMS[name].program) for name in mechanisms)):
        about = import_module(f"slotwise.spec.{module}").__doc__ or ""
        parts += [f'<h2 id="{module}">{title}</h2>', *paragraphs(about)]
        parts += [one(rule) for rule in rules if rule["function"].split(".")[2] == module]
    parts += ['<h2 id="laws">Laws</h2>', "<p>A law is judged from commands and observations alone, so it judges anybody's scheduler.</p>"]
    parts += [heading(law["id"]) + f"<p>{prose(law['prose'])}</p>{about_line(law['source'], law['function'])}" for law in laws]
    parts += ['<h2 id="words">Words</h2>', *(words(MECHANISMS[name]) for name in mechanisms), "</body></html>"]
    return "\n".join(parts) + "\n"


def contents(rules: list[dict[str, Any]], laws: list[dict[str, Any]]) -> str:
    families: dict[str, list[str]] = {}
    for entry in [*rules, *laws]:
        families.setdefault(entry["id"].split("-")[0], []).append(f'<a href="#{entry["id"]}">{entry["id"]}</a>')
    return "<nav>" + "".join(f"<p>{' '.join(links)}</p>" for links in families.values()) + '<p><a href="#words">words</a></p></nav>'


def heading(id: str) -> str:
    return f'<h3 id="{id}"><a href="#{id}">{id}</a></h3>'


def one(rule: dict[str, Any]) -> str:
    module, _, name = rule["function"].rpartition(".")
    code = without_sentence(inspect.getsource(inspect.unwrap(getattr(import_module(module), name))))
    under = "every discipline" if tuple(rule["disciplines"]) in (EVERY, BATCHING, SPIN) else ", ".join(rule["disciplines"])
    switch = f" · only with <code>{rule['switch']}</code>" if rule["switch"] else ""
    switch += f" · not with <code>{rule['off']}</code>" if rule["off"] else ""
    faults = rule["faults"]
    if rule["where"] == "program":
        tested = f" · decided {rule['decided']:,} times in the built-in scenarios"
    else:
        tested = f" · decided {rule['decided']:,} times in the last campaign · seeded faults found: {faults['killed']} of {faults['total']}"
    return f'{heading(rule["id"])}<p>{prose(rule["prose"])}</p>{about_line(rule["source"], rule["function"], f" · {under}{switch}{tested}")}<pre>{escape(code)}</pre>'


def without_sentence(source: str) -> str:
    """A function without decorator and docstring, which are shown above it."""
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    lines = source.splitlines()
    return "\n".join(lines[function.lineno - 1 : function.body[0].lineno - 1] + lines[function.body[1].lineno - 1 :])


def about_line(source: str, function: str, more: str = "") -> str:
    return f'<p class="about"><code>{escape(function)}</code> · source: {escape(source)}{more}</p>'


def prose(text: str) -> str:
    """Backticks are code, stars emphasis."""
    pieces = escape(text, quote=False).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", piece) for i, piece in enumerate(pieces))


def paragraphs(text: str) -> list[str]:
    return [f"<p>{prose(' '.join(block.split()))}</p>" for block in text.split("\n\n") if block.strip()]


def words(mechanism: Mechanism) -> str:
    """A vocabulary: commands, what is seen, why it is so."""
    v = import_module(mechanism.profile.__module__)
    commands = "".join(f"<tr><td><code>{name}</code></td><td>{prose(' '.join((command.__doc__ or '').split()))}</td></tr>" for name, command in mechanism.commands.items())
    seen = "".join(f"<tr><td><code>{word}</code></td><td>{prose(meaning)}</td></tr>" for word, meaning in mechanism.seen.items())
    kinds = {"Refusal": "Reasons to refuse", "Why": "Reasons to refuse", "Outcome": "Outcomes"}
    reasons = "".join(f"<h3>{title}</h3><p>{', '.join(f'<code>{reason}</code>' for reason in get_args(getattr(v, kind)))}</p>" for kind, title in kinds.items() if hasattr(v, kind))
    return f'{"".join(paragraphs(v.__doc__ or ""))}<h3>Commands</h3><table>{commands}</table><h3>Observations</h3><table>{seen}</table>{reasons}'
