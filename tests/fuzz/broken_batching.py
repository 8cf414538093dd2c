"""Copies of the batching rules with one mistake each, as targets."""
from __future__ import annotations

from functools import cache
from types import ModuleType

from slotwise.fuzz import mutants
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import Target
from slotwise.spec.mechanisms import MECHANISMS

#: Name -> a mutant of the rules, by its key.
MISTAKES = {
    "one_update_more": "batching_line.too_many: return True if updates == parameters.updates else None -> return True if updates != parameters.updates else None",
    "first_may_not_fit": "batching_line.too_large: return True if updates and size > parameters.bytes else None -> return True if size > parameters.bytes else None",
    "stop_forgets": "batching.begin_to_stop: c.stopped, c.waiters = (True, []) -> c.stopped, c.waiters = (False, [])",
    "no_slack": "refresh.slower: c.slack = slack_after(c.slack, trip) -> pass",
    "never_due_again": "refresh.not_yet: waiter.tries += 1 -> pass",
    "deadline_later": "aws_durable_thread.deadline_passed: return True if c.now >= c.deadline else None -> return True if c.now > c.deadline else None",
}
SHOWS = {mistake: "aws-durable-3.0.0" if key.startswith("aws_durable") else "slotwise" for mistake, key in MISTAKES.items()}


@cache
def every() -> dict[str, mutants.Mutant]:
    return {mutant.key: mutant for mutant in mutants.mutants(MECHANISMS["batching"].rules[1:])}


@cache
def copied(mistake: str) -> ModuleType:
    return mutants.load(every()[MISTAKES[mistake]]).spec


def broken(mistake: str) -> Target:
    return Target(f"broken/{mistake}", lambda profile, setup: Reference(profile, setup, copied(mistake)), mechanisms=("batching",))
