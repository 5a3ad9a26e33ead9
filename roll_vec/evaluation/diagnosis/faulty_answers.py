"""The place in a text of a model where it stops being an action."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# What models write in the place of a tag.
_TAGS = re.compile(r"</?[A-Za-z_]\w*>|\\boxed\{|```")
_MARKS = " \t\r\n.,;:!?'\"`*()[]"


class Fault(NamedTuple):
    """Why a text is no action: a reason, and the characters from start to stop."""

    reason: str
    start: int
    stop: int


def find_fault(parser: Any, text: str, reason: str = "") -> Fault:
    """Return the fault of a text that is no valid action.

    Parameters
    ----------
    parser : ActionParser
    text : str
    reason : str
        Of the environment, if it has read the action and rejects it.
    """
    if not text.strip():
        return Fault("an empty answer", 0, len(text))
    tags = parser.tags
    match = parser.find(text)
    if match is None:
        return _missing_tag(tags, text)
    content = match[0]
    start = (
        text.rfind(content) if parser.options.match == "last" else _after(tags, text)
    )
    start = max(text.find(content, start), 0)
    stop = start + len(content)
    if not content:
        return Fault("nothing between the tags", start, stop)
    several = ""
    if tags and text.count(tags[-2]) > 1:
        several = f", in the {parser.options.match} of several {tags[-2]}"
    if parser.codes is None:
        return Fault(
            reason or f"an action that is not possible here{several}", start, stop
        )
    separator = parser.options.action_separator
    parts = [content] if separator is None else content.split(separator)
    wrong = [part for part in parts if part.strip().lower() not in parser.codes]
    part = next(filter(str.strip, wrong), content)
    start = start + max(content.find(part), 0)
    return Fault(_wrong_word(parser.codes, part) + several, start, start + len(part))


def _after(tags: tuple[str, ...], text: str) -> int:
    """Return the place behind the opening tag of the action."""
    if not tags:
        return 0
    start = text.find(tags[0]) + len(tags[0])
    if len(tags) > 2:
        start = text.find(tags[-2], start) + len(tags[-2])
    return start


def _missing_tag(tags: tuple[str, ...], text: str) -> Fault:
    """Return the fault of a text in which the pattern does not match."""
    if not tags:
        return Fault("no match of action_pattern", 0, len(text))
    start, known = 0, {*tags, "<think>", "</think>"}
    for number, tag in enumerate(tags):
        place = text.find(tag, start)
        if place >= 0:
            start = place + len(tag)
            continue
        if number == len(tags) - 1 or (number, len(tags)) == (1, 4):
            opening = tags[number - 1]
            reason = f"{opening} is not closed: the text ends before {tag}"
            return Fault(reason, start - len(opening), len(text))
        others = [each for each in _TAGS.finditer(text) if each[0] not in known]
        if others:
            other = others[0]
            return Fault(
                f"{other[0]} in the place of {tag}", other.start(), other.end()
            )
        return Fault(f"no {tag}", start, len(text))
    return Fault(f"more than white space before {tags[-2]}", 0, len(text))


def _wrong_word(codes: dict[str, int], part: str) -> str:
    """Return why a part of an answer is no name of an action."""
    bare = part.strip(_MARKS).lower()
    if bare in codes:
        return "the name of an action with other characters around it"
    if bare.lstrip("-").isdigit():
        return "a number in the place of a name"
    words = re.findall(r"\w+", bare)
    names = [word for word in words if word in codes]
    if len(names) > 1:
        return "several actions where one is read"
    if names and _TAGS.search(part):
        return "tags within the action, which action_pattern does not name"
    if names:
        return "more words than the name of an action"
    word = " ".join(part.split())
    return f"an unknown word, such as {word[:20] + '...' * (len(word) > 20)!r}"
