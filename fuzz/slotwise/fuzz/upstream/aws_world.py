"""The whole published package in virtual time: a handler that does a scenario's work, its coordinators and branches, the collector, a service.

Every thread of the package is an `Aside`, and one of them runs at a time: whoever can go on, in turn or as a seed has it; time passes only when nobody
can. The collector goes last, as the driver's pump does in `batching_world`. The package is given other queues, events, pools and clocks by name; the
service is that of our own simulation, so only what the package does can differ.
"""
from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from random import Random
from types import SimpleNamespace
from typing import Any

from aws_durable_execution_sdk_python import exceptions, lambda_service, suspend
from aws_durable_execution_sdk_python import state as package
from aws_durable_execution_sdk_python import threading as events
from aws_durable_execution_sdk_python.concurrency import executor
from aws_durable_execution_sdk_python.config import CompletionConfig, Duration, NestingType, ParallelBranch, ParallelConfig, StepConfig, StepSemantics
from aws_durable_execution_sdk_python.context import DurableContext
from aws_durable_execution_sdk_python.plugin import PluginExecutor
from aws_durable_execution_sdk_python.retries import RetryDecision
from aws_durable_execution_sdk_python.waits import WaitForConditionConfig, WaitForConditionDecision
from msgspec.structs import replace

from slotwise.fuzz.upstream.aws_durable import OWN, VERSION
from slotwise.fuzz.upstream.virtual import Aside, Queue, Seconds, instead, nanoseconds
from slotwise.spec import batching_scenarios as work
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.batching_run import Call, Run
from slotwise.spec.batching_service import Backend, Operation, Update

STATUS = {"started": "STARTED", "pending": "PENDING", "ready": "READY", "succeeded": "SUCCEEDED", "failed": "FAILED"}
WAIT_STATUS = {"pending": "STARTED", "ready": "SUCCEEDED"}


class Again(Exception):
    """A step to be tried again."""


class Broken(Exception):
    """A step that fails for good."""


@dataclass(eq=False)
class Task:
    """A thread of the package: when it may go on."""

    aside: Aside
    last: bool = False                               # of those of an instant
    ready: Callable[[], bool] = lambda: True
    until: int | None = None


