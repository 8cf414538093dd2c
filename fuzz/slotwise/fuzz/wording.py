"""Admission in words."""
from __future__ import annotations

from collections.abc import Mapping

from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Command


def setting(capacity: Mapping[str, int]) -> str:
    return f"capacity {units(capacity)}"


def said(command: Command) -> str:
    """A command in words, without its time."""
    match command:
        case v.Enqueue():
            groups = [f"{g.name} weighs {g.weight:g}{_limit(g.share_limit, 'share limit')}{_limit(g.running_limit, 'running limit')}" for g in command.groups if g != v.Group(g.name)]
            words = f"enqueue {', '.join(f'{task.id} of {task.group} ({units(task.needs)})' for task in command.tasks)}{'; ' if groups else ''}{', '.join(groups)}"
        case v.Discard():
            words = f"discard {command.task}"
        case v.DiscardWhere():
            which = [f"of {command.group}"] if command.group is not None else []
            words = " ".join(["discard all", *which, *([f"with an id from {command.prefix}"] if command.prefix else [])])
        case v.Pump():
            words = f"pump at most {command.at_most}"
        case v.Select():
            words = "select"
        case v.Commit():
            words = f"commit {command.task}, version {command.version}"
        case v.Release():
            claim = command.claim
            claims = [] if claim is None else [*([claim.task] if claim.task else []), *([units(claim.needs)] if claim.needs else []), *([f"generation {claim.generation}"] if claim.generation else [])]
            words = f"release {command.lease}{', claiming ' if claims else ''}{', '.join(claims)}"
        case v.Explain():
            words = "explain"
    return words


def _limit(limit: int | None, name: str) -> str:
    return "" if limit is None else f" {name} {limit}"


def units(needs: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {resource}" for resource, count in needs.items())
