"""The loopback inference server: the protocol, its capacity and its refusals, what it counts, and requests that are wrong."""
from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("uvicorn")

import httpx

from slotwise.fuzz.inference import LARGEST, App, Endpoint, Inference, reply
from slotwise.fuzz.served import with_our_path

CHAT = "/v1/chat/completions"
LONG = 120                                   # seconds: what takes longer hangs


@pytest.fixture(scope="module")
def server() -> Iterator[Inference]:
    """Three at once; its models are of this test."""
    with Inference(Endpoint(capacity=3, times={"slow": 0.02, "fast": 0.0, "endless": 600})) as it:
        yield it


@pytest.fixture
def http(server: Inference) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=LONG, trust_env=False) as it:
        it.delete("/stats")
        yield it


def asked(model: str, question: str = "why") -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": question}]}


def stats(http: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = http.get("/stats").json()
    return found


def error(answer: httpx.Response) -> dict[str, Any]:
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return found


def test_the_protocol(http: httpx.Client) -> None:
    answer = http.post(CHAT, json=asked("fast", "one two three"))
    assert answer.status_code == 200
    found = answer.json()
    assert (found["object"], found["model"]) == ("chat.completion", "fast")
    (choice,) = found["choices"]
    assert choice["message"] == {"role": "assistant", "content": reply("fast", "one two three")}
    assert choice["finish_reason"] == "stop"
    assert found["usage"] == {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    assert reply("fast", "a") != reply("fast", "b") != reply("slow", "b")
    assert [model["id"] for model in http.get("/v1/models").json()["data"]] == ["slow", "fast", "endless"]
    assert stats(http)["requests"] == stats(http)["answered"] == {"slow": 0, "fast": 1, "endless": 0}


def test_a_models_time_runs_from_the_arrival() -> None:
    """One that came an hour ago is due, however long its models take; what was the server's own is counted."""

    async def main() -> dict[str, Any]:
        it = App(Endpoint(times={"slow": 3600.0}))
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            if sent:
                await asyncio.sleep(3600)
            sent.append("the request")
            return {"type": "http.request", "body": json.dumps(asked("slow")).encode()}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message.get("status", "the answer"))

        scope = {"type": "http", "method": "POST", "path": CHAT, "headers": [], "state": {"arrived": time.monotonic() - 3601}}
        await asyncio.wait_for(it(scope, receive, send), 60)
        assert sent == ["the request", 200, "the answer"]
        return it.stats()

    seen = asyncio.run(main())
    assert (seen["answered"], seen["active"], seen["late_ms"]["mean"] >= 1000) == ({"slow": 1}, 0, True)


@contextmanager
def held(server: Inference, http: httpx.Client, requests: int) -> Iterator[None]:
    """So many are at the server, and get no answer."""
    body = json.dumps(asked("endless")).encode()
    with ExitStack() as stack:
        for _ in range(requests):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=LONG))
            connection.sendall(b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (CHAT.encode(), len(body), body))
        until(lambda: stats(http)["active"] == requests)
        yield
    until(lambda: stats(http)["active"] == 0)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_request_beyond_the_capacity_is_refused_and_counted(server: Inference, http: httpx.Client) -> None:
    def ask() -> int:
        return http.post(CHAT, json=asked("slow")).status_code

    with held(server, http, 2):
        assert ask() == 200                                      # not by one too few
    assert (stats(http)["peak"], stats(http)["over_capacity"], stats(http)["refused"]) == (3, 0, 0)
    with held(server, http, 3):
        assert [ask(), ask()] == [429, 429]
        seen = stats(http)
    assert (seen["capacity"], seen["peak"], seen["over_capacity"], seen["refused"], seen["active"]) == (3, 4, 2, 2, 3)
    assert ask() == 200
    seen = stats(http)
    assert (seen["requests"], seen["answered"]) == ({"slow": 4, "fast": 0, "endless": 5}, {"slow": 2, "fast": 0, "endless": 0})
    assert (seen["peak"], seen["over_capacity"], seen["refused"], seen["active"]) == (4, 2, 2, 0)
    assert seen["late_ms"]["mean"] >= 0


