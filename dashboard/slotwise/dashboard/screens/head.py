"""The first line, what is special now, and the last line."""
from __future__ import annotations

from collections.abc import Iterable

from slotwise.dashboard.observe.words import escape, rate, seconds
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, width_of
from slotwise.dashboard.screens.session import SECOND, Live, Playback, clock_of
from slotwise.dashboard.screens.times import exact_clock


class Head(Lines):
    """What is less important goes first where there is no room."""

    def draw(self, width: int, height: int) -> Iterable[Line]:
        screens, session, look = self.screens, self.screens.session, self.look
        frame = screens.now
        state = "MARK" if screens.held else "PAUSED" if screens.paused else session.state
        style = {"LOST": "bad", "CRASHED": "bad", "STALLED": "bad", "PAUSED": "banner", "MARK": "banner", "ENDED": "banner", "STILL": "banner", "END": "banner"}.get(state, "reverse")
        pieces: list[tuple[int, Line]] = []
        if isinstance(session, Playback):
            state += f" {session.speed_words}" if state == "REPLAY" else ""
        elif state == "PAUSED" and frame is not None and screens.frame is not None and (since := (frame.window.now - screens.frame.window.now) // SECOND) > 0:
            state += f" {seconds(since)}"        # so old is what is seen
        pieces.append((0, [(f" {state} ", style)]))
        if screens.recorder.running:
            pieces.append((1, [(" REC ", "bad")]))
        if frame is not None:
            head = frame.head
            pieces.append((2, [(f" {escape(head.program)}", "strong")]))
            if isinstance(session, Playback):
                where = exact_clock(session.position) if session.exact and not session.playing else clock_of(session.position, session.length)
                pieces.append((3, [(f"  t {where} / {clock_of(session.length)}", "text")]))
            else:
                pieces += [(9, [(f" {escape(session.source.name)}", "dim")])] if escape(session.source.name) != escape(head.program) else []
                pieces.append((7, [(f"  up {up(head.up_s)}", "text")]))
            pieces.append((5, [(f"  {'-' if head.events_per_s is None else rate(head.events_per_s):>5} ev/s", "text")]))
            pieces.append((4, [(f"  drop {head.dropped:,}", "alarm" if head.dropped else "text")]))
            if session.age is not None:
                pieces.append((4, [(f"  lag {lag(session.age):<5}", "alarm" if session.stalled else "text")]))
            elif isinstance(session, Live) and session.latest is not None and session.source.live and not session.source.coarse:      # it is gone
                pieces.append((3, [(f"  seen {seconds(max(0, session.clock() - session.latest.now) // SECOND)} ago", "alarm")]))
            if screens.meter_words:
                pieces.append((8, [(f"  ui {screens.meter_words}", "dim")]))
            if screens.overview.preset != "overview":
                pieces.append((4, [(f"  view {screens.overview.preset}", "strong")]))
            pieces.append((6, [(f"  win {window_words(session.window)}", "text")]))
            whole = head.holding == head.checks
            mark = look.status["ok" if whole else "alarm"]
            pieces.append((3 if whole else 1, [("  inv ", "text"), (f"{mark}{head.holding}/{head.checks}" if head.checks else "none", "dim" if not head.checks else "ok" if whole else "alarm")]))
            pieces.append((1 if head.divergences else 3, [("  div ", "text"), (f"{look.status['alarm' if head.divergences else 'ok']}{head.divergences}", "alarm" if head.divergences else "ok")]))
        while pieces and sum(width_of(line) for _, line in pieces) > width and max(pieces)[0] > 0:
            worst = max(importance for importance, _ in pieces)
            last = next(i for i in range(len(pieces) - 1, -1, -1) if pieces[i][0] == worst)
            if worst == 2:                       # the program's name is cut, not left out
                (name, style), = pieces[last][1]
                left = max(2, width - sum(width_of(line) for place, (_, line) in enumerate(pieces) if place != last))
                pieces[last] = 2, [(look.fit(name, left), style)]
                break
            del pieces[last]
        yield [piece for _, line in pieces for piece in line]


def lag(ns: int) -> str:
    """38ms, 1.3s, 240s: for a quarter of an hour not longer than five cells, so that what stands after it stays where it is."""
    return f"{ns // 10**6}ms" if ns < SECOND else f"{ns / SECOND:.1f}s" if ns < 99 * SECOND else seconds(ns // SECOND)


def up(seconds_: float) -> str:
    whole = int(seconds_)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def window_words(window: int) -> str:
    return f"{window // SECOND}s" if window else "run"


class Banner(Lines):
    """Only there when something is special."""

    def draw(self, width: int, height: int) -> Iterable[Line]:
        trouble = self.screens.trouble
        if trouble:
            bad = trouble.startswith(("LOST", "CRASHED", "STALLED", "BROKEN"))
            yield [(self.look.fit(f" {trouble}", width), "bad" if bad else "banner")]


class Keys(Lines):
    """The last line: the keys of the screen as they are now."""

    def draw(self, width: int, height: int) -> Iterable[Line]:
        line: Line = []
        last = (" ^p palette", "dim")
        for key, words in self.screens.key_words():
            piece: Line = [(f" {key} ", "strong"), (words, "dim")]
            if width_of(line) + width_of(piece) > width - len(last[0]) - 1:
                break
            line += piece
        yield [*line, (" " * max(0, width - width_of(line) - len(last[0])), "text"), last]
