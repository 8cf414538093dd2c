"""`slotwise ci`: everything that a commit must not break, at fixed seeds and steps. Nothing here depends on the speed of the machine."""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from slotwise.cli import choices
from slotwise.cli.fuzz import floor_missed, keep_failure
from slotwise.cli.output import Stop, data, plural, say, table, worst, writable
from slotwise.fuzz import exits, floors, seeded, targets
from slotwise.fuzz.explain import explain
from slotwise.fuzz.replay import replay
from slotwise.fuzz.report import Report
from slotwise.fuzz.target import Target
from slotwise.fuzz.walker import campaign
from slotwise.spec import trace
from slotwise.spec.mechanisms import MECHANISMS, mechanism_of

SEED = 2026
GOLDEN, PAGE = Path("tests/golden"), "ci.html"
PROFILES: list[Any] = [profile for mechanism in MECHANISMS.values() for profile in mechanism.profiles.values()]
#: A fault for each discipline, or profile (mechanism, profile, fault), that the search has to find within so many steps; else it would find nothing else either.
CANARIES = (
    ("admission", "strict", "strict_limit_off_by_one"), ("admission", "data-designer-0.9", "debt_not_charged"), ("admission", "slotwise", "look_ahead_dropped"),
    ("batching", "aws-durable-3.0.0", "published_limit_off_by_one"), ("batching", "slotwise", "count_limit_off_by_one"),
    ("spin", "ep-cpu-orig", "window_doubles_beyond_the_cap"), ("spin", "ep-cpu-before", "no_deadline_while_pausing"), ("spin", "ep-cpu-after", "next_yield_from_after_the_last"),
    ("spin", "slotwise", "guard_ignored"),
)  # fmt: skip
CANARY_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Check:
    kind: str                    # lockstep, floors, golden, canary
    name: str
    code: int                    # as a command would end
    said: str                    # one line
    more: str = ""               # the whole story of a failure
    seconds: float = 0.0
    rules: tuple[str, ...] = ()  # rule or law that fails; those that decided too seldom
    trace: Path | None = None    # that shows it,
    line: int = 1                # in this line


def run(junit: Path | None, sarif: Path | None, html: Path | None, steps: int, golden: Path | None, target: str) -> int:
    loaded = choices.target(target)
    if golden is not None and not golden.is_dir():
        raise Stop(f"--golden {golden}: {'not a folder' if golden.exists() else 'no such folder'}")
    golden = golden or GOLDEN
    for option, file in (("--junit", junit), ("--sarif", sarif), ("--html", html and html / PAGE)):
        if file is not None:
            writable(option, file)
    checks = []
    for check in timed(all_checks(loaded, steps, golden)):
        checks.append(check)
        if check.kind != "golden" or check.code != exits.CLEAN:
            say(f"{'ok  ' if check.code == exits.CLEAN else 'FAIL'} {check.kind} {check.name}: {check.said} ({check.seconds:.1f} s)")
        if check.more:
            data(check.more)
    if junit is not None:
        from slotwise.cli.junit import write

        write(junit, checks)
    if sarif is not None:
        from slotwise.cli.sarif import write as write_sarif

        write_sarif(sarif, checks)
    if html is not None:
        from slotwise.cli.ci_page import render

        (html / PAGE).write_text(render(checks, target, steps), "utf-8")
    failed = [check for check in checks if check.code != exits.CLEAN]
    kinds = dict.fromkeys(check.kind for check in checks)
    rows = [(kind, str(sum(c.kind == kind for c in checks)), str(sum(c.kind == kind for c in failed)), f"{sum(c.seconds for c in checks if c.kind == kind):.1f}") for kind in kinds]
    data(table(("check", "done", "failed", "seconds"), rows, "done,failed,seconds"))
    data(f"{len(checks) - len(failed)} passed, {len(failed)} failed")
    return worst(check.code for check in checks)


