"""The walker's chooser: a seeded PRNG whose odds are tilted for a whole episode, by label and option.

An episode's seed is one integer of two halves: which tilt, and which numbers. So an episode can be played alone, and a tilt that
reached a rare rule can be tried again with other numbers.
"""
from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from random import Random
from typing import Any, TypeVar
from zlib import crc32

T = TypeVar("T")

#: Half of all options keep their odds.
FACTORS = (0.0, 0.0, 0.25, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 6.0, 12.0)
HALF = 1 << 28               # tilts are below 1 << 24, so that a seed is exact in any JSON reader
TILTS = 1 << 24
_MASK = (1 << 64) - 1
Table = tuple[Sequence[Any] | None, list[float], float]         # the options of a label, and their odds added up
NONE: Table = (None, [], 0.0)
_stirred: dict[tuple[str, Sequence[Any]], tuple[list[int], list[int]]] = {}


def seed_of(tilt: int, numbers: int) -> int:
    return tilt * HALF + numbers


def factors(tilt: int, label: str, options: Sequence[Any]) -> list[float]:
    """By how much a tilt changes the odds of each option."""
    key = (label, options)
    known = _stirred.get(key)
    if known is None:
        stirred = [crc32(f"{label}/{option}".encode()) for option in options]
        different = list(dict.fromkeys(stirred))             # most options stand there several times
        known = _stirred[key] = different, [different.index(one) for one in stirred]
    different, places = known
    high = tilt << 17
    found = [FACTORS[(((one ^ tilt) * 0x9E3779B97F4A7C15 ^ high) * 0xD6E8FEB86659FD93 & _MASK) >> 60] for one in different]
    return [found[place] for place in places]


@lru_cache(4096)
def odds_of(tilt: int, label: str, options: Sequence[Any]) -> tuple[list[float], float]:
    """Added up, option by option, and in all. A tilt that has been good is tried again and again."""
    weights = factors(tilt, label, options) if tilt else []
    odds = list(accumulate(weights if any(weights) else [1.0] * len(options)))
    return odds, odds[-1]


class Swarm:
    """Two with one seed choose alike. A tilt of 0 tilts nothing."""

    __slots__ = ("_random", "_tables", "_tilt")

    def __init__(self, seed: int) -> None:
        self._tilt, numbers = divmod(seed, HALF)
        self._random = Random(numbers).random
        self._tables: dict[str, Table] = {}

    def one_of(self, options: Sequence[T], label: str) -> T:
        if not label:
            return options[int(self._random() * len(options))]
        known, odds, last = self._tables.get(label, NONE)
        if known is not options:
            odds, last = odds_of(self._tilt, label, options)
            self._tables[label] = options, odds, last
        return options[bisect(odds, self._random() * last)]

    def integer(self, lo: int, hi: int) -> int:
        return lo + int(self._random() * (hi - lo + 1))
