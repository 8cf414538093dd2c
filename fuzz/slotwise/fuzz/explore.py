"""The explorer: every order in which a few commands can come, breadth-first, over canonical states.

A *scope* is a set-up, a list of moves, each with how often it may come, and the instants at which they may. From each state that is new
every move is tried, on the reference, on the target beside it where there is one, and under the laws and the invariants. A state is known
again by what the reference says of it (or what a scope finds essential in that), and by the moves that are left. If nothing is new any more, the
scope is *closed*: it holds for every order of its moves.
"""
from __future__ import annotations

import pickle
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from msgspec.structs import replace as changed

from slotwise.fuzz import exits
from slotwise.fuzz.judges import Finding, compared, described, first_difference
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.reference import Reference
from slotwise.fuzz.report import EXITS, Failure
from slotwise.fuzz.searches import SEARCHES, search_of
from slotwise.fuzz.target import HasAudit, HasClone, HasState, Target, TargetError
from slotwise.spec.vocabulary import Observation, State

SCOPES = ("tiny", "small")


@dataclass(frozen=True, slots=True)
class Scope:
    profile: Any
    setup: Any                                       # as targets are given it
    moves: tuple[tuple[Any, int], ...]               # each with how often it may come; 0: always
    instants: tuple[int, ...] = (0,)                 # time goes from each to the next, or stays
    essence: Callable[[State], object] = lambda state: state       # by which a state is known again


