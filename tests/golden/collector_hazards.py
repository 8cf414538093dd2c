"""The known hazards of the published collector: each the shortest trace that shows one, the laws that it breaks, and the switch that it comes of.

    python -m tests.golden.collector_hazards            write tests/golden/hazards/collector-*.slotwise.jsonl
    python -m tests.golden.collector_hazards --check    write nothing; fail if anything would differ, notes apart

Runs where the package is installed: each is played on it and on the reference at once, those of the installed version's profile.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from slotwise.fuzz.upstream.aws_durable import OWN, VERSION, Collector
from slotwise.spec import batching_vocabulary as v
from slotwise.spec import collector, rules
from slotwise.spec.trace import SUFFIX, Step, Trace, decode, encode, header, read

FOLDER = Path(__file__).parent / "hazards"
MS, BEFORE, AFTER = v.MILLISECOND, "aws-durable-2.0.0", "aws-durable-3.0.0"


@dataclass(frozen=True)
class Hazard:
    name: str
    says: str                            # what goes wrong, in a line
    profile: str
    laws: tuple[str, ...]                # exactly these are broken
    switch: str                          # without it they are not all; "": there is none
    commands: tuple[v.Command, ...]

    @property
    def note(self) -> str:
        return f"{self.says}; breaks {', '.join(self.laws)}{f', by {self.switch}' if self.switch else ''} (as aws-durable-execution-sdk-python {VERSION} played it)"

    @property
    def path(self) -> Path:
        return FOLDER / f"collector-{self.name}{SUFFIX}"

    def played(self) -> Trace:
        profile, setup = v.PROFILES[self.profile], v.Setup()
        package, reference, steps = Collector(profile, setup), collector.collector(profile, setup), []
        try:
            for command in self.commands:
                saw = package.step(command)
                assert saw == collector.step(reference, command), f"{self.name}: {command}: the package saw {saw}"
                steps.append(Step(command, saw, list(dict.fromkeys(rules.decided))))
        finally:
            package.close()
        return Trace(header(profile, setup, targets=("aws-durable",), note=self.note), steps)


def come(*ids: str, at: int = 0) -> list[v.Command]:
    return [v.Submit(id=id, at=at) for id in ids]


LARGE = v.Submit(id="large", size=768_001)
PUMP, DONE = v.Pump(), v.Respond(token="token-1")
HAZARDS = (
    Hazard("H1-never-sent", "an update that did not fit, and is larger than a request may be, is never sent, and its caller is blocked for ever", AFTER,
           ("LAW-52", "LAW-53", "LAW-54"), "oversize_overflow_waits", (*come("a"), LARGE, PUMP, DONE, PUMP, v.Pump(at=901 * MS))),
    Hazard("H1-overtaken", "an update that did not fit, and is larger than a request may be, is overtaken by what came later", AFTER,
           ("LAW-36",), "oversize_overflow_waits", (*come("a"), v.Submit(id="large", size=768_001, sync=False), PUMP, DONE, v.Submit(id="b", sync=False), PUMP, v.Pump(at=100 * MS))),
    Hazard("H2-not-shown", "whoever waits until a time of the service goes on, though no answer has shown that it has come", AFTER,
           ("LAW-41",), "", (v.Refresh(id="a", key=0), PUMP, v.Pump(at=MS), v.Respond(token="token-1", at=MS))),
    Hazard("H3-accepted-after-stop", "an update is accepted after the stop", AFTER, ("LAW-49",), "accepts_after_stop", (v.Stop(), *come("a"))),
    Hazard("H3-abandoned", "an update that was accepted before the stop is not sent, and its caller is blocked for ever", AFTER,
           ("LAW-51",), "stop_abandons", (*come("a"), v.Stop(), PUMP)),
    Hazard("H4-woken", "a caller is blocked for longer than a round trip, because somebody asks for a refresh in an hour", AFTER,
           ("LAW-54",), "wakes_extend", (*come("a"), PUMP, v.Pump(at=MS), v.Respond(token="token-1", at=5 * MS // 2), *come("b", at=5 * MS // 2), v.Pump(at=5 * MS // 2),
                                         v.Refresh(id="r", due=3600 * v.SECOND, at=34 * MS // 10), v.Pump(at=34 * MS // 10))),
    Hazard("H5-idle-tail", "a stop of an idle collector is seen only when a read ends", AFTER, ("LAW-50",), "stop_waits_for_poll", (PUMP, v.Stop(), PUMP)),
    Hazard("orphan", "an update of a new operation is accepted from below a context that has ended", AFTER,
           ("LAW-48",), "", (v.Submit(id="context", ends=True), v.Submit(id="a", parent="context"))),
    Hazard("asked-twice", "a refresh of an operation is asked for twice", AFTER, ("LAW-56",), "", (v.Refresh(id="a"), v.Refresh(id="a"))),
    Hazard("revoked-is-well-2.0.0", "this worker has lost the right to the execution, and its caller is told that all is well", BEFORE,
           ("LAW-46",), "", (LARGE, *come("a"), PUMP, v.Respond())),
    Hazard("revoked-is-completed-2.0.0", "this worker has lost the right to the execution, and updates are refused because that be complete", BEFORE,
           ("LAW-47",), "", (v.Submit(id="a", sync=False), PUMP, v.Pump(at=100 * MS), v.Respond(at=100 * MS), *come("b", at=100 * MS))),
)  # fmt: skip


def differs(path: Path, trace: Trace) -> bool:
    """Apart from the note, which names the version."""
    if not path.exists():
        return True
    kept, found = read(path), decode(encode(trace))
    return (kept.header.profile, kept.header.setup, kept.steps) != (found.header.profile, found.header.setup, found.steps)


def main(check: bool) -> int:
    kept = [(hazard.path, hazard.played()) for hazard in HAZARDS if hazard.profile == OWN.name]
    changed = [path.name for path, trace in kept if differs(path, trace)]
    if not check:
        for path, trace in kept:
            path.write_bytes(encode(trace))
    print(f"aws-durable-execution-sdk-python {VERSION}: {len(kept)} hazards, {len(changed)} changed", *changed)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