class World:
    def __init__(self, scenario: work.Scenario, seed: int | None = None, cut: int | None = None) -> None:
        self.scenario, self.horizon = scenario, scenario.horizon if cut is None else cut
        self.random = None if seed is None else Random(seed)
        self.now = 0
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.run = Run(scenario, OWN, f"aws-durable {VERSION}")
        self.backend = Backend(scenario.service)
        self.known: dict[str, Any] = {}              # the package's operations, by name
        self.tries: dict[str, int] = {}
        self.paused: set[str] = set()

    # threads and time
    def spawn(self, code: Callable[[], object], last: bool = False) -> Task:
        self.tasks.append(task := Task(Aside(code), last))
        return task

    def block(self, ready: Callable[[], bool] = lambda: False, seconds: Any = None) -> bool:
        """Until `ready`, or for so long. Called by whoever runs."""
        task = self.current
        assert task
        task.ready, task.until = ready, None if seconds is None else self.now + nanoseconds(seconds)
        if not ready() and (task.until is None or task.until > self.now):
            task.aside.pause()
        return ready()

    def play(self) -> Run:
        with instead(*self.names()):
            try:
                self.spawn(self.invocation)
                while self.turn():
                    pass
            finally:
                for task in self.tasks:
                    self.current = task
                    task.aside.close()
        self.run.ends = self.backend.ends
        return self.run

    def turn(self) -> bool:
        """One goes on. False: nobody can, before the horizon."""
        able = [task for task in self.tasks if task.ready()] or [task for task in self.tasks if task.until is not None and task.until <= self.now]
        if not able:
            times = [task.until for task in self.tasks if task.until is not None]
            if not times or min(times) > self.horizon:
                return False
            self.now = min(times)
            return True
        if self.random:
            task = self.random.choice(able)
        else:
            task = min(able, key=lambda task: task.last)
            self.tasks.remove(task)
            self.tasks.append(task)
        self.current = task
        task.aside.go_on()
        if task.aside.ended:
            self.tasks.remove(task)
        return True

    def names(self) -> list[tuple[Any, dict[str, Any]]]:
        """Whatever blocks or tells the time."""
        queues = SimpleNamespace(Queue=lambda: Queue(self.block), Empty=Empty)
        clock = SimpleNamespace(time=lambda: Seconds(self.now))
        dates = SimpleNamespace(datetime=SimpleNamespace(now=lambda tz: Seconds(self.now)), UTC=datetime.UTC)
        return [(package, {"queue": queues, "time": clock}), (executor, {"queue": queues, "time": clock, "ThreadPoolExecutor": lambda max_workers: Pool(self)}),
                (exceptions, {"time": clock}), (suspend, {"datetime": dates}), (events, {"Event": lambda: Event(self)})]  # fmt: skip

    # the invocation
    def invocation(self) -> None:
        state = package.ExecutionState("arn:x/execution", "token-0", {one.operation_id: one for one in self.earlier()}, self, PluginExecutor(None))
        status = package.ReplayStatus.REPLAY if self.scenario.earlier else package.ReplayStatus.NEW
        context = DurableContext.from_lambda_context(state=state, lambda_context=SimpleNamespace(aws_request_id="", tenant_id=None), replay_status=status)
        collector = self.spawn(lambda: self.collect(state), last=True)
        try:
            self.perform(context, self.scenario.work)
            self.run.result = "done"
        except exceptions.SuspendExecution as error:
            until = getattr(error, "scheduled_timestamp", None)
            self.run.result, self.run.until = ("refused", None) if until is None else ("suspended", nanoseconds(until))
        except exceptions.DurableOperationError:
            self.run.result = "failed"
        except (exceptions.BackgroundThreadError, exceptions.OrphanedChildException):
            self.run.result = "refused"
        self.run.handler = self.now
        state.close()
        self.block(lambda: collector.aside.ended)

    def collect(self, state: Any) -> None:
        state.checkpoint_batches_forever()
        self.run.exit = self.now

    def earlier(self) -> list[Any]:
        """Operations of an earlier invocation; how they are called, an invocation of the same handler tells."""
        if not self.scenario.earlier:
            return []
        before = World(replace(self.scenario, earlier=()), cut=v.SECOND)
        before.play()
        self.backend = Backend(self.scenario.service, self.scenario.earlier)
        self.known = {known.op: before.known[known.op] for known in self.scenario.earlier}
        return [self.operation(name, self.backend.operations[name]) for name in self.known]

    def perform(self, context: Any, works: Sequence[work.Work], path: str = "") -> None:
        for one in works:
            op = path + one.name
            match one:
                case work.Step():
                    decide = lambda error, attempt, one=one: RetryDecision(isinstance(error, Again), Duration(one.delay // v.SECOND))  # noqa: E731
                    semantics = StepSemantics.AT_MOST_ONCE_PER_RETRY if one.at_most_once else StepSemantics.AT_LEAST_ONCE_PER_RETRY
                    context.step(lambda _, op=op, one=one: self.step(op, one), name=op, config=StepConfig(retry_strategy=decide, step_semantics=semantics))
                case work.Poll():
                    wait = lambda done, attempt, one=one: WaitForConditionDecision(not done, Duration(one.delay // v.SECOND))  # noqa: E731
                    context.wait_for_condition(lambda _state, _context, op=op, one=one: self.poll(op, one), WaitForConditionConfig(wait, initial_state=False), name=op)
                case work.Wait():
                    context.wait(Duration(one.duration // v.SECOND), name=op)
                    self.reaches(op, 1)
                case work.Pause():
                    if op not in self.paused:
                        self.paused.add(op)
                        self.block(seconds=Seconds(one.duration))
                case work.Child():
                    context.run_in_child_context(lambda inner, op=op, one=one: self.perform(inner, one.work, f"{op}/"), name=op)
                case work.Parallel():
                    branches = [ParallelBranch(lambda inner, at=f"{op}.{i}/", some=some: self.perform(inner, some, at), name=f"{op}.{i}") for i, some in enumerate(one.branches)]
                    needed = None if one.needed is None else min(one.needed, len(branches))
                    completion = CompletionConfig(min_successful=needed, tolerated_failure_count=one.tolerated)
                    context.parallel(branches, name=op, config=ParallelConfig(one.at_once, completion, nesting_type=NestingType.FLAT if one.flat else NestingType.NESTED))

    def reaches(self, op: str, tries: int) -> None:
        self.run.reached.setdefault(f"{op}#{tries}", self.now)

    def step(self, op: str, one: work.Step) -> str:
        """User code."""
        tries = self.tries.setdefault(op, 0)
        self.reaches(op, tries)
        self.block(seconds=Seconds(one.body))
        if tries < one.retries:
            self.tries[op] += 1
            raise Again
        if one.fails:
            raise Broken("x" * one.size)
        return "x" * one.size

    def poll(self, op: str, one: work.Poll) -> bool:
        tries = self.tries.setdefault(op, 0)
        self.reaches(op, tries)
        self.block(seconds=Seconds(one.body))
        self.tries[op] += 1
        return tries >= one.in_vain

    # the service
    def checkpoint(self, durable_execution_arn: str, checkpoint_token: str, updates: list[Any], client_token: str | None) -> Any:
        service, number = self.scenario.service, len(self.run.calls) + 1
        self.run.calls.append(call := Call(self.now, len(updates), 0))
        assert checkpoint_token == f"token-{number - 1}"
        self.block(seconds=Seconds(service.out))
        self.known.update((update.name, update) for update in updates)
        answer = self.backend.handle([translated(update) for update in updates], self.now)
        call.in_vain = not updates and not answer.done
        self.block(seconds=Seconds(service.back))
        fate = service.fates.get(number)
        if fate == "fail":
            raise ConnectionError
        shown = lambda_service.CheckpointUpdatedExecutionState([self.operation(op, now) for op, now in answer.changes.items()], "page-2" if fate == "page" else None)
        return lambda_service.CheckpointOutput(None if fate == "no token" else f"token-{number}", shown)

    def get_execution_state(self, durable_execution_arn: str, checkpoint_token: str, next_marker: str, max_items: int = 1000) -> Any:
        self.block(seconds=Seconds(self.scenario.service.out + self.scenario.service.back))
        return lambda_service.StateOutput([], None)

    def operation(self, name: str, now: Operation) -> Any:
        """As the package knows it; from the update that was the last of it."""
        update, service = self.known[name], lambda_service
        kind, end = update.operation_type, None if now.end is None else Seconds(now.end)
        status = service.OperationStatus((WAIT_STATUS if kind is service.OperationType.WAIT else STATUS)[now.status])
        details: dict[str, Any] = {}
        if kind is service.OperationType.STEP:
            details["step_details"] = service.StepDetails(now.tries, end, update.payload, update.error)
        elif kind is service.OperationType.CONTEXT:
            details["context_details"] = service.ContextDetails(bool(update.context_options and update.context_options.replay_children), update.payload, update.error)
        else:
            details["wait_details"] = service.WaitDetails(end)
        return service.Operation(update.operation_id, kind, status, update.parent_id, name, sub_type=update.sub_type, **details)


def translated(update: Any) -> Update:
    if update.operation_type is lambda_service.OperationType.WAIT:
        return Update(update.name, "wait", update.wait_options.wait_seconds * v.SECOND)
    action: Any = update.action.value.lower()
    return Update(update.name, action, update.step_options.next_attempt_delay_seconds * v.SECOND if action == "retry" else 0)


class Event:
    def __init__(self, world: World) -> None:
        self.world, self.happened = world, False

    def set(self) -> None:
        self.happened = True

    def is_set(self) -> bool:
        return self.happened

    def wait(self, timeout: Any = None) -> bool:
        return self.world.block(self.is_set, timeout)


class Pool:
    """A thread for each task: a coordinator starts no more than its pool has."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.tasks: list[Task] = []

    def submit(self, code: Callable[..., object], *arguments: Any) -> None:
        def worker() -> None:
            with suppress(BaseException):            # its outcome is for a future that nobody looks at
                code(*arguments)

        self.tasks.append(self.world.spawn(worker))

    def shutdown(self, wait: bool = True, cancel_futures: bool = False) -> None:
        if wait:
            self.world.block(lambda: all(task.aside.ended for task in self.tasks))


def simulate(scenario: work.Scenario, seed: int | None = None) -> Run:
    """Play a scenario on the package."""
    return World(scenario, seed).play()
