"""Tables of games, of keywords and of evaluation splits."""

from __future__ import annotations

import functools
import json
import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gymnasium import spec

from docs.build.pages import ROOT
from docs.build.tables import bullets, code, table
from roll_vec.descriptions import describe_env
from roll_vec.descriptions.keywords import (
    Keyword,
    describe_batch_keywords,
    describe_keywords,
)
from roll_vec.descriptions.report import describe_sections
from roll_vec.docstrings import read_entries, read_sections
from roll_vec.evaluation.panels import PANELS
from roll_vec.evaluation.splits import SPLITS
from roll_vec.registration import ENVIRONMENTS

Row = tuple[str, ...]
# Classes whose keywords all games of a family have.
BASES = ("MiniGrid", "ArrayEnv", "TextOptions")
VALUE = r"(True|False|None|-?\d+|``\S+``|`\S+`): "
# One page has all ids of a family, and tables of its own.
IDS = [
    id for id, x in ENVIRONMENTS.items() if id.startswith("roll_vec/") and not x.family
]
FAMILIES: dict[str, dict[str, list[str]]] = {}
"""By family and class, the ids."""
for _id, _known in ENVIRONMENTS.items():
    if _known.family:
        FAMILIES.setdefault(_known.family, {}).setdefault(_known.entry, []).append(_id)
# Of episodes that MiniGrid itself has played.
EPISODES = ROOT / "tests/envs/data/minigrid.json"
# The heads of tables; sections without heads are lists.
HEADS = {
    "actions": ("space", "actions", "remarks"),
    "observations": ("`obs_mode`", "space", "observation"),
    "modes": ("`obs_mode`", "observation"),
    "cells": (),
    "rewards": (),
    "ends": (),
    "infos": (),
    "keywords": (),
    "differences": (),
}
SECTIONS = [name for name in HEADS if name != "modes"]
describe = functools.cache(describe_env)


def facts(_: str) -> str:
    """Return a table of all ids: originals and actions."""
    rows = []
    for id in IDS:
        one = describe(id)
        rows.append(
            [
                f"[{code(id)}]({one.page.rpartition('/')[2]})",
                one.summary,
                "<br>".join(row[0] for row in _sections(id)["sources"]),
                one.list_actions().lower() or code(one.action_space),
            ]
        )
    for family, classes in FAMILIES.items():
        ids = [id for group in classes.values() for id in group]
        one, sources = describe(ids[0]), _sections(ids[0])["sources"]
        rows.append(
            [
                f"[`roll_vec/{family}-…`]({one.page.rpartition('/')[2]})",
                f"{family}'s {len(ids)} ids, equal for the same seed",
                sources[0][0],
                one.list_actions(),
            ]
        )
    return table(("id", "game", "original", "actions"), rows)


def family(name: str) -> str:
    """Return a table of the classes of a family: its ids, and a mission."""
    episodes, rows = json.loads(EPISODES.read_text("utf-8")), []
    for ids in FAMILIES[name].values():
        cells = []
        for id in ids:
            known = ENVIRONMENTS[id]
            game, limit = known.load()(**known.keywords), known.find_limit()
            size = f"{game.width}x{game.height}{f', {limit} steps' * bool(limit)}"
            cells.append(f"{code(id.partition('-')[2])} {size}")
        game = f"{ENVIRONMENTS[ids[0]].summarize()}."
        rows.append([game, "<br>".join(cells), episodes[ids[0]]["mission"]])
    return table(("game", f"ids, behind `roll_vec/{name}-`", "a mission"), rows)


def family_rules(name: str) -> str:
    """Return lists of the rewards, ends and keywords that games of a family have."""
    parts = []
    ids = {entry.partition(":")[2]: ids[0] for entry, ids in FAMILIES[name].items()}
    for section in ("rewards", "ends", "keywords"):
        rows = {game: _family_rows(id, section) for game, id in ids.items()}
        merged = _merge(rows)
        if section == "keywords":
            merged.sort(key=lambda row: row[1])
        cells = bullets(_with_ids_behind(merged))
        parts.append(f"### {section.capitalize()}\n\n{cells}")
    return "\n\n".join(parts)


def _family_rows(id: str, section: str) -> list[Row]:
    """Return the rows of a game, without limits, defaults and common keywords.

    They are of its docstring alone: to describe an id makes it in each of its modes.
    """
    if section == "keywords":
        own = [x for x in describe_keywords(spec(id)) if x.owner not in BASES]
        return [(f"`{x.name}`<br>{x.type}", x.description) for x in own]
    title = {"rewards": "Rewards", "ends": "Episode end"}[section]
    bases = ENVIRONMENTS[id].load().__mro__
    sections = ChainMap(*[read_sections(base.__doc__) for base in bases])
    entries = read_entries(sections[title])
    return [(x.name, x.text) for x in entries if x.name != "truncated"]


def rules(id: str) -> str:
    """Return the words of a game, from its docstring."""
    one = describe(id)
    return f"`{id}`\n\n" + one.docstring.replace("``", "`")


def tables(words: str) -> str:
    """Return tables and lists of some ids, without the rows of several pages.

    The words are ids, and names of sections if not all of them are wanted.
    """
    parts = []
    names = [word for word in words.split() if word in SECTIONS] or SECTIONS
    ids = [word for word in words.split() if word not in SECTIONS]
    for name in names:
        rows = _merge({id: _rows_of_page(id, name) for id in ids})
        if rows:
            if not HEADS[name]:
                cells = bullets(_with_ids_behind(rows))
            else:
                # A page of one id does not repeat it.
                first = len(ids) == 1
                heads = ("id", *HEADS[name])[first:]
                cells = table(heads, [row[first:] for row in rows])
            parts.append(f"### {name.capitalize()}\n\n{cells}")
    return "\n\n".join(parts)


