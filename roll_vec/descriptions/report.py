"""The description of an environment in sections, and as text for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from roll_vec.descriptions.environments import EnvDescription
from roll_vec.descriptions.keywords import Keyword

WIDTH = 80
# A row's first columns have at most this width; longer ones get a line of their own.
_MAX_COLUMN = 31
# Texts that would begin further to the right have lines of their own.
_MAX_INDENT = 60


class Section(NamedTuple):
    """Rows of texts under a heading; the texts have the mark-up of docstrings.

    Attributes
    ----------
    name : str
        By which a page asks for it, such as ``rewards``.
    heading : str
    rows : sequence of sequences of str
    """

    name: str
    heading: str
    rows: Sequence[Sequence[str]]


def describe_sections(description: EnvDescription) -> Iterator[Section]:
    """Yield all that is known about an id; a section may be empty.

    The names are ``observations``, ``actions``, ``cells``, ``rewards``, ``ends``,
    ``infos``, ``sources``, ``differences``, ``render-modes``, ``keywords``,
    ``batch-keywords`` and ``documentation``.
    """
    one = description
    by_mode = ", by obs_mode; the first is the default"
    heading = f"observations{by_mode * bool(one.observations[0].mode)}"
    views = [
        (_code(mode), _code(space), text) if mode else (_code(space),)
        for mode, space, text in one.observations
    ]
    yield Section("observations", heading, views)
    # Actions that have only numbers are in the space.
    actions = one.action_space, one.list_actions(), one.action_note
    yield Section("actions", "actions", [(text,) for text in actions])
    cells = [(str(code), _code(glyph), meaning) for code, glyph, meaning in one.cells]
    yield Section("cells", "cell codes", cells)
    yield Section("rewards", "rewards", one.rewards)
    ends = [("terminated", text) for text in one.terminated]
    ends += [("truncated", text) for text in one.truncated]
    yield Section("ends", "ends", ends)
    infos = []
    for each in one.infos:
        condition = f" With {_code(each.keyword)}." if each.keyword else ""
        meaning = f"{each.meaning}{condition}"
        infos.append((_code(each.key), each.dtype, each.calls, meaning))
    yield Section("infos", "infos", infos)
    sources = [(f"[{x.name}]({x.url})", x.version, x.parts) for x in one.sources]
    yield Section("sources", "equal to", sources)
    yield Section("differences", "differs", [(text,) for text in one.differences])
    yield Section("render-modes", "render modes", [(", ".join(one.render_modes),)])
    keywords = _keyword_rows(one.keywords)
    yield Section("keywords", "keywords (-o KEY=VALUE)", keywords)
    heading = f"keywords of a batch ({one.batch})"
    yield Section("batch-keywords", heading, _keyword_rows(one.batch_keywords))
    yield Section("documentation", "documentation", [(one.page,)])


def format_description(description: EnvDescription) -> str:
    """Return a description as text; its lines have at most 80 characters, mostly."""
    lines = [description.id]
    if summary := description.summary:
        lines += _wrap(f"{summary[0].upper()}{summary[1:]}.", 2)
    if description.docstring:
        docstring = textwrap.indent(_plain(description.docstring), "  ")
        lines += ["", *docstring.splitlines()]
    for section in describe_sections(description):
        rows = [[*map(_plain, row)] for row in section.rows if any(row)]
        if rows:
            lines += ["", section.heading, *_align(rows)]
    return "\n".join(lines)


def _align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of rows with aligned columns; the last column is wrapped."""
    widths = [
        min(max(map(len, column)), _MAX_COLUMN) for column in zip(*rows, strict=True)
    ]
    for *heads, last in rows:
        columns = zip(heads, widths, strict=False)
        head = "".join(f"{text:<{width}}  " for text, width in columns)
        indent = 2 + len(head)
        if indent > _MAX_INDENT:
            yield f"  {head}".rstrip()
            head, indent = "", 6
        yield from _wrap(last, indent, head) or [f"  {head}".rstrip()]


def _keyword_rows(keywords: Iterable[Keyword]) -> list[tuple[str, str, str]]:
    rows = []
    for one in keywords:
        name = f"{one.name}={one.default}" if one.default else one.name
        rows.append((_code(name), one.type, one.summary))
    return rows


def _code(text: str) -> str:
    return f"``{text}``"


def _wrap(text: str, indent: int, head: str = "") -> list[str]:
    """Return lines of a text; the first begins with two spaces and the head."""
    return textwrap.wrap(
        " ".join(text.split()),
        width=WIDTH,
        initial_indent=" " * (indent - len(head)) + head,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain(text: str) -> str:
    """Return a text without the docstrings' mark-up of code, and without links."""
    text = re.sub(r"\[(.+?)\]\(http.+?\)", r"\1", text)
    return re.sub(r"``(.+?)``|`(.+?)`", lambda match: match[1] or match[2], text)
