"""What the arguments name: mechanisms, profiles, targets. Whatever is unknown ends in one line that lists the choices."""
from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from slotwise.cli.output import Stop
from slotwise.fuzz import seeded, targets
from slotwise.fuzz.target import Target
from slotwise.spec import trace
from slotwise.spec.mechanisms import MECHANISMS
from slotwise.spec.trace import Trace
from slotwise.spec.vocabulary import PROFILES, Profile


def mechanisms(name: str | None) -> tuple[str, ...]:
    if name is None:
        return tuple(MECHANISMS)
    if name not in MECHANISMS:
        raise Stop(f"mechanism: found {name!r}, expected {' or '.join(MECHANISMS)}")
    return (name,)


def target(name: str) -> Target:
    """Raises TargetError."""
    if name.startswith(targets.FAULTS):
        known, fault = [one.name for one in seeded.catalogue()], name.removeprefix(targets.FAULTS)
        if known and fault not in known:
            near = [one for one in known if fault in one] or get_close_matches(fault, known)
            some = f"perhaps {', '.join(near)}" if near and fault else f"there are {len(known)}, among them {', '.join(known[:3])}; `slotwise mutate` tries them all"
            raise Stop(f"target {name}: no such fault; {some}")
    return targets.load(name)


def read_trace(path: Path) -> Trace:
    """Raises TraceError for what is no trace."""
    if not path.is_file():
        raise Stop(f"{path}: {'a folder, expected a trace' if path.is_dir() else 'no such file'}")
    return trace.read(path)


def profile(name: str) -> Profile:
    """A profile of admission: a built-in one, or that of a JSON file."""
    if name in PROFILES:
        return PROFILES[name]
    (found,) = profiles(name, ("admission",))
    assert isinstance(found, Profile)
    return found


def profiles(name: str, of: Sequence[str]) -> list[Any]:
    """The built-in profiles of that name, of these mechanisms; or that of a JSON file."""
    if found := [MECHANISMS[mechanism].profiles[name] for mechanism in of if name in MECHANISMS[mechanism].profiles]:
        return found
    if name.endswith(".json") or "/" in name:
        return [read_profile(Path(name), of)]
    raise Stop(f"profile: found {name!r}, expected {', '.join(dict.fromkeys(known for mechanism in of for known in MECHANISMS[mechanism].profiles))}, or a .json file")


def read_profile(path: Path, of: Sequence[str]) -> Any:
    """The discipline tells the mechanism."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Stop(f"{path}: {error.strerror}") from None
    wrong: list[msgspec.DecodeError] = []
    for mechanism in of:
        try:
            return msgspec.json.decode(data, type=MECHANISMS[mechanism].profile)
        except msgspec.DecodeError as error:
            wrong.append(error)
    clearest = next((one for one in wrong if "Invalid value" not in str(one)), wrong[0])     # else it is another mechanism's discipline
    raise Stop(f"{path}: line {line_of(clearest, data)}: {clearest}")


def line_of(error: msgspec.DecodeError, data: bytes) -> int:
    """Malformed JSON is named by its byte, a wrong value by its field: find the line."""
    message = str(error)
    if byte := re.search(r"\(byte (\d+)\)", message):
        return data.count(b"\n", 0, int(byte[1])) + 1
    if "truncated" in message:
        return data.count(b"\n") + 1
    fields = re.findall(r"(?:field |\.)`?(\w+)", message)
    for name in reversed(fields):
        found = data.find(f'"{name}"'.encode())
        if found >= 0:
            return data.count(b"\n", 0, found) + 1
    return 1
