"""What `slotwise watch --demo` shows: a real workload, against a local inference server in another process.

    python -m slotwise.fuzz.demo [--seconds S]

Two kinds of work share an endpoint of eight slots. A pipeline makes reviewed records: a draft (80 ms), three judges that read it (5 ms
each), a summary of what they say (80 ms), and a score of that, which a pool of spinning threads computes; what is done is made durable in
another service, through a checkpoint batcher, and some records wait there for a human first. Beside it there are people who chat, in bursts,
a nightly job with no more than two requests at once, and now and then an import that wants more than it is due. Each 40th request is refused
by the server, and tried again later. All decisions are checked against the specification. It ends at an interrupt, a SIGTERM, after so many
seconds, or when whoever started it is gone; then nothing of it is left.
"""
from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import anyio

from slotwise.fuzz.inference import Endpoint, Inference
from slotwise.fuzz.loopback import Behaviour, HttpClient, Service
from slotwise.fuzz.requests_dag import LLM, Client, Reviewed
from slotwise.fuzz.served import end_with
from slotwise.impl.checkpoints import Checkpoints
from slotwise.impl.scheduler import Group, Scheduler
from slotwise.impl.spin_pool import SpinPool, sum_of_squares

CAPACITY, EVERY = 8, 40
#: Records that are in work at once, each in one of its columns; together they want more than there is.
RECORDS = 24
GROUPS = (
    Group("draft", weight=2.0), *(Group(f"judge-{judge}") for judge in Reviewed.JUDGES), Group("summary", weight=2.0),
    Group("chat", weight=4.0), Group("nightly", weight=0.5, running_limit=2), Group("import", weight=0.5),
)  # fmt: skip
TRIP = Behaviour(out=0.01, back=0.01)    # of the durable service
#: A score is computed in so many layers, each a fan-out of so many tasks over so many numbers; the caller is one of the pool's threads.
LAYERS, TASKS, NUMBERS, THREADS = 6, 8, 20_000, 3
HUMAN = 1.0                              # seconds: so often somebody looks at each fourth record, at all that wait there
NIGHTLY = 10                             # requests that are always in line
IMPORTS, IMPORTED = 20.0, 60             # seconds from the end of one to the next; requests of each
SLO, TELLS, PATIENCE = 2.0, 5.0, 30.0    # seconds: that a task may wait; between two lines; that the end may take


