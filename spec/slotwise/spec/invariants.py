"""Invariants: what holds in every state that the rules can reach, whatever the commands.

A law judges anybody's scheduler from what is seen; an invariant also looks at its `state()`. Each is a predicate over one transition:
the states before and after a command, the command, and what was seen.
"""
from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from slotwise.spec import vocabulary as v
from slotwise.spec.rules import BORROWING, EVERY, SLOT_TIME, TAGGED


@dataclass(frozen=True, slots=True)
class Transition:
    profile: v.Profile
    capacity: dict[str, int]
    before: v.State
    command: v.Command
    saw: list[v.Observation]
    after: v.State

    def part(self, name: str, *, before: bool = False) -> Any:
        return (self.before if before else self.after).get(name, {})


@dataclass(frozen=True, slots=True)
class Invariant:
    id: str
    prose: str
    source: str
    disciplines: tuple[str, ...]
    broken: Callable[[Transition], str | None]


INVARIANTS: dict[str, Invariant] = {}


def invariant(id: str, *, source: str, of: tuple[str, ...] = EVERY) -> Callable[[Callable[[Transition], str | None]], Callable[[Transition], str | None]]:
    """Register a predicate, which says what is broken, or None."""

    def register(broken: Callable[[Transition], str | None]) -> Callable[[Transition], str | None]:
        INVARIANTS[id] = Invariant(id, " ".join((broken.__doc__ or "").split()), source, of, broken)
        return broken

    return register


def broken(transition: Transition) -> list[tuple[str, str]]:
    """(id, what is broken) of every invariant of the profile's discipline that does not hold."""
    tag = cast(str, type(transition.profile.discipline).__struct_config__.tag)
    found = ((i.id, i.broken(transition)) for i in INVARIANTS.values() if tag in i.disciplines)
    return [(id, what) for id, what in found if what]


def held(state: v.State) -> Counter[tuple[str, str]]:
    """(group, resource) -> units leased."""
    units: Counter[tuple[str, str]] = Counter()
    for _, group, needs, _ in cast(dict[str, tuple[str, str, dict[str, int], int]], state.get("leases", {})).values():
        units.update({(group, resource): n for resource, n in needs.items()})
    return units


def falls(before: dict[str, Any], after: dict[str, Any]) -> str | None:
    """The first entry that is less than it was, or gone."""
    return next((f"{name}: {value} -> {after.get(name, 0)}" for name, value in before.items() if after.get(name, 0) < value), None)


@invariant("INV-1", source="semantics 2.3")
def never_beyond_capacity(t: Transition) -> str | None:
    """The units leased of a resource never exceed its capacity."""
    used: Counter[str] = Counter()
    for (_, resource), units in held(t.after).items():
        used[resource] += units
    return next((f"{resource}: {units} of {t.capacity.get(resource, 0)}" for resource, units in used.items() if units > t.capacity.get(resource, 0)), None)


@invariant("INV-2", source="semantics I1", of=BORROWING)
def debt_within_leases(t: Transition) -> str | None:
    """With repayment on, a group never owes more of a resource than it holds; so a group without leases owes nothing."""
    if not cast(v.BoundedBorrow, t.profile.discipline).repay:
        return None
    units = held(t.after)
    return next((f"{group} owes {owed} {r} of {units[group, r]}" for group, debts in t.part("debt").items() for r, owed in debts.items() if owed > units[group, r]), None)


@invariant("INV-3", source="semantics I6", of=BORROWING)
def debt_stays_without_repayment(t: Transition) -> str | None:
    """With repayment off, debt never shrinks."""
    if cast(v.BoundedBorrow, t.profile.discipline).repay:
        return None
    return next((f"{group} {what}" for group, debts in t.part("debt", before=True).items() if (what := falls(debts, t.part("debt").get(group, {})))), None)


@invariant("INV-4", source="semantics I2, I5", of=BORROWING)
def one_unit_is_everyones_right(t: Transition) -> str | None:
    """Where every head asks single units and may hold at least one, a group without leases is never refused by policy."""
    policy = cast(v.BoundedBorrow, t.profile.discipline)
    heads = heads_of(t.after)
    if not policy.repay or any(units > 1 for _, needs in heads.values() for units in needs.values()):
        return None
    running = {group for group, _ in held(t.after)}
    limits = {name: spec[1] for name, spec in t.part("groups").items()}
    for task, reason in refusals(t):
        group = next(g for g, (id, _) in heads.items() if id == task)
        if reason != "no_capacity" and group not in running and limits[group] != 0 and group in settled_specs(t):
            return f"{task} of {group} is refused ({reason})"
    return None


