"""Write the figures of pages from files of results: ``python -m benchmarks.pages``.

The text between ``<!-- KIND WORDS -->`` and ``<!-- end -->`` is a figure or a table of
`KINDS`, never typed by hand.  FILE is a name in benchmarks/results.

::

    figures FILE [CASE ...]    the table of the rows, or of those cases
    columns FILE [CASE ...]    the medians; a title "A: B" is row A, column B
    summary FILE               the rows of `SUMMARY`
    figure FILE TITLE          the median of a row alone, to two digits
    machine FILE               machine, versions, date, command, what is skipped
    baseline TITLE [new]       a success rate; new: on levels unlike those of training
    baselines FIGURE           the table of ``success``, ``return`` or ``length``
    facts FILE CASE            the settings of the rows, to two digits
    games FOLDER               the ids of the package; FOLDER leads to their pages
    rules ID                   the words of a game of rules, from its docstring

A game of rules has a page of nothing else; one that is missing is written.
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import plot, table
from benchmarks.games import game_ids
from benchmarks.processes import ROOT
from benchmarks.quotations import PAGES, quote, rewrite
from benchmarks.result import RESULTS, read_result
from roll_vec.descriptions import describe_env
from roll_vec.registration import ENVIRONMENTS

# Titles of the rows that the README shows.
SUMMARY = (
    "FrozenLake-v1 beside SyncVectorEnv",
    "FrozenLake-v1 by Gymnasium's benchmark_vector_step",
    "FrozenLake-v1 beside an EnvPool on each core",
    "Sokoban, levels of Boxoban, beside EnvPool",
    "rooms, 6x6, 3 boxes, beside gym-sokoban",
    "Countdown, tasks, beside reasoning-gym",
    "a pool without workers beside SyncVectorEnv",
)


@functools.cache
def _read(name: str) -> dict[str, Any]:
    return read_result(RESULTS / f"{name}.json")


def _rows(words: str) -> list[dict[str, Any]]:
    name, *cases = words.split()
    return [x for x in _read(name)["rows"] if not cases or x["case"] in cases]


def _figures(words: str) -> str:
    return table.markdown([{**row, "target": None} for row in _rows(words)])


def _columns(words: str) -> str:
    return _pivot(_rows(words), lambda row: table.cells(row)[1])


def _pivot(rows: Sequence[dict[str, Any]], show: Callable[[Any], str]) -> str:
    """Return a table of rows whose titles name a line and a column, "A: B"."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        line, separator, column = row["title"].partition(": ")
        if separator:
            cells.setdefault(line, {})[column] = show(row)
    heads = list(dict.fromkeys(head for line in cells.values() for head in line))
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for title, line in cells.items():
        lines.append(f"| {title} | {' | '.join(line.get(x, '') for x in heads)} |")
    return "\n".join(lines)


def _baselines(words: str) -> str:
    show = {"success": _percent, "return": _decimal, "length": "{:,.1f}".format}[words]
    rows = [row for row in _rows("baselines") if words in row["ours"]["facts"]]
    if not rows:
        raise KeyError(words)
    return _pivot(rows, lambda row: show(row["ours"]["facts"][words]))


def _baseline(words: str) -> str:
    title = words.removesuffix(" new")
    (row,) = [row for row in _rows("baselines") if row["title"] == title]
    return _percent(
        row["ours"]["facts"]["success" if title == words else "new_success"]
    )


def _percent(values: Sequence[float]) -> str:
    """Return an interval in percent; more digits where all is below one percent."""
    digits = 2 if max(values) < 0.01 else 1
    rate, low, high = (f"{100 * value:.{digits}f}" for value in values)
    return f"{rate} % ({low} to {high})"


def _decimal(values: Sequence[float]) -> str:
    """Return an interval; more digits where all is near 0."""
    digits = 4 if max(map(abs, values)) < 0.1 else 2
    mean, low, high = (f"{v:.{digits}f}".replace("-", "−") for v in values)
    return f"{mean} ({low} to {high})"


