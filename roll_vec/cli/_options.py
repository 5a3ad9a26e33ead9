"""The parser of the commands, and the table of their options.

`OPTIONS` has the options of several commands.  `Parser.add_shared` adds them to a
command; `Parser.option` adds one, also with other words or another default.  An option
that a command would ignore is an error, see `refuse_arguments`.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from gymnasium.vector import AutoresetMode

from roll_vec.cli._errors import UsageError, argument_error
from roll_vec.options import close_match

_FIELDS = '{"top_p": 0.9}'
# Keywords that a command sets itself, and advice on how to set them.
SET_BY_COMMAND = {
    "disable_env_checker": "it has no effect",
    "num_envs": "use --num-envs",
    "autoreset_mode": "use --autoreset",
    "render_mode": "the command chooses it",
    "vectorization_mode": "the command chooses it",
    "vector_kwargs": "the command chooses it",
    "wrappers": "there is no way to name one here",
    "id": "it is the first argument",
}

_WORDS = {"true": True, "false": False, "none": None, "null": None}

# ------------------------------------------------------------------ types of arguments


def integer_from(low: int, high: int | None = None) -> Callable[[str], int]:
    """Return an argument type: an integer from `low` up, to `high` if there is one."""
    accepted = f"from {low} up" if high is None else f"from {low} to {high:,}"
    highest = sys.float_info.max if high is None else high
    return partial(_number, int, low, highest, f"an integer {accepted}")


def number_from(low: float) -> Callable[[str], float]:
    """Return an argument type: a finite number from `low` up."""
    accepted = f"a number from {low:g} up"
    return partial(_number, float, low, sys.float_info.max, accepted)


def _number(kind: Any, low: float, high: float, accepted: str, text: str) -> Any:
    """Return the number in a text, from `low` to `high`."""
    with suppress(ValueError):
        value = kind(text)
        if low <= value <= high:
            return value
    message = f"expected {accepted}, got {text!r}"
    raise argparse.ArgumentTypeError(message)


def or_none(type: Callable[[str], Any], word: str = "none") -> Callable[[str], Any]:
    """Return an argument type: that of `type`, or None for a word."""
    return lambda text: None if text == word else type(text)


def json_object(text: str) -> dict[str, Any]:
    """Return a JSON object."""
    with suppress(ValueError, RecursionError):
        value = json.loads(text)
        if isinstance(value, dict):
            return value
    message = f"expected a JSON object such as {_FIELDS}, got {text!r}"
    raise argparse.ArgumentTypeError(message)


def number_ranges(most: int) -> Callable[[str], list[range]]:
    """Return an argument type: ranges such as ``0-15,40``, of at most `most` numbers.

    Numbers have at most 18 digits.  Ranges may overlap.
    """

    def ranges(text: str) -> list[range]:
        result = []
        form = r"\d{1,18}(-\d{1,18})?"
        if re.fullmatch(f"{form}(,{form})*", text):
            for part in text.split(","):
                first, _, last = part.partition("-")
                result.append(range(int(first), int(last or first) + 1))
        count = sum(map(len, result))
        message = ""
        if not (result and all(result)):
            message = f"expected numbers and ranges such as 0-15,40, got {text!r}"
        elif count > most:
            message = f"expected at most {most:,} numbers, got {count:,}: {text!r}"
        if message:
            raise argparse.ArgumentTypeError(message)
        return result

    return ranges


def _autoreset_mode(text: str) -> AutoresetMode:
    """Return Gymnasium's mode of a value."""
    with suppress(ValueError):
        return AutoresetMode(text)
    message = f"expected NextStep, SameStep or Disabled, got {text!r}"
    raise argparse.ArgumentTypeError(message)


