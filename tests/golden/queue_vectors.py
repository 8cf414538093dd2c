"""The vectors of the queue: groups without limits, and more units than they need, so that nothing is held back."""
from __future__ import annotations

from typing import Any

from tests.golden.player import MANY, SLOT, Player, Session, group, ids, vector

from slotwise.spec import vocabulary as v

ROOMY = {"submission": 4096}


def one_by_one(p: Player, count: int = MANY) -> list[str]:
    """Selected and committed, not pumped."""
    order: list[str] = []
    while len(order) < count and p.state()["waiting"]:
        task, version = p.select()
        p.same(p.commit(task, version), "started")
        order.append(task)
    return order


@vector("Q1")
def weights(s: Session, fact: Any) -> None:
    p = s.open("Q1", s.bounded(), ROOMY)
    p.enqueue((group("a", 4), ids("a", 8), SLOT), (group("b"), ids("b", 4), SLOT))
    for task, virtual_time, tags in fact["trace"]:
        p.same(p.pump(1), [task])
        p.same([p.queue()["V"], p.queue()["F"]], [virtual_time, tags])


@vector("Q2")
def ties(s: Session, fact: Any) -> None:
    p = s.open("Q2", s.bounded(), ROOMY)
    p.enqueue(*[(group(name), ids(name, 2), SLOT) for name in "zam"])
    p.same([one_by_one(p), p.queue()], [fact["order"], fact["end"]])


@vector("Q3")
def newcomer(s: Session, fact: Any) -> None:
    p = s.open("Q3", s.bounded(), ROOMY)
    p.enqueue((group("a"), ids("a", 6), SLOT))
    p.same([p.pump(4), p.queue()], [fact["first"], fact["before"]])
    p.enqueue((group("b"), ids("b", 6), SLOT))
    p.same([p.queue(), p.pump()], [fact["after"], fact["order"]])


@vector("Q4")
def returning(s: Session, fact: Any) -> None:
    p = s.open("Q4", s.bounded(), ROOMY)
    p.enqueue((group("a"), ids("a", 6), SLOT))
    p.enqueue((group("b"), ids("b", 1), SLOT))
    p.pump(6)
    p.same(p.queue(), fact["before"])
    p.enqueue((group("b"), ids("b", 4, 1), SLOT))
    p.same([p.queue(), p.pump(), p.queue()], [fact["after"], fact["order"], fact["end"]])


@vector("Q5")
def discarded_to_empty(s: Session, fact: Any) -> None:
    p = s.open("Q5", s.bounded(), ROOMY)
    p.enqueue(*[(group(name), [f"{name}0"], SLOT) for name in "abc"])
    p.same(p.queue(), fact["s0"])
    p.do(v.Discard(task="a0"))
    p.same(p.queue(), fact["after_discard"])
    p.enqueue((group("a"), ["a1"], SLOT))
    p.same([p.queue(), p.pump()], [fact["after_reenqueue"], fact["order"]])


@vector("Q6")
def stale_selections(s: Session, fact: Any) -> None:
    p = s.open("Q6", s.bounded(), ROOMY)
    g = group("g")
    p.same([p.enqueue((g, ["t0", "t1"], SLOT)), p.enqueue((g, ["t0", "t1"], SLOT))], fact["accepted"])
    first, old = p.select()
    p.enqueue((g, ["t2"], SLOT))
    p.same([old, p.state()["version"]], fact["seqver"])
    p.same(p.commit(first, old) == "stale_selection", fact["stale_after_enqueue"])
    first, version = p.select()
    p.same(p.do(v.Discard(task="nobody")), [("unknown_task", "nobody")])
    p.same([first, p.commit(first, version)], [fact["unknown_discard_keeps_selection"], "started"])
    second, version = p.select()
    p.do(v.Discard(task="t2"))
    p.same(p.commit(second, version) == "stale_selection", fact["stale_after_discard"])
    second, version = p.select()
    p.same([second, p.commit(second, version)], [fact["first"], "started"])
    p.same(p.commit(second, version) == "stale_selection", fact["double_commit"])
    p.same(p.enqueue((g, ["t0"], SLOT)), fact["reuse_id_after_commit"])


