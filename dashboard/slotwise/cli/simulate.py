"""`slotwise simulate`: a scenario in virtual time, under one profile or all side by side."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from slotwise.cli import choices
from slotwise.cli.output import Stop, count, data, runs_as_json, say, table
from slotwise.spec import batching_run, batching_scenarios, batching_simulation, batching_vocabulary, scenarios, simulation
from slotwise.spec.scenarios import Scenario, ScenarioError
from slotwise.spec.simulation import Run
from slotwise.spec.vocabulary import PROFILES, Profile

ENGINES = ("native", "trio", "reference")
SECOND = simulation.SECOND


def run(scenario: str, profile: str | None, engine: str, json: bool) -> int:
    if engine not in ENGINES:
        raise Stop(f"engine: found {engine!r}, expected {', '.join(ENGINES)}")
    if durable := durable_work(scenario):
        return run_durable(durable, profile, engine, json)
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


# checkpoint batching -----------------------------------------------------------------------------------------------------------------

#: What others' tables say, never measured here: column -> scenario -> (checkpoint calls, handler time, resume after the scheduled end).
QUOTED = {
    "JavaScript": {"steps-200": ("200", "6.32 s", ""), "fan-out-200": ("4", "136 ms", ""), "nested-waves": ("5-6", "8.14-8.33 s", "37-42 ms")},
    "Java": {"steps-200": ("398-399", "12.2 s", ""), "fan-out-200": ("6", "320 ms", "")},
}
SOURCES = {
    "steps-200": "pull request 725 of the Python SDK: local test runners, 30 ms simulated round trip, three runs; there Python takes 26.2 s before and 6.34 s after",
    "fan-out-200": "pull request 725 of the Python SDK: local test runners, 30 ms simulated round trip, three runs; there Python takes 413 ms before and 217 ms after",
    "nested-waves": "the project's runs of the JavaScript SDK 2.4.0 against an equivalent service, in real time",
}
ROLES = {"aws-durable-2.0.0": "before", "aws-durable-3.0.0": "after", "slotwise": "ours"}


def durable_work(name: str) -> batching_scenarios.Scenario | None:
    """The scenario, if it is one of durable work: built in, or a file that has `work`. Raises ScenarioError."""
    if name in batching_scenarios.SCENARIOS:
        return batching_scenarios.find(name)
    if not (name.endswith(".json") or "/" in name):
        if name not in scenarios.SCENARIOS:
            raise ScenarioError(f"scenario: found {name!r}, expected one of {', '.join([*scenarios.SCENARIOS, *batching_scenarios.SCENARIOS])}, or a .json file")
        return None
    try:
        read = Path(name).read_bytes()
        found: Any = msgspec.json.decode(read)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None                          # is refused as the other kind
    return batching_scenarios.decode(read, name) if isinstance(found, dict) and "work" in found else None


def run_durable(scenario: batching_scenarios.Scenario, profile: str | None, engine: str, json: bool) -> int:
    chosen = list(batching_vocabulary.PROFILES.values()) if profile is None else [durable_profile(profile)]
    runs = [play_durable(scenario, one, engine) for one in chosen]
    if json:
        runs_as_json([one.as_json() for one in runs])
    else:
        show_durable(scenario, runs)
    return 0


def durable_profile(name: str) -> batching_vocabulary.Profile:
    """A built-in profile of the batching, or that of a JSON file."""
    if name in batching_vocabulary.PROFILES:
        return batching_vocabulary.PROFILES[name]
    if not (name.endswith(".json") or "/" in name):
        raise Stop(f"profile: found {name!r}, expected {', '.join(batching_vocabulary.PROFILES)}, or a .json file")
    read = b""
    try:
        read = Path(name).read_bytes()
        return msgspec.json.decode(read, type=batching_vocabulary.Profile)
    except OSError as error:
        raise Stop(f"{name}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Stop(f"{name}: line {choices.line_of(error, read)}: {error}" if isinstance(error, msgspec.DecodeError) else f"{name}: {error}") from None


def play_durable(scenario: batching_scenarios.Scenario, profile: batching_vocabulary.Profile, engine: str) -> batching_run.Run:
    if engine == "trio":
        from slotwise.spec import batching_program

        return batching_program.simulate(profile, scenario)
    if engine == "reference":
        return batching_simulation.simulate(profile, scenario)
    try:
        from slotwise.impl import batching_simulation as whole
    except ImportError as error:
        raise Stop(f"engine native: {error}; `pip install .` builds it") from None
    try:
        return whole.simulate(profile, scenario)
    except ValueError as error:
        raise Stop(f"engine native: {error}") from None


def show_durable(scenario: batching_scenarios.Scenario, runs: Sequence[batching_run.Run]) -> None:
    """Profiles side by side, and what is quoted of others, marked as such."""
    quoted = {f"{sdk} (quoted)": rows[scenario.name] for sdk, rows in QUOTED.items() if scenario.name in rows}
    head = [f"{ROLES[one.profile.name]} ({one.profile.name})" if one.profile.name in ROLES else one.profile.name for one in runs]
    rows = [
        ["checkpoint calls", *(count(len(one.calls)) for one in runs), *(row[0] for row in quoted.values())],
        ["handler time", *(one.result if one.handler is None else duration(one.handler) for one in runs), *(row[1] for row in quoted.values())],
        ["resume after due", *(duration(max(one.resumes.values())) if one.resumes else "" for one in runs), *(row[2] for row in quoted.values())],
        ["calls in vain", *(count(sum(call.in_vain for call in one.calls)) for one in runs), *("" for _ in quoted)],
        ["tail", *("" if one.tail is None else duration(one.tail) for one in runs), *("" for _ in quoted)],
    ]
    service = scenario.service
    trip = f"{duration(service.out + service.back)} round trip, {duration(service.out)} of it out"
    say(f"{scenario.name}: {', '.join(sorted({one.result for one in runs}))}; {trip}; played by {runs[0].engine}")
    data(table(["", *head, *quoted], [row for row in rows if any(row[1:])], ",".join([*head, *quoted])))
    say("resume after due: from the service's scheduled end until user code goes on, the longest. tail: from the handler's return to the collector's end.")
    if quoted:
        say(f"quoted: {SOURCES[scenario.name]}.")


def duration(ns: int) -> str:
    return f"{ns / SECOND:.3f} s" if ns >= SECOND else f"{ns / 10**6:g} ms"
