"""Between two looks of a recording: exact instants, event by event, while the screen goes on."""
from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from textual.pilot import Pilot

from slotwise.dashboard.observe.sources.source import SourceError
from slotwise.dashboard.screens.app import Screens
from slotwise.dashboard.screens.export import screen_text
from slotwise.dashboard.screens.session import MOST, SECOND, Playback
from slotwise.dashboard.screens.times import exact_clock
from slotwise.impl.snapshot import Snapshot

from ..samples import group, snapshot
from .driving import Clock, Listed, drive, settled

TENTH = SECOND // 10
EVENTS = [0, TENTH + 3, TENTH + 7, 5 * TENTH, 12 * TENTH + 1, 12 * TENTH + 2, 39 * TENTH]


def shot(at: int) -> Snapshot:
    """So many events had happened."""
    return snapshot(at / SECOND, events=sum(one <= at for one in EVENTS))


class Eventful(Listed):
    """A look each half second, and what was between."""

    def __init__(self, wrong_at: int = -1, has: bool = True) -> None:
        super().__init__([shot(at) for at in range(0, 40 * TENTH + 1, 5 * TENTH)])
        self.wrong_at, self.has = wrong_at, has
        self.asked: list[int] = []

    def moments(self) -> Eventful | None:
        return self if self.has else None

    def at(self, t_ns: int) -> Snapshot:
        self.asked.append(t_ns)
        if t_ns == self.wrong_at:
            raise SourceError("list", "it breaks off")
        return shot(t_ns)

    def hop(self, t_ns: int, by: int) -> int:
        for _ in range(abs(by)):
            t_ns = min((one for one in EVENTS if one > t_ns), default=t_ns) if by > 0 else max((one for one in EVENTS if one < t_ns), default=t_ns)
        return t_ns


def played(source: Listed, steps: Callable[[Playback], Awaitable[None]]) -> None:
    """With somebody who fulfils its wishes."""

    async def go() -> None:
        session = Playback(source, clock=Clock())
        await session.follow()
        session.look()
        session.playing = False
        attending = asyncio.create_task(session.attend())
        await asyncio.sleep(0)
        await steps(session)
        attending.cancel()
        with suppress(asyncio.CancelledError):
            await attending

    asyncio.run(go())


async def found(session: Playback) -> None:
    """Until nothing more is to be found."""
    session.look()
    while session.seeker.busy:
        await asyncio.sleep(0.001)
        session.look()
    session.look()


def events(session: Playback) -> int:
    assert session.frame is not None
    return session.frame.window.after.events


def test_any_time_is_looked_at_exactly() -> None:
    async def steps(session: Playback) -> None:
        session.seek(TENTH + 5)
        assert session.look()
        assert (session.position, events(session), session.exact) == (0, 1, False), "the look before, until it is found"
        await found(session)
        assert (session.position, events(session), session.exact) == (TENTH + 5, 2, True)
        assert session.here() == (TENTH + 5) / (40 * TENTH)
        session.seek(TENTH + 4)
        session.look()
        assert session.position == 0, "never later than what is asked for"
        await found(session)
        assert session.position == TENTH + 4
        session.seek(10 * TENTH)
        session.look()
        assert (session.exact, session.seeker.busy) == (False, False), "a look is exact"

    played(Eventful(), steps)


def test_event_by_event_to_and_fro() -> None:
    async def steps(session: Playback) -> None:
        seen = []
        for by in (1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1):
            assert session.hop(by)
            await found(session)
            seen.append(session.at)
            assert events(session) == sum(one <= session.at for one in EVENTS)
        assert seen == [*EVENTS[1:], EVENTS[-1], *EVENTS[-2::-1], EVENTS[0]]
        assert session.news == ["no later event", "no earlier event"]
        for _ in range(4):
            session.hop(1)                       # before any was found
        session.hop(-1)
        await found(session)
        assert session.at == EVENTS[3]
        session.hop(1)
        session.seek(20 * TENTH)                 # thinks better of it
        await found(session)
        assert session.at == 20 * TENTH

    played(Eventful(), steps)


def test_steps_are_looks_or_at_slow_speeds_frames() -> None:
    async def steps(session: Playback) -> None:
        session.speed = 3                        # of 800 ms
        stops = []
        session.seek(TENTH + 5)
        for by in (1, -1, 1, 1, -1):
            session.step(by)
            await found(session)
            stops.append(session.position)
        assert stops == [5 * TENTH, 0, 5 * TENTH, 10 * TENTH, 5 * TENTH]
        session.seek(7 * TENTH)
        session.step(-1)
        assert session.at == 5 * TENTH, "the look before it"
        session.speed = 2                        # of 400 ms, less than from look to look
        session.step(1)
        await found(session)
        assert (session.position, events(session)) == (9 * TENTH, 4)
        session.speed = -3
        for by in (1, 1, -10):
            session.step(by)
            await found(session)
        assert session.position == 9 * TENTH - 8 * TENTH // 8

    played(Eventful(), steps)


