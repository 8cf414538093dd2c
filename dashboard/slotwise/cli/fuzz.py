"""`slotwise fuzz`: search for a sequence of commands on which a target differs from the reference, or breaks a law."""
from __future__ import annotations

import re
import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from slotwise.cli import choices, fuzz_tap, store
from slotwise.cli.output import Stop, count, data, plural, progress, runs_as_json, say, table, worst
from slotwise.cli.rules import CAMPAIGN
from slotwise.fuzz import floors, processes, seeded, targets
from slotwise.fuzz.explain import explain
from slotwise.fuzz.floors import Missed
from slotwise.fuzz.report import Failure, Report
from slotwise.fuzz.target import Target
from slotwise.fuzz.walker import campaign
from slotwise.spec import trace
from slotwise.spec.mechanisms import MECHANISMS, mechanism_of

#: Seconds for one profile, and for each of several.
ALONE, EACH = 30.0, 6.0


@dataclass(frozen=True, slots=True)
class Job:
    """One mechanism, one profile, one seed. It names its target, so that it can go to another process."""

    target: str
    profile: Any
    seconds: float | None
    steps: int | None
    seed: int
    shard: int = 0

    @property
    def title(self) -> str:
        return f"{mechanism_of(self.profile).name}, {self.profile.name}, {self.target}"


def run(mechanism: str | None, target: str, profile: str | None, seconds: float | None, steps: int | None, seed: int | None, workers: int, json: bool, tap: str | None = None) -> int:
    if seconds is not None and steps is not None:
        raise Stop("fuzz: expected --seconds or --steps, not both")
    loaded = choices.target(target)
    chosen = profiles(loaded, mechanism, profile)
    if seconds is None and steps is None:
        seconds = ALONE if len(chosen) == 1 else EACH
    if seed is None:
        seed = 0 if steps is not None else secrets.randbelow(1_000_000)
    jobs = [Job(target, one, seconds, share(steps, workers, shard), seed + shard, shard) for one in chosen for shard in range(workers)]
    say(f"{plural(len(chosen), 'profile')} on {target}, {f'{steps:,} steps' if steps is not None else f'{seconds:g} s'} each, seed {seed}")
    reports: list[Report] = []
    try:
        for report in searched(jobs, workers) if tap is None else watched(jobs, workers, tap):
            reports.append(report)
    finally:                                 # an interrupt loses nothing of what was found before
        if reports:
            remember(reports)
        if json and reports:
            runs_as_json([as_object(report, one) for report, one in zip(reports, chosen, strict=False)])
        elif reports:
            show(reports)
    return worst(report.exit for report in reports)


def profiles(target: Target, mechanism: str | None, profile: str | None) -> list[Any]:
    """Those of the name, of every mechanism; a fault's own; of each mechanism `slotwise`, if one is named or the target follows no profile of it; else all it follows."""
    known = [name for name in choices.mechanisms(mechanism) if name in target.mechanisms]
    if not known:
        raise Stop(f"target {target.name}: it knows {' and '.join(target.mechanisms)}, not {mechanism}")
    if (fault := seeded.of_target(target.name)) is not None:
        if fault.mechanism not in known:
            raise Stop(f"target {target.name}: it is a fault of {fault.mechanism}, not of {mechanism}")
        known = [fault.mechanism]
    if profile is not None:
        return choices.profiles(profile, known)
    if fault is not None:
        return [MECHANISMS[fault.mechanism].profiles[name] for name in fault.profiles]
    chosen = []
    for name in known:
        there_are = MECHANISMS[name].profiles
        followed = [one for one in there_are.values() if target.follows(one)]
        chosen += followed if followed and mechanism is None else [there_are["slotwise"]]
    return chosen


def built_in(profile: Any) -> bool:
    return bool(mechanism_of(profile).profiles.get(profile.name) == profile)


def share(steps: int | None, workers: int, shard: int) -> int | None:
    """So many steps for a shard that all of them together do what was asked."""
    return None if steps is None else steps // workers + (shard < steps % workers)


def search(job: Job, told: Callable[[Report], None] | None = None) -> Report:
    return campaign(targets.load(job.target), job.profile, steps=job.steps, seconds=job.seconds, seed=job.seed, floors_count=built_in(job.profile), progress=told)


def searched(jobs: list[Job], workers: int) -> Iterator[Report]:
    """The reports of all jobs, one for each mechanism and profile, each as soon as it is done."""
    yield from one_by_one(jobs) if workers == 1 else together(jobs, workers, processes.side_by_side(search, jobs, workers))


def together(jobs: list[Job], workers: int, shards: Iterable[Report]) -> Iterator[Report]:
    """Each `workers` of them are of one profile."""
    found: list[Report] = []
    for place, shard in enumerate(shards):
        found.append(shard)
        if len(found) == workers:
            yield merged(jobs[place].profile, found)
            found = []


def one_by_one(jobs: list[Job], board: fuzz_tap.Board | None = None) -> Iterator[Report]:
    with progress() as shown:
        for place, job in enumerate(jobs):
            line = None if shown is None else shown.add_task(job.title, total=job.steps or job.seconds, note="")
            so_far: list[Report] = []

            def told(report: Report, place: int = place, job: Job = job, line: Any = line, so_far: list[Report] = so_far) -> None:
                so_far[:] = [report]
                if shown is not None:
                    shown.update(line, completed=report.steps if job.steps else report.seconds, note=f"{count(report.steps)} steps, {count(report.steps_per_s)}/s")
                if board is not None:
                    board.told(place, report)

            try:
                found = search(job, told)
            except KeyboardInterrupt:
                yield from so_far
                raise
            yield found
            if shown is not None and line is not None:
                shown.remove_task(line)


