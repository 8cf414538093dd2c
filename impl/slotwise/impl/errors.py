"""What the live scheduler raises of its own."""
from __future__ import annotations


class Refused(ValueError):
    """The engine does not accept the job; the message ends with its reason, a word of the vocabulary's `Refusal`."""


class Closed(RuntimeError):
    """The scheduler takes no more jobs: it drains, or has ended."""


class JobCancelled(Exception):
    """The job was cancelled. Its cause is what it raised instead of ending quietly, if it did."""


class Expired(TimeoutError):
    """The job was not over at its deadline. Its cause is as for JobCancelled."""


class Divergence(AssertionError):
    """The engine did not do what the specification does. `step` counts commands from 1, `rule` is the last that decided in the specification."""

    def __init__(self, step: int, rule: str, detail: str) -> None:
        super().__init__(f"step {step}: {rule}: {detail}")
        self.step, self.rule, self.detail = step, rule, detail