def test_it_plays_exactly_where_it_plays_slowly() -> None:
    async def steps(session: Playback) -> None:
        clock = session.clock
        assert isinstance(clock, Clock)
        for speed, position in ((0, TENTH), (-1, TENTH + TENTH // 2), (4, 15 * TENTH)):
            session.speed, session.playing = speed, True
            session.look()
            clock.now += TENTH
            await found(session)
            assert session.position == position

    played(Eventful(), steps)


def test_what_cannot_be_found_is_said_once() -> None:
    async def steps(session: Playback) -> None:
        for _ in range(2):
            session.seek(TENTH)
            await found(session)
            assert (session.position, events(session)) == (0, 1), "the look before"
            session.seek(TENTH + 3)
            await found(session)
            assert session.position == TENTH + 3
        assert session.news == ["list: it breaks off"]

    played(Eventful(wrong_at=TENTH), steps)


@pytest.mark.parametrize("source", [Listed([shot(0), shot(SECOND)]), Eventful(has=False)])
def test_without_events_there_are_looks_only(source: Listed) -> None:
    async def steps(session: Playback) -> None:
        while session.seeker.there:
            await asyncio.sleep(0.001)
        assert not session.hop(1)
        session.speed = -5
        session.seek(TENTH)
        session.look()
        assert (session.position, session.seeker.busy) == (0, False)
        session.step(1)
        assert session.at in (5 * TENTH, SECOND)
        session.step(-1)
        assert session.at == 0

    played(source, steps)


def test_alarms_are_gone_back_to_from_between_looks() -> None:
    async def steps(session: Playback) -> None:
        session.marks = [5 * TENTH, 20 * TENTH]
        session.seek(22 * TENTH)
        assert session.mark(False)
        assert session.at == 20 * TENTH
        assert session.mark(False)
        assert session.at == 5 * TENTH
        assert not session.mark(False)

    played(Eventful(), steps)


def test_marks_of_a_long_recording_stay_reachable() -> None:
    """Looks that are left out take none with them."""
    session = Playback(Listed([]), clock=Clock())
    for at in range(MOST + 100):
        session.take(snapshot(at, groups=(group("a", waiting=1, oldest=-10 * SECOND),) if at in (4000, 4001, 9001, 9002) else ()))
    assert session.marks == [4001 * SECOND, 9001 * SECOND]
    assert set(session.marks) <= set(session.times)
    session.over = True
    assert [session.mark(True), session.mark(True), session.mark(True)] == [True, True, False]


@pytest.mark.parametrize(("ns", "words"), [(3, "0.000000003s"), (59_999_999_999, "59.999999999s"), (60 * SECOND, "00:01:00.000000000"), (3725 * SECOND + 7, "01:02:05.000000007")])
def test_exact_times_are_told_whole(ns: int, words: str) -> None:
    assert exact_clock(ns) == words


# keys --------------------------------------------------------------------------------------------------------------------------------


async def shown(app: Screens, pilot: Pilot[str]) -> str:
    """The first line, when all was found."""
    session = app.session
    assert isinstance(session, Playback)
    app.tick()
    while session.seeker.busy:
        await pilot.pause(0.01)
        app.tick()
    await settled(app, pilot)
    return screen_text(app).splitlines()[0]


def test_keys() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> None:
        await pilot.press("t", *"250ms", "enter")
        assert "STILL  sample  t 0.250000000s / 4.000s" in await shown(app, pilot)
        await pilot.press("n")
        assert "t 0.500s / " in await shown(app, pilot)
        await pilot.press("n")
        assert "t 1.200000001s / " in await shown(app, pilot)
        await pilot.press("N", "N")
        assert "t 0.100000007s / " in await shown(app, pilot)
        await pilot.press("comma", "right")
        assert app.session.speed == -1          # type: ignore[attr-defined]
        assert "t 0.150000007s / " in await shown(app, pilot)
        await pilot.press("enter", "n")         # a page over it
        assert "t 0.500s / " in await shown(app, pilot)

    session = Playback(Eventful(), clock=Clock())
    session._suited = True
    drive(session, steps)


def test_keys_where_nothing_is_known_between() -> None:
    async def steps(app: Screens, pilot: Pilot[str]) -> list[str]:
        await pilot.press("n")
        return [one.message for one in app._notifications]

    assert drive(Playback(Listed([shot(0), shot(SECOND)]), clock=Clock()), steps) == ["it says nothing of what was between two looks; left and right go from look to look"]
