"""`slotwise watch` in a real terminal: a running scheduler and a recording, all sizes, and how the terminal is left. Needs tmux: .ci/run runs this folder."""
from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .terminal import SLOTWISE, Program, Terminal, steered, until

HOUSE = Path(__file__).parents[2]
TRACE = HOUSE / "tests/golden/attacks/P9.slotwise.jsonl"
COLOUR = re.compile(r"[34]8;2;(\d+);(\d+);(\d+)")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a socket's has at most about 100 bytes."""
    with tempfile.TemporaryDirectory(prefix="sw") as place:
        yield Path(place)


@pytest.fixture
def program(folder: Path) -> Iterator[Program]:
    with steered(folder) as running:
        yield running


def watching(folder: Path, program: Program, *options: str, name: str = "1", environment: dict[str, str] | None = None) -> Terminal:
    return Terminal(folder / name, [*SLOTWISE, "watch", "--attach", str(program.socket), *options], environment)


def left_clean(terminal: Terminal) -> None:
    """With 0; no second screen, a cursor, no mouse reports; lines and echo as a shell wants them."""
    assert terminal.ended() == 0
    assert terminal.asked("alternate #{alternate_on} cursor #{cursor_flag} mouse #{mouse_any_flag}#{mouse_sgr_flag}") == "alternate 0 cursor 1 mouse 00"
    assert "modes icanon echo" in terminal.text()


def test_an_alarm_comes_says_why_and_goes(folder: Path, program: Program) -> None:
    with watching(folder, program) as terminal:
        quiet = terminal.sees(" LIVE  steered", "nobody waits", "5 Resources", "6 Groups", "0 Alarms", "no alarm is open")
        assert len(quiet.splitlines()) == 36
        assert terminal.asked("#{alternate_on}") == "1"
        assert program.tell("hold") == 0
        terminal.sees("meek", "1 over SLO 300ms", "STARVE", "FAIR01 meek: its oldest task has waited")
        terminal.press("6", "Home", "Enter")
        terminal.sees("Why it waits", "slot lent out", "and waits for", "oldest", but=("nobody waits",))
        assert program.tell("ease") == 0
        terminal.press("Escape")
        terminal.sees("nobody waits", but=("STARVE",))
        assert program.tell("work") == 4         # the three that waited, and this one
        terminal.press("q")
        left_clean(terminal)
    assert program.leave() == 0


def test_it_lays_itself_out_again_when_the_terminal_changes(folder: Path, program: Program) -> None:
    def within(width: int, height: int) -> None:
        assert len(terminal.text().splitlines()) == height
        assert max(map(len, terminal.text().splitlines())) <= width

    with watching(folder, program) as terminal:
        program.tell("hold")
        terminal.sees("5 Resources", "6 Groups", "0 Alarms", "1 Idle while waiting", "STARVE", "^p palette")
        terminal.resize(80, 24)
        terminal.sees("5 Slots", "1 ", "2 ", "ALARM starving", "meek", "^p palette", but=("5 Resources", "6 Groups ─"))
        within(80, 24)
        terminal.resize(40, 10)
        terminal.sees(" LIVE  steered", "starving", "meek", "^p palette", but=("5 Slots", "─"))
        within(40, 10)
        terminal.resize(200, 60)
        terminal.sees("5 Resources", "6 Groups", "0 Alarms", "1 Idle while waiting", where=lambda text: max(map(len, text.splitlines())) == 200)
        within(200, 60)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_program_that_dies_or_hangs_leaves_its_last_state(folder: Path, program: Program, how: signal.Signals) -> None:
    with watching(folder, program) as terminal:
        program.tell("hold")
        terminal.sees("STARVE", " LIVE ")
        program.process.send_signal(how)
        terminal.sees(*{signal.SIGKILL: (" LOST ", "vanished without a last word; this is the last that was seen"), signal.SIGSTOP: (" STALLED ",)}[how], "STARVE", "steered", but=(" LIVE ",))
        terminal.press("6", "Home", "Enter")     # and it can still be read
        terminal.sees("Why it waits", "slot lent out")
        if how == signal.SIGSTOP:
            program.process.send_signal(signal.SIGCONT)
            terminal.sees(" LIVE ", but=(" STALLED ",))
        terminal.press("q")
        left_clean(terminal)


