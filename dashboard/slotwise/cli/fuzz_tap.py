"""`slotwise fuzz --tap`: a running search shows itself on a socket, as a scheduler does. The search itself only leaves numbers ten times a second."""
from __future__ import annotations

import multiprocessing
import os
import shlex
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from msgspec.structs import replace

from slotwise.cli import store
from slotwise.cli.output import Stop, say
from slotwise.cli.rules import MUTATION
from slotwise.dashboard.observe import campaigns
from slotwise.dashboard.observe.campaigns import SEARCHING, WAITING
from slotwise.fuzz import floors, seeded
from slotwise.fuzz.report import Failure, Report
from slotwise.impl.snapshot import VERSION, Campaign, Divergence, Snapshot
from slotwise.impl.tap import Tap, default_path
from slotwise.spec.mechanisms import mechanism_of

if TYPE_CHECKING:
    from slotwise.cli.fuzz import Job

AUTO = "auto"
LAST = 0.5                               # seconds in which viewers may take the last snapshot


def faults(profile: Any) -> tuple[int, int | None]:
    """The seeded faults of a profile, and how many of them the last `slotwise mutate` here found; None if it did not look for them."""
    name, own = mechanism_of(profile).name, profile.name
    known = [fault for fault in seeded.catalogue() if fault.mechanism == name and own in fault.profiles]
    tried = store.kept(MUTATION).get("killed")
    if not isinstance(tried, dict) or not any(fault.rule in tried for fault in known):
        return len(known), None
    killed = {name for names in tried.values() if isinstance(names, list) for name in names if isinstance(name, str)}
    return len(known), sum(fault.name in killed for fault in known)


def asked(profile: Any) -> dict[str, float]:
    """The floors of a profile, in 100,000 steps; none of one that is not built in."""
    return floors.asked(profile, floors.PER) if mechanism_of(profile).profiles.get(profile.name) == profile else {}


def scaled(asked: Mapping[str, float], steps: int) -> dict[str, float]:
    return {rule: round(floor * steps / floors.PER, 3) for rule, floor in asked.items()}


def together(shards: Sequence[Campaign], asked: Mapping[str, float]) -> Campaign:
    """Several searches side by side as one. The steps since something was new are those of the one that saw something new last."""
    first, steps, rules = shards[0], sum(one.steps for one in shards), Counter[str]()
    for one in shards:
        rules.update(one.rules)
    active = [one.result for one in shards if one.result in (WAITING, SEARCHING)]
    failed = [one.result for one in shards if campaigns.failed(one)]
    result = (SEARCHING if SEARCHING in active or len(active) < len(shards) else WAITING) if active else (failed or [first.result])[0]
    return replace(
        first, steps=steps, episodes=sum(one.episodes for one in shards), time=max(one.time for one in shards), new_at=steps - min(one.steps - one.new_at for one in shards),
        rules=dict(rules), floors=scaled(asked, steps) if rules else {}, result=result,
    )  # fmt: skip


