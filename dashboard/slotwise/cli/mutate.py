"""`slotwise mutate`: would the search notice a mistake? Seeded faults of the engine, or small mistakes in the rules."""
from __future__ import annotations

from collections.abc import Sequence

from slotwise.cli import choices, store
from slotwise.cli.output import Stop, as_json, count, data, progress, runs_as_json, say, table, worst
from slotwise.cli.rules import MUTATION, of
from slotwise.fuzz import exits, mutation, seeded
from slotwise.fuzz.mutation import Report
from slotwise.fuzz.seeded import Found

SIDES = ("native", "spec")


def run(mechanism: str | None, side: str, every: int, workers: int, json: bool) -> int:
    names = choices.mechanisms(mechanism)
    if side not in SIDES:
        raise Stop(f"side: found {side!r}, expected {' or '.join(SIDES)}")
    return native(names, workers, json) if side == "native" else spec(names, every, workers, json)


def native(names: Sequence[str], workers: int, json: bool) -> int:
    faults = [fault for fault in seeded.catalogue() if fault.mechanism in names]
    with progress() as shown:
        line = None if shown is None else shown.add_task("seeded faults", note="")
        found = []
        for one in seeded.search(faults, workers=workers):
            found.append(one)
            if shown is not None and line is not None:
                shown.update(line, completed=len(found), total=len(seeded.runs(faults)), note=one.fault.name)
    killed = {rule: sorted({one.fault.name for one in found if one.fault.rule == rule and one.killed}) for rule in dict.fromkeys(one.fault.rule for one in found)}
    store.keep(MUTATION, {"killed": {**store.kept(MUTATION).get("killed", {}), **killed}})
    survivors = [one for one in found if not one.killed]
    if json:
        as_json({**of(names), "side": "native", "faults": [one.to_json() for one in found], "score": seeded.score(found), "floor": seeded.FLOOR})
    else:
        show_faults(found)
    return exits.MUTATION_FLOOR if survivors else exits.CLEAN


def show_faults(found: list[Found]) -> None:
    head = ("fault", "rule", "profile", "found in s", "steps", "shrunk", "shortest", "blamed")
    data(table(head, [row(one) for one in found], "found in s,steps,shrunk,shortest"))
    times = sorted(one.seconds for one in found if one.killed)
    middle = f"; median {times[len(times) // 2]:.2f} s, slowest {times[-1]:.1f} s" if times else ""
    near = [one for one in found if one.killed and one.shortest is not None]
    close = f"; {sum(one.near for one in near)}/{len(near)} shrunk to at most 2 over the shortest known" if near else ""
    data(f"{sum(one.killed for one in found)}/{len(found)} found (fault and profile){middle}{close}")
    for one in found:
        if not one.killed:
            say(f"not found: {one.fault.name} under {one.profile}, in {count(one.steps)} steps: {one.fault.wrong} ({one.fault.rule})")


def row(one: Found) -> tuple[str, ...]:
    fault = one.fault
    if not one.killed:
        return (fault.name, fault.rule, one.profile, "not found", count(one.steps), "-", "-", "-")
    return (fault.name, fault.rule, one.profile, f"{one.seconds:.2f}", count(one.steps), str(one.shrunk), str(one.shortest or "-"), one.blamed)


def spec(names: Sequence[str], every: int, workers: int, json: bool) -> int:
    with progress() as shown:
        line = None if shown is None else shown.add_task("mutants of the spec", note="")

        def told(done: int, total: int) -> None:
            if shown is not None and line is not None:
                shown.update(line, completed=done, total=total, note=f"{done}/{total}")

        reports = [mutation.run(every=every, workers=workers, progress=told, mechanism=name) for name in names]
    if json:
        runs_as_json([report.to_json() for report in reports])
    else:
        for report in reports:
            show_mutants(report)
    return worst(report.exit for report in reports)


def show_mutants(report: Report) -> None:
    for outcome in report.survivors:
        data(f"{outcome.verdict:<9} {outcome.mutant.rule:<7} line {outcome.mutant.line}: {outcome.mutant.was}\n{'':17} now {outcome.mutant.now}")
    rows = [(rule, str(killed), str(counted), f"{killed / counted:.0%}") for rule, (killed, counted) in report.by_rule().items() if counted]
    data(table(("rule or helper", "killed", "of", "score"), rows, "killed,of,score"))
    listed = len(report.of("survived")) + len(report.of("endless")) - len(report.survivors)
    data(f"{len(report.of('killed'))} of {len(report.outcomes)} mutants of {report.mechanism} killed, {listed} equivalent, {len(report.survivors)} not noticed "
         f"({len(report.of('endless'))} of them endless), {len(report.of('unviable'))} unviable: score {report.score:.1%}, floor {mutation.FLOOR:.0%}")  # fmt: skip
    for line in report.wrong():
        say(line)
