"""The bars that concern admission and queueing, measured. Each benchmark is a function that returns figures, plain data.

Time is CPU time of this process, so that a busy machine does not count; what is compared is measured in turns, in one run, and medians
are taken. A benchmark whose prerequisite is missing says so instead of failing.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any

from slotwise.fuzz import bench_loads as loads
from slotwise.fuzz import targets, workloads
from slotwise.fuzz.target import Target, TargetError
from slotwise.spec import program, scenarios, simulation
from slotwise.spec import vocabulary as v
from slotwise.spec.scenarios import Scenario
from slotwise.spec.simulation import Run

PROFILES = tuple(v.PROFILES)


class NotAvailable(Exception):
    """What a benchmark needs is not here; the message says what."""


class CheckFailed(Exception):
    """What was measured is worth nothing, for what was done was wrong; the message says how."""


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    figure: float | None                 # None: not available, `note` says why
    unit: str
    bar: str                             # "" where the figure is printed only
    met: bool | None
    command: str
    note: str = ""

    def to_json(self) -> dict[str, object]:
        return asdict(self)


def at_least(name: str, figure: float, unit: str, bar: float, note: str = "") -> Figure:
    return Figure(name, figure, unit, f">= {bar:,g}", figure >= bar, "", note)


def at_most(name: str, figure: float, unit: str, bar: float, note: str = "") -> Figure:
    return Figure(name, figure, unit, f"<= {bar:,g}", figure <= bar, "", note)


def plain(name: str, figure: float, unit: str, note: str = "") -> Figure:
    return Figure(name, figure, unit, "", None, "", note)


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def in_turns(*works: Callable[[], object], rounds: int = 5) -> list[float]:
    """The median time of each, measured in turns."""
    times = [[seconds(work) for work in works] for _ in range(rounds)]
    return [median(row[i] for row in times) for i in range(len(works))]


def native() -> Any:
    try:
        from slotwise.impl import _native
    except ImportError as error:
        raise NotAvailable(f"the engine is not built: {error}") from None
    return _native


def target(name: str) -> Target:
    try:
        return targets.load(name)
    except TargetError as error:
        raise NotAvailable(str(error)) from None


def native_simulate(profile: v.Profile, scenario: Scenario) -> Run:
    """A scenario through the engine, a call per command."""
    return simulation.play(scenario, native().Admission(profile, scenario.capacity).step, profile=profile.name, engine="native")


# The benchmarks ----------------------------------------------------------------------------------------------------------------------


def spec_core() -> list[Figure]:
    episodes = [loads.episode(seed) for seed in range(60)]
    steps = sum(len(commands) for _, commands in episodes)
    least, *times = in_turns(partial(loads.least, episodes * 4), *(partial(loads.reference, v.PROFILES[name], episodes) for name in PROFILES))
    return [*(at_most(f"spec core ÷ the least Python scheduler, {name}", spent / (least / 4), "x", 12) for name, spent in zip(PROFILES, times, strict=True)),
            *(plain(f"spec core, {name}", steps / spent, "steps/s") for name, spent in zip(PROFILES, times, strict=True))]  # fmt: skip


def trio_program() -> list[Figure]:
    works = [partial(program.simulate, v.PROFILES["slotwise"], make()) for make in scenarios.SCENARIOS.values()]
    events = 2 * sum(len(make().arrivals) for make in scenarios.SCENARIOS.values())
    return [at_least("trio program", events / sum(in_turns(*works, rounds=3)), "events/s", 5000, "arrivals and completions of all scenarios")]


def lockstep() -> list[Figure]:
    try:
        from hypothesis import HealthCheck, Phase, Verbosity, settings
        from hypothesis.stateful import run_state_machine_as_test
    except ImportError as error:
        raise NotAvailable(f"install hypothesis: {error}") from None
    from slotwise.fuzz.machine import machine
    from slotwise.fuzz.walker import campaign

    engine, profile, counted = target("native"), v.PROFILES["slotwise"], [0]

    class Counted:
        def __init__(self, profile: v.Profile, capacity: dict[str, int]) -> None:
            self.inner = engine.make(profile, capacity)

        def step(self, command: v.Command) -> list[v.Observation]:
            counted[0] += 1
            return self.inner.step(command)

    options = settings(max_examples=40, stateful_step_count=60, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
                       suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet)  # fmt: skip
    driver = machine(Target("native", Counted, engine.commands, engine.claims), profile)
    done: list[int] = []
    works = [lambda: run_state_machine_as_test(driver, settings=options), lambda: done.append(campaign(engine, profile, steps=10_000, shrink=False).steps)]
    slow, fast = in_turns(*works, rounds=3)
    by_driver, by_walker = counted[0] / 3 / slow, median(done) / fast
    return [at_least("lockstep ÷ Hypothesis' driver", by_walker / by_driver, "x", 15, "the same generator and judges"),
            plain("lockstep, reference and engine", by_walker, "steps/s"), plain("Hypothesis' driver", by_driver, "steps/s")]  # fmt: skip


def whole_trace() -> list[Figure]:
    run, figures = native().Admission.run, []
    for groups, waiting, turns, bar in ((64, 1000, 40, 50), (4, 100, 400, 15)):
        for name in PROFILES:
            data = loads.lines(v.PROFILES[name], loads.full_house(groups, waiting, turns))
            if run(data) != loads.reference_lines(data):
                raise NotAvailable("the engine's lines are not the reference's")
            slow, fast = in_turns(partial(loads.reference_lines, data), lambda data=data: [run(data) for _ in range(20)], rounds=3)  # type: ignore[misc]
            figures.append(at_least(f"whole trace, {groups} groups, {name}: spec ÷ native", slow / (fast / 20), "x", bar, f"{waiting} tasks wait"))
    return figures


def call() -> list[Figure]:
    admission, turns, groups = native().Admission, 2000, tuple(v.Group(f"g{i}") for i in range(4))
    tasks = [v.Task(f"t{i}", f"g{i % 4}", {"r": 1}) for i in range(turns + 40)]

    def steady(name: str) -> None:
        engine = admission(v.PROFILES[name], {"r": 8})
        engine.enqueue(tasks[turns:], groups, at=0)
        engine.pump(at=0)
        for i in range(turns):
            engine.release(i + 1, at=i)
            engine.enqueue((tasks[i],), at=i)
            engine.pump(at=i)

    times = in_turns(*(partial(steady, name) for name in PROFILES))
    note = "release, enqueue and pump, each with its effect; four groups"
    return [at_most(f"a call from Python, {name}", spent / (3 * turns) * 1e6, "µs", 2, note) for name, spent in zip(PROFILES, times, strict=True)]


def dispatch() -> list[Figure]:
    cycle = native().cycle
    target("data-designer")
    from slotwise.fuzz.upstream import data_designer as upstream

    profile = "data-designer-0.8" if upstream.BEFORE else "data-designer-0.9"
    figures = []
    for groups, tasks, bar in ((1, 2048, 100), (64, 512, 1000)):
        theirs, ours = [], []
        for _ in range(3):
            system = upstream.DataDesigner(v.PROFILES[profile], {"submission": 32, "llm": 32})
            theirs.append(seconds(partial(loads.upstream_dispatches, system, upstream, groups, tasks)) / tasks * 1e9)
            ours.append(cycle("plain", profile, groups, 20_000)[0])
        figures += [at_least(f"dispatch cycle, {groups} groups: data-designer {upstream.VERSION} ÷ native", median(theirs) / median(ours), "x", bar),
                    plain(f"dispatch cycle, {groups} groups, data-designer {upstream.VERSION}", median(theirs), "ns"),
                    plain(f"dispatch cycle, {groups} groups, native", median(ours), "ns")]  # fmt: skip
    return figures


def growth() -> list[Figure]:
    cycle, figures = native().cycle, []
    for name in PROFILES:
        times = [[cycle("plain", name, groups, 20_000)[0] for groups in (4, 1024)] for _ in range(5)]
        few, many = median(t[0] for t in times), median(t[1] for t in times)
        figures += [at_most(f"dispatch cycle from 4 to 1,024 groups, {name}", many / few, "x", 4 if name == "slotwise" else 2), plain(f"dispatch cycle, 1,024 groups, {name}", many, "ns")]
    return figures


def examined() -> list[Figure]:
    engine, figures = native(), []
    for load in engine.LOADS[1:]:
        most, where = max((engine.cycle(load, name, groups, 4000)[1], f"{name}, {groups} groups") for name in PROFILES for groups in (4, 64, 1024))
        figures.append(at_most(f"heads examined for one dispatch, {load}", most, "heads", 64, where))
    return figures


def native_simulation() -> list[Figure]:
    simulate = getattr(native(), "simulate", None)
    if simulate is None:
        raise NotAvailable("the engine has no simulation of its own")
    scenario = workloads.workload(1)
    (spent,) = in_turns(lambda: [simulate(v.PROFILES["slotwise"], scenario) for _ in range(5)])
    return [at_least("native simulation", 5 * len(scenario.arrivals) / spent, "records/s", 1e6)]


def slot_time() -> list[Figure]:
    try:
        native()
        number, length, simulate, engine = 1000, 1.0, native_simulate, "native"
    except NotAvailable:
        number, length, simulate, engine = 56, 0.1, simulation.simulate, "reference"
    found = workloads.compare(range(number), simulate=simulate, length=length).summary()
    note = f"{number} workloads through the {engine}, {found['windows']:.0f} windows"
    return [at_most("slot time ÷ data-designer-0.9: wall, mean", found["wall mean"], "x", 1.002, note),
            at_most("slot time ÷ data-designer-0.9: wall, p95", found["wall p95"], "x", 1.02, note),
            at_most("slot time: share error, median", found["share error median"], "", 0.04, f"data-designer-0.9: {found['other share error median']:.4f}"),
            at_most("slot time: share error, p95", found["share error p95"], "", round(found["other share error p95"], 6), "the bar is data-designer-0.9's")]  # fmt: skip


def determinism(seeds: int = 10_000) -> list[Figure]:
    try:
        name = target("native").name
    except NotAvailable:
        name = "reference"
    twice = [loads.digest_elsewhere(name, seeds, hash_seed) for hash_seed in (1, 2)]
    digests = [process.communicate()[0].strip() for process in twice]
    same = digests[0] == digests[1] != ""
    return [Figure("determinism", float(same), "equal", "= 1", same, "", f"{seeds:,} seeds of {name}, twice, in two processes; {digests[0][:16]}")]


def live(name: str) -> Callable[[], list[Figure]]:
    """A benchmark of the checkpoint batcher: real threads, and a service over loopback HTTP."""

    def work() -> list[Figure]:
        try:
            from slotwise.fuzz import bench_checkpoint, bench_live
        except ImportError as error:
            raise NotAvailable(f"{error.name} is missing: pip install 'slotwise[test]'") from None
        return {**bench_checkpoint.BENCHES, **bench_live.BENCHES}[name]()

    return work


def spinning(name: str) -> Callable[[], list[Figure]]:
    """A benchmark of spinning, yielding and parking."""

    def work() -> list[Figure]:
        from slotwise.fuzz.bench_spin import BENCHES as found

        return found[name]()

    return work


def runtime() -> list[Figure]:
    """The live scheduler's."""
    from slotwise.fuzz.bench_runtime import runtime as found

    return found()


