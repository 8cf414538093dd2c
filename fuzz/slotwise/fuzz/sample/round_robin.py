"""A whole target in plain Python, spoken to over JSON lines: a scheduler of one's own, in which groups take turns.

It has a bug: the turn does not move on, so that a group late in the alphabet may wait for ever. `fixed` serves in turn.

    slotwise fuzz --target "pipe:python -m slotwise.fuzz.sample.round_robin"            (add `fixed` for the one that is right)
"""
from __future__ import annotations

import json
import sys
from typing import Any


class RoundRobin:
    commands = ("enqueue", "discard", "pump", "release")

    def __init__(self, capacity: dict[str, int], fixed: bool = False) -> None:
        self.capacity, self.fixed, self.now, self.granted, self.last = capacity, fixed, 0, 0, ""
        self.waiting: dict[str, Any] = {}          # id -> task, in order of arrival
        self.running: dict[int, Any] = {}          # lease -> task

    def step(self, command: dict[str, Any]) -> list[Any]:
        if command.get("at", 0) < self.now:
            return [["time_reversed", self.now]]
        self.now = command.get("at", 0)
        match command["do"]:
            case "enqueue":
                return [self.enqueue(task) for task in command["tasks"]]
            case "discard":
                return [["discarded" if self.waiting.pop(command["task"], None) else "unknown_task", command["task"]]]
            case "release":
                return [["released" if self.running.pop(command["lease"], None) else "unknown_lease", command["lease"]]]
        seen: list[Any] = []
        while len(seen) < command["at_most"] and (task := self.next()):
            self.granted, self.last = self.granted + 1, task["group"]
            self.running[self.granted] = self.waiting.pop(task["id"])
            seen.append(["started", self.granted, task["id"], task["needs"]])
        return [*seen, ["drained" if not self.waiting else "full" if len(seen) == command["at_most"] else "blocked"]]

    def enqueue(self, task: Any) -> list[str]:
        if any(units > self.capacity.get(resource, 0) for resource, units in task["needs"].items()):
            return ["refused", task["id"], "never_fits"]
        return ["duplicate" if self.waiting.setdefault(task["id"], task) is not task else "accepted", task["id"]]

    def next(self) -> Any:
        heads = {task["group"]: task for task in reversed(self.waiting.values())}
        for group in sorted(heads, key=lambda group: (self.fixed and group <= self.last, group)):
            if all(units + sum(task["needs"].get(r, 0) for task in self.running.values()) <= self.capacity[r] for r, units in heads[group]["needs"].items()):
                return heads[group]


if __name__ == "__main__":
    for line in map(json.loads, sys.stdin):
        if "slotwise" in line:                     # a header: start afresh
            scheduler = RoundRobin(line["setup"]["capacity"], fixed="fixed" in sys.argv)
            answer: Any = {"slotwise": 1, "commands": RoundRobin.commands}
        else:
            answer = scheduler.step(line)
        print(json.dumps(answer), flush=True)
