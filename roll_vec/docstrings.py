"""Sections and entries of docstrings, in the layout of numpydoc."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_CONDITION = re.compile(r"If ``(\w+)``(?: is ``(\w+)``)?: ")


class Entry(NamedTuple):
    """An entry of a section: a line ``name : kind``, and indented lines below it."""

    name: str
    kind: str
    """Empty without a colon."""
    text: str
    """In one line."""


def read_sections(docstring: str | None) -> dict[str, str]:
    """Return the text of each section by its title; the title of the first is empty.

    Parameters
    ----------
    docstring : str or None
        None has one empty section, as under ``python -OO``.
    """
    text = inspect.cleandoc(docstring or "")
    first, *others = re.split(r"^([^\n]+)\n-{3,}$", text, flags=re.MULTILINE)
    titles, texts = ["", *others[::2]], [first, *others[1::2]]
    return {title: text.strip() for title, text in zip(titles, texts, strict=True)}


def read_entries(section: str) -> list[Entry]:
    """Return the entries of a section."""
    entries: list[Entry] = []
    for line in section.splitlines():
        if line[:1].strip():
            name, _, kind = line.partition(" : ")
            entries.append(Entry(name.strip(), kind.strip(), ""))
        elif entries:
            text = f"{entries[-1].text} {' '.join(line.split())}".strip()
            entries[-1] = entries[-1]._replace(text=text)
    return entries


def read_items(section: str) -> list[str]:
    """Return the items of a list that are marked by hyphens, each in one line."""
    items = re.split(r"^- ", section, flags=re.MULTILINE)
    return [" ".join(item.split()) for item in items if item.strip()]


def select_paragraphs(section: str, owner: object) -> str:
    """Return the paragraphs of a section whose conditions are true, as one line.

    Parameters
    ----------
    section : str
        A paragraph may begin with a condition, which is removed: "If ``name``: ", or
        "If ``name`` is ``value``: ", which compares the texts of values.
    owner : object
        The names are its attributes.
    """
    texts = []
    for paragraph in re.split(r"\n\s*\n", section):
        text = " ".join(paragraph.split())
        condition = _CONDITION.match(text)
        if condition is not None:
            name, expected = condition.groups()
            value, text = getattr(owner, name), text[condition.end() :]
            if str(value) != expected if expected else not value:
                continue
        texts.append(text)
    return " ".join(texts)