def dashboard() -> list[Figure]:
    """The viewer's, beside a scheduler that it watches."""
    from slotwise.fuzz.bench_dashboard import dashboard as found

    return found()


def http() -> list[Figure]:
    """Requests to a loopback inference server."""
    from slotwise.fuzz.bench_http import http as found

    return found()


BENCHES: dict[str, Callable[[], list[Figure]]] = {
    "spec-core": spec_core, "trio-program": trio_program, "lockstep": lockstep, "whole-trace": whole_trace, "call": call, "dispatch": dispatch,
    "growth": growth, "examined": examined, "native-simulation": native_simulation, "slot-time": slot_time, "determinism": determinism, "runtime": runtime, "dashboard": dashboard, "http": http,
    "batching-simulation": lambda: list(import_module("slotwise.fuzz.bench_simulation").durable_work()),
    "recording": lambda: list(import_module("slotwise.fuzz.bench_recording").recording()),
    **{name: live(name) for name in ("collector-decision", "batcher-cost", "steps-live", "fan-out-live", "flat-live", "fifty-live", "waves-live", "checkpoint-many")},
    **{name: spinning(name) for name in ("spin", "spin-window")},
}  # fmt: skip


def run(names: Iterable[str] = (), progress: Callable[[str], None] = lambda name: None) -> list[Figure]:
    """The figures of these benchmarks, or of all. Raises ValueError for a name that there is not."""
    chosen = list(names) or list(BENCHES)
    for name in chosen:
        if name not in BENCHES:
            raise ValueError(f"benchmark: found {name!r}, expected some of {', '.join(BENCHES)}")
    figures: list[Figure] = []
    for name in chosen:
        progress(name)
        command = f"slotwise bench {name}"
        try:
            figures += [Figure(f.name, f.figure, f.unit, f.bar, f.met, command, f.note) for f in BENCHES[name]()]
        except NotAvailable as error:
            figures.append(Figure(name, None, "", "", None, command, f"not available: {error}"))
    return figures
