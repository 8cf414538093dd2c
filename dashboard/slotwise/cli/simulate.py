"""`slotwise simulate`: a scenario in virtual time, under one profile or all side by side."""
from __future__ import annotations

from collections.abc import Sequence

from slotwise.cli import choices
from slotwise.cli.output import Stop, count, data, runs_as_json, say, table
from slotwise.spec import scenarios, simulation
from slotwise.spec.scenarios import Scenario
from slotwise.spec.simulation import Run
from slotwise.spec.vocabulary import PROFILES, Profile

ENGINES = ("native", "trio", "reference")
SECOND = simulation.SECOND


def run(scenario: str, profile: str | None, engine: str, json: bool) -> int:
    if engine not in ENGINES:
        raise Stop(f"engine: found {engine!r}, expected {', '.join(ENGINES)}")
    chosen = [choices.profile(profile)] if profile is not None else list(PROFILES.values())
    found = scenarios.find(scenario)
    runs = [play(found, one, engine) for one in chosen]
    if json:
        runs_as_json([one.as_json() for one in runs])
    else:
        show(found, runs)
    return 0


def play(scenario: Scenario, profile: Profile, engine: str) -> Run:
    if engine == "trio":
        from slotwise.spec import program

        return program.simulate(profile, scenario)
    if engine == "reference":
        return simulation.simulate(profile, scenario)
    return native(scenario, profile)


def native(scenario: Scenario, profile: Profile) -> Run:
    """The engine plays the whole scenario in one call."""
    try:
        from slotwise.impl import _native
    except ImportError as error:
        raise Stop(f"engine native: {error}; `pip install .` builds it") from None
    starts, ends, unserved = _native.simulate(profile, scenario)
    tasks = [arrival.task.id for arrival in scenario.arrivals]
    return Run(scenario, profile.name, "native", [(at, lease, tasks[place]) for at, lease, place in starts], ends, {tasks[place]: why for place, why in unserved})


def show(scenario: Scenario, runs: Sequence[Run]) -> None:
    groups = list(runs[0].waits())
    numbers = ["wall s", "utilization", "idle slot-s", *(f"{group} p95 s" for group in groups), "column idle s"]
    rows = [[one.profile, f"{one.wall / SECOND:.2f}", f"{one.utilization:.2%}", f"{one.idle_slot_s:.2f}",
             *(f"{simulation.percentile(waits, 95) / SECOND:.2f}" for waits in one.waits().values()), f"{sum(one.group_idle_s().values()):.2f}"] for one in runs]  # fmt: skip
    capacity = ", ".join(f"{resource} {units}" for resource, units in scenario.capacity.items())
    say(f"{scenario.name}: {count(len(scenario.arrivals))} tasks in {len(groups)} groups; {capacity}; played by {runs[0].engine}")
    data(table(["profile", *numbers], rows, ",".join(numbers)))
    for one in runs:
        if one.unserved:
            say(f"{one.profile}: {count(len(one.unserved))} tasks did not run, the first {next(iter(one.unserved))}: {next(iter(one.unserved.values())) or 'it still waits'}")
    say("p95: from arrival to start. column idle: how long no task of a group was running, over all groups.")
