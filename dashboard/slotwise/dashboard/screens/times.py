"""Times as they are told and typed."""
from __future__ import annotations

SECOND = 10**9


def clock_of(ns: int, whole: int | None = None) -> str:
    """00:12:47.20, 12.345s, 12.3us or 90ns: as it suits `whole`, beside which it stands; by itself as it suits itself."""
    longest = ns if whole is None else whole
    if 0 < longest < SECOND // 100:                  # a trace whose clock only counts
        return f"{ns}ns" if longest < SECOND // 100_000 else f"{ns / 1000:,.1f}us"
    if longest < 60 * SECOND:
        return f"{ns / SECOND:.3f}s"
    seconds = ns / SECOND
    return f"{int(seconds // 3600):02}:{int(seconds // 60) % 60:02}:{seconds % 60:05.2f}"


def parse_time(typed: str) -> int:
    """ns, from 12.5, 1:30, 00:12:47.2, 90s or 250ms. Raises ValueError."""
    typed = typed.strip()
    for unit, scale in (("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("s", 1e9)):
        if typed.endswith(unit):
            return round(float(typed.removesuffix(unit)) * scale)
    parts = [float(part) for part in typed.split(":")]
    if not parts or len(parts) > 3 or any(part < 0 for part in parts):
        raise ValueError(typed)
    return round(SECOND * sum(part * 60.0**power for power, part in enumerate(reversed(parts))))


def exact_clock(ns: int) -> str:
    """All of it: 00:12:47.203117584, or 12.345000007s if it is short."""
    whole, rest = divmod(ns, SECOND)
    return f"{whole}.{rest:09}s" if whole < 60 else f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{rest:09}"
