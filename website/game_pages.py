"""The tables of docs/games, from the descriptions that `roll-vec info` shows.

``python -m website.game_pages`` writes the text between ``<!-- game KIND ID -->`` and
``<!-- end -->``; `TABLES` has the kinds.  ``--pictures`` draws the pictures again, too.
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks.quotations import quote, rewrite
from roll_vec.descriptions import EnvDescription, Keyword, describe_env
from roll_vec.descriptions.keywords import read_parameters
from roll_vec.envs.webshop.catalogue.options import CatalogueOptions
from roll_vec.envs.webshop.reward import RewardTerms
from roll_vec.game_descriptions import GameDescription
from roll_vec.registration import ENVIRONMENTS
from roll_vec.stacked.options import ArrayOptions, LevelOptions
from roll_vec.text.options import TextOptions
from website.game_texts import show_texts
from website.public_names import ROOT

FOLDER = ROOT / "docs" / "games"
# These keywords have a table of their own.
_TEXT_PAGE = "../text_environments.md#keywords"
# Titles of the keywords that a class of options defines; others are the game's own.
_GROUPS = {
    LevelOptions.__name__: "Levels and actions",
    ArrayOptions.__name__: "Observations, frames and texts",
    CatalogueOptions.__name__: "The shop",
}

_describe = functools.cache(describe_env)


def show_ids(_: str) -> str:
    """Return the table of all ids."""
    rows = []
    for environment in ENVIRONMENTS.values():
        if not environment.description:
            continue
        one, game = _described(environment.id)
        page = game.page.removeprefix("docs/games/")
        names = ", ".join(f"{code} {name}" for code, name in one.actions.items())
        rows.append(
            (
                f"[`{one.id}`]({page})",
                one.summary,
                names or "text",
                "none" if one.step_limit is None else str(one.step_limit),
            )
        )
    return _table(("id", "the game", "actions", "step limit"), rows)


def show_observations(id: str) -> str:
    """Return the table of observation modes."""
    one, _ = _described(id)
    rows = [
        (f"`{mode}`", f"`{space}`", _escape(meaning))
        for mode, space, meaning in one.observations
    ]
    return _table(("`obs_mode`", "space", "observation"), rows)


def show_actions(id: str) -> str:
    """Return the list of actions by number."""
    one, game = _described(id)
    names = ", ".join(f"{code} {name}" for code, name in one.actions.items())
    lines = (f"`{one.action_space}`: {names}.", _escape(game.actions))
    return "\n".join(filter(None, lines))


def show_cells(id: str) -> str:
    """Return the table of cell codes."""
    _, game = _described(id)
    rows = [
        (str(code), f"`{glyph}`", meaning)
        for code, (glyph, meaning) in enumerate(game.cells)
    ]
    return _table(("code", "glyph", "meaning"), rows)


def show_rewards(id: str) -> str:
    """Return the table of rewards."""
    _, game = _described(id)
    rows = []
    for value, rule in game.rewards:
        number = value if isinstance(value, str) else f"{value:g}"
        rows.append((number, _escape(rule)))
    return _table(("reward", "for"), rows)


def show_ends(id: str) -> str:
    """Return the table of ends."""
    one, game = _described(id)
    rows = [("terminated", _escape(text)) for text in game.terminated]
    rows += [("truncated", _escape(text)) for text in one.truncated]
    return _table(("end", "event"), rows)


def show_infos(id: str) -> str:
    """Return the table of infos."""
    _, game = _described(id)
    rows = []
    for info in game.infos:
        condition = f" With `{info.keyword}`." if info.keyword else ""
        meaning = f"{_escape(info.meaning)}{condition}"
        rows.append((f"`{info.key}`", info.dtype, info.calls, meaning))
    return _table(("key", "type", "call", "meaning"), rows)


def show_keywords(id: str) -> str:
    """Return the tables of keywords; those of text have their own page."""
    one, _ = _described(id)
    groups: dict[str, list[Keyword]] = {}
    for keyword in one.keywords:
        groups.setdefault(keyword.owner, []).append(keyword)
    parts = []
    for owner, keywords in groups.items():
        if owner == TextOptions.__name__:
            names = ", ".join(f"`{keyword.name}`" for keyword in keywords)
            parts.append(f"[Text actions]({_TEXT_PAGE}): {names}.")
            continue
        rows = [_keyword_row(keyword) for keyword in keywords]
        title = _GROUPS.get(owner, "The game")
        parts.append(f"{title}:\n\n{_table(('keyword', 'meaning'), rows)}")
    return "\n\n".join(parts)


def show_sources(id: str) -> str:
    """Return the table of sources."""
    _, game = _described(id)
    rows = [
        (f"[{source.name}]({source.url})", source.version, _escape(source.parts))
        for source in game.sources
    ]
    return _table(("source", "version", "equal to the bit"), rows)


def show_differences(id: str) -> str:
    """Return the list of differences."""
    _, game = _described(id)
    return "\n".join(f"- {_escape(text)}" for text in game.differences)


def show_splits(id: str) -> str:
    """Return the table of evaluation splits."""
    one, _ = _described(id)
    rows = [(f"`{each.name}`", f"{len(each):,}", each.title) for each in one.splits]
    return _table(("split", "episodes", "task"), rows)


def show_reasons(_: str) -> str:
    """Return the table of the grades of Countdown's answers, from their docstring."""
    lines = (
        (ROOT / "roll_vec/envs/countdown/grading.py").read_text("utf-8").splitlines()
    )
    borders = [k for k, line in enumerate(lines) if line.startswith("=====")]
    rows = [
        (f"`{key}`", _escape(text.strip()))
        for key, _, text in (line.partition(" ") for line in lines[slice(*borders)][1:])
    ]
    return _table(("`reason`", "the answer"), rows)


