"""The benchmarks are run, not judged, here: what they return, and that what they compare does the same."""
from __future__ import annotations

import json

import pytest

from slotwise.fuzz import bench, bench_loads
from slotwise.fuzz.bench import Figure, NotAvailable
from slotwise.spec import trace
from slotwise.spec import vocabulary as v
from slotwise.spec.admission import admission, step


def test_a_name_that_there_is_not() -> None:
    with pytest.raises(ValueError, match="found 'nope', expected some of spec-core"):
        bench.run(["spec-core", "nope"])


def test_figures_are_plain_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> list[Figure]:
        raise NotAvailable("there is no engine")

    monkeypatch.setattr(bench, "BENCHES", {"one": lambda: [bench.at_least("a", 3, "x", 2), bench.at_most("b", 3, "x", 2), bench.plain("c", 3, "x")], "two": missing})
    found = bench.run()
    assert [(f.name, f.met, f.bar, f.command) for f in found] == [
        ("a", True, ">= 2", "slotwise bench one"), ("b", False, "<= 2", "slotwise bench one"), ("c", None, "", "slotwise bench one"), ("two", None, "", "slotwise bench two"),
    ]  # fmt: skip
    assert found[-1].note == "not available: there is no engine"
    assert json.loads(json.dumps([f.to_json() for f in found]))[0]["figure"] == 3


def test_the_least_scheduler_agrees_where_there_is_one_group() -> None:
    """It is no straw man: with one group and no limits, first in, first out is what the rules say too."""
    alone = v.Group("g")
    for seed in range(40):
        capacity, commands = bench_loads.episode(seed)
        one = [v.Enqueue(tasks=tuple(v.Task(t.id, "g", t.needs) for t in c.tasks), groups=(alone,), at=c.at) if isinstance(c, v.Enqueue) else c for c in commands]
        least, rules = bench_loads.Least(capacity), admission(v.PROFILES["slotwise"], capacity)
        assert [least.step(c) for c in one] == [step(rules, c) for c in one]


@pytest.mark.parametrize("profile", v.PROFILES)
def test_a_full_house_is_full_and_busy(profile: str) -> None:
    play = bench_loads.full_house(4, 50, 20)
    data = bench_loads.lines(v.PROFILES[profile], play)
    assert trace.decode(data).commands == play[1]
    seen = [json.loads(line) for line in bench_loads.reference_lines(data).splitlines()]
    pumps = [saw for command, saw in zip(play[1], seen, strict=True) if isinstance(command, v.Pump)]
    assert [saw[-1] for saw in pumps] == [["blocked"]] * 21
    assert sum(len(saw) - 1 for saw in pumps) == 52
