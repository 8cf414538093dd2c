"""How known tables are drawn where room is scarce: which columns come first, what is a bar, who shows it under which key. A table that is
not named here is shown too: its columns from the left, without a bar."""
from __future__ import annotations

from typing import NamedTuple

#: The digit that goes to a pane. Others are reached by tab, by the palette, or through the verdict whose evidence they are.
DIGITS = {"resources": "5", "groups": "6", "batches": "7", "waves": "8", "workers": "9", "alarms": "0"}
#: Shown after tables that are not named here, if there is no room for all.
LATER = ("batchers", "checks", "divergences")
#: Which tables a preset shows, below each other over the whole width; those that have rows. The first one has its own places.
PRESETS = {"overview": (), "fairness": ("groups", "waits"), "ckpt": ("batchers", "batches", "waves"), "spin": ("workers", "resources"), "fuzz": ("campaigns", "rules", "divergences")}
SHORT = {"campaigns": "Fuzz", "waits": "Waits", "resources": "Slots", "batchers": "Ckpt", "batches": "Batches", "waves": "Waves", "checks": "Inv", "divergences": "Div", "alarms": "Alarms"}
#: Columns by importance; the others follow as they come.
FIRST = {
    "resources": ("resource", "busy", "capacity", "waiting", "idle", "hold_p99", "lost", "used", "longest"),
    "groups": ("group", "oldest", "flag", "waiting", "running", "got", "due", "lag", "p50", "p99"),
    "batchers": ("batcher", "fill", "needless_share", "seals", "commit_p99", "waiting", "failures"),
    "batches": ("batch", "updates", "seal", "open", "commit", "most", "outcome"),
    "waves": ("wave", "due", "joined", "late", "latest"),
    "workers": ("worker", "spin", "hit", "run", "yield", "park", "wake", "state"),
    "checks": ("check", "holds", "checked", "detail"),
    "divergences": ("divergence", "rule", "detail", "seed", "step"),
    "campaigns": ("mechanism", "profile", "result", "rules", "floors", "steps", "speed", "since", "faults", "missing"),
    "rules": ("rule", "profile", "decided", "margin", "state", "floor", "often"),
    "alarms": ("sentence", "age"),
}  # fmt: skip
#: The same, as soon as some row has something in a column that is seldom filled.
FILLED = {"groups": ("debt", ("group", "oldest", "flag", "waiting", "running", "got", "due", "debt", "p99", "lag", "p50"))}
#: Columns that a bar says already, or the row's other words.
NEVER = {"alarms": ("entity", "code"), "workers": ("window",)}
#: Columns of numbers that are told in words, since each has its own unit.
RIGHT = ("before", "after", "change", "times")
#: Columns that say in a word what the row's state is, and the cells that the longest of these words takes in groups.
STATES = ("flag", "holds", "state", "result")
LEAST = {"flag": 6}
#: Whose columns need no names.
HEADLESS = ("alarms",)
#: Which panes the rows are in that lints speak of.
SPEAKS_OF = {"SCH": "resources", "FAIR": "groups", "DEBT": "groups", "LEASE": "groups", "CKPT": "batchers", "WAVE": "waves", "SPIN": "workers", "INV": "checks", "DIV": "divergences"}


def table_of(code: str, otherwise: str) -> str:
    """That has the rows a lint speaks of."""
    return SPEAKS_OF.get(code.rstrip("0123456789"), otherwise)


class Bar(NamedTuple):
    title: str
    after: str                               # the column that it follows
    parts: tuple[tuple[str, str, str], ...]  # column, glyph (an attribute of Look), style
    whole: str                               # a column, or a number
    least: int = 6                           # cells
    rest: str | None = None                  # a glyph; None: that of what is open
    legend: tuple[tuple[str, str, str], ...] = ()        # glyph, style, word


BARS = {
    "resources": Bar("slots", "resource", (("own", "full", "own"), ("lent", "part", "lent"), ("idle", "missed", "missed")), "capacity", 6, None,
                     (("full", "own", "own"), ("part", "lent", "lent"), ("missed", "missed", "idle, wanted"), ("open", "dim", "idle"))),
    "batches": Bar("fill", "batch", (("updates", "full", "own"),), "most"),
    "waves": Bar("joined", "wave", (("joined", "full", "own"),), "due"),
    "workers": Bar("run spin yield", "worker", (("run", "full", "run"), ("spin", "part", "spin"), ("yield", "third", "yield")), "100", 14),
    "waits_by_cause": Bar("", "cause", (("share", "full", "own"),), "100", 6, " "),
    "waits_by_resource": Bar("", "resource", (("share", "full", "own"),), "100", 6, " "),
    "causes": Bar("", "cause", (("share", "full", "own"),), "100", 6, " "),
    "wait_times": Bar("", "wait", (("n", "full", "own"),), "max", 6, " "),
}  # fmt: skip
