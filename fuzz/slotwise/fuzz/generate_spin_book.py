"""What the generator of spinning remembers of an episode: where each actor stands, and when something will happen to it."""
from __future__ import annotations

from typing import Any

from slotwise.fuzz.generate import Choose
from slotwise.spec import spin_vocabulary as v
from slotwise.spec.vocabulary import Observation

#: After what an actor tells it stands there; of what is not listed, where it stood.
STANDS = {
    "announced": "top", "looks": "scan", "passed": "scan", "sees": "take", "took": "running", "lost": "scan", "ended": "settle", "settled": "scan", "again": "top", "nothing_new": "window",
    "spun": "window", "caught": "top", "expired": "wait", "slept": "asleep", "stayed": "woken", "stirred": "woken", "woke": "top", "left": "gone",
    "held": "write", "wrote": "write", "published": "wake", "wakes": "scan", "straggles": "straggling",
}  # fmt: skip


class Book:
    def __init__(self, profile: v.Profile, setup: v.Setup, lengths: tuple[int, ...]) -> None:
        self.profile, self.lengths = profile, lengths
        self.now = 0
        self.built, self.shutdown = setup.built, False
        self.start: int | None = None                    # of the builder
        self.workers = {f"w{i}": "top" if setup.built else "announce" for i in range(setup.workers)}
        self.dispatchers: dict[str, str] = {}            # that have a fan-out
        self.since: dict[str, int] = {}                  # when a worker's stretch began
        self.windows: dict[str, int] = {}                # as a worker last told it
        self.due: dict[str, int] = {}                    # when its next yield is due
        self.lone = 0                                    # the lone worker's window
        self.carried = 0                                 # of its stretch

    def at(self, name: str) -> str:
        if name == v.BUILDER:
            return "built" if self.built else "barrier"
        return self.workers.get(name) or self.dispatchers.get(name, "")

    def others_run(self, name: str) -> bool:
        """Somebody must act before this dispatcher's fan-out is over, or its own next step tells."""
        return any(at not in ("asleep", "gone", "straggling") for other, at in (*self.workers.items(), *self.dispatchers.items()) if other != name)

    def deadline(self, name: str, choose: Choose) -> int:
        """When a worker's window will be over, as far as one can tell."""
        length = self.windows.get(name, -1)
        if length < 0 or choose.one_of((False, False, True), "another length"):
            length = choose.one_of(self.lengths, "")
        return max(self.now, self.since.get(name, 0) + length)

    def update(self, command: Any, saw: list[Observation]) -> None:
        if saw and saw[0][0] == "time_reversed":
            return
        self.now = max(self.now, command.at)
        if isinstance(command, v.Go) and command.actor == v.BUILDER and not self.built and self.start is None:
            self.start = command.at
        said: Any
        for said in saw:
            self._take_in(command, said)

    def _take_in(self, command: Any, said: Any) -> None:
        word, name = said[0], said[1] if len(said) > 1 else ""
        if name in self.workers and word in STANDS:
            self.workers[name] = STANDS[word]
            self._of_worker(word, name, said)
        elif word == "held":
            self.dispatchers[name] = "write"
        elif name in self.dispatchers:
            if word in ("finished", "raised"):
                del self.dispatchers[name]
            elif word == "spun":
                self.dispatchers[name] = "straggling"
            elif word in STANDS:
                self.dispatchers[name] = STANDS[word]
            if word == "wakes":
                self._wake(said[3].split())
        elif word in ("shut_down", "abandoned"):
            self.shutdown = True
            self.built = self.built or word == "abandoned"
            self._wake(list(self.workers))
        elif word == "built":
            self.built = True
        elif word == "waited":
            self.lone = said[3]
            self.carried = 0 if command.ran or self.profile.empty_catch_counts else self.carried + command.gap

    def _of_worker(self, word: str, name: str, said: Any) -> None:
        if word == "announced" or (word == "again" and said[2]) or (word == "nothing_new" and self.profile.empty_catch_counts):
            self.since[name] = self.now
        if word in ("caught", "expired", "woke"):
            self.windows[name] = said[2]
            self.due.pop(name, None)
        elif word == "spun" and said[3]:
            self.due[name] = self.now + self.profile.yield_interval

    def _wake(self, names: list[str]) -> None:
        for name in names:
            if self.workers.get(name) == "asleep":
                self.workers[name] = "woken"
