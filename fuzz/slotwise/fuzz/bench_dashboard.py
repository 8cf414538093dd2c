"""The bars of the dashboard, measured: a scheduler in one process, `slotwise watch` in a pseudo-terminal as another, keys through it.

Who is watched is judged in many short blocks, without and with snapshots for the viewer in the order ABBA, all in one run: by the CPU time of a
job at a pace, and by jobs a second flat out. Between them are blocks AAAA, which show what the machine does by itself, and so what can be told at
all; the CPU time that the tap takes is measured directly too. Beside keys there is a program that does nothing but echo them.
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from slotwise.fuzz.bench import Figure, NotAvailable, at_least, at_most, native, plain
from slotwise.fuzz.bench_start import start
from slotwise.fuzz.dashboard_numbers import Quads, growth, lost, percentile

PACE = 33_400                            # jobs a second, three events each
BARS = {"events": 100_000 * 0.98, "cpu": 20.0, "key": 20.0, "slowed": 3.0, "memory": 20.0}
#: Keys with what each paints that was not there before; the arrow moves in a table that stands still, from its first row, wherever it was.
KEYS = ((" ", b"PAUSED"), ("\x1b[H", b""), ("\x1b[B", b">"), ("\x1b[A", b">"), (" ", b"LIVE"), ("w", b"win 60s"), ("w", b"win run"), ("w", b"win 1s"), ("w", b"win 10s"), ("f", b"follows"), ("f", b""))
PATIENCE = 60.0                          # seconds in which the viewer must have written a file
FOR = "SLOTWISE_BENCH_SECONDS"           # of memory, the longest part; for ten minutes, 600


@dataclass(frozen=True, slots=True)
class Plan:
    """How long everything takes, in seconds; `quads` times ABBA and AAAA."""

    memory: float = 20.0
    block: float = 0.4
    quads: int = 16
    settle: float = 1.5
    cost: float = 8.0
    keys: int = 60
    starts: int = 7
    pace: int = PACE
    groups: int = 12
    many: tuple[int, int] = (1000, 10_000)       # groups, tasks that wait

    @staticmethod
    def asked() -> Plan:
        try:
            return Plan(memory=max(2.0, float(os.environ[FOR]))) if FOR in os.environ else Plan()
        except ValueError:
            raise NotAvailable(f"{FOR}={os.environ[FOR]!r} is no number of seconds") from None


# processes ---------------------------------------------------------------------------------------------------------------------------


class Producer:
    """`dashboard_load` in a process of its own."""

    def __init__(self, socket: Path, groups: int, waiting: int = 0) -> None:
        from slotwise.fuzz.dashboard_load import Mark

        self.socket, self._decode = socket, msgspec.json.Decoder(Mark).decode
        self.process = subprocess.Popen([sys.executable, "-m", "slotwise.fuzz.dashboard_load", str(socket), str(groups), str(waiting)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise NotAvailable(f"the scheduler's process ended with {self.process.wait()}")
        return self._decode(line)

    def ask(self, words: str) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(words.encode() + b"\n")
        self.process.stdin.flush()
        return self.read()

    def block(self, lasts: float) -> tuple[float, float]:
        """CPU seconds of a job, and wall seconds of one."""
        before = self.ask("mark")
        time.sleep(lasts)
        after = self.ask("mark")
        jobs = max(1, after.jobs - before.jobs)
        return (after.cpu - before.cpu) / jobs, (after.wall - before.wall) / jobs


@contextmanager
def watching(socket: Path, folder: Path, settle: float) -> Iterator[Any]:
    from slotwise.fuzz.dashboard_terminal import Viewer

    with Viewer(["--attach", str(socket)], folder) as viewer:
        viewer.expect(b"group-0", 0)
        viewer.expect(b"LIVE", 0)
        time.sleep(settle)
        yield viewer


def quads(producer: Producer, plan: Plan) -> dict[str, tuple[Quads, Quads]]:
    """By CPU time, and by wall time, of a job: with snapshots in the blocks between, and with none in any."""
    found = {"seen": (Quads(), Quads()), "alone": (Quads(), Quads())}
    for turn in range(2 * plan.quads):
        kind = ("seen", "alone")[turn % 2]
        blocks = []
        for place in range(4):
            producer.ask("show" if kind == "seen" and place in (1, 2) else "hide")
            blocks.append(producer.block(plan.block))
        for quad, i in zip(found[kind], (0, 1), strict=True):
            a, b, c, d = (block[i] for block in blocks)
            quad.quads.append((a, b, c, d))
    producer.ask("show")
    return found


# what is measured --------------------------------------------------------------------------------------------------------------------


def slowed(producer: Producer, plan: Plan) -> list[Figure]:
    """With a viewer attached."""
    figures = []
    for pace, words, i in ((plan.pace, f"CPU time of a job at {3 * plan.pace:,} events/s", 0), (0, "time of a job flat out", 1)):
        producer.ask(f"pace {pace}")
        time.sleep(plan.settle)
        found = quads(producer, plan)
        seen, alone = found["seen"][i], found["alone"][i]
        note = f"{plan.quads} x ABBA: {seen.words}; as many AAAA, without snapshots: {alone.words}"
        figures.append(at_most(f"dashboard: {words}, with a viewer", seen.median, "% more", BARS["slowed"], note))
    return figures


def costs(viewer: Any, producer: Producer, plan: Plan, words: str, least: float = 0.0) -> list[Figure]:
    """The viewer's CPU and fps while nobody presses a key, then keys; and what the tap takes. `least` is the bar of events/s, if it has one."""
    place, cpu, begun, before = viewer.written, viewer.cpu(), time.monotonic(), producer.ask("mark")
    time.sleep(plan.cost)
    after, passed = producer.ask("mark"), time.monotonic() - begun
    share, fps, wall = viewer.cpu() - cpu, viewer.said(place), after.wall - before.wall
    took = f"the scheduler's process got {100 * (after.cpu - before.cpu) / wall:.0f}% of a core; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()}"
    rate, tap = (after.events - before.events) / wall, 100 * (after.tap - before.tap) / wall
    written, cpu, begun = viewer.written - place, viewer.cpu(), time.monotonic()
    latencies, echoes = presses(viewer, plan.keys)
    each = 1000 * (viewer.cpu() - cpu - share / passed * (time.monotonic() - begun)) / len(latencies)
    name = f"dashboard, {words}: "
    return [at_least(f"{name}events", rate, "events/s", least, took) if least else plain(f"{name}events", rate, "events/s", took),
            at_most(f"{name}viewer", 100 * share / passed, "% of a core", BARS["cpu"], f"{written / passed / 1000:.0f} KB/s to the terminal"),
            at_least(f"{name}frames", median(fps) if fps else 0.0, "fps", 9.0, "as the viewer says"),
            at_most(f"{name}key to repaint, p50", 1000 * median(latencies), "ms", BARS["key"], f"{len(latencies)} keys, {each:.1f} ms of CPU each; a program that only echoes them: {1000 * median(echoes):.1f} ms, p95 {1000 * percentile(echoes, 95):.1f}"),
            plain(f"{name}key to repaint, p95", 1000 * percentile(latencies, 95), "ms"),
            at_most(f"{name}tap", tap, "% of a core", BARS["slowed"], "the scheduler's CPU time for its viewer")]  # fmt: skip


