"""``roll-vec completion``: the words that a shell completes after ``roll-vec``."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from roll_vec.cli._errors import require
from roll_vec.cli._options import add_command
from roll_vec.cli._policies import POLICIES
from roll_vec.registration import ENVIRONMENTS

SHELLS = ("bash", "zsh", "fish")

_SUMMARY = "write the program that completes words in bash, zsh or fish"

_DESCRIPTION = """\
Write a program for your shell: it completes commands, options, ids and files
after roll-vec when you press Tab.
"""

_EPILOG = """\
Start a new shell after one of these. Make the folder first if there is none:
  roll-vec completion bash > ~/.local/share/bash-completion/completions/roll-vec
  roll-vec completion zsh > FOLDER/_roll-vec            FOLDER is one of $fpath
  roll-vec completion fish > ~/.config/fish/completions/roll-vec.fish

For the present shell alone:
  eval "$(roll-vec completion bash)"
"""


def add_parser(commands: Any, program: argparse.ArgumentParser) -> None:
    """Add the command to the subparsers of the program."""
    run = partial(_run, program)
    parser = add_command(commands, "completion", run, _SUMMARY, _DESCRIPTION, _EPILOG)
    parser.option("SHELL", "bash, zsh, fish", choices=SHELLS)


def _run(program: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    require("shtab", "roll-vec completion")
    import shtab

    _add_completers(program)
    sys.stdout.write(f"{shtab.complete(program, arguments.shell)}\n")
    return 0


def _add_completers(parser: argparse.ArgumentParser) -> None:
    """Give each argument of a parser, and of its commands, its kind of words."""
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _add_completers(command)
            continue
        kinds = str(action.metavar).split("|")
        if action.dest == "policy":
            action.complete = _words(POLICIES)  # type: ignore[attr-defined]
        elif "ID" in kinds or "SOURCE" in kinds:
            action.complete = _words(ENVIRONMENTS)  # type: ignore[attr-defined]
        elif kinds == ["DIR"]:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
        elif action.type is Path or kinds[0].startswith("FILE"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]


def _words(words: Any) -> dict[str, Any]:
    """Return the completion of words without spaces, and of files."""
    text, name = " ".join(words), f"_roll_vec_{len(words)}_words"
    bash = f'{name}() {{\n  compgen -W "{text}" -- $1\n  compgen -f -- $1\n}}'
    return {
        "bash": name,
        "zsh": name,
        "fish": text,
        "preamble": {
            "bash": bash,
            "zsh": f"{name}() {{\n  compadd -- {text}\n  _files\n}}",
        },
    }
