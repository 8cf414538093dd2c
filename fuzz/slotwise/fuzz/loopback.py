"""A durable service in another process, over loopback HTTP, and the client of it: for tests and benchmarks of the checkpoint batcher.

The service keeps a journal, a line per request, before it answers; killed and started again it goes on from there. A request that was
answered and comes again, with the token that it had, has the same answer again. An update whose body is `{"wait": seconds}` begins a
wait: its scheduled end, a stamp of the service, is in the answer, and later answers show it done.
"""
from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from slotwise.fuzz.served import Served, serve
from slotwise.impl.checkpoint import Answer, Page, Update

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the service treats requests, which it counts from 1 in each of its lives. Times in seconds."""

    out: float = 0.015                   # before a request is handled
    back: float = 0.015                  # before it is answered
    page: int = 0                        # operations shown in an answer, the others on pages; 0: all
    slow: dict[int, float] = field(default_factory=dict)     # of a request, once more
    fails: tuple[int, ...] = ()          # status 500, and nothing done
    ends: int = 0                        # this request is the last: no token


class App:
    """The service, an ASGI application."""

    def __init__(self, journal: Path, behaviour: Behaviour) -> None:
        self.behaviour, self.requests = behaviour, 0
        self.before, self.token = "", "token-0"                                 # the last request's, the next one's
        self.answer: Message = {}                                               # the last one
        self.ends: dict[str, int] = {}                                          # waits that are not done yet
        self.pages: dict[str, list[str]] = {}
        self.journal = journal.open("a+b")
        self.journal.seek(0)
        whole = 0
        for line in self.journal:
            if not line.endswith(b"\n"):                                        # killed while it wrote: that was not answered
                break
            whole += len(line)
            self.remember(json.loads(line))
        self.journal.truncate(whole)

    def remember(self, record: Message) -> None:
        self.before, self.answer = record["token"], record["answer"]
        self.token = self.answer["token"] or ""
        self.ends.update(self.answer["ends"])
        for id in self.answer["done"]:
            self.ends.pop(id, None)

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
        assert scope["type"] == "http"
        data, more = b"", True
        while more:
            message = await receive()
            data, more = data + message.get("body", b""), message.get("more_body", False)
        await pause(self.behaviour.out)
        status, answer = (200, {}) if scope["path"] == "/ready" else self.page(data) if scope["path"] == "/page" else await self.checkpoint(data)
        await pause(self.behaviour.back)
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})

    def page(self, data: bytes) -> tuple[int, Message]:
        left = self.pages.pop(json.loads(data)["marker"], None)
        return (404, {}) if left is None else (200, self.cut(left))

    def cut(self, done: list[str]) -> Message:
        size = self.behaviour.page or len(done)
        if len(done) <= size:
            return {"done": done, "marker": None}
        marker = f"{self.before}+{len(done)}"
        self.pages[marker] = done[size:]
        return {"done": done[:size], "marker": marker}

    async def checkpoint(self, data: bytes) -> tuple[int, Message]:
        request = json.loads(data)
        self.requests += 1
        await pause(self.behaviour.slow.get(self.requests, 0))
        if self.requests in self.behaviour.fails:
            return 500, {}
        if request["token"] != self.before:
            if request["token"] != self.token:
                return 409, {}
            stamp = time.time_ns()
            waits = {id: stamp + int(json.loads(body)["wait"] * 1e9) for id, body in request["updates"] if body.startswith('{"wait"')}
            done = [id for id, end in self.ends.items() if end <= stamp]
            last = self.requests == self.behaviour.ends
            answer = {"token": None if last else f"token-{int(self.token.split('-')[1]) + 1}", "stamp": stamp if request["updates"] else None, "ends": waits, "done": done}
            record = {**request, "answer": answer}
            self.journal.write(json.dumps(record).encode() + b"\n")
            self.journal.flush()
            self.remember(record)
        return 200, {**self.answer, **self.cut(self.answer["done"])}


async def pause(seconds: float) -> None:
    """More exact than the event loop's milliseconds."""
    until = time.monotonic() + seconds
    await asyncio.sleep(max(0, seconds - 0.002))
    time.sleep(max(0, until - time.monotonic()))


class Service(Served):
    """The process. `journal` is what it keeps of all its lives."""

    module = "slotwise.fuzz.loopback"

    def __init__(self, journal: Path, behaviour: Behaviour | None = None) -> None:
        self.journal, self.behaviour = journal, behaviour or Behaviour()
        super().__init__(str(journal), json.dumps(asdict(self.behaviour)))

    def requests(self) -> list[list[str]]:
        """The updates of each request that was made durable, by name."""
        return [[id for id, _ in json.loads(line)["updates"]] for line in self.journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


class ServiceError(Exception):
    """The service answered, and refused."""


class HttpClient:
    """A client for the batcher. While it cannot reach the service it tries again, for so many seconds."""

    def __init__(self, url: str, patience: float = 0) -> None:
        import httpx

        self.http, self.unreachable, self.patience = httpx.Client(base_url=url, timeout=60), httpx.TransportError, patience
        self.ends: dict[str, int] = {}                                          # of waits, by the service's stamps
        self.calls = 0

    def ask(self, path: str, question: Message) -> Message:
        end = time.monotonic() + self.patience
        while True:
            try:
                answer = self.http.post(path, content=json.dumps(question))
                break
            except self.unreachable:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        if answer.status_code != 200:
            raise ServiceError(f"status {answer.status_code}")
        found: Message = answer.json()
        return found

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
        self.calls += 1
        found = self.ask("/checkpoint", {"token": token, "updates": [(update.id, update.body.decode()) for update in updates]})
        self.ends.update(found["ends"])
        return Answer(found["token"], found["stamp"], found["done"], found["marker"])

    def fetch(self, marker: str, token: str) -> Page:
        found = self.ask("/page", {"marker": marker, "token": token})
        return Page(found["done"], found["marker"])

    def connect(self) -> None:
        """So that the first request does not."""
        self.ask("/ready", {})

    def close(self) -> None:
        self.http.close()


def main(parent: str, port: str, journal: str, behaviour: str) -> None:
    settings = json.loads(behaviour)
    settings["slow"] = {int(number): seconds for number, seconds in settings["slow"].items()}
    settings["fails"] = tuple(settings["fails"])
    serve(App(Path(journal), Behaviour(**settings)), int(parent), int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
