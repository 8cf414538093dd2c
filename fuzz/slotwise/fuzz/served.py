"""A service in another process, on loopback: how it is started, and how it ends, at the latest with whoever started it."""
from __future__ import annotations

import asyncio
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, Self

PATIENCE = 60.0                          # seconds in which a service must have started
LOOKS = 0.25                             # seconds between two looks at whether the parent is there
FILES = 1000                             # open at once in a service: `select` knows no more


class Served:
    """The process, of a module whose `__main__` calls `serve` with its arguments. A context."""

    module: ClassVar[str]

    def __init__(self, *arguments: str) -> None:
        self.arguments = arguments
        # Bound for as long as this is there, so that the port is nobody else's meanwhile: no other service's, and no connection begins there.
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._held.bind(("127.0.0.1", 0))
        self.port = int(self._held.getsockname()[1])
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, within: float = PATIENCE) -> None:
        """Returns when it can be reached. Raises RuntimeError."""
        command = [sys.executable, "-m", self.module, str(os.getpid()), str(self.port), *self.arguments]
        # In a session of its own: an interrupt from the terminal is for whoever started it, who then ends it.
        self.process = subprocess.Popen(command, env=with_our_path(), start_new_session=True)
        end = time.monotonic() + within
        while True:
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    code = self.process.poll()
                    self.kill()
                    raise RuntimeError(f"the service did not start; its exit code is {code}") from None
                time.sleep(0.02)

    def kill(self) -> None:
        """In the middle of whatever it does."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.kill()
        self._held.close()


def with_our_path() -> dict[str, str]:
    """The environment of a child that is to find the same modules."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def end_with(parent: int, then: Callable[[], object] = lambda: os._exit(1)) -> None:
    """A thread that ends this process when its parent is gone, even if that was killed."""

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(LOOKS)
        then()

    threading.Thread(target=look, daemon=True, name="end with the parent").start()


def serve(app: Any, parent: int, port: int) -> None:
    """An ASGI application, until it is killed or the parent is gone. Its event loop's timers are exact to some 0.1 ms, where asyncio's own
    round up to whole ones. scope["state"]["arrived"] is when the request did, by time.monotonic: before it waits for its turn in the loop."""
    import resource

    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Stamping(H11Protocol):
        def data_received(self, data: bytes) -> None:
            self.app_state["arrived"] = time.monotonic()     # uvicorn copies it for each request
            super().data_received(data)

    end_with(parent)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES if hard == resource.RLIM_INFINITY else min(FILES, hard), hard))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, http=Stamping, log_level="error", lifespan="off", access_log=False, timeout_keep_alive=3600))
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        runner.run(server.serve())
