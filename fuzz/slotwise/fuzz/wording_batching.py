"""Checkpoint batching in words."""
from __future__ import annotations

from slotwise.spec import batching_vocabulary as v


def setting(setup: v.Setup) -> str:
    return f"first token {setup.token}" + (f", wall clock ahead by {setup.hint}" if setup.hint else "")


def said(command: v.Command) -> str:
    """A command in words, without its time."""
    match command:
        case v.Submit():
            kind = f"{'' if command.sync else 'async '}{'empty item' if command.empty else 'update'}"
            more = [f"{command.size} bytes"] * (not command.empty and command.size > 0) + [f"below {command.parent}"] * (command.parent is not None)
            more += ["ends its context"] * command.ends + ["ends the execution"] * command.final
            return f"submit {kind} of {command.id}" + (f" ({', '.join(more)})" if more else "")
        case v.Refresh():
            more = [f"by stamp {command.key}"] * (command.key is not None) + [f"due at {command.due}"] * (command.due is not None)
            more += [f"owner {command.owner}"] * bool(command.owner) + [f"index {command.index}"] * bool(command.index)
            return f"refresh {command.id}" + (f" ({', '.join(more)})" if more else "")
        case v.Cancel():
            return f"cancel {command.id}" if command.id is not None else f"cancel all of owner {command.owner or '(none)'}"
        case v.Credit():
            return "credit" + "".join(f", {name} {count:+}" for name, count in (("running", command.running), ("outside", command.outside)) if count)
        case v.Stop():
            return "stop"
        case v.Pump():
            return "pump"
        case v.Respond():
            more = [f"token {command.token}" if command.token is not None else "no token"] + [f"stamp {command.stamp}"] * (command.stamp is not None)
            return f"respond ({', '.join([*more, *_page(command.done, command.marker)])})"
        case v.Page():
            more = _page(command.done, command.marker)
            return "page" + (f" ({', '.join(more)})" if more else "")
        case v.Fail():
            return "fail"


def _page(done: tuple[str, ...], marker: str | None) -> list[str]:
    return [f"done: {' '.join(done)}"] * bool(done) + [f"more at {marker}"] * (marker is not None)
