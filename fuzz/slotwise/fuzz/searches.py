"""How each mechanism is searched: what the walker, the judges and the shrinker need to know beside its specification.

What belongs to one mechanism alone stands in modules of its own, of the same names and contents but for an ending: `generate` (what to do
next), `blame` (which rule a difference comes down to), `simpler` (what is simpler than a command), `wording` (a command in words).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from msgspec.structs import replace as changed

from slotwise.spec import batching_vocabulary, spin_vocabulary
from slotwise.spec.mechanisms import MECHANISMS, Mechanism, mechanism_of
from slotwise.spec.trace import Trace


@cache
def _module(name: str) -> ModuleType:
    return import_module(f"slotwise.fuzz.{name}")


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    mechanism: Mechanism
    ending: str                                      # of the names of its modules here
    given: Callable[[Any], Any]                      # its setup, as targets are given it
    smallest: Any                                    # a setup that will do
    engine: str                                      # the class in `slotwise.impl`, and in its faulty twin
    make: Callable[..., Any]                         # (that class, profile, setup, with a fault perhaps) -> a stepper
    catalogue: str                                   # of the twin's seeded faults
    passes: tuple[str, ...]                          # of the shrinker, by name in `shrink_passes`: what may be left out
    own_book: bool                                   # the generator follows by itself; else it reads the judge's book
    unshrunk: Callable[[Any], Any] = lambda profile: profile      # a profile without the limits that an episode may have made smaller

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def generate(self) -> Any:
        return self._module("generate")

    @property
    def blame(self) -> Any:
        return self._module("blame")

    @property
    def simpler(self) -> Any:
        return self._module("simpler")

    @property
    def wording(self) -> Any:
        return self._module("wording")

    def _module(self, name: str) -> ModuleType:
        return _module(f"{name}{self.ending}")

    def known(self, profile: Any) -> bool:
        """Is it a built-in profile, but for smaller limits?"""
        own = self.mechanism.profiles.get(profile.name)
        return own is not None and (own == profile or self.unshrunk(own) == self.unshrunk(profile))


def _batcher(engine: Any, profile: Any, setup: batching_vocabulary.Setup, **fault: str) -> Any:
    return engine(profile, token=setup.token, hint=setup.hint, **fault)


def _unlimited(profile: batching_vocabulary.Profile) -> batching_vocabulary.Profile:
    return changed(profile, discipline=changed(profile.discipline, bytes=0, updates=1))


def _spinner(engine: Any, profile: Any, setup: Any, **fault: str) -> Any:
    return engine(profile, setup, **fault)


def _with_its_own_numbers(profile: spin_vocabulary.Profile) -> spin_vocabulary.Profile:
    """The generator draws smaller ones."""
    own: spin_vocabulary.Profile = import_module("slotwise.fuzz.generate_spin").unshrunk(profile)
    return own


def _searches() -> Mapping[str, Search]:
    admission = Search(
        MECHANISMS["admission"], "", lambda setup: dict(setup.capacity), {"r": 1}, "Admission", lambda engine, profile, setup, **fault: engine(profile, setup, **fault), "FAULTS",
        ("drop_groups", "drop_resources", "merge_all", "drop_lives", "drop_commands", "drop_tasks", "merge"), False,
    )  # fmt: skip
    batching = Search(
        MECHANISMS["batching"], "_batching", lambda setup: setup, batching_vocabulary.Setup(), "Batcher", _batcher, "BATCHING_FAULTS", ("drop_rounds", "drop_commands"), True, _unlimited,
    )  # fmt: skip
    spin = Search(
        MECHANISMS["spin"], "_spin", lambda setup: setup, spin_vocabulary.Setup(), "Spinner", _spinner, "SPIN_FAULTS", ("drop_rounds", "drop_commands", "join"), True, _with_its_own_numbers,
    )  # fmt: skip
    return {"admission": admission, "batching": batching, "spin": spin}


SEARCHES = _searches()


def search_of(profile: Any) -> Search:
    """Whose profile is it?"""
    return SEARCHES[mechanism_of(profile).name]


def set_up(trace: Trace) -> tuple[Any, Any]:
    """The profile of a trace, and its setup, as targets are given it."""
    return trace.header.profile, SEARCHES[trace.header.mechanism].given(trace.header.setup)
