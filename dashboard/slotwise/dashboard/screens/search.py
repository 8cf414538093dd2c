"""Of a program that is a search and nothing else: its answer in place of the four verdicts."""
from __future__ import annotations

from collections.abc import Iterable

from rich.cells import cell_len

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.report import WORDS
from slotwise.dashboard.screens.lines import Lines
from slotwise.dashboard.screens.look import Line

SHOWN = ("fuzz", "divergence", "invariants")
CALLED = {"fuzz": "fuzz", "divergence": "divergences", "invariants": "floors"}


def only_search(frame: Frame | None) -> bool:
    """Campaigns, and nothing that schedules."""
    return frame is not None and "campaigns" in frame.names and not any(frame.count(name) for name in ("resources", "groups", "batchers", "workers"))


class SearchLines(Lines):
    def draw(self, width: int, height: int) -> Iterable[Line]:
        frame = self.screens.frame
        verdicts = {verdict.name: verdict for verdict in frame.verdicts} if frame else {}
        for name in SHOWN:
            if (verdict := verdicts.get(name)) is None:
                continue
            style = verdict.status if verdict.status in ("warn", "alarm") else "text"
            line: Line = [(f" {self.look.status[verdict.status]} ", verdict.status)]
            if width >= 60:
                line.append((f"{WORDS[verdict.status]:<6}{CALLED[name]:<13}", verdict.status if verdict.status != "ok" else "dim"))
            left = width - sum(len(words) for words, _ in line)
            words = f"{verdict.text}  {verdict.more}".rstrip()
            if name == "fuzz":
                words = self.look.whole(grave_first(verdict.text), left)
                if cell_len(words) + 2 + cell_len(verdict.more) <= left:
                    words += f"  {verdict.more}"
            yield [*line, (self.look.fit(words, left), style)]


def grave_first(text: str) -> list[str]:
    """The parts of what a search says: what it has found before how it goes on, what it has not found last."""
    parts = text.split(", ")
    found, pace = [part for part in parts[2:] if not part.startswith("0 ")], parts[:2]
    order = [*found, *pace, *(part for part in parts[2:] if part not in found)]
    return [*(f"{part}," for part in order[:-1]), order[-1]]
