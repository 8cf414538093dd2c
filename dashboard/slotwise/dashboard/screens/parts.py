"""The lines around the tables: the first line, what is special, the four verdicts, the tabs, the history, the keys."""
from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from rich.cells import cell_len
from textual import events
from textual.message import Message

from slotwise.dashboard.observe.report import WORDS
from slotwise.dashboard.observe.verdicts import Verdict
from slotwise.dashboard.observe.words import Value, escape, rate, seconds
from slotwise.dashboard.screens import hints
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look, resampled, width_of
from slotwise.dashboard.screens.session import SECOND, Playback, clock_of

#: By the verdict's name: the card's title, a short name, the series of its sparkline.
TITLES = {
    "idle-while-waiting": ("Idle while waiting", "idle slots", "lost"), "starving": ("Starving", "starving", "oldest"),
    "checkpoint-wait": ("Checkpoint batcher", "checkpoint", "needless"), "spin-burn": ("Spin burn", "spin burn", "spin"),
}  # fmt: skip
FOUR = tuple(TITLES)


class Head(Lines):
    """What is less important goes first where there is no room."""

    def draw(self, width: int, height: int) -> Iterable[Line]:
        screens, session, look = self.screens, self.screens.session, self.look
        frame = screens.now
        state = "PAUSED" if screens.paused else session.state
        style = {"LOST": "bad", "CRASHED": "bad", "STALLED": "bad", "PAUSED": "banner", "ENDED": "banner", "STILL": "banner"}.get(state, "reverse")
        pieces: list[tuple[int, Line]] = []
        if isinstance(session, Playback):
            state += f" {session.speed_words}" if state == "REPLAY" else ""
        pieces.append((0, [(f" {state} ", style)]))
        if frame is not None:
            head = frame.head
            pieces.append((2, [(f" {escape(head.program)}", "strong")]))
            if isinstance(session, Playback):
                pieces.append((3, [(f"  t {clock_of(session.position)} / {clock_of(session.length)}", "text")]))
            else:
                pieces += [(9, [(f" {escape(session.source.name)}", "dim")])] if escape(session.source.name) != escape(head.program) else []
                pieces.append((7, [(f"  up {up(head.up_s)}", "text")]))
            pieces.append((5, [(f"  {'-' if head.events_per_s is None else rate(head.events_per_s)} ev/s", "text")]))
            pieces.append((4, [(f"  drop {head.dropped:,}", "alarm" if head.dropped else "text")]))
            if session.age is not None:
                pieces.append((4, [(f"  lag {seconds(session.age / SECOND)}", "alarm" if session.stalled else "text")]))
            if screens.meter_words:
                pieces.append((8, [(f"  ui {screens.meter_words}", "dim")]))
            pieces.append((6, [(f"  win {window_words(session.window)}", "text")]))
            whole = head.holding == head.checks
            mark = look.status["unknown" if not head.checks else "ok" if whole else "alarm"]
            pieces.append((3, [("  inv ", "text"), (f"{mark}{head.holding}/{head.checks}", "dim" if not head.checks else "ok" if whole else "alarm")]))
            pieces.append((3, [("  div ", "text"), (f"{look.status['alarm' if head.divergences else 'ok']}{head.divergences}", "alarm" if head.divergences else "ok")]))
        while pieces and sum(width_of(line) for _, line in pieces) > width and max(pieces)[0] > 0:
            worst = max(importance for importance, _ in pieces)
            last = next(i for i in range(len(pieces) - 1, -1, -1) if pieces[i][0] == worst)
            if worst == 2:                       # the program's name is cut, not left out
                break
            del pieces[last]
        yield [piece for _, line in pieces for piece in line]


def up(seconds_: float) -> str:
    whole = int(seconds_)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def window_words(window: int) -> str:
    return f"{window // SECOND}s" if window else "run"


class Banner(Lines):
    """Only there when something is special."""

    def draw(self, width: int, height: int) -> Iterable[Line]:
        trouble = self.screens.session.trouble
        if trouble:
            bad = trouble.startswith(("LOST", "CRASHED", "STALLED", "BROKEN"))
            yield [(self.look.fit(f" {trouble}", width), "bad" if bad else "banner")]


# verdicts --------------------------------------------------------------------------------------------------------------------------


def number(value: Value, digits: int = 0) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "-"


def duration(value: Value) -> str:
    return seconds(value) if isinstance(value, int | float) else "-"


