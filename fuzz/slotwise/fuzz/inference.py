"""An inference server in another process, on loopback, that speaks OpenAI's protocol: for the demo and for `slotwise bench http`.

    POST /v1/chat/completions    an answer after the model's time: `slow` 80 ms, `fast` 5 ms; no streaming
    GET /v1/models               the models
    GET /stats, DELETE /stats    what happened; count anew

A model's time runs from when the request has arrived, and the answer is ready before its time is over: what the server itself needs comes on
top only where that is more than the model's time. The endpoint serves so many requests at once. One more is refused (429), and counted as a violation: a client that keeps its cap never
sees that. Besides, each n-th request is refused, which a client has to live with. The answer follows from the question (`reply`), so that
whoever asked can check it. Wrong requests get an error in OpenAI's form.
"""
from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from slotwise.fuzz.served import Served, serve

Message = dict[str, Any]
TIMES = {"slow": 0.08, "fast": 0.005}    # seconds, by model
LARGEST = 2**20                          # bytes of a request's body


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What the server is told."""

    capacity: int = 8                    # requests at once, of all models together
    every: int = 0                       # each n-th request is refused; 0: none
    seed: int = 0                        # which of each n
    times: dict[str, float] = field(default_factory=lambda: dict(TIMES))


class Wrong(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None, kind: str = "invalid_request_error", **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers
        self.answer = {"error": {"message": message, "type": kind, "param": param, "code": code}}


def reply(model: str, question: str) -> str:
    """What a model says to a question."""
    return f"{model}-{hashlib.sha256(question.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


class Counts:
    """Since they were last reset; but what is active stays active."""

    def __init__(self, models: dict[str, float], active: int = 0) -> None:
        self.requests, self.answered = dict.fromkeys(models, 0), dict.fromkeys(models, 0)
        self.peak = active                                   # requests at once, a refused one included
        self.over = self.refused = self.left = self.wrong = 0    # beyond the capacity; 429s, those included; clients that did not wait; bad requests
        self.late, self.latest = 0.0, 0.0                    # seconds from arrivals to answers, beyond the model's time: in all, and the most


class App:
    """The server, an ASGI application."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.active, self.number = endpoint, 0, 0
        self.counts = Counts(endpoint.times)

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]) -> None:
        assert scope["type"] == "http"
        headers: dict[str, str] = {}
        try:
            status, data = 200, await self.answer(scope, receive)
        except Wrong as wrong:
            status, data, headers = wrong.status, packed(wrong.answer), wrong.headers
            self.counts.wrong += status != 429
        except ConnectionError:                              # nobody is there to be answered
            return
        named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode()), *named]})
        await send({"type": "http.response.body", "body": data})

    async def answer(self, scope: Message, receive: Callable[[], Awaitable[Message]]) -> bytes:
        match (scope["method"], scope["path"]):
            case ("POST", "/v1/chat/completions"):
                return await self.complete(await body_of(scope, receive), scope["state"]["arrived"], receive)
            case ("GET", "/v1/models"):
                return packed({"object": "list", "data": [{"id": name, "object": "model", "created": 0, "owned_by": "slotwise"} for name in self.endpoint.times]})
            case ("GET", "/stats"):
                return packed(self.stats())
            case ("DELETE", "/stats"):
                self.counts = Counts(self.endpoint.times, self.active)
                return packed(self.stats())
            case (_, "/v1/chat/completions" | "/v1/models" | "/stats"):
                raise Wrong(405, f"{scope['method']} is not allowed here", "method_not_allowed")
        raise Wrong(404, f"unknown path: {scope['path'][:200]}", "unknown_url")

    async def complete(self, data: bytes, arrived: float, receive: Callable[[], Awaitable[Message]]) -> bytes:
        model, question = self.read(data)
        counts = self.counts
        self.number += 1
        counts.requests[model] += 1
        counts.peak = max(counts.peak, self.active + 1)
        if self.active >= self.endpoint.capacity:
            counts.over += 1
            counts.refused += 1
            raise Wrong(429, f"the endpoint serves {self.endpoint.capacity} requests at once", "rate_limit_exceeded", None, "requests", retry_after="1")
        if self.endpoint.every and (self.number + self.endpoint.seed) % self.endpoint.every == 0:
            counts.refused += 1
            raise Wrong(429, "too many requests; try again", "rate_limit_exceeded", None, "requests", retry_after="1")
        due = arrived + self.endpoint.times[model]
        self.active += 1
        try:
            answer = self.said(model, question)
            await self.work(due, receive)
        finally:
            self.active -= 1                                 # before the answer can be on its way: whoever has it may ask again
        late = time.monotonic() - due
        counts.late, counts.latest = counts.late + late, max(counts.latest, late)
        counts.answered[model] += 1
        return answer

    def said(self, model: str, question: str) -> bytes:
        words = len(question.split())
        return packed({
            "id": f"chatcmpl-{self.number}", "object": "chat.completion", "created": int(time.time()), "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": reply(model, question)}, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": words, "completion_tokens": 1, "total_tokens": words + 1},
        })  # fmt: skip

    async def work(self, due: float, receive: Callable[[], Awaitable[Message]]) -> None:
        """Until the model's time is over, by the loop's clock; shorter, if the client goes."""
        try:
            async with asyncio.timeout_at(due):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            return
        self.counts.left += 1
        raise ConnectionError

    def read(self, data: bytes) -> tuple[str, str]:
        """The model, and what the last message says."""
        try:
            request = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Wrong(400, f"the body is not JSON: {str(error)[:200]}") from None
        if not isinstance(request, dict):
            raise Wrong(400, "the body must be a JSON object")
        model, messages = request.get("model"), request.get("messages")
        if not isinstance(model, str):
            raise Wrong(400, "you must provide a model", None, "model")
        if model not in self.endpoint.times:
            raise Wrong(404, f"the model {model[:200]!r} does not exist; there are {', '.join(self.endpoint.times)}", "model_not_found", "model")
        if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) and isinstance(message.get("content"), str) for message in messages):
            raise Wrong(400, "messages must be a list of at least one, each with its content as a string", None, "messages")
        if request.get("stream"):
            raise Wrong(400, "streaming is not supported here", "unsupported_value", "stream")
        return model, messages[-1]["content"]

    def stats(self) -> Message:
        counts, answered = self.counts, sum(self.counts.answered.values())
        return {
            "capacity": self.endpoint.capacity, "active": self.active, "peak": counts.peak, "over_capacity": counts.over, "refused": counts.refused,
            "requests": counts.requests, "answered": counts.answered, "clients_gone": counts.left, "wrong": counts.wrong,
            "late_ms": {"mean": 1000 * counts.late / answered if answered else 0.0, "most": 1000 * counts.latest},
        }  # fmt: skip


def packed(answer: Message) -> bytes:
    return json.dumps(answer).encode()


async def body_of(scope: Message, receive: Callable[[], Awaitable[Message]]) -> bytes:
    said = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    too_large = Wrong(413, f"the body is larger than {LARGEST:,} bytes", "request_too_large", connection="close")
    if int(said) > LARGEST:
        raise too_large
    data, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionError
        data += message.get("body", b"")
        more = message.get("more_body", False)
        if len(data) > LARGEST:
            raise too_large
    return bytes(data)


class Inference(Served):
    module = "slotwise.fuzz.inference"

    def __init__(self, endpoint: Endpoint | None = None) -> None:
        self.endpoint = endpoint or Endpoint()
        super().__init__(json.dumps(asdict(self.endpoint)))


def main(parent: str, port: str, endpoint: str) -> None:
    serve(App(Endpoint(**json.loads(endpoint))), int(parent), int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
