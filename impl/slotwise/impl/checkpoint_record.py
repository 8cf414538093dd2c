"""An engine that writes down its commands and what was seen as a trace, while it runs."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from slotwise.impl._native import Batcher
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import trace
from slotwise.spec.vocabulary import Observation, State


class Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Recorded:
    """The engine's typed methods, each written to `sink` as a line of a trace, after its header. It replays equal on the specification."""

    def __init__(self, profile: v.Profile, setup: v.Setup, sink: Sink) -> None:
        self._engine = Batcher(profile, token=setup.token, hint=setup.hint)
        self._sink, self._header = sink, trace.header(profile, setup)
        sink.write(trace.encode(trace.Trace(self._header)))

    def step(self, command: v.Command) -> list[Observation]:
        saw = self._engine.step(command)          # what the engine refuses to read is not written
        self._sink.write(trace.encode(trace.Trace(self._header, [trace.Step(command, saw)])).split(trace.NEWLINE, 1)[1])
        return saw

    def submit(
        self, id: str, size: int = 0, sync: bool = True, empty: bool = False, parent: str | None = None, ends: bool = False, final: bool = False, *, at: int
    ) -> list[Observation]:
        return self.step(v.Submit(id=id, size=size, sync=sync, empty=empty, parent=parent, ends=ends, final=final, at=at))

    def refresh(self, id: str, key: int | None = None, due: int | None = None, owner: str = "", index: int = 0, *, at: int) -> list[Observation]:
        return self.step(v.Refresh(id=id, key=key, due=due, owner=owner, index=index, at=at))

    def cancel(self, id: str | None = None, owner: str = "", *, at: int) -> list[Observation]:
        return self.step(v.Cancel(id=id, owner=owner, at=at))

    def credit(self, running: int = 0, outside: int = 0, *, at: int) -> list[Observation]:
        return self.step(v.Credit(running=running, outside=outside, at=at))

    def stop(self, *, at: int) -> list[Observation]:
        return self.step(v.Stop(at=at))

    def pump(self, *, at: int) -> list[Observation]:
        return self.step(v.Pump(at=at))

    def respond(self, token: str | None = None, stamp: int | None = None, done: Iterable[str] = (), marker: str | None = None, *, at: int) -> list[Observation]:
        return self.step(v.Respond(token=token, stamp=stamp, done=_ids(done), marker=marker, at=at))

    def page(self, done: Iterable[str] = (), marker: str | None = None, *, at: int) -> list[Observation]:
        return self.step(v.Page(done=_ids(done), marker=marker, at=at))

    def fail(self, *, at: int) -> list[Observation]:
        return self.step(v.Fail(at=at))

    def state(self) -> State:
        return self._engine.state()


def _ids(done: Iterable[str]) -> tuple[str, ...]:
    """A string stays what it is, for the engine to refuse."""
    return done if isinstance(done, str) else tuple(done)    # type: ignore[return-value]
