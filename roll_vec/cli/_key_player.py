"""Play by keys: a key is a move or a command, and the board is drawn again."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TextIO

from roll_vec.cli._game import BoardGame, action_names
from roll_vec.cli._keys import UNKNOWN_KEY
from roll_vec.cli._oracles import hint
from roll_vec.cli._screen import is_screen, screen_height, text_width, wants_colour
from roll_vec.render.ansi import paint, strip_colours

__all__ = ["KEYS", "KeyPlayer"]

KEYS = """\
keys:
  arrows, w a s d   move
  u, backspace      undo a move, its luck included
  n                 new level: the next seed
  r                 restart this level
  t                 a hint: the best next move, if the environment knows one
  ?                 show or hide this help
  q, Ctrl-D         quit
"""

_SEQUENCE_OR_CHARACTER = re.compile(r"(\x1b\[[0-9;]*m)|\S")
_HINT = "arrows or wasd: move · u undo · t hint · n new · r restart · ? help · q quit"


class KeyPlayer:
    """Acts on keys, and draws the board.

    Parameters
    ----------
    game : BoardGame
    title : str
    out : text stream
    """

    def __init__(self, game: BoardGame, title: str, out: TextIO) -> None:
        self.game = game
        self._title = title
        self._out = out
        self._in_place = is_screen(out)
        self._colour = wants_colour(out)
        self._num_lines = 0
        self._help = False
        self._remark = ""
        self._commands: dict[str, Callable[[], None]] = {
            "undo": self._undo,
            "new": lambda: self.game.start(self.game.seed + 1),
            "restart": lambda: self.game.start(self.game.seed),
            "help": self._toggle_help,
            "hint": self._hint,
            UNKNOWN_KEY: self._unknown,
        }

    def play(self, batches: Iterable[list[str]]) -> None:
        """Act on keys until one of them is "quit" or there are no more."""
        with self._screen():
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
        elif self.game.score.is_over:
            self._remark = "The episode is over: u undo, n new level, r restart, q quit"
        elif not self.game.move(key):
            self._remark = f"This environment has no action {key!r}"

    def _undo(self) -> None:
        if not self.game.undo():
            self._remark = "There is nothing to undo"

    def _toggle_help(self) -> None:
        self._help = not self._help

    def _hint(self) -> None:
        if self.game.score.is_over:
            self._remark = "The episode is over"
            return
        action = hint(self.game.env)
        names = {
            str(action): name for name, action in action_names(self.game.env).items()
        }
        self._remark = "There is no hint" if action is None else names[action]

    def _unknown(self) -> None:
        self._remark = "That key does nothing: ? shows those that do"

    @contextmanager
    def _screen(self) -> Iterator[None]:
        """Hide the cursor and do not wrap long lines, until the block is left."""
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
        # On a screen lines keep their places; a pipe needs no empty lines.
        lines = [line for line in self._lines() if line or self._in_place]
        if not self._in_place:
            lines.append("")
        erase = ""
        if self._in_place and self._num_lines:
            # Overwrite the previous frame only, so that earlier text stays visible.
            # A frame higher than the screen has pushed that out: clear all.
            erase = f"\x1b[{self._num_lines}A\r\x1b[J"
            if max(len(lines), self._num_lines) >= screen_height():
                erase = "\x1b[H\x1b[2J"
        self._out.write(erase + "\n".join(lines) + "\n")
        self._out.flush()
        self._num_lines = len(lines)

    def _lines(self) -> Iterator[str]:
        game, score = self.game, self.game.score
        yield self._paint(f"{self._title} · seed {game.seed}", "1")
        yield from self._board().split("\n")
        for line in self._legend():
            yield self._paint(line, "2")
        yield f"step {score.steps} · return {score.total:g}"
        last = [f"{score.direction} {score.reward:+g}"] if score.direction else []
        last += score.details()
        yield self._paint(" · ".join(last), "2")
        yield self._message()
        if self._help:
            yield from KEYS.splitlines()
        elif self._in_place:
            yield self._paint(_HINT, "2")

    def _board(self) -> str:
        # ROLL's long format has a tab after each cell, too wide for a screen.
        board = self.game.view().replace("\t", "").rstrip("\n")
        if not self._colour:
            board = strip_colours(board)
        if self._in_place and " " not in board:
            # A character is twice as high as wide: with a space it is a square.
            board = _SEQUENCE_OR_CHARACTER.sub(
                lambda match: match[0] + " " * (match[1] is None), board
            )
        return board

    def _legend(self) -> list[str]:
        """Return lines that explain the symbols of the board."""
        # No line break between a symbol and its meaning.
        words = [words.replace(" ", "\0") for words in self.game.symbols()]
        lines = textwrap.wrap(" · ".join(words), text_width(), break_on_hyphens=False)
        return [line.replace("\0", " ") for line in lines]

    def _message(self) -> str:
        """Return the remark on the last key, or how the episode ended."""
        score = self.game.score
        if self._remark or not score.is_over:
            return self._paint(self._remark, "33")
        return self._paint(*score.outcome())

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour) if self._colour else text
