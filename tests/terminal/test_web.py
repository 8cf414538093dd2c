"""`slotwise watch --web`: the screen in a browser. Needs textual-serve and Chromium: .ci/run runs this folder."""
from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from PIL import Image

from slotwise.cli import main

from .browser import opened, tab, until
from .terminal import PATIENCE, SLOTWISE, Program, steered

Box = tuple[int, int, int, int]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sw", ignore_cleanup_errors=True) as place:
        yield Path(place)


@pytest.fixture
def program(folder: Path) -> Iterator[Program]:
    with steered(folder) as running:
        yield running


def free_port() -> socket.socket:
    """Bound: as long as it is open the port is nobody else's, but whoever asks for it by number can listen there."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


class Served:
    def __init__(self, program: Program, *options: str) -> None:
        self.held = free_port()
        self.port = int(self.held.getsockname()[1])
        self.process = subprocess.Popen([*SLOTWISE, "watch", "--attach", str(program.socket), "--web", str(self.port), *options], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.said = self.process.stderr.readline()                   # it listens when it says so

    def tabs(self) -> list[str]:
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

    def interrupted(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def served(program: Program) -> Iterator[Served]:
    face = Served(program)
    yield face
    face.process.kill()
    face.process.wait(PATIENCE)
    assert face.process.stderr is not None
    face.process.stderr.close()
    face.held.close()


async def none(served: Served) -> None:
    async def gone() -> bool | None:
        return None if served.tabs() else True

    await until(gone, lambda: f"a tab's process stays: {served.tabs()}")


def test_a_tab_is_a_screen_of_its_own_and_goes_with_it(served: Served, program: Program) -> None:
    async def look() -> None:
        assert served.tabs() == []
        async with tab(served.port) as first:
            await first.sees(" LIVE  steered", "nobody waits", "6 Groups")
            async with tab(served.port, 40, 10) as second:
                await second.sees(" LIVE  steered", "starving")
                assert len(served.tabs()) == 2
                program.tell("hold")
                await first.sees("FAIR01 meek: its oldest task has waited")
                await second.sees("meek")
                await second.press("q")
                await second.closed()
            await first.press("?")
            await first.sees("Help")
        await none(served)                       # a tab that is just closed ends its process too
        async with tab(served.port) as third:
            await third.sees(" LIVE  steered")
            ending = asyncio.create_task(asyncio.to_thread(served.interrupted))
            await third.closed()                 # nor does one that is open keep it: it is told
            assert third.socket.close_code == aiohttp.WSCloseCode.OK
            assert await ending == 0

    asyncio.run(look())
    program.tell("ease")
    assert program.leave() == 0


def test_it_says_that_there_is_no_login(served: Served) -> None:
    assert served.said.startswith(f"slotwise: http://127.0.0.1:{served.port} shows the screen. There is no login:")
    assert served.interrupted() == 0


def test_only_its_own_name_is_answered(served: Served) -> None:
    """Another site's page in the same browser may send requests to 127.0.0.1, under whatever name."""

    async def status(path: str, **headers: str) -> int:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{served.port}{path}", headers=headers) as answer:
            return answer.status

    async def look() -> None:
        own, other = f"http://localhost:{served.port}", "http://evil.example"
        assert [await status("/"), await status("/", Host=f"localhost:{served.port}"), await status("/", Origin=own)] == [200] * 3
        for path in ("/", "/ws", "/download/x"):
            assert [await status(path, Host="evil.example"), await status(path, Host=f"evil.example:{served.port}"), await status(path, Origin=other), await status(path, Origin="null")] == [403] * 4
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            async with tab(served.port, Origin=other):
                pass
        assert served.tabs() == []

    asyncio.run(look())
    with socket.create_server(("127.0.0.2", served.port)):           # which is free: it listens on one address only
        pass
    with pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", served.port)).close()


WRONG = {
    "--web 0": "Invalid value for '--web'",
    "--web {taken}": "watch: port {taken} of 127.0.0.1: Address already in use",
    "--web {free} --once": "watch: --web does not go with --once: each tab would do it anew",
}


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_use_is_told_in_one_line(program: Program, capsys: pytest.CaptureFixture[str], arguments: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, free_port() as held:
        ports = {"taken": other.getsockname()[1], "free": held.getsockname()[1]}
        code = main.run(["watch", "--attach", str(program.socket), *arguments.format(**ports).split()])
    said = capsys.readouterr().err
    assert (code, said.count("\n")) == (64, 1)
    assert WRONG[arguments].format(**ports) in said


def test_without_the_extra_it_says_what_to_install(program: Program, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    monkeypatch.delitem(sys.modules, "slotwise.cli.web", raising=False)
    with free_port() as held:
        assert main.run(["watch", "--attach", str(program.socket), "--web", str(held.getsockname()[1])]) == 64
    assert capsys.readouterr().err == "slotwise: watch: --web needs textual_serve.server: pip install 'slotwise[web]'\n"


def colours(picture: Image.Image, box: Box) -> list[tuple[int, int, int]]:
    """The most frequent first."""
    found = picture.crop(box).getcolors(1 << 24)
    assert found is not None
    return [colour for _, colour in sorted(found, reverse=True)]       # type: ignore[misc]


WHERE = """(() => {
    const screen = document.querySelector(".xterm-screen"), cell = document.querySelector(".xterm-helper-textarea");
    if (!screen || !cell || !cell.offsetHeight || !document.body.classList.contains("-first-byte")) return null;
    const at = screen.getBoundingClientRect();
    return [at.left, at.top, at.right, at.bottom, cell.offsetHeight];
})()"""                                      # the terminal in the page, and a line's height, px


def alarming(colour: tuple[int, int, int]) -> bool:
    red, green, blue = colour
    return red > 150 and red > 2 * green and blue < 60


def test_it_is_seen_in_a_browser(served: Served, program: Program, folder: Path) -> None:
    program.tell("hold")

    async def look() -> None:
        async with opened(served.said.split()[1], folder) as page:
            left, top, right, bottom, line = await until(lambda: page.value(WHERE), lambda: "no terminal came")
            assert right - left > 1000
            assert bottom - top > 600
            assert 10 < line < 30
            quarter = (right - left) / 4
            cards = [(round(left + n * quarter), round(top + line), round(left + (n + 1) * quarter), round(top + 7 * line)) for n in range(4)]     # lines 2 to 7
            picture = await page.picture()

            async def drawn() -> bool | None:
                """Borders and letters in each of the cards, and who starves in the alarm's colour."""
                nonlocal picture
                picture = await page.picture()
                ground = colours(picture, (round(left), round(top), round(right), round(bottom)))[0]
                full = all(colours(picture, card)[0] == ground and len(colours(picture, card)) > 20 for card in cards)
                return True if full and any(map(alarming, colours(picture, cards[1])[:20])) and not any(map(alarming, colours(picture, cards[0])[:20])) else None

            await until(drawn, lambda: f"it is not there: {[colours(picture, card)[:20] for card in cards]}")

    asyncio.run(look())
    asyncio.run(none(served))