def watched(jobs: list[Job], workers: int, where: str) -> Iterator[Report]:
    """As `searched`, while it can be watched on a socket."""
    board = fuzz_tap.Board(jobs, workers)
    with fuzz_tap.tapped(board, where):
        yield from together(jobs, workers, told_to(board, one_by_one(jobs, board) if workers == 1 else side_by_side(jobs, workers, board)))


def told_to(board: fuzz_tap.Board, shards: Iterable[Report]) -> Iterator[Report]:
    for place, report in enumerate(shards):
        board.told(place, report, result(report))
        for failure in report.failures:
            if not board.knows(failure):
                board.found(failure, keep_failure(failure))
        yield report


def side_by_side(jobs: list[Job], workers: int, board: fuzz_tap.Board) -> Iterator[Report]:
    with fuzz_tap.listening(board) as queue:
        yield from processes.side_by_side(search_telling, enumerate(jobs), workers, fuzz_tap.begin, (queue,))


def search_telling(placed: tuple[int, Job]) -> Report:
    place, job = placed
    return search(job, fuzz_tap.telling(place))


def merged(profile: Any, shards: list[Report]) -> Report:
    """Several searches under one profile as one: what was reached adds up, and floors count for all steps together."""
    if len(shards) == 1:
        return shards[0]
    rules: Counter[str] = Counter()
    hazards: Counter[str] = Counter()
    for shard in shards:
        rules.update(shard.rules)
        hazards.update(shard.hazards)
    failures = {failure.finding.key: failure for shard in reversed(shards) for failure in shard.failures}
    whole = replace(
        shards[0], episodes=sum(s.episodes for s in shards), steps=sum(s.steps for s in shards), seconds=max(s.seconds for s in shards),
        new_at=sum(s.steps for s in shards) - min(s.steps - s.new_at for s in shards),
        rules={rule: rules[rule] for rule in shards[0].rules}, failures=list(failures.values()), hazards=hazards, floors_missed=[], digest=" ".join(s.digest for s in shards),
    )  # fmt: skip
    if whole.rules and not whole.failures and built_in(profile):
        whole.floors_missed = floors.missed(profile, whole.rules, whole.steps)
    return whole


def remember(reports: list[Report]) -> None:
    rules: Counter[str] = Counter()
    for report in reports:
        rules.update(report.rules)
    store.keep(CAMPAIGN, {"runs": [f"{r.mechanism} under {r.profile} on {r.target}" for r in reports], "steps": sum(r.steps for r in reports), "rules": dict(rules)})


def as_object(report: Report, profile: Any) -> dict[str, object]:
    """With what `slotwise watch` shows beside it: floors, and the seeded faults found here."""
    total, killed = fuzz_tap.faults(profile)
    return {**report.to_json(), "floors": fuzz_tap.scaled(fuzz_tap.asked(profile), report.steps) if report.rules else {}, "faults": total, "killed": killed}


# What a person sees ------------------------------------------------------------------------------------------------------------------


def show(reports: list[Report]) -> None:
    for report in reports:
        for failure in report.failures:
            show_failure(failure)
    head = ["mechanism", "profile", "target", "steps", "steps/s", "rules", "floors", "result"]
    rows = [[r.mechanism, r.profile, r.target, count(r.steps), count(r.steps_per_s), reached(r), floors_kept(r), result(r)] for r in reports]
    data(table(head, rows, "steps,steps/s,rules"))
    for report in reports:
        if report.hazards:
            say(f"{report.mechanism}, {report.profile} is known to break {', '.join(sorted(report.hazards, key=number))}, and did")
    for report in reports:
        if report.floors_missed:
            say(f"{report.mechanism}, {report.profile}, rules that decided too seldom: {', '.join(map(floor_missed, report.floors_missed))}")


def reached(report: Report) -> str:
    return f"{sum(hits > 0 for hits in report.rules.values())}/{len(report.rules)}" if report.rules else "-"


def floor_missed(missed: Missed) -> str:
    return f"{missed.rule} {count(missed.hits)} times ({f'its floor is {missed.floor:,.1f}' if missed.floor else 'it has no floor'})"


def floors_kept(report: Report) -> str:
    if report.floors_missed:
        return f"{len(report.floors_missed)} missed"
    return "kept" if report.rules and report.steps >= floors.ENOUGH and not report.failures else "-"


def result(report: Report) -> str:
    if report.failures:
        failure = report.failures[0]
        return failure.kind.upper() + (f" at {failure.rule}" if failure.rule != failure.kind else "")
    return "no divergence" if report.equality else "no law broken"


def number(law: str) -> int:
    return int(law.rpartition("-")[2])


def show_failure(failure: Failure) -> None:
    path = keep_failure(failure)
    data(explain(failure))
    target = "" if failure.target == "native" else f" --target {shlex.quote(failure.target)}"
    data(f"  The episode of seed {failure.seed}, {plural(len(failure.full.steps), 'command')} long, shrunk to {len(failure.trace.steps)}: {path}")
    data(f"  again    slotwise replay {path}{target}")
    data(f"  as test  slotwise emit-test {path}{target}\n")


def keep_failure(failure: Failure) -> Path:
    """Write the shrunk trace, under a name that says what it shows; the next one that shows the same takes its place."""
    target = re.split(r"[/: ]", failure.target)[-1]
    path = store.folder() / (re.sub(r"[^\w.-]", "_", f"{failure.rule}-{target}-{failure.profile.name}") + trace.SUFFIX)
    trace.write(path, failure.trace)
    return path
