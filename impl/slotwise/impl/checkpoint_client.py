"""What a `CheckpointBatcher` says to its client and to its callers: updates, answers, pages, and one named error for each way to be told no."""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Update(NamedTuple):
    """What a producer submitted, as the client sends it."""

    id: str
    body: bytes


class Answer(NamedTuple):
    """The service's answer to a request. `token` None: the execution is over, or this worker's right to it. `stamp`: of the service's clock
    (integer nanoseconds), when it handled the request; None if it does not tell. `done`: the operations that it shows done and that
    somebody may wait for (they are remembered for good). `marker`: of the next page, if there is one."""

    token: str | None
    stamp: int | None = None
    done: Sequence[str] = ()
    marker: str | None = None


class Page(NamedTuple):
    """Another page of an answer."""

    done: Sequence[str] = ()
    marker: str | None = None


class Client(Protocol):
    """The way to the service. Both are called one at a time: by the collector's own thread, or on top of a caller's stack, but never by the
    main thread; by the former only, if callers do not drive. Whatever they raise ends the collector, so it is they who try again, and they
    who give up after some time."""

    def checkpoint(self, token: str, updates: Sequence[Update]) -> Answer:
        """Make the updates durable, all of them or none, in their order. There may be none: then only the answer is wanted."""

    def fetch(self, marker: str, token: str) -> Page:
        """Another page of the answer."""


class CheckpointError(Exception):
    """An operation was not made durable, or a refresh not answered; `id` is its name."""

    says = "{id}: not durable"

    def __init__(self, id: str) -> None:
        super().__init__(self.says.format(id=id))
        self.id = id


class Orphaned(CheckpointError):
    says = "{id}: a context above it, or the execution, has ended, or the collector was stopped"


class Completed(CheckpointError):
    says = "{id}: the execution has ended"


class Suspended(CheckpointError):
    says = "{id}: this worker lost the right to the execution"


class Failed(CheckpointError):
    """`__cause__` is the first error of all, the same one for everybody."""

    says = "{id}: a request failed"


class Stopped(CheckpointError):
    says = "{id}: the collector was stopped"


class Cancelled(CheckpointError):
    says = "{id}: its refresh was cancelled"


class Duplicate(CheckpointError):
    says = "{id}: a refresh of it is already asked for"


class NoRefresh(CheckpointError):
    says = "{id}: this profile schedules no refreshes"


class Misuse(RuntimeError):
    """A call that can never end well; nothing was done."""


#: The error for each outcome and each reason of the vocabulary but `ok`.
ERRORS: dict[str, type[CheckpointError]] = {
    "orphaned": Orphaned, "completed": Completed, "suspended": Suspended, "revoked": Suspended, "failed": Failed, "stopped": Stopped,
    "cancelled": Cancelled, "duplicate": Duplicate, "no_refresh": NoRefresh,
}  # fmt: skip


def error_of(word: str, id: str, first: BaseException | None) -> CheckpointError:
    """A new error for that outcome or reason. `first` is the error that ended the collector, if one did."""
    error = ERRORS[word](id)
    if word == "failed":
        error.__cause__ = first
    return error
