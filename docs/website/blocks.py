"""Tables that the build writes into pages, from the code.

A page marks their place with ``<!-- KIND WORDS -->`` and ``<!-- end -->``; `KINDS` has
the kinds.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Sequence

from benchmarks.quotations import quote
from roll_vec.descriptions import (
    EnvDescription,
    describe_env,
    describe_sections,
)
from roll_vec.descriptions.keywords import read_parameters
from roll_vec.envs.countdown import grading
from roll_vec.envs.webshop.reward import RewardTerms
from roll_vec.evaluation.splits import SPLITS
from website.public_names import first_line, public_modules

# Titles of the keywords that a class of options defines; others are the game's own.
_OWNERS = {
    "RollGridEnv": "Levels and actions",
    "ArrayEnv": "Observations, frames, texts and levels",
    "GridEnv": "Observations, frames, texts and levels",
    "CatalogueOptions": "The shop",
}
Rows = Iterable[Sequence[str]]
Section = tuple[str, Sequence[str], Rows]
describe = functools.cache(describe_env)


def show_game(words: str) -> str:
    """Return the tables of an id; with more words those sections alone."""
    id, *names = words.split()
    parts = []
    for title, heads, rows in _sections(describe(id)):
        rows = [*rows]
        if rows and (not names or title.partition(" ")[0].lower() in names):
            parts += [f"### {id.partition('/')[2]}: {title}", _table(heads, rows)]
    return "\n\n".join(parts)


def _sections(one: EnvDescription) -> Iterable[Section]:
    """Yield title, heads and rows of the tables of an id."""
    actions = filter(None, (one.list_actions(), one.action_note))
    rows = [(f"`{one.action_space}`", ". ".join(actions))]
    yield "actions", ("space", "meaning"), rows
    sections = {each.name: each for each in describe_sections(one)}
    for name in ("observations", "cells", "rewards", "ends", "infos", "splits"):
        if name in sections:
            yield name, sections[name].columns, sections[name].rows
    groups: dict[str, list[Sequence[str]]] = {}
    for keyword in one.keywords:
        # Those of text have a page of their own.
        if keyword.owner != "TextOptions":
            head = f"`{keyword.name}={keyword.default}`<br>{_escape(keyword.type)}"
            title = _OWNERS.get(keyword.owner, "The game")
            groups.setdefault(title, []).append((head, keyword.description))
    for title, keywords in groups.items():
        head = f"keywords: {title}"
        yield head, ("keyword", "meaning"), keywords
    for name in ("sources", "differences"):
        yield name, sections[name].columns, sections[name].rows


def show_reasons(_: str) -> str:
    """Return the grades of Countdown's answers, from their table in the source."""
    table = inspect.getsource(grading).split("\n=====")[1]
    rows = [line.split(maxsplit=1) for line in table.splitlines()[1:]]
    return _table(("`reason`", "the answer"), [(f"`{x}`", y) for x, y in rows])


def show_terms(_: str) -> str:
    """Return the terms of WebShop's reward, from their docstring."""
    terms = read_parameters(RewardTerms.__doc__)
    rows = [(f"`{name}`", kind, text) for name, (kind, text) in terms.items()]
    return _table(("term", "type", "meaning"), rows)


def show_splits(_: str) -> str:
    """Return the table of all evaluation splits, with the begin of their digests."""
    rows = [
        (
            f"`{x.id}`",
            f"`{x.name}`",
            f"{len(x):,}",
            x.title,
            " ".join(
                f"`{name}={value!r}`"
                for name, value in {**x.keywords, **x.bands}.items()
            ),
            f"`{x.digest[:12]}`",
        )
        for by_name in SPLITS.values()
        for x in by_name.values()
    ]
    return _table(("id", "split", "episodes", "of", "keywords", "digest"), rows)


def show_modules(_: str) -> str:
    """Return the table of the public modules."""
    rows = [(f"[`{x}`](api/{x}.md)", first_line(x)) for x in public_modules()]
    return _table(("module", "contents"), rows)


KINDS: dict[str, Callable[[str], str]] = {
    "game": show_game,
    "modules": show_modules,
    "reasons": show_reasons,
    "splits": show_splits,
    "terms": show_terms,
}


def fill(text: str) -> str:
    """Return a page with all its tables of `KINDS`."""
    for kind, show in KINDS.items():
        text = quote(text, kind, lambda words, show=show: f"\n\n{show(words)}\n\n")
    return text


def _table(heads: Sequence[str], rows: Rows) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(map(_escape, row))} |" for row in rows]
    return "\n".join(lines)


def _escape(text: str) -> str:
    """Return a text of a docstring as Markdown in a cell."""
    parts = re.split(r"(``.+?``|`.+?`)", " ".join(text.split()))
    # Two powers in one paragraph would be bold.
    parts[::2] = [re.sub(r"\*\*(?=\d)", r"\\*\\*", part) for part in parts[::2]]
    return re.sub(r"(?<!\\)\|", r"\\|", "".join(parts).replace("``", "`"))