def timed(checks: Iterator[Callable[[], list[Check]]]) -> Iterator[Check]:
    for check in checks:
        begun = time.perf_counter()
        done = check()
        for one in done:
            yield replace(one, seconds=(time.perf_counter() - begun) / len(done))


def all_checks(target: Target, steps: int, golden: Path) -> Iterator[Callable[[], list[Check]]]:
    for profile in PROFILES:
        if target.follows(profile):
            yield partial(lockstep, target, profile, steps)
            yield partial(varied, target, profile, steps // 4)
    for path in sorted(golden.rglob(f"*{trace.SUFFIX}")):
        yield lambda path=path: [replayed(path, one) for one in dict.fromkeys(("reference", target.name))]  # type: ignore[misc]
    if target.name == "native":
        for mechanism, name, fault in CANARIES:
            yield lambda mechanism=mechanism, name=name, fault=fault: [canary(mechanism, name, fault)]  # type: ignore[misc]


def lockstep(target: Target, profile: Any, steps: int) -> list[Check]:
    """The search, and whether it looked everywhere."""
    report = campaign(target, profile, steps=steps, seed=SEED)
    name = f"{mechanism_of(profile).name}, {profile.name}"
    found = searched("lockstep", name, report)
    if report.failures:
        return [found]
    if report.steps < floors.ENOUGH:
        return [found, Check("floors", name, exits.CLEAN, f"{plural(report.steps, 'step')} are too few to tell")]
    lines = [floor_missed(missed) for missed in report.floors_missed]
    return [found, Check("floors", name, exits.FLOOR if lines else exits.CLEAN, f"{len(report.rules) - len(lines)} of {plural(len(report.rules), 'rule')} kept theirs", "\n".join(lines),
                         rules=tuple(missed.rule for missed in report.floors_missed))]


def varied(target: Target, profile: Any, steps: int) -> list[Check]:
    """The same with other parameters of the discipline in every episode."""
    return [searched("lockstep", f"{mechanism_of(profile).name}, {profile.name}, parameters varied", campaign(target, profile, steps=steps, seed=SEED + 1, vary=True))]


def searched(kind: str, name: str, report: Report) -> Check:
    if not report.failures:
        return Check(kind, name, exits.CLEAN, f"{plural(report.steps, 'step')}, no divergence")
    failure = report.failures[0]
    said = f"{failure.kind} at {failure.rule} in the episode of seed {failure.seed}"
    return Check(kind, name, report.exit, said, explain(failure) + trace.encode(failure.trace).decode(), rules=(failure.rule,), trace=keep_failure(failure), line=len(failure.trace.steps) + 1)


def replayed(path: Path, name: str) -> Check:
    try:
        outcome = replay(trace.read(path), targets.load(name), str(path))
    except trace.TraceError as error:
        return Check("golden", f"{path} on {name}", exits.TRACE_REJECTED, str(error), trace=path)
    wrong = outcome.failure.message if outcome.failure is not None else outcome.change.message if outcome.change is not None else ""
    more = explain(outcome.failure) if outcome.failure is not None else ""
    first = outcome.failure or outcome.change
    rules = () if outcome.failure is None else (outcome.failure.rule,)
    return Check("golden", f"{path} on {name}", outcome.exit, wrong or plural(outcome.steps, "command"), more, rules=rules, trace=path if wrong else None, line=1 if first is None else first.at + 2)


def canary(mechanism: str, profile: str, fault: str) -> Check:
    name = f"{mechanism}, {profile}, {fault}"
    report = campaign(targets.load(seeded.PREFIX + fault), MECHANISMS[mechanism].profiles[profile], steps=CANARY_STEPS, seed=SEED, shrink=False)
    if report.failures:
        return Check("canary", name, exits.CLEAN, f"found after {plural(report.steps, 'step')}")
    return Check("canary", name, exits.MUTATION_FLOOR, f"not found in {plural(report.steps, 'step')}: the search is broken, whatever else it says")