def common(name: str) -> str:
    """Return the rows of several pages: infos, modes, keywords, text.

    ``modes`` are those of observations, ``text`` the keywords of text actions.
    """
    rows = {id: _common_rows(id, name) for id in IDS}
    if not HEADS.get(name):
        return bullets(_with_ids_behind(_merge(rows)))
    return _with_ids(HEADS[name], rows)


def batch_keywords(_: str) -> str:
    """Return a table of the keywords of batches."""
    kinds = {"arrays": False, "pools": True}
    rows = {
        kind: map(_keyword, describe_batch_keywords(x)) for kind, x in kinds.items()
    }
    return _with_ids(("keyword", "meaning"), rows)


def splits(_: str) -> str:
    """Return a table of all evaluation splits, with the begin of their digests."""
    rows = []
    for one in (split for by_name in SPLITS.values() for split in by_name.values()):
        title = one.title.replace("the defaults", "")
        size, digest = f"{len(one):,}", code(one.digest[:12])
        rows.append((code(one.id), code(one.name), size, title, digest))
    return table(("id", "split", "episodes", "of", "digest"), rows)


def panels(_: str) -> str:
    """Return a table of all panels, with the begin of their digests."""
    rows = []
    for panel in PANELS.values():
        parts = [f"{name} `{split.name}`" for name, split in panel.splits.items()]
        (id,) = {split.id for split in panel.splits.values()}
        facts = code(panel.name), code(panel.digest[:12]), code(id), ", ".join(parts)
        rows.append(facts)
    return table(("panel", "digest", "id", "splits"), rows)


@functools.cache
def _sections(id: str) -> Mapping[str, list[Row]]:
    """Return the rows of each section of an id."""
    one = describe(id)
    rows = {x.name: [tuple(row) for row in x.rows] for x in describe_sections(one)}
    rows["actions"] = [(code(one.action_space), one.list_actions(), one.action_note)]
    # Games of texts have one mode, without a name.
    rows["observations"] = [
        row if len(row) > 1 else ("", *row, "a text") for row in rows["observations"]
    ]
    rows["modes"] = [(row[0], row[-1]) for row in rows["observations"] if row[0]]
    # The masks of all numbers of actions are one row.
    rows["infos"] = [
        (f"{key}<br>{re.sub('^[(][0-9]+,[)]', '(A,)', kind)}; {call}", text)
        for key, kind, call, text in rows["infos"]
    ]
    # Cells that are numbers are one row.
    if numbers := [row[0] for row in rows["cells"] if row[2] == row[0]]:
        cells = [row for row in rows["cells"] if row[2] != row[0]]
        name = f"{numbers[0]} to {numbers[-1]}"
        rows["cells"] = [*cells, (name, "the number", "this number")]
    texts = [one.owner == "TextOptions" for one in one.keywords]
    for name, is_text in (("text", True), ("keywords", False)):
        pairs = zip(one.keywords, texts, strict=True)
        rows[name] = [_keyword(x) for x, of_text in pairs if of_text == is_text]
    return rows


@functools.cache
def _rows_of_several_pages(name: str) -> set[Row]:
    pages: dict[Row, set[str]] = {}
    for id in IDS:
        for row in _sections(id)[name]:
            pages.setdefault(row, set()).add(describe(id).page)
    return {row for row, names in pages.items() if len(names) > 1}


def _common_rows(id: str, name: str) -> list[Row]:
    rows = _rows_of_several_pages(name)
    return [row for row in _sections(id)[name] if row in rows]


def _rows_of_page(id: str, name: str) -> list[Row]:
    """Return the rows that are in no common table; of modes also the default."""
    rows = _sections(id)[name]
    if name in ("infos", "keywords"):
        return [row for row in rows if row not in _rows_of_several_pages(name)]
    if name == "observations":
        modes = _rows_of_several_pages("modes")
        others = [row for row in rows[1:] if (row[0], row[-1]) not in modes]
        return [rows[0], *others]
    return rows


def _with_ids(heads: Sequence[str], tables: Mapping[str, Iterable[Row]]) -> str:
    """Return a table whose second column has the names of the tables of a row."""
    rows = [(name, of, *rest) for of, name, *rest in _merge(tables)]
    return table((heads[0], "of", *heads[1:]), rows)


def _with_ids_behind(rows: Iterable[Sequence[str]]) -> Iterator[Row]:
    for ids, *cells in rows:
        yield (*cells[:-1], cells[-1] + (f" ({ids})" if ids != "all" else ""))


def _merge(tables: Mapping[str, Iterable[Row]]) -> list[list[str]]:
    """Return the rows of several tables, each once, behind the names of its tables."""
    names: dict[Row, list[str]] = {}
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
            if describe(id).cells and "``seed``" in str(_sections(id)["infos"])
        ],
        "[small games](small_games.md)": [x for x in IDS if "small_" in pages[x]],
    }
    names = [*ids]
    for group, members in groups.items():
        if {*members} <= {*names}:
            names = [group, *(name for name in names if name not in members)]
    return names


def _keyword(keyword: Keyword) -> Row:
    """Return a keyword with the first sentence about it, and those about a value."""
    default = f"={keyword.default}" if keyword.default else ""
    name = f"`{keyword.name}{default}`<br>{keyword.type}"
    first, *others = re.split(r"(?<=\.) ", " ".join(keyword.description.split()))
    return name, " ".join([first, *(x for x in others if re.match(VALUE, x))])
