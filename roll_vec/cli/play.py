"""``roll-vec play``: a person plays one environment in a terminal.

By keys, with the board drawn again, or by actions that are typed, one a line.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
import textwrap
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple, TextIO

import gymnasium
import numpy as np
from gymnasium.spaces import Text

from roll_vec.cli._errors import UsageError, ending_signals
from roll_vec.cli._keys import UNKNOWN_KEY, read_keys
from roll_vec.cli._options import add_command
from roll_vec.cli._policies import hint
from roll_vec.cli._tables import is_screen, text_width, wants_colour
from roll_vec.registration.any_id import (
    action_names,
    find_spec,
    full_id,
    make_or_refuse,
    render_modes,
)
from roll_vec.render.ansi import paint, strip_colours
from roll_vec.vector.known_infos import read_success, success_of

# Keys of infos that the screen shows already or that `_Score.details` puts into words.
_HIDDEN_KEYS = {
    *("action_content", "action_is_effective", "action_is_valid", "env_instruction"),
    *("prob", "success", "think_content"),
}
_SEQUENCE_OR_CHARACTER = re.compile(r"(\x1b\[[0-9;]*m)|\S")
_MOVES = ("up", "down", "left", "right")
_KEYS = "arrows or wasd: move · u undo · t hint · n new · r restart · q quit"

_SUMMARY = "play one environment, by keys or by typing actions"

_DESCRIPTION = """\
Play an environment in the terminal. If actions are Up, Down, Left and Right,
keys move, and digits take the actions of these numbers. Of other environments
you type one action a line: its name, its number, or a text.
"""

_EPILOG = """\
keys:
  arrows, w a s d   move
  0 to 9            the action of this number
  u, backspace      undo a move, its luck included
  n                 new level: the next seed
  r                 restart this level
  t                 a hint: the best next move, if the environment knows one
  q, Ctrl-D         quit

lines:
  any text          an action; after the end, the next level
  quit, Ctrl-D      quit

With -o levels=FILE, or a list, --seed N begins with level N of it, from 0. Keys
and actions are also read from the lines of a pipe. NO_COLOR=1: no colours.

examples:
  roll-vec play roll_vec/Sokoban-v0 --seed 1010
  printf 'ddss\\nq\\n' | roll-vec play roll_vec/FrozenLake-v1
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "play", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.add_shared("ID", "-o")
    parser.option("--seed", "seed of the first level")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command until the person or the input ends it.

    Raises
    ------
    UsageError
        The actions are neither directions nor can they be typed.
    """
    title = full_id(arguments.id)
    env = _make_env(title, arguments.options)
    try:
        names = _action_names(env)
        if not names and not isinstance(env.action_space, Text):
            message = (
                f"{title} cannot be played: its actions are neither text nor named by "
                "an action_lookup, such as {1: 'Up', 2: 'Down'}"
            )
            raise UsageError(message)
        kind = _KeyPlayer if _has_keys(names) else _LinePlayer
        player = kind(env, title, sys.stdout, arguments.seed)
        player.play()
    finally:
        env.close()
    return 0


def _make_env(env_id: str, options: Mapping[str, Any]) -> Any:
    """Return one environment for a person, rendering as text where it can.

    Raises
    ------
    SetupError
        The environment refuses a keyword, or the id is unknown.
    """
    spec = find_spec(env_id)

    def make(**more: Any) -> Any:
        return gymnasium.make(spec, disable_env_checker=True, **options, **more)

    modes = render_modes(spec)
    mode = next((m for m in ("ansi", "text") if modes is None or m in modes), None)
    return make_or_refuse(env_id, make, mode)


# ------------------------------------------------------------------------- the game


def _action_names(env: Any) -> dict[str, int]:
    """Return the actions by their names, if they are numbers that have names."""
    if isinstance(env.action_space, Text):
        return {}
    names = action_names(partial(getattr, env.unwrapped))
    return {name.strip(): action for action, name in names.items()}


def _has_keys(names: Mapping[str, int]) -> bool:
    """Return whether keys can play: there are directions, and digits for the others."""
    others = [code for name, code in names.items() if name.casefold() not in _MOVES]
    num_directions = len(names) - len(others)
    needed = 2 if others else 1
    return num_directions >= needed and all(0 <= code <= 9 for code in others)


class _Score(NamedTuple):
    """The episode so far: steps, return, and the results of the last step."""

    observation: Any
    info: Mapping[str, Any]
    steps: int = 0
    total: float = 0.0
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    action: str = ""

    @property
    def is_over(self) -> bool:
        """True: the episode has ended."""
        return self.terminated or self.truncated

    def outcome(self) -> tuple[str, str]:
        """Return how the episode ended, and the colour of that text."""
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        text = f"in {steps}, return {self.total:g}"
        if self.success:
            return f"Solved {text}", "1;32"
        if not self.terminated:
            return f"Out of steps: {text}", "1;31"
        if self.success is None:
            return f"Over {text}", "1"
        return f"Lost {text}", "1;31"

    def details(self) -> list[str]:
        """Return the last reward, and the short entries of the info in words."""
        details = [f"{self.action} {self.reward:+g}"] if self.steps else []
        if not self.info.get("action_is_valid", True):
            details.append("no valid action")
        elif not self.info.get("action_is_effective", True):
            details.append("nothing changed")
        for key, value in self.info.items():
            if isinstance(value, (float, np.floating)):
                value = f"{value:.3g}"
            is_short = isinstance(value, (bool, np.bool_, int, np.integer)) or (
                isinstance(value, str) and 0 < len(value) <= 60
            )
            if is_short and str(value).isprintable() and key not in _HIDDEN_KEYS:
                details.append(f"{key} {value}")
        return details


class _Player:
    """A person who plays: the environment, its score, and the words for both.

    Parameters
    ----------
    env : gymnasium.Env
    title : str
    out : text stream
    seed : int
        Of the first level.
    """

    def __init__(self, env: Any, title: str, out: TextIO, seed: int) -> None:
        self._env = env
        self._title, self._out = title, out
        self._colour = wants_colour(out)
        self._names = _action_names(env)
        self._start(seed)

    def _start(self, seed: int) -> None:
        """Begin the level of a seed."""
        self._seed, self._score = seed, _Score(*self._env.reset(seed=seed))

    def _step(self, action: Any, name: str) -> None:
        """Take an action; the episode must not have ended."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        success = read_success(info)
        if success is None:
            success = success_of(getattr(self._env.unwrapped, "success", None))
        sums = self._score.steps + 1, self._score.total + float(reward), float(reward)
        ends = bool(terminated), bool(truncated)
        self._score = _Score(observation, info, *sums, *ends, success, name)

    def _view(self) -> str:
        """Return the environment as text: rendered, or else its observation."""
        frame = self._env.render() if self._env.render_mode is not None else None
        text = frame if isinstance(frame, str) else str(self._score.observation)
        return (text if self._colour else strip_colours(text)).rstrip("\n")

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour) if self._colour else text


