"""The golden vectors of spinning: whole windows on a scripted clock (S) and in virtual time (C), the ratchet's table, the guarded policy's gaps (G), the model's table."""
from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from slotwise.spec import spin
from slotwise.spec import spin_vocabulary as v

from .spin_model import AFTER, PARK, POLICIES, SETUP, SLOTWISE, US, cost, drawn, played

GOLDEN = Path(__file__).parents[1] / "golden" / "spin"
STRIDES = [2032 * k for k in range(1, 64)]       # what the clock reads below the budget, if it is "std"
FAR = 200                                        # readings of an endless part


def data(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


def readings(parts: list[Any]) -> tuple[int, ...]:
    found: list[int] = []
    for part in parts:
        if part == "std":
            found += STRIDES
        elif isinstance(part, dict):
            found += [part["from"] + part["step"] * j for j in range(part.get("times", FAR))]
        else:
            found.append(part)
    return tuple(found)


def scripted(vector: dict[str, Any]) -> v.Script:
    return v.Script(window=vector["window"], readings=readings(vector["readings"]), publish=vector.get("publish"), shutdown=vector.get("shutdown"))


def costed(vector: dict[str, Any]) -> v.Wait:
    return v.Wait(window=vector["window"], **vector["costs"])


def expected(vector: dict[str, Any], profile: str) -> list[Any]:
    """What is not written for an older state is as in the newest; `slotwise` has the newest state's window."""
    found: list[Any] = vector.get(profile.removeprefix("ep-cpu-"), vector["after"])
    return found


VECTORS = {vector["id"]: (vector, make(vector)) for name, make in (("scripted", scripted), ("costed", costed)) for vector in data(name)}


@pytest.mark.parametrize("profile", v.PROFILES)
@pytest.mark.parametrize("id", VECTORS)
def test_window(id: str, profile: str) -> None:
    vector, command = VECTORS[id]
    [seen] = spin.step(spin.pool(v.PROFILES[profile], SETUP), command)
    right = expected(vector, profile)
    assert list(seen[1 : len(right) + 1]) == right


def test_every_vector_of_the_page_is_there() -> None:
    assert VECTORS.keys() == {f"S{n}" for n in range(1, 17)} | {f"C{n}" for n in range(1, 12)} - {"C5"}


@pytest.mark.parametrize("row", data("adaptation"), ids=lambda row: f"{row['start'] // US} {row['events']}")
def test_adaptation(row: dict[str, Any]) -> None:
    """A catch or a park, alone or with a task."""
    pool = spin.pool(AFTER, SETUP)
    pool.lone.memory.window = row["start"]
    for event, windows in zip(row["events"].split(), row["windows"], strict=True):
        window = pool.lone.memory.window
        [(_, used, outcome, after)] = spin.step(pool, v.Gap(gap=window + (event[0] == "x"), ran=event.endswith("R")))
        assert (used, outcome, after) == (window, "parked" if event[0] == "x" else "caught", windows[-1])


@pytest.mark.parametrize("row", data("adaptation"), ids=lambda row: f"{row['start'] // US} {row['events']}")
def test_adaptation_event_by_event(row: dict[str, Any]) -> None:
    pool = spin.pool(AFTER, SETUP)
    memory = pool.lone.memory
    memory.window = row["start"]
    for event, windows in zip(row["events"].split(), row["windows"], strict=True):
        (pool.policy.shrink if event[0] == "x" else pool.policy.grow)(memory)
        seen = [memory.window]
        if event.endswith("R"):
            pool.policy.grow(memory)
            seen.append(memory.window)
        assert seen == windows


def spread(counted: list[list[int]]) -> list[int]:
    return [value for value, times in counted for _ in range(times)]


@pytest.mark.parametrize("vector", data("gaps"), ids=lambda vector: vector["id"])
def test_gaps(vector: dict[str, Any]) -> None:
    pool = spin.pool(SLOTWISE, SETUP)
    used = [spin.step(pool, v.Gap(gap=gap))[0][1] for gap in spread(vector["gaps"])]
    assert used == spread(vector["windows"])
    assert vector.get("guard", pool.lone.memory.guard) == pool.lone.memory.guard


def test_adversary() -> None:
    vector = data("adversary")
    bill = played(SLOTWISE, lambda window: window + vector["after"], vector["steps"])
    assert bill.windows is not None
    assert list(islice(bill.windows, len(vector["windows"]))) == vector["windows"]
    assert round(bill.ratio, 2) == vector["ratio"]
    assert round(bill.guard / PARK, 2) == vector["guard"]


# the model's table ------------------------------------------------------------------------------------------------------
N = 4000
TABLE = data("model")
TRACES = drawn(N, seed=1)
CELLS = [(row, column) for row in TABLE["rows"] for column in TABLE["columns"]]


@pytest.mark.parametrize(("row", "column"), CELLS)
def test_model(row: str, column: str) -> None:
    """The numbers drawn for the page are not known: random rows are within some percent."""
    told = TABLE["rows"][row][TABLE["columns"].index(column)]
    profile, warm = POLICIES[column]
    bill = played(profile, lambda window: window + US, N, warm=warm) if row == "adversary" else played(profile, TRACES[row], warm=warm)
    if row.startswith(("const", "adversary")):
        assert bill.ratio == pytest.approx(told, abs=0.006 if told < 60 else 0.5)
    else:
        assert bill.ratio == pytest.approx(told, rel=0.05 if row.startswith("Pareto") else 0.02)


@pytest.mark.parametrize("trace", [name for name in TRACES if name != "phases"])
def test_as_good_as_the_best_fixed_window_of_hindsight(trace: str) -> None:
    gaps = TRACES[trace]
    windows = {0, PARK, 2 * PARK, 500 * US, *sorted(gaps)[:: N // 200]}
    best = min(sum(cost(gap, window) for gap in gaps) for window in windows)
    assert played(SLOTWISE, gaps).paid <= 1.10 * best
