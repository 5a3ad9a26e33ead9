"""``roll-vec play``: a person plays one environment in a terminal."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from typing import Any, TextIO

from gymnasium.spaces import Text

from roll_vec.cli._arguments import add_environment_arguments
from roll_vec.cli._environments import full_id, make_playable
from roll_vec.cli._errors import UsageError
from roll_vec.cli._game import (
    BoardGame,
    Game,
    action_names,
    all_directions,
    title_of,
)
from roll_vec.cli._keys import UNKNOWN_KEY, read_keys
from roll_vec.cli._lines import COMMANDS, LinePlayer, is_typed
from roll_vec.cli._screen import is_screen, screen_height, text_width, wants_colour
from roll_vec.render.ansi import paint, strip_colours

__all__ = ["add_parser"]

_DESCRIPTION = """\
Play an environment in the terminal. Where the actions are Up, Down, Left and Right,
keys move; where they are text, or have other names, you type an answer a line.
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
{COMMANDS}
Keys are also read from the lines of a pipe, where the board is shown after each line,
and so are answers. Colours follow the terminal; NO_COLOR=1 turns them off.

examples:
  roll-vec play roll_vec/Sokoban-v0 --seed 1010
  roll-vec play roll_vec/Sokoban-v0 -o dim_room="(10, 10)" -o num_boxes=4
  roll-vec play roll_vec/FrozenLake-v1 -o is_slippery=False
  roll-vec play roll_vec/FrozenLake-v1 -o obs_mode=text -o action_mode=text
  roll-vec play roll_vec/Countdown-v0 -o max_steps=3
  roll-vec play my_module:mine/Env-v0
  printf 'ddss\\nq\\n' | roll-vec play roll_vec/FrozenLake-v1
  printf '79 + 64 / (99 - 67)\\n:quit\\n' | roll-vec play roll_vec/Countdown-v0 --seed 3
"""

_SEQUENCE_OR_CHARACTER = re.compile(r"(\x1b\[[0-9;]*m)|\S")
_HINT = "arrows or wasd: move · u undo · n new · r restart · ? help · q quit"


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "play",
        help="play one environment, by keys or by typing answers",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    add_environment_arguments(parser, seed_help="seed of the first level")
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command until the person or the input ends it.

    Raises
    ------
    UsageError
        The actions are neither directions nor can they be typed.
    """
    title, out = full_id(arguments.id), sys.stdout
    with ExitStack() as game_end, ExitStack() as silence:
        # Keys that are pressed during compilation are not echoed, and played later.
        batches = silence.enter_context(read_keys(sys.stdin))
        env = make_playable(title, arguments.options)
        game_end.callback(env.close)
        by_keys = not isinstance(env.action_space, Text) and all_directions(
            action_names(env)
        )
        if not (by_keys or is_typed(env)):
            message = (
                f"{title_of(env)} cannot be played: its actions are neither text nor "
                "named by an action_lookup, such as {1: 'Up', 2: 'Down'}"
            )
            raise UsageError(message)
        if by_keys:
            board_game = BoardGame(env, arguments.seed)
            board_game.rehearse()
            game_end.callback(board_game.close)
            _KeyPlayer(board_game, title, out).play(batches)
            return 0
        game = Game(env, arguments.seed)
        game.rehearse()
        silence.close()
        LinePlayer(game, title, out).play(sys.stdin)
    return 0


class _KeyPlayer:
    """The actions of the keys, and the screen."""

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
            yield from _KEYS.splitlines()
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
