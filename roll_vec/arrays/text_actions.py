"""Text for stacked environments: their parser and instructions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roll_vec.text.action_parser import ActionParser


def make_action_parser(options: Any) -> ActionParser | None:
    """Return the parser for an environment's options; None with integer actions."""
    if options.action_mode != "text":
        return None
    return ActionParser(options, options.action_lookup, options.first_action - 1)


def describe_actions(
    lookup: Mapping[int, str], parser: ActionParser | None, summary: str = ""
) -> list[str]:
    """Return the lines of instructions about actions, and the form of an answer.

    A summary takes the place of the names.
    """
    if parser is None:
        codes = [f"{code} ({name})" for code, name in lookup.items()]
        if summary:
            return [f"Actions: {codes[0]} to {codes[-1]}, each {summary}."]
        return [f"Actions: {', '.join(codes)}."] if codes else []
    names = list(lookup.values())
    lines = [f"Actions: {summary or ', '.join(names)}."]
    return [*lines, _describe_answer(parser, names)]


def _describe_answer(parser: ActionParser, names: list[str]) -> str:
    options, separator = parser.options, parser.options.action_separator
    actions, content = "one action", names[0]
    if separator is not None:
        most = options.max_actions_per_turn
        actions = f"one to {most} actions, separated by {separator}"
        content = f" {separator} ".join((names * 2)[:2])
    example = parser.example(content)
    if options.action_pattern is None:
        return f"Answer with {actions} and nothing else, for example: {example}"
    if example is None:
        return f"Answer with {actions}, in a form that matches {options.action_pattern}"
    return f"Answer with {actions}, in this form: {example}"
