"""`slotwise watch FILE --against T`: a trace played on the rules and on a target, side by side, and judged as `slotwise replay` does."""
from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from slotwise.cli import choices
from slotwise.cli.output import Stop, as_json, data, say
from slotwise.dashboard.observe import report, sides
from slotwise.dashboard.observe.sides import Side, Sides
from slotwise.fuzz import exits
from slotwise.fuzz.explain import differences, said, seen
from slotwise.fuzz.judges import Finding, described, first_difference, judge
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.replay import check, different
from slotwise.fuzz.report import EXITS
from slotwise.fuzz.searches import search_of, set_up
from slotwise.fuzz.target import HasClose, Target
from slotwise.spec.mechanisms import mechanism_of
from slotwise.spec.trace import Trace
from slotwise.spec.vocabulary import Observation

if TYPE_CHECKING:
    from slotwise.cli.watch import Wanted

WORDED = 4096                            # rows whose words are kept


@dataclass(frozen=True, slots=True)
class Played:
    expected: list[Observation]
    found: list[Observation] | None
    rules: tuple[str, ...]
    wrong: str = ""

    @property
    def differs(self) -> bool:
        return self.found is not None and self.found != self.expected


class Rows(Sequence[Side]):
    """Steps, put into words when they are asked for."""

    def __init__(self, commands: Sequence[Any], played: Sequence[Played]) -> None:
        self._commands, self._played = commands, played
        self._side = lru_cache(WORDED)(self._worded)

    def __len__(self) -> int:
        return len(self._played)

    @overload
    def __getitem__(self, place: int) -> Side: ...
    @overload
    def __getitem__(self, place: slice) -> list[Side]: ...
    def __getitem__(self, place: int | slice) -> Side | list[Side]:
        places = range(len(self._played))[place]
        return [self._side(one) for one in places] if isinstance(places, range) else self._side(places)

    def _worded(self, place: int) -> Side:
        one = self._played[place]
        found = None if one.found is None else tuple(map(seen, one.found))
        return Side(place + 1, said(self._commands[place]), tuple(map(seen, one.expected)), found, one.rules, one.differs, one.wrong)


def compare(trace: Trace, target: Target, name: str) -> Sides:
    """Plays it. Raises Rejected, TargetError."""
    check(trace, target, name)
    profile, setup = set_up(trace)
    mechanism = mechanism_of(profile)
    hazards = mechanism.hazards(profile)
    commands = trace.commands
    finding = judge(target, profile, setup, commands, state_every=1, hazards=hazards)
    played = play(trace, target, hazards, finding)
    change = next((at for at, (step, one) in enumerate(zip(trace.steps, played, strict=True)) if step.saw is not None and one.found is not None and different(step.saw, one.found)), None)
    claims = target.name == "reference" or target.follows(profile)
    places = tuple(place for place, one in enumerate(played) if one.differs or one.wrong)
    first, kind, rule, message, end = None, "", "", "", exits.CLEAN
    if finding is not None:
        first, kind, rule, message, end = finding.at, finding.kind, finding.rule, finding.message, EXITS[finding.kind]
    elif change is not None:
        first, kind, end = change, "recording", exits.DIVERGENCE
        message = "recorded: " + first_difference(trace.steps[change].saw or [], played[change].found or []).replace("expected ", "", 1)
        played[change] = Played(played[change].expected, played[change].found, played[change].rules, message)
        places = tuple(sorted({*places, change}))
    elif places:                         # it claims nothing, and keeps the laws: a difference is no fault
        first, message = places[0], first_difference(played[places[0]].expected, played[places[0]].found or [])
    states = None if finding is None or finding.states is None else tuple(differences(*finding.states))
    again = f"slotwise replay {shlex.quote(name)}" + ("" if target.name == "native" else f" --target {shlex.quote(target.name)}")
    return Sides(
        name, mechanism.name, profile.name, search_of(profile).wording.setting(setup), target.name, claims, kind, rule, sentence(mechanism, rule) if kind in ("divergence", "law") else "", message, first, places, states, again, end,
        Rows(commands, played),
    )  # fmt: skip


def sentence(mechanism: Any, rule: str) -> str:
    known = mechanism.law_book.LAWS.get(rule) or mechanism.rule_book.get(rule)
    return known.prose if known else ""


def play(trace: Trace, target: Target, hazards: frozenset[str], finding: Finding | None) -> list[Played]:
    """Both, to the end; the target to where it fails. A step that is known to fail is not tried again: it may take long."""
    profile, setup = set_up(trace)
    laws: Any = mechanism_of(profile).new_judge(profile if target.follows(profile) else None, setup)
    reference, stepper = Reference(profile, setup), target.make(profile, setup)
    crash = finding.at if finding is not None and finding.kind == "crash" else None
    rows, alive = [], True
    try:
        for place, command in enumerate(trace.commands):
            expected, found, wrong = reference.step(command), None, ""
            rules = tuple(dict.fromkeys(reference.decided))
            if alive and place == crash and finding is not None:
                alive, wrong = False, finding.message
            elif alive:
                try:
                    found = stepper.step(command)
                except Exception as error:
                    alive, wrong = False, f"the target failed: {described(error)}"
                else:
                    broken = [f"{one.law}: {one.message}" for one in laws.step(command, found) if one.law not in hazards]
                    told = [finding.message] if finding is not None and place == finding.at and finding.kind != "law" and found == expected else []
                    wrong = "; ".join([*told, *broken])
            rows.append(Played(expected, found, rules, wrong))
    finally:
        if isinstance(stepper, HasClose):
            stepper.close()
    return rows


def run(wanted: Wanted) -> int:
    """Ends as `slotwise watch` does: 1 if something is wrong and --fail-on asks, else 0; `slotwise replay` is what judges."""
    if wanted.where is None or wanted.attach is not None or wanted.against is None:
        raise Stop("watch: --against: expected a trace, FILE --against T")
    loaded, read = choices.target(wanted.against), choices.read_trace(Path(wanted.where))
    if not wanted.once:
        from slotwise.cli.watch import needs_terminal

        needs_terminal()
    if not wanted.once:
        say(f"playing {sides.count(len(read.steps))} on the rules and on {loaded.name}")
    found = compare(read, loaded, wanted.where)
    if not wanted.once:
        return show(found, wanted.ascii)
    if wanted.format == "json":
        as_json(sides.as_object(found))
    else:
        data(sides.as_text(found).rstrip("\n"))
    return report.REACHED if wanted.fail_on is not None and found.exit != exits.CLEAN else report.OK


def show(found: Sides, ascii: bool) -> int:
    from slotwise.cli.watch import mapped_keys

    mapped = mapped_keys()
    from slotwise.dashboard.screens.sides import SidesApp

    SidesApp(found, ascii=ascii, mapped=mapped).run()
    return report.OK
