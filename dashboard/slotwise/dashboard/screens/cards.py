"""The four verdicts, as cards or as lines."""
from __future__ import annotations

from collections.abc import Iterable

from textual import events
from textual.message import Message

from slotwise.dashboard.observe.report import WORDS
from slotwise.dashboard.observe.verdicts import Verdict
from slotwise.dashboard.observe.words import Value, escape, seconds
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line, Look, width_of
from slotwise.dashboard.screens.times import SECOND

#: By the verdict's name: the card's title, a short name, the series of its sparkline.
TITLES = {
    "idle-while-waiting": ("Idle while waiting", "idle slots", "lost"), "starving": ("Starving", "starving", "oldest"),
    "checkpoint-wait": ("Checkpoint batcher", "checkpoint", "needless"), "spin-burn": ("Spin burn", "spin burn", "spin"),
}  # fmt: skip
FOUR = tuple(TITLES)


def number(value: Value, digits: int = 0) -> str:
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "-"


def duration(value: Value) -> str:
    return seconds(value) if isinstance(value, int | float) else "-"


def brief(verdict: Verdict, look: Look, room: int) -> list[str]:
    """Up to three lines, the most important first, which has `room` cells, and the others two more. No number is cut: a part is there whole or not at all."""
    n = verdict.numbers
    if verdict.status == "unknown" or not n:
        return [verdict.text]
    match verdict.name:
        case "idle-while-waiting":
            return [f"{n['idle_slots']} idle  {n['eligible_waiters']} eligible", f"lost {number(n['lost_slots'], 2)} slots  {number(n['lost_percent'], 1)}%", look.whole([f"longest {duration(n['longest_s'])}", *verdict.more.split()] if n["longest_s"] else [], room + 2)]
        case "starving":
            if "group" not in n:
                return [verdict.text, f"SLO {duration(n['slo_s'])}"]
            oldest, over, behind = duration(n["oldest_s"]), f"{n['over_slo_groups']} over SLO {duration(n['slo_s'])}", [f"{n['behind_groups']} behind"] if n["behind_groups"] else []
            who = look.fit(escape(str(n["group"])), max(4, room - len(oldest) - 1)).rstrip()
            got = [] if n["got_percent"] is None else [f"got {number(n['got_percent'], 1)}% of {number(n['due_percent'], 1)}% due"]
            return [f"{who} {oldest}", *got, look.whole([*((over, *behind) if n["over_slo_groups"] else (*behind, over)), f"Jain {number(n['jain'], 2)}"], room + 2, 2)]
        case "checkpoint-wait":
            seals = verdict.text.partition("sealed ")[2].partition(", commit")[0].replace("% ", "%\n").splitlines()
            return [f"needless {duration(n['needless_s'])}  {number(n['needless_percent'])}%", f"fill {number(n['fill_percent'])}%  commit p99 {duration(n['commit_p99_s'])}", look.whole(seals, room + 2)]
        case "spin-burn":
            return [f"{number(n['spin_cores'], 2)} cores  hit {number(n['hit_percent'])}%", f"{number(n['spin_percent'])}% of worker time", look.whole([f"save {number(n['save_cores'], 2)} cores", *verdict.more.split()], room + 2)]
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
        lines = brief(verdict, self.look, width - 2)
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
        room = left - spark - 1
        lines = brief(verdict, look, room)
        words = lines[0]
        words = look.whole([words, *(part for more in lines[1:] if more for part in more.split("  "))], room, 2)
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
