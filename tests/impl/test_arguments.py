"""What a newcomer gets wrong is said in one line that names the argument, before anything happens; nothing of a refused call is left behind."""
from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from slotwise.impl import SpinPool
from slotwise.impl.checkpoint import CheckpointBatcher, Page
from slotwise.impl.checkpoint_client import Answer, Duplicate
from slotwise.impl.scheduler import Closed, Group, Refused, Retry, Scheduler
from slotwise.spec.spin_vocabulary import BreakEven

NAN, INF = float("nan"), float("inf")
GROUP = Group("g")
NEW: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("capacity must be units by resource", (None,), {}), ("capacity must be units by resource", ("llm",), {}), ("capacity must be units by resource", ({1: 1},), {}),
    ("capacity names no resource", ({},), {}), ("capacity of a must be 1 to", ({"a": 0},), {}), ("capacity: a must be an integer", ({"a": 1.5},), {}),
    ("groups must be Groups in a list", ({"a": 1}, GROUP), {}), ("groups must be Groups in a list", ({"a": 1}, "g"), {}), ("groups must be Groups in a list", ({"a": 1}, 3), {}),
    ("group must be a Group", ({"a": 1}, ["g"]), {}), ("group must be a Group", ({"a": 1}, [{"name": "g"}]), {}), ("group g is specified twice", ({"a": 1}, [GROUP, GROUP]), {}),
    ("group g: Expected `float` that's a multiple of", ({"a": 1}, [Group("g", weight=0.3)]), {}),
    ("no profile is called 'mine'; there are strict", ({"a": 1},), {"profile": "mine"}), ("profile must be a Profile or its name", ({"a": 1},), {"profile": 3}),
    ("retry must be a Retry", ({"a": 1},), {"retry": 3}), ("seed must be an integer", ({"a": 1},), {"seed": "x"}), ("name must be a string", ({"a": 1},), {"name": 3}),
    ("slo must be a number of seconds", ({"a": 1},), {"slo": "5"}), ("slo must be a finite number of seconds above 0", ({"a": 1},), {"slo": NAN}),
    ("slo must be a finite number of seconds above 0", ({"a": 1},), {"slo": -1}), ("lost must be 'raise' or 'ignore', found 'bad'", ({"a": 1},), {"lost": "bad"}),
    ("check must be 'raise' or 'note' or True or False, found 'bad'", ({"a": 1},), {"check": "bad"}), ("tap must be a socket's path", ({"a": 1},), {"tap": 3}),
    ("record must be a file's path", ({"a": 1},), {"record": 3}), ("recording must be a file's path", ({"a": 1},), {"recording": 3}), ("tape must be a Tape", ({"a": 1},), {"tape": 3}),
    ("clock must be a function", ({"a": 1},), {"clock": 3}),
]  # fmt: skip