def heads_of(state: v.State) -> dict[str, tuple[str, dict[str, int]]]:
    """group -> (id, needs) of its oldest entry, of the groups in which a task waits."""
    fifo = cast(dict[str, list[tuple[str, dict[str, int]]]], state.get("fifo", {}))
    return {group: entries[0] for group, entries in fifo.items() if group in cast(dict[str, int], state.get("waiting", {}))}


def refusals(t: Transition) -> list[tuple[str, str]]:
    return [cast(tuple[str, str], word[1:]) for word in t.saw if word[0] == "refused"] if isinstance(t.command, v.Explain) else []


def settled_specs(t: Transition) -> set[str]:
    """Groups with one waiting task, whose head therefore came with the newest specification."""
    return {group for group, entries in t.part("fifo").items() if len(entries) == 1}


@invariant("INV-5", source="semantics I3", of=BORROWING)
def alone_it_takes_all(t: Transition) -> str | None:
    """Without a reserve or a fixed ceiling, and with single units, a head that alone could start is never refused by policy;
    except by a debt from when its share was smaller, beyond what its group now holds above its share (found here: I3 says never)."""
    policy = cast(v.BoundedBorrow, t.profile.discipline)
    if policy.reserve_at_least or policy.reserve_fraction or policy.default_ceiling is not None or policy.ceilings or not policy.repay:
        return None
    entries = [needs for fifo in t.part("fifo").values() for _, needs in fifo] + [lease[2] for lease in t.part("leases").values()]
    if any(units > 1 for needs in entries for units in needs.values()):
        return None
    fits = [word for word in t.saw if isinstance(t.command, v.Explain) and (word[0] == "startable" or word[-1] != "no_capacity")]
    if len(fits) != 1 or fits[0][0] != "refused":
        return None
    group = next(g for g, (id, _) in heads_of(t.after).items() if id == fits[0][1])
    limit, units, debts = t.part("groups")[group][1], held(t.after), t.part("debt").get(group, {})
    old_debt = any(owed > units[group, r] - min(-(-t.capacity[r] // 2), limit) for r, owed in debts.items() if t.capacity[r] > 1)
    return None if old_debt or group not in settled_specs(t) else f"{fits[0][1]} is refused ({fits[0][-1]})"


@invariant("INV-6", source="design 4, rule 2; report rule 2", of=SLOT_TIME)
def levels_never_fall(t: Transition) -> str | None:
    """A group's level never falls."""
    return falls({group: account[1] for group, account in t.part("accounts", before=True).items()}, {group: account[1] for group, account in t.part("accounts").items()})


@invariant("INV-7", source="design 4, rule 4", of=SLOT_TIME)
def virtual_times_never_fall(t: Transition) -> str | None:
    """The virtual time of a resource never falls."""
    return falls(t.part("virtual", before=True), t.part("virtual"))


@invariant("INV-8", source="semantics 2.4", of=TAGGED)
def tags_never_fall(t: Transition) -> str | None:
    """The virtual time never falls."""
    before, after = (struct.unpack(">d", int(cast(int, s.get("virtual_time", 0))).to_bytes(8, "big"))[0] for s in (t.before, t.after))
    return f"virtual time: {before} -> {after}" if after < before else None


@invariant("INV-9", source="semantics 2.4")
def turns_are_unique(t: Transition) -> str | None:
    """No two groups have the same turn, a group in which a task waits has one, and turns only grow."""
    turns = t.part("turn")
    if len(set(turns.values())) < len(turns) or any(turn > cast(int, t.after["turns"]) for turn in turns.values()):
        return f"turns {turns} of {t.after['turns']}"
    return next((f"{group} has none" for group in t.part("waiting") if group not in turns), None)


@invariant("INV-10", source="design 4, rule 6", of=SLOT_TIME)
def only_heads_are_overtaken(t: Transition) -> str | None:
    """Only a task at the head of its FIFO is remembered as overtaken."""
    heads = {id for id, _ in heads_of(t.after).values()}
    return next((f"{task} is no head" for task in t.part("overtaken") if task not in heads), None)


@invariant("INV-11", source="design 4, rules 1 and 4", of=SLOT_TIME)
def starts_within_the_limit(t: Transition) -> str | None:
    """A start never takes a group beyond its running limit."""
    running = Counter(lease[1] for lease in t.part("leases").values())
    started = {t.part("leases")[str(word[1])][1] for word in t.saw if word[0] == "started"}
    limits = {name: spec[2] for name, spec in t.part("groups").items()}
    return next((f"{group} runs {running[group]} of {limits[group]}" for group in started if 0 <= limits[group] < running[group]), None)
