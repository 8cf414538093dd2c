"""Mutants of the spec: the rules with one small mistake, each a fresh copy of the rule modules beside the real ones.

A mutant changes one expression or deletes one statement inside a function of a rule module. Not changed: docstrings, annotations,
decorators, strings, `state` (how a scheduler is looked at, not what it does), and returns that no caller reads (they only say that
a rule decided). The copies share the vocabulary, so that the same commands go to both; everything else is theirs alone, the rule
registry included.
"""
from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from slotwise.spec.mechanisms import MECHANISMS, Mechanism

PACKAGE = "slotwise.spec"
#: In the order in which they import each other.
COPIED = MECHANISMS["admission"].rules
MUTATED = COPIED[1:]
NOT_MUTATED = {"state", "bits", "_item", "_waiter", "_worker", "_memory", "_kept"}
#: Turns of the `while` loops of a mutant in one step, before it is given up as endless.
MOST_TURNS = 10_000

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
COMPUTED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv,), ast.FloorDiv: (ast.Mult,), ast.Div: (ast.Mult,), ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,), ast.BitOr: (ast.BitAnd,), ast.BitAnd: (ast.BitOr,), ast.Mod: (ast.Mult,),
}  # fmt: skip
CALLED = {"max": "min", "min": "max", "any": "all", "all": "any"}
DELETED = (ast.Assign, ast.AugAssign, ast.Delete, ast.Expr, ast.Return, ast.Continue)


class Endless(RuntimeError):
    """A mutant went round a loop too often in one step."""


@dataclass(frozen=True, slots=True)
class Mutant:
    module: str
    function: str
    line: int
    rule: str                    # the rule whose function it is in; of a helper, the function
    was: str                     # the statement (of a compound one, its first line) before and after
    now: str
    twin: int                    # 1; more where the function has the same statement again
    node: int                    # which node of the module, in the order of `ast.walk`
    choice: int                  # which of the changes of that node

    @property
    def key(self) -> str:
        """Names it for as long as its statement stays as it is, wherever it moves in the file."""
        again = f" (#{self.twin})" if self.twin > 1 else ""
        return f"{self.module}.{self.function}: {self.was} -> {self.now}{again}"


