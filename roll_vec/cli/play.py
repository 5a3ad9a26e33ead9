"""``roll-vec play``: a person plays one environment in a terminal.

By keys, with the board drawn again, or by typing lines.
"""

from __future__ import annotations

import argparse
import copy
import re
import sys
import textwrap
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple, TextIO

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Text

from roll_vec.cli._errors import UsageError, ending_signals
from roll_vec.cli._keys import UNKNOWN_KEY, read_keys
from roll_vec.cli._options import add_command
from roll_vec.cli._policies import hint
from roll_vec.cli._tables import is_screen, screen_height, text_width, wants_colour
from roll_vec.evaluation.policies import has_oracle
from roll_vec.registration import ENVIRONMENTS
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
_UNDO_STEPS = 1000
# Letters of an info that is shown.
_SHORT = 60
_PROMPT = "> "
_MAX_ACTIONS = 12
# Letters of the narrowest lines of docstrings.
_NARROW = 66
_SEQUENCE_OR_CHARACTER = re.compile(r"(\x1b\[[0-9;]*m)|\S")
_HINT = "arrows or wasd: move · u undo · t hint · n new · r restart · ? help · q quit"

_SUMMARY = "play one environment, by keys or by typing answers"

_DESCRIPTION = """\
Play an environment in the terminal. If actions are Up, Down, Left and Right,
keys move, and digits take the actions of these numbers. Of other environments
you type one action a line: its name, its number, or a text.
"""

KEYS = """\
keys:
  arrows, w a s d   move
  0 to 9            the action of this number
  u, backspace      undo a move, its luck included
  n                 new level: the next seed
  r                 restart this level
  t                 a hint: the best next move, if the environment knows one
  ?                 show or hide this help
  q, Ctrl-D         quit
"""


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

