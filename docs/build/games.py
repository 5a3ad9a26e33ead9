"""Tables of games, of keywords and of evaluation splits."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from docs.build.tables import code, table
from roll_vec.descriptions import describe_env
from roll_vec.descriptions.keywords import Keyword, describe_batch_keywords
from roll_vec.descriptions.report import describe_sections
from roll_vec.evaluation.splits import SPLITS
from roll_vec.registration import ENVIRONMENTS

Rows = Iterable[Sequence[str]]
IDS = [id for id in ENVIRONMENTS if id.startswith("roll_vec/")]
SECTIONS = (
    "actions",
    "observations",
    "cells",
    "rewards",
    "ends",
    "infos",
    "keywords",
    "differences",
)
describe = functools.cache(describe_env)


def facts(_: str) -> str:
    """Return a table of all ids: originals, default observations and actions."""
    rows = []
    for id in IDS:
        one = describe(id)
        first = one.observations[0]
        rows.append(
            [
                f"[{code(id)}]({one.page.rpartition('/')[2]})",
                one.summary,
                "<br>".join(row[0] for row in _sections(id)["sources"][1]),
                f"{first.mode} {code(first.space)}",
                one.list_actions().lower() or code(one.action_space),
            ]
        )
    return table(("id", "game", "original", "observations", "actions"), rows)


def rules(id: str) -> str:
    """Return the words of a game, from its docstring."""
    one = describe(id)
    return f"`{id}`\n\n" + one.docstring.replace("``", "`")


def tables(ids: str) -> str:
    """Return a table of each kind for some ids, without the rows of common tables."""
    parts = []
    sections = {id: _sections(id) for id in ids.split()}
    for name in SECTIONS:
        every = {id: part.get(name, ((), ())) for id, part in sections.items()}
        rows = _merge({id: _without_common(name, x) for id, (_, x) in every.items()})
        if rows:
            heads = ("id", *max((heads for heads, _ in every.values()), key=len))
            # A page of one id does not repeat it.
            first = len(sections) == 1
            cells = table(heads[first:], [row[first:] for row in rows])
            parts.append(f"### {name.capitalize()}\n\n{cells}")
    return "\n\n".join(parts)


def common_infos(_: str) -> str:
    """Return a table of the infos that stand on several pages."""
    some = {id: [x for x in _rows(id, "infos") if x in _common("infos")] for id in IDS}
    rows = [(key, of, *rest) for of, key, *rest in _merge(some)]
    return table(("key", "of", "type", "call", "meaning"), rows)


def common_modes(_: str) -> str:
    """Return a table of the modes of observations that stand on several pages."""
    some = {id: [(x[0], x[-1]) for x in _rows(id, "observations")] for id in IDS}
    common = _common("observations")
    rows = _merge({id: [x for x in rows if x in common] for id, rows in some.items()})
    cells = [(mode, of, meaning) for of, mode, meaning in rows]
    return table(("`obs_mode`", "of", "observation"), cells)


def common_keywords(kind: str) -> str:
    """Return a table of the keywords of several pages: of ``text``, or all others."""
    some = {
        id: [row for row in _keywords(id, kind == "text") if row in _common_keywords()]
        for id in IDS
    }
    return _keyword_table(some)


def batch_keywords(_: str) -> str:
    """Return a table of the keywords of batches."""
    kinds = {"arrays": False, "pools": True}
    rows = {kind: map(_row, describe_batch_keywords(x)) for kind, x in kinds.items()}
    return _keyword_table(rows)


def splits(_: str) -> str:
    """Return a table of all evaluation splits, with the begin of their digests."""
    rows = []
    for one in (split for by_name in SPLITS.values() for split in by_name.values()):
        title = one.title.replace("the defaults", "")
        size, digest = f"{len(one):,}", code(one.digest[:12])
        rows.append((code(one.id), code(one.name), size, title, digest))
    return table(("id", "split", "episodes", "of", "digest"), rows)


@functools.cache
def _sections(id: str) -> Mapping[str, tuple[Sequence[str], Rows]]:
    """Return heads and rows of each section of an id."""
    one = describe(id)
    parts: dict[str, tuple[Sequence[str], Rows]] = {
        x.name: (x.columns, [tuple(row) for row in x.rows])
        for x in describe_sections(one)
    }
    actions = (code(one.action_space), one.list_actions(), one.action_note)
    parts["actions"] = (("space", "actions", "remarks"), [actions])
    heads, infos = parts["infos"]
    # The mask of each number of actions is one row.
    parts["infos"] = (
        heads,
        [tuple(re.sub(r"^\(\d+,\)", "(A,)", cell) for cell in row) for row in infos],
    )
    heads, cells = parts["cells"]
    parts["cells"] = heads, _join_numbers(cells)
    rows = [row for row in _keywords(id) if row not in _common_keywords()]
    return parts | {"keywords": (("keyword", "meaning"), rows)}


def _join_numbers(cells: Rows) -> Rows:
    """Return cells, those that are numbers in one row."""
    numbers = [row[0] for row in cells if row[2] == row[0]]
    rows = [row for row in cells if row[2] != row[0]]
    if numbers:
        rows.append((f"{numbers[0]} to {numbers[-1]}", "the number", "this number"))
    return rows


def _rows(id: str, name: str) -> Rows:
    return _sections(id)[name][1]


@functools.cache
def _common(name: str) -> set[tuple[str, ...]]:
    """Return the rows of a section of several pages: of modes, name and meaning."""
    rows = {id: [tuple(row) for row in _rows(id, name)] for id in IDS}
    if name == "observations":
        rows = {id: [(row[0], row[-1]) for row in x] for id, x in rows.items()}
    return _on_several_pages(rows)


def _on_several_pages(rows: Mapping[str, Rows]) -> set[tuple[str, ...]]:
    """Return the rows, by id, that would stand on several pages."""
    pages: dict[tuple[str, ...], set[str]] = {}
    for id, some in rows.items():
        for row in some:
            pages.setdefault(tuple(row), set()).add(describe(id).page)
    return {row for row, names in pages.items() if len(names) > 1}


def _without_common(name: str, rows: Rows) -> Rows:
    """Return the rows that are in no common table; of modes also the default."""
    if name == "infos":
        return [row for row in rows if tuple(row) not in _common(name)]
    if name == "observations":
        first, *others = rows
        common = _common(name)
        return [first, *(row for row in others if (row[0], row[-1]) not in common)]
    return rows


def _keyword_table(tables: Mapping[str, Rows]) -> str:
    rows = [(name, of, meaning) for of, name, meaning in _merge(tables)]
    return table(("keyword", "of", "meaning"), rows)


def _merge(tables: Mapping[str, Rows]) -> list[list[str]]:
    """Return the rows of several tables, each once, behind the names of its tables."""
    names: dict[Sequence[str], list[str]] = {}
    for name, rows in tables.items():
        for row in rows:
            names.setdefault(tuple(row), []).append(name)
    return [[_names(some, [*tables]), *row] for row, some in names.items()]


def _names(some: Sequence[str], every: Sequence[str]) -> str:
    missing = [name for name in every if name not in some]
    is_short = len(missing) < len(some) / 2
    if not is_short and [*every] == IDS:
        some = _with_groups(some)
    names = ", ".join(missing if is_short else some).replace("roll_vec/", "")
    return f"all{' but ' * bool(names)}{names}" if is_short else names


def _with_groups(ids: Sequence[str]) -> list[str]:
    """Return ids, with the name of a group in the place of all its ids."""
    pages = {id: describe(id).page for id in IDS}
    groups = {
        "grids": [id for id in IDS if describe(id).cells],
        "grids with levels": [
            id
            for id in IDS
            if describe(id).cells
            and any(row[0].strip("`") == "seed" for row in _rows(id, "infos"))
        ],
        "[small games](small_games.md)": [x for x in IDS if "small_" in pages[x]],
    }
    names = [*ids]
    for group, members in groups.items():
        if {*members} <= {*names}:
            names = [group, *(name for name in names if name not in members)]
    return names


def _row(keyword: Keyword) -> tuple[str, str]:
    default = f"={keyword.default}" if keyword.default else ""
    return f"`{keyword.name}{default}`<br>{keyword.type}", keyword.description


def _keywords(id: str, of_text: bool = False) -> list[tuple[str, str]]:
    every = describe(id).keywords
    return [_row(one) for one in every if (one.owner == "TextOptions") == of_text]


@functools.cache
def _common_keywords() -> set[tuple[str, ...]]:
    """Return the rows of keywords of several pages."""
    every = {id: [*_keywords(id), *_keywords(id, of_text=True)] for id in IDS}
    return _on_several_pages(every)
