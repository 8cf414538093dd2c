"""The known hazards of the published packages: each the shortest trace that shows one, and the laws that it breaks."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.golden.player import MANY, Player, Session, group, ids

from slotwise.spec import vocabulary as v

PUMP = v.Pump(at_most=MANY)


@dataclass(frozen=True)
class Hazard:
    name: str
    says: str                            # what goes wrong, in a line
    profile: str
    laws: tuple[str, ...]                # exactly these are broken
    capacity: dict[str, int]
    commands: tuple[v.Command, ...]
    parameters: tuple[tuple[str, Any], ...] = ()

    @property
    def note(self) -> str:
        return f"{self.says}; breaks {', '.join(self.laws)}"


def come(*tasks: tuple[str, v.Group, dict[str, int]]) -> v.Enqueue:
    return v.Enqueue(tasks=tuple(v.Task(id, spec.name, needs) for id, spec, needs in tasks), groups=tuple({spec.name: spec for _, spec, _ in tasks}.values()))


def units(count: int) -> dict[str, int]:
    return {"r": count}


#: So often must one be passed over before it is too long.
ROUNDS = 9
A, B, G = group("a", 1, 1), group("b", 1, 1), group("g")

HAZARDS = (
    Hazard("H1-mutual-refusal", "nothing runs, and two groups refuse each other for ever: each asks more than its share", "data-designer-0.9", ("LAW-12",),
           {"r": 2}, (come(("a0", group("a", 1, 2), units(2)), ("b0", group("b", 1, 2), units(2))), PUMP)),
    Hazard("H3-limit-of-none", "nothing runs, and two groups refuse each other for ever: both have a limit of none", "strict", ("LAW-12",),
           {"r": 1}, (come(("a0", group("a", 1, 0), units(1)), ("b0", group("b", 1, 0), units(1))), PUMP)),
    Hazard("H3-starvation", "a group with a limit of none is passed over for ever while others have work", "data-designer-0.9", ("LAW-14",),
           {"r": 2}, (come(("a0", group("a", 1, 0), units(1)), *[(id, group("b"), units(2)) for id in ids("b", ROUNDS + 1)]), v.Pump(at_most=1),
                      *[command for i in range(1, ROUNDS + 1) for command in (v.Release(lease=i, at=10 * i), v.Pump(at_most=1, at=10 * i))])),
    Hazard("A5-idle-slot", "a slot is idle while two groups wait: one is at its share, the other owes what it borrowed", "data-designer-0.9", ("LAW-11",),
           {"r": 6}, (come(*[(id, group("a", 5, 6), units(1)) for id in ids("a", 7)]), PUMP, come(*[(id, group("b", 1, 6), units(1)) for id in ids("b", 2)]),
                      v.Release(lease=1), v.Release(lease=2), PUMP)),
    Hazard("A12-idle-slot", "a slot is idle while two groups wait: both are at their limits", "strict", ("LAW-11",),
           {"r": 3}, (come(*[(id, spec, units(1)) for spec in (A, B) for id in ids(spec.name, 2)]), PUMP)),
    Hazard("A3-reserved-slot-0.8", "a slot is idle while a group waits alone: it is kept for a peer that may never come", "data-designer-0.8", ("LAW-11",),
           {"r": 2}, (come(*[(id, group("a", 1, 2), units(1)) for id in ids("a", 2)]), PUMP)),
    Hazard("H2-debt-for-ever", "without repayment, a slot is idle while a group waits alone: it owes what it has given back", "data-designer-0.9", ("LAW-11",),
           {"r": 2}, (come(*[(id, A, units(1)) for id in ids("a", 3)]), PUMP, v.Release(lease=1), PUMP), (("repay", False),)),
    Hazard("Q13-old-place", "a task that was discarded and comes again is started at its old place, before one that came earlier", "data-designer-0.9", ("LAW-5",),
           {"r": 2}, (come(("t0", G, units(1)), ("t1", G, units(1))), v.Discard(task="t0"), come(("t0", G, units(1))), PUMP)),
    Hazard("N13-old-request", "a task that was discarded and comes again with other needs is started with its old ones", "data-designer-0.9", ("LAW-6",),
           {"r": 2}, (come(("t0", G, units(1))), v.Discard(task="t0"), come(("t0", G, units(2))), PUMP)),
    Hazard("N13-false-verdict", "a task that was discarded and comes again with other needs is judged by its old ones", "data-designer-0.9", ("LAW-18",),
           {"r": 2}, (come(("a0", A, units(1))), PUMP, come(("t0", G, units(1))), v.Discard(task="t0"), come(("t0", G, units(2))), v.Explain())),
    Hazard("A8-accepts-the-impossible", "a task that asks for what there is not is accepted, and waits for ever", "data-designer-0.9", ("LAW-15",),
           {"r": 1}, (come(("t0", G, units(2))),)),
    Hazard("A8-blocks-its-group", "a task that can never start is accepted, and those behind it never start either", "data-designer-0.9", ("LAW-15", "LAW-16"),
           {"r": 1}, (come(("t0", G, units(2)), ("t1", G, units(1))), PUMP)),
)  # fmt: skip


def play(session: Session) -> list[Player]:
    """Those of the installed version's profiles, on the package."""
    players = []
    for hazard in HAZARDS:
        profile = session.strict() if hazard.profile == "strict" else session.bounded(**dict(hazard.parameters))
        if profile.name == hazard.profile and (profile.name != "strict" or profile == v.PROFILES["strict"]):
            player = Player(hazard.name, profile, hazard.capacity, note=hazard.note)
            for command in hazard.commands:
                player.do(command)
            players.append(player)
    return players
