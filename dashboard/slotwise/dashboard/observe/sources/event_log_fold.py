"""What the events of a data-designer scheduler mean, folded."""
from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from slotwise.dashboard.observe.sources.event_log_lines import Event
from slotwise.dashboard.observe.sources.fold import Fold

LONGEST_KEY = 2_000
OUTCOMES = {"retry_deferred": "retried", "non_retryable_dropped": "failed", "cancelled": "cancelled"}


class Told:
    """Begins with the first event."""

    def __init__(self, first: Event, at: int) -> None:
        self.fold = Fold(f"data-designer {(first.captured_correlation or {}).get('run_id') or ''}".strip(), {}, at)
        self.outcomes: dict[str, str] = {}

    def happens(self, event: Event, at: int) -> None:
        fold = self.fold
        fold.pass_to(at)
        fold.events += 1
        for name, units in (event.snapshot.resource_limits if event.snapshot else {}).items():
            fold.has(name, units, at)
        if event.snapshot is not None:
            fold.debts = debts_of(event.snapshot.policy_debt_by_group_resource)
        task, lease, needs = event.task_id, event.task_lease_id, event.diagnostics.get("resource_request")
        match event.event_kind:
            case "ready_enqueued" if task:
                fold.waits(task, group_of(event), {str(name): int(units) for name, units in needs.items()} if isinstance(needs, dict) else {}, at)
            case "task_lease_acquired" if task and lease:
                fold.starts(task, lease, at)
            case "admission_denied" if task:
                fold.refused(task, event.reason_or_result or "", at)
            case "retry_deferred" | "non_retryable_dropped" | "cancelled" if lease:
                self.outcomes[lease] = OUTCOMES[event.event_kind]
            case "task_lease_released" | "stale_selection" if lease:
                fold.ends(lease, at, self.outcomes.pop(lease, "finished"))
            case "admission_blocked" | "group_capped":
                blocked(fold, event.diagnostics.get("reasons"))
            case "scheduler_job_completed":
                fold.state = f"ended: {event.reason_or_result or 'no result'}"
            case _:
                pass


def group_of(event: Event) -> str:
    """local/default/column, as the scheduler names it."""
    return named(event.diagnostics.get("task_group_key")) or str((event.captured_correlation or {}).get("task_column") or "?")


def named(key: object) -> str:
    """A group, from its key; empty if that is none."""
    if isinstance(key, dict) and isinstance(key.get("identity"), list):
        return "/".join(map(str, key["identity"])) or "?"
    return ""


def debts_of(told: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Of groups, units by resource. What is told otherwise than it should be is left out."""
    found: dict[str, dict[str, int]] = {}
    for key, units in told.items():
        group, resource = owing(key)
        if group and isinstance(units, int) and units > 0:
            found.setdefault(group, {})[resource] = units
    return found


@lru_cache(maxsize=1000)
def owing(key: str) -> tuple[str, str]:
    """The group and the resource: "[{'kind': 'local', 'identity': ['local', 'default', 'a']}, 'submission']". Two empty words if it is not that."""
    try:
        group, resource = ast.literal_eval(key if len(key) <= LONGEST_KEY else "")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return "", ""
    return (named(group), resource) if isinstance(resource, str) else ("", "")


def blocked(fold: Fold, reasons: object) -> None:
    """A summary over all heads: it tells something of each only if there is one reason."""
    if isinstance(reasons, dict) and len(reasons) == 1:
        for row in fold.groups.values():
            row.refused = str(next(iter(reasons)))
