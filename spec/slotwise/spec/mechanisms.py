"""The mechanisms that are specified, by name: for each its words, its profiles, its rules and its laws.

Whoever reads traces, draws commands or compares targets asks here, and so treats every mechanism the same. The rule modules are loaded
when they are first asked for: words need no rules.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from slotwise.spec import batching_vocabulary, spin_vocabulary, vocabulary
from slotwise.spec.rules import RULES, Rule

PACKAGE = "slotwise.spec"


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    name: str
    command: Any                             # the union of its commands
    commands: Mapping[str, type[Any]]        # by word
    profile: type[Any]
    profiles: Mapping[str, Any]              # by name
    setup: type[Any]
    observation: Any                         # the type of one thing seen, as it is read from a file
    seen: Mapping[str, str]                  # the words of what is seen, each with its meaning
    rules: tuple[str, ...]                   # the rule modules, in the order in which they import each other; the last has `step` and `state`
    make: Callable[[ModuleType, Any, Any], Any]      # (the last rule module or a copy of it, profile, setup) -> a model for `step` and `state`
    program: tuple[str, ...]                 # modules of its program with rules that decide there, not in `step`
    simulation: str                          # the module with `decided`: how often those do, in all built-in scenarios; none if there are none
    laws: str                                # the module with `LAWS` and `KNOWN_HAZARDS`
    judges: str                              # the module with `Judge`
    judge: Callable[[ModuleType, Any, Any], Any]     # (that module, profile or None, setup) -> a judge

    @property
    def spec(self) -> ModuleType:
        """`step(model, command)`, `state(model)` and `decided`."""
        return import_module(f"{PACKAGE}.{self.rules[-1]}")

    @property
    def law_book(self) -> ModuleType:
        """`LAWS` and `KNOWN_HAZARDS`."""
        return import_module(f"{PACKAGE}.{self.laws}")

    @property
    def rule_book(self) -> dict[str, Rule]:
        """Its rules by id: by family in the order in which its modules import each other, and by number."""
        modules = (*self.rules, *self.program)
        for module in modules:
            import_module(f"{PACKAGE}.{module}")
        of = {module: [rule for rule in RULES.values() if rule.function.split(".")[2] == module] for module in modules}
        families = list(dict.fromkeys(rule.family for rules in of.values() for rule in rules))
        return {rule.id: rule for rule in sorted((rule for rules in of.values() for rule in rules), key=lambda rule: (families.index(rule.family), rule.number))}

    def decided_in_scenarios(self) -> Counter[str]:
        """The rules that decide in its program: how often each does, over all built-in scenarios and profiles."""
        if not self.program:
            return Counter()
        decided = import_module(f"{PACKAGE}.{self.simulation}").decided
        return sum((decided(profile) for profile in self.profiles.values()), Counter())

    def hazards(self, profile: Any) -> frozenset[str]:
        """The laws that a profile is known to break."""
        found: frozenset[str] = self.law_book.KNOWN_HAZARDS.get(profile.name, frozenset())
        return found

    def set_up(self, given: Any) -> Any:
        """A setup, given as such or by its only field: of admission, the capacity."""
        return given if isinstance(given, self.setup) else self.setup(dict(given))

    def model(self, profile: Any, setup: Any) -> Any:
        """Of the specification itself."""
        return self.make(self.spec, profile, self.set_up(setup))

    def new_judge(self, profile: Any, setup: Any) -> Any:
        """`profile` None: for a stranger."""
        return self.judge(import_module(f"{PACKAGE}.{self.judges}"), profile, self.set_up(setup))


def _batching() -> Mechanism:
    v = batching_vocabulary
    return Mechanism(
        "batching", v.Command, v.COMMANDS, v.Profile, v.PROFILES, v.Setup, tuple[str | int | list[str] | None, ...], v.SEEN,
        ("rules", "refresh", "batching_state", "batching_line", "batching_plan", "batching_hold", "batching_answers", "batching",
         "aws_durable_state", "aws_durable_batch", "aws_durable_heap", "aws_durable_answers", "aws_durable_thread", "aws_durable", "collector"),
        lambda spec, profile, setup: spec.collector(profile, setup),
        ("batching_sdk", "batching_coordinator"), "batching_simulation", "batching_laws", "batching_judge", lambda judges, profile, setup: judges.Judge(profile, setup),
    )  # fmt: skip


def _spin() -> Mechanism:
    v = spin_vocabulary
    return Mechanism(
        "spin", v.Command, v.COMMANDS, v.Profile, v.PROFILES, v.Setup, tuple[str | int, ...], v.SEEN,
        ("rules", "spin_window", "spin_policy", "spin_pool", "spin_worker", "spin_dispatcher", "spin_barrier", "spin"), lambda spec, profile, setup: spec.pool(profile, setup),
        (), "", "spin_laws", "spin_judge", lambda judges, profile, setup: judges.Judge(profile, setup),
    )  # fmt: skip


def _admission() -> Mechanism:
    v = vocabulary
    return Mechanism(
        "admission", v.Command, v.COMMANDS, v.Profile, v.PROFILES, v.Setup, tuple[str | int | dict[str, int], ...], v.SEEN,
        ("rules", "fair_queue", "tagged", "strict", "bounded_borrow", "slot_time", "admission"), lambda spec, profile, setup: spec.admission(profile, setup.capacity),
        (), "", "laws", "judge", lambda judges, profile, setup: judges.Judge(profile, setup.capacity),
    )  # fmt: skip


MECHANISMS = {mechanism.name: mechanism for mechanism in (_admission(), _batching(), _spin())}


def mechanism_of(profile: Any) -> Mechanism:
    """Whose profile is it?"""
    return next(mechanism for mechanism in MECHANISMS.values() if isinstance(profile, mechanism.profile))
