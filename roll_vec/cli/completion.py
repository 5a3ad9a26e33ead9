"""``roll-vec completion``: the words that a shell completes after ``roll-vec``.

The library shtab, of the extra ``cli``, writes the program for the shell.  This module
says which words an argument accepts, by its name in the help: ``ID``, ``FILE``,
``FILE.npz``, ``DIR``, ``ID|FILE``.
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from roll_vec.cli._arguments import PathArgument
from roll_vec.cli._imports import require
from roll_vec.cli._level_games import LEVEL_SUFFIXES
from roll_vec.cli._policies import POLICIES
from roll_vec.export import FORMATS
from roll_vec.registration import ENVIRONMENTS

__all__ = ["SHELLS", "add_parser"]

SHELLS = ("bash", "zsh", "fish")

_EPILOG = """\
Start a new shell after one of these. Make the folder first if there is none:
  roll-vec completion bash > ~/.local/share/bash-completion/completions/roll-vec
  roll-vec completion zsh > FOLDER/_roll-vec            FOLDER is one of $fpath
  roll-vec completion fish > ~/.config/fish/completions/roll-vec.fish

For the present shell alone:
  eval "$(roll-vec completion bash)"
"""

# Suffixes of the files that may stand where an id may.
_SUFFIXES = {
    "SOURCE": LEVEL_SUFFIXES,
    "ID|FILE": (".npz", *(each.suffix for each in FORMATS.values() if each.suffix)),
}
_MODES = ("next_step", "same_step", "disabled")


def add_parser(commands: Any, program: argparse.ArgumentParser) -> None:
    """Add the command to the subparsers of the program."""
    parser = commands.add_parser(
        "completion",
        help="write the program that completes words in bash, zsh or fish",
        description="Write a program for your shell: it completes commands, options, "
        "ids and files\nafter roll-vec when you press Tab.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "shell", choices=SHELLS, metavar="SHELL", help="bash, zsh, fish"
    )
    parser.set_defaults(run=lambda arguments: _run(program, arguments.shell))


def _run(program: argparse.ArgumentParser, shell: str) -> int:
    require("shtab", "roll-vec completion")
    import shtab

    _add_completers(program)
    sys.stdout.write(f"{shtab.complete(program, shell)}\n")
    return 0


def _add_completers(parser: argparse.ArgumentParser) -> None:
    """Give each argument of a parser, and of its commands, its kind of words."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _add_completers(command)
            continue
        completer = _completer_of(action)
        if completer is not None:
            action.complete = completer  # type: ignore[attr-defined]


def _completer_of(action: argparse.Action) -> dict[str, Any] | None:
    """Return the words of an argument, as shtab takes them; None: anything."""
    import shtab

    name = str(action.metavar)
    kinds = name.split("|")
    words: Iterable[str] = ()
    if "ID" in kinds or name == "SOURCE":
        words = ENVIRONMENTS
    elif action.dest == "policy":
        words = POLICIES
    elif action.dest == "autoreset":
        words = _MODES
    suffixes: Sequence[str] = _SUFFIXES.get(name, ())
    if isinstance(action.type, PathArgument):
        suffixes = action.type.suffixes
    for kind in kinds:
        # FILE.npz, RUN.npz
        if re.fullmatch(r"[A-Z]+\.\w+", kind):
            suffixes = (kind[kind.index(".") :],)
    if words:
        return _complete_words(words, suffixes)
    if suffixes:
        return _complete_files(suffixes)
    if name == "DIR":
        return dict(shtab.DIRECTORY)
    is_file = action.type is Path or name in ("FILE", "FILES")
    return dict(shtab.FILE) if is_file else None


def _complete_files(suffixes: Sequence[str]) -> dict[str, Any]:
    """Return the completion of files with one of some suffixes."""
    import shtab

    patterns = [f"*{suffix}" for suffix in suffixes]
    # shtab puts the patterns into parentheses.  zsh takes those around a single pattern
    # for a glob qualifier, and completes nothing.
    zsh = patterns[0] if len(patterns) == 1 else f"({'|'.join(patterns)})"
    return {**shtab.glob(*patterns), "zsh": f"_files -g '{zsh}'"}


def _complete_words(words: Iterable[str], suffixes: Sequence[str]) -> dict[str, Any]:
    """Return the completion of words without spaces, and of files with suffixes."""
    text = " ".join(words)
    if not suffixes:
        name = _function_name(text)
        bash = f'{name}() {{\n  compgen -W "{text}" -- $1\n}}'
        return {
            "bash": name,
            "zsh": f"({text})",
            "fish": text,
            "preamble": {"bash": bash},
        }
    files = _complete_files(suffixes)
    preamble = files["preamble"]
    name = _function_name(f"{text} {suffixes}")
    bash = f'{name}() {{\n  compgen -W "{text}" -- $1\n  {files["bash"]} "$1"\n}}'
    zsh = f"{name}() {{\n  compadd -- {text}\n  {files['zsh']}\n}}"
    return {
        "bash": name,
        "zsh": name,
        "fish": f"{text} {files['fish']}",
        "preamble": {
            "bash": f"{preamble['bash']}\n{bash}",
            "zsh": zsh,
            "fish": preamble["fish"],
        },
    }


def _function_name(text: str) -> str:
    """Return a name for a function of the shell, another one for another text."""
    return f"_roll_vec_words_{zlib.crc32(text.encode()):08x}"