_EPILOG = f"""\
{KEYS}
{COMMANDS}
With -o levels=FILE, or a list, --seed N begins with level N of it, from 0. Keys
and answers are also read from the lines of a pipe. NO_COLOR=1: no colours.

examples:
  roll-vec play roll_vec/Sokoban-v0 --seed 1010
  roll-vec play roll_vec/FrozenLake-v1 -o obs_mode=text -o action_mode=text
  roll-vec play roll_vec/Countdown-v0 -o max_steps=3
  printf 'ddss\\nq\\n' | roll-vec play roll_vec/FrozenLake-v1
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parser = add_command(commands, "play", _run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.take("ID", "-o")
    parser.option("--seed", "seed of the first level")


def _run(arguments: argparse.Namespace) -> int:
    """Run the command until the person or the input ends it.

    Raises
    ------
    UsageError
        The actions are neither directions nor can they be typed.
    """
    title = full_id(arguments.id)
    with ExitStack() as game_end, ExitStack() as silence:
        # Keys that are pressed during compilation are not echoed, and played later.
        batches = silence.enter_context(read_keys(sys.stdin))
        env = _make_env(title, arguments.options)
        game_end.callback(env.close)
        names = _action_names(env)
        if not names and not isinstance(env.action_space, (Box, Text)):
            message = (
                f"{title} cannot be played: its actions are neither text, numbers of a "
                "Box, nor named by an action_lookup, such as {1: 'Up', 2: 'Down'}"
            )
            raise UsageError(message)
        kind = _KeyPlayer if _has_keys(names) else _LinePlayer
        player = kind(env, title, sys.stdout, arguments.seed)
        # Undo replaces the environment.
        game_end.callback(lambda: player.env.close())
        player.compile_kernels()
        if isinstance(player, _KeyPlayer):
            player.play(batches)
        else:
            silence.close()
            player.play()
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
    if modes is None:
        modes = ["ansi"]
    mode = next((mode for mode in ("ansi", "text") if mode in modes), None)
    return make_or_refuse(env_id, make, mode)


# ------------------------------------------------------------------------- the game


def _list_some(actions: Sequence[str]) -> str:
    """Return the first actions in one line."""
    more = ", ..." if len(actions) > _MAX_ACTIONS else ""
    return ", ".join(actions[:_MAX_ACTIONS]) + more


def _action_names(env: Any) -> dict[str, int]:
    """Return the actions by their names, if they are numbers that have names."""
    if isinstance(env.action_space, Text):
        return {}
    names = action_names(partial(getattr, env.unwrapped))
    return {name.strip(): action for action, name in names.items()}


def _has_keys(names: Mapping[str, int]) -> bool:
    """Return whether keys can play: there are directions, and digits for the others."""
    others = [code for name, code in names.items() if not _is_direction(name)]
    num_directions = len(names) - len(others)
    needed = 2 if others else 1
    return num_directions >= needed and all(0 <= code <= 9 for code in others)


def _is_direction(name: str) -> bool:
    return name.casefold() in ("up", "down", "left", "right")


def _join_lines(text: str) -> list[str]:
    """Return the lines of a text without the breaks of a docstring's narrow lines.

    A line of a docstring is broken where the next word has no room; a line that ends
    with a sentence is not joined, as it may stand alone.
    """
    lines, previous = [""], ""
    for line in text.splitlines():
        is_full = len(previous) + len(line.partition(" ")[0]) >= _NARROW
        if is_full and line[:1].isalnum() and previous[-1] not in ".:!?":
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        previous = line
    return lines[1:]


def _describe_box(space: Box[Any]) -> str:
    """Return the numbers of an action, in words."""
    numbers = "a number" if space.low.size == 1 else f"{space.low.size} numbers"
    return f"{numbers} from {space.low.min():g} to {space.high.max():g}"


class _Score(NamedTuple):
    """The episode so far: steps, return, and the results of the last step."""

    observation: Any
    info: Mapping[str, Any]
    steps: int = 0
    total: float = 0.0
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    direction: str = ""
    reward: float = 0.0

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
        if self.terminated and self.success is None:
            return f"Over {text}", "1"
        if self.terminated:
            return f"Lost {text}", "1;31"
        return f"Out of steps: {text}", "1;31"

    def details(self) -> list[str]:
        """Return the short entries of the info, each as a few words."""
        details = []
        if not self.info.get("action_is_valid", True):
            details.append("no valid action")
        elif not self.info.get("action_is_effective", True):
            details.append("nothing changed")
        for key, value in self.info.items():
            if isinstance(value, (float, np.floating)):
                value = f"{value:.3g}"
            is_short = isinstance(value, (bool, np.bool_, int, np.integer)) or (
                isinstance(value, str) and 0 < len(value) <= _SHORT
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
        self.env = env
        self._title, self._out = title, out
        self._colour = wants_colour(out)
        self._names = _action_names(env)
        self._start(seed)

    def _start(self, seed: int) -> None:
        """Begin the level of a seed."""
        observation, self._first_info = self.env.reset(seed=seed)
        self._seed, self._score = seed, _Score(observation, self._first_info)

    def _step(self, action: Any, direction: str = "") -> None:
        """Take an action; the episode must not have ended."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        sums = self._score.steps + 1, self._score.total + float(reward)
        ends = bool(terminated), bool(truncated)
        success = self._success(info, ends[0] and reward > 0)
        self._score = _Score(
            observation, info, *sums, *ends, success, direction, float(reward)
        )

    def _success(self, info: Mapping[str, Any], is_likely: bool) -> bool | None:
        """Return whether a step was a success; None: the game has no such thing.

        Parameters
        ----------
        info : mapping
        is_likely : bool
            Whether the step has ended the episode with a positive reward: a success of
            environments that do not say it.
        """
        bare = self.env.unwrapped
        success = read_success(info)
        if success is None:
            success = success_of(getattr(bare, "success", None))
        if success is None:
            entry = ENVIRONMENTS.get("" if self.env.spec is None else self.env.spec.id)
            return None if entry is not None and not entry.pooled else is_likely
        return success

    def compile_kernels(self) -> None:
        """Step a copy of the environment, so that the kernels are compiled.

        Compilation takes seconds and writes a notice on stderr.
        """
        env_id = "" if self.env.spec is None else self.env.spec.id
        if env_id in ENVIRONMENTS and not ENVIRONMENTS[env_id].pooled:
            twin = copy.deepcopy(self.env)
            twin.step(twin.action_space.sample())

    def _hint(self) -> str:
        """Return the right next action in words."""
        action = hint(self.env)
        names = {str(action): name for name, action in self._names.items()}
        return names.get(action, action) if action else "There is no hint"

    def _view(self) -> str:
        """Return the environment as text: rendered, or else its observation."""
        frame = self.env.render() if self.env.render_mode is not None else None
        text = frame if isinstance(frame, str) else str(self._score.observation)
        return (text if self._colour else strip_colours(text)).rstrip("\n")

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour) if self._colour else text


