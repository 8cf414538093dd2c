"""What to do next: the one generator for admission and queueing. Every search is a chooser behind it.

`begin` draws an episode's set-up and style, `draw` its next command from what is live; `drain` ends it in order. A chooser answers
`one_of(options, label)` and `integer(lo, hi)`. A label names a decision whose odds a chooser may tilt for a whole episode ("swarm"); an
option that stands there twice is twice as likely to begin with. Nothing else is random.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from slotwise.spec import vocabulary as v
from slotwise.spec.book import Book
from slotwise.spec.vocabulary import Claim, Command, Group, Profile, Task

T = TypeVar("T")


class Choose(Protocol):
    def one_of(self, options: Sequence[T], label: str, /) -> T: ...      # "": no label, all alike

    def integer(self, lo: int, hi: int, /) -> int: ...                   # both included


UNITS = (1, 1, 2, 2, 3, 4, 5, 8, 9, 16)
FEW = (1, 2, 2, 3)
MANY = (4, 5, 8, 9, 16)
RESOURCES = (("r",), ("submission", "llm"), ("r",), ("submission", "llm", "api"), ("r", "s"))
NUMBERS = (2, 2, 3, 3, 4, 1, 5)
WEIGHTS = (1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 0.5, 0.25, 0.0, 1.5, 1024.0, 1 / 16, 1 / 1024, 1 / 1024)
LIMITS = (None, None, None, 1, 2, 3, 8, 0)
TIMES = ("now",) * 6 + ("tick",) * 3 + ("short",) * 3 + ("long", "very long", "back")
SHAPES = ("unit",) * 5 + ("narrow", "wide", "whole", "other", "none", "too wide", "unlisted")
IDS = ("new",) * 10 + ("waiting", "started", "discarded", "discarded")
SPECS = ("none",) * 4 + ("same",) * 3 + ("new", "default", "limits")
SETTLED = ("none", "same")
MOST = ("all",) * 5 + ("one", "one", "two", "none")
LEASES = ("oldest",) * 4 + ("any",) * 4 + ("newest", "again", "unknown")
CLAIMS = ("none",) * 6 + ("right", "right", "other task", "other scheduler", "other needs")
VERSIONS = ("selected",) * 4 + ("other head",) * 2 + ("behind", "old", "unknown")
TASKS = ("waiting",) * 3 + ("head", "head", "last", "unknown", "started")
WHERE = ("group", "group", "prefix", "prefix", "both", "all", "nothing")
NEVER = 9_999                                            # no lease has that number


@dataclass(frozen=True, slots=True)
class Style:
    """What an episode looks like: which commands, whose tasks, how much backlog, and what follows what."""

    kinds: tuple[str, ...]
    quiet: bool = False              # all but the first group send little
    backlog: int = 5                 # of a group; beyond it, fewer tasks come
    then_pump: int = 2               # of 4: how often a release or an arrival is followed by a pump
    steady: bool = False             # time goes on with each release, and a group's backlog is topped up
    long: bool = False               # few groups, services alike, and many of them
    units: tuple[int, ...] = UNITS   # of a resource
    specs: tuple[str, ...] = SPECS   # how often a group is specified anew


MIXED = ("enqueue",) * 5 + ("pump",) * 4 + ("release",) * 6 + ("discard", "discard_where", "select", "select", "commit", "explain")
STEADY = ("release",) * 8 + ("enqueue",) * 2 + ("pump", "discard", "explain", "select")
STYLES = {
    "mixed": Style(MIXED),
    "flood": Style(STEADY, quiet=True, then_pump=4, steady=True),
    "wide": Style(STEADY, then_pump=3, steady=True),
    "loop": Style(STEADY, backlog=2, then_pump=4, steady=True),
    "starve": Style(("release",) * 16 + ("enqueue", "enqueue", "pump", "explain"), backlog=9, quiet=True, then_pump=4, steady=True, long=True, units=FEW, specs=SETTLED),
    "again": Style(STEADY, quiet=True, backlog=3, then_pump=4, steady=True, units=MANY, specs=("same", "new", "limits", "limits")),
    "queue": Style(("enqueue",) * 5 + ("discard",) * 4 + ("discard_where", "select", "select", "pump", "release", "explain", "commit"), then_pump=0),
}


@dataclass(slots=True)
class Model:
    """An episode under way. `book` is shared with whoever keeps it up to date: the judge, or `Book.update`."""

    profile: Profile
    capacity: dict[str, int]
    style: Style
    kinds: tuple[str, ...]
    commands: frozenset[str]
    groups: list[Group]
    shapes: dict[str, str]                               # group -> what its tasks mostly need
    span: int                                            # a short time, ns
    book: Book
    fresh: int = 0
    discarded: list[str] = field(default_factory=list)
    then: list[str] = field(default_factory=list)
    plain: bool = False                                  # no limits and no claims: what every scheduler has
    pumped: bool = False                                 # while draining

    @property
    def setup(self) -> dict[str, int]:
        return self.capacity

    @property
    def long(self) -> bool:
        """The episode is to be long."""
        return self.style.long


def begin(profile: Profile, commands: Collection[str], choose: Choose, *, vary: bool = False, plain: bool = False) -> Model:
    """Draw an episode's set-up. `vary`: the profile's parameters too. `plain`: neither limits nor claims. Raises ValueError if no such command is known."""
    known = frozenset(commands) & v.COMMANDS.keys()
    style = STYLES[choose.one_of(tuple(STYLES), "style")]
    kinds = tuple(kind for kind in style.kinds if kind in known) or tuple(sorted(known))
    if not kinds:
        raise ValueError(f"nothing to draw: none of {sorted(commands)} is a command")
    if vary:
        profile = varied(profile, choose)
    resources = choose.one_of(RESOURCES[:2] if style.long else RESOURCES, "resources")
    capacity = {resource: choose.one_of(style.units, "units") for resource in resources}
    names = ("a", "b", "c", "d", "e")[: choose.one_of(NUMBERS[:3] if style.long else NUMBERS, "groups")]
    groups = [group_of(name, choose, plain, alike=style.long) for name in names]
    shapes = {name: choose.one_of(("unit", "unit", "unit", "wide", "narrow", "other"), "") if style.steady else "" for name in names}
    return Model(profile, capacity, style, kinds, known, groups, shapes, choose.one_of((1, 4, 10, 10, 1000, 1_000_000_007), "span"), Book(capacity), plain=plain)


def varied(profile: Profile, choose: Choose) -> Profile:
    """The same discipline with other parameters."""
    few = (0, 1, 2, 3, 8)
    match profile.discipline:
        case v.SlotTime():
            discipline: v.Strict | v.BoundedBorrow | v.SlotTime = v.SlotTime(
                choose.one_of(few, ""), choose.one_of(few, ""), choose.one_of((1, 2, 8, 64), ""), choose.one_of(few, ""))
        case v.BoundedBorrow():
            ceilings = tuple(v.Ceiling(group, resource, choose.one_of(few, "")) for group in "ab" for resource in ("r", "llm") if choose.one_of((True, False, False), ""))
            discipline = v.BoundedBorrow(
                choose.one_of((0.0, 0.125, 0.5, 1.0), ""), choose.one_of((0, 1, 2), ""), choose.one_of((8, 1, 0), ""),
                choose.one_of(("ceil", "floor"), ""), choose.one_of((None, None, 0, 1, 3), ""), ceilings, choose.one_of((True, True, False), ""))
        case v.Strict():
            discipline = profile.discipline
    memory = choose.one_of((profile.released_memory, 0, 1, 3), "")
    return v.Profile(profile.name, discipline, memory, profile.accepts_the_impossible, profile.discarded_task_lingers, profile.idle_group_keeps_place)


def group_of(name: str, choose: Choose, plain: bool, alike: bool = False) -> Group:
    """`plain`: without limits. `alike`: all of one weight."""
    weight = 1.0 if alike else choose.one_of(WEIGHTS, "weight")
    if plain:
        return Group(name, weight)
    if alike:
        return Group(name, weight, choose.one_of((None, None, 0, 2), "share limit"))
    return Group(name, weight, choose.one_of(LIMITS, "share limit"), choose.one_of(LIMITS, "running limit"))


def draw(model: Model, choose: Choose) -> Command:
    """The next command, of those the target knows."""
    kind = model.then.pop() if model.then else choose.one_of(model.kinds, "do")
    return DRAW[kind](model, choose)


def follow(model: Model, choose: Choose, kind: str) -> None:
    """Perhaps a pump comes next."""
    if kind in model.commands and choose.integer(1, 4) <= model.style.then_pump:
        model.then.append(kind)


def instant(model: Model, choose: Choose) -> int:
    now = model.book.now
    match "now" if model.style.long else choose.one_of(TIMES, "time"):
        case "now":
            return now
        case "tick":
            return now + 1
        case "short":
            return now + choose.integer(1, model.span)
        case "long":
            return now + choose.integer(model.span, 8 * model.span)
        case "very long":
            return now + 100 * model.span
        case _:
            return max(0, now - 1)


def needs_of(model: Model, group: str, choose: Choose) -> dict[str, int]:
    capacity, shape = model.capacity, "unit" if model.style.long else model.shapes[group]
    if not shape or choose.integer(1, 8) == 1:
        shape = choose.one_of(SHAPES, "needs")
    names = list(capacity)
    match shape:
        case "unit":
            return dict.fromkeys(names, 1)
        case "narrow":
            return {names[-1]: 1}
        case "wide":
            return {name: choose.integer(1, capacity[name]) for name in names}
        case "whole":
            return {names[-1]: capacity[names[-1]]}
        case "other":
            return {name: 1 for name in reversed(names) if choose.integer(0, 1)} or {names[0]: 1}
        case "none":
            return {names[0]: 1}
        case "too wide":
            return {**dict.fromkeys(names, 1), names[-1]: capacity[names[-1]] + choose.integer(1, 3)}
        case _:
            return {names[0]: 1, "elsewhere": 1}


def id_of(model: Model, group: str, choose: Choose) -> str:
    match choose.one_of(IDS, "id"):
        case "waiting" if model.book.waiting:
            return choose.one_of(tuple(model.book.waiting), "")
        case "started" if model.book.running:
            return choose.one_of(tuple(model.book.running.values()), "").task.id
        case "discarded" if model.discarded:
            return choose.one_of(model.discarded[-4:], "")
        case _:
            model.fresh += 1
            return f"{group}{model.fresh}"


def enqueue(model: Model, choose: Choose) -> Command:
    book, style = model.book, model.style
    which = 0 if style.quiet and choose.integer(1, 8) > 1 else choose.integer(0, len(model.groups) - 1)
    count = choose.one_of((1, 1, 1, 2, 3, 4, 9), "tasks")
    if style.steady:
        count = max(count, style.backlog - len(book.fifo.get(model.groups[which].name, ()))) if not style.quiet or which == 0 else 1
    tasks, sent = [], []
    for number in range(count):
        if number and choose.integer(1, 4) == 1:
            which = choose.integer(0, len(model.groups) - 1)
        group = model.groups[which]
        tasks.append(Task(id_of(model, group.name, choose), group.name, needs_of(model, group.name, choose)))
        match choose.one_of(style.specs, "spec") if group.name in book.groups else "same":
            case "same":
                sent.append(group)
            case "new":
                model.groups[which] = group_of(group.name, choose, model.plain)
                sent.append(model.groups[which])
            case "limits":
                limits = group_of(group.name, choose, model.plain)
                model.groups[which] = Group(group.name, group.weight, limits.share_limit, limits.running_limit)
                sent.append(model.groups[which])
            case "default":
                sent.append(Group(group.name))
    follow(model, choose, "pump")
    groups = tuple({group.name: group for group in sent}.values())
    return v.Enqueue(tasks=tuple(tasks), groups=groups, at=instant(model, choose))


def waiting_id(model: Model, choose: Choose) -> str:
    book = model.book
    match choose.one_of(TASKS, "task"):
        case "head" if book.fifo:
            return book.head(choose.one_of(tuple(book.fifo), "")).id
        case "last" if book.waiting:
            return next(reversed(book.waiting))
        case "started" if book.running:
            return next(reversed(book.running.values())).task.id
        case "unknown":
            return "nobody"
        case _:
            return choose.one_of(tuple(book.waiting), "") if book.waiting else "nobody"


def discard(model: Model, choose: Choose) -> Command:
    id = waiting_id(model, choose)
    if id in model.book.waiting:
        model.discarded.append(id)
        if choose.integer(1, 4) == 1 and "enqueue" in model.commands:
            model.then.append("enqueue")
    return v.Discard(task=id, at=instant(model, choose))


def discard_where(model: Model, choose: Choose) -> Command:
    group = prefix = None
    how = choose.one_of(WHERE, "where")
    if how in ("group", "both"):
        group = choose.one_of(model.groups, "").name
    if how in ("prefix", "both"):
        id = waiting_id(model, choose)
        prefix = id[: choose.integer(1, len(id))]
    if how == "nothing":
        prefix = "nobody"
    model.discarded += [id for id, task in model.book.waiting.items() if group in (None, task.group) and id.startswith(prefix or "")][-3:]
    return v.DiscardWhere(group=group, prefix=prefix or "", at=instant(model, choose))


def pump(model: Model, choose: Choose) -> Command:
    most = {"all": 99, "one": 1, "two": 2, "none": 0}[choose.one_of(MOST, "at most")]
    return v.Pump(at_most=most, at=instant(model, choose))


def select(model: Model, choose: Choose) -> Command:
    if "commit" in model.commands and choose.integer(0, 1):
        model.then.append("commit")
    return v.Select(at=instant(model, choose))


def commit(model: Model, choose: Choose) -> Command:
    book = model.book
    task, version = book.selection or ("nobody", 0)
    match choose.one_of(VERSIONS, "version"):
        case "other head" if book.fifo:
            task = book.head(choose.one_of(tuple(book.fifo), "")).id
        case "behind" if book.waiting:
            task = next(reversed(book.waiting))
        case "old":
            version = max(0, version - 1)
        case "unknown":
            task = "nobody"
    return v.Commit(task=task, version=version, at=instant(model, choose))


def release(model: Model, choose: Choose) -> Command:
    book = model.book
    lease = NEVER
    match choose.one_of(LEASES, "lease"):
        case "oldest" if book.running:
            lease = next(iter(book.running))
        case "newest" if book.running:
            lease = next(reversed(book.running))
        case "again" if book.released:
            lease = choose.one_of(tuple(book.released), "")
        case "unknown":
            lease = choose.one_of((0, book.granted + 1, NEVER), "")
        case _ if book.running:
            lease = choose.one_of(tuple(book.running), "")
        case _ if "enqueue" in model.commands:
            return enqueue(model, choose)
    claim = None if model.plain else claim_of(model, lease, choose)
    follow(model, choose, "pump")
    if model.style.steady and "enqueue" in model.commands and len(book.fifo.get(model.groups[0].name, ())) < 2:
        model.then += ["enqueue"]
    at = instant(model, choose)
    if model.style.steady:
        at = book.now + model.span if model.style.long else max(at, book.now + 1)
    return v.Release(lease=lease, claim=claim, at=at)


def claim_of(model: Model, lease: int, choose: Choose) -> Claim | None:
    run = model.book.running.get(lease)
    task = run.task if run is not None else Task("nobody", "nobody", {"r": 1})
    match choose.one_of(CLAIMS, "claim"):
        case "right":
            return Claim(task=task.id, needs=task.needs)
        case "other task":
            return Claim(task="nobody")
        case "other scheduler":
            return Claim(task=task.id, generation=1)
        case "other needs":
            return Claim(task=task.id, needs={resource: units + 2 for resource, units in task.needs.items()})
        case _:
            return None


def explain(model: Model, choose: Choose) -> Command:
    return v.Explain(at=instant(model, choose))


DRAW: dict[str, Callable[[Model, Choose], Command]] = {
    "enqueue": enqueue, "discard": discard, "discard_where": discard_where, "pump": pump,
    "select": select, "commit": commit, "release": release, "explain": explain,
}  # fmt: skip


def drain(model: Model) -> Command | None:
    """End it in order: pump, release what runs, and so on, until a pump starts nothing while nothing runs. None: it is done, or can't be."""
    book = model.book
    if not model.commands >= {"pump", "release"} or (model.pumped and not book.running):
        return None
    if not model.pumped:
        model.pumped = True
        return v.Pump(at_most=99, at=book.now)
    model.pumped = len(book.running) > 1
    return v.Release(lease=next(iter(book.running)), at=book.now + 1)