class Board:
    """What is known of every search, written by whoever searches and read by the tap; both only ever exchange whole values."""

    def __init__(self, jobs: Sequence[Job], workers: int) -> None:
        profiles = [job.profile for job in jobs[::workers]]
        self.workers, self.started = workers, time.monotonic_ns()
        self.state = "running"
        self.divergences: tuple[Divergence, ...] = ()
        self._number = 0
        self._asked, counted = [asked(profile) for profile in profiles], [faults(profile) for profile in profiles]
        self._rows = [of(job, *counted[place // workers]) for place, job in enumerate(jobs)]

    def told(self, place: int, report: Report, result: str = SEARCHING) -> None:
        """Progress of the search at that place among the jobs; and at last what came out."""
        if result == SEARCHING and self._rows[place].result not in (WAITING, SEARCHING):
            return                       # it was under way when the end was known
        self._rows[place] = replace(
            self._rows[place], steps=report.steps, episodes=report.episodes, time=round(report.seconds * 10**9), new_at=report.new_at, rules=report.rules, result=result,
        )  # fmt: skip

    def knows(self, failure: Failure) -> bool:
        """Another shard found the same."""
        return any(one.id == called(failure) for one in self.divergences)

    def found(self, failure: Failure, path: Path) -> None:
        where = path.resolve()
        again = f"slotwise replay {shlex.quote(str(where))}" + ("" if failure.target == "native" else f" --target {shlex.quote(failure.target)}")
        self.divergences += (Divergence(called(failure), failure.seed or 0, len(failure.trace.steps), failure.rule, failure.message, time.monotonic_ns(), again, str(where)),)

    def snapshot(self) -> Snapshot:
        rows, now = list(self._rows), time.monotonic_ns()
        found = [together(rows[place * self.workers : (place + 1) * self.workers], asked) for place, asked in enumerate(self._asked)]
        self._number += 1
        names = ", ".join(dict.fromkeys(f"{one.mechanism} on {one.target}" for one in found))
        return Snapshot(
            VERSION, f"fuzz {names}", os.getpid(), self.started, now, self._number, sum(one.steps for one in found), 0, 0,
            checks=campaigns.checks(found, now), divergences=self.divergences, state=self.state, campaigns=tuple(found),
        )  # fmt: skip


def called(failure: Failure) -> str:
    return f"{mechanism_of(failure.profile).name}/{failure.profile.name} {failure.rule}"


def of(job: Job, total: int, killed: int | None) -> Campaign:
    """Before it has begun."""
    return Campaign(mechanism_of(job.profile).name, job.profile.name, job.target, job.seed, 0, 0, 0, 0, {}, {}, total, killed, WAITING)


@contextmanager
def tapped(board: Board, where: str) -> Iterator[None]:
    """The board on a socket, from a thread of its own, until this ends. The last that viewers see is how it ended."""
    try:
        tap = Tap(board.snapshot, default_path() if where == AUTO else Path(where))
    except OSError as error:
        raise Stop(f"tap: {where}: {error.strerror or error}") from None
    say(f"watch it: slotwise watch --attach {shlex.quote(str(tap.path))}")
    over = threading.Event()
    thread = threading.Thread(target=anyio.run, args=(served, tap, over), name="tap", daemon=True)
    thread.start()
    try:
        yield
        board.state = "ended"
    except BaseException as error:
        board.state = "ended: interrupted" if isinstance(error, KeyboardInterrupt) else f"crashed: {type(error).__name__}"
        raise
    finally:
        over.set()
        thread.join()
        tap.close()


async def served(tap: Tap, over: threading.Event) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(tap.run)
        await anyio.to_thread.run_sync(over.wait)
        group.cancel_scope.cancel()
    tap.accept()
    tap.show()                           # the end, to those who have taken what was before
    with anyio.move_on_after(LAST):
        while any(viewer.kept for viewer in tap._viewers):
            await anyio.sleep(0.01)
            tap.show()


# several processes --------------------------------------------------------------------------------------------------------------------

_to: SimpleQueue[Any] | None = None      # in a process that searches: where its progress goes


def begin(to: SimpleQueue[Any]) -> None:
    global _to
    _to = to


def telling(place: int) -> Callable[[Report], None]:
    """In such a process: what the search at that place calls. Failures stay, the whole report comes at the end."""

    def told(report: Report) -> None:
        if _to is not None:
            _to.put((place, Report(report.target, report.profile, report.seed, report.equality, report.mechanism, report.episodes, report.steps, report.seconds, report.new_at, report.rules)))

    return told


@contextmanager
def listening(board: Board) -> Iterator[SimpleQueue[Any]]:
    """A queue for the progress of other processes, read into the board."""
    queue: SimpleQueue[Any] = multiprocessing.get_context("spawn").SimpleQueue()
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.05):
            while not queue.empty():
                board.told(*queue.get())

    thread = threading.Thread(target=read, name="progress", daemon=True)
    thread.start()
    try:
        yield queue
    finally:
        over.set()
        thread.join(1)                   # a process that was killed while it wrote leaves half of something, for which nobody waits
