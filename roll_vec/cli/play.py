"""``roll-vec play``: one environment, one person, a terminal."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, TextIO

import numpy as np

from roll_vec.cli._arguments import add_environment_arguments
from roll_vec.cli._environments import make_single
from roll_vec.cli._game import Game
from roll_vec.cli._keys import UNKNOWN_KEY, read_keys
from roll_vec.render.ansi import paint, strip_colours

__all__ = ["add_parser"]

_DESCRIPTION = """\
Play an environment in the terminal, with the keyboard. The environment has to render
as text and to name its actions Up, Down, Left, Right, as those of roll_vec do.
"""

_KEYS = """\
keys:
  arrows, w a s d   move
  u, backspace      undo a move, its luck included
  n                 new level: the next seed
  r                 restart this level
  ?                 show or hide this help
  q, Ctrl-D         quit
"""

_EPILOG = f"""\
{_KEYS}
Keys are also read from the lines of a pipe; the board is shown after each line.
Colours follow the terminal; NO_COLOR=1 turns them off.

examples:
  roll-vec play roll_vec/Sokoban-v0 --seed 1010
  roll-vec play roll_vec/Sokoban-v0 -o dim_room="(10, 10)" -o num_boxes=4
  roll-vec play roll_vec/FrozenLake-v1 -o is_slippery=False
  printf 'ddss\\nq\\n' | roll-vec play roll_vec/FrozenLake-v1
"""

_SEQUENCE_OR_CHARACTER = re.compile(r"(\x1b\[[0-9;]*m)|\S")
_HINT = "arrows or wasd: move · u undo · n new · r restart · ? help · q quit"


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "play",
        help="play one environment with the keyboard",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_environment_arguments(parser, seed_help="seed of the first level")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Carry the command out, until the person or the input ends it."""
    env = make_single(arguments.id, arguments.options, render_mode="ansi")
    try:
        player = _Player(Game(env, arguments.seed), arguments.id, sys.stdout)
    except BaseException:
        env.close()
        raise
    try:
        player.play(sys.stdin)
    finally:
        player.game.close()
    return 0


class _Player:
    """The person's side: what a key does, and what is on the screen."""

    def __init__(self, game: Game, title: str, out: TextIO) -> None:
        self.game = game
        self._title = title
        self._out = out
        self._in_place = out.isatty() and os.environ.get("TERM") != "dumb"
        self._colour = self._in_place and not os.environ.get("NO_COLOR")
        self._drawn_lines = 0
        self._help = False
        self._remark = ""
        self._commands: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "new": lambda: self.game.start(self.game.seed + 1),
            "restart": lambda: self.game.start(self.game.seed),
            "help": self._toggle_help,
            UNKNOWN_KEY: self._unknown,
        }

    def play(self, keyboard: TextIO) -> None:
        """Act on keys until one of them is "quit" or there are no more."""
        with self._screen(), read_keys(keyboard) as batches:
            self._draw()
            for keys in batches:
                before_quit = list(takewhile(lambda key: key != "quit", keys))
                self._remark = ""
                for key in before_quit:
                    self._press(key)
                if before_quit:
                    self._draw()
                if len(before_quit) < len(keys):
                    return

    def _press(self, key: str) -> None:
        if key in self._commands:
            self._commands[key]()
        elif self.game.is_over:
            self._remark = "The episode is over: u undo, n new level, r restart, q quit"
        elif not self.game.move(key):
            self._remark = f"This environment has no action {key!r}"

    def _undo(self) -> None:
        if not self.game.undo():
            self._remark = "There is nothing to undo"

    def _toggle_help(self) -> None:
        self._help = not self._help

    def _unknown(self) -> None:
        self._remark = "That key does nothing: ? shows those that do"

    @contextmanager
    def _screen(self) -> Iterator[None]:
        """Hide the cursor and let long lines run off, until the block is left."""
        if not self._in_place:
            yield
            return
        self._out.write("\x1b[?25l\x1b[?7l")
        try:
            yield
        finally:
            self._out.write("\x1b[?25h\x1b[?7h")
            self._out.flush()

    def _draw(self) -> None:
        # On a screen the lines stay in their places; a pipe needs no empty ones.
        lines = [line for line in self._lines() if line or self._in_place]
        if not self._in_place:
            lines.append("")
        erase = ""
        if self._in_place and self._drawn_lines:
            # Over the frame before, so that what was on the screen earlier stays;
            # a frame higher than the screen leaves nothing of that anyway.
            erase = f"\x1b[{self._drawn_lines}A\r\x1b[J"
            if max(len(lines), self._drawn_lines) >= shutil.get_terminal_size().lines:
                erase = "\x1b[H\x1b[2J"
        self._out.write(erase + "\n".join(lines) + "\n")
        self._out.flush()
        self._drawn_lines = len(lines)

    def _lines(self) -> Iterator[str]:
        game, score = self.game, self.game.score
        yield self._painted(f"{self._title} · seed {game.seed}", "1")
        yield from self._board().split("\n")
        yield f"step {score.steps} · return {score.total:g}"
        last = [f"{score.direction} {score.reward:+g}"] if score.direction else []
        last += [f"{key} {value}" for key, value in _scalars(score.info)]
        yield self._painted(" · ".join(last), "2")
        yield self._message()
        if self._help:
            yield from _KEYS.splitlines()
        elif self._in_place:
            yield self._painted(_HINT, "2")

    def _board(self) -> str:
        # ROLL's long form has a tab after each cell, which is too wide for a screen.
        board = self.game.board().replace("\t", "").rstrip("\n")
        if not self._colour:
            board = strip_colours(board)
        if self._in_place and " " not in board:
            # A character is twice as high as wide: with a space it is a square.
            board = _SEQUENCE_OR_CHARACTER.sub(
                lambda found: found[0] + " " * (found[1] is None), board
            )
        return board

    def _message(self) -> str:
        """Return the remark on the last key, or how the episode ended."""
        game = self.game
        if self._remark or not game.is_over:
            return self._painted(self._remark, "33")
        steps = "1 step" if game.score.steps == 1 else f"{game.score.steps} steps"
        outcome = f"in {steps}, return {game.score.total:g}"
        if game.is_solved:
            return self._painted(f"Solved {outcome}", "1;32")
        if game.score.terminated:
            return self._painted(f"Lost {outcome}", "1;31")
        return self._painted(f"Out of steps: {outcome}", "1;31")

    def _painted(self, text: str, colour: str) -> str:
        return paint(text, colour) if self._colour else text


def _scalars(info: Any) -> Iterator[tuple[str, Any]]:
    """Give the entries of an info that fit on a line."""
    for key, value in info.items():
        if isinstance(value, (bool, np.bool_, int, np.integer)):
            yield key, value
        elif isinstance(value, (float, np.floating)):
            yield key, f"{value:.3g}"
