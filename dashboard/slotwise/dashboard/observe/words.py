"""Numbers with their units, and names made harmless, as text."""
from __future__ import annotations

import re
import unicodedata

SAFE = "sentence"                        # the unit of words that were escaped where they were put together
LONGEST = 120                            # characters of a name that are shown
Value = int | float | str | None
LINE = 2000                              # characters of a line
_INVISIBLE = re.compile(r"[^ -~]")       # what is no plain ASCII: some of it
_SUSPECT = re.compile(r"[^ -\[\]-~]")     # the backslash, and what is no plain ASCII


def escape(name: str) -> str:
    """A name as it may be shown: control and invisible characters by their number, the backslash after a backslash. It is no markup, and
    must not be shown as such: the screens paint segments, `Content` or what is given with markup=False."""
    if len(name) > LONGEST:
        name = name[: LONGEST - 1] + "…"
    return _SUSPECT.sub(_escaped, name)


def harmless(words: str, most: int = LINE) -> str:
    """Words for a line as they are, but for control and invisible characters, and not longer than anybody reads. They are no markup either."""
    return _INVISIBLE.sub(_escaped, words if len(words) <= most else f"{words[: most - 1]}…")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if character == "\\":
        return "\\\\"
    if unicodedata.category(character)[0] not in "CZ":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def seconds(value: float) -> str:
    """310ms, 18.4s, 84us; from 1,000 s on 16m40s, 2h05m, 3d04h"""
    if abs(value) >= 1000:
        whole = round(abs(value))
        large, small, first, second = (whole // 60, whole % 60, "m", "s") if whole < 3600 else (whole // 3600, whole // 60 % 60, "h", "m") if whole < 48 * 3600 else (whole // 86400, whole // 3600 % 24, "d", "h")
        return f"{'-' if value < 0 else ''}{large:,}{first}{small:02}{second}"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= scale:
            return f"{value / scale:.3g}{unit}" if abs(value) < 999.5 * scale else f"{value / scale:,.0f}{unit}"
    return f"{value * 1e9:.0f}ns" if value else "0s"


def rate(value: float) -> str:
    """98.4k"""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{value / scale:.1f}{unit}"
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def amount(value: float) -> str:
    """1.8, 12, 1,240: two digits, never a power of ten; what is there but little is <0.01."""
    if value == 0:
        return "0"
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) >= 0.01 else "<0.01"


def text(value: Value, unit: str) -> str:
    """A cell without its unit's name, unless that is part of the number (s, %). What is not known is a dash."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value if unit == SAFE else escape(value)
    if unit == "s":
        return seconds(value)
    if unit == "%":
        return f"{value:.1f}%" if value <= 0 or value >= 0.05 else "<0.1%"
    if unit == "points":
        return f"{value:+.1f}"
    if unit == "1/s":
        return rate(value)
    if isinstance(value, int):
        return f"{value:,}" if unit else str(value)
    return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"


def showing(shown: int, total: int) -> str:
    """What a list that was cut off says; empty for a whole one."""
    return f"showing {shown:,} of {total:,}" if shown < total else ""
