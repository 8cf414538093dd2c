"""What a durable-execution SDK does with a handler's work: steps, waits, child contexts, and (`batching_coordinator`) parallel branches.

What runs again begins at the top and looks at the state first: what is done goes on, what is pending suspends. These rules decide in the program
that plays a scenario, not in a step of the collector.
"""
from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from slotwise.spec import batching_scenarios as work
from slotwise.spec.batching_coordinator import Coordinator
from slotwise.spec.batching_host import Code, Failed, Host, Suspended
from slotwise.spec.batching_service import Operation
from slotwise.spec.rules import BATCHING, rule


async def handle(host: Host) -> None:
    """The whole handler; a result too large to be returned is an update."""
    await perform(host, host.scenario.work)
    if host.scenario.result:
        await host.submit("the execution", "succeed", size=host.scenario.result, final=True)


async def perform(host: Host, works: Sequence[work.Work], context: str | None = None, path: str = "") -> None:
    """One after another, in a context. `path` is what their names begin with."""
    for one in works:
        op = path + one.name
        match one:
            case work.Step():
                await step(host, op, context, one)
            case work.Poll():
                await step(host, op, context, tries(one))
            case work.Wait():
                await wait(host, op, context, one.duration)
            case work.Pause():
                if op not in host.paused:
                    host.paused.add(op)
                    await host.user(one.duration)
            case work.Child():
                await child(host, op, context, lambda op=op, inside=one.work: perform(host, inside, op, f"{op}/"))  # type: ignore[misc]
            case work.Parallel():
                await child(host, op, context, lambda op=op, one=one: Coordinator(host, op, one, lambda i: branch(host, op, one, i)).run())  # type: ignore[misc]


def branch(host: Host, op: str, parallel: work.Parallel, i: int) -> Code:
    works, path = parallel.branches[i], f"{op}.{i}"
    return perform(host, works, op, f"{path}/") if parallel.flat else child(host, path, op, lambda: perform(host, works, path, f"{path}/"))


# what runs again ---------------------------------------------------------------------------------------------------------------------
@rule("SDK-1", source="semantics 2.7; discipline REF-10", of=BATCHING, where="program")
def already_done(host: Host, op: str) -> bool | None:
    """What runs again looks at the state first: what has succeeded goes on, and is not done again."""
    return True if op in host.state and host.state[op].status == "succeeded" else None


@rule("SDK-2", source="semantics 2.7; discipline REF-10", of=BATCHING, where="program")
def already_failed(host: Host, op: str) -> Failed | None:
    """What has failed fails again, and is not tried again."""
    return Failed(op) if op in host.state and host.state[op].status == "failed" else None


@rule("SDK-3", source="discipline REF-1, REF-10; H2", of=BATCHING, off="waits_are_retimed", where="program")
def until_its_end(host: Host, op: str) -> Suspended | None:
    """What is pending suspends until its own end, as the service has stamped it, however often it runs again."""
    pending = host.state[op]
    return None if host.profile.waits_are_retimed else Suspended(pending.attempt(op), pending.end, None)


@rule("SDK-4", source="semantics 2.7; H2", of=BATCHING, switch="waits_are_retimed", where="program")
def re_timed(host: Host, op: str, full: int | None) -> Suspended:
    """As published, what is pending suspends for its full duration from now; or if that is none, until the stamp taken for a local time, or now."""
    pending = host.state[op]
    return Suspended(pending.attempt(op), None, host.now + full if full is not None else max(host.now, (pending.end or 0) - host.scenario.service.hint))


def suspension(host: Host, op: str, full: int | None) -> Suspended:
    return until_its_end(host, op) or re_timed(host, op, full)


async def step(host: Host, op: str, context: str | None, one: work.Step) -> None:
    if already_done(host, op):
        return
    if failed := already_failed(host, op):
        raise failed
    known = host.state.get(op, Operation("started"))
    if known.status == "pending":
        raise suspension(host, op, None)
    await host.submit(op, "start", parent=context, sync=one.at_most_once)
    host.reaches(known.attempt(op))
    await host.user(one.body)
    if tried_again(known.tries, one.retries):
        await host.submit(op, "retry", parent=context, delay=one.delay)
        raise suspension(host, op, one.delay)
    await host.submit(op, "fail" if one.fails else "succeed", parent=context, size=one.size)
    if one.fails:
        raise Failed(op)


@rule("SDK-5", source="semantics 2.7; discipline REF-10", of=BATCHING, where="program")
def tried_again(tries: int, retries: int) -> bool | None:
    """A step that does not succeed is tried again after a while, so many times; meanwhile it is pending."""
    return True if tries < retries else None


@rule("SDK-6", source="semantics 2.7; discipline REF-10", of=BATCHING, where="program")
def tries(poll: work.Poll) -> work.Step:
    """A poll is a step that is tried again as often as its condition does not hold."""
    return work.Step(name=poll.name, body=poll.body, retries=poll.in_vain, delay=poll.delay)


async def wait(host: Host, op: str, context: str | None, duration: int) -> None:
    if op not in host.state:
        await host.submit(op, "wait", parent=context, delay=duration)
    if host.state[op].status != "ready":
        raise suspension(host, op, duration)
    host.reaches(host.state[op].attempt(op))


async def child(host: Host, op: str, context: str | None, body: Callable[[], Awaitable[None]]) -> None:
    """A context: its start, what is in it, its end."""
    if already_done(host, op):
        return
    if failed := already_failed(host, op):
        raise failed
    if op not in host.state:
        await host.submit(op, "start", parent=context, sync=False)
    try:
        await body()
    except Failed:
        await host.submit(op, "fail", parent=context, ends=True)
        raise
    await host.submit(op, "succeed", parent=context, ends=True)
