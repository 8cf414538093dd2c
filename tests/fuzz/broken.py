"""Copies of the spec with one mistake each, as targets: what the search has to find before there is an engine, and beside it."""
from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import Target
from slotwise.spec import admission
from slotwise.spec.vocabulary import Command, Observation, Profile

COPIED = ("rules", "fair_queue", "tagged", "strict", "bounded_borrow", "slot_time", "admission")
#: Name -> module, what it says, what the mistake makes of it.
MISTAKES = {
    "second_release_unknown": ("admission", 'return "duplicate" if memory is None or', "return None if memory is None or"),
    "debt_not_charged": ("bounded_borrow", "debt.get((task.group, resource), 0) + units", "debt.get((task.group, resource), 0)"),
    "repays_one": ("bounded_borrow", "- task.needs[resource])", "- 1)"),
    "share_rounded_down": ("bounded_borrow", "-(-capacity * weight // total) if round_up", "capacity * weight // total if round_up"),
    "stale_selection_taken": ("fair_queue", "if version != queue.version or id not in queue.live", "if id not in queue.live"),
    "place_kept": ("fair_queue", "if queue.waits(group) or queue.profile.idle_group_keeps_place", "if queue.waits(group) or queue.turns"),
    "overtaking_not_noted": ("slot_time", "discipline.overtaken.setdefault(head.id, at)", "pass"),
    "kept_units_given_away": ("slot_time", "if discipline.ledger.free(resource) - kept < units", "if discipline.ledger.free(resource) < units"),
    "running_limit_one_more": ("slot_time", "self.ledger.running(group) >= limit", "self.ledger.running(group) > limit"),
    "strict_limit_one_more": ("strict", "< spec.share_limit or not", "<= spec.share_limit or not"),
}


def broken(mistake: str, *, state: bool = True) -> Target:
    """A target; without `state` only what it answers can be seen."""
    spec = copied(mistake)
    make: Callable[[Profile, dict[str, int]], Reference | Mute]
    make = (lambda profile, capacity: Reference(profile, capacity, spec)) if state else (lambda profile, capacity: Mute(profile, capacity, spec))
    return Target(f"broken/{mistake}", make)


class Mute:
    def __init__(self, profile: Profile, capacity: dict[str, int], spec: ModuleType = admission) -> None:
        self.inner = Reference(profile, capacity, spec)

    def step(self, command: Command) -> list[Observation]:
        return self.inner.step(command)


@cache
def copied(mistake: str) -> ModuleType:
    """The module `admission` of a copy with that mistake."""
    module, right, wrong = MISTAKES[mistake]
    package = f"broken_{mistake}"
    here = Path(str(admission.__file__)).parent
    for name in COPIED:
        source = (here / f"{name}.py").read_text("utf-8")
        if name == module:
            assert source.count(right) == 1, f"{mistake}: the spec no longer says `{right}`, once"
            source = source.replace(right, wrong)
        for other in COPIED:
            source = source.replace(f"from slotwise.spec.{other} import", f"from {package}.{other} import")
        source = source.replace("from slotwise.spec import bounded_borrow, slot_time, strict", f"from {package} import bounded_borrow, slot_time, strict")
        source = source.replace("from slotwise.spec import fair_queue as q", f"from {package} import fair_queue as q")
        made = ModuleType(f"{package}.{name}")
        if package not in sys.modules:
            sys.modules[package] = ModuleType(package)
            sys.modules[package].__path__ = []
        sys.modules[made.__name__] = made
        setattr(sys.modules[package], name, made)
        exec(compile(source, made.__name__, "exec"), made.__dict__)
    return sys.modules[f"{package}.admission"]
