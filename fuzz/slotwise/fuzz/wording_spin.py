"""Spinning in words."""
from __future__ import annotations

from slotwise.spec import spin_vocabulary as v

DEFAULT = v.Setup()


def setting(setup: v.Setup) -> str:
    more = [f"{setup.workers} spawned"] * (setup.spawned is not None) + ["not built"] * (not setup.built)
    more += [f"{word} {getattr(setup, word)} ns" for word in ("park", "wake", "catch") if getattr(setup, word) != getattr(DEFAULT, word)]
    return f"width {setup.width}" + (f" ({', '.join(more)})" if more else "")


def said(command: v.Command) -> str:
    """A command in words, without its time."""
    match command:
        case v.Dispatch():
            return f"{command.actor} dispatches {_tasks(command.total)}"
        case v.Go():
            return f"{command.actor} goes on" + (f", {command.times} steps" if command.times > 1 else "")
        case v.End():
            return f"the task of {command.actor} {'panics' if command.panics else 'ends'}"
        case v.Stir():
            return f"{command.actor} is stirred"
        case v.Shutdown():
            return "shut down"
        case v.Counters():
            return "counters"
        case v.Wait():
            first = [f"the first yield {command.first_yield}"] * (command.first_yield is not None)
            costs = [f"pause {command.pause}", f"clock {command.clock}", f"yield {command.yields}", *first]
            return f"a window of {command.window} ns ({', '.join(costs)}){_flags(command, 'at')}"
        case v.Script():
            return f"a window of {command.window} ns by the clock [{' '.join(map(str, command.readings))}]{_flags(command, 'in pass')}"
        case v.Gap():
            return f"a gap of {command.gap} ns" + ("" if command.ran else ", and no task")


def _tasks(total: int) -> str:
    return f"{total} task" + ("" if total == 1 else "s")


def _flags(command: v.Wait | v.Script, when: str) -> str:
    seen = [f"{word} {when} {moment}" for word, moment in (("published", command.publish), ("shut down", command.shutdown)) if moment is not None]
    return "".join(f", {one}" for one in seen)
