"""The reference of commands, from the parsers of ``roll-vec``.

argparse's own help is not used: its form differs between versions of Python.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator

from docs.build.tables import table
from roll_vec.cli import make_parser


def reference(_: str) -> str:
    """Return a section for each command, with all its options."""
    return "\n\n".join(_parts(make_parser(), 2))


def _parts(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    """Yield the parts of a parser and, below them, those of its commands."""
    yield from _paragraphs(parser.description)
    rows, words = [], [parser.prog, "[OPTIONS]"]
    # An alias has the parser of another name.
    commands: dict[argparse.ArgumentParser, None] = {}
    for action in parser._actions:
        names = " ".join([*action.option_strings[-1:], _value(action)]).strip()
        if action.required or not action.option_strings:
            words.append(names)
        if isinstance(action, argparse._SubParsersAction):
            commands = dict.fromkeys(action.choices.values())
            for choice in action._choices_actions:
                anchor = f"{parser.prog} {choice.dest}".replace(" ", "-")
                rows.append((f"[`{choice.dest}`](#{anchor})", _plain(choice.help)))
        elif argparse.SUPPRESS not in (action.help, action.default):
            text = (action.help or "") % {**vars(action), "prog": parser.prog}
            short = [f"`{name}`, " for name in action.option_strings[:-1]]
            rows.append((f"{''.join(short)}`{names}`", _plain(text)))
    yield f"Usage: `{' '.join(words)}`"
    if rows:
        yield table(("argument", "meaning"), rows)
    yield from _paragraphs(parser.epilog)
    for command in commands:
        yield f"{'#' * level} {command.prog}"
        yield from _parts(command, level + 1)


def _value(action: argparse.Action) -> str:
    """Return the name of an argument's value; empty for an option without one."""
    name = action.dest.upper() if action.option_strings else action.dest
    return argparse.HelpFormatter("")._format_args(action, name)


def _plain(text: str | None) -> str:
    """Return a text without signs that Markdown or HTML would read."""
    text = re.sub(r"([*<\[\]])", r"\\\1", " ".join((text or "").split()))
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\_", text)


def _paragraphs(text: str | None) -> Iterator[str]:
    """Yield the paragraphs of a description; lines that are indented are a block."""
    for paragraph in re.split(r"\n\s*\n", textwrap.dedent(text or "").strip("\n")):
        title, _, block = paragraph.partition("\n")
        if re.search(r"^ ", paragraph, re.MULTILINE):
            # Examples, as they are typed; a remark stands behind some spaces.
            lines = re.sub(r"^(?=roll-vec )", "$ ", textwrap.dedent(block), flags=re.M)
            is_console = lines.startswith("$")
            lines = (
                re.sub(r"(?<=\S) {2,}(?=\w)", "  # ", lines) if is_console else lines
            )
            language = "console" if is_console else "text"
            yield f"{title.capitalize()}\n\n```{language}\n{lines}\n```"
        elif paragraph:
            yield paragraph[0].upper() + _plain(paragraph[1:])
