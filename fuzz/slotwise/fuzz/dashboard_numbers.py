"""What the dashboard's benchmark makes of what it has measured."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(slots=True)
class Quads:
    """What blocks gave, four at a time: the first and the last are of one kind, the two between of another, or of the same."""

    quads: list[tuple[float, float, float, float]] = field(default_factory=list)

    def more(self) -> list[float]:
        """Per cent by which it is more in the two between, of each quad."""
        return [100 * ((b + c) / (a + d) - 1) for a, b, c, d in self.quads]

    @property
    def median(self) -> float:
        return median(self.more())

    @property
    def words(self) -> str:
        """The median, and where it may lie, by the order of the sample."""
        low, high = spread(self.more())
        return f"{self.median:+.1f} (95 of 100: {low:+.1f} to {high:+.1f})"


def spread(sample: Sequence[float]) -> tuple[float, float]:
    """Of the median, whatever the distribution."""
    ordered, middle, reach = sorted(sample), len(sample) / 2, 0.98 * len(sample) ** 0.5
    return ordered[max(0, int(middle - reach))], ordered[min(len(ordered) - 1, int(middle + reach))]


def percentile(values: Sequence[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def growth(samples: Sequence[int]) -> float:
    """MB from the first tenth to the last, by their medians: what is taken once, and not again, does not count as growing."""
    tenth = max(1, len(samples) // 10)
    return (median(samples[-tenth:]) - median(samples[:tenth])) / 2**20


def lost(exported: dict[str, Any], events: int, started: int) -> int:
    """Events that the viewer's last frame, over the whole run, lacks: of the total, and of the starts by group."""
    groups = exported["panes"]["groups"]
    place = next(i for i, column in enumerate(groups["columns"]) if column["id"] == "n")
    told: int = sum(row["cells"][place]["value"] for row in groups["rows"])
    seen: int = exported["head"]["events"]
    return abs(events - seen) + abs(started - told)
