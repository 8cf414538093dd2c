"""The application: one clock that asks for the latest snapshot, and the screens that are painted from it."""
from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.screen import Screen

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.shrunk import PLAIN, Words
from slotwise.dashboard.screens import hints, keys
from slotwise.dashboard.screens.details import Detail, Help
from slotwise.dashboard.screens.look import Look
from slotwise.dashboard.screens.overview import Overview
from slotwise.dashboard.screens.session import SECOND, Session

FPS = 10.0
BUSY, IDLE = 50.0, 20.0                  # per cent of a core: above, it looks half as often; below, more often again


class Screens(App[str]):
    """`slotwise watch`. It only reads. Returns a message if the source never gave anything."""

    TITLE = "slotwise watch"
    CSS_PATH = "screens.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-huge")]      # noqa: RUF012 - as its base class has it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (14, "-low"), (32, "-tall")]             # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, session: Session, *, ascii: bool = False, fps: float = FPS, folder: Path | None = None, mapped: Mapping[str, str] | None = None, words: Words = PLAIN) -> None:
        """`fps` 0: nothing happens by itself, `tick` does it; the viewer's own cost is not shown then."""
        super().__init__()
        self.session, self.fps, self.folder, self.mapped = session, fps, folder or Path(), dict(mapped or {})
        self.words = words                       # for the steps of a trace
        self.look = Look(ascii, not self.no_color)
        self.overview = Overview(self.look)
        self.frame: Frame | None = None          # that is looked at
        self.alarms: tuple[Alarm, ...] = ()
        self.paused = False
        self.meter_words = ""
        self._every, self._ticks, self._painted = 1, 0, 0
        self._metered, self._cpu = time.monotonic(), time.process_time()
        if ascii:
            self.add_class("-ascii")

    @property
    def now(self) -> Frame | None:
        """The latest frame, paused or not."""
        return self.session.frame

    @property
    def window_said(self) -> str:
        window = self.frame.window.length if self.frame else 0
        return f"{window / SECOND:.3g} s"

    def on_mount(self) -> None:
        self.set_keymap(self.mapped)
        self.push_screen(self.overview)
        self.run_worker(self.follow(), exit_on_error=False)
        if self.fps:
            self.set_interval(1 / self.fps, self.clock)
        self.call_after_refresh(self.begin)

    def begin(self) -> None:
        self.tick()
        with suppress(NoMatches):
            self.overview.show("groups")

    async def follow(self) -> None:
        await self.session.follow()
        if self.session.wrong and self.session.frame is None and not self.session.look():
            self.exit(self.session.wrong)

    def clock(self) -> None:
        self._ticks += 1
        if self._ticks % self._every == 0:
            self._painted += 1
            self.tick()
        passed = time.monotonic() - self._metered
        if passed >= 1:
            self.meter(passed)

    def meter(self, passed: float) -> None:
        """The viewer's own cost, which it says and keeps low."""
        cpu = time.process_time()
        share = 100 * (cpu - self._cpu) / passed
        self.meter_words = f"{self._painted / passed:.0f}fps {share:.0f}%cpu"
        if share > BUSY and self._every < 8:
            self._every *= 2
        elif share < IDLE and self._every > 1:
            self._every //= 2
        self._metered, self._cpu, self._painted = time.monotonic(), cpu, 0

    def tick(self, thaw: bool = False) -> None:
        """One look. While paused the frame stays, unless `thaw`; the first line goes on."""
        before = self.frame
        self.session.look()
        if not self.paused or thaw or self.frame is None:
            self.frame, self.alarms = self.session.frame, self.session.alarms
        if self.screen_stack:
            with self.batch_update():
                screen = self.screen
                if isinstance(screen, Overview | Detail):
                    with suppress(NoMatches):    # while it is put up or taken down
                        screen.repaint(self.frame is not before)

    def key_words(self) -> list[tuple[str, str]]:
        """For the last line: the keys of the screen as they are now."""
        screen = self.screen
        if isinstance(screen, Overview) and screen.asking:
            return screen.key_words()
        if isinstance(screen, Help):
            return [("esc", "Back"), ("down", "More")]
        shown = getattr(screen, "SHOWN", ())
        given = {id: (given, words) for id, given, _, words, _ in keys.KEYS}
        words = {"next_pane": "Next row", "back": "Back"} if isinstance(screen, Detail) else {}
        return [(keys.word(self.mapped.get(id, given[id][0]).split(",")[0]), words.get(id, given[id][1])) for id in shown]

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield from (command for command in super().get_system_commands(screen) if command.title not in ("Keys", "Maximize", "Minimize"))      # ours are better
        if isinstance(screen, Overview):
            for name in screen.tables if self.frame is None else [*self.frame.names, "alarms"]:
                yield SystemCommand(f"Pane: {hints.SHORT.get(name, name.capitalize())}", "Show this table", lambda name=name: screen.show(name))
            yield SystemCommand("Export", "The screen, a table or the frame into a file", screen.action_export)