def test_two_viewers_and_the_death_of_one(folder: Path, program: Program) -> None:
    with watching(folder, program, name="1") as first, watching(folder, program, name="2") as second:
        for terminal in (first, second):
            terminal.sees(" LIVE  steered", "nobody waits")
        program.tell("hold")
        for terminal in (first, second):
            terminal.sees(" LIVE ", "STARVE")
        os.kill(first.viewer(), signal.SIGKILL)
        assert first.ended() == 128 + signal.SIGKILL
        program.tell("ease")
        second.sees(" LIVE ", "nobody waits", but=("STARVE",))
        assert program.tell("work") == 4
        second.press("q")
        left_clean(second)
    with watching(folder, program, name="3") as third:
        third.sees(" LIVE  steered", "nobody waits")
    assert program.leave() == 0                  # the viewers gone with their terminals, it drains and ends as if there had been none


def position(text: str) -> float:
    """In a recording, seconds from its beginning."""
    found = re.search(r" t ([\d.]+)s / 2\.417s", text)
    return float(found[1]) if found else -1.0


def test_a_recording_is_played_held_searched_and_left(folder: Path) -> None:
    with Terminal(folder, [*SLOTWISE, "watch", str(TRACE)]) as terminal:
        begun = position(terminal.sees("REPLAY x1/8", TRACE.name, "6 Groups", where=lambda text: position(text) >= 0))       # it plays by itself, a short one slowly
        played = position(terminal.sees("REPLAY x1/8", where=lambda text: position(text) > begun))
        terminal.press("Space")
        held = position(terminal.sees("STILL"))
        assert begun < played <= held + 0.001 < 2.4      # what plays is told to the millisecond
        terminal.press("t")
        terminal.sees("go to:")
        terminal.type("1.5")
        terminal.press("Enter")
        terminal.sees("STILL", "t 1.500000000s / ")
        terminal.press("Right")                  # the next look at it, and the one before
        terminal.sees("STILL", "t 1.503s / ")
        terminal.press("Left")
        terminal.sees("STILL", "t 1.499s / ")
        terminal.press("n")                      # event by event
        terminal.sees("STILL", "t 1.510000000s / ")
        terminal.press("N")
        terminal.sees("STILL", "t 1.492000000s / ")
        terminal.press("[")
        terminal.sees("no alarm begins before")  # a verdict gets worse in it, which is no alarm
        terminal.press("]")
        terminal.sees("no alarm begins later")
        terminal.press(*["."] * 6, "Space")
        terminal.sees(" END ", "2.417s / 2.417s", "no alarm is open")                           # played to its end
        terminal.press("q")
        left_clean(terminal)


def colours(terminal: Terminal) -> set[tuple[str, ...]]:
    return set(COLOUR.findall(terminal.text(colours=True)))


def test_without_colours_and_without_any_character_beyond_ascii(folder: Path, program: Program) -> None:
    program.tell("hold")
    with watching(folder, program, name="1") as usual, watching(folder, program, "--ascii", name="2", environment={"NO_COLOR": "1"}) as plain:
        usual.sees("STARVE", "╭")
        until(lambda: any(len(set(colour)) > 1 for colour in colours(usual)), lambda: "no colours at all")
        text = plain.sees("STARVE", "FAIR01", "+- 6 Groups", "|  llm", "^p palette")
        assert text.isascii(), [character for character in text if not character.isascii()]
        assert colours(plain)                    # greys
        assert [colour for colour in colours(plain) if len(set(colour)) > 1] == []
        plain.press("q")
        left_clean(plain)


def test_a_socket_that_nobody_listens_on(folder: Path, program: Program) -> None:
    """One line, as without a screen; and the terminal as it was."""
    program.process.kill()
    program.process.wait()
    with watching(folder, program) as terminal:
        assert terminal.ended() == 2
        assert re.search(r"^slotwise: .*program\.sock: ", terminal.text(), re.M)
        assert terminal.asked("#{alternate_on}#{cursor_flag}") == "01"