class _KeyPlayer(_Player):
    """Acts on keys, and draws the board; moves can be taken back."""

    def __init__(self, *arguments: Any) -> None:
        self._past: deque[tuple[Any, _Score]] = deque(maxlen=_UNDO_STEPS)
        super().__init__(*arguments)
        self._in_place = is_screen(self._out)
        self._num_lines = 0
        self._shows_help = False
        self._remark = ""
        # Digits and directions, each with the name of an action.
        self._actions = {str(action): name for name, action in self._names.items()}
        self._actions |= {name.casefold(): name for name in self._names}

    def _start(self, seed: int) -> None:
        """Begin the level of a seed; nothing before it can be undone."""
        super()._start(seed)
        self._past.clear()

    def play(self, batches: Iterable[list[str]]) -> None:
        """Act on keys until one of them is "quit" or there are no more."""
        with self._screen():
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
            return "That key does nothing: ? shows those that do"
        if key == "help":
            self._shows_help = not self._shows_help
        elif key == "new":
            self._start(self._seed + 1)
        elif key == "restart":
            self._start(self._seed)
        elif key == "undo":
            if not self._past:
                return "There is nothing to undo"
            self.env, self._score = self._past.pop()
        elif self._score.is_over:
            text, _ = self._score.outcome()
            return f"{text}: u undo, n new level, r restart, q quit"
        elif key == "hint":
            return self._hint()
        elif key not in self._actions:
            return f"This environment has no action {key!r}"
        else:
            # A deep copy has the random stream as well: a slip that is undone and
            # tried again slips again.
            self._past.append((copy.deepcopy(self.env), self._score))
            name = self._actions[key]
            self._step(self._names[name], name.casefold())
        return ""

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
        for line in self._legend():
            yield self._paint(line, "2")
        yield f"step {score.steps} · return {score.total:g}"
        last = [f"{score.direction} {score.reward:+g}"] if score.direction else []
        yield self._paint(" · ".join([*last, *score.details()]), "2")
        is_end = score.is_over and not self._remark
        yield self._paint(*(score.outcome() if is_end else (self._remark, "33")))
        if self._shows_help:
            yield from KEYS.splitlines()
        elif self._in_place:
            yield self._paint(_HINT, "2")

    def _legend(self) -> list[str]:
        """Return lines that explain symbols of the board, and digits of actions."""
        bare = self.env.unwrapped
        vocab = getattr(bare, "grid_vocab", None)
        pairs = vocab.items() if isinstance(vocab, Mapping) else ()
        pairs = getattr(bare, "symbol_meanings", None) or pairs
        symbols = [
            f"{str(symbol).strip()} {meaning}"
            for symbol, meaning in pairs
            if str(symbol).strip() != meaning
        ]
        others = [
            f"{code} {name}"
            for name, code in self._names.items()
            if not _is_direction(name)
        ]
        lines = []
        for words in (symbols, others):
            # No line break between a symbol and its meaning.
            text = " · ".join(word.replace(" ", "\0") for word in words)
            lines += textwrap.wrap(text, text_width(), break_on_hyphens=False)
        return [line.replace("\0", " ") for line in lines]


