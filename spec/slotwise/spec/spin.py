"""Spin, yield, park: `step` is the truth, as in `admission`.

It takes one command to a pool and says what was seen. It has no clock of its own and no randomness; every command is legal in every
state. A command is a step of one actor (or up to `times` of its steps, while nobody else moves): so a trace is one interleaving.
"""
from __future__ import annotations

from slotwise.spec import spin_barrier, spin_dispatcher, spin_policy, spin_pool, spin_window, spin_worker
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.rules import SPIN, decided, rule
from slotwise.spec.spin_policy import Memory
from slotwise.spec.spin_pool import COUNTERS, Dispatcher, Passes, Pool, Saw, Worker
from slotwise.spec.vocabulary import Observation, State


def pool(profile: v.Profile, setup: v.Setup) -> Pool:
    """A pool in which nothing has happened."""
    return spin_pool.pool(profile, setup)


@rule("SPN-70", source="design 4", of=SPIN)
def time_reversed(pool: Pool, at: int) -> Saw | None:
    """Time never goes back: a command from before an earlier one is refused, and nothing is done."""
    return [("time_reversed", pool.now)] if at < pool.now else None


#: Where nobody makes a step, and why not.
IDLE = {"": "unknown", "running": "running", "asleep": "parked", "gone": "gone"}


@rule("SPN-71", source="spin 1.5; design 4", of=SPIN)
def idle(pool: Pool, name: str, actor: Worker | Dispatcher | None) -> Observation | None:
    """Who has no step to make makes none: one that runs a task until it ends, one that is parked, one that has left, a builder when all is built, and one that is nobody."""
    if name == v.BUILDER:
        return ("idle", name, "built") if pool.builder.at == "built" else None
    why = IDLE.get(actor.at if actor else "")
    return ("idle", name, why) if why else None


@rule("SPN-72", source="spin 1.4; design 4", of=SPIN)
def no_task(pool: Pool, name: str) -> Observation | None:
    """Only a task that is running ends."""
    actor = pool.actor(name)
    if actor and actor.at == "running":
        return None
    return ("idle", name, "no_task" if name == v.BUILDER or (actor and actor.at) else "unknown")


@rule("SPN-73", source="spin 1.5 W6; design 4", of=SPIN)
def not_parked(name: str) -> Observation:
    """Only who is parked can be stirred."""
    return ("idle", name, "not_parked")


@rule("SPN-74", source="spin 1.7", of=SPIN)
def counters(pool: Pool) -> Observation:
    """The counters are read while all goes on."""
    return ("counters", *(part for name in COUNTERS for part in (name, pool.counters[name])))


def go(pool: Pool, command: v.Go) -> Saw:
    """Plain passes are counted, and told together before whatever comes next."""
    name, passes = command.actor, Passes(pool, command.at)
    saw: Saw = []
    for _ in range(command.times):
        actor = pool.actor(name)
        if found := idle(pool, name, actor):
            return [*saw, *_told(name, passes), found]
        if news := one_step(pool, actor, passes):
            saw, passes = [*saw, *_told(name, passes), *news], Passes(pool, command.at)
    return saw + _told(name, passes)


def one_step(pool: Pool, actor: Worker | Dispatcher | None, passes: Passes) -> Saw:
    if isinstance(actor, Worker):
        return spin_worker.step_of_worker(pool, actor, passes.at, passes)
    if isinstance(actor, Dispatcher):
        return spin_dispatcher.step_of_dispatcher(pool, actor, passes)
    return spin_barrier.step_of_builder(pool, passes.at, passes)


def _told(name: str, passes: Passes) -> Saw:
    if not (passes.pauses or passes.yields or passes.readings):
        return []
    if name == v.BUILDER:
        return [("waits_ready", passes.pauses, passes.yields)]
    return [("spun", name, passes.pauses, passes.yields, passes.readings)]


def step(pool: Pool, command: v.Command) -> list[Observation]:
    """Do one command and say what was seen. The rules that decided are in `rules.decided`, in order of decision."""
    decided.clear()
    if refused := time_reversed(pool, command.at):
        return refused
    pool.now = command.at
    match command:
        case v.Dispatch():
            return [spin_dispatcher.dispatch(pool, command)]
        case v.Go():
            return go(pool, command)
        case v.End():
            return [no_task(pool, command.actor) or _end(pool, command)]
        case v.Stir():
            return [spin_pool.stir(pool, command.actor) or not_parked(command.actor)]
        case v.Shutdown():
            return [spin_pool.shut_down(pool)]
        case v.Counters():
            return [counters(pool)]
        case v.Wait() | v.Script():
            return [spin_window.whole(pool.profile, command)]
        case v.Gap():
            return [spin_policy.gap(pool.profile, pool.policy, pool.lone, command)]


def _end(pool: Pool, command: v.End) -> Observation:
    actor = pool.actor(command.actor)
    assert actor
    return spin_pool.end(pool, actor, actor.todo[0] if isinstance(actor, Worker) else actor.slot, command.panics)


def state(pool: Pool) -> State:
    """The whole state, canonical: strings and integers only; what is 0 or empty is left out. Pure.

    `taken` is the mask of slots that somebody holds, `told` the yields of a window that are counted, `todo` the rest of a scan.
    """
    return _kept({
        "now": pool.now, "shutdown": pool.shutdown, "epoch": pool.epoch, "ready": pool.ready, "active": pool.active,
        "taken": ~pool.free & (1 << len(pool.slots)) - 1, "sleepers": list(pool.sleepers),
        "calls": {str(place): list(call) for place, call in sorted(pool.calls.items())},
        "counters": _kept(dict(sorted(pool.counters.items()))),
        "slots": _kept({str(i): _kept({"claim": s.claim, "remaining": s.remaining, "panicked": s.panicked, "published_at": s.published_at}) for i, s in enumerate(pool.slots)}),
        "workers": {w.name: _worker(w) for w in pool.workers.values()},
        "dispatchers": _kept({name: _kept({"at": d.at, "slot": d.slot, "total": d.total, "own": d.own, "pauses": d.pauses}) for name, d in sorted(pool.dispatchers.items())}),
        "builder": _kept({"at": pool.builder.at, "passes": pool.builder.passes, "start": pool.builder.start}),
        "lone": _kept({"memory": _memory(pool.lone.memory), "carried": pool.lone.carried, "window": pool.lone.window, "met": pool.lone.met}),
    })  # fmt: skip


def _worker(w: Worker) -> dict[str, object]:
    window = _kept({"length": w.window.length, "n": w.window.n, "q": w.window.q, "y": w.window.y, "reads": w.window.reads, "told": w.told})
    return _kept({"at": w.at, "last": w.last, "since": w.since, "entered": w.entered, "expired": w.expired, "caught": w.caught, "todo": list(w.todo), "ran": w.ran,
                  "window": window, "memory": _memory(w.memory)})


def _memory(m: Memory) -> dict[str, object]:
    return _kept({"window": m.window, "average": m.average, "ledgers": list(m.ledgers) if any(m.ledgers) else [], "guard": m.guard})


def _kept(found: dict[str, object]) -> dict[str, object]:
    """Without what is 0 or empty."""
    return {key: int(value) if isinstance(value, bool) else value for key, value in found.items() if value}