def score(pool: SpinPool, answer: str) -> float:
    """Layer by layer, the sum of the squares of numbers that the answer and the layer before decide: real work, of no use."""
    found = 0.0
    for layer in range(LAYERS):
        text = f"{found} {answer} {layer}".encode("utf-8", "surrogatepass")
        found = pool.map(sum_of_squares(array("d", list(hashlib.sha256(text).digest())) * (NUMBERS // 32)), TASKS) or 0.0
    return found


class Demo:
    """The workload, on a scheduler. `ends` are the durable service's stamps of when waits end, by name."""

    def __init__(self, scheduler: Scheduler, client: Client, checkpoints: Checkpoints, pool: SpinPool, ends: dict[str, int], seed: int = 1) -> None:
        self.client, self.checkpoints, self.pool, self.ends, self.random = client, checkpoints, pool, ends, Random(seed)
        self.reviewed = Reviewed(scheduler, client)
        self.scorer = anyio.CapacityLimiter(1)
        self.durable = 0

    async def run(self, records: int | None) -> None:
        """Until so many records are durable; without a number for ever."""
        numbers = iter(range(records)) if records is not None else count()
        async with anyio.create_task_group() as others:
            others.start_soon(self.chat)
            others.start_soon(self.nightly)
            others.start_soon(self.imports)
            async with anyio.create_task_group() as tasks:
                for _ in range(RECORDS):
                    tasks.start_soon(self.pipeline, numbers)
            others.cancel_scope.cancel()

    async def pipeline(self, numbers: Iterator[int]) -> None:
        """One record after another."""
        for number in numbers:
            summary = await self.reviewed.record(number, lambda which, column: self.checkpoints.submit_soon(f"r{which}.{column}", column.encode()))
            scored = await anyio.to_thread.run_sync(score, self.pool, summary, limiter=self.scorer)
            self.checkpoints.submit_soon(f"r{number}.score", b"%d" % scored)
            if number % 4 == 0:
                name = f"r{number}.human"
                await self.checkpoints.submit(name, b'{"wait": %.6f}' % (HUMAN - time.time() % HUMAN))
                await self.checkpoints.refresh(name, key=self.ends.pop(name))
            await self.checkpoints.submit(f"r{number}", b"done")
            self.durable += 1

    async def chat(self) -> None:
        """A burst of a few questions, each answered by the slow model and rated by the fast one, then a pause."""
        for number in count():
            async with anyio.create_task_group() as tasks:
                for question in range(self.random.randint(1, 5)):
                    tasks.start_soon(self.answered, f"chat {number}.{question}")
            await anyio.sleep(self.random.uniform(0.2, 1.5))

    async def answered(self, question: str) -> None:
        said = await self.reviewed.job("slow", question, "chat")
        await self.reviewed.job("fast", said, "chat")

    async def nightly(self) -> None:
        """Always some requests in line."""

        async def line(which: int) -> None:
            for number in count():
                await self.reviewed.job("slow", f"nightly {which}.{number}", "nightly")

        async with anyio.create_task_group() as tasks:
            for which in range(NIGHTLY):
                tasks.start_soon(line, which)

    async def imports(self) -> None:
        """All of its requests at once."""
        for number in count():
            await anyio.sleep(IMPORTS / (1 if number else 4))
            jobs = [self.reviewed.job("slow", f"import {number}.{which}", "import") for which in range(IMPORTED)]
            for job in jobs:
                await job.wait()

    async def tell(self) -> None:
        """A line now and then."""
        while True:
            await anyio.sleep(TELLS)
            print(f"{self.durable:,} records reviewed and durable; {self.client.answered:,} requests answered, {self.client.refused:,} refused and tried again")


async def work(inference: str, durable: str, seconds: float | None = None, records: int | None = None, signals: bool = False, **options: Any) -> dict[str, Any]:
    """Until the time is over, so many records are done, or, with `signals`, one comes. What the server counted, and what is left and was done.
    `options` are the scheduler's."""
    http = HttpClient(durable)
    try:
        # From here on signals are kept, so that none comes between two of these blocks.
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) if signals else nullcontext() as coming:
            return await watched(inference, http, seconds, records, coming, options)
    finally:
        http.close()


async def watched(inference: str, http: HttpClient, seconds: float | None, records: int | None, coming: AsyncIterator[signal.Signals] | None, options: dict[str, Any]) -> dict[str, Any]:
    async with Client(inference) as client:
        await client.warm(CAPACITY)
        with SpinPool(THREADS, name="score") as pool:
            found = await worked(client, http, pool, seconds, records, coming, options)
        return {**found, **await client.stats()}


async def worked(
    client: Client, http: HttpClient, pool: SpinPool, seconds: float | None, records: int | None, coming: AsyncIterator[signal.Signals] | None, options: dict[str, Any]
) -> dict[str, Any]:
    async with Checkpoints(http, name="checkpoints") as checkpoints, Scheduler({LLM: CAPACITY}, GROUPS, name="demo", slo=SLO, lost="ignore", check="note", **options) as scheduler:
        scheduler.attach(checkpoints)
        scheduler.attach(pool)
        demo = Demo(scheduler, client, checkpoints, pool, http.ends)
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as tasks:
                if coming is not None:
                    tasks.start_soon(ended_by_signal, coming, tasks.cancel_scope)
                tasks.start_soon(demo.tell)
                await demo.run(records)
                tasks.cancel_scope.cancel()
        await scheduler.shutdown()
        shot = scheduler.snapshot()
    left = sum(group.waiting + group.running + group.backing_off for group in shot.groups)
    return {"leases": shot.leases, "left": left, "records": demo.reviewed.records, "durable": demo.durable}


async def ended_by_signal(coming: AsyncIterator[signal.Signals], scope: anyio.CancelScope) -> None:
    async for _ in coming:
        scope.cancel()


def end_soon() -> None:
    """Whoever started it is gone."""
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m slotwise.fuzz.demo", description="A workload to watch: SLOTWISE_TAP says where.")
    parser.add_argument("--seconds", type=float, metavar="S", help="for so long; without end, if left out")
    seconds = parser.parse_args(arguments).seconds
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    end_with(os.getppid(), end_soon)
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory(prefix="slotwise-") as place:
        with Inference(Endpoint(CAPACITY, EVERY)) as inference, Service(Path(place) / "journal", TRIP) as durable:
            found = anyio.run(lambda: work(inference.url, durable.url, seconds, signals=True))
        print(f"the end: {found['records']:,} records; the endpoint had at most {found['peak']} requests at once, of {found['capacity']}")
        return int(found["over_capacity"] > 0 or found["leases"] > 0 or found["left"] > 0)
    return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
