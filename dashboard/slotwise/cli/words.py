"""Commands and observations in the search's words, for whoever shows a trace; loaded when the first is told."""
from __future__ import annotations

from typing import Any

from slotwise.dashboard.observe.shrunk import Words


def said(command: Any) -> str:
    from slotwise.fuzz import explain

    return explain.said(command)


def seen(observation: Any) -> str:
    from slotwise.fuzz import explain

    return explain.seen(observation)


WORDS = Words(said, seen)
