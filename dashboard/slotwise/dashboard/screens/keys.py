"""All keys, each with an id by which `keys.toml` gives it another key. (ctrl+p is the palette, ctrl+q leaves too.)"""
from __future__ import annotations

import os
import tomllib
from pathlib import Path

from textual.binding import Binding

from slotwise.dashboard.screens.hints import DIGITS

#: id, keys, action, what it does, whether the last line shows it
KEYS = (
    ("quit", "q", "app.quit", "Quit", True),
    ("help", "question_mark,f1", "help", "Help", True),
    ("pause", "space", "pause", "Pause", True),
    ("drill", "enter", "drill", "Why", True),
    ("filter", "slash", "filter", "Filter", True),
    ("problems", "exclamation_mark", "problems", "Problems", True),
    ("sort", "s", "sort", "Sort", True),
    ("reverse", "S", "reverse", "Reverse the sort", False),
    ("zoom", "z", "zoom", "Zoom", True),
    ("window", "w", "window", "Window", True),
    ("export", "e", "export", "Export", True),
    ("follow", "f", "follow", "Follow", False),
    ("copy", "c", "copy", "Copy the row, or command", False),
    ("group", "g", "group", "Put rows together", False),
    ("unit", "u", "unit", "Counters /s, sum, share", False),
    ("scale", "y", "scale", "Log scale, or linear", False),
    ("preset", "p", "preset(1)", "Next preset", False),
    ("previous_preset", "P", "preset(-1)", "Previous preset", False),
    ("acknowledge", "a", "acknowledge", "Acknowledge alarms", False),
    ("acknowledged", "A", "acknowledged", "Show acknowledged", False),
    ("mark", "m", "mark", "Set the mark", False),
    ("to_mark", "apostrophe", "to_mark", "Go to the mark, and back", False),
    ("difference", "d", "difference", "Changes since the mark", False),
    ("output", "o", "output", "The program's output", False),
    ("record", "R", "record", "Record, or stop", False),
    ("theme", "T", "theme", "Next theme", False),
    ("back", "escape", "back", "Back, or clear the filter", False),
    ("next_pane", "tab", "pane(1)", "Next pane", False),
    ("previous_pane", "shift+tab", "pane(-1)", "Previous pane", False),
    ("down", "down,j", "move(1)", "Down", False),
    ("up", "up,k", "move(-1)", "Up", False),
    ("page_down", "pagedown", "page(1)", "Page down", False),
    ("page_up", "pageup", "page(-1)", "Page up", False),
    ("first", "home", "end(False)", "First row", False),
    ("last", "end", "end(True)", "Last row", False),
    *((f"verdict_{n}", str(n), f"verdict({n - 1})", f"Verdict {n}; enter: evidence", False) for n in range(1, 5)),
    *((f"pane_{digit}", digit, f"digit('{digit}')", f"{name.capitalize()}; again: zoom", False) for name, digit in DIGITS.items()),
    ("step", "right", "step(1)", "Replay: a step on", False),
    ("step_back", "left", "step(-1)", "Replay: a step back", False),
    ("leap", "shift+right", "step(10)", "Replay: ten steps on", False),
    ("leap_back", "shift+left", "step(-10)", "Replay: ten steps back", False),
    ("next_event", "n", "hop(1)", "Replay: the next event", False),
    ("previous_event", "N", "hop(-1)", "Replay: the event before", False),
    ("next_alarm", "right_square_bracket", "alarm(True)", "Replay: next alarm begins", False),
    ("previous_alarm", "left_square_bracket", "alarm(False)", "Replay: one began before", False),
    ("slower", "comma", "speed(-1)", "Replay: slower", False),
    ("faster", "full_stop", "speed(1)", "Replay: faster", False),
    ("time", "t", "time", "Replay: go to a time", False),
    ("live", "L", "live", "The latest; attach again", False),
)
#: Of these, what the palette has too, with what it says there.
PALETTE = {
    "pause": "The view stands still, or goes on; a recording plays, or stands still", "window": "1 s, 10 s, 60 s, the whole run", "group": "Rows of the table by what they have in common",
    "unit": "How counters are told", "scale": "Of the history and the small curves", "acknowledge": "Those of the selected row", "acknowledged": "Or hide them again", "mark": "To come back to, and to compare with",
    "to_mark": "Or back from it", "difference": "Before, after, change", "output": "Of the program that was started from here", "record": "What is seen, into a file", "theme": "The colours of the ground, light or dark", "live": "Or the end of a recording",
}  # fmt: skip
IDS = tuple(key[0] for key in KEYS)
SHOWN = tuple(key[0] for key in KEYS if key[4])
#: The same of a recording, and what they are called there: of two keys that belong together the first says what both do.
SHOWN_PLAYED = ("quit", "help", "pause", "drill", "step_back step", "previous_alarm next_alarm", "slower faster", "time", "filter", "problems", "sort", "zoom", "window", "export")
PLAYED = {"step_back": "Step", "previous_alarm": "Alarm", "slower": "Speed", "time": "Time"}
WORDS = {
    "question_mark": "?", "slash": "/", "exclamation_mark": "!", "right_square_bracket": "]", "left_square_bracket": "[", "comma": ",", "full_stop": ".", "apostrophe": "'",
    "escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "enter": "enter",
}  # fmt: skip


class KeysError(ValueError):
    """The file of keys makes no sense; the message says why."""


def bindings() -> list[Binding]:
    return [Binding(keys, action, words, show=shown, id=id) for id, keys, action, words, shown in KEYS]


def word(key: str) -> str:
    return WORDS.get(key, key)


def place() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "slotwise" / "keys.toml"


def said() -> str:
    """Where that is, in short."""
    return str(place()).replace(str(Path.home()), "~", 1)


def load(path: Path) -> dict[str, str]:
    """Lines such as `pause = "p,space"`. No file: nothing is changed. Raises KeysError."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise KeysError(f"{path}: {' '.join(str(error).split())}") from None
    for id, keys in found.items():
        if id not in IDS:
            raise KeysError(f"{path}: no key is called {id!r}; there are {', '.join(IDS)}")
        if not isinstance(keys, str) or not keys:
            raise KeysError(f"{path}: {id}: expected names of keys, such as \"p,space\"")
    return dict(found)
