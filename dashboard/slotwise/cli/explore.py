"""`slotwise explore`: every order in which a few commands can come; and of spinning, every schedule of a few threads on one processor or two."""
from __future__ import annotations

from collections.abc import Sequence

from slotwise.cli import choices
from slotwise.cli.fuzz import keep_failure, profiles
from slotwise.cli.output import Stop, as_json, count, data, progress, say, table, worst
from slotwise.cli.rules import of
from slotwise.fuzz import schedules
from slotwise.fuzz.explain import explain, seen
from slotwise.fuzz.explore import SCOPES, Explored, explore
from slotwise.fuzz.schedules import Scheduled, Shown
from slotwise.fuzz.target import HasClone
from slotwise.spec import spin_vocabulary
from slotwise.spec.mechanisms import MECHANISMS, mechanism_of

#: Steps of a schedule that are shown before its round.
SHOWN = 12


def run(mechanism: str, scope: str, depth: int | None, target: str, profile: str | None, json: bool) -> int:
    choices.mechanisms(mechanism)
    if scope not in SCOPES:
        raise Stop(f"scope: found {scope!r}, expected {' or '.join(SCOPES)}")
    loaded = choices.target(target)
    chosen = profiles(loaded, mechanism, profile)
    if profile is None and not target.startswith("native:"):
        chosen = [one for one in MECHANISMS[mechanism].profiles.values() if loaded.follows(one)] or chosen
    found, played = [], []
    for one in chosen:
        with progress() as shown:
            line = None if shown is None else shown.add_task(f"{mechanism}, {one.name}, {scope}", total=None, note="")

            def told(so_far: Explored, shown: object = shown, line: object = line) -> None:
                if line is not None:
                    shown.update(line, note=f"{count(so_far.states)} states, depth {so_far.depth}")  # type: ignore[attr-defined]

            found.append(explore(loaded, one, scope, depth=depth, told=told))
        if isinstance(one, spin_vocabulary.Profile) and isinstance(loaded.make(one, mechanism_of(one).setup()), HasClone):
            played += list(schedules.every(loaded, one))
    if json:
        as_json({**of([mechanism]), "scopes": [one.to_json() for one in found], "schedules": [one.to_json() for one in played]})
    else:
        show(found, played)
    return worst([*(one.exit for one in found), *(one.exit for one in played)])


def show(found: Sequence[Explored], played: Sequence[Scheduled]) -> None:
    for one in found:
        if one.failure is not None:
            data(explain(one.failure))
            data(f"  {keep_failure(one.failure)}\n")
    for schedule in played:
        if schedule.verdict != "clean":
            show_schedule(schedule)
    rows = [[one.mechanism, one.profile, one.target, one.scope, count(one.states), count(one.steps), str(one.depth), "yes" if one.closed else "no", result(one)] for one in found]
    data(table(["mechanism", "profile", "target", "scope", "states", "steps", "depth", "closed", "result"], rows, "states,steps,depth"))
    if played:
        rows = [[one.profile, one.target, one.scene, str(one.processors), count(one.states), "yes" if one.closed else "no", one.verdict + (", as is known" if one.known else "")] for one in played]
        data(table(["profile", "target", "scene", "processors", "states", "closed", "result"], rows, "processors,states"))
    for one in found:
        if one.hazards:
            say(f"{one.profile} is known to break {', '.join(sorted(one.hazards, key=lambda law: int(law.rpartition('-')[2])))}, and did")


def result(one: Explored) -> str:
    if one.failure is not None:
        return f"{one.failure.kind.upper()} at {one.failure.rule}"
    return "no divergence" if one.lockstep else "no law broken"


def show_schedule(one: Scheduled) -> None:
    where = f"{one.scene} on {one.processors} processor{'s' * (one.processors > 1)}, {one.profile}, {one.target}"
    starved = f": {', '.join(one.starved)} could run and {'do' if len(one.starved) > 1 else 'does'} not" if one.verdict == "livelock" else f": {', '.join(one.starved)}"
    data(f"{one.verdict.upper()} in {where}{starved}")
    if len(one.schedule) > SHOWN:
        data(f"  (after {len(one.schedule) - SHOWN} steps)")
    for step in one.schedule[-SHOWN:]:
        data(f"    {said(step)}")
    if one.round:
        data("  and then for ever")
        for step in one.round:
            data(f"    {said(step)}")
    data("")


def said(step: Shown) -> str:
    return f"{step.thread:<5} {step.did:<18} {'; '.join(map(seen, step.saw))}".rstrip()