def _keyword(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key.isidentifier():
        message = f"expected key=value, for example num_boxes=4, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    if key in SET_BY_COMMAND:
        message = f"{key} cannot be an option: {SET_BY_COMMAND[key]}"
        raise argparse.ArgumentTypeError(message)
    return key, read_value(value)


def read_value(text: str) -> Any:
    """Return the value of Python or JSON in a text, which is never evaluated.

    A text that has none stays as it is.
    """
    word = text.strip()
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    readers = (ast.literal_eval, json.loads)[: 1 + word.startswith(("[", "{"))]
    for read in readers:
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return read(word)
    return text


# ------------------------------------------------------------------------- the table

POLICY_HELP = "random, oracle or module:attribute, see docs/commands.md"
_POSITIVE, _FROM_ZERO = integer_from(1), integer_from(0)


def _option(
    help: str, metavar: str | None = None, type: Any = None, **more: Any
) -> dict[str, Any]:
    return {"help": help, "metavar": metavar, "type": type, **more}


def _flag(help: str) -> dict[str, Any]:
    return {"help": help, "action": "store_true"}


OPTIONS: dict[str, dict[str, Any]] = {
    "ID": _option(
        "registered gymnasium id, such as roll_vec/Sokoban-v0 or roll_vec/Sokoban; "
        "module:ID imports the module that registers it first",
        dest="id",
    ),
    "-o": _option(
        "keyword of the environment, see docs/commands.md (roll-vec info ID lists "
        "them); may be repeated",
        "KEY=VALUE",
        _keyword,
        dest="options",
        action="append",
        default=[],
    ),
    "--seed": _option("seed of the first episode", "N", _FROM_ZERO, default=0),
    "--num-envs": _option("environments stepped at once", "N", _POSITIVE),
    "--steps": _option("steps of all of them", "N", _POSITIVE),
    "--num-episodes": _option("the first N of them (default: all)", "N", _POSITIVE),
    "--num-rows": _option("rows", "N", _POSITIVE),
    "--policy": _option(POLICY_HELP, "NAME", default="random"),
    "--autoreset": _option(
        "NextStep, SameStep, or Disabled with resets by mask (default: NextStep)",
        "MODE",
        _autoreset_mode,
        default=AutoresetMode.NEXT_STEP,
    ),
    "--out": _option("the file to write", "FILE", Path),
    "--json": _flag("write it as JSON, for programs"),
    "--quiet": _flag("no progress bar and no output; errors are shown"),
}
# Those of a policy that is a language model behind an HTTP endpoint.
CHAT_OPTIONS: dict[str, dict[str, Any]] = {
    "--model": _option("its name at the endpoint", "NAME"),
    "--temperature": _option(
        "of its answers; none: not sent", "T|none", or_none(number_from(0)), default=0.0
    ),
    "--max-tokens": _option(
        "the longest answer (default: the endpoint decides)", "N", _POSITIVE
    ),
    "--extra-body": _option(
        f"further fields of a request, such as '{_FIELDS}'", "JSON", json_object
    ),
    "--instruction-role": _option(
        "system; user for models without it",
        "ROLE",
        choices=("system", "user"),
        default="system",
    ),
    "--concurrency": _option("conversations at a time", "N", _POSITIVE, default=64),
    "--history": _option(
        "earlier turns in a request (default: all)", "N|all", or_none(_FROM_ZERO, "all")
    ),
    "--timeout": _option(
        "to wait for an answer", "SECONDS", number_from(0.001), default=120.0
    ),
    "--retries": _option(
        "how often a failed request is repeated", "N", _FROM_ZERO, default=5
    ),
}


class Parser(argparse.ArgumentParser):
    """A parser whose errors are exceptions, so that all errors look alike."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        # A script with the beginning of a name would break when an option is added.
        kwargs["allow_abbrev"] = False
        super().__init__(*args, **kwargs)

    def add_commands(self) -> Any:
        """Return the action to add commands to; without a command help is shown."""

        def show_help(arguments: argparse.Namespace) -> int:
            del arguments
            self.print_help()
            return 0

        self.set_defaults(run=show_help)
        return self.add_subparsers(title="commands", metavar="COMMAND")

    def add_shared(self, *names: str) -> None:
        """Add options of the table."""
        for name in names:
            self.option(name)

    def flag(self, name: str, help: str) -> None:
        """Add an option without a value."""
        self.option(name, help, action="store_true")

    def option(
        self,
        name: str,
        help: str | None = None,
        metavar: str | None = None,
        type: Any = None,
        *,
        to: Any = None,
        **more: Any,
    ) -> None:
        """Add an argument.

        Parameters
        ----------
        name : str
            Of `OPTIONS`, or new: of an option ``--name``, of others the metavar.
        help, metavar, type, **more
            Keywords of ``add_argument``, in place of those of the table.
        to : argument group, optional
            Where it is added.
        """
        changes = {"help": help, "metavar": metavar, "type": type}
        changes = {key: value for key, value in changes.items() if value is not None}
        table = CHAT_OPTIONS if name in CHAT_OPTIONS else OPTIONS
        keywords = {**table.get(name, {}), **changes, **more}
        flag = name
        if not name.startswith("-"):
            flag = keywords.pop("dest", name.lower())
            keywords["metavar"] = name
        is_silent = keywords.get("default") in (None, [])
        if not is_silent and "(default" not in keywords["help"]:
            keywords["help"] += " (default: %(default)s)"
        if keywords.get("action") == "store_true":
            keywords = {key: keywords[key] for key in ("action", "help")}
        (to or self).add_argument(flag, **keywords)

    def number(
        self, name: str, help: str, low: int, high: int | None = None, **more: Any
    ) -> None:
        """Add an option whose value is an integer; see `integer_from` and `option`."""
        self.option(
            name, help, **{"metavar": "N", **more}, type=integer_from(low, high)
        )

    def add_chat(self) -> None:
        """Add the options of a model behind an endpoint."""
        group = self.add_argument_group(
            "a model behind an endpoint (--policy http://...)"
        )
        for name in CHAT_OPTIONS:
            self.option(name, to=group)

    def parse_known_args(self, *args: Any, **kwargs: Any) -> Any:
        """Parse; refuse unknown arguments, with advice from this parser's options."""
        namespace, unknown = super().parse_known_args(*args, **kwargs)
        if unknown:
            words = " ".join(unknown)
            self.error(f"unrecognized arguments: {words}{self._advice(unknown)}")
        # The parser of a command has ended before that of the program.
        if not hasattr(namespace, "changes"):
            namespace.changes = self._changes(namespace)
            options = getattr(namespace, "options", ())
            namespace.options = dict(options)
            if len(namespace.options) < len(options):
                names = ", ".join(name for name, _ in options)
                self.error(f"argument -o: expected each keyword once, got {names}")
        return namespace, unknown

    def _changes(self, namespace: argparse.Namespace) -> dict[str, str]:
        """Return the arguments that have another value than their default.

        By their names in the namespace: those that the user writes.
        """
        return {
            action.dest: (action.option_strings or [str(action.metavar)])[-1]
            for action in self._actions
            if hasattr(namespace, action.dest)
            and getattr(namespace, action.dest) != self.get_default(action.dest)
        }

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a text; argparse would hide that it cannot be written."""
        (file or sys.stderr).write(message)

    def _advice(self, unknown: list[str]) -> str:
        """Return a suggestion for the first unknown option, or an empty text."""
        name, _, value = unknown[0].partition("=")
        if not name.startswith("--"):
            return ""
        options = [*self._option_string_actions]
        near = [option for option in options if option.startswith(name)]
        matches = near or [close_match(name, options) or ""]
        if "-o" in options:
            keyword = name[2:].replace("-", "_")
            value = value or (unknown[1] if len(unknown) > 1 else "VALUE")
            matches.append(f"the environment's keyword -o {keyword}={value}")
        advice = ", or ".join(filter(None, matches))
        return f"; did you mean {advice}?" if advice else ""

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with the message and a pointer to the help."""
        message = f"{message} (see {self.prog} --help)"
        raise UsageError(message)


def add_command(
    commands: Any,
    name: str,
    run: Any,
    summary: str,
    description: str,
    epilog: str = "",
) -> Parser:
    """Return the parser of a new command.

    Parameters
    ----------
    commands : argparse action
        Of `Parser.add_commands`.
    name : str
    run : callable
        Gets the arguments, and returns the exit code.
    summary : str
        One line for the list of commands.
    description, epilog : str
    """
    parser: Parser = commands.add_parser(
        name, help=summary, description=description, epilog=epilog
    )
    parser.set_defaults(run=run)
    return parser


def add_commands(commands: Any, name: str, summary: str, *texts: str) -> Any:
    """Return the action to add the commands of a command to, see `add_command`."""
    parser = add_command(commands, name, None, summary, *texts)
    return parser.add_commands()


def refuse_arguments(
    arguments: argparse.Namespace, names: Iterable[str], reason: str
) -> None:
    """Raise UsageError for an argument that a command would not read.

    Parameters
    ----------
    arguments : argparse.Namespace
        Of a `Parser`: its ``changes`` are the arguments that are not their defaults.
    names : iterable of str
        Those that the command does not read, as ``arguments`` has them.
    reason : str
        Such as ``with a saved run``.
    """
    unread = {*names}
    for name, flag in arguments.changes.items():
        if name in unread:
            raise argument_error(flag, f"not allowed {reason}")
