"""The checkpoint collector of `aws-durable-execution-sdk-python` as a target: its own loop and its own producers' checks, command by command.

The loop runs on a thread that stands still but for a pump, or an answer. It stops where it would block (at a read of its queue, at a request, at the fetch
of a page), and after an answer where it looks for the stop before it collects again: there is where a driver pumps. Where they are not the matter, what
surrounds the loop is ours: the queue, the clock, the events that callers wait for, the service. Its times are nanoseconds, not doubles: of a double's
sums nothing is to be learned, since a real read ends late anyway. An item is as large as its command says, and not as its JSON text.
"""
from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz.target import Target, TargetError
from slotwise.fuzz.upstream.virtual import Aside, Queue, Seconds, instead, nanoseconds
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.vocabulary import Observation, State

try:
    from aws_durable_execution_sdk_python import state as package
    from aws_durable_execution_sdk_python.exceptions import BackgroundThreadError, OrphanedChildException, SuspendExecution
    from aws_durable_execution_sdk_python.lambda_service import CheckpointOutput, CheckpointUpdatedExecutionState, OperationAction, OperationType, OperationUpdate, StateOutput
    from aws_durable_execution_sdk_python.plugin import PluginExecutor
except ImportError as error:
    raise TargetError(f"aws-durable cannot be loaded ({error}): install slotwise[upstream]") from error

VERSION = version("aws-durable-execution-sdk-python")
_NUMBERS = tuple(map(int, VERSION.split(".")[:3]))
#: Before 2.0.1 no refreshes were scheduled; 2.0.1 itself treats an answer without a token in a way of its own.
BEFORE = _NUMBERS < (2, 0, 1)
OWN = v.PROFILES["aws-durable-2.0.0" if BEFORE else "aws-durable-3.0.0"]
WHY = {"Parent": "orphaned", "Execution": "completed", "Checkpointing": "stopped"}       # the first word of an orphan's error
logging.getLogger("aws_durable_execution_sdk_python").setLevel(logging.CRITICAL)        # a failing service is nothing to be told of


def claims(profile: v.Profile) -> bool:
    """That of the version that is installed, with any limits."""
    known = OWN.discipline
    if _NUMBERS < (2, 1) and not BEFORE:
        return False
    return changed(profile, name=OWN.name, discipline=changed(profile.discipline, bytes=known.bytes, updates=known.updates, collection=known.collection)) == OWN


class Event:
    """What a caller waits for: here it goes on at once, and what it is told is kept."""

    def __init__(self, collector: Collector) -> None:
        self.collector, self.about = collector, collector.command
        self.told, self.error = False, None

    def set(self, error: Any = None) -> None:
        if not self.told:
            self.collector.told.append(self)
        self.told, self.error = True, self.error or error

    def is_set(self) -> bool:
        return self.told

    def wait(self, timeout: float | None = None) -> bool:
        if self.error is not None:
            raise self.error
        return self.told

    @property
    def outcome(self) -> str:
        match self.error:
            case None:
                return "ok"
            case OrphanedChildException():
                return "orphaned"
            case SuspendExecution():
                return "suspended"
            case BackgroundThreadError():
                return "failed"
        raise self.error


class Named(Queue):
    """Its items know which command they are of."""

    def __init__(self, collector: Collector) -> None:
        super().__init__(collector.block)
        self.collector = collector

    def put(self, item: Any) -> None:
        if isinstance(item, package.QueuedOperation):
            object.__setattr__(item, "about", self.collector.command)
        super().put(item)


class Stopped(threading.Event):
    """The first look at it after an answer waits for the driver."""

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self.collector = collector

    def is_set(self) -> bool:
        if self.collector.answered:
            self.collector.answered = False
            self.collector.loop.pause()
        return super().is_set()


