"""The benchmarks beside the published SDK are run, not judged, here: small, and that all compared do the whole work."""
from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest
from tests.impl.checkpoint_fake import wait_for

from slotwise.fuzz import bench_checkpoint, bench_live
from slotwise.fuzz.bench import Figure

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")


def by_name(figures: list[Figure]) -> dict[str, Figure]:
    assert len({figure.name for figure in figures}) == len(figures)
    return {figure.name: figure for figure in figures}


def test_steps() -> None:
    found = by_name(bench_live.steps(rounds=2))
    alone, ours = found["a step, idle: the client alone"], found["a step, idle: slotwise, over the client alone, of 30 ms"]
    assert alone.figure is not None
    assert alone.figure >= 1000 * bench_checkpoint.TRIP
    assert (ours.unit, ours.bar) == ("%", "<= 2")
    assert [figure.name for figure in found.values() if figure.bar] == [ours.name]


@pytest.mark.parametrize(("work", "least", "operations"), [
    (lambda it, client: bench_live.fan_out(it, True, 8, 8), 2, 9),
    (lambda it, client: bench_live.fan_out(it, False, 3, 8), 7, 17),
    (lambda it, client: bench_live.waves(it, client, 0, []), 8, 61),
], ids=["flat", "some at once", "waves"])  # fmt: skip
def test_the_whole_work_is_done(work: Callable[[object, bench_live.Line], None], least: int, operations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each update is made durable once, and nobody is counted as running afterwards."""
    monkeypatch.setattr(bench_live, "LONG", 0.3)
    monkeypatch.setattr(bench_live, "WAIT", 0.1)
    with bench_checkpoint.service() as service:
        client = bench_live.Line(service.url)
        with bench_live._batcher(client) as it:

            def handler() -> None:
                with it.running():
                    work(it, client)

            bench_live.in_a_thread(handler)
            wait_for(lambda: it._engine.state()["running"] == it._engine.state()["outside"] == 0)     # branches that others have told may still be leaving
        client.http.close()
        assert client.calls >= least
        updates = Counter((id, body) for line in service.journal.read_bytes().splitlines() for id, body in json.loads(line)["updates"])
    names = {id for id, _ in updates}
    waits = {id for id in names if id.endswith(".w")}
    assert updates == Counter([(id, body) for id in names - waits for body in ("start", "end")] + [(id, '{"wait": 0.1}') for id in waits])
    assert len(names) == operations


def test_rows() -> None:
    """Of each: calls and latency, for both choices of a user, idle and loaded; and how late the waits are, where there are any."""
    found = by_name(bench_live.flat(rounds=1, branches=4))
    ours = [name for name in found if "SDK" not in name]
    assert len(ours) == 8
    assert all(found[name].figure for name in ours)


def test_a_branch_that_fails_is_told() -> None:
    with bench_live.line() as client, bench_live._batcher(client) as it, it.running(), pytest.raises(ZeroDivisionError):
        bench_live.parallel(it, [lambda: None, lambda: 1 / 0], 2)    # type: ignore[list-item]


def test_the_spread_of_a_median() -> None:
    assert bench_live.spread([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert bench_live.spread([float(i) for i in range(100)]) == (40.0, 59.0)
