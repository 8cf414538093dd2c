"""Targets by name. Whatever cannot be loaded is said in one line (`TargetError`)."""
from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from slotwise.fuzz import reference
from slotwise.fuzz.judges import described
from slotwise.fuzz.pipe import PREFIX, pipe_target
from slotwise.fuzz.searches import SEARCHES, search_of
from slotwise.fuzz.target import Stepper, Target, TargetError
from slotwise.spec.mechanisms import MECHANISMS

FAULTS = "native:faults/"
#: Spelling -> what it is.
NAMES = {
    "reference": "the rules themselves, judged by the laws",
    "native": "the engine",
    f"{FAULTS}NAME": "the engine's twin with one seeded fault",
    "trio": "the rules as a trio program",
    "data-designer": "the published data-designer-engine (extra `upstream`)",
    "aws-durable": "the published aws-durable-execution-sdk-python (extra `upstream`)",
    "MODULE:FACTORY": "yours: factory(profile, capacity) -> object with step(command); of batching, factory(profile, setup)",
    f"{PREFIX}COMMAND": "yours: a program that speaks JSON lines",
}


def load(name: str) -> Target:
    """Raises TargetError, also for a name that means nothing."""
    if name == "reference":
        return reference.TARGET
    if name == "native":
        return _engine(name, "slotwise.impl", "the engine is not built; `pip install .` builds it")
    if name.startswith(FAULTS):
        return _faulty(name)
    if name in ("data-designer", "aws-durable"):
        return _ready(name, f"slotwise.fuzz.upstream.{name.replace('-', '_')}", "install the extra `upstream`")
    if name == "trio":
        return Target(name, _attribute("slotwise.spec.player", "Replayed", name, "the program is not there"))
    if name.startswith(PREFIX):
        return pipe_target(name)
    module, colon, factory = name.partition(":")
    if colon and factory.isidentifier() and all(part.isidentifier() for part in module.split(".")):
        return custom(name, module, factory)
    raise TargetError(f"target {name}: no such target; there are {', '.join(NAMES)}")


def custom(name: str, module: str, factory: str) -> Target:
    """A user's own. `factory.mechanism` ("admission" if there is none), `factory.commands` and `factory.profiles` (names; none: judged by
    laws alone) are optional."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    make = _attribute(module, factory, name, "it must be importable from here")
    mechanism = getattr(make, "mechanism", "admission")
    if mechanism not in MECHANISMS:
        raise TargetError(f"target {name}: field `mechanism`: found {mechanism!r}; expected {' or '.join(MECHANISMS)}")
    commands, profiles = getattr(make, "commands", MECHANISMS[mechanism].commands), getattr(make, "profiles", ())
    return Target(name, _checked(name, make), known(name, commands, mechanism), claiming(profiles), (mechanism,))


def known(name: str, commands: Any, mechanism: str) -> frozenset[str]:
    """Raises TargetError for a word that is no command."""
    words, there_are = frozenset(commands), MECHANISMS[mechanism].commands
    if not words or words - there_are.keys():
        raise TargetError(f"target {name}: field `commands`: found {', '.join(map(str, sorted(words))) or 'nothing'}; expected some of {', '.join(there_are)}")
    return words


def claiming(profiles: Any) -> Callable[[Any], bool]:
    names = frozenset(profiles)
    return lambda profile: profile.name in names and search_of(profile).known(profile)


def _checked(name: str, make: Any) -> Callable[[Any, Any], Stepper]:
    def made(profile: Any, setup: Any) -> Stepper:
        try:
            stepper = make(profile, dict(setup) if isinstance(setup, dict) else setup)
        except Exception as error:
            raise TargetError(f"target {name}: cannot be set up: {described(error)}") from error
        if not callable(getattr(stepper, "step", None)):
            raise TargetError(f"target {name}: {type(stepper).__name__} has no step(command)")
        return _Tuples(stepper, name)

    return made


class _Tuples:
    """A stranger's scheduler: its answers become tuples, and what is no list of them is an error."""

    def __init__(self, inner: Any, name: str) -> None:
        self._inner, self._name = inner, name
        for optional in ("state", "audit", "close"):
            if callable(getattr(inner, optional, None)):
                setattr(self, optional, getattr(inner, optional))

    def step(self, command: Any) -> list[tuple[object, ...]]:
        return observations(self._inner.step(command), self._name)


def observations(answer: Any, name: str) -> list[tuple[object, ...]]:
    """An answer in lists or tuples. Raises TargetError if it is none."""
    if not isinstance(answer, (list, tuple)) or not all(isinstance(seen, (list, tuple)) and seen and isinstance(seen[0], str) for seen in answer):
        raise TargetError(f"target {name}: expected a list of observations, found {answer!r:.200}")
    return [tuple(seen) for seen in answer]


def _attribute(module: str, attribute: str, name: str, advice: str) -> Any:
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise TargetError(f"target {name}: {described(error)}; {advice}") from error


def _engine(name: str, module: str, advice: str) -> Target:
    engines = {mechanism: _attribute(module, search.engine, name, advice) for mechanism, search in SEARCHES.items()}
    return _any(name, engines)


def _faulty(name: str) -> Target:
    twins = {mechanism: _attribute("slotwise.fuzz._faulty", search.engine, name, "the faulty twin is not built; `pip install .` builds it") for mechanism, search in SEARCHES.items()}
    fault = name.removeprefix(FAULTS)
    try:
        twins["admission"](MECHANISMS["admission"].profiles["slotwise"], {"r": 1}, fault=fault)
    except ValueError as error:
        raise TargetError(f"target {name}: {described(error)}") from error
    return _any(name, twins, fault=fault)


def _any(name: str, engines: dict[str, Any], **fault: str) -> Target:
    """An engine of every mechanism; the profile tells which is wanted."""
    def made(profile: Any, setup: Any) -> Stepper:
        search = search_of(profile)
        stepper: Stepper = search.make(engines[search.name], profile, setup, **fault)
        return stepper

    return Target(name, made, mechanisms=tuple(SEARCHES))


def _ready(name: str, module: str, advice: str) -> Target:
    target = _attribute(module, "TARGET", name, advice)
    if not isinstance(target, Target):
        raise TargetError(f"target {name}: {module}.TARGET is no Target")
    return target


