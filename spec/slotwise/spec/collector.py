"""The collector: which discipline a profile has, and what holds for both. `step` is the truth, as in `admission`.

It takes one command to a collector and says what was seen. It has no clock of its own and no randomness; every command is legal in every
state.
"""
from __future__ import annotations

from slotwise.spec import aws_durable, aws_durable_state, batching, batching_state
from slotwise.spec import batching_vocabulary as v
from slotwise.spec.rules import BATCHING, decided, rule
from slotwise.spec.vocabulary import Observation, State

Collector = batching_state.Collector | aws_durable_state.Collector


def collector(profile: v.Profile, setup: v.Setup) -> Collector:
    """A collector with nothing queued and nothing in flight, of the profile's discipline."""
    if isinstance(profile.discipline, v.LookAhead):
        return batching_state.collector(profile, setup)
    return aws_durable_state.collector(profile, setup)


@rule("COL-1", source="design 4", of=BATCHING)
def time_reversed(model: Collector, at: int) -> list[Observation] | None:
    """Time never goes back: a command from before an earlier one is refused, and nothing is done."""
    return [("time_reversed", model.now)] if at < model.now else None


@rule("COL-2", source="design 4; discipline BAT-13", of=BATCHING)
def unexpected(model: Collector, command: v.Command) -> list[Observation] | None:
    """An answer that no request awaits, or a page that was not asked for, is refused, and nothing is done."""
    fetching = model.flight.fetching if model.flight else None
    match command:
        case v.Respond():
            awaited = fetching is False
        case v.Page():
            awaited = fetching is True
        case v.Fail():
            awaited = fetching is not None
        case _:
            awaited = True
    return None if awaited else [("unexpected", str(type(command).__struct_config__.tag))]


def step(model: Collector, command: v.Command) -> list[Observation]:
    """Do one command and say what was seen. The rules that decided are in `rules.decided`, in order of decision."""
    decided.clear()
    if refused := time_reversed(model, command.at):
        return refused
    model.now = command.at
    if refused := unexpected(model, command):
        return refused
    return batching.do(model, command) if isinstance(model, batching_state.Collector) else aws_durable.do(model, command)


def state(model: Collector) -> State:
    """The whole state, canonical: strings and integers only, sorted; what is none is left out. Pure."""
    return batching_state.state(model) if isinstance(model, batching_state.Collector) else aws_durable_state.state(model)
