"""What a law is, and how a function becomes one, as `rules` has it of rules. Each mechanism has laws of its own: `laws`, `batching_laws`, `spin_laws`."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, ParamSpec

from slotwise.spec.rules import called_through

P = ParamSpec("P")
Saw = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Law:
    id: str
    prose: str
    source: str
    function: str


class Broken(NamedTuple):
    law: str
    message: str


#: How a law is called: so that what is broken has its name.
ASKED = """
def called({parameters}):
    _message = _function({parameters})
    return None if _message is None else _broken(_id, _message)
"""


def law(id: str, *, source: str, laws: dict[str, Law]) -> Callable[[Callable[P, str | None]], Callable[P, Broken | None]]:
    """Register a function as law `id` among `laws`, those of a mechanism. Its docstring is the sentence; it returns what is broken, in words, or None."""

    def register(function: Callable[P, str | None]) -> Callable[P, Broken | None]:
        if id in laws or not function.__doc__:
            raise TypeError(f"law {id} is named twice, or has no sentence")
        laws[id] = Law(id, " ".join(function.__doc__.split()), source, f"{function.__module__}.{function.__qualname__}")

        return called_through(ASKED, function, _broken=Broken, _id=id)

    return register
