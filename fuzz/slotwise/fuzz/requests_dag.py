"""Requests to a model that depend on each other, through the live scheduler: each record's next request is submitted when those it needs are
answered. A column (draft, judge, …) is a group; the endpoint's capacity is a resource, `llm`, of which a request holds one unit."""
from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

import anyio

from slotwise.fuzz.inference import reply
from slotwise.impl.scheduler import Group, Job, Retry, Scheduler

LLM = "llm"


def slow_to_fast_groups(capacity: int) -> tuple[Group, ...]:
    """Of `slow_to_fast`, as the published scheduler specifies a model's columns: a column weighs as many requests as its model serves at once, and
    its share limit ("admitted limit") is twice that. Without a share limit that scheduler's policies let a group do what it likes: before and
    after the change would be one and the same. The profile `slotwise` has no use for it."""
    return tuple(Group(name, weight=float(capacity), share_limit=2 * capacity) for name in ("slow", "fast"))


class TooManyRequests(Exception):
    """Status 429."""


class EndpointError(Exception):
    """Any other answer than the right one."""


#: The pauses are short, as the models are fast.
BACK_OFF = Retry(on=(TooManyRequests,), tries=8, first=0.05, factor=2.0, most=1.0, jitter=0.5)


class Client:
    """An OpenAI-compatible endpoint, asked with httpx; a context. `answered` counts the right answers, `refused` the 429s."""

    def __init__(self, url: str, connections: int = 100) -> None:
        import httpx

        self.http = httpx.AsyncClient(base_url=url, timeout=60, limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections), trust_env=False)
        self.answered = self.refused = 0

    async def __aenter__(self) -> Client:
        await self.http.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        with anyio.CancelScope(shield=True):
            await self.http.__aexit__(kind, error, where)

    async def ask(self, model: str, question: str) -> str:
        """Raises TooManyRequests or EndpointError."""
        answer = await self.http.post("/v1/chat/completions", json={"model": model, "messages": [{"role": "user", "content": question}]})
        if answer.status_code == 429:
            self.refused += 1
            raise TooManyRequests(answer.json()["error"]["message"])
        if answer.status_code != 200:
            raise EndpointError(f"status {answer.status_code}: {answer.text[:200]}")
        said: str = answer.json()["choices"][0]["message"]["content"]
        if said != reply(model, question):
            raise EndpointError(f"{model} said {said[:200]!r} to {question[:200]!r}")
        self.answered += 1
        return said

    async def stats(self, reset: bool = False) -> dict[str, Any]:
        answer = await self.http.request("DELETE" if reset else "GET", "/stats")
        found: dict[str, Any] = answer.json()
        return found

    async def warm(self, connections: int) -> None:
        """So that the first requests do not have to connect."""
        async with anyio.create_task_group() as tasks:
            for _ in range(connections):
                tasks.start_soon(self.http.get, "/v1/models")


class Asked(Protocol):
    async def ask(self, model: str, question: str) -> str: ...


async def slow_to_fast(scheduler: Scheduler, client: Asked, records: int) -> list[str]:
    """A slow request, and with its answer a fast one; for so many records that are all there at the beginning. The last answers."""
    answers = [""] * records

    async def record(number: int) -> None:
        draft = await scheduler.submit(client.ask, "slow", f"record {number}", group="slow", needs=LLM, retry=BACK_OFF)
        answers[number] = await scheduler.submit(client.ask, "fast", draft, group="fast", needs=LLM, retry=BACK_OFF)

    async with anyio.create_task_group() as tasks:
        for number in range(records):
            tasks.start_soon(record, number)
    return answers


def right_answer(number: int) -> str:
    """Of `slow_to_fast`, for one record."""
    return reply("fast", reply("slow", f"record {number}"))


class Reviewed:
    """The columns of the demo: a draft (slow), judges who all read it (fast), a summary of what they say (slow); and the cell's cost."""

    JUDGES = ("facts", "style", "tone")

    def __init__(self, scheduler: Scheduler, client: Client) -> None:
        self.scheduler, self.client = scheduler, client
        self.records = 0

    def job(self, model: str, question: str, column: str) -> Job[str]:
        return self.scheduler.submit(self.client.ask, model, question, group=column, needs=LLM, name=column, retry=BACK_OFF)

    async def record(self, number: int, done: Callable[[int, str], object]) -> str:
        """All of one record; `done` hears of each column."""
        draft = await self.job("slow", f"record {number}", "draft")
        done(number, "draft")
        judged = [self.job("fast", f"{judge}: {draft}", f"judge-{judge}") for judge in self.JUDGES]
        said = [await job for job in judged]
        done(number, "judges")
        summary = await self.job("slow", " ".join(said), "summary")
        self.records += 1
        return summary
