"""The HTTP table of the published change, measured here: slow→fast requests to an endpoint that serves so many at once, through one runtime
under three profiles: before it (data-designer-0.8), after it (data-designer-0.9), and ours; each with the groups that the published
scheduler makes of such columns.

Each arm is warmed up once and then measured in turns, in the order A B C, C B A, …; arms are compared turn by turn, as the ratio of their
walls, so that what else the machine does falls on all. What is said of the ratios is their median, with an interval that supposes nothing of
them: a run in which the machine did something else for seconds counts as one. Every run is checked, the warm-up too: all answers, so many
requests and no more, never above the endpoint's capacity, nothing held or waiting at the end. One failed check ends the benchmark.
"""
from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import comb
from statistics import median
from typing import Any

from slotwise.fuzz.bench import CheckFailed, Figure, NotAvailable, native, plain

BEFORE, AFTER, OURS = ARMS = ("data-designer-0.8", "data-designer-0.9", "slotwise")
MARGIN = 5.0                             # %: an interval that reaches further says too little to be judged


@dataclass(frozen=True, slots=True)
class Load:
    records: int
    capacity: int
    turns: int = 5                       # of measured runs of each arm: more where a run is short, and says less

    @property
    def name(self) -> str:
        return f"{self.records} records, capacity {self.capacity}"

    @property
    def least(self) -> float:
        """Seconds: what the models alone need, with every slot in use."""
        from slotwise.fuzz.inference import TIMES

        return self.records * sum(TIMES.values()) / self.capacity


LOADS = (Load(32, 8, 25), Load(256, 8, 12), Load(64, 4, 17))
#: As published, from another machine and the whole product: seconds before and after, the change, and its 95% interval where given.
PUBLISHED = {LOADS[0]: (0.930, 0.889, "-4.38% [-8.04, -0.67]"), LOADS[1]: (4.044, 4.026, "-0.45% [-4.00, +3.17]"), LOADS[2]: (1.950, 1.967, "+0.86% [-0.55, +2.29]")}


@dataclass(frozen=True, slots=True)
class Run:
    """One pass of a load under one profile."""

    wall: float                          # s, from the first submission to the last answer
    used: float                          # of the endpoint's slots, by the scheduler's leases
    held: float                          # ms that a request held its slot, mean
    idle: float                          # slot-ms that were free while an eligible task waited
    causes: dict[str, float]             # waiter-s by cause
    late: float                          # ms, of the server's answers, mean


@dataclass(frozen=True, slots=True)
class Change:
    """Of the wall against another arm, in per cent: the median of the pairs and its 95% interval."""

    median: float
    low: float
    high: float

    @property
    def worse(self) -> bool | None:
        """None: the interval is too wide to say."""
        return True if self.low > 0 else False if self.high <= MARGIN else None

    def __str__(self) -> str:
        return f"{self.median:+.2f}% [{self.low:+.2f}, {self.high:+.2f}]"


@dataclass(frozen=True, slots=True)
class Report:
    runs: dict[Load, dict[str, list[Run]]]
    figures: list[Figure]
    busy: tuple[float, float] = (0.0, 0.0)       # the machine's load average before and after
    requests: int = 0
    virtual: dict[Load, float] = field(default_factory=dict)     # %: ours against after, in virtual time

    def change(self, load: Load, arm: str, against: str) -> Change:
        return change([run.wall for run in self.runs[load][arm]], [run.wall for run in self.runs[load][against]])

    def to_json(self) -> dict[str, object]:
        loads = [{"load": load.name, "arms": {arm: [asdict(run) for run in runs] for arm, runs in arms.items()},
                  "changes": {f"{arm} ÷ {other}": asdict(self.change(load, arm, other)) for arm, other in ((OURS, AFTER), (OURS, BEFORE), (AFTER, BEFORE))}}
                 for load, arms in self.runs.items()]  # fmt: skip
        return {"loads": loads, "virtual_percent": {load.name: percent for load, percent in self.virtual.items()}, "load_average": list(self.busy), "requests": self.requests}


def change(walls: Sequence[float], others: Sequence[float]) -> Change:
    """The interval is the sign test's, whatever the distribution: the median is within these ranks with 95%; of fewer than six pairs, which cannot
    say so much, it is all. Raises ValueError if they are not pairs, or fewer than two."""
    each = sorted(100 * (wall / other - 1) for wall, other in zip(walls, others, strict=True))
    if len(each) < 2:
        raise ValueError(f"{len(each)} pairs are too few")
    cut = cut_off(len(each))
    return Change(median(each), each[cut], each[-1 - cut])


def cut_off(pairs: int) -> int:
    """So many are beyond the interval, on each side: as many as still leave the true median in it, on that side, in 97.5% of all cases."""
    cut, below = 0, comb(pairs, 0)
    while (below := below + comb(pairs, cut + 1)) <= 0.025 * 2**pairs:
        cut += 1
    return cut


# a run ------------------------------------------------------------------------------------------------------------------------------


async def one(client: Any, load: Load, profile: str, units: int | None = None) -> Run:
    """`units`: what the scheduler believes the capacity to be, if not what it is. Raises CheckFailed."""
    from slotwise.fuzz import requests_dag as dag
    from slotwise.impl.scheduler import Scheduler

    await client.stats(reset=True)
    before = client.answered
    async with Scheduler({dag.LLM: units or load.capacity}, dag.slow_to_fast_groups(load.capacity), profile=profile, tap=False) as scheduler:
        begun = time.perf_counter()
        answers = await dag.slow_to_fast(scheduler, client, load.records)
        wall = time.perf_counter() - begun
        shot = scheduler.snapshot()
    found = wrong(load, answers, client.answered - before, shot, await client.stats())
    if found:
        raise CheckFailed(f"{load.name}, {profile}: {'; '.join(found)}")
    (resource,) = shot.resources
    causes: dict[str, float] = {}
    for group in shot.groups:
        for cause, spent in group.causes.items():
            causes[cause] = causes.get(cause, 0.0) + spent / 1e9
    stats = await client.stats()
    return Run(wall, resource.busy_time / 1e9 / wall / load.capacity, resource.busy_time / 1e6 / (2 * load.records), resource.idle_waiting / 1e6, causes, stats["late_ms"]["mean"])


