"""Playing by typing: a line is an answer, a line that begins with a colon a command."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from gymnasium.spaces import Text

from roll_vec.cli._game import Game, action_names
from roll_vec.cli._keys import ending_signals
from roll_vec.cli._oracles import has_oracle, hint
from roll_vec.cli._screen import text_width, wants_colour
from roll_vec.render.ansi import paint, strip_colours

__all__ = ["COMMANDS", "LinePlayer", "is_typed"]

COMMANDS = """\
lines:
  any text          your answer, in the form that the environment reads or without it
  Enter             after the end: new level
  :hint             show a right answer, where there is one to be had
  :new              new level: the next seed
  :restart          restart this level
  :help             show this help and the instructions
  :quit, Ctrl-D     quit
  ::text            an answer that begins with a colon
"""

_PROMPT = "> "
_SHOWN_ACTIONS = 12


def is_typed(env: Any) -> bool:
    """Tell whether actions are texts, or have names that can be typed."""
    return isinstance(env.action_space, Text) or bool(action_names(env))


class LinePlayer:
    """The person's side of a game by lines.

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
        self._after_the_end = "Enter: new level · :restart · :quit"
        if has_oracle(game.env):
            self._after_the_end += " · :hint"
        self._shown = ""
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
            for line in self._read(keyboard):
                if self._take(line) == "quit":
                    return

    def _read(self, keyboard: TextIO) -> Iterator[str]:
        """Give lines, edited where both ends are a terminal's."""
        typed = keyboard.isatty()
        edited = typed and self._out.isatty()
        if edited:
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401 - input() uses it once it is there
        while True:
            try:
                if edited:
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
            if not typed:
                # As a terminal would have shown it.
                self._out.write(f"{line}\n")
            yield line

    def _take(self, line: str) -> str:
        """Carry a line out; return the command that it was, if it was one."""
        if line.startswith(":") and not line.startswith("::"):
            return self._command(line[1:].strip().casefold())
        if line.strip():
            self._answer(line.removeprefix(":"))
        elif self.game.score.is_over:
            self._start(self.game.seed + 1)
        return ""

    def _command(self, word: str) -> str:
        known = [*self._commands, "quit"]
        # A beginning that fits one of them is enough.
        found = [name for name in known if name.startswith(word)] if word else []
        if len(found) == 1:
            self._commands.get(found[0], lambda: None)()
            return found[0]
        expected = ", ".join(f":{name}" for name in known)
        self._say(f"There is no command :{word}; expected one of {expected}", "33")
        return ""

    def _start(self, seed: int) -> None:
        self.game.start(seed)
        self._say(f"\n{self._title} · seed {seed}", "1")
        self._show()

    def _hint(self) -> None:
        answer = hint(self.game.env)
        self._say("There is no hint" if answer is None else answer, "33")

    def _help(self) -> None:
        self._say(COMMANDS.rstrip("\n"))
        self._instruct()

    def _answer(self, line: str) -> None:
        game = self.game
        if game.score.is_over:
            self._say(f"The episode is over: {self._after_the_end}", "33")
            return
        action = self._action(line)
        if action is None:
            return
        game.step(action)
        score = game.score
        view = self._view()
        # Some environments show what they showed before, or at the end nothing.
        if view.strip() and view != self._shown:
            self._show()
        reward = f"reward {score.reward:+g}"
        self._say(" · ".join([reward, *score.details()]), "2")
        if not score.info.get("action_is_valid", True) and not score.is_over:
            actions = self._available()
            more = ", ..." if len(actions) > _SHOWN_ACTIONS else ""
            if actions:
                shown = ", ".join(actions[:_SHOWN_ACTIONS])
                self._say(f"Actions of this page: {shown}{more}", "33")
        if score.is_over:
            self._say(*score.outcome())
            self._say(self._after_the_end, "2")
        else:
            self._say(f"step {score.steps} · return {score.total:g}")

    def _action(self, line: str) -> Any:
        """Return the action that a line says; None, with a remark, if it says none."""
        env = self.game.env
        if self._by_name:
            said = line.strip()
            for name, action in self._names.items():
                if name.casefold() == said.casefold():
                    return action
            expected = ", ".join(self._names)
            self._say(f"There is no action {said!r}; expected one of {expected}", "33")
            return None
        meant = self._meant(line)
        if meant is not None:
            self._say(f"{line.strip()!r} is no action: it is written {meant}", "33")
            return None
        if env.has_wrapper_attr("action_parser"):
            parser = env.get_wrapper_attr("action_parser")
            if parser is not None and parser.find(line) is None:
                wrapped = parser.example(line)
                line = line if wrapped is None else wrapped
        if not env.action_space.contains(line):
            self._say(f"That is no action of {env.action_space}", "33")
            return None
        return line

    def _available(self) -> list[str]:
        """Return the actions that there are now, where the environment lists them."""
        env = self.game.env
        if not env.has_wrapper_attr("get_available_actions"):
            return []
        return [
            str(action) for action in env.get_wrapper_attr("get_available_actions")()
        ]

    def _meant(self, line: str) -> str | None:
        """Return the first action that contains a line, such as "buy", or None."""
        available = self._available()
        if not available:
            return None
        word = line.strip().casefold()
        actions = [*available, *getattr(self.game.env.action_space, "examples", ())]
        if any(word == action.casefold() for action in actions):
            return None
        # Whole words: a letter alone is in the number of some product.
        part = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        return next((one for one in actions if part.search(one.casefold())), None)

    # ------------------------------------------------------------- on the screen

    def _instruct(self) -> None:
        """Show what an agent is told, and what can be typed."""
        env = self.game.env
        told = self.game.first_info.get("env_instruction")
        if told is None and env.has_wrapper_attr("get_instructions"):
            told = env.get_wrapper_attr("get_instructions")()
        width = text_width()
        for line in str(told or "").splitlines():
            self._say(textwrap.fill(line, width))
        expected = f"one of {', '.join(self._names)}" if self._by_name else "an answer"
        self._say(f"Type {expected}; :help shows the commands, :quit ends", "2")

    def _show(self) -> None:
        self._shown = self._view()
        self._say(f"\n{self._shown}")

    def _view(self) -> str:
        view = self.game.view().rstrip("\n")
        return view if self._colour else strip_colours(view)

    def _say(self, text: str, colour: str = "") -> None:
        self._out.write(f"{paint(text, colour) if self._colour else text}\n")