class _KeyPlayer(_Player):
    """Acts on keys, and draws the board; moves can be taken back."""

    def __init__(self, *arguments: Any) -> None:
        self._past: deque[tuple[Any, _Score]] = deque(maxlen=1000)
        super().__init__(*arguments)
        self._in_place = is_screen(self._out)
        self._remark = ""
        # Digits and directions, each with the name of an action.
        self._actions = {str(action): name for name, action in self._names.items()}
        self._actions |= {name.casefold(): name for name in self._names}
        if "forward" in self._actions:
            self._actions.setdefault("up", self._actions["forward"])

    def _start(self, seed: int) -> None:
        """Begin the level of a seed; nothing before it can be undone."""
        super()._start(seed)
        self._past.clear()

    def play(self) -> None:
        """Act on keys until one of them is "quit" or there are no more."""
        with read_keys(sys.stdin) as batches:
            self._draw()
            for keys in batches:
                before_quit = list(takewhile(lambda key: key != "quit", keys))
                self._remark = ""
                for key in before_quit:
                    self._remark = self._press(key) or self._remark
                if before_quit:
                    self._draw()
                if len(before_quit) < len(keys):
                    return

    def _press(self, key: str) -> str:
        """Act on a key, and return a remark about it."""
        if key == UNKNOWN_KEY:
            return "That key does nothing"
        if key in ("new", "restart"):
            self._start(self._seed + (key == "new"))
        elif key == "undo":
            if not self._past:
                return "There is nothing to undo"
            self._env, self._score = self._past.pop()
        elif self._score.is_over:
            return f"{self._score.outcome()[0]}: u undo, n new, r restart, q quit"
        elif key == "hint":
            action = hint(self._env)
            names = {str(code): name for name, code in self._names.items()}
            return names.get(action, action) if action else "There is no hint"
        elif key not in self._actions:
            return f"This environment has no action {key!r}"
        else:
            # A deep copy has the random stream as well: a slip that is undone and
            # tried again slips again.
            self._past.append((copy.deepcopy(self._env), self._score))
            name = self._actions[key]
            self._step(self._names[name], name.casefold())
        return ""

    def _draw(self) -> None:
        # On a screen lines keep their places; a pipe needs no empty lines.
        lines = [line for line in self._lines() if line or self._in_place]
        clear, end = ("\x1b[H\x1b[2J", "\n") if self._in_place else ("", "\n\n")
        self._out.write(clear + "\n".join(lines) + end)
        self._out.flush()

    def _lines(self) -> Iterator[str]:
        score = self._score
        yield self._paint(f"{self._title} · seed {self._seed}", "1")
        # ROLL's long format has a tab after each cell, too wide for a screen.
        board = self._view().replace("\t", "")
        if self._in_place and " " not in board:
            # A character is twice as high as wide: with a space it is a square.
            board = _SEQUENCE_OR_CHARACTER.sub(
                lambda match: match[0] + " " * (match[1] is None), board
            )
        yield from board.split("\n")
        for line in textwrap.wrap(self._legend(), text_width()):
            yield self._paint(line, "2")
        yield f"step {score.steps} · return {score.total:g}"
        yield self._paint(" · ".join(score.details()), "2")
        is_end = score.is_over and not self._remark
        yield self._paint(*(score.outcome() if is_end else (self._remark, "33")))
        if self._in_place:
            yield self._paint(_KEYS, "2")

    def _legend(self) -> str:
        """Return the meanings of symbols of the board, and of digits."""
        bare = self._env.unwrapped
        vocab = getattr(bare, "grid_vocab", None)
        pairs = vocab.items() if isinstance(vocab, Mapping) else ()
        pairs = getattr(bare, "symbol_meanings", None) or pairs
        words = [
            f"{str(symbol).strip()} {meaning}"
            for symbol, meaning in pairs
            if str(symbol).strip() != meaning
        ]
        words += [
            f"{code} {name}"
            for name, code in self._names.items()
            if name.casefold() not in _MOVES
        ]
        return " · ".join(words)


