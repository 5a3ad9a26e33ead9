"""Tables of games, of keywords and of evaluation splits."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence

from docs.build.tables import code, table
from roll_vec.descriptions import describe_env
from roll_vec.descriptions.keywords import Keyword, describe_batch_keywords
from roll_vec.descriptions.report import describe_sections
from roll_vec.evaluation.splits import SPLITS
from roll_vec.registration import ENVIRONMENTS

Rows = Iterable[Sequence[str]]
IDS = [id for id in ENVIRONMENTS if id.startswith("roll_vec/")]
# A keyword that so many ids have with the same words is in one table for all.
COMMON = 5
SECTIONS = ("actions", "observations", "cells", "rewards", "ends", "infos", "keywords")
describe = functools.cache(describe_env)


def facts(_: str) -> str:
    """Return a table of all ids: classes, spaces, rewards, originals."""
    rows = []
    for id in IDS:
        one, parts = describe(id), _sections(id)
        first = one.observations[0]
        rewards = [f"{reward.value}: {reward.rule}" for reward in one.rewards]
        sources = [": ".join((row[0], row[-1])) for row in parts["sources"][1]]
        rows.append(
            [
                f"[{code(id)}]({one.page.rpartition('/')[2]})<br>{one.summary}",
                code(str(ENVIRONMENTS[id].entry).rpartition(":")[2]),
                f"{first.mode} {code(first.space)}",
                one.list_actions().lower() or code(one.action_space),
                *map("<br>".join, (rewards, sources, one.differences)),
            ]
        )
    heads = ("id", "class in `roll_vec.envs`", "observations", "actions", "rewards")
    return table((*heads, "equal to the bit", "differences"), rows)


def rules(id: str) -> str:
    """Return the words of a game, from its docstring."""
    one = describe(id)
    return f"`{id}`: {one.summary}.\n\n" + one.docstring.replace("``", "`")


def tables(ids: str) -> str:
    """Return a table of each kind for some ids."""
    parts = []
    sections = {id: _sections(id) for id in ids.split()}
    for name in SECTIONS:
        every = {id: part.get(name, ((), ())) for id, part in sections.items()}
        rows = _merge({id: rows for id, (_, rows) in every.items()})
        if rows:
            heads = ("id", *max((heads for heads, _ in every.values()), key=len))
            # A page of one id does not repeat it.
            first = len(sections) == 1
            cells = table(heads[first:], [row[first:] for row in rows])
            parts.append(f"### {name.capitalize()}\n\n{cells}")
    return "\n\n".join(parts)


def common_keywords(kind: str) -> str:
    """Return a table of the keywords that many ids have: of ``text``, or all others."""
    some = {
        id: [row for row in _keywords(id, kind == "text") if row in _common()]
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
        options = {**one.keywords, **one.bands}
        words = " ".join(f"`{name}={value!r}`" for name, value in options.items())
        size, digest = f"{len(one):,}", code(one.digest[:12])
        rows.append((code(one.id), code(one.name), size, one.title, words, digest))
    return table(("id", "split", "episodes", "of", "keywords", "digest"), rows)


@functools.cache
def _sections(id: str) -> Mapping[str, tuple[Sequence[str], Rows]]:
    """Return heads and rows of each section of an id."""
    one = describe(id)
    parts: dict[str, tuple[Sequence[str], Rows]] = {
        x.name: (x.columns, x.rows) for x in describe_sections(one)
    }
    actions = (code(one.action_space), one.list_actions(), one.action_note)
    parts["actions"] = (("space", "actions", "remarks"), [actions])
    own = [row for row in _keywords(id) if row not in _common()]
    return parts | {"keywords": (("keyword", "meaning"), own)}


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
    names = ", ".join(missing if is_short else some).replace("roll_vec/", "")
    return f"all{' but ' * bool(names)}{names}" if is_short else names


def _row(keyword: Keyword) -> tuple[str, str]:
    default = f"={keyword.default}" if keyword.default else ""
    return f"`{keyword.name}{default}`<br>{keyword.type}", keyword.description


def _keywords(id: str, of_text: bool = False) -> list[tuple[str, str]]:
    every = describe(id).keywords
    return [_row(one) for one in every if (one.owner == "TextOptions") == of_text]


@functools.cache
def _common() -> set[tuple[str, str]]:
    """Return the rows of keywords that many ids have."""
    rows = [row for id in IDS for x in (True, False) for row in _keywords(id, x)]
    return {row for row in rows if rows.count(row) >= COMMON}
