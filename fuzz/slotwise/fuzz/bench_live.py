"""The checkpoint batcher beside the published SDK, on real threads and one loopback service: steps, fan-outs, and waves of waits.

All that is compared has its turns at the same service over the same connection, whose round trip is 30 ms. Steps are measured in pairs: what
else the machine does falls on both of a pair, and it is the difference that counts. Each row is measured idle and with both cores loaded.
"""
from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import mean, median
from typing import Any

from slotwise.fuzz.bench import Figure, at_most, plain
from slotwise.fuzz.bench_checkpoint import MISSING, TRIP, live, loaded, profiles, sdk, service
from slotwise.spec import batching_vocabulary as v

BRANCHES = 200
WAVES = 10
#: A step that lasts, and a wait beside it: seconds. The SDK waits for whole seconds.
LONG, WAIT = 1.5, 1.0


class Line:
    """A connection to the service that each has in turn: the token is always the last one."""

    def __init__(self, url: str) -> None:
        self.http = live().HttpClient(url)
        self.http.connect()
        self.token, self.ends = "token-0", self.http.ends

    @property
    def calls(self) -> int:
        return int(self.http.calls)

    def checkpoint(self, token: str, updates: Sequence[Any]) -> Any:
        answer = self.http.checkpoint(self.token, updates)
        self.token = answer.token
        return answer

    def fetch(self, marker: str, token: str) -> Any:
        return self.http.fetch(marker, self.token)


@contextmanager
def line() -> Iterator[Line]:
    with service() as it:
        client = Line(it.url)
        try:
            yield client
        finally:
            client.http.close()


def loads() -> Iterator[str]:
    """The name of each, while it lasts."""
    for processes in (0, os.cpu_count() or 1):
        with loaded(processes):
            yield "loaded" if processes else "idle"


