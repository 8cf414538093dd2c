"""The ways to put the rows of a table together by what they have in common: pure, and worked out only when it is looked at."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slotwise.dashboard.observe import summed, waits
from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.panes import Table
from slotwise.dashboard.observe.sums import View, by

__all__ = ["ASKED", "VIEWS", "View", "things"]

#: By table, in the order in which the key goes through them.
VIEWS: dict[str, tuple[View, ...]] = {
    "resources": (View("state", summed.RESOURCES, lambda found: by(found, summed.resource_state)),),
    "groups": (
        View("what they wait for", waits.BY_CAUSE, lambda groups: by(waits.waits(groups), lambda wait: wait.cause)),
        View("resource", waits.BY_RESOURCE, lambda groups: by(waits.waits(groups), lambda wait: wait.resource)),
        View("group and what it waits for", waits.WAITS, waits.waits),
    ),
    "batches": (
        View("seal", summed.BATCHES_BY_SEAL, lambda found: by(found, lambda pair: pair[1].seal)),
        View("batcher", summed.BATCHES_BY_BATCHER, lambda found: by(found, lambda pair: pair[0])),
    ),
    "waves": (View("batcher", summed.WAVES, lambda found: by(found, lambda pair: pair[0])),),
    "workers": (View("state", summed.WORKERS, lambda found: by(found, lambda worker: worker.after.state)),),
    "checks": (
        View("outcome", summed.CHECKS_BY_OUTCOME, lambda found: by(found, lambda pair: "yes" if pair[0].holds else "NO")),
        View("family", summed.CHECKS_BY_FAMILY, lambda found: by(found, lambda pair: summed.family(pair[0]))),
    ),
    "divergences": (View("rule", summed.DIVERGENCES, lambda found: by(found, lambda pair: pair[0].rule)),),
    "alarms": (
        View("code", summed.ALARMS_BY_CODE, lambda found: by(found, lambda one: one.alarm.code)),
        View("entity", summed.ALARMS_BY_ENTITY, lambda found: by(found, lambda one: one.alarm.entity)),
    ),
}
#: Tables that are only there when they are asked for, and whose things they are.
ASKED: dict[str, tuple[str, View]] = {"waits": ("groups", VIEWS["groups"][2])}


def things(frame: Frame, name: str) -> tuple[Table[Any], Sequence[Any]] | None:
    """A table of the frame, or one that is only there when it is asked for."""
    if name in ASKED:
        base, view = ASKED[name]
        found = things(frame, base)
        return None if found is None else (view.table, view.gather(found[1]))
    return frame.table(name) if name in frame.names else None
