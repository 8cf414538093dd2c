"""A pool of real threads that spins, yields and parks by a policy of the specification: fan-outs of native kernels, or of a Python callable."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import msgspec

from slotwise.impl import snapshot as s
from slotwise.impl._native import Kernel, Pool, axpy, calibrate, spin_ns, sum_of_squares
from slotwise.impl.arguments import wrong
from slotwise.spec.spin_vocabulary import PROFILES, Average, BreakEven, Fixed, Guarded, Profile, Ratchet, Setup

__all__ = ["Costs", "Kernel", "Policy", "SpinPool", "axpy", "calibrated", "spin_ns", "sum_of_squares"]

Policy: TypeAlias = str | Profile | Ratchet | Fixed | BreakEven | Average | Guarded
Policies = (str, Profile, Ratchet, Fixed, BreakEven, Average, Guarded)
Item = TypeVar("Item")
Result = TypeVar("Result")
_USUAL = Setup()


class Costs(NamedTuple):
    """What waiting costs on a machine, in nanoseconds. The defaults are those of the specification's `Setup`: a large server, many workers."""

    park: int = _USUAL.park      # processor time of a park and its wake
    wake: int = _USUAL.wake      # from a publication to a parked worker's look
    catch: int = _USUAL.catch    # from a publication to a spinning worker's look


def calibrated(workers: int) -> Costs:
    """The costs of this machine with so many workers: medians of 200 publications between real threads. Takes some tens of milliseconds."""
    return Costs(*calibrate(workers))


class SpinPool:
    """A pool of `width` threads, the caller's included.

    `policy`: a profile of the specification or its name, or a policy alone, with the other numbers of the profile `slotwise`.
    `costs`: of waiting, from which some policies choose their windows; "calibrate": measured at the start; None: the usual ones.
    `name` is put before its workers' names in snapshots: `scheduler.attach(pool)`.
    ValueError if something is out of its bounds, or if the workers are not ready within the profile's time; a thread that cannot be had
    makes the pool smaller. A context manager: at its end the workers are ended and waited for.
    After a fork, the pool belongs to the process that made it: in the other, `map` raises RuntimeError.
    """

    def __init__(self, width: int, policy: Policy = "slotwise", *, costs: Costs | Literal["calibrate"] | None = None, name: str = "") -> None:
        if isinstance(costs, str) and costs != "calibrate":
            raise ValueError(f'costs must be Costs, "calibrate" or None, found {costs!r}')
        if not isinstance(policy, Policies):
            raise wrong("policy", "a Profile of spinning, its name, or one of Ratchet, Fixed, BreakEven, Average and Guarded, as BreakEven()", policy)
        if not hasattr(width, "__index__"):
            raise wrong("width", "a number of threads, 1 to 64", width)
        if not isinstance(name, str):
            raise wrong("name", "a string", name)
        if costs is not None and not isinstance(costs, str) and (not isinstance(costs, tuple) or len(costs) != 3):
            raise wrong("costs", 'Costs(park, wake, catch), "calibrate" or None', costs)
        if isinstance(policy, str | Profile):
            profile: Profile | str = policy
        else:
            profile = msgspec.structs.replace(PROFILES["slotwise"], name=type(policy).__name__.lower(), discipline=policy)
        self.costs = Costs() if costs is None else calibrated(min(max(width - 1, 1), 63)) if costs == "calibrate" else Costs(*costs)
        self.name, self.native = name, Pool(profile, width, *self.costs)

    @overload
    def map(self, kernel: Kernel, items: int) -> float | None: ...
    @overload
    def map(self, kernel: Callable[[int], Result], items: int) -> list[Result]: ...
    @overload
    def map(self, kernel: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]: ...
    def map(self, kernel: Kernel | Callable[[Any], Any], items: int | Iterable[Any]) -> float | list[Any] | None:
        """Run a fan-out, and return when all its tasks are done.

        A native kernel runs in `items` tasks, without Python's lock; the answer is its sum, if it has one. A Python callable is called with
        each item (or each number below `items`), in any order; the answer is the results in the items' order. **Its calls take turns**: each
        holds Python's lock, so that they gain from the pool only while they let go of it, in I/O or in native code.
        If a call raises, calls that have not begun don't begin, and the first exception is raised here when the others have ended; so is
        KeyboardInterrupt. From within a task of this pool, or if too many threads call it at once, the caller runs the tasks alone.
        """
        if isinstance(kernel, Kernel):
            if not isinstance(items, int):
                raise TypeError(f"a native kernel runs in a number of tasks, found {type(items).__name__}")
            return self.native.run(kernel, items)
        if isinstance(items, int) and items < 0:
            raise ValueError(f"items must be 0 or more, found {items}")
        return self.native.map(kernel, list(range(items) if isinstance(items, int) else items))

    def counters(self) -> dict[str, int]:
        """What has been counted, by the specification's names; nothing is stopped for it."""
        return self.native.counters()

    def rows(self) -> Sequence[s.Worker]:
        """Of each worker, what a snapshot tells; nothing is stopped for it."""
        told = zip(self.native.rows(), self.native.windows(), strict=True)
        return [
            s.Worker(f"{self.name}{'/' if self.name else ''}w{i}", state, *times, *spins, window, s.Histogram(*wakes))     # type: ignore[arg-type]
            for i, ((state, times, spins, wakes), window) in enumerate(told)
        ]

    def windows(self) -> list[int]:
        """The window that each worker would spin now, in nanoseconds."""
        return self.native.windows()

    @property
    def width(self) -> int:
        """Threads that it was made for, the caller's included."""
        return self.native.width

    @property
    def workers(self) -> int:
        """Workers that there are: `width` - 1, or fewer."""
        return self.native.workers

    def shutdown(self) -> None:
        """End the workers and wait for them; again: nothing. Fan-outs under way are finished. Later `map` raises RuntimeError."""
        self.native.shutdown()

    def __enter__(self) -> SpinPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.shutdown()
