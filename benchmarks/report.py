"""Write the README's figures: ``python -m benchmarks.report RESULT.json``.

The text between the two markers of README.md is generated, never edited by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import ROOT
from benchmarks.result import read_result
from benchmarks.table import amounts, cells, description, setting, sides, skipped

README = ROOT / "README.md"
# The first marker names the result.
BEGIN, END = "<!-- figures of ", "<!-- end of figures -->"


def section(result: Mapping[str, Any], path: str) -> str:
    """Return the section, markers included.

    Parameters
    ----------
    result : dict
    path : str
        Of the result, relative to the README; the plot lies beside it.
    """
    image = str(Path(path).with_suffix(".png").as_posix())
    paragraphs = [
        f"{BEGIN}{path} -->",
        f"![Environment steps a second against the number of environments]({image})",
        "\n".join(_table(result)),
        "\n".join(_settings(result)),
        "  \n".join(description(result)),
        f"Command: `{result['machine']['command']}`. Every figure: [{path}]({path}).",
    ]
    reasons = skipped(result)
    if reasons:
        lines = "\n".join(f"- {line}" for line in reasons)
        paragraphs.append(f"Skipped:\n\n{lines}")
    return "\n\n".join([*paragraphs, END]) + "\n"


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


def _settings(result: Mapping[str, Any]) -> list[str]:
    """Return a table of the settings of both sides of each row."""
    lines = ["<details><summary>Cores, batches, levels, observations</summary>", ""]
    lines += ["| | ours | theirs |", "|---|---|---|"]
    for row in result["rows"]:
        if row["values"]:
            both = [
                "" if side is None else f"{side['engine']}: {setting(side)}"
                for side in sides(result, row)
            ]
            lines.append(f"| {row['title']} | {' | '.join(both)} |")
    return [*lines, "", "</details>"]


def replace(text: str, new: str) -> str:
    """Return `text` with its section replaced by `new`."""
    before, marker, tail = text.partition(BEGIN)
    _, end, after = tail.partition(f"{END}\n")
    if not marker or not end:
        message = f"{README.name}: expected the markers {BEGIN}... --> and {END}"
        raise ValueError(message)
    return before + new + after


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the README's section from a result."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report",
        description="Write README.md's figures from a result of roll-vec bench.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT.json")
    path = parser.parse_args(arguments).result.resolve()
    if not path.is_relative_to(ROOT):
        parser.error(f"expected a result in {ROOT}, got {path}")
    try:
        new = section(read_result(path), path.relative_to(ROOT).as_posix())
        text = replace(README.read_text("utf-8"), new)
    except ValueError as error:
        parser.error(str(error))
    image = path.with_suffix(".png")
    if not image.is_file():
        parser.error(f"{image}: expected the plot, as python -m benchmarks.plot draws")
    README.write_text(text, "utf-8")
    print(f"written: {README}")


if __name__ == "__main__":
    main()
