"""The keyboard of a real terminal: keys one by one, and its settings afterwards."""

from __future__ import annotations

import io
import os
import select
import signal
import subprocess
import sys

import pytest

from roll_vec.cli import main, play
from roll_vec.cli._environments import make_playable
from roll_vec.render.ansi import strip_colours

pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")


# So that a child that says nothing fails a test instead of stopping the run.
HANG_SECONDS = 120
# In a session with this terminal at its head, so that Ctrl-C there reaches the child
# and nothing else.
# A suite that runs in the background may hand on that Ctrl-C is ignored.
CHILD = """
import fcntl, signal, sys, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from roll_vec.cli import main
from roll_vec.render.ansi import strip_colours
sys.exit(main())
"""


class Terminal:
    """A child process that plays on a pseudo-terminal of its own."""

    def __init__(self, *arguments, **environment):
        self._ours, self._theirs = pty.openpty()
        self.settings = termios.tcgetattr(self._theirs)
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, "play", *arguments],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env={**os.environ, "TERM": "xterm", "NO_COLOR": "", **environment},
            start_new_session=True,
        )
        self.shown = ""

    def wait_for(self, text):
        """Read until a text has been shown since the last wait."""
        data = b""
        while text.encode() not in data:
            ready, _, _ = select.select([self._ours], [], [], HANG_SECONDS)
            assert ready, data
            data += os.read(self._ours, 4096)
        self.shown = data.decode()

    def press(self, keys):
        os.write(self._ours, keys.encode())

    def finish(self):
        """Return the exit code and whether the settings are those of before."""
        code = self.process.wait(timeout=HANG_SECONDS)
        same = termios.tcgetattr(self._theirs) == self.settings
        return code, same

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)


@pytest.fixture
def terminal():
    opened = []

    def open_terminal(*arguments, **environment):
        opened.append(Terminal(*arguments, **environment))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()


def test_keys_act_at_once_without_echo_and_q_gives_the_terminal_back(terminal):
    tty = terminal("roll_vec/Sokoban-v0", "--seed", "1010")
    tty.wait_for("q quit")
    assert "\x1b[1;36mP" in tty.shown
    assert termios.tcgetattr(tty._theirs) != tty.settings
    tty.press("\x1b[C")
    tty.wait_for("step 1 ")
    tty.press("u")
    tty.wait_for("step 0 ")
    # Two keys in one go, and an arrow that arrives in two pieces.
    tty.press("sd\x1b")
    tty.press("OA")
    tty.wait_for("step 3 ")
    tty.press("?")
    tty.wait_for("quit\r\n")
    assert "undo a move" in tty.shown
    tty.press("q")
    assert tty.finish() == (0, True)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (lambda tty: tty.press("\x03"), 130),
        (lambda tty: tty.press("\x04"), 0),
        (lambda tty: tty.process.send_signal(signal.SIGTERM), 143),
    ],
    ids=["ctrl-c", "ctrl-d", "sigterm"],
)
def test_terminal_is_given_back_however_the_game_ends(terminal, end, code):
    tty = terminal("roll_vec/FrozenLake-v1")
    tty.wait_for("q quit")
    end(tty)
    assert tty.finish() == (code, True)


