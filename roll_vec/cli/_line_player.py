"""Play by typing: a line is an answer, or with a colon before it a command."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from gymnasium.spaces import Text

from roll_vec.cli._game import Game, action_names
from roll_vec.cli._oracles import has_oracle, hint
from roll_vec.cli._screen import text_width, wants_colour
from roll_vec.cli._signals import ending_signals
from roll_vec.render.ansi import paint, strip_colours

__all__ = ["COMMANDS", "LinePlayer", "is_typed"]

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
