"""A search on the screens: it is what one sees first; a rule's sentence, a divergence's shrunk trace; and nothing of it elsewhere."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from slotwise.dashboard.observe.campaigns import sentence
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.sampled import sampled
from slotwise.dashboard.screens.search import grave_first
from slotwise.dashboard.screens.session import SECOND, Live
from slotwise.impl import snapshot as s

from ..samples import resource, snapshot
from .driving import drive, pressed, same, settled, soon

SIZES = {"120x36": (120, 36), "80x24": (80, 24), "40x10": (40, 10)}
TRACE = "tests/golden/attacks/P1.slotwise.jsonl"
HOUSE = Path(__file__).parents[3]


def campaign(profile: str, share: float = 1.0, **changes: Any) -> s.Campaign:
    steps = round(60_000 * share)
    usual: dict[str, Any] = {
        "mechanism": "admission", "profile": profile, "target": "native", "seed": 7, "steps": steps, "episodes": steps // 60, "time": round(4 * SECOND * share), "new_at": 12_000 if share > 0.2 else 0,
        "rules": {"QUE-1": 22_847 * steps // 60_000, "QUE-2": 340, "QUE-3": 0, "ADM-5": 3}, "floors": {"QUE-1": 900.0, "QUE-2": 40.0, "QUE-3": 12.0, "ADM-5": 5.5}, "faults": 28, "killed": 27,
        "result": "no divergence" if share == 1 else "searching" if share else "waiting",
    }  # fmt: skip
    return s.Campaign(**{**usual, **changes})


def searching() -> Live:
    found = [
        snapshot(now, program="fuzz admission on native", events=round(200_000 * now), campaigns=(
            campaign("strict", rules={"QUE-1": 9000, "QUE-2": 4000}), campaign("slotwise", min(0.8, now / 5)), campaign("data-designer-0.9", 0, rules={}),
        ), divergences=(s.Divergence("admission/strict SLT-9", 965, 3, "SLT-9", "expected blocked, found started 2 a2 1 r", 2 * SECOND, f"slotwise replay {TRACE}", TRACE),))
        for now in (1.0, 2.0, 3.0, 4.0)
    ]  # fmt: skip
    return sampled(found)


@pytest.fixture(autouse=True)
def at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOUSE)                     # where the trace is


@pytest.mark.parametrize("size", SIZES)
def test_each_size(size: str) -> None:
    text = drive(searching(), pressed(), SIZES[size])
    assert max(map(len, text.splitlines())) <= SIZES[size][0]
    same(f"search-{size}", text)
    ascii = drive(searching(), pressed(), SIZES[size], ascii=True)
    assert ascii.isascii()


def test_it_is_what_one_sees_first() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[str, list[str], str]:
        current, tables = app.overview.current, app.overview.tables
        await pilot.press("2")                   # of the four there is none: the search
        return current, tables, app.overview.current

    current, tables, after = drive(searching(), steps)
    assert (current, tables[:2], after) == ("campaigns", ["campaigns", "rules"], "campaigns")
    assert not {"resources", "groups"} & set(tables)


def test_it_comes_when_the_first_snapshot_comes() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        app.session.take(snapshot(1, campaigns=(campaign("strict"),)))
        await settled(app, pilot)
        return screen_text(app)

    text = drive(sampled([]), steps)
    assert "Idle while waiting" not in text
    assert "Campaigns" in text


def test_a_scheduler_keeps_its_four() -> None:
    text = drive(sampled([snapshot(1, resources=(resource(),), campaigns=(campaign("strict"),))]), pressed())
    assert "1 Idle while waiting" in text
    text = drive(soon(), pressed())
    assert "1 Idle while waiting" in text
    assert "Campaigns" not in text


@pytest.mark.parametrize(("width", "said"), [(120, "1 rule missing, 1 divergence, 15.0k steps/s, 1 of 3 campaigns done  admission/slotwise: QUE-3"), (80, "1 rule missing, 1 divergence, 15.0k steps/s"), (40, "1 rule missing, 1 divergence")])
def test_what_was_found_comes_first_and_whole(width: int, said: str) -> None:
    line = drive(searching(), pressed(), (width, 24 if width > 40 else 10)).splitlines()[1]
    assert line.endswith(f" {said}")


def test_what_was_not_found_comes_last() -> None:
    assert grave_first("5.4k steps/s, 0 of 1 campaign done, 0 rules missing, 1,204 divergences") == ["1,204 divergences,", "5.4k steps/s,", "0 of 1 campaign done,", "0 rules missing"]


def test_a_rule_has_its_sentence() -> None:
    text = drive(searching(), pressed("tab", "enter"))
    assert "NEVER" in text
    assert " ".join(sentence("admission", "QUE-3").split()[:6]) in text


def test_a_divergence_has_its_shrunk_trace() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> tuple[str, str]:
        app.overview.show("divergences")
        await pilot.press("c")
        copied = app.clipboard
        await pilot.press("enter")
        await settled(app, pilot)
        return copied, screen_text(app)

    copied, text = drive(searching(), steps)
    assert copied == f"slotwise replay {TRACE}"
    assert "SLT-9: A group never runs more tasks than its limit." in text
    assert f"steps under slotwise: {TRACE}" in text
    assert " 1 enqueue " in text


def test_a_trace_that_is_gone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def steps(app: Screens, pilot: Pilot[str]) -> str:
        app.overview.show("divergences")
        await pilot.press("enter")
        await settled(app, pilot)
        return screen_text(app)

    assert f"the trace {TRACE}: there is no such file" in drive(searching(), steps)
