"""The vectors of admission, and those of its hazards: what was put in, and which facts it must give. Names and ids are those of the semantics page."""
from __future__ import annotations

from typing import Any

from tests.golden.player import LLM, SLOT, Session, group, ids, reasons, vector

from slotwise.spec import vocabulary as v

HOT, PEER = group("hot", 4, 8), group("peer", 1, 8)


@vector("A1")
def solo_then_peer(s: Session, fact: Any) -> None:
    p = s.open("A1", s.bounded(), {"submission": 8, "llm_wait": 8})
    p.enqueue((HOT, ids("h", 12), LLM))
    p.same(p.pump(), fact["first"])
    p.same(p.debt(), fact["debt"])
    p.same(p.why(), reasons(fact["why"]))
    p.enqueue((PEER, ids("p", 4), LLM))
    for what, started, debt, why in fact["steps"]:
        if what.startswith("release "):
            p.release(what.removeprefix("release "))
        p.same([p.pump(), p.debt(), p.why()], [started, debt, reasons(why)])
    p.same(p.leased(), fact["leased"])


@vector("A2")
def strict_solo_then_peer(s: Session, fact: Any) -> None:
    p = s.open("A2", s.strict(), {"submission": 8, "llm_wait": 8})
    p.enqueue((HOT, ids("h", 12), LLM))
    p.same(p.pump(), fact["first"])
    p.enqueue((PEER, ids("p", 4), LLM))
    for what, started, debt, why in fact["steps"]:
        p.release(what.removeprefix("release "))
        p.same([p.pump(), p.debt(), p.why()], [started, debt, reasons(why)])


@vector("A3")
def solo_slots(s: Session, fact: Any) -> None:
    """All capacities side by side, each a resource of its own with a group of its own."""
    for rounding in ("ceil", "floor"):
        caps = [row["cap"] for row in fact["table"]]
        p = s.open(f"A3-{rounding}", s.bounded(share_rounding=rounding), {f"cap{cap}": cap for cap in caps})
        p.enqueue(*[(group(f"g{cap}", 1, cap), ids(f"g{cap}t", cap + 1), {f"cap{cap}": 1}) for cap in caps])
        p.pump()
        p.why()
        for row in fact["table"]:
            cap = row["cap"]
            p.same(p.leased()[f"g{cap}"], {f"cap{cap}": row[rounding]})
            p.same(p.debt().get(f"g{cap}/cap{cap}", 0), row[f"{rounding}_debt"])


@vector("A4")
def all_from_the_start(s: Session, fact: Any) -> None:
    seen = set()
    for row in fact["table"]:
        cap, weights, rounding = row["cap"], row["w"], row["rounding"]
        name = f"A4-{cap}-{'.'.join(map(str, weights)).replace('0.5', 'half')}-{rounding}"
        if name in seen:
            continue
        seen.add(name)
        p = s.open(name, s.bounded(share_rounding=rounding), {"submission": cap})
        p.enqueue(*[(group(f"g{i}", weight, cap), ids(f"g{i}t", cap + 1), SLOT) for i, weight in enumerate(weights)])
        p.same([p.pump(), p.why(), p.debt()], [row["order"], reasons(row["why"]), row["debt"]])
        p.same({g: held["submission"] for g, held in p.leased().items()}, {g: held for g, held in row["got"].items() if held})


@vector("A5")
def idle_slot(s: Session, fact: Any) -> None:
    p = s.open("A5", s.bounded(), {"submission": 8})
    p.enqueue((HOT, ids("h", 12), SLOT))
    p.pump()
    p.enqueue((PEER, ids("p", 4), SLOT))
    for step in fact["steps"]:
        p.release(step["release"])
        p.same([p.pump(), p.debt(), p.free("submission")], [step["dispatched"], step["debt"], step["free"]])
        p.same({g: held["submission"] for g, held in p.leased().items()}, step["leased"])
        p.same(p.why(), reasons(step["why"]))