def brief(verdict: Verdict) -> list[str]:
    """Up to three lines, each of less than 28 cells, the most important first."""
    n = verdict.numbers
    if verdict.status == "unknown" or not n:
        return [verdict.text]
    match verdict.name:
        case "idle-while-waiting":
            return [f"{n['idle_slots']} idle  {n['eligible_waiters']} eligible", f"lost {number(n['lost_slots'], 2)} slots  {number(n['lost_percent'], 1)}%", f"max {duration(n['longest_s'])}  {verdict.more}".strip()]
        case "starving":
            if "group" not in n:
                return [verdict.text, f"SLO {duration(n['slo_s'])}"]
            who = escape(str(n["group"]))
            got = [] if n["got_percent"] is None else [f"got {number(n['got_percent'], 1)}% of {number(n['due_percent'], 1)}% due"]
            return [f"{who} {duration(n['oldest_s'])}", *got, f"{n['over_slo_groups']} over SLO {duration(n['slo_s'])}  Jain {number(n['jain'], 2)}"]
        case "checkpoint-wait":
            return [f"fill {number(n['fill_percent'])}%  commit {duration(n['commit_p99_s'])}", f"needless {duration(n['needless_s'])}  {number(n['needless_percent'])}%", verdict.text.partition("sealed ")[2].partition(", commit")[0]]
        case "spin-burn":
            return [f"{number(n['spin_cores'], 2)} cores  hit {number(n['hit_percent'])}%", f"{number(n['spin_percent'])}% of worker time", f"save {number(n['save_cores'], 2)} cores  {verdict.more}".strip()]
        case _:
            return [verdict.text, verdict.more]


