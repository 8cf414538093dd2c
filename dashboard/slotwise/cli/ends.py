"""How a command ends, whatever happens in it: with a code, and with one line if something is wrong."""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from slotwise.cli.output import Stop, say
from slotwise.fuzz import exits

INTERRUPTED = 130


def ended(work: Callable[[], int], arguments: Sequence[str], traceback: bool = False) -> int:
    """What `work` gives, or the code of what it raises. Nothing is raised, but with `traceback`."""
    try:
        return work()
    except Stop as stop:
        say(f"slotwise: {stop}")
        return stop.code
    except KeyboardInterrupt:
        say("slotwise: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stdout = sys.stderr = open("/dev/null", "w")  # noqa: SIM115 - whoever read us has gone; nothing may be flushed to them
        return exits.CLEAN
    except Exception as error:
        from slotwise.cli.errors import expected

        known = expected(error)
        if known is not None:
            say(f"slotwise: {known}")
            return known.code
        if traceback:
            raise
        say(f"slotwise: internal error: {type(error).__name__}: {' '.join(str(error).split())} (slotwise --traceback {' '.join(arguments)} shows where)")
        return exits.INTERNAL
