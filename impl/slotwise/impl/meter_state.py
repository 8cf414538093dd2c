"""A meter's whole state as plain data: what a keyframe of a recording holds. A meter that is restored from it goes on exactly as the original would.

Whatever is a number, a truth or None is kept by the name of its slot, so that none is forgotten; what refers to something else is kept by the
position of that in its list.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from slotwise.impl.meter import Meter
from slotwise.impl.meter_rows import SHORT, Durations, GroupRow, Phase, ResourceRow, Shape
from slotwise.impl.snapshot import CAUSES, Histogram
from slotwise.spec.vocabulary import Group

K = TypeVar("K")
Plain = list[int | bool | None]

#: What is not plain, and has a place of its own in the structs below (or follows from them).
SPECIAL = {
    "meter": {"resources", "groups", "shapes", "_heads", "_largest", "_scale"},
    "resource": {"name", "full", "lent", "groups", "holders", "hold"},
    "group": {"name", "spec", "line", "gone", "shape", "mark", "causes", "outcomes", "overdue", "rest", "wait", "serving", "service_less"},
    "shape": {"needs", "only", "parts", "phase", "rate"},
}
NAMES = {
    "meter": sorted(vars(Meter({"any": 1})).keys() - SPECIAL["meter"]),
    "resource": sorted(set(ResourceRow.__slots__) - SPECIAL["resource"]),
    "group": sorted(set(GroupRow.__slots__) - SPECIAL["group"]),
    "shape": sorted(set(Shape.__slots__) - SPECIAL["shape"]),
}


class JobState(msgspec.Struct, frozen=True, array_like=True):
    id: str
    group: int
    shape: int
    since: int                   # when it began to wait, or to run
    lease: int = 0


class PhaseState(msgspec.Struct, frozen=True, array_like=True):
    index: int
    at: int
    clock: list[int]


class ResourceState(msgspec.Struct, frozen=True, array_like=True):
    name: str
    plain: Plain
    groups: list[int]            # that have ever needed it
    holders: list[tuple[int, int]]       # group, units
    hold: Histogram


class GroupState(msgspec.Struct, frozen=True, array_like=True):
    spec: Group
    plain: Plain
    line: list[JobState]         # that wait
    shape: int | None
    mark: PhaseState | None
    causes: list[tuple[str, str, int]]
    outcomes: dict[str, int]
    wait: Histogram
    overdue: list[tuple[str, int]]       # jobs that were told to end, and when
    serving: tuple[str, str]     # and service_less, in digits: they are multiples of all capacities' least common multiple, and may have more than 64 bits


class ShapeState(msgspec.Struct, frozen=True, array_like=True):
    needs: dict[str, int]
    plain: Plain
    phase: PhaseState


class MeterState(msgspec.Struct, frozen=True):
    names: dict[str, list[str]]          # of the plain values
    plain: Plain
    resources: list[ResourceState]
    groups: list[GroupState]
    shapes: list[ShapeState]
    heads: list[int]             # shapes
    running: list[JobState]


class StateError(Exception):
    """This is no meter's state; one line says why."""


class Stand:
    """A job, where there is none: what a keyframe knows of it. With a lease it runs."""

    __slots__ = ("_lease", "_row", "_shape", "_since", "id")

    def __init__(self, id: str, row: GroupRow, shape: Shape, since: int = 0, lease: int = 0) -> None:
        self.id, self._row, self._shape, self._since, self._lease = id, row, shape, since, lease


def frozen(meter: Meter, running: Iterable[Any] = ()) -> MeterState:
    """`running` are the jobs that the meter has seen start and not end; it keeps none itself. Nothing is changed, time included."""
    resources, groups, shapes = meter.resources.values(), meter.groups.values(), meter.shapes.values()
    at_group, at_shape = _places(groups), _places(shapes)
    return MeterState(
        NAMES,
        [getattr(meter, name) for name in NAMES["meter"]],
        [
            ResourceState(r.name, [getattr(r, name) for name in NAMES["resource"]], [at_group[row] for row in r.groups], [(at_group[row], units) for row, units in r.holders.items()], r.hold.frozen())
            for r in resources
        ],
        [
            GroupState(
                g.spec, [getattr(g, name) for name in NAMES["group"]], [JobState(id, i, at_shape[shape], since) for id, since, shape in g.waiters()],
                None if g.shape is None else at_shape[g.shape], None if g.mark is None else _phase(g.mark), [(cause, resource, spent) for (cause, resource), spent in g.causes.items()], g.outcomes.copy(), g.wait.frozen(),
                list(g.overdue.items()),
                (str(g.serving), str(g.service_less)),
            ) for i, g in enumerate(groups)
        ],
        [ShapeState(s.needs, [getattr(s, name) for name in NAMES["shape"]], _phase(s.phase)) for s in shapes],
        [at_shape[shape] for shape in meter._heads],
        [JobState(job.id, at_group[job._row], at_shape[job._shape], job._since, job._lease) for job in running],
    )  # fmt: skip


