"""Which rule does a difference come down to?

For a start (or an offer) that differs, the reference is asked what holds back the task that the target started: the refusing rule is
to blame. If none refuses, the target is asked (if it can `explain`) what holds back the task that the reference started: the rule that
gives such a reason is to blame; else the order is, or the rule of the round if the target started nothing. For every other answer it is
the rule that gave it. For a difference in state only, it is the last rule that decided, of those that write that part of the state. (If none did: the
rule that should write what the discipline keeps; of anything else, the last rule of all, which should have changed nothing.)
"""
from __future__ import annotations

from collections.abc import Sequence

from slotwise.fuzz.judges import Finding, different_at
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.target import HasClose, Target
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import Command, Observation, Profile

ROUND, ORDER, START, CLOSING = "ADM-3", "QUE-4", "ADM-2", "ADM-11"
#: The rules that refuse a head, by the reason they give.
REFUSING = {
    "ADM-1": "no_capacity", "STR-1": "group_cap", "BOR-1": "borrow_debt", "BOR-2": "group_cap", "BOR-3": "borrow_debt",
    "SLT-9": "running_limit", "SLT-10": "kept_units",
}  # fmt: skip
#: The rules that write each key of the state.
WRITES = {
    "now": ("ADM-10",), "version": ("QUE-1", "QUE-5", "ADM-2"), "turns": ("QUE-3",), "turn": ("QUE-3", "QUE-7"), "granted": ("ADM-2",),
    "fifo": ("QUE-1", "QUE-5", "QUE-8", "ADM-2"), "waiting": ("QUE-1", "QUE-5", "ADM-2"), "groups": ("QUE-1",), "leases": ("ADM-2", "ADM-4"),
    "debt": ("BOR-4", "BOR-5"), "virtual_time": ("QUE-10",), "tags": ("QUE-9", "QUE-10"), "horizon": ("SLT-3",), "virtual": ("SLT-8",),
    "accounts": ("SLT-1", "SLT-2", "SLT-6", "SLT-7"), "overtaken": ("SLT-11",),
}  # fmt: skip
#: Of the keys that differ, the first of these is to blame: what the discipline keeps, then what the queue keeps of it.
FIRST = ("overtaken", "virtual", "horizon", "accounts", "debt", "tags", "virtual_time", "turn", "turns", "groups", "leases", "granted", "fifo", "waiting", "version", "now")
_ARRIVAL = ("ADM-9", "QUE-2", "QUE-1")


def blamed_for_state(keys: Sequence[str], decided: Sequence[str]) -> str:
    for key in sorted(keys, key=lambda key: FIRST.index(key) if key in FIRST else len(FIRST)):
        wrote = [rule for rule in decided if rule in WRITES.get(key, ())]
        if wrote:
            return wrote[-1]
    own = [WRITES[key][0] for key in FIRST[:7] if key in keys]
    return own[0] if own else decided[-1] if decided else ROUND


def in_finer_steps(finding: Finding) -> list[Command] | None:
    """The same, with the starts of the last pump one by one."""
    *before, last = finding.commands
    if not isinstance(last, v.Pump):
        return None
    return [*before, *[v.Pump(at_most=1, at=last.at)] * different_at(finding.expected or (), finding.found or ()), last]


def blamed(target: Target, profile: Profile, capacity: dict[str, int], commands: Sequence[Command], expected: Sequence[Observation], found: Sequence[Observation]) -> str:
    """The rule behind a difference in what was seen after the last of `commands`."""
    reference = Reference(profile, capacity)
    *before, command = commands
    for earlier in before:
        reference.step(earlier)
    number = different_at(expected, found)
    wanted = expected[number] if number < len(expected) else ()
    got = found[number] if number < len(found) else ()
    if "time_reversed" in (*wanted[:1], *got[:1]):
        return "ADM-10"
    match command:
        case v.Pump() | v.Select():
            less = [*before, v.Pump(at_most=number, at=command.at)] if isinstance(command, v.Pump) and number else before
            if less is not before:
                reference.step(less[-1])
            return _of_start(reference, target, less, command.at, wanted, got)
        case v.Explain():
            return _of_verdict(reference, command, wanted, got)
        case v.Commit() if wanted[:1] != ("stale_selection",) != got[:1] and (refusing := _explained(reference, command.at)[1].get(command.task)):
            return refusing
    reference.step(command)
    decided = list(reference.decided)
    if isinstance(command, v.Enqueue):
        arrivals = [rule for rule in decided if rule in _ARRIVAL]
        return arrivals[min(number, len(arrivals) - 1)] if arrivals else decided[-1]
    for known in ("QUE-6", "QUE-12", "QUE-5", "QUE-11", "ADM-4", "ADM-2", "ADM-5", "ADM-6", "ADM-7", "ADM-8"):
        if known in decided:
            return known
    return decided[-1] if decided else ROUND


def _of_start(reference: Reference, target: Target, before: Sequence[Command], at: int, wanted: Observation, got: Observation) -> str:
    started, offered = wanted[:1] in (("started",), ("selected",)), got[:1] in (("started",), ("selected",))
    if not started and (not offered or wanted[:1] == ("full",)):
        return CLOSING
    id, other = _task_of(wanted) if started else None, _task_of(got) if offered else None
    if id is not None and id == other:
        return START if wanted[0] == "started" else "QUE-11"
    heads, rules = _explained(reference, at)
    if other in rules:
        return rules[other]
    if other is not None and other not in heads:
        return "QUE-8" if "QUE-8" in reference.decided else "QUE-5"
    reason = _target_says(target, reference.model.queue.profile, dict(reference.model.ledger.capacity), [*before, v.Explain(at=at)], id)
    if reason is not None:
        return _rule_of(reason, reference.model.queue.profile)
    return ORDER if offered else ROUND


def _task_of(seen: Observation) -> object:
    return seen[2 if seen[0] == "started" else 1]


def _target_says(target: Target, profile: Profile, capacity: dict[str, int], commands: Sequence[Command], id: object) -> str | None:
    """Why the target would not start that task; None if it would, or cannot say."""
    if "explain" not in target.commands:
        return None
    stepper = target.make(profile, capacity)
    saw: Sequence[Observation] = ()
    try:
        for command in commands:
            saw = stepper.step(command)
    except Exception:
        return None
    finally:
        if isinstance(stepper, HasClose):
            stepper.close()
    return next((str(seen[2]) for seen in saw if seen[0] == "refused" and seen[1] == id), None)


def _of_verdict(reference: Reference, command: v.Explain, wanted: Observation, got: Observation) -> str:
    _, rules = _explained(reference, command.at)
    if not wanted or not got or wanted[1] != got[1]:
        return ORDER
    return rules.get(str(wanted[1])) or _rule_of(str(got[2]), reference.model.queue.profile)


def _explained(reference: Reference, at: int) -> tuple[set[object], dict[object, str]]:
    """The heads, and the rule that refuses each that is refused."""
    saw = reference.step(v.Explain(at=at))
    refusing = iter([rule for rule in reference.decided if rule in REFUSING])
    return {seen[1] for seen in saw}, {seen[1]: next(refusing, ROUND) for seen in saw if seen[0] == "refused"}


def _rule_of(reason: str, profile: Profile) -> str:
    """The discipline's rule that gives such a reason."""
    family = {"strict": "STR", "bounded-borrow": "BOR", "slot-time": "SLT"}[str(type(profile.discipline).__struct_config__.tag)]
    return next((rule for rule, given in REFUSING.items() if given == reason and rule[:3] in ("ADM", family)), ROUND)
