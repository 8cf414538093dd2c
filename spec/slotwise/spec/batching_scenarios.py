"""Scenarios of durable work: what a handler does, step by step and branch by branch, and the service that it does it against.

A scenario is data, in integer nanoseconds; it knows nothing of collectors. The built-in ones are functions without randomness: the five that
have names of their own, and F01 to F20 of the semantics page. In a file it is one JSON object; a work's kind is its `do`:

    {"name": "two", "work": [{"do": "step", "name": "a"}, {"do": "wait", "name": "w", "duration": 1000000000},
                             {"do": "parallel", "name": "p", "branches": [[{"do": "step", "name": "b"}], []]}]}
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import msgspec

from slotwise.spec.batching_player import Fate
from slotwise.spec.batching_vocabulary import MILLISECOND as MS
from slotwise.spec.batching_vocabulary import SECOND, Stamp
from slotwise.spec.scenarios import ScenarioError
from slotwise.spec.vocabulary import Count, Name, Nanoseconds

BIG = 800_000       # bytes: more than a request may carry


class _Work(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do", kw_only=True):
    """`name`: unique in the context around it."""

    name: Name


class Step(_Work, frozen=True, tag="step", kw_only=True):
    """User code that takes `body`; it is tried again after `delay`, `retries` times, and then succeeds, or fails."""

    body: Nanoseconds = 0
    size: Count = 100                # bytes of its last update
    retries: Count = 0
    delay: Nanoseconds = SECOND
    fails: bool = False
    at_most_once: bool = False       # its start is durable before the user code runs


class Poll(_Work, frozen=True, tag="poll", kw_only=True):
    """User code that looks for a condition: so many times in vain, `delay` apart."""

    in_vain: Count = 0
    delay: Nanoseconds = SECOND
    body: Nanoseconds = 0


class Wait(_Work, frozen=True, tag="wait", kw_only=True):
    duration: Nanoseconds


class Pause(_Work, frozen=True, tag="pause", kw_only=True):
    """User code between two operations that takes so long, the first time."""

    duration: Nanoseconds


class Child(_Work, frozen=True, tag="child", kw_only=True):
    """A context of its own."""

    work: tuple[Work, ...]


class Parallel(_Work, frozen=True, tag="parallel", kw_only=True):
    """Branches side by side: at most so many at once; until so many have succeeded, or more have failed than are tolerated."""

    branches: tuple[tuple[Work, ...], ...]
    at_once: Annotated[int, msgspec.Meta(ge=1)] | None = None
    needed: Annotated[int, msgspec.Meta(ge=1)] | None = None      # none: all
    tolerated: Count = 0
    flat: bool = False                                            # branches have no contexts of their own


Work = Step | Poll | Wait | Pause | Child | Parallel


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Handles a request `out` after it was sent; the answer is there `back` later. Its clock is `ahead` of the local one, which the caller believes
    it to be `hint` ahead. Scheduled ends are rounded up to the grid, and shown `lag` late."""

    out: Nanoseconds = 15 * MS
    back: Nanoseconds = 15 * MS
    ahead: Stamp = 0
    hint: Stamp = 0
    grid: Annotated[int, msgspec.Meta(ge=1)] = 1
    lag: Nanoseconds = 0
    fates: dict[int, Fate] = {}      # by number of the request, from 1


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An operation from an earlier invocation: started, or a wait that the service will end then."""

    op: Name
    end: Stamp | None = None


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    name: Name
    work: tuple[Work, ...]
    service: Service = Service()
    earlier: tuple[Known, ...] = ()
    result: Count = 0                        # bytes of the handler's result, if it is so large that it is an update, which ends the execution
    horizon: Nanoseconds = 120 * SECOND      # who is still blocked then hangs


def find(name: str) -> Scenario:
    """A built-in scenario. Raises ScenarioError."""
    if name not in SCENARIOS:
        raise ScenarioError(f"scenario: found {name!r}, expected one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]()


def decode(data: bytes, name: str = "scenario") -> Scenario:
    """Read a scenario; `name` is what its errors call it. Raises ScenarioError."""
    try:
        scenario = msgspec.json.decode(data, type=Scenario)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{name}: {error}") from None
    _refuse_twice(name, scenario.work, "the handler")
    return scenario


def _refuse_twice(name: str, work: Iterable[Work], where: str) -> None:
    seen: set[str] = set()
    for one in work:
        if one.name in seen:
            raise ScenarioError(f"{name}: {one.name!r} is named twice in {where}, expected unique names")
        seen.add(one.name)
        inside = [one.work] if isinstance(one, Child) else one.branches if isinstance(one, Parallel) else ()
        for some in inside:
            _refuse_twice(name, some, repr(one.name))


def encode(scenario: Scenario) -> bytes:
    return msgspec.json.encode(scenario)


# The built-in ones -------------------------------------------------------------------------------------------------------------------


def steps(number: int) -> Scenario:
    """One after another, each ready at once."""
    return Scenario(f"steps-{number}", tuple(Step(name=f"s{i}") for i in range(number)))


def fan_out(number: int, name: str, *, at_once: int | None = None, flat: bool = False) -> Scenario:
    """So many branches of one step."""
    return Scenario(name, (Parallel(name="p", branches=((Step(name="s"),),) * number, at_once=at_once, flat=flat),))


def waves(number: int, name: str, *, apart: int = 0, steps_before: int = 0) -> Scenario:
    """So many parallels, each of a step of 8 s beside a wait of 2 s; those waits may begin one after another."""

    def wait(i: int) -> tuple[Work, ...]:
        return (*([Pause(name="late", duration=apart * i)] if apart * i else []), Wait(name="w", duration=2 * SECOND))

    inner = tuple((Parallel(name="in", branches=((Step(name="long", body=8 * SECOND),), wait(i))),) for i in range(number))
    return Scenario(name, (*(Step(name=f"before{i}") for i in range(steps_before)), Parallel(name="out", branches=inner)))


def beside(name: str, *branches: Iterable[Work], keeper: int | None = None, at_once: int | None = None, needed: int | None = None, grid: int = 1) -> Scenario:
    """One parallel, whose first branch may be a *keeper*: a step so long that nothing suspends the whole before."""
    kept: list[Iterable[Work]] = [] if keeper is None else [(Step(name="keeper", body=keeper),)]
    return Scenario(name, (Parallel(name="p", branches=tuple(tuple(branch) for branch in [*kept, *branches]), at_once=at_once, needed=needed),), Service(grid=grid))


def sleeps(*seconds: int) -> list[list[Work]]:
    return [[Wait(name="w", duration=n * SECOND)] for n in seconds]


def oversize(name: str, body: int) -> Scenario:
    return Scenario(name, (Step(name="s", body=body, size=BIG),))


def replay() -> Scenario:
    """A wait of 10 s has half a second left when the handler is invoked again."""
    scenario = beside("F17", [Wait(name="w", duration=10 * SECOND)], keeper=20 * SECOND)
    return msgspec.structs.replace(scenario, earlier=(Known("p"), Known("p.1"), Known("p.1/w", SECOND // 2)))


def nested_waits() -> Scenario:
    inner = Parallel(name="in", branches=tuple(tuple(some) for some in sleeps(2, 5)))
    return beside("F18", [inner], keeper=20 * SECOND)


def retries() -> Scenario:
    return beside("F13", *([Step(name="s", retries=2)] for _ in range(3)), keeper=6 * SECOND)


def rounded_up() -> Scenario:
    return beside("F14", [Pause(name="late", duration=300 * MS), *sleeps(2)[0]], keeper=12 * SECOND, grid=SECOND)


def failures() -> Scenario:
    """Steps that fail, within what is tolerated and beyond; a poll; and what has failed runs again."""
    bad = (Step(name="s", fails=True),)
    tolerant = Parallel(name="in", branches=(bad, (Poll(name="poll", in_vain=2),), tuple(sleeps(2)[0])), tolerated=1)
    strict = Parallel(name="in", branches=(bad, (Step(name="s", body=SECOND),)))
    branches: tuple[tuple[Work, ...], ...] = ((Step(name="keeper", body=6 * SECOND),), (tolerant,), (strict,))
    return Scenario("failures", (Parallel(name="p", branches=branches, tolerated=1),))


def taken() -> Scenario:
    """The right to the execution is lost with the first answer, while a branch waits and another is in user code."""
    work = Parallel(name="p", branches=((Step(name="keeper", body=10 * SECOND),), (Wait(name="w", duration=2 * SECOND),), (Step(name="s"),)))
    return Scenario("taken", (work,), service=Service(fates={1: "no token"}))


#: F01 to F05 have names. F07, F11 and F20 are told of on the semantics page, but not recorded: the shapes are ours.
_NAMED: dict[str, Callable[[], Scenario]] = {
    "steps-200": lambda: steps(200),
    "fan-out-200": lambda: fan_out(200, "fan-out-200"),
    "fan-out-200-flat": lambda: fan_out(200, "fan-out-200-flat", flat=True),
    "fan-out-200-mc50": lambda: fan_out(200, "fan-out-200-mc50", at_once=50),
    "nested-waves": lambda: waves(10, "nested-waves"),
}
SCENARIOS: dict[str, Callable[[], Scenario]] = {
    **_NAMED,
    **{f"F0{i}": make for i, make in enumerate(_NAMED.values(), 1)},
    "F06": lambda: waves(50, "F06"),
    "F07": lambda: waves(10, "F07", apart=5 * MS),
    "F08": lambda: beside("F08", *sleeps(2, 2, 2, 2, 2), keeper=10 * SECOND),
    "F09": lambda: beside("F09", *sleeps(1, 2, 3), keeper=10 * SECOND),
    "F10": lambda: beside("F10", [Step(name="s")], *sleeps(2, 3)),
    "F11": lambda: beside("F11", *sleeps(1, 1, 1, 1, 1), keeper=10 * SECOND, at_once=3),
    "F12": lambda: beside("F12", *sleeps(2, 5), keeper=SECOND, needed=1),
    "F13": retries,
    "F14": rounded_up,
    "F15": lambda: oversize("F15", 0),
    "F16": lambda: oversize("F16", 150 * MS),
    "F17": replay,
    "F18": nested_waits,
    "F19": lambda: beside("F19", *sleeps(1, 2, 3, 4), keeper=12 * SECOND, at_once=3),
    "F20": lambda: beside("F20", *sleeps(*[2] * 20), keeper=4 * SECOND),
    "failures": failures,
    "taken": taken,
}
NAMED = tuple(_NAMED)