def in_a_thread(work: Callable[[], None]) -> None:
    """As a handler has it; the main thread makes no requests itself."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()


# Steps -------------------------------------------------------------------------------------------------------------------------------


def steps(rounds: int = 80) -> list[Figure]:
    """A step is a start (async) and its end (sync). In each round everybody has one; the next round has the reverse order. The bar is for the
    machine as it is; with its cores loaded besides, half the rounds are printed only."""
    figures: list[Figure] = []
    with line() as client, ExitStack() as stack:
        works: dict[str, Callable[[int], object]] = {"the client alone": partial(_bare, client)}
        published = v.PROFILES["aws-durable-3.0.0"]
        batchers = {"slotwise": _batcher(client), "slotwise, callers do not drive": _batcher(client, callers_drive=False), "rule of 3.0.0": _batcher(client, published, callers_drive=False)}
        for name, it in batchers.items():
            stack.enter_context(it)
            stack.enter_context(it.running())
            works[name] = partial(_step, it)
        theirs = sdk()

        def turns(context: Any = None) -> None:
            if context is not None:
                works[f"SDK {theirs.VERSION}"] = lambda i: context.step(lambda _: None)
            for load in loads():
                figures.extend(_compare(load, works, rounds if load == "idle" else rounds // 2))

        if theirs:
            theirs.run(client, turns)
        else:
            in_a_thread(turns)
    return figures if theirs else [*figures, MISSING]


def _compare(load: str, works: dict[str, Callable[[int], object]], rounds: int) -> list[Figure]:
    taken: dict[str, list[float]] = {name: [] for name in works}
    for i in range(rounds):
        for name in list(works)[:: -1 if i % 2 else 1]:
            begun = time.monotonic()
            works[name](i)
            taken[name].append(time.monotonic() - begun)
    alone, *others = taken
    figures = [plain(f"a step, {load}: {alone}", median(taken[alone]) * 1000, "ms", f"{rounds} rounds; {TRIP * 1000:g} ms of it is the service's")]
    for name in others:
        over = [(took - bare) / TRIP * 100 for took, bare in zip(taken[name], taken[alone], strict=True)]
        low, high = spread(over)
        note = f"95 of 100 such medians lie between {low:.2f} and {high:.2f}; the mean is {mean(over):.2f}"
        called = f"a step, {load}: {name}, over the client alone, of {TRIP * 1000:g} ms"
        figures.append(at_most(called, median(over), "%", 2, note) if (name, load) == ("slotwise", "idle") else plain(called, median(over), "%", note))
    return figures


def spread(sample: Sequence[float]) -> tuple[float, float]:
    """Of the median, whatever the distribution: by the order of the sample."""
    ordered, middle, reach = sorted(sample), len(sample) / 2, 0.98 * len(sample) ** 0.5
    return ordered[max(0, int(middle - reach))], ordered[min(len(ordered) - 1, int(middle + reach))]


def _batcher(client: Line, profile: v.Profile | str = "slotwise", callers_drive: bool = True) -> Any:
    from slotwise.impl.checkpoint import CheckpointBatcher

    return CheckpointBatcher(client, profile, token=client.token, callers_drive=callers_drive)


def _step(it: Any, i: int) -> None:
    it.submit(f"s{i}", b"start", sync=False)
    it.submit(f"s{i}", b"end")


def _bare(client: Line, i: int) -> None:
    from slotwise.impl.checkpoint import Update

    client.checkpoint("", [Update(f"s{i}", b"start"), Update(f"s{i}", b"end")])


# What a handler does -----------------------------------------------------------------------------------------------------------------


def parallel(it: Any, works: Iterable[Callable[[], None]], at_once: int) -> None:
    """Branches, each in a producer of its own, at most so many at once. Who starts them credits them before, and takes over the credit of
    the last one."""
    pending, lock, finished = iter(works), threading.Lock(), threading.Event()
    left, broken = [at_once], list[BaseException]()

    def branches() -> None:
        try:
            with it.running(credited=True):
                while True:
                    with lock:
                        work = next(pending, None)
                    if work is None:
                        break
                    work()
                with lock:
                    left[0] -= 1
                    if left[0]:
                        return
                it.credit(1)
        except BaseException as error:
            broken.append(error)
        finished.set()

    it.credit(at_once)
    for _ in range(at_once):
        threading.Thread(target=branches, daemon=True).start()
    it.credit(-1)
    finished.wait()
    if broken:
        raise broken[0]


def context(it: Any, id: str, parent: str | None, body: Callable[[], None]) -> None:
    it.submit(id, b"start", sync=False, parent=parent)
    body()
    it.submit(id, b"end", parent=parent, ends=True)


def step(it: Any, id: str, parent: str, body: float = 0) -> None:
    it.submit(id, b"start", sync=False, parent=parent)
    if body:
        with it.outside():
            time.sleep(body)
    it.submit(id, b"end", parent=parent)


def fan_out(it: Any, flat: bool, at_once: int, branches: int) -> None:
    works = [partial(step, it, f"s{i}", "p") if flat else partial(context, it, f"b{i}", "p", partial(step, it, f"s{i}", f"b{i}")) for i in range(branches)]
    context(it, "p", None, partial(parallel, it, works, min(at_once, branches)))


def waves(it: Any, client: Line, run: int, late: list[float]) -> None:
    """Parallels in a parallel, each of a step that lasts, beside a wait. Names are of one run: what was shown done stays so."""

    def wait(i: int) -> None:
        name = f"{run}.{i}.w"
        it.submit(name, b'{"wait": %g}' % WAIT, parent=f"{run}.{i}.b1")
        it.refresh(name, key=client.ends[name], owner=f"{run}.{i}.in").result()
        late.append(time.time() - client.ends[name] / 1e9)

    def inner(i: int) -> None:
        name = f"{run}.{i}"
        bodies = [partial(step, it, f"{name}.s", f"{name}.b0", LONG), partial(wait, i)]
        branches = [partial(context, it, f"{name}.b{n}", f"{name}.in", body) for n, body in enumerate(bodies)]
        context(it, f"{name}.in", f"{name}.out", partial(parallel, it, branches, 2))

    outer = [partial(context, it, f"{run}.{i}.out", f"{run}.p", partial(inner, i)) for i in range(WAVES)]
    context(it, f"{run}.p", None, partial(parallel, it, outer, WAVES))


# Their rows --------------------------------------------------------------------------------------------------------------------------


def choices() -> dict[str, v.Profile]:
    """The two that a user has."""
    return {name: profile for name, profile in profiles().items() if name.startswith("slotwise") and "uncounted" not in name}


def in_turns(title: str, rounds: int, ours: Callable[[Any, Line, int, list[float]], None], others: Callable[[Any], Callable[[Line], tuple[float, list[float]]]], least: str) -> list[Figure]:
    """Calls and latency of each, idle and loaded; and how late its waits went on, where it has any."""
    theirs, figures, run = sdk(), list[Figure](), 0
    with line() as client:
        for load in loads():
            found: dict[str, list[tuple[int, float]]] = {}
            late: dict[str, list[float]] = {}

            def note(name: str, before: int, took: float, waited: list[float], found: Any = found, late: Any = late) -> None:
                found.setdefault(name, []).append((client.calls - before, took))
                late.setdefault(name, []).extend(waited)

            for _ in range(rounds):
                for name, profile in choices().items():
                    before, waited, run = client.calls, list[float](), run + 1
                    took: list[float] = []
                    with _batcher(client, profile) as it:

                        def handler(it: Any = it, run: int = run, waited: list[float] = waited, took: list[float] = took) -> None:
                            begun = time.monotonic()
                            with it.running():
                                ours(it, client, run, waited)
                            took.append(time.monotonic() - begun)

                        in_a_thread(handler)
                    note(name, before, took[0], waited)
                if theirs:
                    before = client.calls
                    note(f"SDK {theirs.VERSION}", before, *others(theirs)(client))
            for name, runs in found.items():
                calls, times = sorted(c for c, _ in runs), [t * 1000 for _, t in runs]
                figures += [plain(f"{title}, {load}, {name}: calls", median(calls), "calls", f"{' '.join(map(str, calls))}; {least}"),
                            plain(f"{title}, {load}, {name}: latency", median(times), "ms", f"{min(times):.0f} to {max(times):.0f}")]  # fmt: skip
                if late[name]:
                    after = [seconds * 1000 for seconds in late[name]]
                    figures.append(plain(f"{title}, {load}, {name}: waits go on after they are due", median(after), "ms", f"{min(after):.1f} to {max(after):.1f}, {len(after)} waits"))
    return figures if theirs else [*figures, MISSING]


def flat(rounds: int = 3, branches: int = BRANCHES) -> list[Figure]:
    return in_turns(f"flat fan-out of {branches}", rounds, lambda it, client, run, late: fan_out(it, True, branches, branches),
                    lambda theirs: lambda client: (theirs.fan_out(client, branches, flat=True), []), "the least is 3 and 90 ms")  # fmt: skip


def fifty(rounds: int = 3, branches: int = BRANCHES, at_once: int = 50) -> list[Figure]:
    return in_turns(f"fan-out of {branches}, {at_once} at once", rounds, lambda it, client, run, late: fan_out(it, False, at_once, branches),
                    lambda theirs: lambda client: (theirs.fan_out(client, branches, at_once=at_once), []), "the least is 9 and 270 ms")  # fmt: skip


def nested_waves(rounds: int = 2) -> list[Figure]:
    return in_turns(f"{WAVES} nested waves, {LONG:g} s beside {WAIT:g} s", rounds, waves,
                    lambda theirs: lambda client: theirs.waves(client, WAVES, LONG, int(WAIT)), f"the least is 8 and {LONG * 1000 + 150:g} ms")  # fmt: skip


BENCHES: dict[str, Callable[[], list[Figure]]] = {"steps-live": steps, "flat-live": flat, "fifty-live": fifty, "waves-live": nested_waves}