@vector("A6")
def ceilings(s: Session, fact: Any) -> None:
    parameters: dict[str, tuple[str, dict[str, Any]]] = {
        "dynamic": ("dynamic", {}),
        "default=1": ("default-1", {"default_ceiling": 1}),
        "default=0": ("default-0", {"default_ceiling": 0}),
        "by_key=3,default=1": ("own-3", {"default_ceiling": 1, "ceilings": (v.Ceiling("g", "submission", 3),)}),
        "reserve_fraction=0.125": ("reserve-eighth", {"reserve_fraction": 0.125}),
        "reserve_fraction=0.5,max=2": ("reserve-half-at-most-2", {"reserve_fraction": 0.5, "reserve_at_most": 2}),
        "repay=False,default=2": ("no-repay", {"repay": False, "default_ceiling": 2}),
    }
    for key, row in fact["out"].items():
        name, changed = parameters[key]
        p = s.open(f"A6-{name}", s.bounded(**changed), {"submission": 8})
        p.enqueue((group("g", 1, 8), ids("t", 12), SLOT))
        p.same([len(p.pump()), p.debt()], row[:2])
        if name == "no-repay":
            debt, started, why = row[2]
            p.release("t0")
            p.same([p.debt(), p.pump(), p.why()], [debt, started, reasons(why)])
        else:
            p.same(p.why(), reasons(row[2]))


@vector("A7")
def several_resources(s: Session, fact: Any) -> None:
    p = s.open("A7", s.bounded(), {"submission": 6, "llm_wait": 4, "request:p/m": 2})
    p.enqueue((group("m", 2, 4), ids("m", 6), LLM | {"request:p/m": 1}), (group("loc"), ids("l", 8), SLOT))
    for after in ("", "m0"):
        started, debt, leased, why = fact["st2" if after else "st"]
        if after:
            p.release(after)
        p.same([p.pump(), p.debt(), p.leased(), p.why()], [started, debt, leased, reasons(why)])


@vector("A8")
def unlisted_resource(s: Session, fact: Any) -> None:
    p = s.open("A8", s.bounded(), {"submission": 8})
    p.enqueue((group("g", 1, 8), ["t0"], SLOT | {"gpu": 1}))
    p.same([p.pump(), p.why(), len(p.state()["waiting"])], [fact["got"], reasons(fact["why"]), fact["queued"]])


@vector("A9")
def release_codes(s: Session, fact: Any) -> None:
    code = {what: answer for what, *answer in fact["codes"]}
    p = s.open("A9", s.bounded(), {"submission": 2})
    p.enqueue((group("g"), ids("t", 2), SLOT))
    p.pump()
    p.same([p.release("t0", v.Claim(task="other"))], code["same lease id, other task"])
    p.same([p.free("submission")], code["after stale attempt, free"])
    p.same([p.release("t0")], code["first"])
    p.same([p.release("t0")], code["again"])
    p.same([p.release("t1", v.Claim(generation=1))], code["other generation"])
    p.same([p.do(v.Release(lease=99))[0][0]], code["never issued id"])
    p.same([p.free("submission")], code["free"])
    p.same([p.debt()], code["debt"])
    p.same([p.release("t1", v.Claim(task="t1", needs={"submission": 99})), p.free("submission")], code["release with tampered amounts"])


@vector("A11")
def larger_amounts(s: Session, fact: Any) -> None:
    p = s.open("A11", s.bounded(), {"submission": 8})
    p.enqueue((group("a", 1, 8), ids("a", 4), {"submission": 3}))
    p.same([p.pump(), p.debt(), p.why()], [*fact["st"][:2], reasons(fact["st"][2])])
    p.enqueue((group("b", 1, 8), ids("b", 4), SLOT))
    p.same([p.pump(), p.debt(), p.why()], [*fact["st2"][:2], reasons(fact["st2"][2])])
    p.release("a0")
    p.same([p.pump(), p.debt(), p.why()], [*fact["st3"][:2], reasons(fact["st3"][2])])


@vector("A12")
def strict_caps(s: Session, fact: Any) -> None:
    p = s.open("A12", s.strict(), {"submission": 8, "llm_wait": 8})
    p.enqueue((group("a", 1, 2), ids("a", 8), LLM))
    p.same(p.pump(6), fact["solo"])
    p.enqueue((group("b", 1, 2), ids("b", 4), LLM))
    p.same([p.pump(), p.why()], [fact["with_peer"], reasons(fact["why"])])
    p.release("a0")
    p.same([p.pump(), p.leased()], [fact["after_release"], fact["leased"]])
    p.why()


