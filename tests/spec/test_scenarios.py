"""Scenarios and the reference simulation: the published table, to the digit; and what files are refused."""
from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.spec import scenarios, simulation
from slotwise.spec import vocabulary as v
from slotwise.spec.scenarios import Arrival, Scenario, ScenarioError
from slotwise.spec.simulation import SECOND, Run, percentile, simulate

GOLDEN = Path(__file__).parents[1] / "golden" / "admission"
#: Rows of the published packages' own runs (integer clock), and the profile that each is.
ROWS = [("0.9.7", "strict", "strict"), ("0.9.7", "bounded default", "data-designer-0.9"), ("0.9.7", "bounded reserve .125", "data-designer-0.8"),
        ("0.8.0", "strict", "strict"), ("0.8.0", "bounded default", "data-designer-0.8")]  # fmt: skip
CASES = {"heavy-root": "heavy_root_peer_arrival", "neutral": "neutral_ready_at_start"}


def measured(run: Run, peer_ready: int) -> dict[str, Any]:
    """In the words of the published table."""
    waits = run.waits()["peer"]
    lines = "\n".join(f"{at // 1000} {task}" for at, _, task in run.starts)
    return {
        "n": len(run.starts), "wall_s": run.wall / SECOND, "util_pct": round(100 * run.utilization, 2), "idle_slot_s": run.idle_slot_s,
        "gen_col_idle_s": pytest.approx(sum(run.group_idle_s().values()), abs=1e-9),
        "peer_wait_p95_s": percentile(waits, 95) / SECOND, "peer_wait_p50_s": percentile(waits, 50) / SECOND, "peer_first_s": waits[0] / SECOND,
        "hot_before_peer": sum(task.startswith("hot") and at < peer_ready for at, _, task in run.starts),
        "trace_sha": sha256(lines.encode()).hexdigest()[:16], "first20": [task for _, _, task in run.starts[:20]],
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("version", "row", "profile"), ROWS)
def test_the_published_table(version: str, row: str, profile: str, name: str) -> None:
    published = json.loads((GOLDEN / f"sim_seed_{version}.json").read_text())[f"{CASES[name]}/{row}"]
    scenario = scenarios.find(name)
    found = measured(simulate(v.PROFILES[profile], scenario), min(a.at for a in scenario.arrivals if a.task.group == "peer"))
    assert found == {key: published[key] for key in found}


def test_slotwise_beats_the_published_table() -> None:
    run = simulate(v.PROFILES["slotwise"], scenarios.heavy_root())
    assert len(run.starts) == 768
    assert run.wall <= 33_750_000_000
    assert round(100 * run.utilization, 2) >= 99.56
    assert run.idle_slot_s <= 1.20
    assert percentile(run.waits()["peer"], 95) <= 7_300_000_000


@pytest.mark.parametrize("profile", v.PROFILES)
def test_neutral_is_neutral(profile: str) -> None:
    run = simulate(v.PROFILES[profile], scenarios.neutral())
    assert (run.wall, run.utilization, run.idle_slot_s) == (6_400_000_000, 1.0, 0.0)


def test_the_topologies_are_2172_tasks() -> None:
    assert sum(len(scenarios.find(name).arrivals) for name in scenarios.TOPOLOGIES) == 2172


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
@pytest.mark.parametrize("profile", v.PROFILES)
def test_every_task_is_served_and_every_run_is_the_recorded_one(name: str, profile: str) -> None:
    """The digests are those of the reference; a change of them is a change of behaviour."""
    run = simulate(v.PROFILES[profile], scenarios.find(name))
    assert run.unserved == {}
    assert sorted(lease for _, lease in run.ends) == list(range(1, len(run.scenario.arrivals) + 1))
    assert run.digest == json.loads((GOLDEN / "digests.json").read_text())[name][profile]


TWO = Scenario("two", {"r": 1}, (Arrival(0, v.Task("a", "g", {"r": 1}), 5), Arrival(0, v.Task("b", "g", {"r": 1}), 0), Arrival(7, v.Task("c", "g", {"r": 2}), 1)), (v.Group("g", 2.0),))


def test_an_instant_is_completions_then_arrivals_then_one_pump() -> None:
    seen: list[v.Command] = []

    def step(command: v.Command) -> list[v.Observation]:
        seen.append(command)
        if isinstance(command, v.Pump):
            return [("started", 1, "a", {}), ("started", 2, "b", {})] if command.at == 0 else [("drained",)]
        return [("released", command.lease)] if isinstance(command, v.Release) else [("accepted", t.id) for t in command.tasks]  # type: ignore[union-attr]

    scenario = msgspec.structs.replace(TWO, arrivals=(TWO.arrivals[0], Arrival(0, TWO.arrivals[1].task, 5), Arrival(5, TWO.arrivals[2].task, 1)))
    simulation.play(scenario, step, profile="any", engine="any")
    assert [(command.at, type(command).__name__) for command in seen] == [(0, "Enqueue"), (0, "Pump"), (5, "Release"), (5, "Release"), (5, "Enqueue"), (5, "Pump")]


