"""Write the published figures: ``python -m benchmarks.report RESULT.json``.

docs/performance.md gets the whole report, README.md a table of the rows in `SUMMARY`.
The text between the two markers of each page is generated, never edited by hand.
"""

from __future__ import annotations

import argparse
import posixpath
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.comparisons import RATIO
from benchmarks.processes import ROOT
from benchmarks.result import read_result
from benchmarks.table import amounts, cells, description, skipped

README = "README.md"
PERFORMANCE = "docs/performance.md"
IMAGE = "performance.png"
# The first marker names the result.
BEGIN, END = "<!-- figures of ", "<!-- end of figures -->"

# Titles of rows, and what the README calls them.
SUMMARY = {
    "FrozenLake-v1 beside SyncVectorEnv": "FrozenLake beside Gymnasium's SyncVectorEnv",
    "the same beside an EnvPool on each core": "FrozenLake beside EnvPool, a process "
    "on each core",
    "Sokoban beside EnvPool": "Sokoban, levels of Boxoban, beside EnvPool",
    "rooms, 6x6, 3 boxes, beside gym-sokoban": "Sokoban's rooms, beside gym-sokoban",
    "Countdown, tasks, beside reasoning-gym": "Countdown's tasks, beside reasoning-gym",
    "the serial pool beside SyncVectorEnv": "a pool of Python objects, without "
    "workers, beside SyncVectorEnv",
}


def summary(result: Mapping[str, Any], path: str) -> str:
    """Return the README's section, markers included.

    Parameters
    ----------
    result : dict
    path : str
        Of the result, in the repository.
    """
    lines = ["| | times as fast | roll_vec | the other |", "|---|--:|---|---|"]
    rows = {row["title"]: row for row in result["rows"] if row["kind"] == RATIO}
    for title, words in SUMMARY.items():
        if title not in rows or not rows[title]["values"]:
            message = f"{path}: expected a figure of {title!r}, which {README} shows"
            raise ValueError(message)
        row = rows[title]
        both = " | ".join(amounts(result, row))
        lines.append(f"| {words} | {cells(result, row)[3]} | {both} |")
    machine = f"Medians of one run. {description(result)[0]}."
    return "\n\n".join([f"{BEGIN}{path} -->", "\n".join(lines), machine, END]) + "\n"


def report(result: Mapping[str, Any], path: str) -> str:
    """Return the section of docs/performance.md, markers included.

    Parameters
    ----------
    result : dict
    path : str
        Of the result, in the repository; the plot lies beside it.
    """
    link = posixpath.relpath(path, posixpath.dirname(PERFORMANCE))
    name = posixpath.basename(path)
    paragraphs = [
        f"{BEGIN}{path} -->",
        f"![Environment steps a second against the number of environments]({IMAGE})",
        "\n".join(_table(result)),
        "  \n".join(description(result)),
        f"Command: `{result['machine']['command']}`. Every figure: [{name}]({link}).",
    ]
    reasons = skipped(result)
    if reasons:
        lines = "\n".join(f"- {line}" for line in reasons)
        paragraphs.append(f"Skipped:\n\n{lines}")
    return "\n\n".join([*paragraphs, END]) + "\n"


# The pages and what each of them shows.
SECTIONS: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    README: summary,
    PERFORMANCE: report,
}


def _table(result: Mapping[str, Any]) -> list[str]:
    lines = [
        "| | median | least – greatest | ours | theirs |",
        "|---|--:|--:|---|---|",
    ]
    for row in result["rows"]:
        title, _, _, median, spread, _ = cells(result, row)
        both = " | ".join(amounts(result, row))
        lines.append(f"| {title} | {median} | {spread} | {both} |")
    return lines


def replace(page: str, text: str, new: str) -> str:
    """Return the text of a page with its section replaced by `new`."""
    before, marker, tail = text.partition(BEGIN)
    _, end, after = tail.partition(f"{END}\n")
    if not marker or not end:
        message = f"{page}: expected the markers {BEGIN}... --> and {END}"
        raise ValueError(message)
    return before + new + after


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the sections of both pages from a result; neither, if one has an error."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report",
        description=f"Write the figures of {README} and {PERFORMANCE} from a result "
        "of python -m benchmarks.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    path = parser.parse_args(arguments).result.resolve()
    if not path.is_relative_to(ROOT):
        parser.error(f"expected a result in {ROOT}, got {path}")
    try:
        result = read_result(path)
        texts = {
            page: replace(
                page,
                (ROOT / page).read_text("utf-8"),
                section(result, path.relative_to(ROOT).as_posix()),
            )
            for page, section in SECTIONS.items()
        }
    except ValueError as error:
        parser.error(str(error))
    for page, text in texts.items():
        (ROOT / page).write_text(text, "utf-8")
        print(f"written: {page}")


if __name__ == "__main__":
    main()