@dataclass(slots=True)
class Explored:
    """What came of a scope."""

    mechanism: str
    profile: str
    scope: str
    target: str
    lockstep: bool                                   # the target was compared with the reference
    states: int = 1
    steps: int = 0
    depth: int = 0                                   # of the deepest new state, in commands
    closed: bool = False
    seconds: float = 0.0
    hazards: Counter[str] = field(default_factory=Counter)
    failure: Failure | None = None

    @property
    def exit(self) -> int:
        return exits.CLEAN if self.failure is None else EXITS[self.failure.kind]

    def to_json(self) -> dict[str, object]:
        return {
            "mechanism": self.mechanism, "profile": self.profile, "scope": self.scope, "target": self.target, "lockstep": self.lockstep, "states": self.states, "steps": self.steps, "depth": self.depth,
            "closed": self.closed, "seconds": round(self.seconds, 3), "hazards": sorted(self.hazards), "divergences": [] if self.failure is None else [{"kind": self.failure.kind, "rule": self.failure.rule}],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Node:
    """A state that was reached, and how."""

    frozen: bytes                                    # the reference and the judge
    twin: Any                                        # the target in that state
    before: Node | None
    command: Any
    left: tuple[int, ...]                            # of the moves; -1: always
    depth: int

    @property
    def now(self) -> int:
        return 0 if self.command is None else int(self.command.at)

    def path(self) -> list[Any]:
        return [*self.before.path(), self.command] if self.before else []


def scope_of(profile: Any, size: str) -> Scope:
    """Raises TargetError where a mechanism has no scopes."""
    search = search_of(profile)
    try:
        scopes: ModuleType = import_module(f"slotwise.fuzz.scopes{search.ending}")
    except ModuleNotFoundError:
        raise TargetError(f"explore: there are no scopes of {search.name} yet") from None
    scope: Scope = scopes.scope(profile, size)
    return scope


def explored(mechanism: str) -> bool:
    """Are there scopes of it?"""
    try:
        return bool(import_module(f"slotwise.fuzz.scopes{SEARCHES[mechanism].ending}"))
    except ModuleNotFoundError:
        return False


class Explorer:
    def __init__(self, target: Target, profile: Any, size: str, most: int | None = None, told: Callable[[Explored], None] | None = None) -> None:
        self.target, self.scope, self.most, self.told = target, scope_of(profile, size), most, told
        self.search = search_of(profile)
        self.found = Explored(self.search.name, profile.name, size, target.name, compared(target, profile))
        self.hazards = self.search.mechanism.hazards(profile)
        self.broken, self.transition = _invariants(self.search.name)
        self.known: set[object] = set()

    def run(self) -> Explored:
        begun = time.perf_counter()
        scope = self.scope
        reference, judge = Reference(scope.profile, scope.setup), self.search.mechanism.new_judge(scope.profile, scope.setup)
        twin = self.target.make(scope.profile, scope.setup) if self.found.lockstep else None
        left = tuple(most or -1 for _, most in scope.moves)
        front = [Node(_frozen(reference.model, judge), twin, None, None, left, 0)]
        self.known.add(self.key(reference.state(), left))
        while front and self.found.failure is None and (self.most is None or front[0].depth < self.most):
            front = self.ring(front)
            self.found.seconds = time.perf_counter() - begun
            if self.told:
                self.told(self.found)
        self.found.closed = not front and self.found.failure is None
        return self.found

    def key(self, state: State, left: tuple[int, ...]) -> object:
        return hash(repr(self.scope.essence(state))), left

    def ring(self, front: Sequence[Node]) -> list[Node]:
        """The new states one command further on."""
        further: list[Node] = []
        for node in front:
            passed = self.scope.instants.index(node.now)
            for at in self.scope.instants[passed : passed + 2]:
                for number, (command, _) in enumerate(self.scope.moves):
                    if node.left[number] and (new := self.step(node, changed(command, at=at), number)):
                        further.append(new)
                    if self.found.failure:
                        return []
        return further

    def step(self, node: Node, command: Any, number: int) -> Node | None:
        found = self.found
        model, judge = pickle.loads(node.frozen)     # our own, of a moment ago
        reference = Reference.of(self.scope.profile, model)
        before = reference.state()
        expected = reference.step(command)
        state = reference.state()
        found.steps += 1
        twin = node.twin
        if twin is not None:
            twin = self.follow(node, twin, command, expected, state)
            if twin is None:
                return None
        for law, message in self.wrong(judge, command, expected, before, state):
            if law in self.hazards:
                found.hazards[law] += 1
            else:
                self.fail(node, "law", law, command, expected, expected, message)
                return None
        left = tuple(most - 1 if i == number and most > 0 else most for i, most in enumerate(node.left))
        key = self.key(state, left)
        if key in self.known:
            return None
        self.known.add(key)
        found.states, found.depth = found.states + 1, node.depth + 1
        return Node(_frozen(reference.model, judge), twin, node, command, left, node.depth + 1)

    def wrong(self, judge: Any, command: Any, saw: list[Observation], before: State, after: State) -> list[tuple[str, str]]:
        laws = [(broken.law, broken.message) for broken in judge.step(command, saw)]
        return laws + (self.broken(self.transition(self.scope.profile, self.scope.setup, before, command, saw, after)) if self.broken else [])

    def follow(self, node: Node, twin: Any, command: Any, expected: list[Observation], state: State) -> Any:
        """The target does the same, on a copy of itself; None if it does not."""
        if isinstance(twin, HasClone):
            twin = twin.clone()
        else:
            twin = self.target.make(self.scope.profile, self.scope.setup)
            for earlier in node.path():
                twin.step(earlier)
        try:
            seen = twin.step(command)
        except Exception as error:
            self.fail(node, "crash", "crash", command, expected, None, f"the target failed: {described(error)}")
            return None
        if seen != expected:
            self.fail(node, "divergence", "", command, expected, seen, first_difference(expected, seen))
            return None
        theirs = twin.state() if isinstance(twin, HasState) else {}
        keys = [key for key in state if key in theirs and theirs[key] != state[key]]
        if keys:
            self.fail(node, "divergence", keys[0], command, expected, seen, f"the same was seen, but the states differ in {', '.join(keys)}", (state, theirs))
            return None
        if isinstance(twin, HasAudit) and (lines := twin.audit()):
            self.fail(node, "audit", "audit", command, expected, seen, f"audit: {lines[0]}")
            return None
        return twin

    def fail(self, node: Node, kind: str, rule: str, command: Any, expected: Any, seen: Any, message: str, states: tuple[State, State] | None = None) -> None:
        scope, commands = self.scope, (*node.path(), command)
        if kind == "divergence":
            rule = self.blame(commands, expected, seen, rule)
        finding = Finding(kind, rule, len(commands) - 1, commands, expected, seen, message, states)
        trace = recorded(self.target, scope.profile, scope.setup, commands)
        self.found.failure = Failure(finding, scope.profile, scope.setup, self.target.name, None, trace, trace)

    def blame(self, commands: Sequence[Any], expected: Any, seen: Any, key: str) -> str:
        blame, scope = self.search.blame, self.scope
        if not key:
            return str(blame.blamed(self.target, scope.profile, scope.setup, commands, expected, seen))
        reference = Reference(scope.profile, scope.setup)
        for command in commands:
            reference.step(command)
        return str(blame.blamed_for_state([key], list(reference.decided)))


def _frozen(model: Any, judge: Any) -> bytes:
    return pickle.dumps((model, judge), pickle.HIGHEST_PROTOCOL)


def _invariants(mechanism: str) -> tuple[Any, Any]:
    """Of a mechanism that has some: what is broken by a transition, and the class of that."""
    name = {"admission": "invariants", "spin": "spin_invariants"}.get(mechanism)
    if name is None:
        return None, None
    module = import_module(f"slotwise.spec.{name}")
    return module.broken, module.Transition


def explore(target: Target, profile: Any, size: str = "tiny", *, depth: int | None = None, told: Callable[[Explored], None] | None = None) -> Explored:
    """Every order of the moves of a scope, or as far as `depth` commands. Raises TargetError where a mechanism has no scopes."""
    return Explorer(target, profile, size, depth, told).run()
