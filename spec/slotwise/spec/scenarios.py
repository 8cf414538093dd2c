"""Scenarios: tasks that arrive at known instants, hold a lease for a known service time, and release it.

A scenario is data, in integer nanoseconds; it knows nothing of schedulers. The built-in ones are functions without randomness.

In a file it is one JSON object:

    {"name": "two", "capacity": {"llm": 2},
     "groups": [{"name": "g", "weight": 2.0, "share_limit": 2, "running_limit": 2}],
     "arrivals": [{"at": 0, "task": {"id": "a", "group": "g", "needs": {"llm": 1}}, "service": 1000000}, ...]}

`groups` may leave groups out (they get the defaults of `vocabulary.Group`). Arrivals need not be sorted: those of one instant are taken
in the order written. Ids are unique. A group of the built-in scenarios carries both limits; each discipline reads its own.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Annotated

import msgspec

from slotwise.spec.vocabulary import Group, Name, Nanoseconds, Needs, Task, Units

MS = 1_000_000


class ScenarioError(ValueError):
    """A scenario that cannot be read. The message names file and field, what was found and what was expected."""


class Arrival(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task comes at `at`; once started it runs for `service`."""

    at: Nanoseconds
    task: Task
    service: Nanoseconds


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: Name
    capacity: Annotated[dict[Name, Units], msgspec.Meta(min_length=1)]
    arrivals: Annotated[tuple[Arrival, ...], msgspec.Meta(min_length=1)]
    groups: tuple[Group, ...] = ()

    def in_order(self) -> list[Arrival]:
        """As they come; those of one instant in the order written."""
        return sorted(self.arrivals, key=lambda arrival: arrival.at)


def decode(data: bytes, name: str = "scenario") -> Scenario:
    """Read a scenario; `name` is what its errors call it. Raises ScenarioError."""
    try:
        scenario = msgspec.json.decode(data, type=Scenario)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{name}: {error}") from None
    _refuse_twice(name, "$.groups[{}].name", (group.name for group in scenario.groups))
    _refuse_twice(name, "$.arrivals[{}].task.id", (arrival.task.id for arrival in scenario.arrivals))
    return scenario


def _refuse_twice(name: str, field: str, found: Iterable[str]) -> None:
    first: dict[str, int] = {}
    for i, value in enumerate(found):
        if first.setdefault(value, i) != i:
            raise ScenarioError(f"{name}: {value!r} is named twice, expected unique names - at `{field.format(i)}` and `{field.format(first[value])}`")


def encode(scenario: Scenario) -> bytes:
    return msgspec.json.encode(scenario)


def read(path: Path) -> Scenario:
    """Read a scenario file. Raises ScenarioError, also for a file that cannot be opened."""
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        raise ScenarioError(f"{path}: {error.strerror or error}") from None


def find(name: str) -> Scenario:
    """A built-in scenario, or the file of that name. Raises ScenarioError."""
    if name in SCENARIOS:
        return SCENARIOS[name]()
    if name.endswith(".json") or "/" in name:
        return read(Path(name))
    raise ScenarioError(f"scenario: found {name!r}, expected one of {', '.join(SCENARIOS)}, or a .json file")


# The built-in ones -------------------------------------------------------------------------------------------------------------------


def group(name: str, weight: float, limit: int) -> Group:
    return Group(name, weight, share_limit=limit, running_limit=limit)


def tasks(group: str, ats: Iterable[int], services: Iterator[int], needs: Needs) -> list[Arrival]:
    """One arrival of a group at each of `ats`."""
    return [Arrival(at, Task(f"{group}-{i}", group, needs), service) for i, (at, service) in enumerate(zip(ats, services, strict=False))]


def scenario(name: str, capacity: dict[str, int], groups: Iterable[Group], *arrivals: list[Arrival]) -> Scenario:
    """Arrivals of one instant go in the order of task names, as in the published simulation."""
    return Scenario(name, capacity, tuple(sorted((a for some in arrivals for a in some), key=lambda a: (a.at, a.task.id))), tuple(groups))


def same(service: int) -> Iterator[int]:
    return (service for _ in count())


