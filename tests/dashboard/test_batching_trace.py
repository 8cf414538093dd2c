"""The trace of a batcher adds up to what its meter counted while it ran: seals, waits, waves, all of it."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slotwise.dashboard.observe.sources import trace_batching
from slotwise.dashboard.observe.sources.trace import looks, play_of
from slotwise.impl._native import Batcher as Engine
from slotwise.impl.checkpoint import UNCOUNTED
from slotwise.impl.checkpoint_meter import Watch
from slotwise.impl.snapshot import Batcher
from slotwise.spec import batching_vocabulary as b
from slotwise.spec import trace

SMALL = {"bytes": 100, "updates": 3, "collection": 2000, "quiet": 300, "may_come": 20, "round_trip": 400}
PROFILE = msgspec.structs.replace(UNCOUNTED, discipline=b.LookAhead(**SMALL))      # type: ignore[arg-type]


def episode(seed: int, length: int) -> tuple[list[Batcher], trace.Trace]:
    """A random one: the row after each command, and the trace."""
    dice, rows, number = Random(seed), list[Batcher](), 0
    batcher: Any = SimpleNamespace(_engine=Engine(PROFILE, token="t0", hint=0), _lock=threading.Lock(), _begun=0, profile=PROFILE)
    watch, read = Watch(batcher, offset=0), trace.Trace(trace.header(PROFILE, b.Setup("t0", 0)), [])

    def both(command: b.Command) -> list[Any]:
        arguments = [getattr(command, name) for name in command.__struct_fields__ if name != "at"]
        saw: list[Any] = getattr(watch, type(command).__name__.lower())(*arguments, at=command.at)
        read.steps.append(trace.Step(command, saw))
        rows.extend(watch.rows())
        return saw

    at, asked = 0, list[str]()
    for number in range(length):
        at += dice.choice([0, 1, 10, 100, 1000])
        done = tuple(dice.sample(asked, min(len(asked), dice.randrange(4))))
        match dice.randrange(12):
            case 0 | 1 | 2:
                both(b.Submit(id=f"u{number}", size=dice.choice([0, 10, 40, 200]), empty=dice.random() < 0.1, at=at))
            case 3 | 4 | 5:
                asked.append(f"r{number}")
                both(b.Refresh(id=asked[-1], key=dice.choice([None, at]), due=dice.choice([None, at, at + 50, at + 900]), owner=dice.choice("op"), at=at))
            case 6:
                both(b.Cancel(owner="p", at=at) if dice.random() < 0.3 else b.Credit(running=1, at=at))
            case 7 if dice.random() < 0.1:
                both(b.Stop(at=at))
            case 8 | 9 | 10:
                both(b.Fail(at=at) if dice.random() < 0.1 else b.Respond(token=f"t{number}", stamp=at, done=done, marker=dice.choice([None, None, "m"]), at=at))
            case _:
                both(b.Page(done=done, at=at))
        if dice.random() < 0.8:
            both(b.Pump(at=at))
    return rows, read


def latest(row: Batcher) -> Batcher:
    """A trace's row has fewer batches and waves; one in flight comes besides."""
    flying = sum(batch.done is None for batch in row.batches)
    return msgspec.structs.replace(row, batches=row.batches[-trace_batching.LATEST - flying :], waves=row.waves[-trace_batching.LATEST :])


@pytest.fixture(autouse=True, scope="module")
def few() -> Iterator[None]:
    """Batches and waves in a trace's row, so that some are left out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_batching, "LATEST", 4)
        yield


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 1 << 32), st.integers(0, 120))
def test_the_trace_of_a_batcher_says_what_its_meter_said(seed: int, length: int) -> None:
    rows, read = episode(seed, length)
    shots = list(looks(play_of(read, "checkpoint"), read, 7))
    for shot in shots:
        before = [row for row, step in zip(rows, read.steps, strict=True) if step.command.at <= shot.now]
        if before:
            assert shot.batchers[0] == latest(before[-1])


def test_there_are_waves_of_all_kinds() -> None:
    rows = [row for seed in range(60) for row in episode(seed, 120)[0][-1:]]
    waves = [wave for row in rows for wave in row.waves]
    assert len(waves) > 100
    assert any(wave.late for wave in waves)
    assert any(wave.late < wave.refreshes for wave in waves)
    assert {wave.refreshes - wave.joined for wave in waves} == {0, 1}
    assert any(len(row.waves) > trace_batching.LATEST for row in rows)
    assert any(row.failures for row in rows)


@pytest.mark.parametrize("field", ["refreshes", "joined", "late"])
def test_what_is_counted_is_what_the_waves_say(field: str) -> None:
    for seed in range(20):
        row = episode(seed, 60)[0][-1]
        assert getattr(row, field) == sum(getattr(wave, field) for wave in row.waves)
