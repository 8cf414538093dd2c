"""How a command ends, whatever happens in it: with a code, and with one line if something is wrong."""
from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence

from slotwise.cli.output import Stop, flush, say
from slotwise.fuzz import exits

INTERRUPTED = 130


def ended(work: Callable[[], int], arguments: Sequence[str], traceback: bool = False) -> int:
    """What `work` gives, or the code of what it raises. Nothing is raised, but with `traceback`."""
    ready_streams()
    try:
        code = work()
        flush()
        return code
    except Stop as stop:
        say(f"slotwise: {one_line(stop)}")
        return stop.code
    except KeyboardInterrupt:
        say("slotwise: interrupted")
        return INTERRUPTED
    except Exception as error:
        from slotwise.cli.errors import expected

        known = expected(error)
        if known is not None:
            say(f"slotwise: {one_line(known)}")
            return known.code
        if traceback:
            raise
        say(f"slotwise: internal error: {type(error).__name__}: {one_line(error)} (slotwise --traceback {' '.join(arguments)} shows where)")
        return exits.INTERNAL


def one_line(error: Exception | str) -> str:
    """Whatever a name in it contains."""
    from slotwise.dashboard.observe.words import harmless

    return harmless(" ".join(str(error).splitlines()))


def ready_streams() -> None:
    """A stream that is closed swallows what it is given, and one that is not of UTF-8 says a character that it lacks by its number."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for good
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")
