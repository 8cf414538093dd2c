"""One look, as text for logs or as one JSON object. The order of the lines never changes."""
from __future__ import annotations

from typing import Any

import msgspec

from slotwise.dashboard.observe.frames import Frame
from slotwise.dashboard.observe.lints import LINTS, Alarm, status
from slotwise.dashboard.observe.panes import worst
from slotwise.dashboard.observe.words import escape, rate, seconds, showing

OK, REACHED, CANNOT_ATTACH, NO_DATA = 0, 1, 2, 3
WORDS = {"ok": "OK", "warn": "WARN", "alarm": "ALARM", "unknown": "?"}
FIRST = 5                                # alarms of one code that are spelled out
WIDTH = 20


def as_text(frame: Frame, alarms: tuple[Alarm, ...], rechecks: int = 0) -> str:
    head = frame.head
    first = [
        f"sched={escape(head.program)}", f"state={escape(head.state)}", f"t={head.up_s:.2f}s", f"window={head.window_s:.3g}s",
        f"events={'-' if head.events_per_s is None else rate(head.events_per_s)}/s", f"dropped={head.dropped}", f"snapshot_age={'-' if head.age_s is None else seconds(head.age_s)}",
    ]  # fmt: skip
    lines = [" ".join(first + ["coarse"] * head.coarse + ["restarted"] * head.restarted)]
    for verdict in frame.verdicts:
        lines.append(f"{WORDS[verdict.status]:<5} {verdict.name:<{WIDTH}} {verdict.text}  {verdict.more}".rstrip())
    for code, lint in LINTS.items():
        found = [alarm for alarm in alarms if alarm.code == code]
        lines += [f"{WORDS[alarm.status]:<5} {alarm.sentence}" for alarm in found[:FIRST]]
        if len(found) > FIRST:
            lines.append(f"{WORDS[lint.status]:<5} {code}: {lint.summary(len(found))}, {showing(FIRST, len(found))}")
    if rechecks:
        lines.append(f"{WORDS['unknown']:<5} {rechecks:,} past a limit, but not for long enough")
    return "\n".join(lines)


def as_object(frame: Frame, alarms: tuple[Alarm, ...], rechecks: int = 0) -> dict[str, Any]:
    """The frame with all its panes; a pane has at most 200 rows, and says how many there are."""
    found: dict[str, Any] = msgspec.to_builtins({
        "head": frame.head, "status": worst((frame.status, status(alarms))), "verdicts": frame.verdicts,
        "alarms": alarms, "rechecks": rechecks, "panes": {name: frame.pane(name) for name in frame.names},
    })  # fmt: skip
    return found


def exit_code(frame: Frame, alarms: tuple[Alarm, ...], fail_on: str | None) -> int:
    """Verdicts and open lints both count, unless their code is allowed."""
    if fail_on is None:
        return OK
    grave = ("alarm",) if fail_on == "alarm" else ("warn", "alarm")
    return REACHED if status(alarms) in grave or any(v.status in grave and not excused(v.name, frame) for v in frame.verdicts) else OK


#: The lints that say what a verdict says.
_SAME = {
    "idle-while-waiting": ("SCH001",), "starving": ("FAIR01", "FAIR02"), "checkpoint-wait": ("CKPT01",), "spin-burn": ("SPIN01", "SPIN02"), "invariants": ("INV",), "divergence": ("DIV",),
    "fuzz": ("DIV", "INV"),
}  # fmt: skip


def excused(verdict: str, frame: Frame) -> bool:
    return frame.limits.allowed.issuperset(_SAME[verdict])