def spread(service: int, percent: int) -> Iterator[int]:
    """Services around a mean, up to so many percent off: the same few, again and again."""
    return (service + service * percent * (i * 37 % 21 - 10) // 1000 for i in count())


def every(interval: int, number: int, after: int = 0, at_once: int = 1) -> list[int]:
    """Instants: `at_once` arrivals every `interval`, so many in all."""
    return [after + interval * (i // at_once) for i in range(number)]


LLM = {"submission": 1, "llm_wait": 1}
EIGHT = {"submission": 8, "llm_wait": 8}


def heavy_root() -> Scenario:
    """A heavy group has filled all slots with half-second tasks when a light one comes with short tasks (seed 000)."""
    return scenario("heavy-root", EIGHT, [group("hot", 4, 8), group("peer", 1, 8)],
                    tasks("hot", every(0, 512), same(500 * MS), LLM), tasks("peer", every(0, 256, after=50 * MS), same(50 * MS), LLM))  # fmt: skip


def neutral() -> Scenario:
    """Two equal groups, ready at once: any sensible order takes 6.4 s."""
    return scenario("neutral", EIGHT, [group("hot", 1, 8), group("peer", 1, 8)],
                    tasks("hot", every(0, 256), same(100 * MS), LLM), tasks("peer", every(0, 256), same(100 * MS), LLM))  # fmt: skip


def fan_out() -> Scenario:
    """84 records, one root column and four that wait for it: a burst on every branch whenever eight roots would be done."""
    branches = [f"branch{i}" for i in range(4)]
    return scenario("fan-out", EIGHT, [group("root", 4, 8), *(group(b, 1, 8) for b in branches)],
                    tasks("root", every(0, 84), spread(60 * MS, 20), LLM),
                    *(tasks(b, every(60 * MS, 84, after=60 * MS, at_once=8), spread((20 + 20 * i) * MS, 20), LLM) for i, b in enumerate(branches)))  # fmt: skip


def fan_in() -> Scenario:
    """104 records, three source columns of 20, 60 and 180 ms, and one that joins them: it comes at the pace of the slowest."""
    sources = [("quick", 20), ("medium", 60), ("slow", 180)]
    return scenario("fan-in", EIGHT, [*(group(name, 1, 8) for name, _ in sources), group("join", 3, 8)],
                    *(tasks(name, every(0, 104), spread(ms * MS, 20), LLM) for name, ms in sources),
                    tasks("join", every(260 * MS, 104, after=260 * MS, at_once=8), spread(40 * MS, 20), LLM))  # fmt: skip


def bottleneck() -> Scenario:
    """144 records, a column on a model of two slots between two on a model of eight; all hold a submission slot of twelve."""
    narrow = {"submission": 1, "narrow_wait": 1}
    return scenario("bottleneck", {"submission": 12, "llm_wait": 8, "narrow_wait": 2}, [group("before", 1, 8), group("middle", 2, 2), group("after", 1, 8)],
                    tasks("before", every(0, 144), spread(40 * MS, 20), LLM),
                    tasks("middle", every(40 * MS, 144, after=40 * MS, at_once=8), spread(50 * MS, 20), narrow),
                    tasks("after", every(50 * MS, 144, after=90 * MS, at_once=2), spread(40 * MS, 20), LLM))  # fmt: skip


def long_prefill() -> Scenario:
    """64 tasks of 400 ms are there first; 368 tasks of 50 ms come behind them, in bursts of sixteen."""
    return scenario("long-prefill", EIGHT, [group("prefill", 2, 8), group("decode", 1, 8)],
                    tasks("prefill", every(0, 64), same(400 * MS), LLM), tasks("decode", every(100 * MS, 368, after=50 * MS, at_once=16), same(50 * MS), LLM))  # fmt: skip


def mixed_duration() -> Scenario:
    """Four equal groups of 118 tasks each, of 5, 20, 80 and 320 ms, ready at once."""
    groups = [("ms5", 5), ("ms20", 20), ("ms80", 80), ("ms320", 320)]
    return scenario("mixed-duration", EIGHT, [group(name, 1, 8) for name, _ in groups],
                    *(tasks(name, every(0, 118), spread(ms * MS, 40), LLM) for name, ms in groups))  # fmt: skip


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "heavy-root": heavy_root, "neutral": neutral, "fan-out": fan_out, "fan-in": fan_in,
    "bottleneck": bottleneck, "long-prefill": long_prefill, "mixed-duration": mixed_duration,
}  # fmt: skip
#: The five that seed 000 names: 2,172 tasks.
TOPOLOGIES = ("fan-out", "fan-in", "bottleneck", "long-prefill", "mixed-duration")
