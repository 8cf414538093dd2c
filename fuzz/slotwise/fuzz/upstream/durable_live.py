"""The published durable-execution SDK with real threads against the loopback service, for `bench_checkpoint`. Needs the package."""
from __future__ import annotations

import datetime
import logging
import time
from typing import Any

import aws_durable_execution_sdk_python as package
from aws_durable_execution_sdk_python import lambda_service as service
from aws_durable_execution_sdk_python.execution import DurableExecutionInvocationInputWithClient, InitialExecutionState

from slotwise.fuzz.loopback import HttpClient
from slotwise.impl.checkpoint import Update

VERSION = str(getattr(package, "__version__", "of unknown version"))
EXECUTION = "execution-1"


class Live:
    """The package's client: the requests are those of our own, and what the service shows of a step or a context is made of its updates."""

    def __init__(self, client: HttpClient) -> None:
        self.client = client
        self.begun: dict[str, Any] = {}

    def checkpoint(self, durable_execution_arn: str, checkpoint_token: str, updates: list[Any], client_token: str | None) -> Any:
        answer = self.client.checkpoint(checkpoint_token, [Update(update.operation_id, f"{update.action.value} {update.payload or ''}".encode()) for update in updates])
        now = datetime.datetime.now(datetime.UTC)
        shown = {update.operation_id: self.shown(update, now) for update in updates}
        return service.CheckpointOutput(answer.token, service.CheckpointUpdatedExecutionState(list(shown.values())))

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


class _Invocation:
    """What the platform hands to a handler."""

    aws_request_id, log_group_name, log_stream_name, function_name, function_version = "request", "group", "stream", "function", "1"
    memory_limit_in_mb, invoked_function_arn, tenant_id, client_context, identity = "1024", "arn:aws:lambda:us-east-1:1:function:function", None, None, None

    def get_remaining_time_in_millis(self) -> int:
        return 900_000

    def log(self, message: str) -> None:
        pass


def _invoke(client: HttpClient, body: Any) -> float:
    """Seconds that the handler took."""
    logging.getLogger("aws_durable_execution_sdk_python").setLevel(logging.CRITICAL)
    taken: list[float] = []

    def run(event: Any, context: Any) -> None:
        begun = time.monotonic()
        body(context)
        taken.append(time.monotonic() - begun)

    execution = service.Operation(EXECUTION, service.OperationType.EXECUTION, service.OperationStatus.STARTED, execution_details=service.ExecutionDetails("{}"))
    result = package.durable_execution(run)(DurableExecutionInvocationInputWithClient(
        durable_execution_arn=f"arn:x/{EXECUTION}", checkpoint_token="token-0", initial_execution_state=InitialExecutionState([execution], ""),
        updated_operation_ids=[], service_client=Live(client)), _Invocation())  # fmt: skip
    if result["Status"] != "SUCCEEDED":
        raise RuntimeError(f"the invocation ended so: {result}")
    return taken[0]


def steps(client: HttpClient, number: int) -> float:
    def body(context: Any) -> None:
        for i in range(number):
            context.step(lambda _: None, name=f"s{i}")

    return _invoke(client, body)


def fan_out(client: HttpClient, branches: int) -> float:
    def body(context: Any) -> None:
        context.parallel([lambda inner: inner.step(lambda _: None, name="s")] * branches, name="p")

    return _invoke(client, body)