class Verdicts(Lines, can_focus=True):
    """One of the four as a card; or, if `only` is None, all four as lines."""

    class Asked(Message):
        """For the evidence."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.verdict = name

    def __init__(self, look: Look, only: str | None, *, id: str) -> None:
        super().__init__(look, id=id, classes="card" if only else "bare")
        self.only = only
        self.chosen = FOUR.index(only) if only else 0

    def find(self, name: str) -> Verdict | None:
        frame = self.screens.frame
        return next((verdict for verdict in frame.verdicts if verdict.name == name), None) if frame else None

    def draw(self, width: int, height: int) -> Iterable[Line]:
        if self.only is None:
            for place, name in enumerate(FOUR):
                yield self.as_line(place, name, width)
            return
        verdict = self.find(self.only)
        if verdict is None:
            return
        lines = brief(verdict)
        style = verdict.status if verdict.status in ("warn", "alarm") else "strong" if verdict.status == "ok" else "dim"
        yield [(f"{self.look.status[verdict.status]} ", verdict.status), (self.look.fit(lines[0], width - 2), style)]
        yield [(self.look.fit(lines[1], width) if len(lines) > 1 else "", "text")]
        yield [(self.spark(self.only, width), "spark")]
        yield [(self.look.fit(lines[2], width) if len(lines) > 2 else "", "dim")]

    def spark(self, name: str, width: int) -> str:
        """What is well within its limit stays low."""
        frame, top = self.screens.frame, 0.0
        if frame is not None:
            window, limits = frame.window, frame.limits
            top = {"idle-while-waiting": 0.05 * window.capacity, "starving": limits.slo(window.after.slo) / SECOND, "checkpoint-wait": 2 * limits["CKPT01"], "spin-burn": float(len(window.workers))}[name]
        return self.look.spark(self.screens.session.series(TITLES[name][2]), width, top)

    def as_line(self, place: int, name: str, width: int) -> Line:
        verdict, look = self.find(name), self.look
        if verdict is None:
            return []
        chosen = self.has_focus and self.chosen == place
        line: Line = [(f"{'>' if chosen else ' '}{place + 1} ", "strong" if chosen else "dim"), (f"{look.status[verdict.status]} ", verdict.status)]
        if width >= 60:
            line.append((f"{WORDS[verdict.status]:<6}", verdict.status))
        line.append((f"{TITLES[name][1]:<11}", "text"))
        left = width - width_of(line)
        spark = 30 if left >= 90 else left - 44 if left >= 56 else 0
        lines, room = brief(verdict), left - spark - 1
        words = lines[0]
        for more in lines[1:]:                   # a part is there whole, or not at all
            if more and cell_len(words) + 2 + cell_len(more) <= room:
                words += f"  {more}"
        line.append((look.fit(words, room), verdict.status if verdict.status in ("warn", "alarm") else "text"))
        return [*line, (" ", "text"), (self.spark(name, spark), "spark")]

    def update(self) -> None:
        super().update()
        if self.only and self.display:
            verdict = self.find(self.only)
            for status in ("warn", "alarm"):
                self.set_class(verdict is not None and verdict.status == status, f"-{status}")
            self.frame_with(f"{FOUR.index(self.only) + 1} {TITLES[self.only][0]}", WORDS[verdict.status] if verdict and verdict.status != "unknown" else "")

    def choose(self, place: int) -> None:
        self.chosen = place
        self.update()

    def on_focus(self) -> None:
        self.update()

    def on_blur(self) -> None:
        self.update()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        place = self.chosen if self.only else at.y if at else 0
        self.post_message(self.Asked(FOUR[min(place, 3)]))


class Tabs(Lines):
    """The panes by name, where one is shown at a time."""

    class Chosen(Message):
        def __init__(self, table: str) -> None:
            super().__init__()
            self.table = table

    def pieces(self) -> list[tuple[str, str]]:
        screens = self.screens
        found = []
        for name in screens.overview.tables:
            words = hints.SHORT.get(name) or name.capitalize()
            digit = hints.DIGITS.get(name, "")
            count = f" {len(screens.alarms)}" if name == "alarms" and screens.alarms else ""
            found.append((name, f" {digit}{' ' if digit else ''}{words}{count} "))
        return found

    def draw(self, width: int, height: int) -> Iterable[Line]:
        current, pieces = self.screens.overview.current, self.pieces()
        if sum(len(words) for _, words in pieces) > width:       # the one that is shown, and how many there are
            place = next((i for i, (name, _) in enumerate(pieces) if name == current), 0)
            while len(pieces) > 1 and sum(len(words) for _, words in pieces) > width - 4:
                place_now = next((i for i, (name, _) in enumerate(pieces) if name == current), 0)
                del pieces[0 if place_now > len(pieces) // 2 else -1]
            more = f" +{len(self.screens.overview.tables) - len(pieces)}" if place >= 0 else ""
            yield [*((words, "selected" if name == current else "dim") for name, words in pieces), (more, "dim")]
            return
        yield [(words, "selected" if name == current else "dim") for name, words in pieces]

    def on_click(self, event: events.Click) -> None:
        at, left = event.get_content_offset(self), 0
        for name, words in self.pieces():
            left += len(words)
            if at is not None and at.x < left:
                self.post_message(self.Chosen(name))
                return


class HistoryLine(Lines):
    """How busy it was, with a mark where things went wrong."""

    LEAD = 11

    class Sought(Message):
        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def draw(self, width: int, height: int) -> Iterable[Line]:
        session, look = self.screens.session, self.look
        cells = max(1, width - self.LEAD - 1)
        top = float(session.frame.head.capacity) if session.frame else 0.0
        series = "busy" if top else "events"         # a search has no slots: how fast it is
        marks = list(look.spark(session.series(series), cells, top))
        styles, before = ["spark"] * cells, 0.0
        for place, status in enumerate(resampled(session.series("status"), cells)):
            if not isnan(status):
                if status > before:
                    name = "alarm" if status > 1 else "warn"
                    marks[place], styles[place] = look.status[name], name  # type: ignore[index]
                before = status
        here = session.here()
        if here is not None:
            place = min(cells - 1, round(here * (cells - 1)))
            marks[place], styles[place] = look.here, "strong"
        yield [(f" {'timeline' if session.replay else f'{series} 60s':<{self.LEAD - 1}}", "dim"), *zip(marks, styles, strict=True)]
        if height > 1:
            first, last = session.ends()
            middle = f"of {top:,.0f} slots" if top else ""
            yield [(" " * self.LEAD + first + middle.center(max(0, cells - len(first) - len(last))) + last, "dim")]

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and at.x >= self.LEAD:
            self.post_message(self.Sought((at.x - self.LEAD) / max(1, self.size.width - self.LEAD - 2)))


class Keys(Lines):
    """The last line. Says what was typed while a filter or a time is typed."""

    def draw(self, width: int, height: int) -> Iterable[Line]:
        line: Line = []
        last = (" ^p palette", "dim")
        for key, words in self.screens.key_words():
            piece: Line = [(f" {key} ", "strong"), (words, "dim")]
            if width_of(line) + width_of(piece) > width - len(last[0]) - 1:
                break
            line += piece
        yield [*line, (" " * max(0, width - width_of(line) - len(last[0])), "text"), last]
