"""A headless Chromium, spoken to by its debugging protocol; and a plain client of textual-serve's."""
from __future__ import annotations

import asyncio
import base64
import io
import re
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from PIL import Image

from .terminal import PATIENCE, Unseen

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ESCAPE = re.compile(r"\x1b\[[0-9;?<>=$]*[A-Za-z]")


async def until(look: Callable[[], Awaitable[Any]], told: Callable[[], str]) -> Any:
    """The first that is not None."""
    end = time.monotonic() + PATIENCE
    while (found := await look()) is None:
        if time.monotonic() > end:
            raise Unseen(told())
        await asyncio.sleep(0.1)
    return found


class Tab:
    """What a browser's tab sends and gets, without a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket, self.raw = socket, b""

    async def sees(self, *words: str) -> None:
        """All of them, since the last time."""

        async def receive() -> bool | None:
            message = await self.socket.receive(PATIENCE)
            assert message.type == aiohttp.WSMsgType.BINARY, message
            self.raw += message.data
            return True if all(word in self.text for word in words) else None

        await until(receive, lambda: f"{words} did not come: {self.text}")
        self.raw = b""

    @property
    def text(self) -> str:
        return ESCAPE.sub("", self.raw.decode("utf-8", "replace"))

    async def press(self, keys: str) -> None:
        await self.socket.send_json(["stdin", keys])

    async def closed(self) -> None:
        while (await self.socket.receive(PATIENCE)).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            pass


@asynccontextmanager
async def tab(port: int, width: int = 120, height: int = 36, **headers: str) -> AsyncIterator[Tab]:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"ws://127.0.0.1:{port}/ws?width={width}&height={height}", headers=headers) as socket:
        yield Tab(socket)


class Page:
    """One page of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._calls = socket, 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._calls += 1
        await self._socket.send_json({"id": self._calls, "method": method, "params": parameters})
        while True:
            answer = await self._socket.receive_json(timeout=PATIENCE)
            if answer.get("id") == self._calls:
                assert "error" not in answer, answer
                return dict(answer["result"])

    async def value(self, expression: str) -> Any:
        return (await self.call("Runtime.evaluate", expression=expression, returnByValue=True))["result"].get("value")

    async def picture(self) -> Image.Image:
        return Image.open(io.BytesIO(base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"]))).convert("RGB")


@asynccontextmanager
async def opened(address: str, folder: Path, width: int = 1280, height: int = 800) -> AsyncIterator[Page]:
    """The page in a browser of its own."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert browser is not None, f"none of {', '.join(BROWSERS)} is installed"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--remote-debugging-port=0"]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen([browser, *options, f"--user-data-dir={folder / 'profile'}", f"--window-size={width},{height}", address], stdout=log, stderr=log)
    try:
        async with aiohttp.ClientSession() as session:

            async def place() -> Any:
                try:
                    port = int((folder / "profile/DevToolsActivePort").read_text().split()[0])
                    async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                        return next((target["webSocketDebuggerUrl"] for target in await answer.json() if target["type"] == "page"), None)
                except (OSError, IndexError, aiohttp.ClientError):
                    return None

            where = await until(place, lambda: f"{browser} did not start: {(folder / 'browser.log').read_text('utf-8', 'replace')}")
            async with session.ws_connect(where, max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        process.wait(PATIENCE)