@vector("H1")
def mutual_refusal(s: Session, fact: Any) -> None:
    for policy, profile in (("bounded", s.bounded()), ("strict", s.strict())):
        row = next(row for name, row in fact.items() if name.endswith(policy))
        p = s.open(f"H1-{policy}", profile, {"submission": 8})
        p.enqueue(*[(group(name, 1, 8), [f"{name}0"], {"submission": 5}) for name in "ab"])
        p.same([p.pump(), p.why(), p.leased()], [row["dispatched"], reasons(row["why"]), row["leased"]])


@vector("H2")
def debt_for_ever(s: Session, fact: Any) -> None:
    p = s.open("H2", s.bounded(repay=False), {"submission": 4})
    p.enqueue((group("a", 1, 4), ids("a", 10), SLOT))
    for started, debt in (("first", "debt_after_release"), ("second", "debt2")):
        p.same(p.pump(), fact[started])
        for task in fact[started]:
            p.release(task)
        p.same(p.debt(), fact[debt])
    p.enqueue((group("b", 1, 4), ids("b", 2), SLOT))
    p.same([p.pump(), p.why()], [fact["with_peer"], reasons(fact["why"])])


@vector("H3")
def limit_of_none(s: Session, fact: Any) -> None:
    p = s.open("H3", s.bounded(), {"submission": 4})
    p.enqueue((group("a", 1, 0), ["a0"], SLOT), (group("b", 1, 4), ids("b", 6), SLOT))
    p.same(p.pump(), fact["first"])
    for task, started, why in fact["trace"]:
        p.release(task)
        p.same([p.pump(), {task: reason for task, reason in p.why().items() if task == "a0"}], [started, reasons(why)])


@vector("H4")
def local_and_limited(s: Session, fact: Any) -> None:
    p = s.open("H4", s.bounded(), {"submission": 4})
    p.enqueue((group("m", 1, 4), ids("m", 4), SLOT), (group("l"), ids("l", 4), SLOT))
    p.same([p.pump(), p.why(), p.debt()], [fact["order"], reasons(fact["why"]), fact["debt"]])


@vector("H5")
def order_of_needs(s: Session, fact: Any) -> None:
    for name, needs in (("submission-first", {"submission": 1, "llm_wait": 1}), ("llm-first", {"llm_wait": 1, "submission": 1})):
        row = next(row for key, row in fact.items() if str(tuple(needs)) in key)
        p = s.open(f"H5-{name}", s.bounded(default_ceiling=0), {"submission": 8, "llm_wait": 4})
        p.enqueue((group("a", 1, 8), ids("a", 4), needs))
        p.same([p.pump(), p.why()], [row["got"], reasons(row["why"])])


@vector("H7")
def weightless(s: Session, fact: Any) -> None:
    p = s.open("H7", s.bounded(), {"submission": 6})
    p.enqueue((group("a", 0, 6), ids("a", 6), SLOT), (group("b", 2, 6), ids("b", 6), SLOT))
    p.same([p.pump(), p.why()], [fact["order"], reasons(fact["why"])])


@vector("H8")
def long_run(s: Session, fact: Any) -> None:
    """404 starts are played, and the first 60 releases are kept."""
    a, b = group("a", 3, 4), group("b", 1, 4)
    p = s.open("H8", s.bounded(), {"submission": 4})
    p.enqueue((a, ids("a", 60), SLOT), (b, ids("b", 30), SLOT))
    started = p.pump()
    for i in range(400):
        if i == 60:
            p.recording = False
            p.enqueue((a, ids("a", 300, 60), SLOT), (b, ids("b", 100, 30), SLOT))
        p.release(started[i])
        started += p.pump()
    served = [sum(task[0] == name for task in started) for name in "ab"]
    p.same([started[:24], *served, p.free("submission")], [fact["first24"], fact["a"], fact["b"], fact["idle_now"]])
