"""Checkpoints from async code: a checkpoint batcher, whose threads wait for whoever awaits.

    async with Checkpoints(client) as checkpoints, Scheduler({"llm": 8}) as scheduler:
        scheduler.attach(checkpoints)

A job then does `await checkpoints.submit(id, body)`, which returns when the update is durable. Whoever is cancelled while it is in flight leaves
when it is durable, or has failed: an update cannot be taken back.
"""
from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import anyio
import anyio.to_thread

from slotwise.impl import snapshot as s
from slotwise.impl.checkpoint import UNCOUNTED, CheckpointBatcher, CheckpointError, Client
from slotwise.impl.checkpoint_meter import Watch
from slotwise.spec import batching_vocabulary as v


class Checkpoints:
    """`most` threads wait at once; the rest wait for a thread. The default profile does not count who is running; what is sent together is
    what came while a request was in flight. Other options are CheckpointBatcher's."""

    def __init__(self, client: Client, profile: v.Profile | str = UNCOUNTED, *, most: int = 250, **options: Any) -> None:
        self._client, self._profile, self._most, self._options = client, profile, most, options

    async def __aenter__(self) -> Checkpoints:
        self._limiter = anyio.CapacityLimiter(self._most)
        self._batcher = CheckpointBatcher(self._client, self._profile, **self._options)
        self._watch = Watch(self._batcher)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._batcher.__exit__, kind, error, where)

    async def submit(self, id: str, body: bytes, **more: Any) -> None:
        """Returns when it is durable. Raises a CheckpointError if it will not be."""
        await anyio.to_thread.run_sync(lambda: self._batcher.submit(id, body, **more), limiter=self._limiter)

    def submit_soon(self, id: str, body: bytes, **more: Any) -> None:
        """Returns at once; if it is lost, the block's end raises."""
        self._batcher.submit(id, body, sync=False, **more)

    async def refresh(self, id: str, *, key: int | None = None, due: int | None = None) -> None:
        """Returns when the state of one operation has come, asked for once it is due (see CheckpointBatcher). Raises a CheckpointError if it will not.
        Whoever is cancelled asks no more."""
        gate, errors = threading.Event(), list[CheckpointError | None]()

        def told(ids: list[str], error: CheckpointError | None) -> None:
            errors.append(error)
            gate.set()

        self._batcher.refresh(id, key=key, due=due, told=told)
        try:
            await anyio.to_thread.run_sync(gate.wait, limiter=self._limiter, abandon_on_cancel=True)
        except BaseException:
            self._batcher.cancel(id)         # which tells, and so lets the thread go
            raise
        if errors[0] is not None:
            raise errors[0]

    def rows(self) -> Sequence[s.Batcher]:
        return self._watch.rows()
