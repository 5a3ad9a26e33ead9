"""The reference of commands, from the parsers of ``roll-vec``.

argparse's own help is not used: its form differs between versions of Python.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator

from docs.build.tables import bullets
from roll_vec.cli import make_parser


def reference(_: str) -> str:
    """Return links to commands, the arguments of several, and a section for each.

    The ends of the help texts, such as keys and examples, are left out.
    """
    commands = list(_commands(make_parser()))
    links = [f"[`{x.prog}`](#{x.prog.replace(' ', '-')})" for x in commands]
    rows = [row for command in commands for row in _rows(command)]
    shared = [row for row in dict.fromkeys(rows) if rows.count(row) > 1]
    parts = ["Commands: " + ", ".join(links) + "."]
    parts.append("## Arguments of several commands")
    parts.append(bullets(shared))
    for command in commands:
        parts.append(f"## {command.prog}")
        parts += _paragraphs(command.description)
        rows = _rows(command)
        names = [
            name.partition(" ")[0].strip("`")
            for name, text in rows
            if (name, text) in shared and name.startswith("`-")
        ]
        also = f"; also {', '.join(f'`{name}`' for name in names)}" if names else ""
        parts.append(f"Usage: `{_usage(command)}`{also}")
        if others := [row for row in rows if row not in shared]:
            parts.append(bullets(others))
    return "\n\n".join(parts)


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the commands below a parser that have no commands."""
    groups = [x for x in parser._actions if isinstance(x, argparse._SubParsersAction)]
    if not groups:
        yield parser
    for group in groups:
        for choice in group._choices_actions:
            yield from _commands(group.choices[choice.dest])


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if argparse.SUPPRESS not in (action.help, action.default):
            yield action


def _name(action: argparse.Action) -> str:
    return " ".join([*action.option_strings[-1:], _value(action)]).strip()


def _usage(parser: argparse.ArgumentParser) -> str:
    names = [
        _name(action)
        for action in _arguments(parser)
        if action.required or not action.option_strings
    ]
    return " ".join([parser.prog, *names])


def _rows(parser: argparse.ArgumentParser) -> list[tuple[str, str]]:
    """Return the names and meanings of a command's arguments."""
    rows = []
    for action in _arguments(parser):
        text = (action.help or "") % {**vars(action), "prog": parser.prog}
        short = [f"`{name}`, " for name in action.option_strings[:-1]]
        rows.append((f"{''.join(short)}`{_name(action)}`", _plain(text)))
    return rows


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
        if paragraph.startswith(" "):
            yield f"```text\n{textwrap.dedent(paragraph)}\n```"
        elif paragraph:
            yield paragraph[0].upper() + _plain(paragraph)[1:]
