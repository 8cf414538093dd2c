"""A tape's events, played into a meter: what a recording says of any instant."""
from __future__ import annotations

import msgspec

from slotwise.impl.jobs import ENDS
from slotwise.impl.meter import Meter
from slotwise.impl.meter_rows import Shape
from slotwise.impl.meter_state import MeterState, Stand, frozen, restored
from slotwise.spec.vocabulary import Group

_needs = msgspec.msgpack.Decoder(dict[str, int]).decode
_group = msgspec.msgpack.Decoder(Group).decode


class FoldError(Exception):
    """An event does not fit what was before it; one line says how."""


class Fold:
    """Goes on from a keyframe. All instants are ns since the scheduler began, and never fall."""

    def __init__(self, state: MeterState) -> None:
        self.meter, self.jobs = restored(state)
        self._shapes: dict[bytes, Shape] = {}

    def frozen(self) -> MeterState:
        return frozen(self.meter, (job for job in self.jobs.values() if job._lease))

    def play(self, at: int, kind: str, job: str, group: str, lease: int, data: bytes | None) -> None:
        """Raises FoldError."""
        meter = self.meter
        if at < meter.at:
            raise FoldError(f"its time falls by {meter.at - at} ns")
        try:
            if kind == "waits" or kind == "again":
                self._waits(at, kind, job, group, data or b"")
            elif kind == "starts":
                found = self._alive(job, "waiting")
                self._to(at).starts(found._row, job)
                found._since, found._lease = at, lease
            elif kind == "released":
                found = self._alive(job, "running")
                self._to(at).ends(found._row, found._shape, job, found._since)
                del self.jobs[job]
            elif kind == "due" or kind == "pumped":
                self._to(at).due = kind == "due"
            elif kind in ENDS:
                meter.groups[group].outcomes[kind] += 1
            elif kind == "discarded":
                found = self._alive(job, "waiting")
                self._to(at).leaves(found._row, found._shape, job)
                del self.jobs[job]
            elif kind == "told":
                found = self._alive(job, "running")
                self._to(at).told(found._row, job)
            elif kind == "backs_off":
                row = meter.groups[group]
                row.retried += 1
                self._to(at).backs_off(row, 1)
            elif kind == "goes_on":
                row = meter.groups[group]
                self._to(at).backs_off(row, -1)
            elif kind == "group":
                meter.group(_group(data or b""))
            elif kind == "specified":
                spec = _group(data or b"")
                meter.respecify(meter.groups[spec.name], spec, at)
            else:
                raise FoldError("there is no such event")
        except msgspec.MsgspecError as error:
            raise FoldError(f"its data cannot be read: {error}") from None
        except KeyError as error:
            raise FoldError(f"there is no {error}") from None
        except (IndexError, AttributeError, TypeError) as error:
            raise FoldError(f"{type(error).__name__}: {error}") from None

    def _waits(self, at: int, kind: str, job: str, group: str, data: bytes) -> None:
        shape = self._shapes.get(data)
        if shape is None:
            shape = self._shapes[data] = self.meter.shape(_needs(data))
        row = self.meter.groups[group]
        if job in self.jobs:
            raise FoldError("it is there already")
        self.jobs[job] = Stand(job, row, shape)
        self._to(at).waits(row, shape, job)
        if kind == "waits":
            row.submitted += 1

    def _to(self, at: int) -> Meter:
        if at != self.meter.at:
            self.meter.advance(at)
        return self.meter

    def _alive(self, job: str, state: str) -> Stand:
        found = self.jobs[job]
        if (is_ := "running" if found._lease else "waiting") != state:
            raise FoldError(f"the job is {is_}, not {state}")
        return found
