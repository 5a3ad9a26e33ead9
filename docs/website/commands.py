"""The help of every command, from the parsers of ``roll-vec``, for docs/commands.md.

It does not use argparse's own help, whose form differs between versions of Python.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator

from roll_vec.cli import make_parser


def command_sections() -> Iterator[str]:
    """Yield the lines of the reference, from the parsers."""
    yield from _sections(make_parser(), 2)


def _sections(parser: argparse.ArgumentParser, level: int) -> Iterator[str]:
    """Yield the lines of a parser and, below them, those of its commands."""
    yield from _blocks(parser.description)
    commands = _commands_of(parser)
    yield from [f"Usage: `{_usage(parser)}`", ""]
    yield from _arguments(parser)
    yield from _blocks(parser.epilog)
    if commands is None:
        return
    # A name that is an abbreviation or an alias has the parser of another.
    described: list[argparse.ArgumentParser] = []
    for command in commands.choices.values():
        if command not in described:
            described.append(command)
            yield from [f"{'#' * level} {command.prog}", ""]
            yield from _sections(command, level + 1)


def _commands_of(
    parser: argparse.ArgumentParser,
) -> argparse._SubParsersAction[argparse.ArgumentParser] | None:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action
    return None


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return a line with the arguments that a command needs."""
    words = [parser.prog]
    options = [action for action in parser._actions if action.option_strings]
    if any(not isinstance(action, argparse._HelpAction) for action in options):
        words.append("[OPTIONS]")
    words += [
        f"{action.option_strings[-1]} {_value(action)}".strip()
        for action in options
        if action.required
    ]
    for action in parser._get_positional_actions():
        is_command = isinstance(action, argparse._SubParsersAction)
        words.append("COMMAND ..." if is_command else _value(action))
    return " ".join(words)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a table of the arguments and options of a parser."""
    rows = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for choice in action._choices_actions:
                name = f"{parser.prog} {choice.dest}"
                anchor = name.replace(" ", "-")
                rows.append(f"| [`{choice.dest}`](#{anchor}) | {_cell(choice.help)} |")
        elif action.help != argparse.SUPPRESS and not isinstance(
            action, argparse._HelpAction
        ):
            value = _value(action)
            names = ", ".join(
                f"`{name} {value}`" if value else f"`{name}`"
                for name in action.option_strings
            )
            fields = {**vars(action), "prog": parser.prog}
            text = (action.help or "") % fields
            rows.append(f"| {names or f'`{value}`'} | {_cell(text)} |")
    if rows:
        yield from ["| argument | meaning |", "|---|---|", *rows, ""]


def _value(action: argparse.Action) -> str:
    """Return the name of an argument's value; empty for an option without one."""
    if action.nargs == 0:
        return ""
    name = action.metavar or action.dest
    if action.metavar is None and action.choices is not None:
        name = "{" + ",".join(map(str, action.choices)) + "}"
    elif action.metavar is None and action.option_strings:
        name = action.dest.upper()
    if isinstance(name, tuple):
        return " ".join(name)
    if isinstance(action.nargs, int):
        return " ".join([name] * action.nargs)
    forms = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
    return forms.get(str(action.nargs), name)


def _cell(text: str | None) -> str:
    """Return a text as a cell of a table."""
    return _escape(" ".join((text or "").split())).replace("|", r"\|")


def _escape(text: str) -> str:
    """Return a text without signs that Markdown or HTML would read."""
    text = re.sub(r"([*<\[\]])", r"\\\1", text)
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\_", text)


def _blocks(text: str | None) -> Iterator[str]:
    """Yield a description or epilog: paragraphs, and blocks of what is in columns."""
    for paragraph in re.split(r"\n\s*\n", textwrap.dedent(text or "").strip("\n")):
        title, _, tail = paragraph.partition("\n")
        lines = tail.split("\n")
        if not paragraph:
            continue
        if title.endswith(":") and lines[0].startswith("  roll-vec "):
            yield f"{title[0].upper()}{title[1:]}"
            yield from ["", "```console", *_console(lines), "```", ""]
        elif title.endswith(":") and all(line[:2] == "  " for line in lines):
            yield f"{title[0].upper()}{title[1:]}"
            yield from ["", "```text", textwrap.dedent(tail), "```", ""]
        elif re.search(r"^ ", paragraph, re.MULTILINE):
            yield from ["```text", paragraph, "```", ""]
        else:
            words = _escape(paragraph)
            yield from [f"{words[0].upper()}{words[1:]}", ""]


def _console(lines: list[str]) -> Iterator[str]:
    """Yield the examples of a command, as they are typed."""
    is_continued = False
    for line in lines:
        # A remark stands behind some spaces.
        words = re.sub(r" {2,}(?=\w)", "  # ", line.removeprefix("  "))
        yield words if is_continued else f"$ {words}"
        is_continued = words.endswith("\\")
