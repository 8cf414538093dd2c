"""Keys that choose which moment is looked at, and how its numbers are told."""
from __future__ import annotations

from slotwise.dashboard.observe import units
from slotwise.dashboard.screens.board import Board
from slotwise.dashboard.screens.comparing import Difference, Marked
from slotwise.dashboard.screens.session import Live, Playback

NO_EVENTS = "it says nothing of what was between two looks; left and right go from look to look"
NO_MARK = "there is no mark; m sets one"


class TimeKeys(Board):
    # keys: time -----------------------------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """At the mark of a running scheduler: back to it."""
        session = self.screens.session
        if self.screens.held is not None:
            self.screens.held = None
        elif isinstance(session, Playback):
            session.play()
        else:
            self.screens.paused = not self.screens.paused
        self.screens.tick()

    def action_window(self) -> None:
        self.screens.session.next_window()
        self.screens.tick(thaw=True)

    def action_step(self, by: int) -> None:
        if replay := self.replay():
            replay.step(by)
            self.screens.tick()

    def action_hop(self, by: int) -> None:
        if replay := self.replay():
            if not replay.hop(by):
                self.tell(NO_EVENTS)
            self.screens.tick()

    def action_alarm(self, forward: bool) -> None:
        if replay := self.replay():
            if not replay.mark(forward):
                self.tell(f"no alarm begins {'later' if forward else 'before'}")
            self.screens.tick()

    def action_speed(self, by: int) -> None:
        if replay := self.replay():
            replay.faster(by)
            self.screens.tick()

    def action_live(self) -> None:
        """From the mark back; from a recording to its end; from a program that is gone to the next."""
        screens, session = self.screens, self.screens.session
        if isinstance(session, Playback):
            session.to_end()
        elif screens.held is None and isinstance(session, Live) and session.attach_again():
            self.tell("tries to attach again")
        screens.paused, screens.held = False, None
        screens.tick()

    # keys: the mark -------------------------------------------------------------------------------------------------------------------

    def action_mark(self) -> None:
        screens = self.screens
        if screens.frame is None:
            self.tell("there is nothing to mark yet", severity="warning")
            return
        screens.marked = Marked(screens.frame, screens.alarms)
        self.tell(f"the mark is set, {screens.when(screens.frame)}; d shows what has changed since")
        screens.paint()

    def action_to_mark(self) -> None:
        screens, marked = self.screens, self.screens.marked
        if marked is None:
            self.tell(NO_MARK, severity="warning")
        elif isinstance(screens.session, Playback):
            screens.session.seek(marked.frame.window.now)
            screens.tick()
        else:
            screens.held = None if screens.held is not None else marked
            screens.tick(thaw=not screens.paused)

    def action_difference(self) -> None:
        if self.screens.marked is None:
            self.tell(NO_MARK, severity="warning")
        else:
            self.app.push_screen(Difference(self.look))

    # keys: how numbers are told -------------------------------------------------------------------------------------------------------

    def action_unit(self) -> None:
        screens = self.screens
        screens.unit = units.UNITS[(units.UNITS.index(screens.unit) + 1) % len(units.UNITS)]
        self.tell(f"counters: {units.WORDS[screens.unit] or 'each as it is defined'}")
        screens.paint()

    def action_scale(self) -> None:
        self.look.log = not self.look.log
        self.tell("log scale: the lowest height is a thousandth of the full one" if self.look.log else "linear scale")
        self.screens.paint()
