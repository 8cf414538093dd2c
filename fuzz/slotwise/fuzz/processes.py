"""The same thing done to many, in processes side by side. An interrupt (Ctrl-C) is this process' affair: it ends the others, at once and quietly."""
from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

One = TypeVar("One")
Result = TypeVar("Result")


def side_by_side(does: Callable[[One], Result], all: Iterable[One], workers: int, begin: Callable[..., None] | None = None, arguments: tuple[Any, ...] = ()) -> Iterator[Result]:
    """What `does` gives for each, in their order. Each process starts afresh and calls `begin(*arguments)` first."""
    before = multiprocessing.active_children()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), begin, arguments) as pool:
        try:
            with uninterrupted():
                results = [pool.submit(does, one) for one in all]      # this starts them
            for result in results:
                yield result.result()
        except (KeyboardInterrupt, GeneratorExit):
            for child in multiprocessing.active_children():
                if child not in before:
                    child.terminate()
            raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Processes that are started in here never see an interrupt. One that comes meanwhile comes here at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
