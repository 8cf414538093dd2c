"""The rule registry. A rule is recorded when it *decides* something: an effect when it runs, a refusal when it refuses.

The registry is this module object's own: a second copy of the spec (a mutant, say) that is loaded with a second copy of this
module has rules and decisions of its own.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

EVERY = ("strict", "bounded-borrow", "slot-time")
#: The data-designer family: both of its policies.
BORROWING = ("bounded-borrow",)
TAGGED = ("strict", "bounded-borrow")
STRICT = ("strict",)
SLOT_TIME = ("slot-time",)
#: Batching: both disciplines, and each.
BATCHING = ("look-ahead", "aws-durable")
LOOK_AHEAD = ("look-ahead",)
SHIPPED = ("aws-durable",)
#: Spinning: every policy of the window, and each.
SPIN = ("ratchet", "fixed", "break-even", "average", "guarded")
RATCHET = ("ratchet",)
FIXED = ("fixed",)
BREAK_EVEN = ("break-even",)
AVERAGE = ("average",)
GUARDED = ("guarded",)
Where = Literal["step", "program"]


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    prose: str
    source: str
    disciplines: tuple[str, ...]     # it belongs to; reports and floors list it only there
    switch: str | None               # of the profile (or a parameter of its discipline), without which it never decides
    function: str
    line: int
    off: str | None = None           # switch or parameter with which it never decides
    where: Where = "step"            # it decides: in a step of the model, or in the program that plays scenarios

    @property
    def family(self) -> str:
        return self.id.partition("-")[0]

    @property
    def number(self) -> int:
        return int(self.id.partition("-")[2])

    def of(self, profile: Any) -> bool:
        """Can it decide under the profile?"""
        return profile.discipline.__struct_config__.tag in self.disciplines and (self.switch is None or _on(profile, self.switch)) and not (self.off and _on(profile, self.off))


def _on(profile: Any, switch: str) -> bool:
    return bool(getattr(profile, switch, False) or getattr(profile.discipline, switch, False))


RULES: dict[str, Rule] = {}
decided: list[str] = []              # since the last step began
played: Counter[str] = Counter()     # of those that decide in the program: how often, since the last play began


def _count(id: str) -> None:
    played[id] += 1


def called_through(text: str, function: Callable[P, Any], **names: Any) -> Callable[P, Any]:
    """A function as `text` has it: with the parameters of another, which it calls. (Written out, for passing on whatever comes, as
    `*args, **kwargs`, costs more than most rules do.) The `names` that it uses begin with _, so that no parameter is called so."""
    code = function.__code__
    exec(text.format(parameters=", ".join(code.co_varnames[:code.co_argcount])), names := {**names, "_function": function})
    names["called"].__defaults__ = function.__defaults__
    return wraps(function)(names["called"])


#: How a rule is called: so that it is recorded when it decides.
APPLIED = """
def called({parameters}):
    _result = _function({parameters})
    if _result is not None:
        _record(_id)
    return _result
"""


def rule(id: str, *, source: str, of: tuple[str, ...] = EVERY, switch: str | None = None, off: str | None = None,
         where: Where = "step") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a function as rule `id`. A call is recorded unless it returns None: a refusal that does not refuse did not decide."""

    def register(function: Callable[P, R]) -> Callable[P, R]:
        if id in RULES or not function.__doc__:
            raise TypeError(f"rule {id} is named twice, or has no sentence")
        code = function.__code__
        RULES[id] = Rule(id, " ".join(function.__doc__.split()), source, of, switch, f"{function.__module__}.{function.__qualname__}", code.co_firstlineno, off, where)
        record = decided.append if where == "step" else _count
        return called_through(APPLIED, function, _record=record, _id=id)

    return register
