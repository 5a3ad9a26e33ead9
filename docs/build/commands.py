"""The reference of commands, from the parsers of ``roll-vec``.

argparse's own help is not used: its form differs between versions of Python.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from docs.build.tables import bullets
from roll_vec.cli import make_parser


def reference(_: str) -> str:
    """Return links to commands, the arguments of several, and a section for each.

    Of the help texts only the first lines are there.
    """
    texts = dict(_commands(make_parser()))
    commands = list(texts)
    links = [f"[`{x.prog}`](#{x.prog.replace(' ', '-')})" for x in commands]
    rows = [row for command in commands for row in _rows(command)]
    shared = [row for row in dict.fromkeys(rows) if rows.count(row) > 1]
    parts = ["Commands: " + ", ".join(links) + "."]
    parts.append("## Arguments of several commands")
    parts.append(bullets(shared))
    for command in commands:
        parts.append(f"## {command.prog}")
        text = _plain(texts[command])
        parts.append(f"{text[0].upper()}{text[1:]}.")
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


def _commands(
    parser: argparse.ArgumentParser, text: str = ""
) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    """Yield the commands below a parser that have no commands, with what they do."""
    groups = [x for x in parser._actions if isinstance(x, argparse._SubParsersAction)]
    if not groups:
        yield parser, text
    for group in groups:
        for choice in group._choices_actions:
            yield from _commands(group.choices[choice.dest], choice.help or "")


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