class _LinePlayer(_Player):
    """Reads an action a line, and shows its results."""

    def play(self) -> None:
        """Act on lines of stdin until one of them is "quit" or there are no more."""
        self._instruct()
        with ending_signals():
            for line in self._input_lines():
                if line.strip() == "quit":
                    return
                if self._score.is_over:
                    self._start(self._seed + 1)
                    self._say(f"\n{self._title} · seed {self._seed}", "1")
                    self._say(f"\n{self._view()}")
                else:
                    self._answer(line)

    def _answer(self, line: str) -> None:
        """Take the action of a line, and show its results."""
        action = self._read_action(line)
        if action is None:
            space = self._env.action_space
            text = f"{line!r} is no action of {space}: expected {self._form()}"
            self._say(text, "33")
            return
        self._step(action, "reward")
        self._say(f"\n{self._view()}")
        self._say(" · ".join(self._score.details()), "2")
        if self._score.is_over:
            self._say(*self._score.outcome())
            self._say("Enter: next level · quit", "2")

    def _instruct(self) -> None:
        """Show the instructions of an agent, what can be typed, and the level."""
        self._say(f"{self._title} · seed {self._seed}", "1")
        text = self._score.info.get("env_instruction")
        if text is None and self._env.has_wrapper_attr("get_instructions"):
            text = self._env.get_wrapper_attr("get_instructions")()
        # Without the breaks of a docstring's narrow lines.
        text = re.sub(r"(?<![.:!?\n])\n(?=\w)", " ", str(text or ""))
        for line in text.splitlines():
            self._say(textwrap.fill(line, text_width()))
        line = f"Type {self._form()}; quit, or Ctrl-D, ends"
        self._say(textwrap.fill(line, text_width()), "2")
        self._say(f"\n{self._view()}")

    def _input_lines(self) -> Iterator[str]:
        """Yield lines, which can be edited if input and output are terminals."""
        is_terminal = sys.stdin.isatty()
        if is_terminal and self._out.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401 - input() uses it once it is there
        while True:
            try:
                line = input("> ").rstrip("\r")
            except (EOFError, KeyboardInterrupt) as end:
                self._out.write("\n")
                if isinstance(end, KeyboardInterrupt):
                    raise
                return
            if not is_terminal:
                # A terminal would have shown the line.
                self._out.write(f"{line}\n")
            yield line

    def _read_action(self, line: str) -> Any:
        """Return the action of a line; None if it has none."""
        space = self._env.action_space
        if self._names:
            names = {str(action): action for action in self._names.values()}
            names |= {name.casefold(): action for name, action in self._names.items()}
            return names.get(line.strip().casefold())
        return line if space.contains(line) else None

    def _form(self) -> str:
        """Return the form of actions, in words."""
        if self._names:
            summary = getattr(self._env.unwrapped, "action_summary", None)
            names = textwrap.shorten(", ".join(self._names), 100, placeholder=" ...")
            return f"{summary or f'one of {names}'}, or its number"
        return "a text"

    def _say(self, text: str, colour: str = "") -> None:
        self._out.write(f"{self._paint(text, colour)}\n")
