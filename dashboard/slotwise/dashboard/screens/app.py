"""The application: one clock that asks for the latest snapshot, and the screens that are painted from it."""
from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.events import Key
from textual.screen import Screen

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import Alarm
from slotwise.dashboard.observe.shrunk import PLAIN, Words
from slotwise.dashboard.observe.units import Unit
from slotwise.dashboard.observe.words import seconds
from slotwise.dashboard.screens import hints, keys
from slotwise.dashboard.screens.comparing import Marked
from slotwise.dashboard.screens.export import without_web_fonts
from slotwise.dashboard.screens.help import Help
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Look
from slotwise.dashboard.screens.output import Program
from slotwise.dashboard.screens.overview import Overview
from slotwise.dashboard.screens.recorder import Recorder
from slotwise.dashboard.screens.session import SECOND, Playback, Session, clock_of

FPS = 10.0
BUSY, IDLE = 50.0, 20.0                  # per cent of a core: above, it looks half as often; below, more often again


class Screens(App[str]):
    """`slotwise watch`. It only reads. Returns a message if the source never gave anything."""

    TITLE = "slotwise watch"
    CSS_PATH = "screens.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-huge")]      # noqa: RUF012 - as its base class has it
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (14, "-low"), (32, "-tall"), (48, "-lofty")]             # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self, session: Session, *, ascii: bool = False, fps: float = FPS, folder: Path | None = None, mapped: Mapping[str, str] | None = None, words: Words = PLAIN, program: Program | None = None
    ) -> None:
        """`fps` 0: nothing happens by itself, `tick` does it; the viewer's own cost is not shown then."""
        super().__init__()
        self.session, self.fps, self.folder, self.mapped = session, fps, folder or Path(), dict(mapped or {})
        self.words = words                       # for the steps of a trace
        self.look = Look(ascii, not self.no_color)
        self.overview = Overview(self.look)
        self.frame: Frame | None = None          # that is looked at
        self.alarms: tuple[Alarm, ...] = ()
        self.paused = False
        self.marked: Marked | None = None
        self.held: Marked | None = None          # it is looked at, though the scheduler runs on
        self.hides = True                        # the alarms that were acknowledged
        self.unit: Unit = "own"
        self.program = program                   # that was started from here
        self.recorder = Recorder(session, self.folder, lambda words: self.notify(words, severity="error", markup=False))
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
    def heard(self) -> tuple[Alarm, ...]:
        """Of what is looked at, the alarms that nobody has acknowledged."""
        return self.session.acknowledged.unheard(self.alarms)

    @property
    def trouble(self) -> str:
        """A line about what is special now; empty if nothing is."""
        return f"MARK  this is {self.when(self.held.frame)}; ' or L goes back to now" if self.held else self.session.trouble

    def when(self, frame: Frame) -> str:
        """A frame's time, in words."""
        session = self.session
        if isinstance(session, Playback):
            return f"at {clock_of(frame.window.now - session.began)}"
        return f"{seconds(max(0, self.now.window.now - frame.window.now) / SECOND)} ago" if self.now is not None and self.now.head.pid == frame.head.pid else "of another run"

    @property
    def window_said(self) -> str:
        window = self.frame.window.length if self.frame else 0
        return f"{window / SECOND:.3g} s"

    def on_mount(self) -> None:
        self.set_keymap(self.mapped)
        self.push_screen(self.overview)
        self.theme_changed_signal.subscribe(self, lambda theme: self.ground(theme.dark))
        self.run_worker(self.follow(), exit_on_error=False)
        self.run_worker(self.session.attend(), exit_on_error=False)
        if self.fps:
            self.set_interval(1 / self.fps, self.clock)
        self.call_after_refresh(self.begin)

    def begin(self) -> None:
        self.tick()
        with suppress(NoMatches):
            self.overview.show(self.overview.current, picked=False)

    def ground(self, dark: bool) -> None:
        self.look.lighten(not dark)
        for screen in self.screen_stack:
            for widget in screen.query(Lines):
                widget.refresh()

    def on_unmount(self) -> None:
        self.recorder.stop()

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
        self.meter_words = f"{self._painted / passed:>2.0f}fps {share:>2.0f}%cpu"
        if share > BUSY and self._every < 8:
            self._every *= 2
        elif share < IDLE and self._every > 1:
            self._every //= 2
        self._metered, self._cpu, self._painted = time.monotonic(), cpu, 0

    def tick(self, thaw: bool = False) -> None:
        """One look. While paused the frame stays, unless `thaw`; the first line goes on."""
        before = self.frame
        self.session.look()
        while self.session.news:
            self.notify(self.session.news.pop(0), timeout=6, markup=False)
        if self.held is not None:
            self.frame, self.alarms = self.held.frame, self.held.alarms
        elif not self.paused or thaw or self.frame is None:
            self.frame, self.alarms = self.session.frame, self.session.alarms
        self.paint(self.frame is not before)

    def paint(self, new: bool = True) -> None:
        """`new`: there is something else to see than before."""
        if self.screen_stack:
            with self.batch_update():
                repaint = getattr(self.screen, "repaint", None)          # ours have it
                if repaint is not None:
                    with suppress(NoMatches):    # while it is put up or taken down
                        repaint(new)

    def key_words(self) -> list[tuple[str, str]]:
        """For the last line: the keys of the screen as they are now."""
        screen = self.screen
        if isinstance(screen, Overview) and screen.asking:
            return screen.key_words()
        if isinstance(screen, Help):
            return [("esc", "Back"), ("down", "More"), ("tab", "Next part")]
        session, words = self.session, {id: words for id, _, _, words, _ in keys.KEYS} | getattr(screen, "WORDS", {})
        if isinstance(session, Playback):
            words |= keys.PLAYED | {"pause": "Pause" if session.playing else "Play"}
        elif self.paused or self.held is not None:
            words["pause"] = "Go on"
        shown = keys.SHOWN_PLAYED if isinstance(screen, Overview) and session.replay else getattr(screen, "SHOWN", ())
        given = {id: self.mapped.get(id, given).split(",")[0] for id, given, _, _, _ in keys.KEYS}
        return [(" ".join(keys.word(given[id]) for id in ids.split()), words[ids.split()[0]]) for ids in shown]

    def export_screenshot(self, *, title: str | None = None, simplify: bool = False) -> str:
        """With no font from elsewhere: e writes it, and the palette does."""
        return without_web_fonts(super().export_screenshot(title=title, simplify=simplify))

    def on_key(self, event: Key) -> None:
        """One that nobody has taken."""
        if self.screen is self.overview and self.overview.typed_before(event):
            event.prevent_default()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        yield from (command for command in super().get_system_commands(screen) if command.title not in ("Keys", "Maximize", "Minimize"))      # ours are better
        if isinstance(screen, Overview):
            for name, title in screen.named().items():
                yield SystemCommand(f"Table: {title}", "Show it", lambda name=name: screen.show(name))
            yield SystemCommand("Export", "The screen, a table or the frame into a file", screen.action_export)
            for preset in hints.PRESETS:
                yield SystemCommand(f"View: {preset}", ", ".join(hints.PRESETS[preset]) or "All tables, each in its place", lambda preset=preset: screen.choose_preset(preset))
            for id, _, action, words, _ in keys.KEYS:
                if id in keys.PALETTE:
                    yield SystemCommand(words, keys.PALETTE[id], partial(self.run_action, action, screen))