class _LinePlayer(_Player):
    """Reads answers and commands, and shows their results."""

    def play(self) -> None:
        """Act on lines of stdin until one of them is ":quit" or there are no more."""
        self._end_commands = "Enter: new level · :restart · :quit"
        if has_oracle(self.env):
            self._end_commands += " · :hint"
        self._say(f"{self._title} · seed {self._seed}", "1")
        self._instruct()
        self._say(f"\n{self._view()}")
        with ending_signals():
            for line in self._input_lines():
                if line.startswith(":") and not line.startswith("::"):
                    if self._command(line[1:].strip().casefold()) == "quit":
                        return
                elif line.strip():
                    self._answer(line.removeprefix(":"))
                elif self._score.is_over:
                    self._command("new")

    def _input_lines(self) -> Iterator[str]:
        """Yield lines, which can be edited if input and output are terminals."""
        is_terminal = sys.stdin.isatty()
        if is_terminal and self._out.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401 - input() uses it once it is there
        while True:
            try:
                line = input(_PROMPT).rstrip("\r")
            except (EOFError, KeyboardInterrupt) as end:
                self._out.write("\n")
                if isinstance(end, KeyboardInterrupt):
                    raise
                return
            if not is_terminal:
                # A terminal would have shown the line.
                self._out.write(f"{line}\n")
            yield line

    def _command(self, word: str) -> str:
        """Run a command, and return its name, or an empty text."""
        names = ["hint", "new", "restart", "help", "quit"]
        # The beginning of a name is enough if no other name begins so.
        matches = [name for name in names if name.startswith(word)] if word else []
        if len(matches) != 1:
            commands = ", ".join(f":{name}" for name in names)
            text = f"There is no command :{word}; expected one of {commands}"
            self._say(text, "33")
            return ""
        (name,) = matches
        if name == "hint":
            self._say(self._hint(), "33")
        elif name == "help":
            self._say(COMMANDS.rstrip("\n"))
            self._instruct()
        elif name != "quit":
            self._start(self._seed + (name == "new"))
            self._say(f"\n{self._title} · seed {self._seed}", "1")
            self._say(f"\n{self._view()}")
        return name

    def _answer(self, line: str) -> None:
        if self._score.is_over:
            self._say(f"{self._score.outcome()[0]}: {self._end_commands}", "33")
            return
        action = self._read_action(line)
        if action is None:
            return
        self._step(action)
        score, view = self._score, self._view()
        # Some environments show nothing at the end.
        if view.strip():
            self._say(f"\n{view}")
        reward = f"reward {score.reward:+g}"
        self._say(" · ".join([reward, *score.details()]), "2")
        if score.is_over:
            self._say(*score.outcome())
            self._say(self._end_commands, "2")
            return
        actions = self._available()
        if actions and not score.info.get("action_is_valid", True):
            self._say(f"Actions of this page: {_list_some(actions)}", "33")
        self._say(f"step {score.steps} · return {score.total:g}")

    def _read_action(self, line: str) -> Any:
        """Return the action of a line; None, after a remark, if it is no action."""
        env, word = self.env, line.strip()
        if self._names:
            names = {name.casefold(): action for name, action in self._names.items()}
            numbers = {str(action): action for action in self._names.values()}
            action = {**numbers, **names}.get(word.casefold())
            if action is not None:
                return action
            text = f"There is no action {word!r}; expected {self._describe_names()}"
            self._say(text, "33")
            return None
        if isinstance(env.action_space, Box):
            return self._read_numbers(env.action_space, word)
        completion = self._completion(word.casefold())
        if completion is not None:
            self._say(f"{word!r} is no action: it is written {completion}", "33")
            return None
        parser = self._attribute("action_parser")
        if parser is not None and parser.find(line) is None:
            example = parser.example(line)
            line = line if example is None else example
        if not env.action_space.contains(line):
            self._say(f"That is no action of {env.action_space}", "33")
            return None
        return line

    def _describe_names(self) -> str:
        """Return what can be typed where actions have names."""
        summary = self._attribute("action_summary")
        names = str(summary) if summary else f"one of {_list_some([*self._names])}"
        return f"{names}, or its number"

    def _read_numbers(self, space: Box[Any], line: str) -> Any:
        """Return the numbers of a line; None, after a remark, if it is no action."""
        words = line.replace(",", " ").split()
        with suppress(ValueError):
            action = np.array(words, space.dtype).reshape(space.shape)
            if space.contains(action):
                return action
        self._say(f"{line!r} is no action; expected {_describe_box(space)}", "33")
        return None

    def _attribute(self, name: str) -> Any:
        """Return an attribute of the environment or a wrapper; None: there is none."""
        has_one = self.env.has_wrapper_attr(name)
        return self.env.get_wrapper_attr(name) if has_one else None

    def _available(self) -> list[str]:
        """Return the available actions, if the environment lists them."""
        list_actions = self._attribute("get_available_actions")
        return [] if list_actions is None else [*map(str, list_actions())]

    def _completion(self, word: str) -> str | None:
        """Return the first action that contains a word, such as "buy", or None."""
        available = self._available()
        if not available:
            return None
        actions = [*available, *getattr(self.env.action_space, "examples", ())]
        if word in map(str.casefold, actions):
            return None
        # Whole words: a single letter occurs in the number of some product.
        part = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        return next((one for one in actions if part.search(one.casefold())), None)

    def _instruct(self) -> None:
        """Show the instructions of an agent, and what can be typed."""
        instructions = self._first_info.get("env_instruction")
        if instructions is None:
            get_instructions = self._attribute("get_instructions")
            instructions = get_instructions() if get_instructions else None
        for line in _join_lines(str(instructions or "")):
            self._say(textwrap.fill(line, text_width()))
        answers = self._describe_names() if self._names else "an answer"
        if isinstance(self.env.action_space, Box):
            answers = _describe_box(self.env.action_space)
        line = f"Type {answers}; :help shows the commands, :quit ends"
        self._say(textwrap.fill(line, text_width()), "2")

    def _say(self, text: str, colour: str = "") -> None:
        self._out.write(f"{self._paint(text, colour)}\n")
