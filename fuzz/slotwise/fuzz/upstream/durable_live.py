"""The published durable-execution SDK with real threads against the loopback service, for `bench_live` and `bench_checkpoint`. Needs the package."""
from __future__ import annotations

import dataclasses
import datetime
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import aws_durable_execution_sdk_python as package
from aws_durable_execution_sdk_python import config
from aws_durable_execution_sdk_python import lambda_service as service
from aws_durable_execution_sdk_python.execution import DurableExecutionInvocationInputWithClient, InitialExecutionState

from slotwise.impl.checkpoint import Answer, Update

VERSION = str(getattr(package, "__version__", "of unknown version"))
EXECUTION = "execution-1"


class Client(Protocol):
    """Of our own, to the loopback service."""

    ends: dict[str, int]

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer: ...


class Live:
    """The package's client: the requests are those of our own, and what the service shows of an operation is made of its updates; a wait is
    shown done once the service says so."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.begun: dict[str, Any] = {}
        self.waits: dict[str, Any] = {}                      # not done yet
        self.ends: dict[str, int] = {}                       # of waits, by name

    def checkpoint(self, durable_execution_arn: str, checkpoint_token: str, updates: list[Any], client_token: str | None) -> Any:
        answer = self.client.checkpoint(checkpoint_token, [Update(update.operation_id, body(update)) for update in updates])
        now = datetime.datetime.now(datetime.UTC)
        shown = {update.operation_id: self.wait(update, now) if update.wait_options else self.shown(update, now) for update in updates}
        for id in self.waits.keys() & set(answer.done):
            shown[id] = dataclasses.replace(self.waits.pop(id), status=service.OperationStatus.SUCCEEDED, end_timestamp=now)
        return service.CheckpointOutput(answer.token, service.CheckpointUpdatedExecutionState(list(shown.values())))

    def wait(self, update: Any, now: datetime.datetime) -> Any:
        end = self.ends[update.name] = self.client.ends[update.operation_id]
        details = service.WaitDetails(datetime.datetime.fromtimestamp(end / 1e9, datetime.UTC))
        self.waits[update.operation_id] = shown = service.Operation(
            update.operation_id, update.operation_type, service.OperationStatus.STARTED, update.parent_id, update.name, now, None, update.sub_type, wait_details=details
        )
        return shown

    def shown(self, update: Any, now: datetime.datetime) -> Any:
        ended = update.action is not service.OperationAction.START
        begun = self.begun.pop(update.operation_id, now) if ended else self.begun.setdefault(update.operation_id, now)
        details: dict[str, Any] = {}
        if update.operation_type is service.OperationType.STEP:
            details["step_details"] = service.StepDetails(int(ended), None, update.payload, update.error)
        elif update.operation_type is service.OperationType.CONTEXT:
            details["context_details"] = service.ContextDetails(False, update.payload, update.error)
        status = {"START": "STARTED", "SUCCEED": "SUCCEEDED", "FAIL": "FAILED"}[update.action.value]
        return service.Operation(
            update.operation_id, update.operation_type, service.OperationStatus(status), update.parent_id, update.name, begun, now if ended else None, update.sub_type, **details
        )

    def get_execution_state(self, durable_execution_arn: str, checkpoint_token: str, next_marker: str, max_items: int = 1000) -> Any:
        return service.StateOutput([], None)


def body(update: Any) -> bytes:
    return (f'{{"wait": {update.wait_options.wait_seconds}}}' if update.wait_options else f"{update.action.value} {update.payload or ''}").encode()


class _Invocation:
    """What the platform hands to a handler."""

    aws_request_id, log_group_name, log_stream_name, function_name, function_version = "request", "group", "stream", "function", "1"
    memory_limit_in_mb, invoked_function_arn, tenant_id, client_context, identity = "1024", "arn:aws:lambda:us-east-1:1:function:function", None, None, None

    def get_remaining_time_in_millis(self) -> int:
        return 900_000

    def log(self, message: str) -> None:
        pass


def run(client: Client, handler: Callable[[Any], None]) -> tuple[float, Live]:
    """The seconds that the handler took, and what it was shown."""
    logging.getLogger("aws_durable_execution_sdk_python").setLevel(logging.CRITICAL)
    taken: list[float] = []
    seen = Live(client)

    def timed(event: Any, context: Any) -> None:
        begun = time.monotonic()
        handler(context)
        taken.append(time.monotonic() - begun)

    execution = service.Operation(EXECUTION, service.OperationType.EXECUTION, service.OperationStatus.STARTED, execution_details=service.ExecutionDetails("{}"))
    result = package.durable_execution(timed)(DurableExecutionInvocationInputWithClient(
        durable_execution_arn=f"arn:x/{EXECUTION}", checkpoint_token="token-0", initial_execution_state=InitialExecutionState([execution], ""),
        updated_operation_ids=[], service_client=seen), _Invocation())  # fmt: skip
    if result["Status"] != "SUCCEEDED":
        raise RuntimeError(f"the invocation ended so: {result}")
    return taken[0], seen


def fan_out(client: Client, branches: int, flat: bool = False, at_once: int | None = None) -> float:
    settings = config.ParallelConfig(max_concurrency=at_once, nesting_type=config.NestingType.FLAT if flat else config.NestingType.NESTED)
    return run(client, lambda context: context.parallel([lambda inner: inner.step(lambda _: None, name="s")] * branches, name="p", config=settings))[0]


def waves(client: Client, number: int, long: float, wait: int) -> tuple[float, list[float]]:
    """Also the seconds by which each wait went on after it was due."""
    went_on: dict[str, float] = {}

    def waits(context: Any, name: str) -> None:
        context.wait(config.Duration.from_seconds(wait), name=name)
        went_on[name] = time.time()

    def inner(context: Any, i: int) -> None:
        context.parallel([lambda branch: branch.step(lambda _: time.sleep(long), name="long"), lambda branch: waits(branch, f"w{i}")], name="in")

    took, seen = run(client, lambda context: context.parallel([lambda branch, i=i: inner(branch, i) for i in range(number)], name="out"))
    return took, [went_on[name] - end / 1e9 for name, end in seen.ends.items()]
