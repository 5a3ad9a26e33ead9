"""The description of an environment as text, for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from roll_vec.descriptions.environments import EnvDescription
from roll_vec.descriptions.keywords import Keyword
from roll_vec.game_descriptions import GameDescription

WIDTH = 80
# A row's first columns have at most this width; longer ones get a line of their own.
_MAX_COLUMN = 31


def format_description(description: EnvDescription) -> str:
    """Return a description as lines of at most 80 characters, mostly."""
    game = description.game
    parts = [description.id]
    if description.summary:
        summary = description.summary
        parts += _wrap(f"{summary[0].upper()}{summary[1:]}.", 2)
    if description.docstring:
        parts += ["", *textwrap.indent(description.docstring, "  ").splitlines()]
    parts += _spaces(description)
    if game is not None:
        parts += _game(description, game)
    elif description.truncated:
        parts += _section("truncated", [(text,) for text in description.truncated])
    parts += _section("render modes", [(", ".join(description.render_modes),)])
    parts += _keywords("keywords (-o KEY=VALUE)", description.keywords)
    heading = f"keywords of a batch, which is a {description.batch}"
    if description.batch == "stacked arrays":
        heading = f"keywords of a batch, which is made of {description.batch}"
    parts += _keywords(heading, description.batch_keywords)
    if description.splits:
        rows = [
            (split.name, f"{len(split):,} episodes", split.title)
            for split in description.splits
        ]
        parts += _section("evaluation splits", rows)
    if game is not None:
        parts += _section("documentation", [(game.page,)])
    return "\n".join(parts)


def _spaces(description: EnvDescription) -> list[str]:
    if description.obstacle:
        rows = [(f"unknown, as it cannot be made here: {description.obstacle}",)]
        return _section("spaces", rows)
    modes = [one for one in description.observations if one.mode]
    if modes:
        head = "observations, by obs_mode; the first is the default"
        lines = _section(head, modes)
    else:
        rows = [(one.space,) for one in description.observations]
        lines = _section("observations", rows)
    action_rows: list[Sequence[str]] = [(description.action_space,)]
    names = [f"{code} {name}" for code, name in description.actions.items()]
    if names:
        action_rows.append((", ".join(names),))
    if description.game is not None and description.game.actions:
        action_rows.append((description.game.actions,))
    return lines + _section("actions", action_rows)


def _game(description: EnvDescription, game: GameDescription) -> list[str]:
    cells = [
        (f"{k} {glyph} {meaning}",) for k, (glyph, meaning) in enumerate(game.cells)
    ]
    lines = []
    if cells:
        lines = _section("cell codes", [(", ".join(cell for (cell,) in cells),)])
    lines += _section(
        "rewards",
        [
            (one.value if isinstance(one.value, str) else f"{one.value:g}", one.rule)
            for one in game.rewards
        ],
    )
    ends = [("terminated", text) for text in game.terminated]
    ends += [("truncated", text) for text in description.truncated]
    lines += _section("ends", ends)
    infos = []
    for one in game.infos:
        condition = f" With {one.keyword}." if one.keyword else ""
        infos.append((one.key, one.dtype, one.calls, f"{one.meaning}{condition}"))
    lines += _section("infos", infos)
    sources = [
        (f"{' '.join(filter(None, (one.name, one.version)))}: {one.parts}",)
        for one in game.sources
    ]
    sources += [(f"Differs: {text}",) for text in game.differences]
    return lines + _section("equal to", sources)


def _keywords(heading: str, keywords: Sequence[Keyword]) -> list[str]:
    lines = ["", heading] if keywords else []
    for one in keywords:
        head = f"{one.name}={one.default}" if one.default else one.name
        lines += [*_wrap(f"{head}  ({one.type})" if one.type else head, 2)]
        lines += _wrap(_plain(one.summary), 6)
    return lines


def _section(heading: str, rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a heading and rows in aligned columns; the last column is wrapped."""
    rows = [row for row in rows if any(row)]
    if not rows:
        return []
    num_columns = max(map(len, rows)) - 1
    widths = [
        min(max(len(row[k]) for row in rows if len(row) > k + 1), _MAX_COLUMN)
        for k in range(num_columns)
    ]
    lines = ["", heading]
    for row in rows:
        head = "".join(
            f"{text:<{width}}  " for text, width in zip(row, widths, strict=False)
        )
        head = head if len(row) > 1 else ""
        lines += _wrap(_plain(row[-1]), 2 + len(head), head)
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
    """Return a text without the docstrings' mark-up of code."""
    return re.sub(r"``(.+?)``|`(.+?)`", lambda match: match[1] or match[2], text)