def test_refusals_have_their_turn() -> None:
    def refused(seed: int) -> list[int]:
        with Inference(Endpoint(every=3, seed=seed, times={"fast": 0.0})) as it, httpx.Client(base_url=it.url, trust_env=False) as http:
            answers = [http.post(CHAT, json=asked("fast")) for _ in range(9)]
            found = [i for i, answer in enumerate(answers, 1) if answer.status_code == 429]
            assert all(error(answers[i - 1])["code"] == "rate_limit_exceeded" and answers[i - 1].headers["retry-after"] == "1" for i in found)
            assert (stats(http)["refused"], stats(http)["over_capacity"]) == (len(found), 0)
            return found

    assert refused(0) == [3, 6, 9]
    assert refused(1) == [2, 5, 8]


def test_who_goes_frees_the_slot(server: Inference, http: httpx.Client) -> None:
    with held(server, http, 3):
        pass
    seen = stats(http)
    assert (seen["active"], seen["clients_gone"]) == (0, 3)
    assert http.post(CHAT, json=asked("fast")).status_code == 200


WRONG: dict[str, tuple[bytes, int, str | None]] = {
    "no JSON": (b"{", 400, None),
    "bad bytes": (b"\xff\xfe\xff", 400, None),
    "deep": (b"[" * 100_000, 400, None),
    "a list": (b"[]", 400, None),
    "no model": (b'{"messages": [{"content": "a"}]}', 400, "model"),
    "a model that is none": (b'{"model": 3, "messages": [{"content": "a"}]}', 400, "model"),
    "an unknown model": (b'{"model": "gpt", "messages": [{"content": "a"}]}', 404, "model"),
    "no messages": (b'{"model": "fast"}', 400, "messages"),
    "empty messages": (b'{"model": "fast", "messages": []}', 400, "messages"),
    "messages that are none": (b'{"model": "fast", "messages": [3]}', 400, "messages"),
    "content that is no text": (b'{"model": "fast", "messages": [{"content": [1]}]}', 400, "messages"),
    "a stream": (b'{"model": "fast", "stream": true, "messages": [{"content": "a"}]}', 400, "stream"),
    "too much": (b" " * (LARGEST + 1), 413, None),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests_are_told_so(name: str, http: httpx.Client) -> None:
    body, status, param = WRONG[name]
    answer = http.post(CHAT, content=body)
    assert (answer.status_code, error(answer)["param"], error(answer)["type"]) == (status, param, "invalid_request_error")
    assert http.post(CHAT, json=asked("fast")).status_code == 200
    assert (stats(http)["wrong"], stats(http)["active"], stats(http)["requests"]["fast"]) == (1, 0, 1)


def test_half_a_character_can_be_asked(http: httpx.Client) -> None:
    answer = http.post(CHAT, content=b'{"model": "fast", "messages": [{"content": "\\ud800"}]}')
    assert answer.json()["choices"][0]["message"]["content"] == reply("fast", "\ud800")


def test_other_paths_and_methods(http: httpx.Client) -> None:
    assert [error(http.get(path))["code"] for path in ("/", "/v1/completions", "/%00%1b[2J")] == ["unknown_url"] * 3
    assert (http.get(CHAT).status_code, http.post("/v1/models").status_code, http.put("/stats").status_code) == (405, 405, 405)


def test_a_body_without_end_is_not_read(server: Inference, http: httpx.Client) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONG) as raw:
        raw.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONG) as raw:
        raw.sendall(b"no HTTP at all\r\n\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert http.post(CHAT, json=asked("fast")).status_code == 200


PARENT = """
import os, signal
from slotwise.fuzz.inference import Inference
it = Inference()
it.start()
print(it.process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_does_not_outlive_its_parent() -> None:
    # It returns when nobody holds the pipe any more, and the server has it too.
    ended = subprocess.run([sys.executable, "-c", PARENT], env=with_our_path(), stdout=subprocess.PIPE, text=True, timeout=LONG)
    until(lambda: gone(int(ended.stdout)))


def gone(pid: int) -> bool:
    """Or dead, and not buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def test_one_that_cannot_start_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        it = Inference()
        it.port = taken.getsockname()[1]
        with pytest.raises(RuntimeError, match="the service did not start; its exit code is"):
            it.start()


def test_what_it_is_told_is_plain_data() -> None:
    assert json.loads(Inference(Endpoint(capacity=2, every=7)).arguments[0]) == {"capacity": 2, "every": 7, "seed": 0, "times": {"slow": 0.08, "fast": 0.005}}