def show_terms(_: str) -> str:
    """Return the table of the terms of WebShop's reward, from their docstring."""
    rows = [
        (f"`{name}`", kind, _escape(text))
        for name, (kind, text) in read_parameters(RewardTerms.__doc__).items()
    ]
    return _table(("term", "type", "meaning"), rows)


TABLES: dict[str, Callable[[str], str]] = {
    "ids": show_ids,
    "observations": show_observations,
    "actions": show_actions,
    "cells": show_cells,
    "rewards": show_rewards,
    "ends": show_ends,
    "infos": show_infos,
    "keywords": show_keywords,
    "sources": show_sources,
    "differences": show_differences,
    "splits": show_splits,
    "reasons": show_reasons,
    "terms": show_terms,
    "texts": show_texts,
}


def with_tables(text: str) -> str:
    """Return a page with its tables replaced.

    Raises
    ------
    ValueError
        For a kind of table that does not exist.
    """

    def show(words: str) -> str:
        kind, _, id = words.partition(" ")
        if kind not in TABLES:
            message = (
                f"expected a kind of table, one of {', '.join(TABLES)}, got {kind}"
            )
            raise ValueError(message)
        return f"\n\n{TABLES[kind](id)}\n\n"

    return quote(text, "game", show)


def _described(id: str) -> tuple[EnvDescription, GameDescription]:
    one = _describe(id)
    assert one.game is not None, id
    return one, one.game


def _keyword_row(keyword: Keyword) -> tuple[str, str]:
    return (
        f"`{keyword.name}={keyword.default}`<br>{_escape(keyword.type)}",
        _escape(keyword.description),
    )


def _escape(text: str) -> str:
    """Return a text of a docstring as Markdown."""
    parts = re.split(r"(``.+?``|`.+?`)", " ".join(text.split()))
    # Two powers in one paragraph would be bold.
    parts[::2] = [re.sub(r"\*\*(\d+)", _superscript, part) for part in parts[::2]]
    return "".join(parts).replace("``", "`").replace("|", r"\|")


def _superscript(match: re.Match[str]) -> str:
    return match[1].translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def main(argv: Any = None) -> None:
    """Write the pages."""
    parser = argparse.ArgumentParser(prog="python -m website.game_pages")
    parser.add_argument(
        "--pictures", action="store_true", help="draw the pictures again, too"
    )
    if parser.parse_args(argv).pictures:
        from website.game_pictures import draw_all

        draw_all(FOLDER)
    rewrite(sorted(FOLDER.glob("*.md")), with_tables)


if __name__ == "__main__":
    main()