def restored(state: MeterState) -> tuple[Meter, dict[str, Stand]]:
    """The meter, and what stands for the jobs that wait or run, by id. Raises StateError."""
    if state.names != NAMES:
        raise StateError("its keyframes are of another version")
    try:
        return _restored(state)
    except (IndexError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise StateError(f"a keyframe contradicts itself: {type(error).__name__}: {error}") from None


def _restored(state: MeterState) -> tuple[Meter, dict[str, Stand]]:
    capacity = {r.name: _value(r.plain, "resource", "capacity") for r in state.resources}
    if len(capacity) != len(state.resources) or min(capacity.values(), default=0) < 1:
        raise StateError("a keyframe names no resource, or one twice, or of no units")
    meter = Meter(capacity)
    resources = list(meter.resources.values())
    groups = [meter.group(g.spec) for g in state.groups]
    shapes = [meter.shape(s.needs) for s in state.shapes]
    if len(meter.groups) != len(groups) or len(meter.shapes) != len(shapes):
        raise StateError("a keyframe has a group twice, or the same needs")
    jobs: dict[str, Stand] = {}
    for resource, r in zip(resources, state.resources, strict=True):
        _set(resource, "resource", r.plain)
        resource.groups = {groups[_place(i)]: None for i in r.groups}
        resource.holders = {groups[_place(i)]: units for i, units in r.holders}
        resource.hold = durations(r.hold)
    for shape, s in zip(shapes, state.shapes, strict=True):
        _set(shape, "shape", s.plain)
        shape.phase = _restored_phase(s.phase, shape)
    for row, g in zip(groups, state.groups, strict=True):
        _set(row, "group", g.plain)
        row.line = deque((job.id, job.since, _stand(job, jobs, groups, shapes)._shape) for job in g.line)
        row.shape = None if g.shape is None else shapes[_place(g.shape)]
        row.causes.update({(cause, resource): spent for cause, resource, spent in g.causes})
        if g.outcomes.keys() != row.outcomes.keys() or not all(cause in CAUSES and (not name or name in capacity) for cause, name, _ in g.causes):
            raise StateError("a keyframe counts outcomes, or causes, that there are not")
        row.outcomes = dict(g.outcomes)
        row.wait = durations(g.wait)
        row.serving, row.service_less = (int(digits) for digits in g.serving)
        if len(row.line) != row.waiting or (row.shape is None) is bool(row.waiting) or (row.shape is None) is not (g.mark is None):
            raise StateError(f"a keyframe contradicts itself in the line of {row.name!r}")
        if row.shape is not None and g.mark is not None:
            row.mark = row.shape.phase if _phase(row.shape.phase) == g.mark else _restored_phase(g.mark, row.shape)
    _set(meter, "meter", state.plain)
    meter._heads = {shapes[_place(i)]: None for i in state.heads}
    for job in state.running:
        if job.lease < 1:
            raise StateError(f"a keyframe's job {job.id!r} runs without a lease")
        _stand(job, jobs, groups, shapes)
    for row, g in zip(groups, state.groups, strict=True):
        row.overdue = {jobs[job].id: at for job, at in g.overdue}
    if len(jobs) != sum(row.waiting for row in groups) + len(state.running):
        raise StateError("a keyframe has a job twice")
    return meter, jobs


def durations(histogram: Histogram) -> Durations:
    found = Durations()
    found.counts.update(histogram.counts)
    found.total = histogram.total
    return found


def _phase(phase: Phase) -> PhaseState:
    return PhaseState(phase.index, phase.at, phase.clock)


def _restored_phase(state: PhaseState, shape: Shape) -> Phase:
    if len(state.clock) != SHORT + len(shape.parts) or not 0 <= state.index < len(state.clock):
        raise StateError("a keyframe's clocks do not fit its needs")
    return Phase(state.index, state.at, state.clock.copy())


def _stand(job: JobState, jobs: dict[str, Stand], groups: list[GroupRow], shapes: list[Shape]) -> Stand:
    found = jobs[job.id] = Stand(job.id, groups[_place(job.group)], shapes[_place(job.shape)], job.since, job.lease)
    return found


def _places(rows: Iterable[K]) -> dict[K, int]:
    return {row: i for i, row in enumerate(rows)}


def _place(i: int) -> int:
    if i < 0:
        raise IndexError(i)
    return i


def _value(plain: Plain, of: str, name: str) -> int:
    found = plain[NAMES[of].index(name)]
    if found is None:
        raise TypeError(f"{name} is None")
    return int(found)


def _set(row: Any, of: str, plain: Plain) -> None:
    """Only None or a truth may be where one may be."""
    for name, value in zip(NAMES[of], plain, strict=True):
        if type(value) is not type(getattr(row, name)) and not (name in MAY_BE_NONE and (value is None or type(value) is int)):
            raise TypeError(f"{name} is {value!r}")
        setattr(row, name, value)


MAY_BE_NONE = {"limit"}