def wrong(load: Load, answers: Sequence[str], answered: int, shot: Any, stats: dict[str, Any]) -> list[str]:
    """What is not as it must be after a run; empty if all is. `shot` is the scheduler's snapshot, `stats` the server's."""
    from slotwise.fuzz.requests_dag import right_answer

    right = sum(answer == right_answer(i) for i, answer in enumerate(answers))
    held, waiting = shot.leases, sum(group.waiting + group.running + group.backing_off for group in shot.groups)
    tests = {
        f"{right} right answers of {len(answers)}, expected {load.records}": right == len(answers) == load.records,
        f"{answered} requests answered, expected {2 * load.records}": answered == 2 * load.records,
        f"the server had {stats['requests']} requests, expected {load.records} of each model": stats["requests"] == stats["answered"] == {"slow": load.records, "fast": load.records},
        f"{stats['peak']} requests at once, the endpoint's capacity is {load.capacity}": stats["peak"] <= load.capacity == stats["capacity"],
        f"{stats['over_capacity']} requests beyond the endpoint's capacity": stats["over_capacity"] == 0,
        f"{stats['refused']} requests refused": stats["refused"] == 0,
        f"{stats['active']} requests still active at the server": stats["active"] == 0,
        f"{held} leases held at the end": held == 0 and all(resource.busy == 0 for resource in shot.resources),
        f"{waiting} tasks left at the end": waiting == 0,
    }
    return [what for what, holds in tests.items() if not holds]


# all of them ------------------------------------------------------------------------------------------------------------------------


def measure(
    loads: Sequence[Load] = LOADS, tell: Callable[[str], None] = lambda note: None, backend: str = "asyncio", units: Callable[[Load], int] | None = None
) -> Report:
    """Raises CheckFailed or NotAvailable."""
    import anyio

    native()
    for needed in ("httpx", "uvicorn"):
        try:
            __import__(needed)
        except ImportError:
            raise NotAvailable(f"{needed} is missing: pip install 'slotwise[demo]'") from None
    from slotwise.fuzz.requests_dag import Client
    from slotwise.fuzz.requests_virtual import wall_against

    busy = os.getloadavg()[0]
    runs: dict[Load, dict[str, list[Run]]] = {}

    async def all_of(load: Load, url: str) -> dict[str, list[Run]]:
        found: dict[str, list[Run]] = {arm: [] for arm in ARMS}
        async with Client(url) as client:
            await client.warm(load.capacity)
            for turn in range(load.turns + 1):
                for arm in ARMS[:: -1 if turn % 2 == 0 else 1]:
                    tell(f"{load.name}: {f'turn {turn} of {load.turns}' if turn else 'warm-up'}, {arm}")
                    run = await one(client, load, arm, units and units(load))
                    if turn:
                        found[arm].append(run)
        return found

    for load in loads:
        with serving(load) as url:
            runs[load] = anyio.run(all_of, load, url, backend=backend)
    after = os.getloadavg()[0]
    virtual = {load: wall_against(OURS, AFTER, load.records, load.capacity) for load in loads}
    figures = [figure for load in loads for figure in (*figures_of(load, runs[load]), plain(f"http, {load.name}: the same in virtual time, ours against after", virtual[load], "%"))]
    return Report(runs, figures, (busy, after), sum(2 * load.records * load.turns * len(ARMS) for load in loads), virtual)


@contextmanager
def serving(load: Load) -> Iterator[str]:
    from slotwise.fuzz.inference import Endpoint, Inference

    with Inference(Endpoint(capacity=load.capacity)) as server:
        yield server.url


def figures_of(load: Load, arms: dict[str, list[Run]]) -> list[Figure]:
    walls = {arm: [run.wall for run in runs] for arm, runs in arms.items()}
    ours = change(walls[OURS], walls[AFTER])
    bar = Figure(f"http, {load.name}: wall, ours against after", ours.median, "%", "no worse", None if ours.worse is None else not ours.worse, "", judged(ours))
    others = [plain(f"http, {load.name}: wall, {name}", each.median, "%", f"[{each.low:+.2f}, {each.high:+.2f}]")
              for name, each in (("ours against before", change(walls[OURS], walls[BEFORE])), ("after against before", change(walls[AFTER], walls[BEFORE])))]  # fmt: skip
    return [bar, *others,
            *(plain(f"http, {load.name}: {arm}", load.records / median(walls[arm]), "records/s") for arm in arms),
            *(plain(f"http, {load.name}: slots used, {arm}", 100 * median(run.used for run in runs), "%") for arm, runs in arms.items())]  # fmt: skip


def judged(ours: Change) -> str:
    """In words."""
    interval = f"95% interval of the pairs [{ours.low:+.2f}, {ours.high:+.2f}]"
    if ours.worse is None:
        return f"{interval}: too wide to judge; on a quieter machine, again"
    return f"{interval}: {'slower' if ours.worse else 'faster' if ours.high < 0 else f'no difference seen, and none above {MARGIN:g}%'}"


def http() -> list[Figure]:
    return measure().figures
