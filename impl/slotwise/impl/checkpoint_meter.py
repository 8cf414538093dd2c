"""What a checkpoint batcher does, counted where its engine is called, so under its lock: the row of a snapshot."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotwise.impl import snapshot as s
from slotwise.impl.checkpoint import CheckpointBatcher
from slotwise.impl.checkpoint_counts import Counts

LATEST = 100                             # batches and waves that are kept


class Watch:
    """Attach it: `scheduler.attach(Watch(batcher))`. From then on everything that the batcher does is counted.

    The engine does not say why it seals; the reason is read from what came before (`slotwise.impl.checkpoint_counts`). Instants are of the batcher's clock, plus `offset` to make them the program's.
    """

    def __init__(self, batcher: CheckpointBatcher, name: str = "checkpoint", offset: int | None = None) -> None:
        self.name, self._batcher = name, batcher
        with batcher._lock:
            self._engine: Any = batcher._engine
            batcher._engine = self       # type: ignore[assignment]
        self._offset = batcher._begun if offset is None else offset
        self.counts = Counts(batcher.profile.discipline, LATEST)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def rows(self) -> Sequence[s.Batcher]:
        with self._batcher._lock:
            return (self.counts.row(self.name, self._offset),)

    # the engine's methods ------------------------------------------------------------------------------------------------
    def submit(self, id: str, size: int = 0, sync: bool = True, empty: bool = False, *rest: Any, at: int, **more: Any) -> Any:
        saw = self._engine.submit(id, size, sync, empty, *rest, at=at, **more)
        self.counts.submitted(size, empty, saw, at)
        return saw

    def refresh(self, id: str, key: int | None = None, due: int | None = None, *rest: Any, at: int, **more: Any) -> Any:
        saw = self._engine.refresh(id, key, due, *rest, at=at, **more)
        self.counts.refreshed(id, key, due, saw, at)
        return saw

    def cancel(self, *arguments: Any, at: int) -> Any:
        saw = self._engine.cancel(*arguments, at=at)
        self.counts.seen(saw, at)
        return saw

    def stop(self, *, at: int) -> Any:
        self.counts.stopped()
        return self._engine.stop(at=at)

    def pump(self, *, at: int) -> Any:
        saw = self._engine.pump(at=at)
        self.counts.pumped(saw, at)
        return saw

    def respond(self, *arguments: Any, at: int) -> Any:
        saw = self._engine.respond(*arguments, at=at)
        self.counts.answered(saw, at, "ok")
        return saw

    def page(self, *arguments: Any, at: int) -> Any:
        saw = self._engine.page(*arguments, at=at)
        self.counts.answered(saw, at, "ok")
        return saw

    def fail(self, *, at: int) -> Any:
        saw = self._engine.fail(at=at)
        self.counts.answered(saw, at, "failed")
        return saw
