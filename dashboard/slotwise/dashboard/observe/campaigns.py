"""Searches for divergences: how fast, what they reached, what is missing, what they found. Nothing here is shown of a program without one.

A floor is how often a rule must have decided in so many steps. A rule is *missing* once it should have decided and never did; it is
*below* its floor if it decided too seldom. Before enough steps nothing is said.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal

from slotwise.dashboard.observe.panes import Field, Status, Table
from slotwise.dashboard.observe.verdicts import Verdict
from slotwise.dashboard.observe.window import SECOND, Window
from slotwise.dashboard.observe.words import SAFE, Value, escape, rate
from slotwise.impl.snapshot import Campaign, Check

ENOUGH = 20_000                          # steps, from which on floors are judged
WAITING, SEARCHING = "waiting", "searching"
State = Literal["reached", "not yet", "BELOW", "NEVER", "NO FLOOR"]


def name(campaign: Campaign) -> str:
    return f"{campaign.mechanism}/{campaign.profile}"


def failed(campaign: Campaign) -> bool:
    """Its result begins in capitals: DIVERGENCE at SLT-9."""
    return campaign.result[:2].isupper()


def judged(campaign: Campaign) -> bool:
    """Do its floors count? Not in a short search, nor where a failure ended it."""
    return bool(campaign.floors) and campaign.steps >= ENOUGH and not failed(campaign)


def state(campaign: Campaign, rule: str) -> State:
    """While it searches, a rule that nobody expects more than ten times by now may still come."""
    hits, floor = campaign.rules[rule], campaign.floors.get(rule)
    if not judged(campaign):
        return "reached" if hits else "not yet"
    if not hits:
        return "not yet" if campaign.result == SEARCHING and floor is not None and floor < 1 else "NEVER"
    if floor is None:
        return "NO FLOOR"
    return "BELOW" if hits < floor else "reached"


STATUS: dict[State, Status] = {"reached": "ok", "not yet": "ok", "NO FLOOR": "warn", "BELOW": "warn", "NEVER": "alarm"}


def missed(campaign: Campaign) -> list[str]:
    """The rules that do not keep their floors."""
    return [rule for rule in campaign.rules if STATUS[state(campaign, rule)] != "ok"]


def checks(campaigns: Iterable[Campaign], at: int) -> tuple[Check, ...]:
    """Of the rules of each campaign whose floors count: kept, or missed."""
    return tuple(
        Check(f"{name(one)} {rule}", STATUS[state(one, rule)] == "ok", one.rules[rule], at, detail(one, rule)) for one in campaigns if judged(one) for rule in one.rules
    )  # fmt: skip


def detail(campaign: Campaign, rule: str) -> str:
    floor = campaign.floors.get(rule)
    return f"decided {campaign.rules[rule]:,} times in {campaign.steps:,} steps, " + ("and has no floor" if floor is None else f"its floor is {floor:,.1f}")


class CampaignWindow:
    """One campaign between two looks at it."""

    __slots__ = ("after", "before", "window")

    def __init__(self, before: Campaign | None, after: Campaign, window: Window) -> None:
        self.before, self.after, self.window = before, after, window

    @property
    def speed(self) -> float | None:
        """Steps per second of searching, in the window while it searches, else of all of it."""
        before, after = self.before, self.after
        if before is not None and after.result == SEARCHING and after.time > before.time:
            return (after.steps - before.steps) * SECOND / (after.time - before.time)
        return after.steps * SECOND / after.time if after.time > 0 else None

    @property
    def reached(self) -> int:
        return sum(hits > 0 for hits in self.after.rules.values())

    @property
    def never(self) -> list[str]:
        """Rules that it ought to have reached."""
        return [rule for rule in self.after.rules if state(self.after, rule) == "NEVER"]

    @property
    def status(self) -> Status:
        if failed(self.after) or self.never:
            return "alarm"
        return "warn" if missed(self.after) else "ok"


def windows(window: Window) -> list[CampaignWindow]:
    known = {(name(one), one.target): one for one in window.before.campaigns} if window.before else {}
    return [CampaignWindow(known.get((name(one), one.target)), one, window) for one in window.after.campaigns]


# tables -------------------------------------------------------------------------------------------------------------------------------


def of(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else "-"


def floors(campaign: Campaign) -> str:
    if not judged(campaign):
        return "-"
    count = len(missed(campaign))
    return f"{count} missed" if count else "kept"


def faults(campaign: Campaign) -> str:
    """killed/total; a dash before it if nobody tried."""
    return "-" if not campaign.faults else f"{'-' if campaign.killed is None else campaign.killed}/{campaign.faults}"


CAMPAIGNS: Table[CampaignWindow] = Table("campaigns", "Campaigns", lambda c: f"{name(c.after)} {c.after.target}", [
    Field("mechanism", "mechanism", "", "what is searched", lambda c: c.after.mechanism),
    Field("profile", "profile", "", "under which rules", lambda c: c.after.profile),
    Field("steps", "steps", "steps", "commands done", lambda c: c.after.steps),
    Field("speed", "steps/s", "1/s", "steps / time of searching; in the window while it searches", lambda c: c.speed),
    Field("since", "since new", "steps", "steps since a rule last decided for the first time, or something was found", lambda c: max(0, c.after.steps - c.after.new_at)),
    Field("rules", "rules", "", "rules that decided / rules of the profile", lambda c: of(c.reached, len(c.after.rules))),
    Field("floors", "floors", "", f"kept, or how many rules decided too seldom; judged from {ENOUGH:,} steps on", lambda c: floors(c.after)),
    Field("faults", "faults", "", "seeded faults of the profile: found by the last slotwise mutate here / all there are", lambda c: faults(c.after)),
    Field("result", "result", "", "what came out", lambda c: c.after.result),
    Field("missing", "missing", "", "rules that ought to have decided, and never did", lambda c: " ".join(c.never)),
    Field("target", "target", "", "what is compared with the rules", lambda c: c.after.target),
    Field("seed", "seed", "", "where it began", lambda c: c.after.seed),
    Field("episodes", "episodes", "episodes", "played", lambda c: c.after.episodes),
    Field("time", "time", "s", "that it has searched", lambda c: c.after.time / SECOND),
], status=lambda c: c.status)  # fmt: skip

RuleOf = tuple[CampaignWindow, str]


def margin(one: RuleOf) -> float | None:
    """How often it decided / how often it must; 0 if it never did."""
    campaign, rule = one[0].after, one[1]
    hits, floor = campaign.rules[rule], campaign.floors.get(rule)
    return 0.0 if not hits else hits / floor if floor else None


RULES: Table[RuleOf] = Table("rules", "Rules", lambda r: f"{name(r[0].after)} {r[1]}", [
    Field("rule", "rule", "", "its id", lambda r: r[1]),
    Field("profile", "profile", "", "of the campaign", lambda r: r[0].after.profile),
    Field("mechanism", "mechanism", "", "of the campaign", lambda r: r[0].after.mechanism),
    Field("decided", "decided", "times", "how often", lambda r: r[0].after.rules[r[1]]),
    Field("often", "per 1000", "times/1000 steps", "times / steps x 1,000", lambda r: 1000 * r[0].after.rules[r[1]] / r[0].after.steps if r[0].after.steps else None),
    Field("floor", "floor", "times", "how often it must have decided in so many steps", lambda r: r[0].after.floors.get(r[1])),
    Field("margin", "margin", "x floor", "decided / floor; the least first", margin),
    Field("state", "state", "", "NEVER: it ought to have decided; BELOW: too seldom; NO FLOOR: nobody measured how often it must", lambda r: state(r[0].after, r[1])),
    Field("sentence", "sentence", SAFE, "what it says", lambda r: sentence(r[0].after.mechanism, r[1])),
], sort="margin", status=lambda r: STATUS[state(r[0].after, r[1])])  # fmt: skip


@lru_cache(16)
def sentences(mechanism: str) -> Mapping[str, str]:
    """Rule or law -> what it says. Loads the rules, which is why it is asked late."""
    from slotwise.spec.mechanisms import MECHANISMS

    known = MECHANISMS.get(mechanism)
    return {} if known is None else {**{rule.id: rule.prose for rule in known.rule_book.values()}, **{law.id: law.prose for law in known.law_book.LAWS.values()}}


def sentence(mechanism: str, rule: str) -> str:
    """Empty for one that nobody knows."""
    return sentences(mechanism).get(rule, "")


def tables(window: Window) -> list[tuple[Table[Any], list[Any]]]:
    """None, where there is no campaign."""
    found = windows(window)
    return [(CAMPAIGNS, found), (RULES, [(one, rule) for one in found for rule in one.after.rules])] if found else []


def verdict(window: Window) -> Verdict | None:
    """None, where there is no campaign."""
    found = windows(window)
    if not found:
        return None
    active = [one for one in found if one.after.result == SEARCHING]
    done = sum(one.after.result not in (WAITING, SEARCHING) for one in found)
    never, below = sum(len(one.never) for one in found), sum(len(missed(one.after)) for one in found)
    failures = max(sum(failed(one.after) for one in found), len(window.after.divergences))
    speed = sum(one.speed or 0.0 for one in active)
    if not active:
        time = sum(one.after.time for one in found)
        speed = sum(one.after.steps for one in found) * SECOND / time if time > 0 else 0.0
    text = f"{rate(speed)} steps/s, {done} of {plural(len(found), 'campaign')} done, {plural(never, 'rule')} missing, {plural(failures, 'divergence')}"
    more = [escape(one.after.result) + f" ({escape(name(one.after))})" for one in found if failed(one.after)][:1] or [f"{escape(name(one.after))}: {escape(' '.join(one.never))}" for one in found if one.never][:2]
    numbers: dict[str, Value] = {"steps_per_s": speed, "campaigns": len(found), "done": done, "missing_rules": never, "missed_floors": below, "failures": failures}
    status: Status = "alarm" if failures or never else "warn" if below else "ok"
    return Verdict("fuzz", status, text, "; ".join(more), numbers, "campaigns")


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