def presses(viewer: Any, count: int) -> tuple[list[float], list[float]]:
    """Seconds from keys to what they paint, at instants that have nothing to do with the viewer's clock; and of an echo, in turns."""
    from slotwise.fuzz.dashboard_terminal import Echo

    found, echoes = [], []
    with Echo() as echo:
        for i, (key, words) in zip(range(-(-count // len(KEYS)) * len(KEYS)), cycle(KEYS), strict=False):
            time.sleep(0.1 + 0.0137 * (i % 7))
            echoes.append(echo.key())
            if words:
                found.append(viewer.key(key, words))
            else:
                viewer.press(key)
    return found, echoes


def memory(viewer: Any, producer: Producer, plan: Plan) -> list[Figure]:
    """Both processes' resident memory, each second."""
    samples: list[tuple[int, int]] = []
    until = time.monotonic() + plan.memory
    while time.monotonic() < until:
        samples.append((viewer.rss(), producer.ask("mark").rss))
        time.sleep(min(1.0, plan.memory / 10))
    return [at_most(f"dashboard: memory of the {who} grows in {plan.memory:,.0f} s", growth([one[i] for one in samples]), "MB", BARS["memory"], f"it has {samples[-1][i] / 2**20:.0f} MB; {FOR}=600 for ten minutes")
            for i, who in enumerate(("viewer", "scheduler"))]  # fmt: skip


def counted(viewer: Any, producer: Producer, folder: Path) -> Figure:
    """The scheduler ends; the viewer shows its last numbers over the whole run, and writes them into a file."""
    for words in (b"win 60s", b"win run"):
        viewer.key("w", words)
    producer.ask("stop")
    final = producer.read()
    viewer.expect(b"; this is", max(0, viewer.written - 65536))     # ENDED, or LOST: its last numbers were shown three times
    known = set(folder.glob("*.json"))
    place = viewer.written
    viewer.press("e")
    viewer.expect(b"all tables and alarms", place)
    viewer.press("j")
    until = time.monotonic() + PATIENCE
    while not (new := set(folder.glob("*.json")) - known) or not (text := new.copy().pop().read_bytes()).endswith(b"\n"):
        if time.monotonic() > until:
            raise NotAvailable("the viewer did not export its frame")
        time.sleep(0.05)
    missing = lost(msgspec.json.decode(text), final.events, final.jobs)
    return at_most("dashboard: events that the viewer's counters lost", missing, "events", 0, f"of {final.events:,}, by its last frame, and by its groups")


def many(folder: Path, plan: Plan) -> list[Figure]:
    groups, waiting = plan.many
    words = f"{groups:,} groups, {waiting:,} tasks waiting"
    with Producer(folder / "many", groups, waiting) as producer, watching(producer.socket, folder, plan.settle) as viewer:
        return costs(viewer, producer, plan, words)


def dashboard(plan: Plan | None = None) -> list[Figure]:
    """All of it."""
    native()
    try:
        import textual  # noqa: F401
    except ImportError as error:
        raise NotAvailable(f"{error.name} is missing: pip install 'slotwise[screen]'") from None
    from slotwise.fuzz.dashboard_terminal import Late

    plan = plan or Plan.asked()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sw")))
        try:
            figures = start(folder, plan.starts) + many(folder, plan)
            producer = stack.enter_context(Producer(folder / "busy", plan.groups))
            producer.ask(f"pace {plan.pace}")
            with watching(producer.socket, folder, plan.settle) as viewer:
                figures += slowed(producer, plan)
                producer.ask(f"pace {plan.pace}")
                time.sleep(plan.settle)
                figures += costs(viewer, producer, plan, f"{plan.groups} groups at {3 * plan.pace:,} events/s", BARS["events"])
                figures += memory(viewer, producer, plan)
                figures.append(counted(viewer, producer, folder))
        except Late as error:
            raise NotAvailable(str(error)) from None
    return figures
