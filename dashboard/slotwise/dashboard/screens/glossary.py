"""What the help says of every number that stands outside the tables: as it is called there, its unit, what it is."""
from __future__ import annotations

from slotwise.dashboard.observe.limits import CLEARS, DEFAULTS, SECOND, Limits
from slotwise.dashboard.observe.tables import CAUSE_WORDS
from slotwise.dashboard.observe.verdicts import LOST, LOST_BADLY
from slotwise.dashboard.observe.words import seconds

Entry = tuple[str, str, str]

HEAD: tuple[Entry, ...] = (
    ("LIVE ...", "", "the state: LIVE, DRAINING, ENDED, CRASHED; STALLED: nothing came for three times as long as it should; LOST: its socket is gone; COARSE: rounded, or sampled"),
    ("PAUSED 12s", "s", "the view stands still, and is so old; MARK: the marked moment is seen; REPLAY x2: a recording, and how fast it plays; STILL, END: it stands still, END at its end"),
    ("up", "h:m:s", "since the scheduler began; t: where a recording stands, and its length"),
    ("ev/s", "events/s", "what happened in the scheduler, over the window: submitted, started, finished, ..."),
    ("drop", "events", "not kept on the tape, since the beginning; counters are unaffected"),
    ("lag", "s", "age of the latest snapshot; seen ... ago: the same, of a program that is gone"),
    ("ui", "fps, %", "how often this screen is painted, and its own CPU, of one core"),
    ("win", "s", "the window: what is counted, shared or averaged is so within it; run: since the beginning"),
    ("over 11.2 s", "s", "the exact length of the window, by which is divided: it begins with a snapshot, at most a quarter earlier than asked if they come often, or with the first that was seen"),
    ("inv", "", "invariants that hold / that are checked"),
    ("div", "", "divergences from the rules that are open"),
)
#: By verdict; for each number of the verdict the entry that tells it.
CARDS: dict[str, tuple[Entry, ...]] = {
    "idle-while-waiting": (
        ("idle", "slots", "min(free, eligible) of each resource, now, all together"),
        ("eligible", "waiters", "tasks that wait, and that nothing holds but a slot"),
        ("lost", "slots, %", f"integral of idle / window, and of all slots; WARN above {LOST:.0%}, ALARM above {LOST_BADLY:.0%}; gpu=1.2: by resource"),
        ("longest", "s", "longest stretch in the window with a slot idle and a waiter eligible"),
    ),
    "starving": (
        ("NAME 18.4s", "s", "the group whose oldest task waits longest, and is held up by others; ALARM if longer than the SLO"),
        ("got, due", "%", "its part of all slot-time in the window; its weight, of all weights"),
        ("over SLO", "groups", "whose oldest task has waited longer; the SLO is the program's, or --warn FAIR01=seconds"),
        ("behind", "groups", "that could run, and got less than half of what is due to them and what they asked for: WARN"),
        ("Jain", "0..1", "(sum x)^2 / (n sum x^2), x = got / due of the groups that could run; 1 is fair"),
    ),
    "checkpoint-wait": (
        ("needless", "s, %", f"time that a batch was open, nothing in flight, and nothing came before the seal: per request, and of open + commit; WARN above {DEFAULTS['CKPT01'].value:.0f}%"),
        ("fill", "%", "updates / (requests x most updates of one)"),
        ("commit p99", "s", "seal to durable, 99th percentile over the window"),
        ("full 89%", "%", "requests by what sealed them"),
    ),
    "spin-burn": (
        ("cores", "cores", "time that workers spun / window"),
        ("hit", "%", f"spins that found a task / spins; WARN below {DEFAULTS['SPIN01'].value:.0f}% where much is spun"),
        ("of worker time", "%", "time that workers spun / time of all workers"),
        ("save", "cores", "time spun in vain / window: what parking would free; w3=44%: who spends most of it, and how much of its time it spins"),
    ),
}  # fmt: skip
#: Which entry tells a number of a verdict.
TOLD = {
    "idle_slots": "idle", "eligible_waiters": "eligible", "lost_slots": "lost", "lost_percent": "lost", "longest_s": "longest", "oldest_s": "NAME 18.4s", "group": "NAME 18.4s", "slo_s": "over SLO",
    "over_slo_groups": "over SLO", "behind_groups": "behind", "jain": "Jain", "got_percent": "got, due", "due_percent": "got, due", "needless_percent": "needless", "needless_s": "needless",
    "fill_percent": "fill", "commit_p99_s": "commit p99", "spin_cores": "cores", "spin_percent": "of worker time", "hit_percent": "hit", "save_cores": "save",
}  # fmt: skip
#: What a group waits for, by the snapshot's name of the cause.
CAUSES = {
    "capacity": "too few slots are free of a resource that its first task needs, and the group has its share",
    "lent": "the same, and the group has less than its share: others have what is due to it",
    "limit": "it runs as many tasks as it may at once",
    "kept": "enough is free, and stays so for a task that waits for more of it",
    "back_off": "tasks that failed, and are not tried again yet",
    "dependency": "tasks before which another must end",
    "scheduler": "enough is free, and the scheduler has not come to it: something blocks its loop",
}  # fmt: skip
HISTORY: tuple[Entry, ...] = (
    ("busy 60s", "slots", "slots held, as high as there are slots; events 60s: events/s, of a search; timeline: the same of a whole recording. A gap: nothing came"),
)  # fmt: skip


def causes() -> list[Entry]:
    """By what the screen calls them."""
    return [(CAUSE_WORDS[cause], "", words) for cause, words in CAUSES.items()]


def lints(limits: Limits) -> list[Entry]:
    """Each with its limit as it is in force, and how long it must last; or that it is silent."""
    found = []
    for code, limit in DEFAULTS.items():
        value = "allowed" if code in limits.allowed else f"{limits[code]:g} {limit.unit}" if limit.unit else ""
        found.append((code, value, limit.says + (f"; for {seconds(limit.hold / SECOND)}" if limit.hold else "")))
    return [*found, ("", "", f"an alarm closes at {CLEARS:.0%} of its limit; --warn CODE=value changes one, --allow CODE silences it, a acknowledges it")]
