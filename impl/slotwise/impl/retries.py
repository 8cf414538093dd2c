"""When a job that failed is tried again."""
from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from random import Random

LONGEST = 1e9                            # seconds, of any pause


@dataclass(frozen=True, slots=True)
class Retry:
    """Only what is named in `on` is tried again. The n-th pause is `first` × `factor`ⁿ⁻¹ seconds, at most `most`; of that, the part
    `jitter` is drawn between nothing and all of it. Raises ValueError for numbers that make no sense."""

    on: tuple[type[Exception], ...]
    tries: int = 3                       # in all, the first included
    first: float = 0.1
    factor: float = 2.0
    most: float = 30.0
    jitter: float = 0.5

    def __post_init__(self) -> None:
        if not self.on or not isinstance(self.on, tuple) or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in self.on):
            raise ValueError(f"on must name exceptions in a tuple, as (ConnectionError,), found {self.on!r}")
        if not isinstance(self.tries, int) or not all(isinstance(number, int | float) for number in (self.first, self.factor, self.most, self.jitter)):
            raise ValueError(f"expected tries to be an integer, first, factor, most and jitter to be numbers, found {self}")
        if not (self.tries >= 1 and self.first >= 0 and self.factor >= 1 and self.most >= 0 and 0 <= self.jitter <= 1 and isfinite(self.first) and isfinite(self.factor)):
            raise ValueError(f"expected tries >= 1, first >= 0 and finite, factor >= 1 and finite, most >= 0 and jitter in 0..1, found {self}")

    def pause(self, failures: int, random: Random) -> int:
        """Nanoseconds before the next try, after so many failures."""
        try:
            whole = min(self.most, LONGEST, self.first * self.factor ** (failures - 1))
        except OverflowError:
            whole = min(self.most, LONGEST)
        return round(whole * (1 - self.jitter * random.random()) * 1e9)

    def wants(self, error: Exception, tries: int) -> bool:
        return tries < self.tries and isinstance(error, self.on)
