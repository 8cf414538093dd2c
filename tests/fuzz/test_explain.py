"""The words of a failure, whole: what a person reads in a terminal."""
from __future__ import annotations

from tests.fuzz.broken import Mute, broken

from slotwise.fuzz.explain import explain, said
from slotwise.fuzz.judges import judge
from slotwise.fuzz.recording import recorded
from slotwise.fuzz.report import Failure
from slotwise.fuzz.target import Target
from slotwise.spec import vocabulary as v
from slotwise.spec.vocabulary import PROFILES, Claim, Command, Discard, DiscardWhere, Enqueue, Explain, Group, Observation, Pump, Release, Select, Task


def failing(target: Target, profile: str, capacity: dict[str, int], *commands: Command) -> Failure:
    finding = judge(target, PROFILES[profile], capacity, commands, state_every=1)
    assert finding is not None
    trace = recorded(target, PROFILES[profile], capacity, finding.commands)
    return Failure(finding, PROFILES[profile], capacity, target.name, 7, trace, trace)


A1 = Enqueue(tasks=(Task("a1", "a", {"r": 1}),))


def test_an_answer_that_differs() -> None:
    failure = failing(broken("second_release_unknown", state=False), "strict", {"r": 1}, A1, Pump(at_most=9), Release(lease=1, at=3), Release(lease=1, at=5))
    assert explain(failure) == """\
ADM-6: the target differs from the rules
    A second release of a lease changes nothing; it is called a duplicate for as long as the release
    is remembered.

  expected duplicate 1, found unknown_lease 1

  target broken/second_release_unknown, profile strict, capacity 1 r, episode 7

    1  enqueue a1 of a (1 r)  accepted a1
    2  pump at most 9         started 1 a1 (1 r); drained
    3  release 1 at 3         released 1
>   4  release 1 at 5         duplicate 1

          expected     found
  seen 1  duplicate 1  unknown_lease 1
"""


def test_states_side_by_side() -> None:
    tasks = Enqueue(tasks=(Task("a1", "a", {"r": 2}),), groups=(Group("a", 2.0, 1),))
    failure = failing(broken("debt_not_charged"), "data-designer-0.9", {"r": 2, "s": 1}, tasks, Pump(at_most=1))
    assert explain(failure) == """\
BOR-4: the target differs from the rules
    What a start takes beyond its group's share, the group owes.

  the same was seen, but the states differ in debt

  target broken/debt_not_charged, profile data-designer-0.9, capacity 2 r, 1 s, episode 7

    1  enqueue a1 of a (2 r); a weighs 2 share limit 1  accepted a1
>   2  pump at most 1                                   started 1 a1 (2 r); drained

  state   reference  broken/debt_not_charged
  debt.a  r 1        -
"""


class Greedy(Mute):
    def step(self, command: Command) -> list[Observation]:
        saw = super().step(command)
        return [("blocked",)] if isinstance(command, Pump) else saw


def test_a_law_and_only_the_last_steps() -> None:
    discards = [Discard(task=f"b{i}") for i in range(20)]
    failure = failing(Target("greedy", Greedy, claims=lambda profile: False), "slotwise", {"r": 1}, *discards, A1, Pump(at_most=1))
    assert explain(failure, steps=3) == """\
LAW-12: the target breaks a law
    While nothing runs, a head that could run is started when asked.

  nothing runs, and a1 was not started

  target greedy, profile slotwise, capacity 1 r, episode 7

  (after 19 steps)
   20  discard b19            unknown_task b19
   21  enqueue a1 of a (1 r)  accepted a1
>  22  pump at most 1         blocked
"""


def test_commands_in_words() -> None:
    group = Group("a", 0.5, None, 3)
    assert [said(command) for command in (
        Enqueue(tasks=(Task("a1", "a", {"r": 1, "s": 2}), Task("b1", "b", {"r": 1})), groups=(group, Group("b")), at=4), Discard(task="a1", at=1), DiscardWhere(),
        DiscardWhere(group="a", prefix="x"), Pump(at_most=3), Select(at=9), v.Commit(task="a1", version=2), Release(lease=1),
        Release(lease=2, claim=Claim("a1", {"r": 9}, 1), at=2), Explain(),
    )] == [
        "enqueue a1 of a (1 r, 2 s), b1 of b (1 r); a weighs 0.5 running limit 3 at 4", "discard a1 at 1", "discard all",
        "discard all of a with an id from x", "pump at most 3", "select at 9", "commit a1, version 2", "release 1",
        "release 2, claiming a1, 9 r, generation 1 at 2", "explain",
    ]  # fmt: skip