def test_who_is_never_served_is_named() -> None:
    assert simulate(v.PROFILES["slotwise"], TWO).unserved == {"c": "never_fits"}
    assert simulate(v.PROFILES["data-designer-0.9"], TWO).unserved == {"c": ""}


def test_a_task_without_service_ends_at_its_instant() -> None:
    run = simulate(v.PROFILES["slotwise"], TWO)
    assert run.lines() == ["0 1 a", "5 2 b"]
    assert run.ends == [(5, 1), (5, 2)]


def test_a_scheduler_that_starts_what_does_not_wait_is_refused() -> None:
    def step(command: v.Command) -> list[v.Observation]:
        return [("started", 1, "z", {})] if isinstance(command, v.Pump) else [("accepted", t.id) for t in command.tasks]  # type: ignore[union-attr]

    with pytest.raises(simulation.SimulationError, match="'z' was started"):
        simulation.play(TWO, step, profile="any", engine="any")


@pytest.mark.parametrize(("values", "percent", "found"), [([], 50, 0), ([7], 95, 7), ([1, 2], 50, 1), ([4, 3, 2, 1], 50, 3), (list(range(11)), 95, 10), (list(range(31)), 95, 28), (list(range(101)), 95, 95)])
def test_percentile_is_the_nearest_rank_half_to_even(values: list[int], percent: int, found: int) -> None:
    assert percentile(values, percent) == found


@pytest.mark.parametrize("name", scenarios.SCENARIOS)
def test_a_scenario_survives_its_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_bytes(scenarios.encode(scenarios.find(name)))
    assert scenarios.find(str(path)) == scenarios.find(name)


BAD = [
    (b"", "truncated"), (b"[1]", "Expected `object`, got `array`"), (b'{"name": "x"}', "missing required field `capacity`"),
    (lambda s: s.replace(b'"service":5', b'"service":-5'), r"Expected `int` >= 0 - at `\$\.arrivals\[0\]\.service`"),
    (lambda s: s.replace(b'"service":5', b'"service":0.5'), r"Expected `int`, got `float` - at `\$\.arrivals\[0\]\.service`"),
    (lambda s: s.replace(b'"service"', b'"servise"'), r"unknown field `servise` - at `\$\.arrivals\[0\]`"),
    (lambda s: s.replace(b'"id":"b"', b'"id":"a"'), r"'a' is named twice.*arrivals\[1\]\.task\.id"),
    (lambda s: s.replace(b'"groups":[', b'"groups":[{"name":"g"},'), r"'g' is named twice.*groups\[1\]\.name"),
    (lambda s: s.replace(b'"r":2', b'"r":0'), r"Expected `int` >= 1 - at `\$\.arrivals\[2\]\.task\.needs"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "message"), BAD)
def test_a_bad_file_gets_one_clear_line(damage: Any, message: str) -> None:
    data = damage if isinstance(damage, bytes) else damage(scenarios.encode(TWO))
    with pytest.raises(ScenarioError, match=rf"^f\.json: .*{message}") as error:
        scenarios.decode(data, "f.json")
    assert "\n" not in str(error.value)


def test_a_scenario_that_is_not_there() -> None:
    with pytest.raises(ScenarioError, match="found 'nope', expected one of heavy-root"):
        scenarios.find("nope")
    with pytest.raises(ScenarioError, match=r"nope\.json: No such file"):
        scenarios.find("nope.json")


def test_utilization_is_that_of_the_busiest_resource() -> None:
    """For 10 ns, one of a's four units and two of b's two are in use; then nothing of b's for 10 more."""
    needs = [{"a": 1, "b": 2}, {"a": 1}]
    arrivals = tuple(Arrival(10 * i, v.Task(f"t{i}", "g", need), 10) for i, need in enumerate(needs))
    run = simulate(v.PROFILES["slotwise"], Scenario("two resources", {"a": 4, "b": 2}, arrivals))
    assert (run.busiest(), run.utilization, run.idle_slot_s) == ((20, 40), 0.5, 20 / SECOND)
    assert run.as_json()["waits"] == {"g": {"p50_s": 0.0, "p95_s": 0.0, "max_s": 0.0}}
