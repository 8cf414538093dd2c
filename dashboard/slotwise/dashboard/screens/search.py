"""Of a program that is a search and nothing else: its answer in place of the four verdicts."""
from __future__ import annotations

from collections.abc import Iterable

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
            yield [*line, (self.look.fit(f"{verdict.text}  {verdict.more}".rstrip(), left), style)]