@vector("Q7")
def only_heads(s: Session, fact: Any) -> None:
    """The facts passed over heads by a predicate; here another task than the selected one is committed."""
    p = s.open("Q7", s.bounded(), ROOMY)
    p.enqueue((group("a"), ids("a", 2), SLOT), (group("b"), ids("b", 1), SLOT))
    _, version = p.select()
    p.same(p.commit("a1", version) == "stale_selection", fact["only_a1"])
    p.same(p.commit(fact["skip_a0"], version), "started")
    p.same(p.pump(), ["a0", "a1"])


@vector("Q8")
def newest_weight(s: Session, fact: Any) -> None:
    p = s.open("Q8", s.bounded(), ROOMY)
    p.enqueue((group("a"), ids("a", 2), SLOT), (group("b"), ids("b", 2), SLOT))
    p.enqueue((group("a", 4), ids("a", 1, 2), SLOT))
    p.same([p.pump(1), p.queue()["F"], p.pump()], [fact["first"], fact["F"], fact["rest"]])


@vector("Q9")
def cost_is_by_task(s: Session, fact: Any) -> None:
    p = s.open("Q9", s.bounded(), ROOMY)
    p.enqueue((group("a"), ids("a", 2), {"submission": 5}), (group("b"), ids("b", 2), SLOT))
    p.same(sum(needs["submission"] for fifo in p.state()["fifo"].values() for _, needs in fifo), fact["demand"]["submission"])
    p.same(one_by_one(p), fact["order"])


@vector("Q11")
def discard_by_condition(s: Session, fact: Any) -> None:
    """Row groups are the prefix of an id: here the odd ones go."""
    p = s.open("Q11", s.bounded(), ROOMY)
    odd_even = [[("odd-" if i % 2 else "even-") + f"{name}{i}" for i in range(count)] for name, count in (("a", 6), ("b", 4))]
    p.enqueue((group("a"), odd_even[0], SLOT), (group("b"), odd_even[1], SLOT))
    p.pump(2)
    p.do(v.DiscardWhere(prefix="odd-"))
    waiting = p.state()["waiting"]
    p.same([sum(waiting.values()), waiting, p.queue()], [fact["queued"], fact["by_group"], fact["state"]])
    p.same([task.split("-")[1] for task in p.pump()], fact["order"])


@vector("Q13")
def old_place(s: Session, fact: Any) -> None:
    p = s.open("Q13-behind", s.bounded(), ROOMY)
    p.enqueue((group("t"), ids("t", 3), SLOT))
    p.do(v.Discard(task="t1"))
    p.enqueue((group("t"), ["t1"], SLOT))
    p.same([len(p.state()["fifo"]["t"]), p.pump()], [fact["deque_len"], fact["order"]])
    p = s.open("Q13-head", s.bounded(), ROOMY)
    p.enqueue((group("t"), ids("t", 3), SLOT))
    p.do(v.Discard(task="t0"))
    p.select()
    p.enqueue((group("t"), ["t0"], SLOT))
    p.same(p.pump(), fact["head_case"])


@vector("Q14")
def bounded_queue(s: Session, fact: Any) -> None:
    """2,000 cycles are played, and the first 40 are kept."""
    p = s.open("Q14", s.bounded(), ROOMY)
    for i in range(2000):
        p.recording = i < 40
        p.enqueue((group("g"), [f"t{i}"], SLOT))
        p.same(p.pump(), [f"t{i}"])
        p.release(f"t{i}")
    heap = getattr(p.package.queue, "_heap", p.package.turns())
    p.same([len(heap), p.queue()["V"], p.queue()["F"]["g"]], [fact["entries"], fact["V"], fact["F"]])
