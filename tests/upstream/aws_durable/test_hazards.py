"""The published collector breaks exactly the laws that its profile lists; and whoever searches finds them, one by one, and short."""
from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from slotwise.fuzz import walker
from slotwise.fuzz.target import Target
from slotwise.fuzz.upstream.aws_durable import BEFORE, OWN, TARGET, Collector
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_judge import Judge
from slotwise.spec.batching_laws import LAWS
from slotwise.spec.trace import SUFFIX, read

FOLDER = Path(__file__).parents[2] / "golden" / "hazards"
HAZARDS = {path.name.removesuffix(SUFFIX): trace for path in sorted(FOLDER.glob(f"*{SUFFIX}")) if TARGET.follows((trace := read(path)).header.profile)}


@pytest.mark.parametrize("name", HAZARDS)
def test_each_breaks_exactly_its_laws(name: str) -> None:
    trace = HAZARDS[name]
    package, judge = Collector(OWN, trace.header.setup), Judge(OWN, trace.header.setup)
    broken = {one.law for command in trace.commands for one in judge.step(command, package.step(command))}
    package.close()
    assert broken == set(re.findall(r"LAW-\d+", trace.header.note))


#: As a stranger, judged by all laws with the limits of `slotwise`: law -> with so many commands at most, after shrinking.
SHORT = {"LAW-36": 8, "LAW-48": 2, "LAW-49": 2, "LAW-50": 3, "LAW-51": 3, "LAW-52": 2, "LAW-54": 5} | ({"LAW-46": 4, "LAW-47": 5} if BEFORE else {"LAW-41": 4, "LAW-56": 2})


def test_held_to_the_laws_its_hazards_come_out_short() -> None:
    report = walker.campaign(TARGET, v.PROFILES["slotwise"], steps=8_000, seed=3, most=30, floors_count=False)
    assert not report.equality
    assert {failure.finding.kind for failure in report.failures} == {"law"}
    assert {failure.rule: len(failure.finding.commands) <= SHORT[failure.rule] for failure in report.failures} == dict.fromkeys(SHORT, True)


def test_h1_comes_out_as_it_is_kept() -> None:
    """What others hide: a caller that is blocked for ever."""
    report = walker.campaign(TARGET, v.PROFILES["slotwise"], steps=8_000, seed=1, hazards=frozenset(LAWS) - {"LAW-53"}, floors_count=False)
    (failure,), kept = report.failures, read(FOLDER / f"collector-H1-never-sent{SUFFIX}")
    words = [[type(command) for command in trace.commands] for trace in (failure.trace, kept)]
    assert (failure.rule, words[0]) == ("LAW-53", words[1])


#: Switch of the profile -> the rule that then differs, and in how many commands, after shrinking.
SWITCHES = {
    "oversize_overflow_waits": ("AWS-15", 6), "accepts_after_stop": ("AWS-5", 2), "stop_abandons": ("AWS-38", 3), "wakes_extend": ("AWS-21", 4), "stop_waits_for_poll": ("AWS-38", 3),
}  # fmt: skip


@pytest.mark.parametrize("switch", [switch for switch in SWITCHES if getattr(OWN, switch)])
def test_each_defect_alone_comes_out_short(switch: str) -> None:
    """Compared with the published discipline without it, the package differs in that, and in nothing else."""
    healed = msgspec.structs.replace(OWN, **{switch: False})
    report = walker.campaign(Target("aws-durable", Collector, mechanisms=("batching",)), healed, steps=20_000, seed=1, hazards=frozenset(LAWS), floors_count=False)
    assert [failure.finding.kind for failure in report.failures] == ["divergence"]
    rule, most = SWITCHES[switch]
    assert (report.failures[0].rule, len(report.failures[0].finding.commands) <= most) == (rule, True), report.failures[0].finding.commands