def test_terminal_is_given_back_after_an_exception(terminal, tmp_path):
    (tmp_path / "explosive.py").write_text(
        "import gymnasium\n"
        "class Bomb(gymnasium.Env):\n"
        "    metadata = {'render_modes': ['ansi']}\n"
        "    action_space = observation_space = gymnasium.spaces.Discrete(4)\n"
        "    action_lookup = {0: 'Up'}\n"
        "    def __init__(self, render_mode=None): self.render_mode = render_mode\n"
        "    def reset(self, *, seed=None, options=None): return 0, {}\n"
        "    def step(self, action): raise OSError('boom')\n"
        "    def render(self): return 'a bomb'\n"
        "gymnasium.register('Bomb-v0', entry_point=Bomb)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    tty = terminal("explosive:Bomb-v0", PYTHONPATH=path)
    tty.wait_for("q quit")
    tty.press("w")
    tty.wait_for("boom")
    assert tty.finish() == (1, True)


def test_answers_are_edited_and_remembered(terminal):
    pytest.importorskip("readline")
    tty = terminal("roll_vec/Countdown-v0", "--seed", "3", "-o", "max_steps=9")
    tty.wait_for("> ")
    assert "\x1b[1mroll_vec/Countdown-v0" in tty.shown
    tty.press("1+2\x7f1\r")
    tty.wait_for("> ")
    assert "value 2" in tty.shown
    # The line before, with something added.
    tty.press("\x1b[A+5\r")
    tty.wait_for("> ")
    assert "value 7" in tty.shown
    tty.press(":quit\r")
    assert tty.finish() == (0, True)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        # Between the prompt and its wait for keys Python sees a signal no sooner than
        # at the end of a line.
        (lambda tty: tty.press("\x03\r"), 130),
        (lambda tty: tty.press("\x04"), 0),
        (lambda tty: (tty.process.send_signal(signal.SIGTERM), tty.press("\r")), 143),
    ],
    ids=["ctrl-c", "ctrl-d", "sigterm"],
)
def test_terminal_is_given_back_however_the_typing_ends(terminal, end, code):
    tty = terminal("roll_vec/Countdown-v0", "--seed", "3")
    tty.wait_for("> ")
    end(tty)
    assert tty.finish() == (code, True)


@pytest.mark.parametrize("plain", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_typing_without_colours(terminal, plain):
    tty = terminal("roll_vec/Countdown-v0", "--seed", "3", **plain)
    tty.wait_for("> ")
    assert "\x1b[1m" not in tty.shown
    tty.press("1\r")
    tty.wait_for("Lost in 1 step, return 0")
    assert "\x1b[1" not in tty.shown
    tty.press(":quit\r")
    assert tty.finish() == (0, True)


def test_no_color_is_respected(terminal):
    tty = terminal("roll_vec/Sokoban-v0", NO_COLOR="1")
    tty.wait_for("q quit")
    assert "# # # # # #" in tty.shown
    assert "\x1b[1;36m" not in tty.shown
    tty.press("q")
    assert tty.finish() == (0, True)


@pytest.mark.parametrize("lines", ["50", "5"])
def test_frames_are_drawn_over_one_another(monkeypatch, lines):
    for name, value in (("TERM", "xterm"), ("LINES", lines), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("NO_COLOR", raising=False)
    ours, theirs = pty.openpty()
    # What was typed ahead counts.
    os.write(ours, b"sx?uq")
    with os.fdopen(theirs, "r+b", buffering=0) as device:
        device_text = io.TextIOWrapper(device, encoding="utf-8", write_through=True)
        monkeypatch.setattr(sys, "stdin", device_text)
        monkeypatch.setattr(sys, "stdout", device_text)
        assert main(["play", "roll_vec/Sokoban-v0", "--seed", "1010"]) == 0
        shown = b""
        while not shown.endswith(b"\x1b[?25h\x1b[?7h"):
            shown += os.read(ours, 1 << 16)
    os.close(ours)
    shown = shown.decode()
    assert "\x1b[?25l" in shown
    assert shown.count("seed 1010") == 2
    # Cells are spaced, the sequences around them are not.
    assert strip_colours(shown).count("\n# # # # # # \r") == 4
    # The frame before is erased: line by line, or the screen where it is too small.
    assert ("\x1b[13A\r\x1b[J" in shown) == (lines == "50")
    assert ("\x1b[H\x1b[2J" in shown) == (lines == "5")


@pytest.mark.parametrize("more", [(), ("-o", "num_boxes=0")])
def test_nothing_is_echoed_while_the_game_is_made(monkeypatch, more):
    echo = []

    def make(*given):
        echo.append(bool(termios.tcgetattr(theirs)[3] & termios.ECHO))
        return make_playable(*given)

    monkeypatch.setattr(play, "make_playable", make)
    ours, theirs = pty.openpty()
    os.write(ours, b"q")
    with os.fdopen(theirs, "r+b", buffering=0) as device:
        settings = termios.tcgetattr(theirs)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(device))
        assert main(["play", "roll_vec/Sokoban-v0", *more]) == (2 if more else 0)
        assert echo == [False]
        assert termios.tcgetattr(theirs) == settings
    os.close(ours)