def _summary(words: str) -> str:
    rows = {row["title"]: row for row in _read(words)["rows"]}
    lines = ["| | times as fast | roll_vec | the other |", "|---|--:|---|---|"]
    for title in SUMMARY:
        _, median, _, _, *sides = table.cells(rows[title])
        lines.append(f"| {title} | {' | '.join([median, *sides])} |")
    return "\n".join(lines)


def _figure(words: str) -> str:
    name, _, title = words.partition(" ")
    (row,) = [row for row in _read(name)["rows"] if row["title"] == title]
    return _two_digits(statistics.median(row["values"]))


def _two_digits(value: float) -> str:
    # Another run differs in the third.
    return f"{float(f'{value:.2g}'):,.10g}"


def _facts(words: str) -> str:
    rows = _rows(words)
    heads = list(rows[0]["ours"]["facts"])
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for row in rows:
        cells = map(_two_digits, row["ours"]["facts"].values())
        lines.append(f"| {row['title']} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _machine(words: str) -> str:
    result = _read(words)
    command = f"Command: `{result['machine']['command']}`."
    reasons = [f"Skipped: {line}." for line in table.skipped(result)]
    return "  \n".join([*table.description(result), command, *reasons])


def _games(folder: str) -> str:
    lines = ["| id | the game | actions | step limit |", "|---|---|---|---|"]
    for id in filter(lambda id: id.startswith("roll_vec/"), ENVIRONMENTS):
        described = describe_env(id)
        page = described.page.removeprefix("docs/games/")
        actions = described.list_actions().lower()
        game = f"[{described.summary}]({folder}{page})"
        limit = described.step_limit or "none"
        space = described.action_space.partition("(")[0]
        actions = actions or ("text" if "Text" in space else f"`{space}`")
        lines.append(f"| `{id}` | {game} | {actions} | {limit} |")
    return "\n".join(lines)


def _rules(id: str) -> str:
    described = describe_env(id)
    commands = "".join(f"$ roll-vec {name} {id}\n" for name in ("info", "play"))
    parts = (
        f"`{id}`: {described.summary}.",
        described.docstring.replace("``", "`"),
        f"```console\n{commands}```",
    )
    return "\n\n".join(filter(None, parts))


def pages_of_rules() -> dict[Path, str]:
    """Return the pages of the games of rules, without words, by path."""
    ids: dict[Path, list[str]] = {}
    for id in game_ids():
        ids.setdefault(ROOT / describe_env(id).page, []).append(id)
    return {path: _page_of_rules(path.stem, names) for path, names in ids.items()}


def _page_of_rules(stem: str, ids: Sequence[str]) -> str:
    parts = [f"# {stem.replace('_', ' ').capitalize()}"]
    parts += [f"<!-- rules {id} -->\n<!-- end -->" for id in ids]
    parts.append("The site has the tables here that `roll-vec info` prints.")
    parts += [f"<!-- game {id} -->\n<!-- end -->" for id in ids]
    return "\n\n".join(parts) + "\n"


KINDS: dict[str, Callable[[str], str]] = {
    "figures": _figures,
    "columns": _columns,
    "summary": _summary,
    "figure": _figure,
    "machine": _machine,
    "baseline": _baseline,
    "baselines": _baselines,
    "facts": _facts,
    "games": _games,
    "rules": _rules,
}
# Kinds that stand within a line.
INLINE = ("figure", "baseline")


def fill(text: str) -> str:
    """Return a page with all its figures.

    Raises
    ------
    KeyError, ValueError
        If there is no such file, row or table.
    """
    for kind, show in KINDS.items():
        space = "" if kind in INLINE else "\n\n"
        text = quote(text, kind, lambda words, s=space, f=show: f"{s}{f(words)}{s}")
    return text


if __name__ == "__main__":
    for path, text in pages_of_rules().items():
        if not path.exists():
            path.write_text(text, "utf-8")
    rewrite((*PAGES, *pages_of_rules()), fill)
    plot.draw(_read("suite"), ROOT / "docs" / "performance.png")
