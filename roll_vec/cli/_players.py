"""How a person plays: by keys, with the board drawn again, or by typing lines."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, TextIO

from gymnasium.spaces import Text

from roll_vec.cli._files import ending_signals
from roll_vec.cli._game import BoardGame, Game, action_names
from roll_vec.cli._keys import UNKNOWN_KEY
from roll_vec.cli._oracles import has_oracle, hint
from roll_vec.cli._tables import is_screen, screen_height, text_width, wants_colour
from roll_vec.render.ansi import paint, strip_colours

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


COMMANDS = """\
lines:
  any text          your answer, in the form that the environment reads or
                    without it
  Enter             after the end: new level
  :hint             show a right answer, if the environment knows one
  :new              new level: the next seed
  :restart          restart this level
  :help             show this help and the instructions
  :quit, Ctrl-D     quit
  ::text            an answer that begins with a colon
"""

_PROMPT = "> "
_MAX_ACTIONS = 12


def is_typed(env: Any) -> bool:
    """Return whether actions are texts, or have names that can be typed."""
    return isinstance(env.action_space, Text) or bool(action_names(env))


class LinePlayer:
    """Reads answers and commands, and shows their results.

    Parameters
    ----------
    game : Game
    title : str
    out : text stream
    """

    def __init__(self, game: Game, title: str, out: TextIO) -> None:
        self.game = game
        self._title = title
        self._out = out
        self._colour = wants_colour(out)
        self._by_name = not isinstance(game.env.action_space, Text)
        self._names = action_names(game.env) if self._by_name else {}
        self._end_commands = "Enter: new level · :restart · :quit"
        if has_oracle(game.env):
            self._end_commands += " · :hint"
        self._commands: dict[str, Callable[[], None]] = {
            "hint": self._hint,
            "new": lambda: self._start(self.game.seed + 1),
            "restart": lambda: self._start(self.game.seed),
            "help": self._help,
        }

    def play(self, keyboard: TextIO) -> None:
        """Act on lines until one of them is ":quit" or there are no more."""
        self._say(f"{self._title} · seed {self.game.seed}", "1")
        self._instruct()
        self._show()
        with ending_signals():
            for line in self._input_lines(keyboard):
                if self._run_line(line) == "quit":
                    return

    def _input_lines(self, keyboard: TextIO) -> Iterator[str]:
        """Yield lines, which can be edited if input and output are terminals."""
        is_terminal = keyboard.isatty()
        can_edit = is_terminal and self._out.isatty()
        if can_edit:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - input() uses it once it is there
        while True:
            try:
                if can_edit:
                    line = input(_PROMPT)
                else:
                    self._out.write(_PROMPT)
                    self._out.flush()
                    line = keyboard.readline()
                    if not line:
                        raise EOFError
                    line = line.rstrip("\r\n")
            except EOFError:
                self._out.write("\n")
                return
            except KeyboardInterrupt:
                self._out.write("\n")
                raise
            if not is_terminal:
                # A terminal would have shown the line.
                self._out.write(f"{line}\n")
            yield line

    def _run_line(self, line: str) -> str:
        """Run a line; return its command, or an empty text."""
        if line.startswith(":") and not line.startswith("::"):
            return self._command(line[1:].strip().casefold())
        if line.strip():
            self._answer(line.removeprefix(":"))
        elif self.game.score.is_over:
            self._start(self.game.seed + 1)
        return ""

    def _command(self, word: str) -> str:
        names = [*self._commands, "quit"]
        # The beginning of a name is enough if no other name begins so.
        matches = [name for name in names if name.startswith(word)] if word else []
        if len(matches) == 1:
            self._commands.get(matches[0], lambda: None)()
            return matches[0]
        commands = ", ".join(f":{name}" for name in names)
        self._say(f"There is no command :{word}; expected one of {commands}", "33")
        return ""

    def _start(self, seed: int) -> None:
        self.game.start(seed)
        self._say(f"\n{self._title} · seed {seed}", "1")
        self._show()

    def _hint(self) -> None:
        names = {str(action): name for name, action in self._names.items()}
        answer = hint(self.game.env) or "There is no hint"
        self._say(names.get(answer, answer), "33")

    def _help(self) -> None:
        self._say(COMMANDS.rstrip("\n"))
        self._instruct()

    def _answer(self, line: str) -> None:
        game = self.game
        if game.score.is_over:
            self._say(f"The episode is over: {self._end_commands}", "33")
            return
        action = self._action(line)
        if action is None:
            return
        game.step(action)
        score = game.score
        # Some environments show nothing at the end.
        if self._view().strip():
            self._show()
        reward = f"reward {score.reward:+g}"
        self._say(" · ".join([reward, *score.details()]), "2")
        if not score.info.get("action_is_valid", True) and not score.is_over:
            actions = self._available()
            more = ", ..." if len(actions) > _MAX_ACTIONS else ""
            if actions:
                text = ", ".join(actions[:_MAX_ACTIONS])
                self._say(f"Actions of this page: {text}{more}", "33")
        if score.is_over:
            self._say(*score.outcome())
            self._say(self._end_commands, "2")
        else:
            self._say(f"step {score.steps} · return {score.total:g}")

    def _action(self, line: str) -> Any:
        """Return the action of a line; None, after a remark, if it is no action."""
        env = self.game.env
        if self._by_name:
            word = line.strip()
            for name, action in self._names.items():
                if name.casefold() == word.casefold():
                    return action
            names = ", ".join(self._names)
            self._say(f"There is no action {word!r}; expected one of {names}", "33")
            return None
        completion = self._completion(line)
        if completion is not None:
            text = f"{line.strip()!r} is no action: it is written {completion}"
            self._say(text, "33")
            return None
        if env.has_wrapper_attr("action_parser"):
            parser = env.get_wrapper_attr("action_parser")
            if parser is not None and parser.find(line) is None:
                example = parser.example(line)
                line = line if example is None else example
        if not env.action_space.contains(line):
            self._say(f"That is no action of {env.action_space}", "33")
            return None
        return line

    def _available(self) -> list[str]:
        """Return the available actions, if the environment lists them."""
        env = self.game.env
        if not env.has_wrapper_attr("get_available_actions"):
            return []
        return [
            str(action) for action in env.get_wrapper_attr("get_available_actions")()
        ]

    def _completion(self, line: str) -> str | None:
        """Return the first action that contains a line, such as "buy", or None."""
        available = self._available()
        if not available:
            return None
        word = line.strip().casefold()
        actions = [*available, *getattr(self.game.env.action_space, "examples", ())]
        if any(word == action.casefold() for action in actions):
            return None
        # Whole words: a single letter occurs in the number of some product.
        part = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        return next((one for one in actions if part.search(one.casefold())), None)

    def _instruct(self) -> None:
        """Show the instructions of an agent, and what can be typed."""
        env = self.game.env
        instructions = self.game.first_info.get("env_instruction")
        if instructions is None and env.has_wrapper_attr("get_instructions"):
            instructions = env.get_wrapper_attr("get_instructions")()
        width = text_width()
        for line in str(instructions or "").splitlines():
            self._say(textwrap.fill(line, width))
        answers = f"one of {', '.join(self._names)}" if self._by_name else "an answer"
        self._say(f"Type {answers}; :help shows the commands, :quit ends", "2")

    def _show(self) -> None:
        self._say(f"\n{self._view()}")

    def _view(self) -> str:
        view = self.game.view().rstrip("\n")
        return view if self._colour else strip_colours(view)

    def _say(self, text: str, colour: str = "") -> None:
        self._out.write(f"{paint(text, colour) if self._colour else text}\n")
