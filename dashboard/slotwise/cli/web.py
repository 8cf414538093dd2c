"""`slotwise watch … --web PORT`: the same screen in a browser on this machine, through textual-serve. Each tab is a process of its own."""
from __future__ import annotations

import asyncio
import logging
import shlex
import socket
import sys
from typing import TYPE_CHECKING, Any

from aiohttp import web
from textual_serve.server import Server

from slotwise.cli.output import Stop, say

if TYPE_CHECKING:
    from slotwise.cli.watch import Wanted

HOST = "127.0.0.1"
TABS = 8                                     # at once; each costs a process


def serve(wanted: Wanted, port: int) -> int:
    """Until it is interrupted."""
    for option, is_given in (("--once", wanted.once), ("--run", wanted.program is not None), ("--demo", wanted.demo)):
        if is_given:
            raise Stop(f"watch: --web does not go with {option}: each tab would do it anew")
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise Stop(f"watch: port {port} of {HOST}: {error.strerror}") from None
    with listener:
        logging.basicConfig(level="WARNING", format="slotwise: %(message)s", stream=sys.stderr)
        web.run_app(Face(wanted, port)._make_app(), sock=listener, print=None, access_log=None)
    return 0


def command(wanted: Wanted) -> str:
    """What each tab runs, for a shell."""
    words = [sys.executable, "-m", "slotwise.cli.main", "watch"]
    for option, value in (("--attach", wanted.attach), ("--against", wanted.against)):
        words += [option, value] if value is not None else []
    for option, values in (("--allow", wanted.allow), ("--warn", wanted.warn)):
        words += [word for value in values for word in (option, value)]
    words += ["--ascii"] if wanted.ascii else []
    words += ["--", wanted.where] if wanted.where is not None else []
    return f"exec {shlex.join(words)}"


class Face(Server):
    """Answers only to its own name: a page of another site that is open in the same browser gets nothing, whatever name it gives to this address."""

    def __init__(self, wanted: Wanted, port: int) -> None:
        super().__init__(command(wanted), host=HOST, port=port, title="slotwise watch", public_url=f"http://{HOST}:{port}")
        self.names = frozenset(f"{host}:{port}" if port != 80 else host for host in (HOST, "localhost"))
        self.tabs: set[asyncio.Task[Any]] = set()

    async def on_startup(self, app: web.Application) -> None:
        say(f"slotwise: {self.public_url} shows the screen. There is no login: every user of this machine can open it. Each tab is a process, {TABS} at most. Ctrl+C ends it.")

    async def on_shutdown(self, app: web.Application) -> None:
        for tab in self.tabs:
            tab.cancel()

    def admit(self, request: web.Request) -> None:
        origin = request.headers.get("Origin")
        if request.host not in self.names or (origin is not None and origin.removeprefix("http://") not in self.names):
            raise web.HTTPForbidden(text=f"This is {self.public_url}, and answers to no other name.")

    async def handle_index(self, request: web.Request) -> Any:
        self.admit(request)
        return await super().handle_index(request)

    async def handle_download(self, request: web.Request) -> web.StreamResponse:
        self.admit(request)
        return await super().handle_download(request)

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        self.admit(request)
        if len(self.tabs) >= TABS:
            raise web.HTTPServiceUnavailable(text=f"{TABS} tabs are open already.")
        tab = asyncio.current_task()
        assert tab is not None
        self.tabs.add(tab)
        try:
            return await super().handle_websocket(request)
        finally:
            self.tabs.discard(tab)