def _path(module: str) -> Path:
    return Path(str(import_module(f"{PACKAGE}.{module}").__file__))


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(_path(module).read_text("utf-8"))


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node, without regard to where it stands."""
    match node:
        case ast.Compare(left, [operator], [right]):
            for other in COMPARED[type(operator)]:
                yield ast.Compare(left, [other()], [right])
        case ast.Compare(left, operators, rights):                    # a < b < c: each operator in turn
            for i, operator in enumerate(operators):
                for other in COMPARED[type(operator)]:
                    yield ast.Compare(left, [*operators[:i], other(), *operators[i + 1:]], rights)
        case ast.BinOp(left, operator, right):
            for another in COMPUTED.get(type(operator), ()):
                yield ast.BinOp(left, another(), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(ast.And() if isinstance(operator, ast.Or) else ast.Or(), values)
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1:]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(operator, rest)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as number):
            yield ast.Constant(number + 1)
            if number > 0:
                yield ast.Constant(number - 1)
        case ast.Call(ast.Name(name), arguments, keywords) if name in CALLED:
            yield ast.Call(ast.Name(CALLED[name], ast.Load()), arguments, keywords)
        case ast.IfExp(test, body, otherwise):
            yield ast.IfExp(test, otherwise, body)
        case ast.If(test, body, otherwise2):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, otherwise2)
        case ast.comprehension(target, iterated, [_, *_], is_async):
            yield ast.comprehension(target, iterated, [], is_async)
        case ast.Return(value) if value is not None and not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))
        case _:
            pass
    if isinstance(node, DELETED) and not _binds(node):
        yield ast.Pass()


def _binds(node: ast.stmt) -> bool:
    """Without a statement that gives names their values, the next would only fail at once."""
    names = [name for target in node.targets for name in (target.elts if isinstance(target, ast.Tuple) else [target])] if isinstance(node, ast.Assign) else []
    return bool(names) and all(isinstance(name, ast.Name) for name in names)


@dataclass(slots=True)
class _Place:
    function: str
    rule: str
    statement: ast.stmt
    last: bool                   # nothing of the function comes after it


def _rule_of(function: ast.FunctionDef) -> str | None:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "rule":
            return str(ast.literal_eval(decorator.args[0]))
    return None


def _places(module: str) -> dict[ast.AST, _Place]:
    """The nodes that may be changed, each with the function and statement it stands in."""
    found: dict[ast.AST, _Place] = {}
    unread = _unread(next(mechanism.rules[1:] for mechanism in MECHANISMS.values() if module in mechanism.rules[1:]))

    def enter(node: ast.AST, name: str, rule: str, statement: ast.stmt, last: bool) -> None:
        if isinstance(node, ast.Return) and name.split(".")[-1] in unread:
            return
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return
        found[node] = _Place(name, rule, statement, last)
        for label, value in ast.iter_fields(node):
            if label in ("annotation", "returns", "decorator_list", "ctx"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt):
                    enter(child, name, rule, child, last and child is value[-1] and isinstance(node, ast.Match | ast.match_case))
                elif isinstance(child, ast.AST):
                    enter(child, name, rule, statement, last)

    def functions(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and not any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
                functions(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef) and node.name not in NOT_MUTATED:
                name = prefix + node.name
                for statement in node.body:
                    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                        enter(statement, name, _rule_of(node) or f"{module}.{name}", statement, statement is node.body[-1])

    functions(_tree(module).body, "")
    return found


@cache
def _unread(modules: tuple[str, ...]) -> frozenset[str]:
    """Functions of a mechanism whose every call stands alone: nobody reads what they return."""
    alone: set[str] = set()
    read: set[str] = set()
    for module in modules:
        statements = {node.value for node in ast.walk(_tree(module)) if isinstance(node, ast.Expr)}
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
                (alone if node in statements else read).add(name)
    return frozenset(alone - read)


def _first_line(statement: ast.stmt) -> str:
    return ast.unparse(statement).split("\n")[0]


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, change: ast.AST) -> None:
        self.node, self.change = node, change

    def visit(self, node: ast.AST) -> Any:
        return self.change if node is self.node else self.generic_visit(node)


def _changed(within: ast.AST, index: int, choice: int) -> Any:
    """A copy, with one of the changes made to the node of that number in the order of `ast.walk`."""
    within = copy.deepcopy(within)
    node = next(islice(ast.walk(within), index, None))
    return _Replace(node, next(islice(_changes(node), choice, None))).visit(within)


def mutants(modules: tuple[str, ...] = MUTATED) -> list[Mutant]:
    """All of them, in the order of the files. The list is the same in every run."""
    found: list[Mutant] = []
    for module in modules:
        places = _places(module)
        made: Counter[tuple[str, str, str]] = Counter()
        for index, node in enumerate(ast.walk(_tree(module))):
            if node not in places:
                continue
            place = places[node]
            inside = next(i for i, other in enumerate(ast.walk(place.statement)) if other is node)
            for choice, change in enumerate(_changes(node)):
                if isinstance(node, ast.Return) and isinstance(change, ast.Pass) and place.last:
                    continue                                              # the same as returning None
                was, now = _first_line(place.statement), _first_line(_changed(place.statement, inside, choice))
                made[place.function, was, now] += 1
                found.append(Mutant(module, place.function, place.statement.lineno, place.rule, was, now, made[place.function, was, now], index, choice))
    return sorted(found, key=lambda mutant: (modules.index(mutant.module), mutant.line, mutant.node, mutant.choice))


class _Bounded(ast.NodeTransformer):
    """Counts the turns of every `while` loop."""

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        turn = ast.Expr(ast.Call(ast.Name("__turn__", ast.Load()), [], []))
        return ast.While(node.test, [turn, *node.body], node.orelse)


@cache
def _unchanged(module: str) -> CodeType:
    return compile(ast.fix_missing_locations(_Bounded().visit(copy.deepcopy(_tree(module)))), str(_path(module)), "exec")


@dataclass(slots=True)
class Copy:
    """Rule modules of their own. `step` is like that of the mechanism; it raises Endless."""

    mechanism: Mechanism
    modules: dict[str, ModuleType]
    turns: int = 0

    @property
    def spec(self) -> ModuleType:
        return self.modules[self.mechanism.rules[-1]]

    def model(self, profile: object, setup: object) -> Any:
        return self.mechanism.make(self.spec, profile, self.mechanism.set_up(setup))

    def admission(self, profile: object, capacity: Mapping[str, int]) -> Any:
        return self.modules["admission"].admission(profile, dict(capacity))

    def step(self, model: Any, command: object) -> Any:
        self.turns = 0
        return self.spec.step(model, command)

    def state(self, model: Any) -> Any:
        return self.spec.state(model)

    def turn(self) -> None:
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise Endless


def load(mutant: Mutant | None = None, mechanism: str = "admission") -> Copy:
    """A fresh copy of the rule modules, with the mutant's change (and of its mechanism) or with none."""
    of = next((one for one in MECHANISMS.values() if mutant is not None and mutant.module in one.rules), MECHANISMS[mechanism])
    code = {module: _unchanged(module) for module in of.rules}
    if mutant is not None:
        tree = _changed(_tree(mutant.module), mutant.node, mutant.choice)
        code[mutant.module] = compile(ast.fix_missing_locations(_Bounded().visit(tree)), str(_path(mutant.module)), "exec")
    made = Copy(of, {})
    names = dict(vars(builtins)) | {"__import__": _importer(made.modules, of.rules), "__turn__": made.turn}
    for module in of.rules:
        found = ModuleType(f"{PACKAGE}.{module}")
        vars(found)["__builtins__"] = names
        made.modules[module] = found
        exec(code[module], vars(found))
    return made


def _importer(copied: dict[str, ModuleType], names: tuple[str, ...]) -> Callable[..., ModuleType]:
    """`import` as the copies see it: of the rule modules, the copies."""
    def find(name: str, globals: Any = None, locals: Any = None, fromlist: tuple[str, ...] = (), level: int = 0) -> ModuleType:
        if name.startswith(f"{PACKAGE}.") and name.rpartition(".")[2] in names:
            return copied[name.rpartition(".")[2]]
        found = builtins.__import__(name, globals, locals, fromlist, level)
        if name != PACKAGE:
            return found
        seen = ModuleType(PACKAGE)
        vars(seen).update({part: copied[part] if part in names else getattr(found, part) for part in fromlist})
        return seen

    return find
