"""A session that has been through snapshots already, and whose clock stands still: for pictures and tests."""
from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from slotwise.dashboard.observe.limits import Limits
from slotwise.dashboard.screens.session import Live
from slotwise.impl.snapshot import Snapshot


class Given:
    """Gives no more, and never ends."""

    live, coarse, name = True, False, "unix:tap.sock"

    async def snapshots(self) -> AsyncIterator[Snapshot]:
        from asyncio import Event

        await Event().wait()
        yield                                    # type: ignore[misc]  # never reached; it makes this a generator


def sampled(snapshots: Iterable[Snapshot], limits: Limits | None = None, lag: int = 38_000_000) -> Live:
    session = Live(Given(), limits)
    for one in snapshots:
        session.clock = lambda one=one: one.now + lag            # type: ignore[misc]
        session.take(one)
        session.look()
    return session
