"""`slotwise watch`: what a scheduler does. A screen; with --once one look, as text or JSON."""
from __future__ import annotations

import gc
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slotwise.cli.output import Stop, as_json, data
from slotwise.dashboard.observe import report
from slotwise.dashboard.observe.frames import Frame, derive
from slotwise.dashboard.observe.history import Past
from slotwise.dashboard.observe.limits import LimitError, Limits
from slotwise.dashboard.observe.lints import Alarm, Watch
from slotwise.dashboard.observe.sources.source import Source, SourceError, find
from slotwise.impl.snapshot import Snapshot

if TYPE_CHECKING:
    from slotwise.dashboard.observe.program import Program

FORMATS, FAILS = ("text", "json"), ("warn", "alarm")
SECOND = 10**9


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    where: str | None
    attach: str | None
    once: bool
    format: str
    seconds: float
    fail_on: str | None
    allow: tuple[str, ...]
    warn: tuple[str, ...]
    ascii: bool
    program: str | None
    demo: bool
    against: str | None
    web: int | None


def run(wanted: Wanted) -> int:
    if wanted.format not in FORMATS:
        raise Stop(f"format: found {wanted.format!r}, expected {' or '.join(FORMATS)}")
    if wanted.fail_on is not None and wanted.fail_on not in FAILS:
        raise Stop(f"fail-on: found {wanted.fail_on!r}, expected {' or '.join(FAILS)}")
    if wanted.against is not None and wanted.web is None:
        from slotwise.cli import sides

        return sides.run(wanted)
    try:
        limits = Limits.parse(list(wanted.warn), list(wanted.allow))
    except LimitError as error:
        raise Stop(str(error)) from None
    if wanted.program is not None or wanted.demo:
        from slotwise.cli import run_program

        return run_program.run(wanted, limits)
    if (wanted.where is None) == (wanted.attach is None):
        raise Stop("watch: expected a FILE or URL, or --attach SOCKET" + ("" if wanted.where is None else ", not both"))
    if wanted.web is None and not wanted.once:
        needs_terminal()
    try:
        source = find(wanted.attach or wanted.where or "")
    except SourceError as error:
        raise Stop(str(error), report.CANNOT_ATTACH) from None
    if wanted.web is not None:
        try:
            from slotwise.cli.web import serve
        except ModuleNotFoundError as error:
            raise Stop(f"watch: --web needs {error.name}: pip install 'slotwise[web]'") from None
        return serve(wanted, wanted.web)
    if not wanted.once:
        return show(source, limits, wanted.ascii)
    return look(source, limits, round(wanted.seconds * SECOND), wanted.format, wanted.fail_on)


def needs_terminal() -> None:
    """Somebody must see the screen: in a terminal, or in a browser's tab, for which textual-serve sets a driver."""
    if "TEXTUAL_DRIVER" not in os.environ and not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise Stop("watch: the screen needs a terminal; --once shows one look")


def mapped_keys() -> dict[str, str]:
    """What the user's file changes. Raises Stop where it is wrong, and where there is no library for a screen."""
    try:
        from slotwise.dashboard.screens import keys
    except ModuleNotFoundError as error:
        raise Stop(f"watch: the screen needs {error.name}: pip install 'slotwise[screen]'; --once shows one look") from None
    try:
        return keys.load(keys.place())
    except keys.KeysError as error:
        raise Stop(str(error)) from None


def show(source: Source, limits: Limits, ascii: bool, program: Program | None = None) -> int:
    """The screen, until it is left. `program`: the one that was started for it."""
    mapped = mapped_keys()
    from slotwise.cli.words import WORDS
    from slotwise.dashboard.screens.app import Screens
    from slotwise.dashboard.screens.session import open_session

    gc.collect()
    gc.freeze()                              # what was imported stays; to look through it again and again would only make keys wait
    wrong = Screens(open_session(source, limits), ascii=ascii, mapped=mapped, words=WORDS, program=program).run()
    if wrong:
        raise Stop(wrong, report.CANNOT_ATTACH)
    return report.OK


def look(source: Source, limits: Limits, window: int, format: str, fail_on: str | None) -> int:
    """One look at a source, and how it ends."""
    once = Once(source, limits, window)
    once.gather()
    if once.frame is None:
        if once.wrong:
            raise Stop(once.wrong, report.CANNOT_ATTACH)
        raise Stop(f"{source.name}: no data in {window / SECOND:g} s", report.NO_DATA)
    if format == "json":
        as_json(report.as_object(once.frame, once.alarms, once.watch.rechecks))
    else:
        data(report.as_text(once.frame, once.alarms, once.watch.rechecks))
    if once.wrong:                           # something was seen before it broke off
        raise Stop(once.wrong, report.CANNOT_ATTACH)
    return report.exit_code(once.frame, once.alarms, fail_on)


class Once:
    """Follows a source for a while, a recording to its end, and keeps the last frame and the alarms that are open then."""

    def __init__(self, source: Source, limits: Limits, window: int) -> None:
        self.source, self.limits, self.window = source, limits, window
        self.endless = source.live or source.coarse
        self.watch, self.past = Watch(limits), Past()
        self.first: Snapshot | None = None
        self.last: Snapshot | None = None
        self.frame: Frame | None = None
        self.alarms: tuple[Alarm, ...] = ()
        self.wrong = ""

    def gather(self) -> None:
        played = None if self.endless else getattr(self.source, "played", None)
        try:
            if played is not None:           # a file needs no event loop, whose import takes longer than the look
                for snapshot in played():
                    self._take(snapshot)
            else:
                import anyio

                anyio.run(self._follow)
        except SourceError as error:
            self.wrong = str(error)
        if self.last is not None:
            # A recording is looked at whole, a live scheduler over the time that it was followed.
            age = max(0, time.monotonic_ns() - self.last.now) if self.source.live else None
            self.frame = derive(self.first if self.endless and self.first is not self.last else None, self.last, limits=self.limits, age=age, coarse=self.source.coarse)
            self.alarms = self.watch.look(self.frame)

    async def _follow(self) -> None:
        import anyio

        snapshots: Any = self.source.snapshots()
        with anyio.move_on_after(self.window / SECOND + GRACE if self.endless else None):
            async for snapshot in snapshots:
                self._take(snapshot)
                if self.endless and self.first is not None and snapshot.now - self.first.now >= self.window:
                    return

    def _take(self, snapshot: Snapshot) -> None:
        self.first, self.last = self.first or snapshot, snapshot
        frame = derive(self.past.before(snapshot.now, LINTS_SEE), snapshot, limits=self.limits, coarse=self.source.coarse)
        self.watch.look(frame)
        self.past.put(snapshot)


GRACE = 1.0                                  # seconds beyond --for in which the last snapshot may come
LINTS_SEE = 10 * SECOND                      # the window of the lints