class Collector:
    """The package's `ExecutionState`, and what it needs around it: it stands in for the service's client and for the module `time`, too."""

    def __init__(self, profile: v.Profile, setup: v.Setup) -> None:
        limits = profile.discipline
        config = package.CheckpointBatcherConfig(
            max_batch_size_bytes=limits.bytes, max_batch_time_seconds=limits.collection / v.SECOND, max_batch_operations=limits.updates)  # fmt: skip
        self.hint, self.now = setup.hint, 0
        self.command: Any = None                         # that is being done
        self.told: list[Event] = []                      # by it
        self.asked: list[tuple[v.Refresh, Any]] = []     # each with its handle
        self.out = ""                                    # what the loop waits for: "send" its answer, "fetch" a page
        self.answered = False                            # and the loop has not looked for the stop since
        with self.inside():
            self.state_ = package.ExecutionState("arn:x/execution", setup.token, {}, self, PluginExecutor(None), batcher_config=config)
            self.failed = self.state_._checkpointing_failed
        self.queue = self.state_._checkpoint_queue = Named(self)
        self.state_._checkpointing_stopped = Stopped(self)
        self.state_._collect_checkpoint_batch = self.collect
        self.state_._calculate_operation_size = lambda item: item.about.size if item.operation_update else 0
        self.batch: list[Any] = []
        self.loop = Aside(self.state_.checkpoint_batches_forever)

    def close(self) -> None:
        self.loop.close()

    def inside(self) -> AbstractContextManager[None]:
        """The package finds a clock and events here, while it does something for us."""
        return instead((package, {"time": self, "CompletionEvent": lambda: Event(self)}))

    def time(self) -> Seconds:
        return Seconds(self.now)

    def step(self, command: v.Command) -> list[Observation]:
        if command.at < self.now:
            return [("time_reversed", self.now)]
        self.now, self.command, self.told = command.at, command, []
        match command:
            case v.Submit() | v.Refresh():
                try:
                    with self.inside():
                        self.submit(command) if isinstance(command, v.Submit) else self.refresh(command)
                except (OrphanedChildException, SuspendExecution, BackgroundThreadError, NotImplementedError) as error:
                    return [("rejected", command.id, why(error))]
                return [("accepted", command.id)]
            case v.Cancel(id=id, owner=owner):
                for refresh, handle in self.asked:
                    if refresh.owner == owner if id is None else refresh.id == id:
                        handle.cancel()
            case v.Stop():
                self.state_.stop_checkpointing()
            case v.Pump() if self.loop.ended:
                return [("exit",)]
            case v.Pump():
                return [("sleep", None)] if self.out else self.go_on()
            case v.Respond() | v.Page() | v.Fail():
                word = str(type(command).__struct_config__.tag)
                if self.out not in {"respond": ("send",), "page": ("fetch",), "fail": ("send", "fetch")}[word]:
                    return [("unexpected", word)]
                self.answered = True
                return self.go_on()
        return []

    def submit(self, command: v.Submit) -> None:
        if command.empty:
            self.state_.create_checkpoint(None, is_sync=command.sync)
            return
        update = OperationUpdate(command.id, OperationType.EXECUTION if command.final else OperationType.STEP, OperationAction.SUCCEED, parent_id=command.parent)
        if command.ends:
            object.__setattr__(update, "operation_type", OperationType.CONTEXT)
        self.state_.create_checkpoint(update, is_sync=command.sync)
        if command.final:                                # of one that ends a context too: now the answer matters
            object.__setattr__(update, "operation_type", OperationType.EXECUTION)

    def refresh(self, command: v.Refresh) -> None:
        if BEFORE:
            raise NotImplementedError
        due = command.due if command.due is not None else command.at if command.key is None else command.key - self.hint
        self.asked.append((command, self.state_.schedule_refresh(Seconds(due))))

    def go_on(self) -> list[Observation]:
        """The loop, until it blocks or ends. What waits in its heap is told in order of time, after all else: the order within an instant says nothing."""
        heap = list(getattr(self.state_, "_pending_refreshes", ()))
        self.out = ""
        with self.inside():
            said = self.loop.go_on()
        told = [event for event in self.told if event is not self.failed]
        if told and heap:
            order = {entry[2].completion_event: number for number, entry in enumerate(sorted(heap), 1)}
            told.sort(key=lambda event: order.get(event, 0))
        self.answered = False
        if isinstance(self.command, v.Pump):
            said = said or ("exit",)
        if said:
            self.out = said[0] if said[0] in ("send", "fetch") else ""
        return [*(("settled", event.about.id, event.outcome) for event in told), *([said] if said else ())]

    # what the loop calls
    def block(self, ready: Callable[[], bool], seconds: Any) -> bool:
        until = self.now + nanoseconds(seconds)
        while not ready() and self.now < until:
            self.loop.pause(("sleep", until))
        return ready()

    def collect(self) -> Any:
        self.batch = package.ExecutionState._collect_checkpoint_batch(self.state_)
        return self.batch

    def checkpoint(self, durable_execution_arn: str, checkpoint_token: str, updates: list[Any], client_token: str | None) -> Any:
        events = [item.completion_event for item in self.batch]
        self.loop.pause(("send", [update.operation_id for update in updates], [event.about.id for event in events if event and isinstance(event.about, v.Refresh)], checkpoint_token))
        answer = self.answer()
        return CheckpointOutput(answer.token, CheckpointUpdatedExecutionState(next_marker=answer.marker))

    def get_execution_state(self, durable_execution_arn: str, checkpoint_token: str, next_marker: str, max_items: int = 1000) -> Any:
        self.loop.pause(("fetch", next_marker, checkpoint_token))
        return StateOutput([], self.answer().marker)

    def answer(self) -> Any:
        if isinstance(self.command, v.Fail):
            raise ConnectionError
        return self.command

    def state(self) -> State:
        """What can be read exactly, until the loop has ended."""
        state = self.state_
        if self.loop.ended:
            return {}
        found: State = {
            "now": self.now, "queue": [_item(item) for item in self.queue.items], "overflow": [_item(item) for item in state._overflow_queue.queue],
            "children": {parent: sorted(below) for parent, below in sorted(state._parent_to_children.items())}, "orphans": sorted(state._parent_done),
        }  # fmt: skip
        if not BEFORE:
            found["woken"] = int(state._refresh_wake_enqueued)
            asks = [(entry[0].count, entry[1] + 1, entry[2]) for entry in sorted(state._pending_refreshes)]
            found["heap"] = [[ask.completion_event.about.id, ask.completion_event.about.owner, due, number, int(ask.is_cancelled())] for due, number, ask in asks]
        return found


def why(error: BaseException) -> str:
    match error:
        case OrphanedChildException():
            return WHY[str(error).split()[0]]
        case SuspendExecution():
            return "revoked"
        case NotImplementedError():
            return "no_refresh"
    return "failed"


def _item(item: Any) -> list[object]:
    if not isinstance(item, package.QueuedOperation):
        return ["wake"]
    told, empty = item.about, item.operation_update is None
    return [told.id, 0 if empty else told.size, int(item.completion_event is not None), int(empty), int(told.final and not empty), 0]


TARGET = Target("aws-durable", Collector, claims=claims, mechanisms=("batching",))
