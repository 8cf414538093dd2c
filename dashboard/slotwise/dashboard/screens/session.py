"""What a source told, and the frame that is looked at now: the latest of a running scheduler, any of a recording."""
from __future__ import annotations

import time
from collections.abc import Callable

from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.observe.sources.source import Source
from slotwise.dashboard.screens.session_base import Session
from slotwise.dashboard.screens.session_live import Live
from slotwise.dashboard.screens.session_looks import MOST
from slotwise.dashboard.screens.session_replay import Playback
from slotwise.dashboard.screens.times import SECOND, clock_of, parse_time

__all__ = ["MOST", "SECOND", "Live", "Playback", "Session", "clock_of", "open_session", "parse_time"]


def open_session(source: Source, limits: Limits | None = None, clock: Callable[[], int] = time.monotonic_ns) -> Session:
    return (Live if source.live or source.coarse else Playback)(source, limits, clock)
