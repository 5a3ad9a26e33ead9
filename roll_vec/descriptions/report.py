"""The description of an environment in sections, and as text for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from roll_vec.descriptions.environments import EnvDescription
from roll_vec.descriptions.keywords import Keyword

WIDTH = 80
# A row's first columns have at most this width; longer ones get a line of their own.
_MAX_COLUMN = 31
# Texts that would begin further to the right have lines of their own.
_MAX_INDENT = 60


@dataclass(frozen=True)
class Section:
    """Rows of texts under a heading; the texts have the mark-up of docstrings.

    Parameters
    ----------
    name : str
        By which a page asks for it, such as ``rewards``.
    heading : str
    columns : tuple of str
        Titles of the columns, for a page; empty: the rows are lines.
    rows : list of tuples of str
    in_one_line : bool
        True: a terminal shows all rows in one line.
    """

    name: str
    heading: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    in_one_line: bool = False

    def to_text(self) -> list[str]:
        """Return lines with aligned columns; the last column is wrapped."""
        rows = [row for row in self.rows if any(row)]
        if self.in_one_line:
            rows = [(", ".join(" ".join(row) for row in rows),)] if rows else []
        if not rows:
            return []
        rows = [[_plain(text) for text in row] for row in rows]
        num_columns = max(map(len, rows)) - 1
        widths = [
            min(max(len(row[k]) for row in rows if len(row) > k + 1), _MAX_COLUMN)
            for k in range(num_columns)
        ]
        lines = ["", self.heading]
        for *heads, last in rows:
            columns = zip(heads, widths, strict=False)
            head = "".join(f"{text:<{width}}  " for text, width in columns)
            indent = 2 + len(head)
            if indent > _MAX_INDENT:
                lines += _wrap(head, 2)
                head, indent = "", 6
            lines += _wrap(last, indent, head) or [f"  {head}".rstrip()]
        return lines


def format_description(description: EnvDescription) -> str:
    """Return a description as text; its lines have at most 80 characters, mostly."""
    lines = [description.id]
    if description.summary:
        summary = f"{description.summary[0].upper()}{description.summary[1:]}."
        lines += _wrap(summary, 2)
    if description.docstring:
        docstring = textwrap.indent(_plain(description.docstring), "  ")
        lines += ["", *docstring.splitlines()]
    for section in describe_sections(description):
        is_keywords = section.name.endswith("keywords")
        lines += _keywords(section) if is_keywords else section.to_text()
    return "\n".join(lines)


def describe_sections(description: EnvDescription) -> Iterator[Section]:
    """Yield all that is known about an id; a section may be empty.

    The names are ``observations``, ``actions``, ``cells``, ``rewards``, ``ends``,
    ``infos``, ``sources``, ``differences``, ``render-modes``, ``keywords``,
    ``batch-keywords``, ``splits`` and ``documentation``.
    """
    one = description
    if one.obstacle:
        text = f"unknown, as it cannot be made here: {one.obstacle}"
        yield Section("spaces", "spaces", (), [(text,)])
    else:
        modes = [
            (f"``{mode}``", f"``{space}``", meaning)
            for mode, space, meaning in one.observations
            if mode
        ]
        if modes:
            heading = "observations, by obs_mode; the first is the default"
            titles = ("`obs_mode`", "space", "observation")
            yield Section("observations", heading, titles, modes)
        else:
            spaces = [(f"``{each.space}``",) for each in one.observations]
            yield Section("observations", "observations", ("space",), spaces)
        # Actions that have only numbers are in the space.
        texts = one.action_space, one.list_actions(), one.action_note
        yield Section("actions", "actions", (), [(text,) for text in texts])
    cells = [(f"{code}", f"``{glyph}``", meaning) for code, glyph, meaning in one.cells]
    titles = ("code", "glyph", "meaning")
    yield Section("cells", "cell codes", titles, cells, in_one_line=True)
    yield Section("rewards", "rewards", ("reward", "for"), one.rewards)
    ends = [("terminated", text) for text in one.terminated]
    ends += [("truncated", text) for text in one.truncated]
    yield Section("ends", "ends", ("end", "event"), ends)
    infos = []
    for each in one.infos:
        condition = f" With ``{each.keyword}``." if each.keyword else ""
        meaning = f"{each.meaning}{condition}"
        infos.append((f"``{each.key}``", each.dtype, each.calls, meaning))
    yield Section("infos", "infos", ("key", "type", "call", "meaning"), infos)
    sources = [
        (f"[{x.name}]({x.url})" if x.url else x.name, x.version, x.parts)
        for x in one.sources
    ]
    titles = ("source", "version", "equal to the bit")
    yield Section("sources", "equal to", titles, sources)
    differences = [(text,) for text in one.differences]
    yield Section("differences", "differs", ("difference",), differences)
    modes_of_rendering = [(", ".join(one.render_modes),)]
    yield Section("render-modes", "render modes", (), modes_of_rendering)
    titles = ("keyword", "type", "meaning")
    rows = [*map(_keyword_row, one.keywords)]
    yield Section("keywords", "keywords (-o KEY=VALUE)", titles, rows)
    made = "made of " if one.batch == "stacked arrays" else "a "
    heading = f"keywords of a batch, which is {made}{one.batch}"
    rows = [*map(_keyword_row, one.batch_keywords)]
    yield Section("batch-keywords", heading, titles, rows)
    splits = [
        (f"``{split.name}``", f"{len(split):,} episodes", split.title)
        for split in one.splits
    ]
    titles = ("split", "episodes", "task")
    yield Section("splits", "evaluation splits", titles, splits)
    yield Section("documentation", "documentation", (), [(one.page,)])


def _keyword_row(keyword: Keyword) -> tuple[str, str, str]:
    name = f"{keyword.name}={keyword.default}" if keyword.default else keyword.name
    return f"``{name}``", keyword.type, keyword.summary


def _keywords(section: Section) -> list[str]:
    lines = ["", section.heading] if section.rows else []
    for name, kind, summary in section.rows:
        head = name.removeprefix("``").removesuffix("``")
        lines += [*_wrap(f"{head}  ({kind})" if kind else head, 2)]
        lines += _wrap(_plain(summary), 6)
    return lines


def _wrap(text: str, indent: int, head: str = "") -> list[str]:
    """Return lines of a text; the first begins with two spaces and the head."""
    first = " " * (indent - len(head)) + head
    return textwrap.wrap(
        " ".join(text.split()),
        width=WIDTH,
        initial_indent=first,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _plain(text: str) -> str:
    """Return a text without the docstrings' mark-up of code, and without links."""
    text = re.sub(r"\[(.+?)\]\(http.+?\)", r"\1", text)
    return re.sub(r"``(.+?)``|`(.+?)`", lambda match: match[1] or match[2], text)
