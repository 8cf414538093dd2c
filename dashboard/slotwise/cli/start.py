"""Where `slotwise` begins. `slotwise watch` is read here, since importing typer (and with it pydantic) takes longer than a look does.

What is not plainly right is left to typer, which knows all options, says what is wrong, and shows the help.
"""
from __future__ import annotations

import re
import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slotwise.cli.watch import Wanted

FLAGS = {"--once": "once", "--ascii": "ascii", "--demo": "demo"}
WORDS = {"--attach": "attach", "--format": "format", "--fail-on": "fail_on", "--run": "program", "--against": "against"}
LISTS = {"--allow": "allow", "--warn": "warn"}
#: With the least and the greatest. Only plain decimals are read here.
NUMBERS: dict[str, tuple[str, type[int] | type[float], float, float]] = {"--for": ("seconds", float, 0.1, 86400), "--web": ("web", int, 1, 65535)}
DEFAULTS: dict[str, Any] = {"once": False, "format": "text", "seconds": 1.0, "allow": (), "warn": (), "ascii": False, "demo": False}
PLAIN = {int: re.compile(r"[0-9]{1,9}"), float: re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")}


def read(arguments: list[str]) -> Wanted | None:
    """What is asked of `slotwise watch`. None: typer is to read it."""
    from slotwise.cli.watch import Wanted

    found: dict[str, Any] = {field.name: DEFAULTS.get(field.name) for field in fields(Wanted)}
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if argument in FLAGS:
            found[FLAGS[argument]] = True
        elif not argument.startswith("-"):
            if found["where"] is not None or not argument:
                return None
            found["where"] = argument
        elif name in WORDS or name in LISTS or name in NUMBERS:
            given = value if equals else next(left, None)
            if given is None:
                return None
            if name in WORDS:
                found[WORDS[name]] = given
            elif name in LISTS:
                found[LISTS[name]] += (given,)
            else:
                field, kind, least, most = NUMBERS[name]
                if not PLAIN[kind].fullmatch(given) or not least <= kind(given) <= most:
                    return None
                found[field] = kind(given)
        else:
            return None
    return Wanted(**found)


def run(arguments: list[str]) -> int:
    """Do one command and say how it ended."""
    if arguments[:1] == ["watch"]:
        from slotwise.cli.ends import ended

        wanted = read(arguments[1:])
        if wanted is not None:
            from slotwise.cli.watch import run as watch

            return ended(lambda: watch(wanted), arguments)
    from slotwise.cli.main import run as typed

    return typed(arguments)


def main() -> None:
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