@pytest.mark.parametrize("case", NEW, ids=lambda case: f"{case[0]} {case[2]}")
def test_a_scheduler(case: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    said, positional, options = case
    with pytest.raises((TypeError, ValueError)) as raised:
        Scheduler(*positional, **options)
    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


async def give(value: int = 1) -> int:
    return value


def plain(value: int = 1) -> int:
    return value


SUBMITTED: list[tuple[str, Callable[[Scheduler], object]]] = [
    ("function must be an async function, found 3", lambda s: s.submit(3)),  # type: ignore[arg-type]
    ("function must be an async function, and not be called yet: found a coroutine of give; its arguments go after it: submit(give, …)", lambda s: s.submit(give())),  # type: ignore[arg-type]
    ("needs must be a resource", lambda s: s.submit(give, needs=3)),  # type: ignore[arg-type]
    ("needs must be a resource", lambda s: s.submit(give, needs=["a"])),  # type: ignore[arg-type]
    ("group 3: Expected `str`", lambda s: s.submit(give, group=3)),  # type: ignore[arg-type]
    ("group Group(name='g'", lambda s: s.submit(give, group=GROUP)),  # type: ignore[arg-type]
    ("group : Expected `str` of length >= 1", lambda s: s.submit(give, group="")),
    ("deadline must be a number of seconds, found '1'", lambda s: s.submit(give, deadline="1")),  # type: ignore[arg-type]
    ("deadline must be a finite number of seconds, found nan", lambda s: s.submit(give, deadline=NAN)),
    ("deadline must be a finite number of seconds, found -inf", lambda s: s.submit(give, deadline=-INF)),
    ("retry must be a Retry", lambda s: s.submit(give, retry=3)),  # type: ignore[arg-type]
    ("source must be what has `rows`", lambda s: s.attach(3)),  # type: ignore[arg-type]
    ("group must be a Group", lambda s: s.specify("g")),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("case", SUBMITTED, ids=lambda case: str(case[0]))
def test_a_job_that_is_refused_leaves_nothing_behind(case: tuple[str, Callable[[Scheduler], object]]) -> None:
    said, does = case

    async def main() -> None:
        async with Scheduler({"a": 2}) as scheduler:
            with pytest.raises((TypeError, ValueError)) as raised:
                does(scheduler)
            assert str(raised.value).startswith(said)
            seen = scheduler.snapshot()
            assert (seen.groups, scheduler._alive, scheduler._waiting) == ((), 0, {})
            assert await scheduler.submit(give, 7) == 7

    anyio.run(main)


def within() -> Awaitable[int]:
    return give(*[1, 2, 3])


@pytest.mark.parametrize("function", [plain, within])
def test_what_cannot_be_awaited_says_which_function_it_is(function: Any) -> None:
    async def main() -> list[str]:
        async with Scheduler({"a": 2}, lost="ignore") as scheduler:
            with pytest.raises(TypeError) as raised:
                await scheduler.submit(function, name="job")
            return getattr(raised.value, "__notes__", [])

    said = ["job job#1 calls plain: submit takes an async function and the arguments for it"]
    assert anyio.run(main) == (said if function is plain else []), "what fails within is the function's own affair"


async def grace(scheduler: Scheduler, seconds: Any) -> None:
    await scheduler.shutdown(seconds)


def test_before_and_at_the_end() -> None:
    scheduler = Scheduler({"a": 1}, name="mine")
    for does in (lambda: scheduler.submit(give), scheduler.snapshot, lambda: scheduler.specify(GROUP)):
        with pytest.raises(Closed, match=r"mine is new: .*`?async with`?"):
            does()

    async def main() -> None:
        async with Scheduler({"a": 1}) as other:
            with pytest.raises(TypeError, match="grace must be a number of seconds, found '1'"):
                await grace(other, "1")
            assert await other.submit(give) == 1, "it takes jobs still"
            await grace(other, INF)

    anyio.run(main)


def test_a_job_that_no_resource_can_hold_is_refused_by_name() -> None:
    async def main() -> None:
        async with Scheduler({"a": 1}) as scheduler:
            with pytest.raises(Refused, match="never_fits"):
                scheduler.submit(give, needs={"a": 2})

    anyio.run(main)


@pytest.mark.parametrize("place", ["nowhere/tap.sock", "file", "x" * 200])
def test_a_socket_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()

    async def main() -> None:
        async with Scheduler({"a": 1}, tap=place):
            pass

    with pytest.raises(OSError, match=place) as raised:
        anyio.run(main)
    assert raised.value.filename == place


RETRIES: list[tuple[str, dict[str, Any]]] = [
    ("on must name exceptions in a tuple", {"on": ValueError}), ("on must name exceptions in a tuple", {"on": [ValueError]}), ("on must name exceptions in a tuple", {"on": (KeyboardInterrupt,)}),
    ("expected tries to be an integer", {"on": (ValueError,), "tries": 2.5}), ("expected tries to be an integer", {"on": (ValueError,), "tries": "3"}),
    ("expected tries >= 1, first >= 0 and finite", {"on": (ValueError,), "first": NAN}), ("expected tries to be an integer, first", {"on": (ValueError,), "first": "1"}), ("expected tries >= 1", {"on": (ValueError,), "tries": 0}),
]  # fmt: skip


@pytest.mark.parametrize("case", RETRIES, ids=str)
def test_a_retry(case: tuple[str, dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match=case[0]):
        Retry(**case[1])


class Service:
    def checkpoint(self, token: str, updates: object) -> Answer:
        return Answer(token)

    def fetch(self, marker: str, token: str) -> Page:
        return Page()


BATCHERS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("client must be a Client, with `checkpoint` and `fetch`", (3,), {}), ("no profile is called 'strict'; there are aws-durable-2.0.0", (Service(), "strict"), {}),
    ("profile must be a Profile of batching", (Service(), 3), {}), ("token must be a string", (Service(),), {"token": 3}), ("hint must be an integer", (Service(),), {"hint": 1.5}),
    ("record must be what has `write`", (Service(),), {"record": 3}), ("clock must be a function", (Service(),), {"clock": 3}), ("name must be a string", (Service(),), {"name": 3}),
]  # fmt: skip


@pytest.mark.parametrize("case", BATCHERS, ids=lambda case: str(case[0]))
def test_a_batcher(case: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        CheckpointBatcher(*case[1], **case[2])
    assert str(raised.value).startswith(case[0])


POOLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("width must be a number of threads", ("4",), {}), ("width must be 1 to 64", (0,), {}), ("policy must be a Profile of spinning", (2, 3), {}), ("policy must be a Profile of spinning", (2, BreakEven), {}),
    ("no profile is called", (2, "mine"), {}), ("costs must be Costs", (2,), {"costs": 3}), ("costs must be Costs", (2,), {"costs": (1, 2)}), ("costs must be Costs", (2,), {"costs": "x"}),
    ("park must be 8 to", (2,), {"costs": (-1, 2, 3)}), ("name must be a string", (2,), {"name": 3}),
]  # fmt: skip


@pytest.mark.parametrize("case", POOLS, ids=str)
def test_a_pool(case: tuple[str, tuple[Any, ...], dict[str, Any]]) -> None:
    with pytest.raises((TypeError, ValueError)) as raised:
        SpinPool(*case[1], **case[2])
    assert str(raised.value).startswith(case[0])


@pytest.mark.parametrize("profile", ["slotwise", "aws-durable-3.0.0"])
def test_a_second_refresh_of_a_name_is_refused_and_harms_nobody(profile: str) -> None:
    """The published collector accepts it; a batcher could not tell whose an answer is."""
    batcher = CheckpointBatcher(Service(), profile)
    wait = batcher.refresh("r", due=10**18)
    with pytest.raises(Duplicate, match="r: a refresh of it is already asked for"):
        batcher.refresh("r", due=10**18 + 1)
    batcher.close(600)
    assert wait.done
